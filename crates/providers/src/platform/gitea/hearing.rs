//! Hooks of a scope. Which of their deliveries arrived Gitea does not say.

use serde::Deserialize;

use super::Gitea;
use super::deed::Deed;
use super::hook::WORKFLOW_JOB;
use crate::platform::{Error, Hearing};

/// What one page has.
const PAGE: usize = 50;
/// Nobody has more pages of hooks.
const MOST_PAGES: usize = 20;

#[derive(Default, Deserialize)]
#[serde(default)]
struct Config {
    url: String,
    content_type: String,
}

#[derive(Deserialize)]
struct Row {
    active: bool,
    events: Vec<String>,
    #[serde(default)]
    config: Config,
}

impl Gitea {
    /// Every hook of the scope that is switched on.
    pub async fn hearings(&self) -> Result<Vec<Hearing>, Error> {
        let mut heard = Vec::new();
        for page in 1..=MOST_PAGES {
            let path = format!("{}/hooks?page={page}&limit={PAGE}", self.scope.path());
            let rows: Vec<Row> = self.api.ask(Deed::ListHooks, &path, None).await?;
            // A server may give less on each page than it is asked for.
            if rows.is_empty() {
                break;
            }
            heard.extend(rows.into_iter().filter(|row| row.active).map(|Row { events, config, .. }| Hearing {
                jobs: events.iter().any(|event| event == WORKFLOW_JOB),
                json: config.content_type == "json",
                url: config.url,
                deliveries: None,
            }));
        }
        Ok(heard)
    }
}
