//! `hyperfleet demo`: see it work, with nothing but this program.

use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgMatches, Command, value_parser};

use crate::demo::{self, Fault, Order, Tempo, listed};
use crate::print;

/// What `--fault` takes beside the names of faults.
const LIST: &str = "list";

const LONG_ABOUT: &str = "See HyperFleet work, without a cluster and without a hypervisor.

Starts an API server, a simulated Proxmox VE, a simulated GitHub and the real operator in this process, applies the examples, \
queues jobs and shows what happens: pools, queue, VMs, events, a timeline for each job. Every VM has the real agent in it. In the \
end it counts what is left on the hypervisor, at the platform and in the API, and compares it with what there was before.

Nothing is installed, nothing leaves this machine, and nothing is left of it. Ctrl-C ends it at any moment.

The exit code is 0 only if every job ended as it should and nothing is left.";

pub(super) fn command() -> Command {
    let jobs = Arg::new("jobs")
        .long("jobs")
        .value_name("N")
        .value_parser(value_parser!(u16).range(1..=500))
        .default_value("20")
        .help("How many jobs to queue, 1 to 500");
    let fault = Arg::new("fault")
        .long("fault")
        .value_name("NAME")
        .value_parser(parse_fault)
        .help("Let something go wrong: a fault by its name, or `list` to list them");
    let speed = Arg::new("speed")
        .long("speed")
        .value_name("X")
        .value_parser(parse_speed)
        .default_value("1")
        .help("How fast the simulated work goes, 0.1 to 20");
    let keep = Arg::new("keep")
        .long("keep")
        .action(ArgAction::SetTrue)
        .help("Stay up after the jobs, and say what to try with kubectl");
    let plain = Arg::new("plain")
        .long("plain")
        .action(ArgAction::SetTrue)
        .help("One line for each event and no picture, as without a terminal");
    Command::new("demo")
        .about("See it work on a simulated hypervisor, without a cluster")
        .long_about(LONG_ABOUT)
        .after_long_help(format!("Faults:\n{}", listed()))
        .args([jobs, fault, speed, keep, plain])
}

/// A fault, or the wish to see them all.
#[derive(Clone, Copy, Debug)]
enum Wish {
    List,
    Fault(Fault),
}

fn parse_fault(text: &str) -> Result<Wish, String> {
    if text == LIST {
        return Ok(Wish::List);
    }
    let names = || Fault::ALL.iter().map(|fault| fault.name()).collect::<Vec<_>>().join(", ");
    Fault::named(text).map(Wish::Fault).ok_or_else(|| format!("there is no such fault; there are: {}", names()))
}

fn parse_speed(text: &str) -> Result<Tempo, String> {
    let range = Tempo::RANGE;
    let tempo = text.parse().ok().and_then(Tempo::new);
    tempo.ok_or_else(|| format!("it must be a number from {} to {}", range.start(), range.end()))
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let fault = match matches.get_one::<Wish>("fault") {
        Some(Wish::List) => {
            print::out(&listed())?;
            return Ok(ExitCode::SUCCESS);
        }
        Some(Wish::Fault(fault)) => Some(*fault),
        None => None,
    };
    let jobs = matches.get_one::<u16>("jobs").copied().unwrap_or(20);
    if let Some(fault) = fault.filter(|fault| usize::from(jobs) < fault.least()) {
        print::note(&format!("--fault {fault} takes at least {} jobs: say --jobs {0} or more", fault.least()));
        return Ok(ExitCode::from(2));
    }
    let tempo = matches.get_one::<Tempo>("speed").copied().expect("the argument has a default");
    let flag = |name: &str| matches.get_flag(name);
    demo::run(Order { jobs: usize::from(jobs), fault, tempo, keep: flag("keep"), plain: flag("plain") }).await
}
