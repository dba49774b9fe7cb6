//! How webhooks find the source: its address holds its uid, which nobody knows before it is applied.

use anyhow::{Context, bail};
use api::RunnerSource;
use fleet::source::webhook_path;

use super::platform::Login;
use super::wish::Ci;
use super::{Store, Wish, app};
use crate::doctor::Sight;

/// Refuses an App that was made here and does not tell of jobs: which events it has, only a person can change.
pub(super) async fn check(wish: &Wish, ci: &Ci, login: &Login, sight: &Sight) -> anyhow::Result<()> {
    let (Some(address), Login::App { id, key, installation, ours: true }) = (&ci.webhook, login) else { return Ok(()) };
    let Some(settings) = app::deaf(ci, sight, (id, key, *installation)).await.context("the App's webhook")? else {
        return Ok(());
    };
    bail!(
        "--webhook-url: the App does not tell of jobs, and only you can change that. At {settings} make its webhook active, with \
         the URL {address}/webhooks/ and, as its secret, entry webhook-secret of Secret {}; at {settings}/permissions, Subscribe \
         to events, choose Workflow job. Save both, then run this again",
        wish.names.ci
    )
}

/// Leads the webhook of an App that was made here to the source; where that is somebody else's to do, says what to do.
/// Nothing to say without webhooks.
pub(super) async fn settle(
    wish: &Wish,
    ci: &Ci,
    login: &Login,
    sight: &Sight,
    store: &Store,
) -> anyhow::Result<Option<String>> {
    let Some(address) = &ci.webhook else { return Ok(None) };
    let path = path(wish, ci, store).await?;
    match (login, path) {
        (Login::App { id, key, installation, ours: true }, Some(path)) => {
            let url = format!("{address}{path}");
            let entries = store.secret(&wish.names.ci).await?.unwrap_or_default();
            let secret =
                entries.get("webhook-secret").context("the Secret has no webhook-secret any more; run this again")?;
            app::lead(ci, sight, (id, key, *installation), (&url, secret)).await.context("the App's webhook")?;
            Ok(Some(format!("Webhooks of the App lead to {url}.\n")))
        }
        (Login::App { .. } | Login::Token(_), path) => Ok(Some(by_hand(wish, ci, login, address, path))),
    }
}

/// The path of a source that is in the cluster.
async fn path(wish: &Wish, ci: &Ci, store: &Store) -> anyhow::Result<Option<String>> {
    if store.cluster.is_none() {
        return Ok(None);
    }
    let name = wish.names.source(ci.platform);
    let Some(source) = store.object("RunnerSource", &name).await? else { return Ok(None) };
    let source: RunnerSource =
        serde_json::from_value(source).with_context(|| format!("RunnerSource {name} is of another version"))?;
    Ok(webhook_path(&source))
}

/// What a person does about webhooks.
fn by_hand(wish: &Wish, ci: &Ci, login: &Login, address: &str, path: Option<String>) -> String {
    let (namespace, source) = (&wish.namespace, wish.names.source(ci.platform));
    let place = match login {
        Login::App { .. } => "in the settings of the App".to_owned(),
        Login::Token(_) => format!("in the settings of {}", ci.place()),
    };
    let url = path.map_or_else(
        || {
            format!(
                "{address} and, behind it, what this prints once the source is applied:\n                \
                 kubectl -n {namespace} get runnersource {source} -o jsonpath='{{.status.webhookPath}}'"
            )
        },
        |path| format!("{address}{path}"),
    );
    format!(
        "Webhooks: set one up {place}.\n  address       {url}\n  content type  application/json\n  secret        entry \
         webhook-secret of Secret {}\n  event         Workflow jobs\n",
        wish.names.ci
    )
}
