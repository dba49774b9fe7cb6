//! The same hands for who holds the simulator as a value.

use std::sync::PoisonError;

use super::view;
use super::{CallView, FaultRule, JobView, RunnerView, ScaleSetView};
use crate::github::Simulator;
use crate::github::access::{AppKey, Grant, Token};
use crate::github::fixture::{self, INSTALLATION_ID};
use crate::github::hook::{Hook, HookOwner, HookWeather, Receiver};
use crate::github::model::{JobSpec, Repository, Runner, Scope};
use crate::github::world::World;

impl World {
    pub(crate) fn set_faults(&self, rules: Vec<FaultRule>) {
        self.faults.lock().unwrap_or_else(PoisonError::into_inner).rules =
            rules.into_iter().map(|rule| (rule, 0)).collect();
    }

    pub(crate) fn add_hook(&self, owner: HookOwner, url: &str, secret: &str, receiver: Receiver) -> u64 {
        let created = self.now();
        let mut state = self.state();
        let id = state.number();
        let hook = Hook { id, owner, url: url.to_owned(), secret: secret.to_owned(), receiver, created };
        state.hooks.insert(id, hook);
        id
    }
}

impl Simulator {
    /// Puts these faults in force in place of those before.
    pub fn set_faults(&self, rules: Vec<FaultRule>) {
        self.world.set_faults(rules);
    }

    /// What happens to webhooks from now on.
    pub fn set_weather(&self, weather: HookWeather) {
        *self.world.weather.lock().unwrap_or_else(PoisonError::into_inner) = weather;
    }

    /// Makes a hook that hears of jobs; its number.
    pub fn add_hook(&self, owner: HookOwner, url: &str, secret: &str, receiver: Receiver) -> u64 {
        self.world.add_hook(owner, url, secret, receiver)
    }

    /// Takes all hooks away.
    pub fn remove_hooks(&self) {
        self.world.state().hooks.clear();
    }

    /// How many deliveries have come to an end, good or bad.
    pub fn delivered(&self) -> usize {
        self.world.state().deliveries.values().filter(|delivery| delivery.code.is_some()).count()
    }

    /// Queues a run of a repository (`owner/name`); its number and its jobs'. Nothing, if there is no such repository.
    pub fn queue(&self, repository: &str, jobs: &[JobSpec]) -> Option<(u64, Vec<u64>)> {
        self.world.queue(repository, jobs, false)
    }

    /// Queues a run that somebody's fork of a repository proposes.
    pub fn queue_from_fork(&self, repository: &str, jobs: &[JobSpec]) -> Option<(u64, Vec<u64>)> {
        self.world.queue(repository, jobs, true)
    }

    /// Somebody cancels a run; whether anything of it was left.
    pub fn cancel(&self, run: u64) -> bool {
        self.world.cancel_run(&mut self.world.state(), run).is_ok()
    }

    /// Somebody repeats a run, or what failed of it; whether that was possible.
    pub fn rerun(&self, run: u64, failed_only: bool) -> bool {
        self.world.rerun(&mut self.world.state(), run, failed_only).is_ok()
    }

    /// Somebody approves a job that a protection rule held; whether one did.
    pub fn approve(&self, job: u64) -> bool {
        self.world.approve(job)
    }

    /// Every job of every attempt.
    pub fn jobs(&self) -> Vec<JobView> {
        self.world.state().jobs.values().map(JobView::of).collect()
    }

    /// One job.
    pub fn job(&self, id: u64) -> Option<JobView> {
        self.world.state().jobs.get(&id).map(JobView::of)
    }

    /// Every registration that is left.
    pub fn runners(&self) -> Vec<RunnerView> {
        self.world.state().runners.values().map(RunnerView::of).collect()
    }

    /// Every scale set that is left, and who holds its session.
    pub fn scale_sets(&self) -> Vec<ScaleSetView> {
        view::scale_sets(&self.world.state())
    }

    /// The service forgets a scale set, as it does with those that nobody uses; whether there was one.
    pub fn forget_scale_set(&self, id: u64) -> bool {
        self.world.drop_scale_set(&mut self.world.state(), id)
    }

