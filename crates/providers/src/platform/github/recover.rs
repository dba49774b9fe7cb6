//! What GitHub failed to deliver: it never tries again by itself, and remembers for three days.

use std::collections::BTreeSet;

use bytes::Bytes;
use jiff::Timestamp;
use serde::Deserialize;
use serde_json::Value;

use super::Core;
use super::auth::{Auth, Need};
use super::budget::Priority;
use super::hook::{self, WORKFLOW_JOB};
use super::rest::{Ask, decode};
use super::site::Scope;
use crate::http::Answer;
use crate::platform::{Error, Hint, Verified};

/// Deliveries that are fetched one by one; with more than these it is cheaper to look at everything.
const FETCHED: usize = 50;
/// Pages that are looked through.
const PAGES: usize = 20;

#[derive(Deserialize)]
struct Item {
    id: u64,
    guid: String,
    delivered_at: Timestamp,
    status_code: u16,
    event: String,
}

#[derive(Deserialize)]
struct Whole {
    request: Request,
}

#[derive(Deserialize)]
struct Request {
    payload: Value,
}

#[derive(Deserialize)]
struct HookItem {
    id: u64,
    active: bool,
    events: Vec<String>,
}

impl Core {
    /// What was sent since then and not received, as far as it is about us.
    pub(super) async fn recover(&self, since: Timestamp) -> Result<Vec<Hint>, Error> {
        let mut hints = Vec::new();
        for place in self.places().await? {
            let failed = self.failed(&place, since).await?;
            if failed.len() > FETCHED {
                hints.push(Hint::Look);
                continue;
            }
            for id in failed {
                let answer = self.of_hook(format!("{place}/{id}")).await?;
                let payload = decode::<Whole>(&answer)?.request.payload;
                // GitHub says so itself over our own credential: there is nothing to compare a signature with.
                let delivery = Verified::new(WORKFLOW_JOB.to_owned(), Bytes::from(payload.to_string()));
                let told = hook::parse(&delivery, &self.scope, self.auth.installation());
                hints.extend(told.into_iter().filter(|hint| matches!(hint, Hint::Job(_) | Hint::Look)));
            }
        }
        Ok(hints)
    }

    /// The paths of deliveries: the App's own, or those of every hook of the scope that hears of jobs.
    async fn places(&self) -> Result<Vec<String>, Error> {
        match (&self.auth, &self.scope) {
            (Auth::App(_), _) => Ok(vec!["/app/hook/deliveries".to_owned()]),
            (Auth::Token(_), Scope::Enterprise(_)) => {
                Err(Error::Unsupported { what: "list deliveries of an enterprise" })
            }
            (Auth::Token(_), Scope::Repository { .. } | Scope::Organization(_)) => {
                let path = format!("{}/hooks?per_page=100", self.scope.path());
                let answer = self.of_hook(path).await.map_err(|error| self.unseen(error, Need::Hooks))?;
                let hooks: Vec<HookItem> = decode(&answer)?;
                let hears =
                    |item: &HookItem| item.active && item.events.iter().any(|name| name == WORKFLOW_JOB || name == "*");
                let place = |item: HookItem| format!("{}/hooks/{}/deliveries", self.scope.path(), item.id);
                Ok(hooks.into_iter().filter(hears).map(place).collect())
            }
        }
    }

    /// Makes a call about hooks, as the App itself if we are one.
    pub(super) async fn of_hook(&self, path: String) -> Result<Answer, Error> {
        let ask = Ask::get("{hook}/deliveries", path, Need::Hooks, Priority::Sweep);
        match &self.auth {
            Auth::App(app) => self.as_app(app, &ask).await,
            Auth::Token(_) => self.ask(&ask).await,
        }
    }

    /// Deliveries about jobs that nobody has received, those that arrived at another attempt left out.
    async fn failed(&self, place: &str, since: Timestamp) -> Result<Vec<u64>, Error> {
        let (mut failed, mut received) = (Vec::new(), BTreeSet::new());
        let mut path = Some(format!("{place}?per_page=100"));
        for _ in 0..PAGES {
            let Some(here) = path.take() else { break };
            let answer = self.of_hook(here).await?;
            let items: Vec<Item> = decode(&answer)?;
            let all_new = items.iter().all(|item| item.delivered_at >= since);
            for item in items.into_iter().filter(|item| item.event == WORKFLOW_JOB && item.delivered_at >= since) {
                if (200..300).contains(&item.status_code) {
                    received.insert(item.guid);
                } else {
                    failed.push((item.guid, item.id));
                }
            }
            path = super::rest::next(&answer.headers)
                .filter(|_| all_new)
                .map(|next| next.strip_prefix(self.site.root()).unwrap_or(&next).to_owned());
        }
        // The newest are listed first; of one delivery that failed again and again, one is enough.
        let mut seen = BTreeSet::new();
        failed.retain(|(guid, _)| !received.contains(guid) && seen.insert(guid.clone()));
        Ok(failed.into_iter().map(|(_, id)| id).rev().collect())
    }
}
