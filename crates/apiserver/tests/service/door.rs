//! Bodies that come over the network: from whom, how long and how much.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use apiserver::access::{Authenticator, Signer};
use apiserver::{ApiServer, Options, User};
use bytes::Bytes;
use futures::stream;
use http::request::Builder;
use http::{Request, StatusCode};
use http_body::Frame;
use http_body_util::StreamBody;
use rstest::rstest;
use secrecy::SecretSlice;
use tokio::time::Instant;
use tower::ServiceExt;

use super::MAPS;

const TOKEN: &str = "hf-good";
const PART: usize = 1 << 20;

/// Somebody who sends a part of a body whenever it is wanted, after a while.
#[derive(Clone)]
struct Sender {
    parts: usize,
    size: usize,
    takes: Duration,
    sent: Arc<AtomicUsize>,
}

impl Sender {
    fn of(parts: usize, size: usize, takes: Duration) -> Self {
        Self { parts, size, takes, sent: Arc::default() }
    }

    fn sent(&self) -> usize {
        self.sent.load(Ordering::Relaxed)
    }

    /// Asks for an object to be made; the status of the answer.
    async fn post(&self, token: Option<&str>) -> StatusCode {
        self.send(Request::post(MAPS), token).await
    }

    /// Sends its body with any request; the status of the answer.
    async fn send(&self, request: Builder, token: Option<&str>) -> StatusCode {
        let parts = stream::unfold(self.clone(), async |sender| {
            if sender.sent.fetch_add(1, Ordering::Relaxed) == sender.parts {
                return None;
            }
            tokio::time::sleep(sender.takes).await;
            let part = Bytes::from(vec![b' '; sender.size]);
            Some((Ok::<_, Infallible>(Frame::data(part)), sender))
        });
        let mut request = request.header("content-type", "application/json");
        if let Some(token) = token {
            request = request.header("authorization", format!("Bearer {token}"));
        }
        let request = request.body(StreamBody::new(parts)).unwrap();
        let door = server().front_door();
        // Longer than anybody waits, so that who does not stop waiting is told apart.
        let answer = tokio::time::timeout(Duration::from_hours(1), door.oneshot(request)).await;
        answer.expect("no answer within an hour").unwrap().status()
    }
}

fn server() -> ApiServer {
    let signer = Signer::new("https://kubernetes.default.svc", SecretSlice::from(vec![7; 32]));
    let authenticator = Authenticator::new(signer, [(TOKEN.into(), User::admin())]);
    ApiServer::new(Options { authenticator, ..super::options() }).unwrap()
}

#[rstest]
#[case::nobody(None, 403)]
#[case::somebody_unknown(Some("hf-bad"), 401)]
#[tokio::test(start_paused = true)]
async fn the_body_of_who_may_not_ask_is_not_read(#[case] token: Option<&str>, #[case] status: u16) {
    let sender = Sender::of(1, 1, Duration::ZERO);
    assert_eq!(sender.post(token).await, status);
    assert_eq!(sender.sent(), 0);
}

/// Everybody may ask for these, so that a stranger had 3 MiB kept for half a minute with each.
#[rstest]
#[case::a_path("/version", None)]
#[case::another_path("/livez", None)]
#[case::a_list(MAPS, Some(TOKEN))]
#[tokio::test(start_paused = true)]
async fn the_body_of_a_question_to_which_none_belongs_is_not_read(#[case] path: &str, #[case] token: Option<&str>) {
    let sender = Sender::of(usize::MAX, PART, Duration::from_secs(1));
    assert_eq!(sender.send(Request::get(path), token).await, 200);
    assert_eq!(sender.sent(), 0);
    // What can only be read is refused, whatever comes with it.
    assert_eq!(sender.send(Request::post("/version"), None).await, 403);
    assert_eq!(sender.sent(), 0);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_never_ends_is_waited_for_half_a_minute() {
    let begun = Instant::now();
    let sender = Sender::of(usize::MAX, 1, Duration::from_secs(1));
    assert_eq!(sender.post(Some(TOKEN)).await, 408);
    assert_eq!(begun.elapsed().as_secs(), 30);
}

#[tokio::test(start_paused = true)]
async fn a_body_that_is_too_large_is_not_read_to_its_end() {
    let sender = Sender::of(100, PART, Duration::ZERO);
    assert_eq!(sender.post(Some(TOKEN)).await, 413);
    assert_eq!(sender.sent(), 4);
    let largest = Sender::of(3, PART, Duration::ZERO);
    assert_eq!(largest.post(Some(TOKEN)).await, 400, "blanks are no object, and no more than may come");
}
