//! Several futures at once, without tasks that could outlive the case.

use std::future::{Future, poll_fn};
use std::pin::Pin;
use std::task::Poll;

/// A future and, once it is there, its output.
type Running<C, T> = (Pin<Box<C>>, Option<T>);

/// All futures at once, their outputs in order.
pub(in crate::hypervisor::kit) async fn together<C: Future>(futures: Vec<C>) -> Vec<C::Output> {
    let mut running: Vec<Running<C, C::Output>> = futures.into_iter().map(|future| (Box::pin(future), None)).collect();
    poll_fn(|context| {
        for (future, output) in running.iter_mut().filter(|(_, output)| output.is_none()) {
            if let Poll::Ready(ready) = future.as_mut().poll(context) {
                *output = Some(ready);
            }
        }
        if running.iter().all(|(_, output)| output.is_some()) { Poll::Ready(()) } else { Poll::Pending }
    })
    .await;
    running.into_iter().filter_map(|(_, output)| output).collect()
}
