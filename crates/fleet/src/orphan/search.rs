//! What is known of the machines that no claim has, from one listing to the next.
//!
//! Whether a machine is ours only a look can tell, and looks are what hypervisors are short of. So a machine is looked at
//! when it has been listed twice, and what was found holds until it looks different in the listing; verdicts that have
//! grown old are checked one by one, so rarely that any number of other people's machines costs next to nothing.

mod state;

use std::collections::BTreeMap;

use api::VmId;
use jiff::{SignedDuration, Timestamp};

use super::{LOOKS, Observed, Outlook, Storm, Suspect, Verdict, judge};
use state::State;
pub use state::{Row, Sight};

/// Looks at one listing while nothing of ours is without a claim.
const CALM_LOOKS: usize = 2;

/// Looks at one listing while something is: how many there are has to be known before anything goes.
const BUSY_LOOKS: usize = 10;

/// The pause between two looks that only make sure: what everything else costs at rest leaves room for this.
const PAUSE: SignedDuration = SignedDuration::from_mins(15);

/// What else a verdict needs to know.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Census {
    /// Machines of this cluster that claims have.
    pub claimed: usize,
    /// All claims.
    pub claims: usize,
    /// How many orphans an administrator has confirmed.
    pub confirmed: Option<usize>,
}

/// What is known of the machines of one cluster that no claim has.
#[derive(Clone, Debug, Default)]
pub struct Search {
    known: BTreeMap<VmId, Known>,
    /// When an old verdict was last checked.
    checked: Option<Timestamp>,
    outlook: Outlook,
    /// Whether the last verdict was that nothing can be believed.
    held_back: bool,
    /// A confirmation that was there when the storm began: it was meant for another one.
    stale: Option<usize>,
}

#[derive(Clone, Debug)]
struct Known {
    face: String,
    tagged: bool,
    state: State,
}

impl Search {
    /// A new listing of machines that no claim has; `held` says whether some claim has an allocation all the same.
    pub fn list(&mut self, rows: &[Row], held: impl Fn(&str) -> bool) {
        let before = std::mem::take(&mut self.known);
        for Row { vm, face, tagged } in rows {
            let same = before.get(vm).filter(|known| known.face == *face);
            let state = same.map_or(State::New(1), |known| known.state.clone().listed(&held));
            self.known.insert(*vm, Known { face: face.clone(), tagged: *tagged, state });
        }
    }

    /// The machines to look at now.
    pub fn agenda(&self, now: Timestamp) -> Vec<VmId> {
        let most = if self.suspects().next().is_some() { BUSY_LOOKS } else { CALM_LOOKS };
        // What is a suspect already, then what is tagged, then the rest.
        let rank = |known: &Known| (known.state.suspect().is_none(), !known.tagged);
        let mut agenda: Vec<(VmId, &Known)> = self.known.iter().map(|(vm, known)| (*vm, known)).collect();
        agenda.retain(|(_, known)| known.state.is_due(now));
        agenda.sort_by_key(|(vm, known)| (rank(known), *vm));
        let agenda: Vec<VmId> = agenda.into_iter().map(|(vm, _)| vm).take(most).collect();
        if agenda.is_empty() { self.old(now).into_iter().collect() } else { agenda }
    }

    /// The oldest verdict that has grown old, unless one was checked a moment ago.
    fn old(&self, now: Timestamp) -> Option<VmId> {
        if self.checked.is_some_and(|at| now.duration_since(at) < PAUSE) {
            return None;
        }
        let old = self.known.iter().filter_map(|(vm, known)| Some((known.state.outdated(now)?, *vm)));
        old.min().map(|(_, vm)| vm)
    }

    /// A look was taken.
    pub fn saw(&mut self, vm: VmId, sight: Sight, held: impl Fn(&str) -> bool, now: Timestamp) {
        let Some(known) = self.known.get_mut(&vm) else { return };
        if known.state.outdated(now).is_some() {
            self.checked = Some(now);
        }
        match known.state.clone().seen(vm, sight, now) {
            Some(state) => known.state = state.listed(held),
            None => self.removed(vm),
        }
    }

    /// What may be removed now. A confirmation counts once, for the machines that it was given for.
    pub fn judge(&mut self, census: Census, now: Timestamp) -> Verdict {
        let Census { claimed, claims, confirmed } = census;
        if confirmed != self.stale {
            self.stale = None;
        }
        let observed = Observed {
            suspects: self.suspects().cloned().collect(),
            unseen: self.unseen(),
            claimed,
            claims,
            confirmed: confirmed.filter(|_| self.stale.is_none() && self.is_stormy()),
        };
        let mut verdict = judge(&observed, now);
        if verdict.confirmed {
            self.known.values_mut().for_each(|known| known.state.confirm());
        }
        if let Some(storm) = &mut verdict.storm {
            if !self.is_stormy() {
                self.stale = confirmed;
            }
            storm.stale = self.stale.is_some();
        }
        let held_back = verdict.storm.is_some() || claims == 0;
        if std::mem::replace(&mut self.held_back, held_back) && !held_back {
            // Claims come back one by one: those that are still missing get the same time as everybody.
            self.known.values_mut().for_each(|known| known.state.restart(now));
            verdict.remove.retain(|suspect| suspect.confirmed);
        }
        self.outlook = self.outlook_after(verdict.storm.clone());
        verdict
    }

    fn outlook_after(&self, storm: Option<Storm>) -> Outlook {
        let unseen = || self.known.values().any(|known| matches!(known.state, State::New(_)));
        match (storm, &self.outlook) {
            (Some(storm), _) => Outlook::Storm(storm),
            (None, Outlook::Unknown) if unseen() => Outlook::Unknown,
            (None, Outlook::Unknown | Outlook::Calm | Outlook::Storm(_)) => Outlook::Calm,
        }
    }

    /// What the last verdict means for the cluster.
    pub const fn outlook(&self) -> &Outlook {
        &self.outlook
    }

    const fn is_stormy(&self) -> bool {
        matches!(self.outlook, Outlook::Storm(_))
    }

    /// A machine is gone.
    pub fn removed(&mut self, vm: VmId) {
        self.known.remove(&vm);
    }

    /// A machine could not be removed.
    pub fn failed(&mut self, vm: VmId, now: Timestamp) {
        if let Some(known) = self.known.get_mut(&vm) {
            known.state.fail(now);
        }
    }

    fn suspects(&self) -> impl Iterator<Item = &Suspect> {
        self.known.values().filter_map(|known| known.state.suspect())
    }

    /// How many have been listed often enough to be worth a look, and had none.
    fn unseen(&self) -> usize {
        self.known.values().filter(|known| matches!(known.state, State::New(listings) if listings >= LOOKS)).count()
    }
}

#[cfg(test)]
mod tests;
