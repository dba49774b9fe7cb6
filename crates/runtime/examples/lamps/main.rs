//! A whole operator process around the lamp controller: what the tests kill, freeze, cut off and watch.
//!
//! `LAMPS_STALL_MS` holds every write back on its way out, after the check for the lease: the moment in which a frozen
//! leader is dangerous.

#[allow(dead_code, unreachable_pub, reason = "shared with the tests, which use the rest")]
mod lamp;

use std::process::ExitCode;
use std::time::Duration;

use chassis::Tasks;
use chassis::settings::environment;
use http::Request;
use k8s_openapi::api::core::v1::ConfigMap;
use kube::Client;
use kube::client::Body;
use lamp::{LAMP, Lamp, Lamps, lamp_of};
use runtime::host::{self, Host, Launch};
use runtime::{Cache, Driver, Selection};
use tokio::sync::oneshot;
use tower::BoxError;

#[tokio::main]
async fn main() -> ExitCode {
    let launch = Launch {
        name: "lamps",
        lease: "lamps".to_owned(),
        version: env!("CARGO_PKG_VERSION"),
        tables: &[],
        flags: flags(),
        file: environment("LAMPS_CONFIG").map(Into::into),
        env: &environment,
    };
    match host::run(launch, controllers).await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln(&error);
            ExitCode::FAILURE
        }
    }
}

/// `--name=value` pairs; the real program has a real parser.
fn flags() -> Vec<(String, String)> {
    let pair = |argument: String| {
        let (name, value) =
            argument.trim_start_matches('-').split_once('=').map(|(n, v)| (n.to_owned(), v.to_owned()))?;
        Some((name, value))
    };
    std::env::args().skip(1).filter_map(pair).collect()
}

#[expect(clippy::print_stderr, reason = "the last word of a program that cannot log yet")]
fn eprintln(error: &dyn std::error::Error) {
    eprintln!("lamps: {error}");
}

fn controllers(host: &Host) {
    let client = stalled(&host.client, &host.parts.tasks);
    let selection = Selection::namespaces(&host.settings.namespaces);
    let lamps: Cache<Lamp> = Cache::spawn(&selection, &host.client, &host.parts);
    let labelled = Selection { labels: Some(LAMP.to_owned()), ..selection };
    let bulbs: Cache<ConfigMap> = Cache::spawn(&labelled, &host.client, &host.parts);
    let controller = Lamps { bulbs: bulbs.clone() };
    Driver::new(controller, &lamps, &client, &host.leadership, &host.instance, &host.parts)
        .watches(&bulbs, lamp_of)
        .spawn();
}

/// The same connection with a long way from the check to the server. A write that is on its way cannot be called back,
/// whatever becomes of the pass that made it: so it travels in a task of its own.
fn stalled(client: &Client, tasks: &Tasks) -> Client {
    let Some(pause) = environment("LAMPS_STALL_MS").and_then(|text| text.parse().ok()).map(Duration::from_millis)
    else {
        return client.clone();
    };
    let (inner, tasks) = (client.clone(), tasks.clone());
    let service = tower::service_fn(move |request: Request<Body>| {
        let (inner, tasks) = (inner.clone(), tasks.clone());
        async move {
            if request.method() != http::Method::PATCH {
                return inner.send(request).await.map_err(BoxError::from);
            }
            tracing::info!(path = request.uri().path(), "write held back");
            let (sender, receiver) = oneshot::channel();
            tasks.spawn("a write on its way", async move {
                tokio::time::sleep(pause).await;
                tracing::info!(path = request.uri().path(), "write let go");
                // Nobody may be waiting for the answer any more.
                let _ = sender.send(inner.send(request).await);
            });
            receiver.await?.map_err(BoxError::from)
        }
    });
    Client::new(service, "default")
}
