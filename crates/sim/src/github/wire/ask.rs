//! A request as the service reads it.

use std::collections::BTreeMap;

use bytes::Bytes;
use http::{HeaderMap, header};
use percent_encoding::percent_decode_str;
use serde_json::Value;

/// A request.
#[derive(Clone, Debug)]
pub(crate) struct Ask {
    pub(crate) verb: String,
    /// The path without the prefix of GitHub Enterprise Server.
    pub(crate) path: String,
    pub(crate) parts: Vec<String>,
    pub(crate) query: BTreeMap<String, String>,
    pub(crate) headers: HeaderMap,
    /// The body, if it is JSON or a form.
    pub(crate) body: Value,
    /// Whether there was a body that is not.
    pub(crate) garbled: bool,
}

impl Ask {
    pub(crate) fn read(request: &http::Request<Bytes>) -> Self {
        let whole = request.uri().path();
        let path = whole.strip_prefix("/api/v3").unwrap_or(whole).to_owned();
        let decoded = |text: &str| percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned();
        let parts = path.split('/').filter(|part| !part.is_empty()).map(decoded).collect();
        let pairs = request.uri().query().unwrap_or_default().split('&').filter(|pair| !pair.is_empty());
        let query = pairs
            .map(|pair| {
                let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
                (decoded(name), decoded(value))
            })
            .collect();
        let body = request.body();
        let form = request
            .headers()
            .get(header::CONTENT_TYPE)
            .is_some_and(|kind| kind.as_bytes().starts_with(b"application/x-www-form-urlencoded"));
        let parsed: Option<Value> = if form {
            let text = String::from_utf8_lossy(body).into_owned();
            let pairs = text.split('&').filter_map(|pair| pair.split_once('='));
            Some(pairs.map(|(name, value)| (decoded(name), Value::from(decoded(value)))).collect())
        } else {
            serde_json::from_slice(body).ok()
        };
        let garbled = parsed.is_none() && !body.is_empty();
        Self {
            verb: request.method().as_str().to_owned(),
            path,
            parts,
            query,
            headers: request.headers().clone(),
            body: parsed.unwrap_or_default(),
            garbled,
        }
    }

    /// A header's text.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }

    /// The token of a request, if it has one.
    pub(crate) fn bearer(&self) -> Option<&str> {
        let (scheme, token) = self.headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
        scheme.eq_ignore_ascii_case("bearer").then(|| token.trim())
    }
}
