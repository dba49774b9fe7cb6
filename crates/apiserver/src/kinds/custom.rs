//! Custom kinds: from a stored definition to what is served.

use std::sync::Arc;

use api::{Cause, Judge, Part, Violation};
use serde_json::{Value, json};

use super::field::{invalid, invalid_text, list, text};
use super::metadata;
use crate::kind::{Column, Custom, Kind, Nature, Scale};

/// A definition that cannot be served, and why.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("version {version} of {definition} cannot be served: {why}")]
pub struct Unservable {
    definition: String,
    version: String,
    why: String,
}

/// The kinds that a definition serves: one per served version, in the definition's order.
///
/// Names are those that were accepted, where the status says so.
pub fn kinds_of(crd: &Value) -> Result<Vec<Kind>, Unservable> {
    let served = list(crd, "/spec/versions").iter().filter(|version| version.get("served") == Some(&json!(true)));
    served.map(|version| kind(crd, version)).collect()
}

fn kind(crd: &Value, version: &Value) -> Result<Kind, Unservable> {
    let accepted = !text(crd, "/status/acceptedNames/plural").is_empty();
    let names = if accepted { &crd["status"]["acceptedNames"] } else { &crd["spec"]["names"] };
    let name = |field: &str| text(names, &format!("/{field}")).to_owned();
    let words = |field: &str| {
        list(names, &format!("/{field}")).iter().filter_map(Value::as_str).map(str::to_owned).collect::<Vec<_>>()
    };
    let schema = version.pointer("/schema/openAPIV3Schema").cloned().unwrap_or_else(|| json!({ "type": "object" }));
    let judge = Judge::new(schema.clone()).map_err(|why| Unservable {
        definition: text(crd, "/metadata/name").to_owned(),
        version: text(version, "/name").to_owned(),
        why: why.to_string(),
    })?;
    let selectable = list(version, "/selectableFields").iter();
    let selectable = selectable.map(|field| text(field, "/jsonPath").trim_start_matches('.').to_owned()).collect();
    Ok(Kind {
        group: text(crd, "/spec/group").to_owned(),
        version: text(version, "/name").to_owned(),
        kind: name("kind"),
        list_kind: name("listKind"),
        plural: name("plural"),
        singular: name("singular"),
        short_names: words("shortNames"),
        categories: words("categories"),
        namespaced: text(crd, "/spec/scope") == "Namespaced",
        // The order is that of discovery for custom resources, which nobody sorts.
        verbs: super::CUSTOM_VERBS.to_vec(),
        status: version.pointer("/subresources/status").is_some(),
        scale: version.pointer("/subresources/scale").map(scale),
        schema: Arc::new(whole(schema)),
        columns: columns(version),
        nature: Nature::Custom(Arc::new(Custom { judge, selectable })),
    })
}

fn scale(scale: &Value) -> Scale {
    let selector = text(scale, "/labelSelectorPath");
    Scale {
        spec_replicas: text(scale, "/specReplicasPath").to_owned(),
        status_replicas: text(scale, "/statusReplicasPath").to_owned(),
        selector: (!selector.is_empty()).then(|| selector.to_owned()),
    }
}

/// The schema of the whole object: every custom resource has these three, whatever its definition says of them.
fn whole(mut schema: Value) -> Value {
    let meta = super::definition::definition("io.k8s.api.core.v1.ConfigMap");
    for field in ["apiVersion", "kind"] {
        let known = meta.and_then(|meta| meta.pointer(&format!("/properties/{field}"))).cloned();
        schema["properties"][field] = known.unwrap_or_else(|| json!({ "type": "string" }));
    }
    let mut meta = metadata::schema();
    meta["description"] = json!(super::description("io.k8s.api.core.v1.ConfigMap", "metadata"));
    schema["properties"]["metadata"] = meta;
    schema
}

fn columns(version: &Value) -> Vec<Column> {
    let own = list(version, "/additionalPrinterColumns");
    let mut columns = vec![super::name_column()];
    if own.is_empty() {
        columns.push(Column {
            name: "Age".to_owned(),
            of: "date".to_owned(),
            format: String::new(),
            description: super::described("creationTimestamp"),
            priority: 0,
            json_path: ".metadata.creationTimestamp".to_owned(),
        });
    }
    columns.extend(own.iter().map(column));
    columns
}

fn column(column: &Value) -> Column {
    let word = |field: &str| text(column, &format!("/{field}")).to_owned();
    let json_path = word("jsonPath");
    let description = match word("description") {
        none if none.is_empty() => format!("Custom resource definition column (in JSONPath format): {json_path}"),
        said => said,
    };
    let priority = column.get("priority").and_then(Value::as_i64).and_then(|it| i32::try_from(it).ok());
    Column {
        name: word("name"),
        of: word("type"),
        format: word("format"),
        description,
        priority: priority.unwrap_or_default(),
        json_path,
    }
}

