//! `hyperfleet why`: what a job, a claim or a pool waits for, in one line, and the way there.
//!
//! Here things are only fetched and printed; the answer is [`fleet::trail`]'s.

mod gather;
mod similar;
mod target;
mod text;

use std::process::ExitCode;

use anyhow::Context;
use chassis::Clock;
use clap::{Arg, ArgMatches, Command, value_parser};
use fleet::trail;

use self::gather::{Reader, Subject};
use self::target::Target;
use super::reach::{namespace_flag, reach};
use crate::print::{self, Paint};

const LONG_ABOUT: &str = "Say what a job, a machine or a pool waits for.

The first line is the answer: the one thing it waits for, and what to do about it if a person can. Below it stand what happened
so far with the time it took, and what each object between the CI job and the VM says.

Exit codes:
  0    it was found
  1    there is none of that name, or the API server could not be asked
  2    the command line is wrong, or several things have that name";

const EXAMPLES: &str = "Examples:
  hyperfleet why job-3f9a2c                 whatever has that name: a job, a claim or a pool
  hyperfleet why rpool/small -n ci          a pool, by the short name of its kind
  hyperfleet why mclaim/job-3f9a2c-1 -o json";

pub(super) fn command() -> Command {
    let target = Arg::new("target")
        .value_name("[KIND/]NAME")
        .required(true)
        .value_parser(value_parser!(Target))
        .help("A RunnerJob, MachineClaim or RunnerPool; without a kind, whichever has that name");
    let output = Arg::new("output")
        .long("output")
        .short('o')
        .value_name("FORM")
        .value_parser(["text", "json"])
        .default_value("text")
        .help("How to print it");
    Command::new("why")
        .about("Say what a job, a machine or a pool waits for")
        .long_about(LONG_ABOUT)
        .after_help(EXAMPLES)
        .arg(target)
        .arg(namespace_flag())
        .arg(output)
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let target = matches.get_one::<Target>("target").expect("clap demands it");
    let (client, namespace) = reach(matches).await?;
    let reader = Reader::new(client, namespace);
    let mut found = reader.find(target).await?;
    let Some(subject) = found.pop() else {
        print::error(&anyhow::anyhow!(missing(target, &reader).await?));
        return Ok(ExitCode::FAILURE);
    };
    if !found.is_empty() {
        found.push(subject);
        print::error(&anyhow::anyhow!(ambiguous(&target.name, &found)));
        return Ok(ExitCode::from(2));
    }
    let trail = trail::follow(&reader.scene(subject).await?, Clock::system().now());
    let json = matches.get_one::<String>("output").is_some_and(|form| form == "json");
    let shown = if json {
        let value = serde_json::to_string_pretty(&trail).context("the answer has no JSON form")?;
        format!("{value}\n")
    } else {
        text::text(&trail, Paint::detect())
    };
    print::out(&shown)?;
    Ok(ExitCode::SUCCESS)
}

/// What is said when there is none of that name, with those that there are.
async fn missing(target: &Target, reader: &Reader) -> anyhow::Result<String> {
    let what = target.kind.map_or("RunnerJob, MachineClaim or RunnerPool", target::kind_name);
    let known = reader.names(target).await?;
    let near = similar::similar(&target.name, &known);
    let hint = if near.is_empty() { String::new() } else { format!("; there is {}", near.join(", ")) };
    Ok(format!("namespace {} has no {what} named {}{hint}", reader.namespace(), target.name))
}

fn ambiguous(name: &str, found: &[Subject]) -> String {
    let kinds: Vec<String> = found.iter().map(|subject| format!("{}/{name}", subject.kind().as_str())).collect();
    format!("several things are named {name}: say which, {}", kinds.join(" or "))
}
