//! A schema as rows for people: path, type, bounds, default.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool, ValidationRule,
};

/// A field and what the API server says about it.
#[derive(Clone, Debug, Default, PartialEq)]
pub(super) struct Field {
    /// `spec.nodes[].name`; `{}` stands for a key of a map.
    pub(super) path: String,
    pub(super) kind: String,
    pub(super) required: bool,
    pub(super) default: Option<String>,
    pub(super) bounds: String,
    pub(super) description: String,
}

/// A rule over several fields, or over a change.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Law {
    pub(super) path: String,
    pub(super) says: String,
}

/// Every field below `path`, parents before children, siblings by name with the required ones first.
pub(super) fn fields(path: &str, schema: &JSONSchemaProps) -> Vec<Field> {
    let mut found = Vec::new();
    visit(path, schema, &mut |path, required, schema| {
        found.push(Field {
            path: path.to_owned(),
            kind: kind(schema),
            required,
            default: schema.default.as_ref().map(|default| default.0.to_string()),
            bounds: bounds(schema),
            description: schema.description.clone().unwrap_or_default(),
        });
    });
    found
}

/// Every rule at and below `path`.
pub(super) fn laws(path: &str, schema: &JSONSchemaProps) -> Vec<Law> {
    let mut found = own_laws(path, schema);
    visit(path, schema, &mut |path, _, schema| {
        found.extend(own_laws(path, schema));
    });
    found
}

fn own_laws(path: &str, schema: &JSONSchemaProps) -> Vec<Law> {
    let rules = schema.x_kubernetes_validations.iter().flatten();
    let says = |rule: &ValidationRule| rule.message.clone().unwrap_or_else(|| rule.rule.clone());
    rules.map(|rule| Law { path: path.to_owned(), says: says(rule) }).collect()
}

type Visitor<'a> = &'a mut dyn FnMut(&str, bool, &JSONSchemaProps);

fn visit(path: &str, schema: &JSONSchemaProps, visitor: Visitor<'_>) {
    let required = schema.required.as_deref().unwrap_or_default();
    let mut names: Vec<(&String, &JSONSchemaProps)> = schema.properties.iter().flatten().collect();
    names.sort_by_key(|(name, _)| (!required.contains(name), *name));
    for (name, inner) in names {
        let path = format!("{path}.{name}");
        visitor(&path, required.contains(name), inner);
        visit(&path, inner, visitor);
    }
    if let Some(item) = item(schema) {
        visit_part(&format!("{path}[]"), item, visitor);
    }
    if let Some(value) = map_value(schema) {
        visit_part(&format!("{path}{{}}"), value, visitor);
    }
}

/// Items and values have a line of their own only if it would say more than the list or map does.
fn visit_part(path: &str, schema: &JSONSchemaProps, visitor: Visitor<'_>) {
    if schema.properties.is_none() && !bounds(schema).is_empty() {
        visitor(path, false, schema);
    }
    visit(path, schema, visitor);
}

fn kind(schema: &JSONSchemaProps) -> String {
    if schema.x_kubernetes_int_or_string == Some(true) {
        return "integer or string".to_owned();
    }
    if let Some(item) = item(schema) {
        return format!("list of {}", kind(item));
    }
    if let Some(value) = map_value(schema) {
        return format!("map of {}", kind(value));
    }
    match schema.type_.as_deref() {
        Some("string") if schema.enum_.is_some() => "enum".to_owned(),
        Some(other) => other.to_owned(),
        None => "any".to_owned(),
    }
}

fn bounds(schema: &JSONSchemaProps) -> String {
    let range = |low: Option<String>, high: Option<String>, unit: &str| match (low, high) {
        (Some(low), Some(high)) => Some(format!("{low}–{high}{unit}")),
        (Some(low), None) => Some(format!("≥ {low}{unit}")),
        (None, Some(high)) => Some(format!("≤ {high}{unit}")),
        (None, None) => None,
    };
    let number = |bound: Option<f64>| bound.map(|bound| bound.to_string());
    let count = |bound: Option<i64>| bound.map(|bound| bound.to_string());
    let choices = schema.enum_.as_ref().map(|choices| {
        choices
            .iter()
            .map(|choice| format!("`{}`", choice.0.to_string().trim_matches('"')))
            .collect::<Vec<_>>()
            .join(", ")
    });
    let parts = [
        choices,
        range(number(schema.minimum), number(schema.maximum), ""),
        range(count(schema.min_length), count(schema.max_length), " characters"),
        range(count(schema.min_items), count(schema.max_items), " items"),
        range(count(schema.min_properties), count(schema.max_properties), " entries"),
        schema.format.as_ref().map(|format| format!("format {format}")),
        schema.pattern.as_ref().map(|pattern| format!("`{pattern}`")),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join("; ")
}

fn item(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.items.as_ref()? {
        JSONSchemaPropsOrArray::Schema(item) => Some(item),
        JSONSchemaPropsOrArray::Schemas(_) => None,
    }
}

fn map_value(schema: &JSONSchemaProps) -> Option<&JSONSchemaProps> {
    match schema.additional_properties.as_ref()? {
        JSONSchemaPropsOrBool::Schema(value) => Some(value),
        JSONSchemaPropsOrBool::Bool(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schema() -> JSONSchemaProps {
        let text = serde_json::json!({
            "type": "object", "required": ["url"],
            "properties": {
                "mode": {"type": "string", "enum": ["dhcp", "static"], "default": "dhcp"},
                "nodes": {"type": "array", "maxItems": 3, "items": {"type": "object", "required": ["name"],
                    "properties": {"name": {"type": "string", "maxLength": 63}}}},
                "tags": {"type": "object", "additionalProperties": {"type": "string", "minLength": 1}},
                "url": {"type": "string", "pattern": "^https://", "description": "Where it is."},
                "vlan": {"type": "integer", "minimum": 1, "maximum": 4094},
            },
            "x-kubernetes-validations": [{"rule": "self.a == self.b", "message": "a must equal b"}, {"rule": "x"}],
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn every_field_has_its_path_type_and_bounds() {
        let lines: Vec<String> = fields("spec", &schema())
            .iter()
            .map(|field| format!("{} | {} | {} | {}", field.path, field.kind, field.required, field.bounds))
            .collect();
        assert_eq!(
            lines,
            [
                "spec.url | string | true | `^https://`",
                "spec.mode | enum | false | `dhcp`, `static`",
                "spec.nodes | list of object | false | ≤ 3 items",
                "spec.nodes[].name | string | true | ≤ 63 characters",
                "spec.tags | map of string | false | ",
                "spec.tags{} | string | false | ≥ 1 characters",
                "spec.vlan | integer | false | 1–4094",
            ]
        );
    }

    #[test]
    fn defaults_and_descriptions_come_along() {
        let fields = fields("spec", &schema());
        assert_eq!(fields[0].description, "Where it is.");
        assert_eq!(fields[1].default.as_deref(), Some("\"dhcp\""));
    }

    #[test]
    fn rules_are_told_by_their_message() {
        let says: Vec<String> = laws("spec", &schema()).into_iter().map(|law| law.says).collect();
        assert_eq!(says, ["a must equal b", "x"]);
    }
}
