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

    /// Everybody in it who lives, parents before their children: a shell whose child is killed first goes on with its next
    /// command, or tells that it failed.
    fn members(self) -> Vec<Pid> {
        self.among(entries(), getpid())
    }

    fn among(self, entries: Vec<Entry>, us: Pid) -> Vec<Pid> {
        let (us, leader) = (us.as_raw_nonzero().get(), self.leader.as_raw_nonzero().get());
        let entries: HashMap<i32, Entry> =
            entries.into_iter().map(|entry| (entry.id.as_raw_nonzero().get(), entry)).collect();
        let top = if self.adopts { us } else { leader };
        // No chain of parents is longer than there are programs, even if the list changed while it was read.
        let above = |entry: &Entry| {
            let parent = |entry: &&Entry| entries.get(&entry.parent);
            std::iter::successors(entries.get(&entry.parent), parent).take(entries.len()).count()
        };
        let is_below = |entry: &Entry| {
            let mut chain = std::iter::successors(Some(entry), |entry| entries.get(&entry.parent)).take(entries.len());
            chain.any(|entry| entry.parent == top)
        };
        let is_member = |entry: &&Entry| !entry.is_dead && (entry.group == leader || is_below(entry));
        let mut members: Vec<&Entry> =
            entries.values().filter(is_member).filter(|entry| entry.id.as_raw_nonzero().get() != us).collect();
        members.sort_by_key(|entry| above(entry));
        members.into_iter().map(|entry| entry.id).collect()
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

    /// The members of the work that 20 leads, below an agent of number 10 that adopts orphans.
    fn killed(lines: &[&str]) -> Vec<i32> {
        let tree = Tree::new(Pid::from_raw(20).unwrap(), true);
        let entries = lines.iter().map(|line| parse(line).unwrap()).collect();
        let members = tree.among(entries, Pid::from_raw(10).unwrap());
        members.into_iter().map(|id| id.as_raw_nonzero().get()).collect()
    }

    #[test]
    fn a_shell_is_killed_before_the_child_that_it_waits_for() {
        let chain =
            ["21 (sh) S 20 20", "40 (sleep) S 30 20", "20 (sh) S 10 20", "30 (sh) S 21 30", "10 (agent) S 1 10"];
        assert_eq!(killed(&chain), [20, 21, 30, 40]);
    }

    #[test]
    fn strangers_and_the_dead_are_left_alone_and_orphans_are_not() {
        let mixed = ["10 (agent) S 1 10", "20 (sh) Z 10 20", "50 (orphan) S 10 50", "60 (stranger) S 1 60"];
        assert_eq!(killed(&mixed), [50]);
    }

    #[test]
    fn a_list_that_changed_while_it_was_read_comes_to_an_end() {
        assert_eq!(killed(&["70 (a) S 71 70", "71 (b) S 70 70"]), Vec::<i32>::new());
    }

    #[test]
    fn a_line_is_read_whatever_the_programs_name_is() {
        let entry = parse("42 (a) R 1 1 (b) Z 7 40 40 0 -1\n").unwrap();
        assert_eq!((entry.id.as_raw_nonzero().get(), entry.parent, entry.group, entry.is_dead), (42, 7, 40, true));
        assert!(parse("42 (a S 1 1").is_none() && parse("").is_none() && parse("0 (x) S 1 1").is_none());
        let us = getpid();
        assert!(entries().iter().any(|entry| entry.id == us && !entry.is_dead));
    }
}
