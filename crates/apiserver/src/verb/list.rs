//! Reads collections: selectors, pages, and what was there at a past version.

use std::sync::Arc;

use api::{Cause as Wrong, Violation};
use base64::Engine;
use base64::prelude::BASE64_URL_SAFE_NO_PAD;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use crate::answer::Answer;
use crate::call::Call;
use crate::cluster::Cluster;
use crate::failure::{Failure, Of};
use crate::kind::{Kind, Nature};
use crate::object;
use crate::query::{Query, unsupported};
use crate::select::{FieldSelector, LabelSelector};
use crate::store::{Key, OutOfReach, Record};
use crate::verb::{present, read};

/// Which objects of a collection are meant.
#[derive(Clone, Debug, Default)]
pub(crate) struct Selection {
    labels: LabelSelector,
    fields: FieldSelector,
}

impl Selection {
    /// Reads the selectors of a call.
    pub(crate) fn read(call: &Call) -> Result<Self, Failure> {
        let labels = LabelSelector::parse(call.query.text("labelSelector"));
        let labels = labels.map_err(Failure::bad_request)?;
        let fields = FieldSelector::parse(call.query.text("fieldSelector")).map_err(Failure::bad_request)?;
        known_fields(call.kind(), &fields)?;
        let name = call.target.name.as_str();
        if name.is_empty() {
            return Ok(Self { labels, fields });
        }
        if fields.is_empty() {
            return Ok(Self { labels, fields: FieldSelector::name(name) });
        }
        if fields.exact("metadata.name") != Some(name) {
            return Err(Failure::bad_request("fieldSelector metadata.name doesn't match requested name"));
        }
        Ok(Self { labels, fields })
    }

    /// Whether everything is meant.
    pub(crate) const fn is_empty(&self) -> bool {
        self.labels.is_empty() && self.fields.is_empty()
    }

    /// Whether the object is meant.
    pub(crate) fn matches(&self, kind: &Kind, record: &Record) -> bool {
        if self.is_empty() {
            return true;
        }
        let value = record.parse();
        let label = |key: &str| object::labels(&value).find(|(name, _)| *name == key).map(|(_, value)| value);
        self.labels.matches(label)
            && (self.fields.is_empty() || self.fields.matches(|field| of_field(kind, &value, field)))
    }
}

fn of_field(kind: &Kind, object: &Value, field: &str) -> String {
    match field {
        "metadata.name" => return object::name(object).to_owned(),
        "metadata.namespace" => return object::namespace(object).to_owned(),
        _ => {}
    }
    match &kind.nature {
        Nature::Custom(_) => match object::at(object, field) {
            Some(Value::String(text)) => text.clone(),
            Some(value @ (Value::Bool(_) | Value::Number(_))) => value.to_string(),
            Some(Value::Null | Value::Array(_) | Value::Object(_)) | None => String::new(),
        },
        Nature::BuiltIn(rules) => {
            let fields = rules.selectable(object);
            fields.into_iter().find(|(name, _)| *name == field).map(|(_, value)| value).unwrap_or_default()
        }
    }
}

fn known_fields(kind: &Kind, fields: &FieldSelector) -> Result<(), Failure> {
    let meta = |field: &str| field == "metadata.name" || field == "metadata.namespace";
    for term in fields.terms().iter().filter(|term| !meta(&term.field)) {
        let field = term.field.as_str();
        let (known, words) = match &kind.nature {
            Nature::Custom(custom) => (custom.selectable.iter().any(|name| name == field), true),
            Nature::BuiltIn(rules) => {
                let names = rules.selectable(&Value::Null);
                (names.iter().any(|(name, _)| *name == field), !names.is_empty())
            }
        };
        if !known && words {
            return Err(Failure::bad_request(format!("field label not supported: {field}")));
        }
        if !known {
            return Err(Failure::bad_request(format!(
                "{field:?} is not a known field selector: only \"metadata.name\", \"metadata.namespace\""
            )));
        }
    }
    Ok(())
}

/// Where a list goes on.
#[derive(Debug, Default, Serialize, Deserialize)]
#[serde(default)]
struct Continue {
    v: String,
    rv: u64,
    start: String,
}

/// `GET` of a collection.
pub(crate) fn list(cluster: &Cluster, call: &Call) -> Result<Answer, Failure> {
    let page = page(cluster, call)?;
    Ok(present::many(call, &page))
}

/// Some objects of a collection.
pub(crate) struct Page {
    /// The objects.
    pub records: Vec<Arc<Record>>,
    /// The version of the whole.
    pub revision: u64,
    /// How to ask for more.
    pub next: Option<String>,
    /// How many more there are, if that is known.
    pub remaining: Option<usize>,
}

