//! The metrics endpoint, behind the cluster's own rights, with room for more pages beside it.
//!
//! ```text
//!   :8443  https  /metrics  bearer token ─▶ TokenReview ─▶ SubjectAccessReview (get /metrics) ─▶ page
//!                 others    the same for theirs ─▶ Annex
//! ```

mod access;
mod annex;
#[cfg(test)]
mod tests;

use std::net::SocketAddr;
use std::sync::Arc;

use axum::Router;
use axum::extract::{Request, State};
use axum::http::{HeaderMap, StatusCode, header};
use axum::middleware::{self, Next};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use chassis::Tasks;
use chassis::metrics::{CONTENT_TYPE, Metrics};
use chassis::serve::{Certificate, ServeError, listen};
use chassis::settings::MetricsEndpoint;

pub use access::{Access, Verdict};
pub use annex::Annex;

/// Serves `/metrics` until `tasks` stop, over https to callers that the cluster lets in unless told otherwise, and what is in
/// the annex beside it; returns the address unless switched off.
pub async fn serve_metrics(
    endpoint: &MetricsEndpoint,
    metrics: Metrics,
    annex: &Annex,
    tasks: &Tasks,
) -> Result<Option<SocketAddr>, ServeError> {
    let Some(mut listener) = listen("the metrics server", endpoint.bind).await? else { return Ok(None) };
    let page =
        |State(metrics): State<Metrics>| async move { ([(header::CONTENT_TYPE, CONTENT_TYPE)], metrics.render()) };
    let mut router = Router::new().route("/metrics", get(page)).with_state(metrics);
    if endpoint.secure {
        let certificate = match &endpoint.certificate {
            Some((chain, key)) => Certificate::from_files(chain, key).await?,
            None => Certificate::self_signed()?,
        };
        listener = listener.with_tls(certificate);
        router = router.layer(middleware::from_fn_with_state(annex.access(), guard));
    }
    let annex = annex.clone();
    let router = router.fallback(move |request| annex.answer(request));
    let address = listener.address();
    listener.serve("metrics server", router, tasks);
    Ok(Some(address))
}

/// Lets a request through if its token may `get` its path. No answer is no entry.
async fn guard(State(access): State<Arc<Access>>, request: Request, next: Next) -> Response {
    let verdict = match bearer(request.headers()) {
        Some(token) => access.check(token, request.uri().path()).await,
        None => Verdict::Unauthenticated,
    };
    let bearer = [(header::WWW_AUTHENTICATE, "Bearer")];
    match verdict {
        Verdict::Allowed => next.run(request).await,
        Verdict::Unauthenticated => (StatusCode::UNAUTHORIZED, bearer, "unknown or missing token\n").into_response(),
        Verdict::Forbidden => (StatusCode::FORBIDDEN, "the token's owner may not get this\n").into_response(),
        Verdict::Unknown => (StatusCode::SERVICE_UNAVAILABLE, "the Kubernetes API does not answer\n").into_response(),
    }
}

fn bearer(headers: &HeaderMap) -> Option<&str> {
    let (scheme, token) = headers.get(header::AUTHORIZATION)?.to_str().ok()?.split_once(' ')?;
    Some(token.trim()).filter(|token| scheme.eq_ignore_ascii_case("bearer") && !token.is_empty())
}
