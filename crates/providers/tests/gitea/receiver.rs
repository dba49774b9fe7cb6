//! Where the server's deliveries arrive.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use axum::Router;
use axum::extract::State;
use bytes::Bytes;
use http::HeaderMap;
use providers::platform::kit::Delivery;

use crate::ground::until;

/// After this long without another delivery nothing is on its way: they come within 0.3 s.
const QUIET: Duration = Duration::from_millis(700);

type Deliveries = Arc<Mutex<Vec<Delivery>>>;

/// A server on loopback that keeps what it is sent; gone with the test's runtime.
pub(crate) struct Receiver {
    url: String,
    arrived: Deliveries,
}

impl Receiver {
    #[expect(clippy::disallowed_methods, reason = "the task ends with the test's runtime")]
    pub(crate) async fn start() -> Self {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.expect("a free port");
        let url = format!("http://{}/hook", listener.local_addr().expect("it listens"));
        let arrived = Deliveries::default();
        let keep = async |State(arrived): State<Deliveries>, headers: HeaderMap, body: Bytes| {
            lock(&arrived).push(Delivery { headers, body });
        };
        let router = Router::new().fallback(keep).with_state(Arc::clone(&arrived));
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { url, arrived }
    }

    pub(crate) fn url(&self) -> &str {
        &self.url
    }

    /// What arrived since the last call: at least `least`, and all that was on its way.
    pub(crate) async fn deliveries(&self, least: usize) -> Vec<Delivery> {
        until("the deliveries arrive", || lock(&self.arrived).len() >= least).await;
        loop {
            let before = lock(&self.arrived).len();
            tokio::time::sleep(QUIET).await;
            if lock(&self.arrived).len() == before {
                return std::mem::take(&mut *lock(&self.arrived));
            }
        }
    }
}

fn lock(deliveries: &Deliveries) -> MutexGuard<'_, Vec<Delivery>> {
    deliveries.lock().unwrap_or_else(PoisonError::into_inner)
}
