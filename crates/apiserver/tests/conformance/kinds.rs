//! The kinds that sequences are about, with values to write into each: `kinds.yaml`, and our own from their schemas.

use std::sync::OnceLock;

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use serde::Deserialize;
use serde_json::{Value, json};

/// A kind and what to write into it.
#[derive(Clone, Debug, Deserialize)]
#[expect(clippy::struct_field_names, clippy::struct_excessive_bools, reason = "the words of Kubernetes")]
pub struct Kind {
    pub group: String,
    pub version: String,
    pub kind: String,
    pub plural: String,
    pub namespaced: bool,
    #[serde(default)]
    pub status: bool,
    #[serde(default)]
    pub scale: bool,
    #[serde(default)]
    pub custom: bool,
    /// Whether others make objects of the kind, so that every look at it needs the label of the sequence.
    #[serde(default)]
    pub labelled: bool,
    /// How often it is the subject, among all.
    pub weight: usize,
    /// The least that is accepted.
    pub base: Value,
    /// Other starts.
    #[serde(default)]
    pub bases: Vec<Value>,
    /// What matches all selectors.
    pub mark: Value,
    /// Field selectors.
    pub selectors: Vec<String>,
    pub fields: Vec<Field>,
    #[serde(default)]
    pub status_fields: Vec<Field>,
}

/// A field and values for it.
#[derive(Clone, Debug, Deserialize)]
pub struct Field {
    pub at: String,
    pub good: Vec<Value>,
    pub bad: Vec<Value>,
}

impl Kind {
    /// `group/version`, or the version alone for the core.
    pub fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// The path of the collection.
    pub fn collection(&self) -> String {
        let root = if self.group.is_empty() {
            format!("/api/{}", self.version)
        } else {
            format!("/apis/{}/{}", self.group, self.version)
        };
        let namespace = if self.namespaced { "/namespaces/«ns»" } else { "" };
        format!("{root}{namespace}/{}", self.plural)
    }

    /// The path of an object.
    pub fn path(&self, name: &str) -> String {
        format!("{}/{name}", self.collection())
    }

    /// The name of the object that people call `word`.
    pub fn name(&self, word: &str) -> String {
        if self.namespaced { word.to_owned() } else { format!("«ns»-{word}") }
    }

    /// Whether a look at the collection needs the label of the sequence to be of the sequence alone.
    pub fn needs_label(&self) -> bool {
        self.labelled || !self.namespaced
    }
}

/// Every kind.
pub fn all() -> &'static [Kind] {
    static ALL: OnceLock<Vec<Kind>> = OnceLock::new();
    ALL.get_or_init(|| {
        let mut kinds: Vec<Kind> =
            serde_saphyr::from_str(include_str!("kinds.yaml")).expect("kinds.yaml is a list of kinds");
        kinds.extend(api::crds().iter().map(own));
        kinds
    })
}

/// The definitions that a server needs: ours, and those that exist for conformance alone.
pub fn definitions() -> Vec<CustomResourceDefinition> {
    let mut definitions: Vec<CustomResourceDefinition> =
        serde_saphyr::from_multiple(include_str!("crds.yaml")).expect("crds.yaml holds definitions");
    definitions.extend(api::crds());
    definitions
}

fn own(definition: &CustomResourceDefinition) -> Kind {
    let spec = serde_json::to_value(&definition.spec).expect("a definition is JSON");
    let text = |at: &str| spec.pointer(at).and_then(Value::as_str).unwrap_or_default().to_owned();
    let kind = text("/names/kind");
    let mut bases: Vec<Value> = api::examples()
        .into_iter()
        .flat_map(|story| story.objects)
        .map(|(_, object)| object)
        .filter(|object| object["kind"] == kind.as_str())
        .map(|object| json!({ "spec": object["spec"] }))
        .collect();
    bases.dedup();
    if kind == "RunnerJob" {
        // Nobody writes these by hand, so there is no example.
        bases.push(json!({ "spec": {
            "sourceRef": { "name": "github" }, "key": "octo/1/2", "labels": ["linux"], "queuedAt": "2020-01-02T03:04:05Z",
        } }));
    }
    let base = bases.first().cloned().unwrap_or_else(|| json!({ "spec": {} }));
    let schema = &spec["versions"][0]["schema"]["openAPIV3Schema"];
    let mut fields = Vec::new();
    leaves("/spec", &schema["properties"]["spec"], &bases, &mut fields);
    let mut status_fields = Vec::new();
    leaves("/status", &schema["properties"]["status"], &[], &mut status_fields);
    Kind {
        group: text("/group"),
        version: text("/versions/0/name"),
        plural: text("/names/plural"),
        namespaced: text("/scope") == "Namespaced",
        status: spec.pointer("/versions/0/subresources/status").is_some(),
        scale: spec.pointer("/versions/0/subresources/scale").is_some(),
        custom: true,
        labelled: false,
        weight: 4,
        mark: base.clone(),
        base,
        bases,
        selectors: vec!["metadata.name!=one".to_owned()],
        kind,
        fields,
        status_fields,
    }
}

/// Fields of a schema with values at, within and beyond their bounds.
fn leaves(at: &str, schema: &Value, examples: &[Value], into: &mut Vec<Field>) {
    let mut good: Vec<Value> = examples.iter().filter_map(|example| example.pointer(at)).cloned().collect();
    good.dedup();
    let list = |key: &str| schema[key].as_array().cloned().unwrap_or_default();
    good.extend(list("enum"));
    good.extend(schema.get("default").cloned());
    let number = |key: &str| schema[key].as_f64();
    let mut bad = vec![json!(null)];
    match schema["type"].as_str().unwrap_or_default() {
        "boolean" => {
            good.extend([json!(true), json!(false)]);
            bad.push(json!("yes"));
        }
        "integer" | "number" => {
            let lowest = number("minimum").unwrap_or(1.0);
            let highest = number("maximum").unwrap_or(1000.0);
            #[expect(clippy::cast_possible_truncation, reason = "bounds of our schemas are whole and small")]
            let (lowest, highest) = (lowest as i64, highest as i64);
            good.extend([json!(lowest), json!(highest)]);
            bad.extend([json!(lowest - 1), json!(highest + 1), json!("7"), json!(1.5)]);
        }
        "string" => {
            good.push(json!("text"));
            let longest = schema["maxLength"].as_u64().unwrap_or(100).min(5000);
            let longest = usize::try_from(longest).expect("a small number");
            bad.extend([json!(""), json!("x".repeat(longest + 1)), json!("Not A Value!"), json!(5)]);
        }
        "array" => {
            bad.extend([json!([null]), json!({}), json!([[]]), json!([{}]), json!(["text"])]);
            if let Some(Value::Array(first)) = good.first().cloned()
                && let Some(item) = first.first()
            {
                bad.push(json!([item, item]));
                good.push(json!([item]));
            }
        }
        "object" => {
            if let Some(properties) = schema["properties"].as_object() {
                for (name, property) in properties {
                    leaves(&format!("{at}/{name}"), property, examples, into);
                }
            }
            bad.extend([json!({}), json!([]), json!({ "bogus": 1 })]);
        }
        _ => bad.push(json!({})),
    }
    into.push(Field { at: at.to_owned(), good, bad });
}
