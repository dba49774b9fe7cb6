//! A job's way, from the platform's queue to the moment when its machine is gone.

use jiff::Timestamp;
use sim::github::Conclusion;

/// What was seen of a job.
#[derive(Clone, Debug)]
pub(super) struct Track {
    pub(super) name: String,
    pub(super) attempt: u64,
    pub(super) queued: Timestamp,
    /// When its machine began to be made.
    pub(super) made: Option<Timestamp>,
    pub(super) started: Option<Timestamp>,
    pub(super) ended: Option<Timestamp>,
    /// When its machine was gone.
    pub(super) gone: Option<Timestamp>,
    /// Number and node of its machine.
    pub(super) machine: Option<(u32, String)>,
    /// The claim of that machine.
    pub(super) claim: Option<String>,
    pub(super) conclusion: Option<Conclusion>,
    /// What it waits for, in a word.
    pub(super) waits: String,
}

/// Where a job is at a moment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Stretch {
    /// Not there yet, or all over.
    Nothing,
    Waits,
    Made,
    Runs,
    Goes,
}

impl Stretch {
    /// Its sign in a timeline; each is another letter, so that nobody needs colours.
    pub(super) const fn sign(self) -> char {
        match self {
            Self::Nothing => ' ',
            Self::Waits => '·',
            Self::Made => '▒',
            Self::Runs => '█',
            Self::Goes => '-',
        }
    }
}

impl Track {
    pub(super) fn new(name: &str, attempt: u64, queued: Timestamp) -> Self {
        Self {
            name: name.to_owned(),
            attempt,
            queued,
            made: None,
            started: None,
            ended: None,
            gone: None,
            machine: None,
            claim: None,
            conclusion: None,
            waits: String::new(),
        }
    }

    /// Where it was at that moment.
    pub(super) fn at(&self, moment: Timestamp) -> Stretch {
        let since = |mark: Option<Timestamp>| mark.is_some_and(|mark| mark <= moment);
        if moment < self.queued || since(self.gone) {
            Stretch::Nothing
        } else if since(self.ended) {
            Stretch::Goes
        } else if since(self.started) {
            Stretch::Runs
        } else if since(self.made) {
            Stretch::Made
        } else {
            Stretch::Waits
        }
    }

    /// Its timeline from `first` on, a sign for each `step` seconds until now.
    pub(super) fn line(&self, first: Timestamp, step: f64, now: Timestamp, width: usize) -> Vec<Stretch> {
        let middle = |cell: usize| {
            let seconds = (f64::from(u32::try_from(cell).unwrap_or(u32::MAX)) + 0.5) * step;
            first.saturating_add(jiff::SignedDuration::from_secs_f64(seconds)).unwrap_or(Timestamp::MAX)
        };
        let stretch = |moment: Timestamp| if moment > now { Stretch::Nothing } else { self.at(moment) };
        (0..width).map(middle).map(stretch).collect()
    }

    /// How long it waited, ran and was cleared away, as far as it got.
    pub(super) fn spans(&self) -> [Option<f64>; 3] {
        [
            self.started.map(|started| between(self.queued, started)),
            self.started.zip(self.ended).map(|(from, to)| between(from, to)),
            self.ended.zip(self.gone).map(|(from, to)| between(from, to)),
        ]
    }
}

/// Seconds from one moment to another.
pub(super) fn between(from: Timestamp, to: Timestamp) -> f64 {
    to.duration_since(from).as_secs_f64()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn second(number: i64) -> Timestamp {
        Timestamp::from_second(number).unwrap()
    }

    fn track() -> Track {
        Track {
            made: Some(second(3)),
            started: Some(second(5)),
            ended: Some(second(8)),
            gone: Some(second(10)),
            ..Track::new("build-01", 1, second(1))
        }
    }

    #[test]
    fn a_timeline_shows_every_stretch_of_a_jobs_way() {
        let line = track().line(second(0), 1.0, second(100), 12);
        let shown: String = line.into_iter().map(Stretch::sign).collect();
        assert_eq!(shown, " ··▒▒███--  ");
    }

    #[test]
    fn nothing_is_shown_of_what_is_to_come() {
        let open = Track { ended: None, gone: None, ..track() };
        let shown: String = open.line(second(0), 1.0, second(6), 12).into_iter().map(Stretch::sign).collect();
        assert_eq!(shown, " ··▒▒█      ");
    }

    #[test]
    fn spans_are_known_as_far_as_it_got() {
        assert_eq!(track().spans(), [Some(4.0), Some(3.0), Some(2.0)]);
        let open = Track { ended: None, gone: None, ..track() };
        assert_eq!(open.spans(), [Some(4.0), None, None]);
    }
}
