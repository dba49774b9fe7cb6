//! How machines become runners when the platform does not answer, answers twice, or wants to be left alone.

use serde_json::{Value, json};
use sim::github::{FaultKind, FaultRule, JobSpec, REPOSITORY};
use sim::world::World;

use crate::town::{LABEL, Town};

const MINT: &str = "generate-jitconfig";

/// §6.12: the answer is lost, and what it made is found under its name and removed.
#[test]
fn a_lost_answer_to_a_mint_leaves_no_runner_behind() {
    World::run(1, async |world| {
        let town = Town::new(&world, "poll").await;
        town.pool("linux", 2, |_| {}).await;
        town.github.set_faults(vec![FaultRule::new(FaultKind::Lost).on("POST", MINT)]);
        let jobs = town.queue(1, 10.0);
        assert!(town.until(300, async |town| town.running(&jobs) == 1).await, "{:?}", town.claims().await);
        let runners: Vec<String> = town.github.runners().into_iter().map(|runner| runner.name).collect();
        assert_eq!(runners.len(), 1, "{runners:?}");
        assert!(runners[0].ends_with("-2"), "{runners:?}");
        assert!(town.until(300, async |town| town.are_done(&jobs)).await);
        town.cleared(300).await;
    });
}

/// §6.10: the machine waits with what it has, and its job says why.
#[test]
fn a_limit_that_is_used_up_is_waited_for() {
    World::run(2, async |world| {
        let town = Town::new(&world, "poll").await;
        town.pool("linux", 2, |_| {}).await;
        let rule = FaultRule { seconds: Some(90.0), status: Some(429), ..FaultRule::new(FaultKind::SecondaryLimit) };
        town.github.set_faults(vec![rule.on("POST", MINT)]);
        let jobs = town.queue(1, 10.0);
        assert!(town.until(600, async |town| town.are_done(&jobs)).await, "{:?}", town.claims().await);
        town.cleared(300).await;
        assert_eq!(crate::bounds::hold(&world.history(), 2, 1), 1, "one machine is enough");
    });
}

/// Found with a real Gitea: the machine asked again and again, was told "not now" each time, and stayed for minutes.
#[test]
fn a_machine_whose_job_is_cancelled_while_it_is_registered_goes_soon() {
    World::run(4, async |world| {
        let town = Town::new(&world, "poll").await;
        town.pool("linux", 2, |pool| pool["spec"]["scaling"]["scaleDownDelay"] = json!("1s")).await;
        let slow = FaultRule { seconds: Some(25.0), ..FaultRule::new(FaultKind::Slow) };
        town.github.set_faults(vec![slow.on("POST", MINT)]);
        let labels = ["self-hosted", LABEL].map(str::to_owned).to_vec();
        let job = JobSpec { labels, seconds: 10.0, ..JobSpec::default() };
        let (run, _) = town.github.queue(REPOSITORY, &[job]).unwrap();
        let named = async |town: &Town| town.claims().await.iter().any(|claim| claim["status"]["runner"].is_object());
        assert!(town.until(300, named).await, "{:?}", town.claims().await);
        town.github.cancel(run);
        let asked = async |town: &Town| town.claims().await.iter().any(|claim| claim["status"]["drain"].is_object());
        assert!(town.until(20, asked).await, "{:?}", town.claims().await);
        // A minute for what may still be registered by a request on its way; an agent out of reach is given two more.
        town.cleared(100).await;
    });
}

#[test]
fn p15_no_object_holds_a_runners_credential() {
    World::run(3, async |world| {
        let town = Town::new(&world, "session").await;
        town.pool("linux", 2, |_| {}).await;
        let jobs = town.queue(2, 20.0);
        assert!(town.until(300, async |town| town.are_done(&jobs)).await);
        let credentials = town.yard.guests.credentials();
        assert_eq!(credentials.len(), 2);
        for commit in &world.history().commits {
            let text = commit.after.as_deref().map(Value::to_string).unwrap_or_default();
            assert!(credentials.iter().all(|credential| !text.contains(credential)), "{:?}", commit.object);
        }
        for credential in &credentials {
            assert!(town.pve.search(credential).is_empty());
        }
    });
}
