//! One request and its answer on a connection.

use std::pin::pin;
use std::time::Duration;

use http::header::{CONTENT_TYPE, HOST, RETRY_AFTER};
use http::{HeaderMap, Method, Request};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use protocol::LONGEST_BODY;
use tokio::net::TcpStream;
use tokio_rustls::client::TlsStream;

use crate::{Answer, LineError};

/// Sends a body and reads the whole answer; follows nothing.
pub(super) async fn post(
    stream: TlsStream<TcpStream>,
    authority: &str,
    path: &str,
    body: Vec<u8>,
) -> Result<Answer, LineError> {
    let broken = |error: hyper::Error| LineError::Unreachable(error.to_string());
    let request = Request::builder()
        .method(Method::POST)
        .uri(path)
        .header(HOST, authority)
        .header(CONTENT_TYPE, "application/json")
        .body(Full::new(Bytes::from(body)))
        .map_err(|error| LineError::Unreachable(error.to_string()))?;
    let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await.map_err(broken)?;
    let mut exchange = pin!(async move {
        let (head, body) = sender.send_request(request).await.map_err(broken)?.into_parts();
        let cut =
            |error: Box<dyn std::error::Error + Send + Sync>| LineError::Unreachable(format!("its answer: {error}"));
        let body = Limited::new(body, LONGEST_BODY).collect().await.map_err(cut)?.to_bytes();
        Ok(Answer { status: head.status.as_u16(), retry_after: retry_after(&head.headers), body: body.into() })
    });
    tokio::select! {
        answer = &mut exchange => answer,
        // The service may close as soon as it has answered; what it said is still there.
        _ = connection => exchange.await,
    }
}

/// Seconds only: a date would be by a clock that is not ours.
fn retry_after(headers: &HeaderMap) -> Option<Duration> {
    headers.get(RETRY_AFTER)?.to_str().ok()?.trim().parse().ok().map(Duration::from_secs)
}
