//! Scale sets and the runners that belong to them.

use std::sync::PoisonError;

use ::http::Method;
use secrecy::SecretString;
use serde::Deserialize;
use serde_json::{Value, json};

use super::Core;
use super::message::Level;
use super::plan::WORK_FOLDER;
use super::rest::decode;
use super::runners::{DEFAULT_GROUP, registered};
use super::service::{Errand, names, served};
use super::site::{Scope, encoded};
use crate::platform::{Error, Grant, Removal, Runner, RunnerOrder, SessionOrder};

const SETS: &str = "/_apis/runtime/runnerscalesets";
const AGENTS: &str = "/_apis/distributedtask/pools/{id}/agents";

#[derive(Deserialize)]
struct Many<T> {
    #[serde(default = "Vec::new")]
    value: Vec<T>,
}

#[derive(Deserialize)]
struct Group {
    id: u64,
    name: String,
}

#[derive(Deserialize)]
struct Set {
    id: u64,
    name: String,
    #[serde(default)]
    labels: Vec<Label>,
    #[serde(default)]
    statistics: Option<Level>,
}

#[derive(Deserialize)]
struct Label {
    name: String,
}

#[derive(Deserialize)]
struct Agent {
    id: u64,
    name: String,
}

#[derive(Deserialize)]
struct Made {
    runner: Agent,
    #[serde(rename = "encodedJITConfig")]
    encoded_jit_config: SecretString,
}

fn errand(method: Method, route: &'static str, path: String, subject: &str) -> Errand {
    Errand { method, route, path, body: Value::Null, subject: subject.to_owned(), change: None }
}

impl Set {
    fn has(&self, labels: &[String]) -> bool {
        let known = |label: &String| self.labels.iter().any(|own| own.name.eq_ignore_ascii_case(label));
        self.labels.len() == labels.len() && labels.iter().all(known)
    }
}

impl Core {
    /// The number of a scale set, which is made if it is not there: the service forgets those that nobody uses for a while.
    pub(super) async fn set(&self, order: &SessionOrder) -> Result<u64, Error> {
        let subject = format!("scale set {}", order.name);
        let group = self.service_group().await?;
        let path = format!("runtime/runnerscalesets?runnerGroupId={group}&name={}", encoded(&order.name));
        let answer = served(self.serve(&errand(Method::GET, SETS, path, &subject)).await?, &subject, None)?;
        let found = decode::<Many<Set>>(&answer)?.value;
        let found = found.into_iter().find(|set| set.name.eq_ignore_ascii_case(&order.name));
        let labels = if order.labels.is_empty() { vec![order.name.clone()] } else { order.labels.clone() };
        let id = match found {
            Some(set) if set.has(&labels) => set.id,
            Some(set) => self.replace(&set, group, order, &labels).await?,
            None => self.create(group, order, &labels).await?,
        };
        self.service.sets.lock().unwrap_or_else(PoisonError::into_inner).insert(order.name.clone(), id);
        Ok(id)
    }

    /// Makes a scale set anew, because its labels cannot be changed. One that has runners would leave them without a home.
    async fn replace(&self, old: &Set, group: u64, order: &SessionOrder, labels: &[String]) -> Result<u64, Error> {
        let subject = format!("scale set {}", order.name);
        let runners = old.statistics.as_ref().map_or(0, |level| level.runners);
        if runners > 0 {
            let detail = format!("it has other labels and {runners} runners: it is made anew once they are gone");
            return Err(Error::Conflict { object: subject, detail });
        }
        let path = format!("runtime/runnerscalesets/{}", old.id);
        let answer = self.serve(&errand(Method::DELETE, SETS, path, &subject)).await?;
        if answer.status.as_u16() != 404 {
            served(answer, &subject, None)?;
        }
        self.create(group, order, labels).await
    }

    async fn create(&self, group: u64, order: &SessionOrder, labels: &[String]) -> Result<u64, Error> {
        let subject = format!("scale set {}", order.name);
        let own: Vec<Value> = labels.iter().map(|name| json!({ "type": "System", "name": name })).collect();
        let body = json!({
            "name": order.name, "runnerGroupId": group, "labels": own, "RunnerSetting": { "disableUpdate": true },
        });
        let wanted = Errand { body, ..errand(Method::POST, SETS, "runtime/runnerscalesets".into(), &subject) };
        let set: Set = decode(&served(self.serve(&wanted).await?, &subject, None)?)?;
        if set.has(labels) {
            return Ok(set.id);
        }
        Err(Error::Unsupported {
            what: "give a scale set more than one label, which needs GitHub Enterprise Server 3.18: use webhooks",
        })
    }

