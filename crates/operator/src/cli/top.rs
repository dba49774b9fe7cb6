//! `hyperfleet top`: pools, queue and VMs at a glance.
//!
//! ```text
//!   watches ─▶ caches ─▶ View (what there is to show) ─▶ draw ─▶ the terminal, or one plain frame
//!                              keys ─▶ Look (where one looks) ─┘
//! ```

mod draw;
pub(crate) mod live;
mod look;
pub(crate) mod pane;
pub(crate) mod view;

use std::sync::Arc;

use anyhow::Context;
use api::{MachineClaim, RunnerJob, RunnerPool};
use chassis::Clock;
use clap::{Arg, ArgAction, ArgMatches, Command};
use kube::Client;
use kube::api::{Api, ListParams};
use runtime::Cacheable;

use self::view::{Objects, View};
use super::reach::{namespace_flag, reach};
use crate::print::{self, Screen};

const LONG_ABOUT: &str = "Watch pools, the queue and VMs in the terminal.

Pools with what they want and have, jobs that wait with the reason (oldest first), and the machine of every claim. `hyperfleet
why NAME` tells more about any of them.

Keys: Tab and the left and right arrows go from pane to pane, the up and down arrows and Page Up and Down move in one, q, Esc
and Ctrl-C leave.";

pub(super) fn command() -> Command {
    let everywhere = Arg::new("all-namespaces")
        .long("all-namespaces")
        .short('A')
        .action(ArgAction::SetTrue)
        .conflicts_with("namespace")
        .help("Look in every namespace");
    let once = Arg::new("once")
        .long("once")
        .action(ArgAction::SetTrue)
        .help("Print one frame as plain text and leave, as without a terminal");
    Command::new("top")
        .about("Watch pools, queue and VMs in the terminal")
        .long_about(LONG_ABOUT)
        .arg(namespace_flag())
        .arg(everywhere)
        .arg(once)
}

/// Where somebody looks: one namespace, or all of them.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Scope(Option<String>);

impl Scope {
    fn api<K>(&self, client: &Client) -> Api<K>
    where
        K: Cacheable + kube::Resource<Scope = kube::core::NamespaceResourceScope>,
    {
        match &self.0 {
            Some(namespace) => Api::namespaced(client.clone(), namespace),
            None => Api::all(client.clone()),
        }
    }
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let (client, namespace) = reach(matches).await?;
    let scope = Scope((!matches.get_flag("all-namespaces")).then_some(namespace));
    if matches.get_flag("once") || !Screen::is_there() {
        let objects = list(&client, &scope, &ListParams::default()).await?;
        return Ok(print::out(&draw::plain(&View::of(&objects, &scope, None, Clock::system().now())))?);
    }
    // Whoever may not look is told so, not shown an empty screen.
    list(&client, &scope, &ListParams::default().limit(1)).await?;
    live::run(&client, &scope).await
}

async fn list(client: &Client, scope: &Scope, params: &ListParams) -> anyhow::Result<Objects> {
    Ok(Objects {
        pools: listed::<RunnerPool>(client, scope, params).await?,
        jobs: listed::<RunnerJob>(client, scope, params).await?,
        claims: listed::<MachineClaim>(client, scope, params).await?,
    })
}

async fn listed<K>(client: &Client, scope: &Scope, params: &ListParams) -> anyhow::Result<Vec<Arc<K>>>
where
    K: Cacheable + kube::Resource<Scope = kube::core::NamespaceResourceScope>,
{
    let list = scope.api::<K>(client).list(params).await;
    let list = list.with_context(|| format!("{} cannot be listed", K::plural(&())))?;
    Ok(list.items.into_iter().map(Arc::new).collect())
}
