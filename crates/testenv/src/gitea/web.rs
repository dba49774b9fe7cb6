//! One request over plain HTTP, each on a connection of its own: tests share a server, but not a runtime.

use std::collections::BTreeMap;

use anyhow::{Context, Result};
use http::{HeaderMap, Request, Response, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;

/// Sends a request and reads the whole answer, whatever its status.
pub(super) async fn send(request: Request<Bytes>) -> Result<Response<Bytes>> {
    let client: Client<HttpConnector, Full<Bytes>> = Client::builder(TokioExecutor::new()).build_http();
    let to = format!("{} {}", request.method(), request.uri());
    let response = client.request(request.map(Full::new)).await.with_context(|| to.clone())?;
    let (head, body) = response.into_parts();
    Ok(Response::from_parts(head, body.collect().await.context(to)?.to_bytes()))
}

/// Whether the server at `url` is ready.
pub(super) async fn is_healthy(url: &str) -> bool {
    let Ok(request) = Request::get(format!("{url}/api/healthz")).body(Bytes::new()) else { return false };
    send(request).await.is_ok_and(|answer| answer.status().is_success())
}

/// The cookies that an answer sets, as the next request sends them. A login sets its own twice: the last one counts.
pub(super) fn cookies(headers: &HeaderMap) -> String {
    let set = headers.get_all(header::SET_COOKIE).into_iter().filter_map(|value| value.to_str().ok());
    let pairs = set.filter_map(|cookie| cookie.split(';').next()?.split_once('='));
    let last: BTreeMap<_, _> = pairs.collect();
    last.into_iter().map(|(name, value)| format!("{name}={value}")).collect::<Vec<_>>().join("; ")
}
