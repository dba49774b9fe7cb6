//! What the machine runs out of while the work runs. The machine is the work's alone, so that its counters are too.

use std::path::{Path, PathBuf};

use rustix::fs::statvfs;

use crate::Shortage;

/// Where the kernel counts.
const COUNTERS: &str = "/proc/vmstat";
/// Less is nothing: no job does with it.
const NOTHING: u64 = 16 << 20;

/// How things were when the work began.
#[derive(Debug)]
pub(super) struct Stock {
    kills: u64,
    /// Where the work's files are.
    folder: PathBuf,
}

impl Stock {
    /// How things are now.
    pub(super) fn take(folder: &Path) -> Self {
        Self { kills: kills(), folder: folder.to_owned() }
    }

    /// What has run out since.
    pub(super) fn shortage(&self) -> Option<Shortage> {
        let kills = kills().saturating_sub(self.kills);
        if kills > 0 {
            return Some(Shortage::Memory(kills));
        }
        let found = statvfs(&self.folder).ok()?;
        let (free, total) = (found.f_bavail * found.f_frsize, found.f_blocks * found.f_frsize);
        // File systems that have no fixed number of files say that they have none.
        let no_file = found.f_files > 0 && found.f_favail == 0;
        let is_full = total > 0 && (no_file || free < NOTHING.min(total / 100));
        is_full.then(|| Shortage::Disk { path: self.folder.clone(), free, total })
    }
}

fn kills() -> u64 {
    std::fs::read_to_string(COUNTERS).ok().and_then(|text| count(&text)).unwrap_or_default()
}

fn count(counters: &str) -> Option<u64> {
    counters.lines().find_map(|line| line.strip_prefix("oom_kill ")?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kills_are_counted_by_the_kernel() {
        assert_eq!(count("pgfault 7\noom_kill 3\noom_kill_disable 9\n"), Some(3));
        assert_eq!(count("oom_kill_disable 9\n"), None);
        let real = std::fs::read_to_string(COUNTERS).unwrap();
        assert!(count(&real).is_some(), "this kernel counts too");
        let nowhere = Stock { kills: u64::MAX, folder: "/no/such/place".into() };
        assert_eq!(nowhere.shortage(), None, "what cannot be known is not claimed");
    }
}
