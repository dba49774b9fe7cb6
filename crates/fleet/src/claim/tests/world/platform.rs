//! The model CI platform: it registers runners, gives them jobs, notices late what they do, and loses answers.

use super::super::*;

/// How late listings and refusals notice that a runner has a job.
const LAG: jiff::SignedDuration = jiff::SignedDuration::from_secs(60);

#[derive(Default)]
pub(super) struct Platform {
    /// Runners by name.
    rows: BTreeMap<String, Row>,
    /// Registrations that are on their way.
    coming: Vec<(Timestamp, String)>,
    /// It does not answer.
    pub(super) away: bool,
    /// The next answers get lost, after it has done what was asked.
    pub(super) mute: u32,
    pub(super) job: Given,
    /// What its listings have said of the runner.
    pub(super) standing: Option<Standing>,
    next_id: u32,
}

struct Row {
    id: String,
    online: bool,
}

/// The job that it gave to the runner.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) enum Given {
    #[default]
    None,
    /// The runner will take it in a moment.
    Offered { at: Timestamp, told: bool },
    /// It runs.
    Begun { at: Timestamp, told: bool },
    /// It is over.
    Over { end: JobEnd, told: bool },
}

impl Platform {
    /// Registers a runner at once, or later.
    pub(super) fn register(&mut self, name: &str, now: Timestamp, seconds: i64) {
        if seconds > 0 {
            self.coming.push((now + jiff::SignedDuration::from_secs(seconds), name.to_owned()));
            return;
        }
        self.next_id += 1;
        self.rows.insert(name.to_owned(), Row { id: self.next_id.to_string(), online: false });
    }

    pub(super) fn id(&self, name: &str) -> Option<String> {
        self.rows.get(name).map(|row| row.id.clone())
    }

    pub(super) fn next(&self) -> Option<Timestamp> {
        let taken = match self.job {
            Given::Offered { at, .. } => Some(at + secs(1)),
            Given::None | Given::Begun { .. } | Given::Over { .. } => None,
        };
        self.coming.iter().map(|(at, _)| *at).chain(taken).min()
    }

    /// What was on its way arrives.
    pub(super) fn settle(&mut self, now: Timestamp) {
        let (due, later) = std::mem::take(&mut self.coming).into_iter().partition(|(at, _)| *at <= now);
        self.coming = later;
        let due: Vec<(Timestamp, String)> = due;
        for (_, name) in due {
            self.register(&name, now, 0);
        }
    }

    /// The runner calls, or does not.
    pub(super) fn connect(&mut self, online: bool) {
        self.rows.values_mut().for_each(|row| row.online = online);
    }

    /// Gives a job to a runner that waits for one.
    pub(super) fn give(&mut self, now: Timestamp, told: bool) {
        if self.job == Given::None && self.rows.values().any(|row| row.online) {
            self.job = Given::Offered { at: now, told };
        }
    }

    /// Whether a job runs.
    pub(super) const fn works(&self) -> bool {
        matches!(self.job, Given::Begun { .. })
    }

    /// The job is over; its runner was good for one.
    pub(super) fn end(&mut self, result: api::JobResult, now: Timestamp) {
        let told = match self.job {
            Given::None | Given::Over { .. } => return,
            Given::Offered { told, .. } | Given::Begun { told, .. } => told,
        };
        if self.works() {
            self.rows.clear();
        }
        // Objects keep no parts of a second.
        let ended = Timestamp::from_second(now.as_second()).unwrap();
        self.job = Given::Over { end: JobEnd { result, ended, seen: now }, told };
    }

    fn looks_busy(&self, now: Timestamp) -> bool {
        matches!(self.job, Given::Begun { at, .. } if now.duration_since(at) >= LAG)
    }

    /// Lists the runners.
    pub(super) fn list(&mut self, runner: &api::RunnerRegistration, now: Timestamp) {
        if self.away || runner.id.is_none() {
            return;
        }
        let state = match self.rows.get(&runner.name) {
            None => RunnerState::Gone,
            Some(_) if self.looks_busy(now) => RunnerState::Busy,
            Some(row) if row.online => RunnerState::Idle,
            Some(_) => RunnerState::Offline,
        };
        let since = self.standing.filter(|known| known.state == state).map_or(now, |known| known.since);
        self.standing = Some(Standing { state, since, seen: now });
    }

    pub(super) fn work(&self) -> Work {
        match &self.job {
            Given::Offered { told: true, .. } | Given::Begun { told: true, .. } => Work::Current,
            Given::Over { end, told: true } => Work::Ended(end.clone()),
            Given::None | Given::Offered { .. } | Given::Begun { .. } | Given::Over { .. } => Work::None,
        }
    }

    /// Lets a runner go. As at real platforms, a job that it has not noticed yet does not protect it.
    pub(super) fn deregister(&mut self, name: &str, mode: Mode, alive: bool, now: Timestamp) -> Removal {
        if self.away {
            return Removal::Unknown("it does not answer".to_owned());
        }
        if self.rows.contains_key(name) && alive && self.looks_busy(now) {
            return Removal::Busy;
        }
        if self.rows.remove(name).is_some() {
            assert!(mode == Mode::Force || !self.works(), "a runner was let go while it worked");
        }
        if self.mute > 0 {
            self.mute -= 1;
            return Removal::Unknown("the answer was lost".to_owned());
        }
        Removal::Gone
    }

    /// What is or will be registered.
    pub(super) fn traces(&self) -> Vec<&str> {
        self.rows.keys().chain(self.coming.iter().map(|(_, name)| name)).map(String::as_str).collect()
    }
}
