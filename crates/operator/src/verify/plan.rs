//! What will be done, shown before anything is.

use std::fmt::Write;
use std::io;

use providers::hypervisor::kit::{Case, SeedKind};

use super::checks::Ready;
use super::request::Request;
use super::run::Run;
use crate::print;

/// The whole plan.
pub(super) fn text(intentions: &[String], helped: &[Case], request: &Request, run: &Run, ready: &Ready) -> String {
    let health = &ready.health;
    let mut text = format!("\nThe plan, for {} as {}, run {}:\n", request.url, health.identity, run.word);
    let mut line = |words: &str| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "  * {words}");
    };
    for words in intentions {
        line(words);
    }
    line(&match &request.bridge {
        Some(bridge) => format!("VMs that are configured are plugged into {bridge}, others into the image's network."),
        None => "VMs that are started are on the image's network.".to_owned(),
    });
    if let Some(path) = &request.record {
        line(&format!("Write every call and its answer, without secrets, to {}.", path.display()));
    }
    if !helped.is_empty() {
        let names: Vec<&str> = helped.iter().map(|case| case.name()).collect();
        line(&format!("Not tried, as it takes a hypervisor that misbehaves on request: {}.", names.join(", ")));
    }
    text.push_str(&leftovers(request, run));
    text
}

/// What an unlucky end may leave behind.
fn leftovers(request: &Request, run: &Run) -> String {
    let (word, first, last) = (&run.word, request.range.first, request.range.last);
    let mut text = format!(
        "\nCtrl-C ends it: nothing new is begun, and what was made is removed. If it is killed, or the hypervisor goes away,\n\
         these may be left, for you to remove:\n  \
         * VMs named hyperfleet-kit-{word}-<number>, with VMIDs from {first} to {last}, and their disks\n"
    );
    if let (SeedKind::Iso, Some(storage)) = (request.seed, &request.iso_storage) {
        let _ = writeln!(text, "  * seed images on storage {storage} with kit-{word}-<number> in their names");
    }
    text
}

/// Asks whether to go on; if not, why.
pub(super) fn confirm(agreed: bool) -> io::Result<Option<&'static str>> {
    if agreed {
        return Ok(None);
    }
    Ok(refusal(print::ask("\nGo on? Type yes: ")?.as_deref()))
}

fn refusal(answer: Option<&str>) -> Option<&'static str> {
    match answer {
        Some("yes" | "Yes" | "YES" | "y" | "Y") => None,
        Some(_) => Some("you did not say yes"),
        None => Some("nobody is at the terminal to agree; add --yes to go on"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_yes_is_a_yes() {
        assert_eq!(refusal(Some("yes")), None);
        assert!(refusal(Some("")).is_some() && refusal(Some("no")).is_some());
        assert!(refusal(None).is_some_and(|why| why.contains("--yes")));
    }
}
