//! How GitHub tells of jobs, as it sees it itself: which hooks there are, and what became of their last deliveries.

use jiff::Timestamp;
use serde::Deserialize;

use super::auth::{Auth, Need};
use super::hook::WORKFLOW_JOB;
use super::rest::decode;
use super::site::Scope;
use super::{Core, GitHub};
use crate::platform::{Error, Hearing};

/// Deliveries that are looked at: enough to tell a bad day from a bad secret.
const DELIVERIES: usize = 30;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Config {
    url: String,
    content_type: String,
}

#[derive(Deserialize)]
struct Row {
    id: u64,
    active: bool,
    events: Vec<String>,
    #[serde(default)]
    config: Config,
}

#[derive(Deserialize)]
struct App {
    #[serde(default)]
    events: Vec<String>,
}

#[derive(Deserialize)]
struct Item {
    delivered_at: Timestamp,
    status_code: u16,
    event: String,
}

fn tells(events: &[String]) -> bool {
    events.iter().any(|name| name == WORKFLOW_JOB || name == "*")
}

impl Config {
    fn heard(self, jobs: bool, deliveries: Vec<(Timestamp, u16)>) -> Hearing {
        Hearing { jobs, json: self.content_type == "json", url: self.url, deliveries: Some(deliveries) }
    }
}

impl GitHub {
    /// Every hook that may tell us of jobs: the App's own, or those of the scope.
    pub async fn hearings(&self) -> Result<Vec<Hearing>, Error> {
        match &self.core.auth {
            Auth::App(_) => self.core.of_app().await.map(|heard| vec![heard]),
            Auth::Token(_) => self.core.of_scope().await,
        }
    }

    /// Whether the service that queues jobs answers us; nothing is made there.
    pub async fn reach_queue(&self) -> Result<(), Error> {
        self.core.knock().await
    }
}

impl Core {
    async fn of_app(&self) -> Result<Hearing, Error> {
        let App { events } = decode(&self.of_hook("/app".to_owned()).await?)?;
        let config: Config = match self.of_hook("/app/hook/config".to_owned()).await {
            Ok(answer) => decode(&answer)?,
            Err(Error::NotFound { .. }) => Config::default(),
            Err(error) => return Err(error),
        };
        let deliveries = if config.url.is_empty() { Vec::new() } else { self.last("/app/hook").await? };
        Ok(config.heard(tells(&events), deliveries))
    }

    async fn of_scope(&self) -> Result<Vec<Hearing>, Error> {
        if let Scope::Enterprise(_) = self.scope {
            return Err(Error::Unsupported { what: "list the hooks of an enterprise" });
        }
        let path = format!("{}/hooks?per_page=100", self.scope.path());
        let answer = self.of_hook(path).await.map_err(|error| self.unseen(error, Need::Hooks))?;
        let mut heard = Vec::new();
        for Row { id, events, config, .. } in decode::<Vec<Row>>(&answer)?.into_iter().filter(|row| row.active) {
            let jobs = tells(&events);
            let place = format!("{}/hooks/{id}", self.scope.path());
            let deliveries = if jobs { self.last(&place).await? } else { Vec::new() };
            heard.push(config.heard(jobs, deliveries));
        }
        Ok(heard)
    }

    async fn last(&self, place: &str) -> Result<Vec<(Timestamp, u16)>, Error> {
        let answer = self.of_hook(format!("{place}/deliveries?per_page={DELIVERIES}")).await?;
        let items: Vec<Item> = decode(&answer)?;
        let about_jobs = items.into_iter().filter(|item| item.event == WORKFLOW_JOB);
        Ok(about_jobs.map(|item| (item.delivered_at, item.status_code)).collect())
    }
}
