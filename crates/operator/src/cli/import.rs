//! `hyperfleet import`: brings a fleet that was exported to this API server.

use std::path::PathBuf;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use super::export::home_flag;
use super::reach::reach;
use crate::print;
use crate::transfer::{Export, Import, Verdict};

const LONG_ABOUT: &str =
    "Bring a fleet that `hyperfleet export` has written down to this API server, while its machines run.

Everything is looked at first; if anything stands in the way, all of it is told and nothing is written. Then come the
operator's keys, the Secrets, and every object with its status, all on hold; and only when everything is here, the
operator here begins to act. If the import ends early, repeat it: it goes on where it was, and a second one changes
nothing.";

const EXAMPLES: &str = "Examples:
  hyperfleet import fleet.yaml --dry-run
  hyperfleet import fleet.yaml --create-namespaces";

pub(super) fn command() -> Command {
    let file = Arg::new("file")
        .value_name("FILE")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("What `hyperfleet export` has written");
    let dry = Arg::new("dry-run")
        .long("dry-run")
        .action(ArgAction::SetTrue)
        .help("Only look whether the fleet can be brought here");
    let namespaces = Arg::new("create-namespaces")
        .long("create-namespaces")
        .action(ArgAction::SetTrue)
        .help("Create the namespaces that are not here");
    Command::new("import")
        .about("Bring a fleet from a file to this API server")
        .long_about(LONG_ABOUT)
        .after_help(EXAMPLES)
        .args([file, dry, namespaces, home_flag()])
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let path = matches.get_one::<PathBuf>("file").expect("clap demands it");
    let export = Export::read(path)?;
    let (client, _) = reach(matches).await?;
    let home = matches.get_one::<String>("operator-namespace").map(String::as_str);
    let import = Import::new(&client, &export, home, matches.get_flag("create-namespaces"));
    let id = &export.header.id;
    match import.check().await? {
        Verdict::Done => {
            return Ok(print::out(&format!(
                "Export {id} was imported here before, or called off here; nothing was changed.\n"
            ))?);
        }
        Verdict::Begun => print::note(&format!("Export {id} is here in part; going on.")),
        Verdict::New => print::note(&format!("Nothing stands in the way of export {id}.")),
    }
    for note in import.lapsed().await? {
        print::note(&note);
    }
    if matches.get_flag("dry-run") {
        let counts = export.counts();
        let lines: Vec<String> = counts.iter().map(|(kind, count)| format!("  {kind:26} {count}\n")).collect();
        return Ok(print::out(&format!("{}Nothing was written.\n", lines.concat()))?);
    }
    let tally = import.run().await?;
    Ok(print::out(&format!(
        "{}The fleet is here, and its operator here looks after it. Stop the operator where it came from, and let the address \
         of the\nbootstrap service lead here, within half a minute: that long machines wait for an answer.\n",
        tally.text()
    ))?)
}
