//! Finds out what our runners' names begin with.

use std::time::Duration;

use providers::platform::Marker;

use super::{Outposts, lock};
use crate::site::Ownership;

/// Whoever asks has to wait this long before it is looked for again.
const PAUSE: Duration = Duration::from_secs(5);

/// Looks for it whenever somebody asks for it and it is not known.
pub(super) async fn find(outposts: Outposts, home: String) {
    let stopping = outposts.0.parts.tasks.stopping();
    let found = async {
        loop {
            let since = outposts.0.leadership.reopened();
            match Ownership::operator(&outposts.0.client, &home).await {
                Ok(Some(operator)) => {
                    *lock(&outposts.0.marker) = Some((since, Marker::of(operator.as_str())));
                }
                Ok(None) => {}
                Err(fault) => chassis::telemetry::report(&fault),
            }
            tokio::time::sleep(PAUSE).await;
            outposts.0.unmarked.notified().await;
            while outposts.marked().is_some() {
                outposts.0.unmarked.notified().await;
            }
        }
    };
    tokio::select! {
        biased;
        () = stopping => {}
        () = found => {}
    }
}
