//! What a schema may say: the keywords, the lists, the rules.

use api::Violation;
use serde_json::{Value, json};

use super::structural::is_true;
use super::{defaults, structural};
use crate::kinds::field::{entries, forbidden, invalid, list, text};

mod keywords;
mod rules;

/// What a schema's root may say where `status` is written apart: so that the status can be judged by itself.
const AT_ROOT: [(&str, &str); 22] = [
    ("Description", "description"),
    ("Type", "type"),
    ("Format", "format"),
    ("Title", "title"),
    ("Maximum", "maximum"),
    ("ExclusiveMaximum", "exclusiveMaximum"),
    ("Minimum", "minimum"),
    ("ExclusiveMinimum", "exclusiveMinimum"),
    ("MaxLength", "maxLength"),
    ("MinLength", "minLength"),
    ("Pattern", "pattern"),
    ("MaxItems", "maxItems"),
    ("MinItems", "minItems"),
    ("UniqueItems", "uniqueItems"),
    ("MultipleOf", "multipleOf"),
    ("Required", "required"),
    ("Items", "items"),
    ("Properties", "properties"),
    ("ExternalDocs", "externalDocs"),
    ("Example", "example"),
    ("XPreserveUnknownFields", "x-kubernetes-preserve-unknown-fields"),
    ("XValidations", "x-kubernetes-validations"),
];

/// What surrounds a schema.
#[derive(Clone, Default)]
struct Context {
    /// Why there may be no default here.
    no_default: Option<String>,
    /// Whether this is about `metadata`, `kind` or `apiVersion`.
    inside_meta: bool,
    /// From where on old and new cannot be matched.
    unmatched: Option<String>,
    /// Whether rules are looked at.
    rules: bool,
    /// Whether this is the root.
    root: bool,
}

/// What is wrong, and apart from it what is wrong with rules.
#[derive(Default)]
struct Found {
    schema: Vec<Violation>,
    rules: Vec<Violation>,
}

impl Found {
    fn add(&mut self, other: Self) {
        self.schema.extend(other.schema);
        self.rules.extend(other.rules);
    }
}

/// What is wrong with the schema of a version.
pub(super) fn violations(validation: &Value, path: &str, status: bool) -> Vec<Violation> {
    let Some(schema) = validation.get("openAPIV3Schema") else { return Vec::new() };
    let path = format!("{path}.openAPIV3Schema");
    let mut found = Vec::new();
    if status {
        found.extend(root_keywords(schema, &path));
    }
    if is_true(schema, "nullable") {
        found.push(forbidden(&format!("{path}.nullable"), "nullable cannot be true at the root"));
    }
    let mut sound = false;
    if !structural::unsupported(schema) {
        let wrong = structural::violations(schema, &path);
        let wrong = if wrong.is_empty() { defaults::violations(schema, &path) } else { wrong };
        sound = wrong.is_empty();
        found.extend(wrong);
    }
    let all = walk(schema, &path, &Context { rules: sound, root: true, ..Context::default() });
    found.extend(all.schema);
    found.extend(all.rules);
    found
}

fn root_keywords(schema: &Value, path: &str) -> Option<Violation> {
    let of = text(schema, "/type");
    if !of.is_empty() && of != "object" {
        let detail = "only \"object\" is allowed as the type at the root of the schema if the status subresource is \
                      enabled";
        return Some(invalid(&format!("{path}.type"), &json!(of), detail));
    }
    let mut keys = schema.as_object().into_iter().flatten().map(|(key, _)| key);
    let known = |key: &&String| AT_ROOT.iter().any(|(_, name)| name == key);
    let names: Vec<&str> = AT_ROOT.iter().map(|(name, _)| *name).collect();
    keys.find(|key| !known(key)).map(|_| {
        let names = names.join(" ");
        let detail =
            format!("only [{names}] fields are allowed at the root of the schema if the status subresource is enabled");
        invalid(path, schema, detail)
    })
}

fn walk(schema: &Value, path: &str, context: &Context) -> Found {
    let mut found = Found { schema: keywords::own(schema, path, context), rules: Vec::new() };
    let inner = Context { root: false, ..context.clone() };
    let unruled = Context { rules: false, ..inner.clone() };
    if let Some(rest) = schema.get("additionalProperties") {
        found.schema.extend(keywords::both_kinds_of_properties(schema, rest, path));
        let mut inner = inner.clone();
        if context.inside_meta {
            inner.no_default = Some("inside additionalProperties applying to object metadata".to_owned());
        }
        if rest.is_object() {
            found.add(walk(rest, &format!("{path}.additionalProperties"), &inner));
        }
    }
    for (name, property) in entries(schema, "/properties") {
        let inner = of_property(schema, name, path, context, &inner);
        found.add(walk(property, &format!("{path}.properties[{name}]"), &inner));
    }
    if let Some(not) = schema.get("not") {
        found.add(walk(not, &format!("{path}.not"), &unruled));
    }
    for key in ["allOf", "oneOf", "anyOf"] {
        for (index, nested) in list(schema, &format!("/{key}")).iter().enumerate() {
            found.add(walk(nested, &format!("{path}.{key}[{index}]"), &unruled));
        }
    }
    if let Some(items) = schema.get("items").filter(|items| items.is_object()) {
        let mut inner = inner.clone();
        if text(schema, "/x-kubernetes-list-type") != "map" {
            inner.unmatched = inner.unmatched.or_else(|| Some(path.to_owned()));
        }
        found.add(walk(items, &format!("{path}.items"), &inner));
    }
    found.schema.extend(keywords::merging(schema, path));
    found.schema.extend(rules::well_formed(schema, path));
    if found.schema.is_empty() && context.rules {
        found.rules.extend(rules::compile(schema, path, context.unmatched.as_deref()));
    }
    found
}

fn of_property(schema: &Value, name: &str, path: &str, context: &Context, inner: &Context) -> Context {
    let mut inner = inner.clone();
    if text(schema, "/x-kubernetes-map-type") == "atomic" {
        inner.unmatched = inner.unmatched.or_else(|| Some(path.to_owned()));
    }
    let meta = matches!(name, "metadata" | "kind" | "apiVersion");
    if meta && (context.root || is_true(schema, "x-kubernetes-embedded-resource")) {
        inner.inside_meta = true;
        if context.root {
            inner.no_default = Some(format!("in top-level {name}"));
        }
    }
    inner
}
