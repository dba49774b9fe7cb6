//! Everything there is, and what can be asked of it.

use std::collections::{BTreeMap, BTreeSet};

use jiff::Timestamp;

use super::{Group, Job, Registration, Repository, Run, Runner, Scope};
use crate::github::access::{Installation, Token};
use crate::github::hook::{Delivery, Hook};
use crate::github::scaleset::ScaleSet;
use crate::proxmox::rng::Rng;

/// Everything there is.
pub(crate) struct State {
    pub(crate) rng: Rng,
    pub(crate) next: u64,
    pub(crate) installations: BTreeMap<u64, Installation>,
    /// The events that the App is told of; nothing if somebody has deleted it.
    pub(crate) app: Option<Vec<String>>,
    pub(crate) tokens: BTreeMap<String, Token>,
    /// Organisations and the enterprises they belong to.
    pub(crate) organizations: BTreeMap<String, String>,
    pub(crate) enterprises: BTreeSet<String>,
    pub(crate) repositories: BTreeMap<String, Repository>,
    pub(crate) groups: Vec<Group>,
    pub(crate) runners: BTreeMap<u64, Runner>,
    /// Every registration there ever was, the oldest first.
    pub(crate) registrations: Vec<Registration>,
    /// Which runner opened which session.
    pub(crate) sessions: BTreeMap<String, u64>,
    pub(crate) runs: BTreeMap<u64, Run>,
    pub(crate) jobs: BTreeMap<u64, Job>,
    pub(crate) hooks: BTreeMap<u64, Hook>,
    /// Manifests that somebody agreed to, by the code that is exchanged for the App, and until when.
    pub(crate) app_codes: BTreeMap<String, (serde_json::Value, jiff::Timestamp)>,
    pub(crate) deliveries: BTreeMap<u64, Delivery>,
    pub(crate) scale_sets: BTreeMap<u64, ScaleSet>,
}

impl State {
    /// A number nothing else has.
    pub(crate) fn number(&mut self) -> u64 {
        self.next += 1;
        self.next
    }

    /// Adds a registration.
    pub(crate) fn add_runner(&mut self, runner: Runner, now: Timestamp) {
        let (id, name) = (runner.id, runner.name.clone());
        let known = Registration { id, name, made: now, online: None, offline: None, removed: None };
        self.registrations.push(known);
        self.runners.insert(id, runner);
    }

    /// Takes a registration away.
    pub(crate) fn take_runner(&mut self, id: u64, now: Timestamp) -> Option<Runner> {
        let taken = self.runners.remove(&id)?;
        self.remember(id, |known| {
            known.removed = Some(now);
            known.offline.get_or_insert(now);
        });
        Some(taken)
    }

    /// Changes what is remembered of a registration.
    pub(crate) fn remember(&mut self, id: u64, change: impl FnOnce(&mut Registration)) {
        if let Some(known) = self.registrations.iter_mut().rfind(|known| known.id == id) {
            change(known);
        }
    }

    /// The scopes whose runners a repository's jobs may use, if their groups allow it.
    pub(crate) fn scopes_of(&self, repository: &Repository) -> Vec<Scope> {
        let owner = repository.owner().to_owned();
        let enterprise = self.organizations.get(&owner).cloned().map(Scope::Enterprise);
        let own = [Scope::Repository(repository.name.clone()), Scope::Organization(owner)];
        own.into_iter().chain(enterprise).collect()
    }

    /// Whether there is such a scope.
    pub(crate) fn knows(&self, scope: &Scope) -> bool {
        match scope {
            Scope::Repository(name) => self.repositories.contains_key(name),
            Scope::Organization(name) => self.organizations.contains_key(name),
            Scope::Enterprise(name) => self.enterprises.contains(name),
        }
    }

    /// A group of a scope.
    pub(crate) fn group(&self, scope: &Scope, id: u64) -> Option<&Group> {
        self.groups.iter().find(|group| group.scope == *scope && group.id == id)
    }

    /// A group's name.
    pub(crate) fn group_name(&self, scope: &Scope, id: u64) -> String {
        self.group(scope, id).map_or_else(|| "Default".to_owned(), |group| group.name.clone())
    }

    /// Whether a scope's group serves a job.
    pub(crate) fn serves(&self, scope: &Scope, group: u64, job: &Job) -> bool {
        let Some(repository) = self.repositories.get(&job.repository) else { return false };
        let Some(group) = self.group(scope, group) else { return false };
        let wanted = job.spec.group.as_ref().is_none_or(|name| group.name.eq_ignore_ascii_case(name));
        wanted && group.allows(repository) && self.scopes_of(repository).contains(scope)
    }

    /// The newest attempt's jobs of a run.
    pub(crate) fn jobs_of(&self, run: u64) -> impl Iterator<Item = &Job> + Clone {
        let attempt = self.runs.get(&run).map_or(0, |run| run.attempt);
        self.jobs.values().filter(move |job| job.run == run && job.attempt == attempt)
    }
}
