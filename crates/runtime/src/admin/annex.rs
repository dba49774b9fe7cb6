//! More pages of a process, on the listener that its metrics have.

use std::sync::{Arc, OnceLock};

use axum::Router;
use axum::extract::Request;
use axum::http::StatusCode;
use axum::middleware::from_fn_with_state;
use axum::response::Response;
use tower::ServiceExt;

use super::{Access, guard};

/// Where a process can put more pages once it has something to show; clones are the same place.
///
/// Whatever is not open asks who comes, whether the listener speaks TLS or not: figures may be for everybody on a trusted
/// network, names of jobs and machines are not.
#[derive(Clone)]
pub struct Annex(Arc<Rooms>);

struct Rooms {
    access: Arc<Access>,
    bare: Router,
    furnished: OnceLock<Router>,
}

impl Annex {
    /// An empty one, whose callers are checked through `client`.
    pub fn new(client: kube::Client) -> Self {
        let access = Arc::new(Access::new(client));
        let bare = guarded(Router::new(), &access);
        Self(Arc::new(Rooms { access, bare, furnished: OnceLock::new() }))
    }

    /// Puts pages in: `open` ones, which hold nothing that is anybody's secret, and `closed` ones, which need a token whose
    /// owner may `get` their path. Only the first call counts.
    pub fn furnish(&self, open: Router, closed: Router) {
        let Rooms { access, furnished, .. } = &*self.0;
        let _ = furnished.set(open.merge(guarded(closed, access)));
    }

    pub(super) fn access(&self) -> Arc<Access> {
        Arc::clone(&self.0.access)
    }

    pub(super) async fn answer(self, request: Request) -> Response {
        let Rooms { bare, furnished, .. } = &*self.0;
        let pages = furnished.get().unwrap_or(bare).clone();
        match pages.oneshot(request).await {
            Ok(answer) => answer,
            Err(never) => match never {},
        }
    }
}

/// Strangers do not even learn which pages there are.
fn guarded(pages: Router, access: &Arc<Access>) -> Router {
    pages.fallback(|| async { StatusCode::NOT_FOUND }).layer(from_fn_with_state(Arc::clone(access), guard))
}
