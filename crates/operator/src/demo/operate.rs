//! The real operator in this process: started, ended and started again as somebody wants it.

use std::sync::Arc;

use chassis::Tasks;
use runtime::host::{self, Ending, Launch, Records, Surroundings};
use tokio::sync::{oneshot, watch};
use tracing_subscriber::fmt::writer::BoxMakeWriter;

use super::home::Home;
use super::world::{Doors, World};
use crate::cli::VERSION;
use crate::single::Single;
use crate::{SETTINGS, controllers, select};

/// An operator, as long as somebody wants one.
pub(super) struct Operator {
    /// Whether it is to run.
    pub(super) wanted: Arc<watch::Sender<bool>>,
    /// Says why it ended though nobody wanted that.
    pub(super) failed: oneshot::Receiver<anyhow::Error>,
    tasks: Tasks,
}

impl Operator {
    /// Starts it, with its records in a file.
    pub(super) fn start(world: &Arc<World>, home: &Home) -> anyhow::Result<Self> {
        let log = home.open_log()?;
        let wanted = Arc::new(watch::Sender::new(true));
        let (tell, failed) = oneshot::channel();
        let (tasks, world, wants) = (Tasks::new(), Arc::clone(world), wanted.subscribe());
        let mut stopping = Box::pin(tasks.stopping());
        tasks.spawn("operator", async move {
            let mut records = Records::To(BoxMakeWriter::new(Arc::new(log)));
            loop {
                if let Err(error) = run(&world.single, world.doors, records, wants.clone()).await {
                    let _ = tell.send(error);
                    return;
                }
                // The first one's records are everybody's in this process.
                records = Records::Installed;
                let mut again = wants.clone();
                tokio::select! {
                    () = &mut stopping => return,
                    wanted = again.wait_for(|wanted| *wanted) => if wanted.is_err() { return },
                }
            }
        });
        Ok(Self { wanted, failed, tasks })
    }

    /// Ends it in order, if it does so within the grace.
    pub(super) async fn end(self, grace: std::time::Duration) {
        let Self { wanted, tasks, .. } = self;
        wanted.send_replace(false);
        drop(wanted);
        if let Err(leftover) = tasks.shutdown(grace).await {
            tracing::warn!(%leftover, "the operator does not end");
        }
    }
}

/// One life of it.
async fn run(single: &Single, doors: Doors, records: Records, mut wanted: watch::Receiver<bool>) -> anyhow::Result<()> {
    let duties = select(&["fleet", "bootstrap", "ingress"].map(str::to_owned))?;
    let launch = Launch {
        name: "hyperfleet-demo",
        lease: "hyperfleet-fleet".to_owned(),
        version: VERSION,
        tables: &[SETTINGS],
        flags: flags(doors),
        file: None,
        // Nothing around the demo changes what it shows.
        env: &|_| None,
    };
    let over = async move {
        // A world that is gone wants nobody.
        let _ = wanted.wait_for(|wanted| !wanted).await;
    };
    let surroundings = Surroundings { cluster: single.cluster(), records, ending: Ending::When(Box::pin(over)) };
    Ok(host::run_in(launch, surroundings, |host| controllers::spawn(&duties, host)).await?)
}

/// What differs from an installation: loopback addresses, one replica, and a look every second.
fn flags(Doors { machines, platforms, console }: Doors) -> Vec<(String, String)> {
    let flag = |(name, value): (&str, String)| (name.to_owned(), value);
    let loopback = || "127.0.0.0/8".to_owned();
    [
        ("metrics-bind-address", format!("127.0.0.1:{console}")),
        // No browser knows our certificates, and nothing leaves this machine. The console asks for its token all the same.
        ("metrics-secure", "false".to_owned()),
        ("health-probe-bind-address", "0".to_owned()),
        ("leader-elect", "false".to_owned()),
        ("hypervisor-allowed-addresses", loopback()),
        ("platform-allowed-addresses", loopback()),
        ("hypervisor-period", "1s".to_owned()),
        ("claim-backoff", "1s".to_owned()),
        ("claim-backoff-max", "4s".to_owned()),
        ("bootstrap-listen", format!("127.0.0.1:{machines}")),
        ("bootstrap-advertise", format!("https://127.0.0.1:{machines}")),
        ("ingress-listen", format!("127.0.0.1:{platforms}")),
    ]
    .map(flag)
    .to_vec()
}
