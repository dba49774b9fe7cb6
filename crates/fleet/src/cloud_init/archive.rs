//! `#cloud-config-archive`: parts as a list in YAML.

use serde_json::Value;

use super::format::{Format, is_packed};
use super::refusal::Refusal;
use super::theirs::{Scope, judge as judge_part};
use super::yaml;

/// Refuses an archive of which a part cannot be merged.
pub(super) fn judge(text: &str, scope: &Scope<'_>) -> Result<(), Refusal> {
    let Value::Array(entries) = yaml::read(text, &scope.place)? else {
        let problem = "must be a list of parts, such as `- {type: text/cloud-config, content: …}`";
        return Err(Refusal::Message { place: scope.place.clone(), problem });
    };
    entries.iter().enumerate().try_for_each(|(index, entry)| part(entry, &scope.part(index + 1)?))
}

fn part(entry: &Value, scope: &Scope<'_>) -> Result<(), Refusal> {
    let content = entry.as_str().or_else(|| entry.get("content").and_then(Value::as_str)).unwrap_or_default();
    let format = match entry.get("type").and_then(Value::as_str) {
        Some(kind) if is_packed(kind) => return Err(Refusal::Encoded { place: scope.place.clone() }),
        Some(kind) => Format::of_part(kind, content),
        None => Some(Format::of_text(content).unwrap_or(Format::CloudConfig)),
    };
    match format {
        Some(format) => judge_part(format, content, scope).map(|_| ()),
        None => Ok(()),
    }
}
