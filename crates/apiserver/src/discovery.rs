//! What there is: versions, groups and resources, one by one as they always were, and all at once as clients ask for
//! them today.

mod order;
mod resources;

use http::StatusCode;
use serde_json::{Value, json};

use crate::answer::Answer;
use crate::failure::Failure;
use crate::served::Kinds;

use resources::{Resource, resources};

const AGGREGATED: &str = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";

/// Answers a request about what there is; a path that leads nowhere is refused.
pub(crate) fn answer(kinds: &Kinds, path: &[&str], accept: &str) -> Result<Answer, Failure> {
    let groups = order::groups(&resources(kinds));
    let ok = |value: &Value| Ok(Answer::json(StatusCode::OK, value));
    match path {
        [] | [""] => ok(&paths(&groups)),
        ["version"] => ok(&version()),
        ["api"] if aggregated(accept) => Ok(all_at_once(&groups[..1])),
        ["apis"] if aggregated(accept) => Ok(all_at_once(&groups[1..])),
        ["api"] => ok(&json!({ "kind": "APIVersions", "versions": ["v1"], "serverAddressByClientCIDRs": [] })),
        ["apis"] => {
            let groups: Vec<Value> = groups[1..].iter().map(Group::summary).collect();
            ok(&json!({ "kind": "APIGroupList", "apiVersion": "v1", "groups": groups }))
        }
        ["api", version] => ok(&find(&groups, "")?.list(version)?),
        ["apis", group] => {
            let mut summary = find(&groups[1..], group)?.summary();
            summary["kind"] = json!("APIGroup");
            summary["apiVersion"] = json!("v1");
            ok(&summary)
        }
        ["apis", group, version] => ok(&find(&groups[1..], group)?.list(version)?),
        _ => Err(Failure::no_such_path()),
    }
}

/// A group and what it serves; the core is the one without a name.
pub(crate) struct Group {
    name: String,
    /// The preferred one first.
    versions: Vec<Version>,
}

/// A version of a group.
struct Version {
    name: String,
    resources: Vec<Resource>,
}

impl Group {
    fn group_version(&self, version: &str) -> String {
        if self.name.is_empty() { version.to_owned() } else { format!("{}/{version}", self.name) }
    }

    fn summary(&self) -> Value {
        let named =
            |version: &Version| json!({ "groupVersion": self.group_version(&version.name), "version": version.name });
        let versions: Vec<Value> = self.versions.iter().map(named).collect();
        json!({ "name": self.name, "versions": versions, "preferredVersion": versions.first() })
    }

    fn list(&self, version: &str) -> Result<Value, Failure> {
        let found = self.versions.iter().find(|it| it.name == version).ok_or_else(Failure::no_such_path)?;
        let resources: Vec<Value> = found.resources.iter().flat_map(Resource::listed).collect();
        let mut list = json!({
            "kind": "APIResourceList", "groupVersion": self.group_version(version), "resources": resources,
        });
        // The oldest list of all was there before lists had versions.
        if !self.name.is_empty() {
            list["apiVersion"] = json!("v1");
        }
        Ok(list)
    }

    fn whole(&self) -> Value {
        let whole = |version: &Version| {
            let resources: Vec<Value> = version.resources.iter().map(Resource::whole).collect();
            json!({ "version": version.name, "resources": resources, "freshness": "Current" })
        };
        let metadata = if self.name.is_empty() { json!({}) } else { json!({ "name": self.name }) };
        json!({ "metadata": metadata, "versions": self.versions.iter().map(whole).collect::<Vec<_>>() })
    }
}

fn find<'a>(groups: &'a [Group], name: &str) -> Result<&'a Group, Failure> {
    groups.iter().find(|group| group.name == name).ok_or_else(Failure::no_such_path)
}

fn aggregated(accept: &str) -> bool {
    accept.split(',').any(|clause| {
        let parts: Vec<&str> = clause.split(';').map(str::trim).collect();
        parts.first() == Some(&"application/json")
            && ["g=apidiscovery.k8s.io", "v=v2", "as=APIGroupDiscoveryList"].iter().all(|part| parts.contains(part))
    })
}

fn all_at_once(groups: &[Group]) -> Answer {
    let items: Vec<Value> = groups.iter().map(Group::whole).collect();
    let list = json!({
        "kind": "APIGroupDiscoveryList", "apiVersion": "apidiscovery.k8s.io/v2", "metadata": {}, "items": items,
    });
    Answer { content_type: AGGREGATED, ..Answer::json(StatusCode::OK, &list) }
}

fn paths(groups: &[Group]) -> Value {
    let mut paths: Vec<String> = [
        "/api",
        "/api/v1",
        "/apis",
        "/apis/",
        "/healthz",
        "/livez",
        "/openapi/v3",
        "/openapi/v3/",
        "/readyz",
        "/version",
    ]
    .map(str::to_owned)
    .to_vec();
    for group in &groups[1..] {
        paths.push(format!("/apis/{}", group.name));
        paths.extend(group.versions.iter().map(|version| format!("/apis/{}/{}", group.name, version.name)));
    }
    paths.sort();
    json!({ "paths": paths })
}

/// The version of the real server that this one is held to.
fn version() -> Value {
    json!({
        "major": "1", "minor": "36", "emulationMajor": "1", "emulationMinor": "36", "minCompatibilityMajor": "1",
        "minCompatibilityMinor": "35", "gitVersion": "v1.36.3", "gitCommit": "", "gitTreeState": "clean",
        "buildDate": "1970-01-01T00:00:00Z", "goVersion": "", "compiler": "", "platform": "",
    })
}

#[cfg(test)]
mod tests;
