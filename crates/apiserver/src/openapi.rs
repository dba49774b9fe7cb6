//! `OpenAPI` v3: an index of documents, and a document per group and version with the shapes of its kinds and the
//! paths to them. `kubectl explain` reads the shapes; `apply` and `diff` look for the parameters of `patch`.
//!
//! kubectl asks for `OpenAPI` v2 only about kinds that v3 does not know. So v2 knows none.

mod paths;
mod schemas;

use std::collections::BTreeSet;

use bytes::Bytes;
use http::StatusCode;
use serde_json::{Map, Value, json};
use sha2::{Digest, Sha256};

use crate::answer::{Answer, Content};
use crate::failure::Failure;
use crate::kind::{Kind, Nature};
use crate::served::Kinds;

/// How `OpenAPI` v2 is called in protobuf; clients ask for it with an `@` that no media type may have.
const V2: &str = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf";

/// Answers a request below `/openapi`; what leads nowhere is refused.
pub(crate) fn answer(kinds: &Kinds, path: &[&str], accept: &str) -> Result<Answer, Failure> {
    let value = match path {
        ["v2"] if accept.replace('@', ".").contains(V2) => return Ok(nothing_in_v2()),
        ["v2"] => json!({ "swagger": "2.0", "info": { "title": "Kubernetes", "version": "unversioned" }, "paths": {} }),
        ["v3"] => index(kinds),
        ["v3", "api", version] => document(kinds, "", version).ok_or_else(Failure::no_such_path)?,
        ["v3", "apis", group, version] => document(kinds, group, version).ok_or_else(Failure::no_such_path)?,
        _ => return Err(Failure::no_such_path()),
    };
    Ok(Answer::json(StatusCode::OK, &value))
}

/// A document without content, in the only form that kubectl takes it.
fn nothing_in_v2() -> Answer {
    // Field 1 is the text "2.0", field 2 a message of which field 1 is the title and field 2 the version.
    const DOCUMENT: &[u8] = b"\x0a\x032.0\x12\x19\x0a\x0aKubernetes\x12\x0bunversioned";
    Answer {
        code: StatusCode::OK,
        body: Content::Whole(Bytes::from_static(DOCUMENT)),
        warnings: Vec::new(),
        content_type: V2,
    }
}

/// Where the documents are. The hash lets clients keep what has not changed.
fn index(kinds: &Kinds) -> Value {
    let versions: BTreeSet<(&str, &str)> =
        kinds.all().map(|served| (served.kind.group.as_str(), served.kind.version.as_str())).collect();
    let entry = |(group, version): (&str, &str)| {
        let path = if group.is_empty() { format!("api/{version}") } else { format!("apis/{group}/{version}") };
        let text = document(kinds, group, version).unwrap_or_default().to_string();
        let hash: String = Sha256::digest(text).iter().fold(String::new(), |hash, byte| hash + &format!("{byte:02X}"));
        (path.clone(), json!({ "serverRelativeURL": format!("/openapi/v3/{path}?hash={hash}") }))
    };
    json!({ "paths": versions.into_iter().map(entry).collect::<Map<_, _>>() })
}

fn document(kinds: &Kinds, group: &str, version: &str) -> Option<Value> {
    let served: Vec<&Kind> = kinds
        .all()
        .map(|served| served.kind.as_ref())
        .filter(|kind| kind.group == group && kind.version == version)
        .collect();
    let custom = matches!(served.first()?.nature, Nature::Custom(_));
    let about = if custom {
        json!({ "title": "Kubernetes CRD Swagger", "version": "v0.1.0" })
    } else {
        json!({ "title": "Kubernetes", "version": "unversioned" })
    };
    Some(json!({
        "openapi": "3.0.0", "info": about, "paths": paths::of(&served),
        "components": { "schemas": schemas::of(&served) },
    }))
}

#[cfg(test)]
mod tests;