/// The part of a collection that a call asks for.
pub(crate) fn page(cluster: &Cluster, call: &Call) -> Result<Page, Failure> {
    judge(&call.query)?;
    call.query.number::<i64>("timeoutSeconds")?;
    let selection = Selection::read(call)?;
    let limit = limit(call)?;
    // A list from the cache is whole, however little is asked for; events are not cached.
    let cached = call.query.text("resourceVersion") == "0"
        && call.query.text("continue").is_empty()
        && call.served.resource.plural != "events";
    let limit = if cached { 0 } else { limit };
    let (revision, after) = starting_point(cluster, call)?;
    let namespace = Some(call.target.namespace.as_str()).filter(|namespace| !namespace.is_empty());
    let all = cluster.store.list_at(&call.served.resource, namespace, revision);
    let all = all.map_err(|out| out_of_reach(out, after.is_some()))?;
    let mut rest = all.into_iter().filter(|(key, _)| after.as_ref().is_none_or(|after| key > after));
    let mut records = Vec::new();
    let mut last = None;
    while limit == 0 || records.len() < limit {
        let Some((key, record)) = rest.next() else { break };
        if selection.matches(call.kind(), &record) {
            last = Some(key);
            records.push(record);
        }
    }
    // A full page may be the last one: whether anything is meant of what is left, only a look would tell.
    let left = if limit == 0 { 0 } else { rest.count() };
    let next = last.filter(|_| left > 0).map(|key| token(revision, &key));
    let remaining = next.is_some().then_some(left).filter(|_| selection.is_empty());
    Ok(Page { records, revision, next, remaining })
}

/// How many objects are asked for at most; 0 is all.
fn limit(call: &Call) -> Result<usize, Failure> {
    Ok(call.query.number::<i64>("limit")?.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(0))
}

/// The version to read at and, on a later page, the object to begin behind.
fn starting_point(cluster: &Cluster, call: &Call) -> Result<(u64, Option<Key>), Failure> {
    let newest = cluster.store.revision();
    let (version, token) = (call.query.text("resourceVersion"), call.query.text("continue"));
    if !token.is_empty() {
        if !version.is_empty() && version != "0" {
            return Err(Failure::bad_request("specifying resource version is not allowed when using continue"));
        }
        let (revision, key) = read_token(token)?;
        return Ok((revision, Some(key)));
    }
    if version.is_empty() {
        return Ok((newest, None));
    }
    let number: u64 = version.parse().map_err(|_| read::bad_list_version(version))?;
    read::reached(number, newest)?;
    let matching = call.query.text("resourceVersionMatch");
    let exact = matching == "Exact" || (matching.is_empty() && limit(call)? > 0 && number > 0);
    Ok((if exact { number } else { newest }, None))
}

fn token(revision: u64, key: &Key) -> String {
    let start = format!("{key}\0");
    let token = Continue { v: "meta.k8s.io/v1".to_owned(), rv: revision, start };
    BASE64_URL_SAFE_NO_PAD.encode(serde_json::to_vec(&token).expect("a token is plain JSON"))
}

fn read_token(text: &str) -> Result<(u64, Key), Failure> {
    let refusal = |why: &str| Failure::bad_request(format!("invalid continue token: continue key is not valid{why}"));
    let bytes = BASE64_URL_SAFE_NO_PAD.decode(text).map_err(|error| refusal(&format!(": {error}")))?;
    let token: Continue = serde_json::from_slice(&bytes).map_err(|error| refusal(&format!(": {error}")))?;
    if token.v != "meta.k8s.io/v1" {
        return Err(refusal(&format!(": server does not recognize this encoded version {}", token.v)));
    }
    if token.rv == 0 {
        return Err(refusal(": incorrect encoded start resourceVersion (version meta.k8s.io/v1)"));
    }
    if token.start.is_empty() {
        return Err(refusal(": encoded start key empty (version meta.k8s.io/v1)"));
    }
    let start = token.start.trim_end_matches('\0');
    let (namespace, name) = start.split_once('/').unwrap_or(("", start));
    Ok((token.rv, Key::new(namespace, name)))
}

/// What is told about a version that is gone.
pub(crate) fn out_of_reach(out: OutOfReach, continued: bool) -> Failure {
    match out {
        OutOfReach::Compacted { .. } if continued => Failure::expired(
            "The provided continue parameter is too old to display a consistent list result. You can start a new list \
             without the continue parameter.",
        ),
        OutOfReach::Compacted { .. } => Failure::expired("The resourceVersion for the provided list is too old."),
        OutOfReach::Future { newest } => Failure::expired(format!("the version is newer than {newest}")),
    }
}

/// Options that contradict each other.
fn judge(query: &Query) -> Result<(), Failure> {
    const MATCH: &str = "resourceVersionMatch";
    let forbidden = |field: &str, why: &str| Violation::at(field, Wrong::Forbidden, format!("Forbidden: {why}"));
    let mut violations = Vec::new();
    let (matching, version) = (query.text("resourceVersionMatch"), query.text("resourceVersion"));
    if !matching.is_empty() {
        if version.is_empty() {
            violations.push(forbidden(MATCH, "resourceVersionMatch is forbidden unless resourceVersion is provided"));
        }
        if !query.text("continue").is_empty() {
            violations.push(forbidden(MATCH, "resourceVersionMatch is forbidden when continue is provided"));
        }
        if !matches!(matching, "Exact" | "NotOlderThan") {
            violations.push(unsupported(MATCH, matching, &["Exact", "NotOlderThan", ""]));
        }
        if matching == "Exact" && version == "0" {
            let why = "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"";
            violations.push(forbidden(MATCH, why));
        }
    }
    if query.flag("sendInitialEvents").is_some() {
        violations.push(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"));
    }
    if violations.is_empty() {
        return Ok(());
    }
    Err(Failure::invalid(Of { group: "meta.k8s.io", name: "ListOptions" }, "", &violations))
}
