//! Keeps one source connected: reads its Secrets, makes a client of them, and asks the platform how it is.
//!
//! Secrets are read on every replica, every few minutes and at once when a credential is refused, when the source changes
//! or where a change of theirs is heard of. Probes are the leader's.

use std::sync::Arc;
use std::time::Duration;

use api::registry::annotation::HOLD;
use fleet::source;
use kube::ResourceExt;
use providers::platform::Error;
use reconcile::Backoff;
use runtime::Key;
use tokio::time::Instant;

use super::link::Platform;
use super::login::{self, Complete, Login};
use super::{Link, Outposts, Post, State, lock, report};
use crate::each::Life;

/// How often Secrets are read and the platform is probed.
pub(crate) const CHECKS: Duration = Duration::from_mins(5);

/// However often somebody asks for it, Secrets are not read more often.
const DAMPING: Duration = Duration::from_secs(5);

/// What went wrong is tried again.
const BACKOFF: Backoff = Backoff { initial: DAMPING, factor: 2.0, max: CHECKS, jitter: 0.2 };

/// Keeps a source connected until it is gone or the process ends.
pub(super) async fn run(outposts: Outposts, key: Key, life: Life) {
    let post = outposts.post(&key);
    // What an earlier source of this name was is nothing to this one.
    *lock(&post.state) = State::default();
    let stopping = outposts.0.parts.tasks.stopping();
    tokio::select! {
        biased;
        () = stopping => {}
        () = life.over() => {}
        () = keep(&outposts, &key, &post) => {}
    }
    outposts.forget(&key);
}

async fn keep(outposts: &Outposts, key: &Key, post: &Arc<Post>) {
    loop {
        // The keeper of an earlier source of this name may have taken it away in the meantime.
        lock(&outposts.0.posts).entry(key.clone()).or_insert_with(|| Arc::clone(post));
        let began = Instant::now();
        let leads = outposts.0.leadership.is_held();
        let failures = look(outposts, key, post, leads).await;
        let pause = if failures == 0 { CHECKS } else { BACKOFF.delay(failures, key) };
        tokio::select! {
            biased;
            () = post.poke.notified() => tokio::time::sleep_until(began + DAMPING).await,
            // A new leader knows nothing of the platform yet.
            () = outposts.0.leadership.acquired(), if !leads => {}
            () = tokio::time::sleep(pause) => {}
        }
    }
}

/// One look at Secrets and, if we lead, at the platform; how often in a row it has failed.
async fn look(outposts: &Outposts, key: &Key, post: &Post, leads: bool) -> u32 {
    // A source on hold is somebody else's still.
    let source = outposts.0.sources.get(key).filter(|source| !source.annotations().contains_key(HOLD));
    let Some(source) = source else { return 0 };
    let login = match login::read(&outposts.0.client, &source).await {
        Ok(login) => login,
        Err(fault) => {
            chassis::telemetry::report(&fault);
            return lock(&post.state).stumbled();
        }
    };
    let seen = login.seen();
    if let Login::Complete(complete) = login {
        connect(outposts, key, post, &source, *complete);
    }
    let changed = {
        let mut state = lock(&post.state);
        let changed = state.login.as_ref() != Some(&seen);
        (state.login, state.stumbles) = (Some(seen), 0);
        changed
    };
    if changed {
        outposts.0.bell.ring(key);
    }
    post.news.change(|count| *count += 1);
    if leads { probe(outposts, key, post).await } else { 0 }
}

/// Makes a client, unless there is one of the same settings.
fn connect(outposts: &Outposts, key: &Key, post: &Post, source: &api::RunnerSource, complete: Complete) {
    let same = lock(&post.state).settings.as_ref() == Some(&complete.settings);
    if same {
        return;
    }
    let settings = complete.settings.clone();
    let client = Platform::connect(source, &complete, &outposts.0.dial, outposts.0.parts.clock);
    let mut state = lock(&post.state);
    state.settings = Some(settings);
    state.probe = source::Probe::default();
    match client {
        Ok(platform) => {
            let mode = source::demand_mode(source);
            state.link = Some(Link { platform: Arc::new(platform), mode, hook: complete.hook.into() });
            tracing::info!(source = %key, "connected with new settings");
        }
        Err(error) => state.probe.trouble = Some(report::trouble(&error, None, outposts.0.parts.clock.now())),
    }
}

/// Asks the platform how it is; how often in a row it did not say.
async fn probe(outposts: &Outposts, key: &Key, post: &Post) -> u32 {
    let Some(Link { platform, .. }) = lock(&post.state).link.clone() else { return 0 };
    let answer = platform.validate().await;
    let now = outposts.0.parts.clock.now();
    outposts.0.figures.probed(key, answer.is_ok(), &platform.quotas());
    if let Some(skew) = platform.skew() {
        tracing::warn!(source = %key, %skew, "the platform's clock and ours differ");
    }
    let (changed, failures) = {
        let mut state = lock(&post.state);
        let before = state.probe.clone();
        match &answer {
            Ok(health) => state.probe = source::Probe { report: Some(report::of(health)), trouble: None },
            Err(error) => state.probe.trouble = Some(report::trouble(error, before.trouble.as_ref(), now)),
        }
        let failures = state.probe.trouble.as_ref().map_or(0, |trouble| trouble.failures);
        (state.probe != before, failures)
    };
    if let Err(error @ Error::Auth { .. }) = &answer {
        tracing::warn!(source = %key, %error, "the credential is refused; its Secret is read again");
    }
    if changed {
        outposts.0.bell.ring(key);
    }
    failures
}
