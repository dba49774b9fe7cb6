//! All that a guest's program has started: when a VM is switched off, nothing in it goes on.

use std::collections::{BTreeMap, BTreeSet};

use rustix::process::{Pid, Signal, kill_process};

/// Rounds after which nothing can be left: what a program starts while it is killed is found in the next.
const ROUNDS: usize = 10;

/// Kills everything below `top`, which stands still from then on and is left to whoever waits for it.
pub(super) fn fell(top: u32) {
    // It fails where somebody is gone already, which is what is wanted.
    let send = |id: u32, signal| i32::try_from(id).ok().and_then(Pid::from_raw).map(|id| kill_process(id, signal));
    let _ = send(top, Signal::STOP);
    for _ in 0..ROUNDS {
        let below = below(top, &parents());
        if below.is_empty() {
            return;
        }
        for id in below {
            let _ = send(id, Signal::KILL);
        }
    }
}

/// Everybody whose chain of parents leads to `top`.
fn below(top: u32, parents: &BTreeMap<u32, u32>) -> BTreeSet<u32> {
    let mut found = BTreeSet::from([top]);
    loop {
        let known = found.len();
        found
            .extend(parents.iter().filter(|(_, parent)| found.contains(parent)).map(|(id, _)| *id).collect::<Vec<_>>());
        if found.len() == known {
            found.remove(&top);
            return found;
        }
    }
}

/// Everybody who lives, with his parent.
fn parents() -> BTreeMap<u32, u32> {
    let Ok(listed) = std::fs::read_dir("/proc") else { return BTreeMap::new() };
    let ids = listed.flatten().filter_map(|entry| entry.file_name().to_str()?.parse::<u32>().ok());
    ids.filter_map(|id| Some((id, parent(&std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?)?))).collect()
}

/// The parent in a line of `/proc/*/stat`, unless it is about somebody dead. The name in it may hold anything, so that it is
/// read from its end.
fn parent(line: &str) -> Option<u32> {
    let mut fields = line.rsplit_once(')')?.1.split_whitespace();
    let lives = !matches!(fields.next()?, "Z" | "X");
    fields.next()?.parse().ok().filter(|_| lives)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn those_below_are_found_however_deep_and_nobody_else() {
        let parents = BTreeMap::from([(2, 1), (3, 2), (9, 3), (4, 1), (5, 4)]);
        assert_eq!(below(2, &parents), BTreeSet::from([3, 9]));
        assert_eq!(below(9, &parents), BTreeSet::new());
    }

    #[test]
    fn a_name_with_parentheses_hides_nothing() {
        assert_eq!(parent("12 (a) S 1) (b) S 7 12 12 0 -1"), Some(7));
        assert_eq!(parent("12 (sh) Z 7 12 12 0 -1"), None);
    }

    #[test]
    fn a_tree_with_sessions_of_its_own_is_felled() {
        let script = "setsid sleep 600 & sleep 600 & echo $!; wait";
        let mut top = std::process::Command::new("sh")
            .args(["-c", script])
            .stdout(std::process::Stdio::piped())
            .spawn()
            .expect("a shell");
        let mut line = String::new();
        let output = top.stdout.take().expect("its output");
        std::io::BufRead::read_line(&mut std::io::BufReader::new(output), &mut line).expect("a line");
        fell(top.id());
        assert_eq!(below(top.id(), &parents()), BTreeSet::new());
        assert!(top.try_wait().expect("its state").is_none(), "the top itself is left");
        top.kill().expect("it stands still");
        top.wait().expect("it is dead");
    }
}
