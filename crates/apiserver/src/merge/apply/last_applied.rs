//! The way from `kubectl apply` to `kubectl apply --server-side`: the annotation of the one tells what the other owned.

use serde_json::{Value, json};

use super::conflict::Conflict;
use crate::merge::fields::Set;
use crate::merge::shape::Shape;
use crate::merge::track::Writer;
use crate::merge::typed::{self, Duplicates};
use crate::merge::value;

/// The owner for whom the annotation counts.
pub(super) const OWNER: &str = "kubectl";
const ANNOTATION: &str = "kubectl.kubernetes.io/last-applied-configuration";
const LARGEST_ANNOTATIONS: usize = 256 * 1024;

/// The conflicts about fields that the annotation does not claim.
pub(super) fn unresolved(
    shape: Shape<'_>,
    live: &Value,
    conflicts: Vec<Conflict>,
    writer: &Writer<'_>,
) -> Vec<Conflict> {
    let Some(claimed) = claimed(shape, live, writer) else { return conflicts };
    conflicts.into_iter().filter(|conflict| !claimed.has(&conflict.path.0)).collect()
}

/// The fields that the annotation holds with the value that they have.
fn claimed(shape: Shape<'_>, live: &Value, writer: &Writer<'_>) -> Option<Set> {
    let text = annotation(live).filter(|text| !text.is_empty())?;
    typed::check(shape, live, Duplicates::Refused).ok()?;
    let last: Value = serde_json::from_str(text).ok()?;
    if last.get("apiVersion")?.as_str()? != writer.api_version {
        return None;
    }
    typed::check(shape, &last, Duplicates::Refused).ok()?;
    let comparison = typed::compare(shape, &last, live);
    let fields = typed::present(shape, &last);
    Some(fields.difference(&comparison.modified).difference(&comparison.added).difference(&comparison.removed))
}

fn annotation(object: &Value) -> Option<&str> {
    object.get("metadata")?.get("annotations")?.get(ANNOTATION)?.as_str()
}

/// Writes the configuration into the annotation, where there is one.
pub(super) fn refresh(result: &mut Value, config: &Value) {
    if annotation(result).is_none_or(str::is_empty) {
        return;
    }
    let mut config = config.clone();
    if let Some(annotations) = config.get_mut("metadata").and_then(|metadata| metadata.get_mut("annotations"))
        && let Some(annotations) = annotations.as_object_mut()
    {
        annotations.remove(ANNOTATION);
    }
    let text = format!("{}\n", value::json(&config));
    let Some(annotations) = result["metadata"]["annotations"].as_object_mut() else { return };
    annotations.insert(ANNOTATION.to_owned(), json!(text));
    let size = |(name, value): (&String, &Value)| name.len() + value.as_str().map_or(0, str::len);
    if annotations.iter().map(size).sum::<usize>() > LARGEST_ANNOTATIONS {
        annotations.remove(ANNOTATION);
    }
}
