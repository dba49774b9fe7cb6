//! What the HTTP layer refuses, and what it passes on.

use bytes::Bytes;
use http::{HeaderMap, Method, header};

use super::form::{self, Fields};
use super::multipart::{self, Upload};
use super::reply::Reply;
use crate::proxmox::schema::Given;

/// A request that made sense so far.
#[derive(Debug)]
pub(crate) struct Request {
    pub(crate) verb: String,
    /// Below `/api2/json`.
    pub(crate) path: String,
    pub(crate) fields: Fields,
    pub(crate) headers: HeaderMap,
    pub(crate) upload: Option<Upload>,
}

const ROOT: &str = "/api2/json";

impl Request {
    /// Reads a request; `limit` bounds its body.
    pub(crate) fn read(request: &http::Request<Bytes>, limit: usize) -> Result<Self, Reply> {
        let verb = request.method().as_str().to_owned();
        if ![Method::GET, Method::POST, Method::PUT, Method::DELETE].contains(request.method()) {
            return Err(Reply::bare(501, format!("method '{verb}' not available")));
        }
        if request.headers().contains_key(header::TRANSFER_ENCODING) {
            return Err(Reply::bare(501, "chunked transfer encoding not supported"));
        }
        let whole = request.uri().path();
        let Some(path) = whole.strip_prefix(ROOT) else {
            return Err(Reply::bare(501, format!("no such uri '{whole}'")));
        };
        let path = percent_encoding::percent_decode_str(path).decode_utf8_lossy().into_owned();
        let content = request.headers().get(header::CONTENT_TYPE).and_then(|value| value.to_str().ok());
        let boundary = content.and_then(multipart::boundary);
        let body = request.body();
        let takes_body = *request.method() == Method::POST || *request.method() == Method::PUT;
        if !takes_body && !body.is_empty() {
            return Err(Reply::bare(501, format!("Unexpected content for method '{verb}'")));
        }
        let mut upload = None;
        let mut fields = match (boundary, content) {
            (Some(boundary), _) if path.ends_with("/upload") => {
                let parsed = multipart::parse(body, &boundary).map_err(|text| Reply::bare(500, text))?;
                let (mut fields, file) = parsed;
                if let Some(file) = &file {
                    fields.insert("filename".to_owned(), Given::One(file.name.clone()));
                }
                upload = file;
                fields
            }
            _ if body.len() > limit => return Err(Reply::bare(501, "for data too large")),
            (_, content) => fields_of(content, body)?,
        };
        // A parameter in the query wins over one of the same name in the body.
        fields.extend(form::decode(request.uri().query().unwrap_or_default()));
        Ok(Self { verb, path, fields, headers: request.headers().clone(), upload })
    }

    /// Adds what the path binds; a parameter with another value is a contradiction.
    pub(crate) fn bind(&mut self, bound: &std::collections::BTreeMap<String, String>) -> Vec<String> {
        let mut conflicts = Vec::new();
        for (name, value) in bound {
            let given = Given::One(value.clone());
            if self.fields.get(name).is_some_and(|other| *other != given) {
                conflicts.push(name.clone());
            }
            self.fields.insert(name.clone(), given);
        }
        conflicts
    }

    /// A header's text.
    pub(crate) fn header(&self, name: impl header::AsHeaderName) -> Option<&str> {
        self.headers.get(name)?.to_str().ok()
    }
}

fn fields_of(content: Option<&str>, body: &[u8]) -> Result<Fields, Reply> {
    let kind = content.map(|content| content.split(';').next().unwrap_or_default().trim().to_ascii_lowercase());
    match kind.as_deref() {
        None | Some("" | "application/x-www-form-urlencoded") => Ok(form::decode(&String::from_utf8_lossy(body))),
        Some("application/json") if body.is_empty() => Ok(Fields::new()),
        Some("application/json") => {
            form::decode_json(body).map_err(|text| Reply::failed(&crate::proxmox::failure::Failure::died(text)))
        }
        Some(kind) => Err(Reply::bare(506, format!("upload 'Content-Type '{kind}' not implemented"))),
    }
}