    /// The group of scale sets, by the service's own numbers.
    async fn service_group(&self) -> Result<u64, Error> {
        let (Some(name), Scope::Organization(_) | Scope::Enterprise(_)) = (&self.group, &self.scope) else {
            return Ok(DEFAULT_GROUP);
        };
        let path = format!("runtime/runnergroups/?groupName={}", encoded(name));
        let subject = format!("runner group {name}");
        let errand = errand(Method::GET, "/_apis/runtime/runnergroups", path, &subject);
        let groups: Many<Group> = decode(&served(self.serve(&errand).await?, &subject, None)?)?;
        let group = groups.value.into_iter().find(|group| group.name.eq_ignore_ascii_case(name));
        group.map(|group| group.id).ok_or_else(|| self.no_group())
    }

    /// Looks for a scale set that nobody has: whoever hears that there is none has reached the service.
    pub(super) async fn knock(&self) -> Result<(), Error> {
        let (group, subject) = (self.service_group().await?, "the queue service");
        let path = format!("runtime/runnerscalesets?runnerGroupId={group}&name=hyperfleet-doctor");
        served(self.serve(&errand(Method::GET, SETS, path, subject)).await?, subject, None).map(drop)
    }

    /// Registers a runner of a scale set. A set that was forgotten meanwhile is made again.
    pub(super) async fn mint_in_set(&self, order: &RunnerOrder, session: &SessionOrder) -> Result<Grant, Error> {
        let known = self.service.sets.lock().unwrap_or_else(PoisonError::into_inner).get(&session.name).copied();
        if let Some(set) = known {
            match self.mint_as(order, set).await {
                Err(Error::NotFound { .. }) => {}
                outcome => return outcome,
            }
        }
        let set = self.set(session).await?;
        self.mint_as(order, set).await
    }

    async fn mint_as(&self, order: &RunnerOrder, set: u64) -> Result<Grant, Error> {
        let (subject, change) = (format!("runner {}", order.name), Some("registering a runner"));
        let errand = Errand {
            body: json!({ "name": order.name, "workFolder": WORK_FOLDER }),
            change,
            ..errand(
                Method::POST,
                "/_apis/runtime/runnerscalesets/{id}/generatejitconfig",
                format!("runtime/runnerscalesets/{set}/generatejitconfig"),
                &subject,
            )
        };
        let answer = self.serve(&errand).await?;
        if names(&answer, "AgentExistsException") {
            let detail = "a runner of that name is registered".to_owned();
            return Err(Error::Conflict { object: subject, detail });
        }
        let Made { runner, encoded_jit_config } = registered(&served(answer, &subject, change)?)?;
        let runner = Runner { name: runner.name, id: Some(runner.id.to_string()) };
        Ok(Grant { runner, credential: encoded_jit_config, expires_at: None })
    }

    /// Removes a runner unless it has a job, of which the service is sure.
    pub(super) async fn remove_agent(&self, runner: &Runner) -> Result<Removal, Error> {
        let subject = format!("runner {}", runner.name);
        let id = match &runner.id {
            Some(id) => id.clone(),
            None => match self.agent(&runner.name).await? {
                Some(id) => id.to_string(),
                None => return Ok(Removal::Gone),
            },
        };
        let path = format!("distributedtask/pools/0/agents/{}", encoded(&id));
        let answer = match self.serve(&errand(Method::DELETE, AGENTS, path, &subject)).await {
            Ok(answer) => answer,
            Err(Error::Transient { detail }) => return Ok(Removal::Unknown(detail)),
            Err(error) => return Err(error),
        };
        if names(&answer, "JobStillRunningException") {
            return Ok(Removal::Busy);
        }
        if names(&answer, "AgentNotFoundException") {
            return Ok(Removal::Gone);
        }
        match served(answer, &subject, None) {
            Ok(_) => Ok(Removal::Gone),
            Err(Error::Transient { detail }) => Ok(Removal::Unknown(detail)),
            // Something else is not there, and what that means for the runner nobody knows.
            Err(Error::NotFound { object }) => Ok(Removal::Unknown(format!("no word of {object}"))),
            Err(error) => Err(error),
        }
    }

    /// The number of a runner by its name.
    async fn agent(&self, name: &str) -> Result<Option<u64>, Error> {
        let path = format!("distributedtask/pools/0/agents?agentName={}", encoded(name));
        let subject = format!("runner {name}");
        let agents: Many<Agent> =
            decode(&served(self.serve(&errand(Method::GET, AGENTS, path, &subject)).await?, &subject, None)?)?;
        Ok(agents.value.into_iter().find(|agent| agent.name == name).map(|agent| agent.id))
    }
}