/// What is wrong with a custom object, or with its status alone, as the server's strategy for them says it.
pub(super) fn violations(
    kind: &Kind,
    custom: &Custom,
    new: &Value,
    old: Option<&Value>,
    status: bool,
) -> Vec<Violation> {
    let judge = &custom.judge;
    let mut found = types(kind, new);
    // What claims to be something else is not measured by the schema; lists and rules are looked at all the same.
    if found.is_empty() {
        found.extend(match old {
            Some(old) => metadata::of_step(new, old),
            None => metadata::of_object(new, kind.namespaced, metadata::subdomain),
        });
        found.extend(judge.structure_violations(if status { Part::Status } else { Part::Whole }, new, old));
        found.extend(kind.scale.iter().flat_map(|scale| scaled(scale, new, status)));
    }
    found.extend(judge.list_violations(new, old));
    if found.iter().any(|violation| violation.cause.hides_rules()) {
        let message = "Invalid value: null: some validation rules were not checked because the object was invalid; \
                       correct the existing errors to complete validation";
        found.extend(judge.has_rules().then(|| Violation::at("<nil>", Cause::Invalid, message)));
    } else {
        found.extend(judge.rule_violations(new, old));
    }
    found
}

fn types(kind: &Kind, object: &Value) -> Vec<Violation> {
    let mut found = Vec::new();
    let (got, version) = (text(object, "/kind"), text(object, "/apiVersion"));
    if got != kind.kind {
        found.push(invalid_text("kind", got, format!("must be {}", kind.kind)));
    }
    if version != kind.api_version() {
        found.push(invalid_text("apiVersion", version, format!("must be {}", kind.api_version())));
    }
    found
}

/// Counts of replicas are counts and a selector is a text, whatever the schema says.
fn scaled(scale: &Scale, object: &Value, status: bool) -> Vec<Violation> {
    let spec = (!status).then_some(&scale.spec_replicas);
    let mut found: Vec<Violation> = spec
        .into_iter()
        .chain([&scale.status_replicas])
        .filter_map(|path| {
            let count = match nested(object, path, "int64", Value::is_i64) {
                Ok(count) => count?.as_i64()?,
                Err(stumble) => return Some(invalid(path, &json!(0), stumble)),
            };
            let most = i32::MAX;
            let above = || (count > i64::from(most)).then(|| format!("should be less than or equal to {most}"));
            let wish = if count < 0 { Some("should be a non-negative integer".to_owned()) } else { above() };
            Some(invalid(path, &json!(count), wish?))
        })
        .collect();
    if let Some(path) = &scale.selector
        && let Err(stumble) = nested(object, path, "string", Value::is_string)
    {
        found.push(invalid_text(path, "", stumble));
    }
    found
}

/// The value at a path, if there is one; it must be of the type that Go expects there.
fn nested<'a>(
    object: &'a Value,
    path: &str,
    expected: &str,
    fits: fn(&Value) -> bool,
) -> Result<Option<&'a Value>, String> {
    let stumble = |path: &str, value: &Value, expected: &str| {
        let (shown, of) = printed(value);
        Err(format!("{path} accessor error: {shown} is of the type {of}, expected {expected}"))
    };
    let (mut value, mut walked) = (object, String::new());
    for key in path.trim_start_matches('.').split('.') {
        match value {
            Value::Null => return Ok(None),
            Value::Object(fields) => match fields.get(key) {
                Some(below) => value = below,
                None => return Ok(None),
            },
            Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                return stumble(&format!("{walked}.{key}"), value, "map[string]interface{}");
            }
        }
        walked = format!("{walked}.{key}");
    }
    if fits(value) { Ok(Some(value)) } else { stumble(&walked, value, expected) }
}

/// A value and its type, as Go prints them.
fn printed(value: &Value) -> (String, &'static str) {
    match value {
        Value::Null => ("<nil>".to_owned(), "<nil>"),
        Value::Bool(yes) => (yes.to_string(), "bool"),
        Value::Number(number) if number.is_i64() => (number.to_string(), "int64"),
        Value::Number(number) => (number.to_string(), "float64"),
        Value::String(text) => (text.clone(), "string"),
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(|item| printed(item).0).collect();
            (format!("[{}]", items.join(" ")), "[]interface {}")
        }
        Value::Object(fields) => {
            let fields: Vec<String> = fields.iter().map(|(key, value)| format!("{key}:{}", printed(value).0)).collect();
            (format!("map[{}]", fields.join(" ")), "map[string]interface {}")
        }
    }
}
