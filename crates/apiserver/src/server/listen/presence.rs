//! Whether anything is under way on a connection: from the head of a request to the end of its answer, however long that is.

use std::convert::Infallible;
use std::future::Future;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use bytes::Bytes;
use http::Response;
use http_body::{Body as HttpBody, Frame, SizeHint};
use tokio::sync::watch;
use tokio::time::timeout;

use crate::answer::Body;

/// Counts what is under way.
pub(super) struct Register(watch::Sender<usize>);

/// Sees it come and go.
pub(super) struct Watcher(watch::Receiver<usize>);

/// One request that is under way, until it is dropped.
struct Stay(watch::Sender<usize>);

/// The body of an answer that is under way.
pub(super) struct Attended {
    body: Body,
    _stay: Stay,
}

/// A register of one connection, and who watches it.
pub(super) fn register() -> (Register, Watcher) {
    let (register, watcher) = watch::channel(0);
    (Register(register), Watcher(watcher))
}

impl Register {
    /// The answer, under way from now on.
    pub(super) fn attend<A>(&self, answer: A) -> impl Future<Output = Result<Response<Attended>, Infallible>> + use<A>
    where
        A: Future<Output = Result<Response<Body>, Infallible>>,
    {
        self.0.send_modify(|open| *open += 1);
        let stay = Stay(self.0.clone());
        async move { Ok(answer.await?.map(|body| Attended { body, _stay: stay })) }
    }
}

impl Drop for Stay {
    fn drop(&mut self) {
        self.0.send_modify(|open| *open -= 1);
    }
}

impl Watcher {
    /// Returns when nothing has been under way for so long.
    pub(super) async fn idle_for(mut self, patience: Duration) {
        loop {
            let busy = *self.0.borrow_and_update() > 0;
            let change = self.0.changed();
            let changed = if busy { Ok(change.await) } else { timeout(patience, change).await };
            if !matches!(changed, Ok(Ok(()))) {
                return;
            }
        }
    }
}

impl HttpBody for Attended {
    type Data = Bytes;
    type Error = Infallible;

    fn poll_frame(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Result<Frame<Bytes>, Infallible>>> {
        Pin::new(&mut self.body).poll_frame(cx)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}
