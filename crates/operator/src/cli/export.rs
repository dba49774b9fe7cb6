//! `hyperfleet export`: everything of a fleet in one file, and the fleet on hold until it has moved.

use std::path::PathBuf;

use anyhow::{Context, bail};
use chassis::Clock;
use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};
use kube::Client;

use super::reach::{namespace_flag, reach};
use crate::chance::real_chance;
use crate::print;
use crate::transfer::{self, Draft, Export, NOTICED, Thawed};

const LONG_ABOUT: &str =
    "Write everything of a fleet into one file: clusters, templates, sources, pools, jobs and claims with their
status, the Secrets that they name, and the operator's own keys. `hyperfleet import` brings it to another API server
while its machines run.

From the export on, the fleet here is on hold, so that two operators never act for one fleet: no machine is made,
changed or destroyed here, and jobs go on. The operator must go on running until the import is complete: it keeps the
machines alive. If the move is called off, --thaw ends the hold.

The file holds secrets. Only you can read it; remove it when the fleet has moved.";

const EXAMPLES: &str = "Examples:
  hyperfleet export --freeze -A -o fleet.yaml         put the whole fleet on hold and write it down
  KUBECONFIG=there.conf hyperfleet import fleet.yaml  bring it there
  hyperfleet export --thaw                            go on here after all";

/// What is said of an export that failed after its first step.
const STAYS: &str =
    "nothing was written, and the fleet stays on hold: export again, or end that with `hyperfleet export --thaw`";

pub(super) fn command() -> Command {
    let output = Arg::new("output")
        .long("output")
        .short('o')
        .value_name("FILE")
        .value_parser(value_parser!(PathBuf))
        .required_unless_present("thaw")
        .help("File to write, which must not exist; - for standard output");
    let everywhere = Arg::new("all-namespaces")
        .long("all-namespaces")
        .short('A')
        .action(ArgAction::SetTrue)
        .conflicts_with("namespace")
        .help("Export the objects of all namespaces");
    let freeze = Arg::new("freeze")
        .long("freeze")
        .action(ArgAction::SetTrue)
        .conflicts_with("thaw")
        .help("Put the fleet on hold; without it, only a fleet that is on hold is exported");
    let thaw = Arg::new("thaw")
        .long("thaw")
        .action(ArgAction::SetTrue)
        .conflicts_with_all(["output", "namespace", "all-namespaces"])
        .help("End the hold: only if the fleet was not imported elsewhere");
    Command::new("export")
        .about("Write a fleet into a file, to move it to another API server")
        .long_about(LONG_ABOUT)
        .after_help(EXAMPLES)
        .args([output, namespace_flag(), everywhere, home_flag(), freeze, thaw])
}

/// The flag that says where the operator lives.
pub(super) fn home_flag() -> Arg {
    Arg::new("operator-namespace")
        .long("operator-namespace")
        .value_name("NAME")
        .help("Namespace that the operator lives in; by default the one that has its key, or had it")
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let (client, namespace) = reach(matches).await?;
    Ok(print::out(&export(matches, &client, &namespace).await?)?)
}

/// Does what was asked for; what is to be said of it.
async fn export(matches: &ArgMatches, client: &Client, namespace: &str) -> anyhow::Result<String> {
    let home = match matches.get_one::<String>("operator-namespace") {
        Some(home) => home.clone(),
        None => transfer::home(client).await?,
    };
    if matches.get_flag("thaw") {
        return Ok(thawed(&transfer::thaw(client, &home).await?, &home));
    }
    let path = matches.get_one::<PathBuf>("output").expect("clap demands it");
    let chosen = (!matches.get_flag("all-namespaces")).then_some(namespace);
    transfer::inhabited(client, chosen).await?;
    if !matches.get_flag("freeze") && !transfer::is_held(client, &home).await? {
        bail!(
            "the fleet is not on hold, and what is written down would be out of date at once: say --freeze to put it on hold \
             for the time of the move (jobs go on), and `hyperfleet export --thaw` if you call it off"
        );
    }
    // A fleet that is not exported after all has not been on hold for nothing.
    transfer::alone(client, chosen).await?;
    let draft = (path.as_os_str() != "-").then(|| Draft::begin(path)).transpose()?;
    let (id, _) = transfer::freeze(client, &home, &real_chance()).await?;
    // Also if it was before: that may have been a moment ago.
    print::note(&format!("The fleet is on hold (export {id}). Waiting until everybody has noticed ..."));
    tokio::time::sleep(NOTICED).await;
    let gathered = transfer::gather(client, &home, &id, chosen, Clock::system()).await;
    let (export, notes) = gathered.context(STAYS)?;
    for note in notes {
        print::note(&note);
    }
    let Some(draft) = draft else { return Ok(export.text()) };
    draft.finish(&export).context(STAYS)?;
    Ok(told(&export, path))
}

/// What became of a hold, in words.
fn thawed(thawed: &Thawed, home: &str) -> String {
    let Thawed { ended, freed, left, unseen } = thawed;
    let mut said = Vec::new();
    if *ended {
        said.push(
            "The hold has ended: the fleet goes on here. An export of it must not be imported any more.\n".to_owned(),
        );
    } else if *freed == 0 && left.is_empty() {
        said.push(format!("The fleet of the operator in namespace {home} is not on hold; nothing was changed.\n"));
    }
    if *freed > 0 {
        said.push(format!("{freed} objects that an export was applied to are not on hold any more.\n"));
    }
    if !left.is_empty() {
        said.push(
            "These were made by whoever applied the export, with no status. They stay on hold: delete them.\n"
                .to_owned(),
        );
        said.extend(left.iter().map(|place| format!("  {place}\n")));
    }
    let unseen = unseen.iter();
    said.extend(
        unseen.map(|kind| format!("You may not list {kind}s everywhere: some may still be on hold by themselves.\n")),
    );
    said.concat()
}

fn told(export: &Export, path: &std::path::Path) -> String {
    let counts = export.counts();
    let lines: Vec<String> = counts.iter().map(|(kind, count)| format!("  {kind:26} {count}\n")).collect();
    let path = path.display();
    format!(
        "{}Written to {path}, which holds secrets.\n\n\
         The fleet here is on hold. Leave its operator running, so that machines go on, and bring the file to the other\n\
         server with `hyperfleet import {path}`; or end the hold with `hyperfleet export --thaw`.\n",
        lines.concat()
    )
}

#[cfg(test)]
mod tests;
