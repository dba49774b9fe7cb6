//! The queue: every job in it is counted, and those that have waited longest are shown. Nobody reads thousands of rows, and a
//! browser that gets them again after every loss would.

use std::collections::HashMap;

use fleet::trail::Standing;

use super::rows::{Cause, JobRow, Queue, Rows};

/// Jobs that are shown while they wait; those that do not are as many as there are machines.
const SHOWN: usize = 1_000;
/// Sentences about what jobs wait for, the most frequent first.
const CAUSES: usize = 12;

/// Sums the queue up, and takes out of these rows what is behind the part that is shown.
pub(super) fn trim(jobs: &mut Rows<JobRow>) -> Queue {
    let mut waiting: Vec<(&String, &JobRow)> = jobs.iter().filter(|(_, row)| row.waits()).collect();
    let blocked = waiting.iter().filter(|(_, row)| row.standing == Standing::Blocked).count();
    let queue = Queue { queued: waiting.len(), blocked, reasons: causes(&waiting) };
    waiting.sort_by_key(|(key, row)| (row.queued_at, *key));
    let behind: Vec<String> = waiting.into_iter().skip(SHOWN).map(|(key, _)| key.clone()).collect();
    for key in behind {
        jobs.remove(&key);
    }
    queue
}

/// Jobs that wait for the same are said once, with how many they are.
fn causes(waiting: &[(&String, &JobRow)]) -> Vec<Cause> {
    let mut same: HashMap<String, Cause> = HashMap::new();
    for (_, row) in waiting {
        let why = general(&row.why);
        let fresh = || Cause { number: 0, standing: row.standing, why: why.clone() };
        same.entry(why.clone()).or_insert_with(fresh).number += 1;
    }
    let mut causes: Vec<Cause> = same.into_values().collect();
    causes.sort_by(|a, b| b.number.cmp(&a.number).then_with(|| a.why.cmp(&b.why)));
    causes.truncate(CAUSES);
    causes
}

/// The sentence without whose claim and which VM it is, which differ from job to job.
fn general(why: &str) -> String {
    let named = why.split_once(" (machineclaim/").and_then(|(before, rest)| Some((before, rest.split_once(')')?.1)));
    let unnamed = named.map_or_else(|| why.to_owned(), |(before, after)| format!("{before}{after}"));
    let mut parts = unnamed.split("VM ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |said, part| match part.trim_start_matches(|letter: char| letter.is_ascii_digit()) {
        rest if rest.len() < part.len() => format!("{said}its VM{rest}"),
        _ => format!("{said}VM {part}"),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whose_claim_it_is_makes_no_other_reason() {
        let one = general("waits for its VM (machineclaim/job-1-1): 4 clones are under way.");
        assert_eq!(one, "waits for its VM: 4 clones are under way.");
        assert_eq!(general("waits for its VM (machineclaim/job-2-1): 4 clones are under way."), one);
        let locked =
            general("attempt 1 of 4 did not succeed: the clone (transient): VM 6068: no room; VM 6069 is not ours");
        assert_eq!(
            locked,
            "attempt 1 of 4 did not succeed: the clone (transient): its VM: no room; its VM is not ours"
        );
        assert_eq!(general("waits for its VM to start"), "waits for its VM to start");
        assert_eq!(general("is served by no pool (nowhere)."), "is served by no pool (nowhere).");
    }
}
