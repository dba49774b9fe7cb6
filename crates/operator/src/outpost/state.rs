//! What is known of one source, as its planner reads it.

use std::collections::BTreeMap;

use fleet::claim::Standing;
use fleet::source::{self, Probe, Session, Settings};
use runtime::Key;

use super::Link;

/// What is known of one source.
#[derive(Default)]
pub(super) struct State {
    /// What its Secrets held when they were read last.
    pub(super) login: Option<source::Login>,
    /// What the last client was made from, whether that worked or not.
    pub(super) settings: Option<Settings>,
    /// The last client that could be made.
    pub(super) link: Option<Link>,
    /// What the last probes found.
    pub(super) probe: Probe,
    /// How it is with the queue session of each pool.
    pub(super) sessions: BTreeMap<Key, Session>,
    /// How the runners of claims stand by the last complete listings.
    pub(super) standings: BTreeMap<String, Standing>,
    /// How often in a row the Secrets could not be read.
    pub(super) stumbles: u32,
}

impl State {
    /// The Secrets could not be read; how often in a row.
    pub(super) const fn stumbled(&mut self) -> u32 {
        self.stumbles = self.stumbles.saturating_add(1);
        self.stumbles
    }

    /// What the planner sees; nothing before the Secrets were read once.
    pub(super) fn seen(&self) -> Option<(source::Login, source::Link)> {
        let login = self.login.clone()?;
        let link = match &self.settings {
            None => source::Link::Down,
            Some(settings) => {
                source::Link::Up { settings: settings.clone(), probe: self.probe.clone(), session: self.session() }
            }
        };
        Some((login, link))
    }

    /// One session that somebody else has is what people must know of.
    fn session(&self) -> Session {
        let taken = self.sessions.values().find(|session| matches!(session, Session::Taken(_)));
        taken.or_else(|| self.sessions.values().next()).cloned().unwrap_or_default()
    }
}
