//! Credentials: lent, renewed, refused, and what they lack.

use std::time::Duration;

use jiff::SignedDuration;
use providers::platform::kit::Bench as _;
use providers::platform::{Error, Health, Missing, Platform as _};
use rstest::rstest;
use sim::Clock;
use sim::github::{FaultKind, FaultRule, PERSONAL_TOKEN, Simulator};

use crate::world::{Caller, World, epoch, organization, platform, repository};

const LEND: &str = "POST /app/installations/{installation_id}/access_tokens";

fn refusals(sim: &Simulator) -> usize {
    sim.calls().iter().filter(|call| call.status == 401).count()
}

#[tokio::test(start_paused = true)]
async fn r5_1_a_lent_token_is_renewed_before_its_end() {
    let world = World::new(Caller::App, organization(), false);
    for _ in 0..24 {
        assert!(world.github.registrations(&world.marker()).await.unwrap().complete);
        tokio::time::sleep(Duration::from_mins(5)).await;
    }
    assert_eq!((world.sim.count(LEND), refusals(&world.sim)), (3, 0), "two hours: at 0, 50 and 100 minutes");
}

#[tokio::test(start_paused = true)]
async fn r5_1_callers_that_come_together_share_one_token() {
    let world = World::new(Caller::App, organization(), false);
    let slow = FaultRule { seconds: Some(2.0), times: Some(0), ..FaultRule::new(FaultKind::Slow) };
    world.fault(slow.on("POST", "/access_tokens"));
    let marker = world.marker();
    let ask = || world.github.registrations(&marker);
    let answers = tokio::join!(ask(), ask(), ask(), ask(), ask());
    let all = [answers.0, answers.1, answers.2, answers.3, answers.4];
    assert!(all.iter().all(Result::is_ok), "{all:?}");
    assert_eq!(world.sim.count(LEND), 1);
}

#[tokio::test(start_paused = true)]
async fn r5_1_a_lent_token_that_is_refused_is_renewed_at_once() {
    let world = World::new(Caller::App, organization(), false);
    world.github.registrations(&world.marker()).await.unwrap();
    let refused = FaultRule { status: Some(401), ..FaultRule::new(FaultKind::Answer) };
    world.fault(refused.on("GET", "/actions/runners"));
    assert!(world.github.registrations(&world.marker()).await.is_ok());
    assert_eq!((world.sim.count(LEND), refusals(&world.sim)), (2, 1));
}

#[tokio::test(start_paused = true)]
async fn a_lent_token_has_the_one_permission_that_it_is_for() {
    let world = World::new(Caller::App, organization(), false);
    world.sim.set_permission("actions", None);
    assert!(world.github.registrations(&world.marker()).await.is_ok(), "runners need no look at jobs");
    let error = world.github.poll(world.clock.now()).await.unwrap_err();
    assert!(matches!(error, Error::Permission { .. }), "{error}");
    assert!(error.to_string().contains("actions: read"), "{error}");
}

fn names(health: &Health) -> Vec<String> {
    let name = |missing: &Missing| match missing {
        Missing::Permission { name, .. } => name.clone(),
        Missing::Setting { field, .. } => (*field).to_owned(),
        Missing::Version { lacks, .. } => (*lacks).to_owned(),
    };
    health.missing.iter().map(name).collect()
}

#[tokio::test(start_paused = true)]
async fn a_permission_that_an_app_lacks_is_named() {
    let world = World::new(Caller::App, organization(), false);
    world.sim.set_permission("organization_self_hosted_runners", Some("read"));
    world.sim.set_permission("actions", None);
    let health = world.github.validate().await.unwrap();
    assert_eq!(names(&health), ["organization_self_hosted_runners: write", "actions: read"]);
    world.calm().await;
    world.sim.set_permission("actions", Some("read"));
    assert_eq!(names(&world.github.validate().await.unwrap()), [""; 0]);
    world.sim.suspend(true);
    assert_eq!(names(&world.github.validate().await.unwrap()), ["credentials.app.installationId"]);
    world.sim.uninstall();
    assert_eq!(names(&world.github.validate().await.unwrap()), ["credentials.app.installationId"]);
}

#[rstest]
#[case(organization(), "admin:org")]
#[case(repository(), "repo")]
#[tokio::test(start_paused = true)]
async fn a_scope_that_a_token_lacks_is_named(
    #[case] scope: providers::platform::github::Scope,
    #[case] expected: &str,
) {
    let world = World::new(Caller::Token, scope, false);
    world.sim.add_token(PERSONAL_TOKEN, "octocat", &["user"]);
    assert_eq!(names(&world.github.validate().await.unwrap()), [expected]);
    let order = providers::platform::Runner { name: "hf-5e3c1b6a-1".to_owned(), id: Some("1".to_owned()) };
    let hidden = world.github.state(&order).await;
    assert!(matches!(hidden, Err(Error::Permission { .. })), "what is hidden is not gone: {hidden:?}");
    let hidden = world.github.job(&world.nobody()).await;
    assert!(matches!(hidden, Err(Error::Permission { .. })), "neither is a job: {hidden:?}");
}

#[tokio::test(start_paused = true)]
async fn c6_13_clocks_may_be_ten_minutes_apart() {
    for minutes in -10..=10_i64 {
        let world = World::new(Caller::App, organization(), true);
        let skew = SignedDuration::from_mins(minutes);
        let clock = Clock::starting_at(epoch().saturating_add(skew).unwrap());
        let github = platform(&world.sim, Caller::App, organization(), true, clock, "https://github.com");
        let health = github.validate().await;
        assert!(health.as_ref().is_ok_and(|health| health.missing.is_empty()), "{minutes} min: {health:?}");
        assert!(github.recover(clock.now()).await.is_ok(), "{minutes} min");
        let seen = github.skew().unwrap();
        assert!((seen + skew).abs() <= SignedDuration::from_secs(2), "{minutes} min is seen as {seen:?}");
    }
}

#[tokio::test(start_paused = true)]
async fn r6_4_no_secret_is_in_what_people_read() {
    let world = World::new(Caller::App, organization(), true);
    let secrets = [PERSONAL_TOKEN.to_owned(), "PRIVATE KEY".to_owned(), "ghs_".to_owned(), "eyJ".to_owned()];
    let mut said = vec![format!("{:?}", world.github)];
    for status in [400, 401, 403, 404, 409, 418, 422, 429, 500, 503] {
        let rule = FaultRule { status: Some(status), times: Some(0), ..FaultRule::new(FaultKind::Answer) };
        world.fault(rule);
        said.push(format!("{:?}", world.github.validate().await));
        said.push(format!("{:?}", world.github.registrations(&world.marker()).await));
    }
    for text in said {
        assert!(!secrets.iter().any(|secret| text.contains(secret)), "{text}");
    }
}
