//! Rules in schemas: that they are said well, and that they can be read. Their types and their cost are not estimated.

use api::Violation;
use kube::core::cel::compile_schema;
use serde_json::{Value, json};

use crate::kinds::field::{invalid_shown, invalid_text, list, not_supported, quoted, required, text};

const REASONS: [&str; 4] = ["FieldValueDuplicate", "FieldValueForbidden", "FieldValueInvalid", "FieldValueRequired"];

/// What is wrong with the way the rules of a schema are said.
pub(super) fn well_formed(schema: &Value, path: &str) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, rule) in list(schema, "/x-kubernetes-validations").iter().enumerate() {
        let at = |field: &str| format!("{path}.x-kubernetes-validations[{index}].{field}");
        let said = |field: &str| text(rule, &format!("/{field}"));
        let has_lines = |text: &str| text.contains(['\n', '\r']);
        let (expression, message) = (said("rule").trim(), said("message").trim());
        if expression.is_empty() {
            found.push(required(&at("rule"), "rule is not specified"));
        } else if !said("message").is_empty() && message.is_empty() {
            found.push(invalid_text(&at("message"), said("message"), "must be non-empty if specified"));
        } else if has_lines(message) {
            found.push(invalid_text(&at("message"), said("message"), "must not contain line breaks"));
        } else if has_lines(expression) && message.is_empty() {
            found.push(required(&at("message"), "message must be specified if rule contains line breaks"));
        }
        if !said("messageExpression").is_empty() && said("messageExpression").trim().is_empty() {
            found.push(required(&at("messageExpression"), "messageExpression must be non-empty if specified"));
        }
        if let Some(reason) = rule.get("reason").and_then(Value::as_str).filter(|reason| !REASONS.contains(reason)) {
            found.push(not_supported(&at("reason"), reason, &REASONS));
        }
        let field_path = said("fieldPath");
        if !field_path.is_empty() && field_path.trim().is_empty() {
            found.push(invalid_text(&at("fieldPath"), field_path, "must be non-empty if specified"));
        }
        if has_lines(field_path) {
            found.push(invalid_text(&at("fieldPath"), field_path, "must not contain line breaks"));
        }
        if !field_path.is_empty() && !leads_somewhere(schema, field_path) {
            found.push(invalid_text(&at("fieldPath"), field_path, "must be a valid path"));
        }
    }
    found
}

/// Whether a path of dots and `['names']` stays within the schema.
fn leads_somewhere(schema: &Value, path: &str) -> bool {
    let mut schema = schema;
    let mut rest = path;
    while !rest.is_empty() {
        let (name, after) = if let Some(quoted) = rest.strip_prefix("['") {
            let Some((name, after)) = quoted.split_once("']") else { return false };
            (name, after)
        } else if let Some(plain) = rest.strip_prefix('.') {
            let end = plain.find(['.', '[']).unwrap_or(plain.len());
            plain.split_at(end)
        } else {
            return false;
        };
        let named = schema.get("properties").and_then(|properties| properties.get(name));
        let found = named.or_else(|| schema.get("additionalProperties").filter(|below| below.is_object()));
        let Some(below) = found.filter(|_| !name.is_empty()) else { return false };
        (schema, rest) = (below, after);
    }
    true
}

/// What is wrong with the rules themselves.
pub(super) fn compile(schema: &Value, path: &str, unmatched: Option<&str>) -> Vec<Violation> {
    let mut found = Vec::new();
    for (index, rule) in list(schema, "/x-kubernetes-validations").iter().enumerate() {
        let at = |field: &str| format!("{path}.x-kubernetes-validations[{index}].{field}");
        let alone = compile_schema(&json!({ "type": "object", "x-kubernetes-validations": [rule] }));
        let transition = match alone.validations.first() {
            Some(Ok(compiled)) => compiled.is_transition_rule,
            Some(Err(error)) => {
                let source = std::error::Error::source(error).map_or_else(|| error.to_string(), ToString::to_string);
                let in_message = matches!(error, kube::core::cel::CompilationError::MessageExpressionParse { .. });
                let field = at(if in_message { "messageExpression" } else { "rule" });
                found.push(invalid_shown(&field, &shown(rule), format!("compilation failed: {source}")));
                false
            }
            None => false,
        };
        if let Some(unmatched) = unmatched.filter(|_| transition) {
            let detail =
                format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {unmatched}");
            found.push(invalid_text(&at("rule"), text(rule, "/rule"), detail));
        }
        if let Some(optional) = rule.get("optionalOldSelf").filter(|_| !transition) {
            let detail = "may not be set if oldSelf is not used in rule";
            found.push(invalid_shown(&at("optionalOldSelf"), &optional.to_string(), detail));
        }
    }
    found
}

/// A rule as its internal struct is shown.
fn shown(rule: &Value) -> String {
    let word = |field: &str| quoted(text(rule, &format!("/{field}")));
    let maybe = |field: &str| rule.get(field).map_or_else(|| "null".to_owned(), Value::to_string);
    format!(
        "{{\"Rule\":{},\"Message\":{},\"MessageExpression\":{},\"Reason\":{},\"FieldPath\":{},\"OptionalOldSelf\":{}}}",
        word("rule"),
        word("message"),
        word("messageExpression"),
        maybe("reason"),
        word("fieldPath"),
        maybe("optionalOldSelf"),
    )
}
