//! Whose token is this?

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::{Review, Setting, described, metadata};
use crate::failure::Failure;

// No Debug: it holds a token.
#[derive(Default, Serialize, Deserialize)]
#[serde(default)]
struct Spec {
    #[serde(skip_serializing_if = "String::is_empty")]
    token: String,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    audiences: Vec<String>,
}

pub(super) fn answer(review: Review, body: &Value, setting: &Setting<'_>) -> Result<Value, Failure> {
    let spec: Spec = review.read(body, "spec")?;
    if spec.token.is_empty() {
        return Err(Failure::bad_request("token is required for TokenReview in authentication"));
    }
    let own = setting.authenticator.audiences();
    let audiences = if spec.audiences.is_empty() { own } else { &spec.audiences };
    // As a header, with all that headers do to it: the real server does so too.
    let header = format!("Bearer {}", spec.token);
    let status = match setting.authenticator.examine(&header, audiences, setting.now, setting.accounts) {
        Ok(known) => {
            json!({"authenticated": true, "user": described(&known.user), "audiences": known.audiences})
        }
        Err(why) => json!({"user": {}, "error": why}),
    };
    Ok(json!({
        "kind": review.kind(), "apiVersion": review.api_version(), "metadata": metadata::of(body),
        "spec": spec, "status": status,
    }))
}