    /// A scale set's session ends without its listener having asked for it; whether there was one.
    pub fn break_session(&self, scale_set: u64) -> bool {
        let mut state = self.world.state();
        let ended = state.scale_sets.get_mut(&scale_set).and_then(|set| set.session.take()).is_some();
        drop(state);
        self.world.changed();
        ended
    }

    /// A runner's line is cut: it is offline at once. Whether there is such a runner.
    pub fn cut(&self, runner: u64) -> bool {
        let now = self.world.now();
        let mut state = self.world.state();
        let known = state.runners.get(&runner).is_some_and(|runner: &Runner| runner.online);
        if known {
            self.world.disconnect(&mut state, runner, now);
        }
        drop(state);
        self.world.changed();
        known
    }

    /// The App's private key.
    pub fn app_key(&self) -> AppKey {
        AppKey::shared()
    }

    /// What the App may do where it is installed, from the next token on; `None` takes a permission away.
    pub fn set_permission(&self, name: &str, level: Option<&str>) {
        let mut state = self.world.state();
        let Some(installed) = state.installations.get_mut(&INSTALLATION_ID) else { return };
        match level {
            Some(level) => drop(installed.permissions.insert(name.to_owned(), level.to_owned())),
            None => drop(installed.permissions.remove(name)),
        }
    }

    /// The App is suspended where it is installed, or not any more.
    pub fn suspend(&self, suspended: bool) {
        if let Some(installed) = self.world.state().installations.get_mut(&INSTALLATION_ID) {
            installed.suspended = suspended;
        }
    }

    /// The App is taken off its organisation; its tokens are worthless.
    pub fn uninstall(&self) {
        self.world.state().installations.remove(&INSTALLATION_ID);
    }

    /// An account installs the App, under this number; whoever had it before has it no longer.
    pub fn install(&self, id: u64, account: &str) {
        let installation = fixture::installed(id, account);
        self.world.state().installations = [(id, installation)].into();
    }

    /// Somebody changes which events the App is told of.
    pub fn subscribe_app(&self, events: &[&str]) {
        self.world.state().app = Some(events.iter().map(|event| (*event).to_owned()).collect());
    }

    /// Somebody deletes the App; the next one is made by a manifest.
    pub fn delete_app(&self) {
        let mut state = self.world.state();
        state.app = None;
        state.installations.clear();
        state.hooks.retain(|_, hook| hook.owner != HookOwner::App);
    }

    /// Somebody makes a private repository (`owner/name`).
    pub fn add_repository(&self, name: &str) {
        let mut state = self.world.state();
        let id = state.number();
        let group = fixture::default_group(Scope::Repository(name.to_owned()));
        state.groups.push(group);
        state.repositories.insert(name.to_owned(), Repository { id, name: name.to_owned(), public: false });
    }

    /// Gives a person a classic token with these scopes.
    pub fn add_token(&self, token: &str, user: &str, scopes: &[&str]) {
        let scopes = scopes.iter().map(|scope| (*scope).to_owned()).collect();
        let grant = Grant::Personal { user: user.to_owned(), scopes };
        self.world.state().tokens.insert(token.to_owned(), Token { grant, expires: None });
    }

    /// Nobody accepts a token any more; whether it was one.
    pub fn revoke(&self, token: &str) -> bool {
        self.world.state().tokens.remove(token).is_some()
    }

    /// Everything there is, as `GET /sim/state` shows it.
    pub fn state(&self) -> serde_json::Value {
        view::state(&self.world)
    }

    /// How often an operation was asked for, such as `GET /repos/{owner}/{repo}/actions/runs`.
    pub fn count(&self, operation: &str) -> u64 {
        self.world.calls.lock().unwrap_or_else(PoisonError::into_inner).counts.get(operation).copied().unwrap_or(0)
    }

    /// The newest calls, the oldest of them first.
    pub fn calls(&self) -> Vec<CallView> {
        self.world.calls.lock().unwrap_or_else(PoisonError::into_inner).recent.iter().cloned().collect()
    }

    /// Requests that were refused for being too many.
    pub fn limited(&self) -> u64 {
        self.world.meters.lock().unwrap_or_else(PoisonError::into_inner).refused
    }
}
