//! All that the work has started, wherever it went.
//!
//! A runner's steps live in groups and sessions of their own and outlive it. An agent that adopts orphans is above all of
//! them, whatever they do: the tree below it is the work's, except the agent itself.

use std::collections::HashMap;

use rustix::process::{Pid, Signal, WaitIdOptions, WaitOptions, getpid, kill_process, waitid, waitpid};
use rustix::process::{WaitId, set_child_subreaper};

/// Makes this program the one that orphans below it come to.
pub(super) fn adopt() -> bool {
    let adopted = set_child_subreaper(Some(getpid()));
    if let Err(error) = &adopted {
        tracing::warn!(%error, "cannot adopt what the work leaves behind");
    }
    adopted.is_ok()
}

/// The work's tree.
#[derive(Clone, Copy, Debug)]
pub(super) struct Tree {
    leader: Pid,
    /// Whether everything below this program is the work's.
    adopts: bool,
}

/// What the kernel says about a program.
struct Entry {
    id: Pid,
    parent: i32,
    group: i32,
    is_dead: bool,
}

impl Tree {
    pub(super) fn new(leader: Pid, adopts: bool) -> Self {
        Self { leader, adopts }
    }

    /// Kills all of it that there is now; whether there was any.
    pub(super) fn kill(self) -> bool {
        let members = self.members();
        for member in &members {
            // It fails where somebody is gone already, which is what is wanted.
            let _: Result<(), rustix::io::Errno> = kill_process(*member, Signal::KILL);
        }
        !members.is_empty()
    }

    /// Everybody in it who lives.
    fn members(self) -> Vec<Pid> {
        let entries: HashMap<i32, Entry> =
            entries().into_iter().map(|entry| (entry.id.as_raw_nonzero().get(), entry)).collect();
        let top = if self.adopts { getpid() } else { self.leader };
        let is_below = |entry: &Entry| {
            let mut at = entry;
            // No chain of parents is longer than there are programs, even if the list changed while it was read.
            for _ in 0..entries.len() {
                if at.parent == top.as_raw_nonzero().get() {
                    return true;
                }
                let Some(parent) = entries.get(&at.parent) else { return false };
                at = parent;
            }
            false
        };
        let leader = self.leader.as_raw_nonzero().get();
        let is_member = |entry: &&Entry| !entry.is_dead && (entry.group == leader || is_below(entry));
        entries.values().filter(is_member).map(|entry| entry.id).filter(|id| *id != getpid()).collect()
    }

    /// Buries orphans that have died; the leader is left to whoever waits for it.
    pub(super) fn bury(self) {
        let peek = WaitIdOptions::EXITED | WaitIdOptions::NOHANG | WaitIdOptions::NOWAIT;
        if !self.adopts || !matches!(waitid(WaitId::All, peek), Ok(Some(_))) {
            return;
        }
        let us = getpid().as_raw_nonzero().get();
        for dead in entries().iter().filter(|entry| entry.is_dead && entry.parent == us && entry.id != self.leader) {
            let _: Result<_, rustix::io::Errno> = waitpid(Some(dead.id), WaitOptions::NOHANG);
        }
    }
}

/// All that run or wait to be buried.
fn entries() -> Vec<Entry> {
    let Ok(listed) = std::fs::read_dir("/proc") else { return Vec::new() };
    let ids = listed.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<i32>().ok());
    ids.filter_map(|id| parse(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)).collect()
}

/// A line of `/proc/*/stat`; the name in it may hold anything, so that it is read from its end.
fn parse(line: &str) -> Option<Entry> {
    let (front, back) = line.rsplit_once(')')?;
    let id = Pid::from_raw(front.split_once(' ')?.0.parse().ok()?)?;
    let mut fields = back.split_whitespace();
    let state = fields.next()?;
    let (parent, group) = (fields.next()?.parse().ok()?, fields.next()?.parse().ok()?);
    Some(Entry { id, parent, group, is_dead: matches!(state, "Z" | "X") })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_read_whatever_the_programs_name_is() {
        let entry = parse("42 (a) R 1 1 (b) Z 7 40 40 0 -1\n").unwrap();
        assert_eq!((entry.id.as_raw_nonzero().get(), entry.parent, entry.group, entry.is_dead), (42, 7, 40, true));
        assert!(parse("42 (a S 1 1").is_none() && parse("").is_none() && parse("0 (x) S 1 1").is_none());
        let us = getpid();
        assert!(entries().iter().any(|entry| entry.id == us && !entry.is_dead));
    }
}
