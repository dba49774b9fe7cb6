//! What has happened so far: a line for everything a person would want to hear of, and a track for each job.
//!
//! It is told nothing: it looks again and again ([`Scene`]) and notes what has changed since.

mod notes;

use std::collections::BTreeMap;

use api::condition::find;
use api::{Condition, ConditionType, MachineClaim, Phase};
use jiff::Timestamp;
use kube::ResourceExt;
use sim::github::{Conclusion, JobView, Status};

use super::scene::Scene;
use super::track::{Track, between};
use crate::print::plain;

/// How a line stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mood {
    Calm,
    Good,
    Bad,
}

/// Something that happened.
#[derive(Clone, Debug)]
pub(super) struct Entry {
    pub(super) at: Timestamp,
    pub(super) text: String,
    pub(super) mood: Mood,
}

/// Everything that happened.
pub(super) struct Chronicle {
    /// When the demo began.
    pub(super) since: Timestamp,
    pub(super) entries: Vec<Entry>,
    /// A track for each run, in the order in which they were queued.
    pub(super) tracks: BTreeMap<u64, Track>,
    /// Machines that were ever made.
    pub(super) machines: usize,
    /// What is known of each claim.
    claims: BTreeMap<String, Claim>,
    /// What each condition said last, by whose it is.
    said: BTreeMap<String, (String, String)>,
}

/// What is known of a claim.
#[derive(Clone, Debug, Default)]
struct Claim {
    phase: Option<Phase>,
    machine: Option<(u32, String)>,
    born: Option<Timestamp>,
    attempts: u32,
}

impl Chronicle {
    pub(super) fn new(since: Timestamp) -> Self {
        Self {
            since,
            entries: Vec::new(),
            tracks: BTreeMap::new(),
            machines: 0,
            claims: BTreeMap::new(),
            said: BTreeMap::new(),
        }
    }

    /// Something happened that nobody could see by looking.
    pub(super) fn add(&mut self, at: Timestamp, mood: Mood, text: &str) {
        self.entries.push(Entry { at, text: plain(text), mood });
    }

    /// Notes what has changed.
    pub(super) fn note(&mut self, scene: &Scene) {
        self.conditions(scene);
        self.losses(scene);
        self.claims(scene);
        for told in &scene.told {
            self.job(told, scene);
        }
    }

    /// How many jobs are over, and how many of them went well.
    pub(super) fn done(&self) -> (usize, usize) {
        let over = self.tracks.values().filter_map(|track| track.conclusion);
        over.fold((0, 0), |(all, well), how| (all + 1, well + usize::from(how == Conclusion::Success)))
    }

    fn job(&mut self, told: &JobView, scene: &Scene) {
        let known = scene.known(told);
        let claim = scene.claim(told, known);
        let mut track = match self.tracks.remove(&told.run) {
            Some(track) if track.attempt == told.attempt => track,
            Some(_) => {
                let text = format!("{} is queued again, attempt {}", told.name, told.attempt);
                self.add(scene.at, Mood::Calm, &text);
                Track::new(&told.name, told.attempt, told.created)
            }
            None => Track::new(&told.name, told.attempt, told.created),
        };
        self.follow(&mut track, claim, scene.at);
        match told.status {
            Status::Queued | Status::Waiting => self.waits(&mut track, known, scene.at),
            Status::InProgress => self.runs(&mut track, told, scene.at),
            Status::Completed => {
                self.runs(&mut track, told, scene.at);
                self.ends(&mut track, told, scene.at);
            }
        }
        self.tracks.insert(told.run, track);
    }

    /// Which machine is a job's, and whether it is gone.
    fn follow(&self, track: &mut Track, claim: Option<&MachineClaim>, now: Timestamp) {
        if let Some(claim) = claim {
            let name = claim.name_any();
            let known = self.claims.get(&name).cloned().unwrap_or_default();
            if track.claim.as_ref() != Some(&name) {
                (track.machine, track.made, track.claim) = (None, None, Some(name));
            }
            if track.machine.is_none() && known.machine.is_some() {
                // A machine that was made for another job began before this one was queued.
                track.made = known.born.map(|born| born.max(track.queued));
                track.machine = known.machine;
            }
        }
        let goes = track.claim.as_ref().is_some_and(|name| !self.claims.contains_key(name));
        if track.ended.is_some() && track.gone.is_none() && (goes || track.claim.is_none()) {
            track.gone = Some(now);
        }
    }

    fn ends(&mut self, track: &mut Track, told: &JobView, now: Timestamp) {
        if track.conclusion.is_some() {
            return;
        }
        track.ended = told.completed.or(Some(now));
        track.conclusion = told.conclusion;
        let how = told.conclusion.map_or("unknown", Conclusion::as_str);
        let mood = if told.conclusion == Some(Conclusion::Success) { Mood::Good } else { Mood::Bad };
        let [waited, ran, _] = track.spans().map(Option::unwrap_or_default);
        self.add(now, mood, &format!("{} ends: {how}; it waited {waited:.1} s and ran {ran:.1} s", track.name));
    }
}

/// Reason and message of a condition, if there is one.
fn word(conditions: &[Condition], about: ConditionType) -> Option<(String, String, String)> {
    find(conditions, about).map(|known| (known.status.clone(), known.reason.clone(), known.message.clone()))
}

/// How long ago something was, for people.
fn after(from: Option<Timestamp>, to: Timestamp) -> String {
    from.map(|from| format!(" after {:.1} s", between(from, to))).unwrap_or_default()
}
