//! Who looks at a job only when the plan said so misses nothing.

use std::time::Duration;

use super::*;

/// What a machine of the job may say of itself, at every stage of its life.
fn any_claim() -> impl Strategy<Value = Value> {
    let since = 0_i64..40;
    let said = prop::sample::select(vec![
        ("Provisioning", "NoNodeFits"),
        ("Provisioning", "StorageBusy"),
        ("Ready", "RateLimited"),
        ("Ready", "UntrustedJobWaits"),
        ("Bootstrapped", "Attesting"),
    ]);
    let phases =
        ["Pending", "Provisioning", "Bootstrapping", "Ready", "Busy", "Draining", "Terminating", "Failed"].to_vec();
    (prop::sample::select(phases), since, prop::option::of(said)).prop_map(|(phase, since, said)| {
        let mut status = json!({ "phase": phase });
        if phase != "Pending" {
            status["allocation"] = allocation();
        }
        if !matches!(phase, "Pending" | "Provisioning") {
            status["bootstrap"] = record(if phase == "Bootstrapping" { "Pending" } else { "Bound" });
            status["firstRunningTime"] = json!(at(since).to_string());
        }
        if phase == "Ready" {
            status["readyTime"] = json!(at(since).to_string());
        }
        if let Some((about, reason)) = said {
            status["conditions"] = json!([{
                "type": about, "status": "False", "reason": reason, "message": "as the claim says",
                "lastTransitionTime": at(since).to_string(),
            }]);
        }
        status
    })
}

fn any_asked() -> impl Strategy<Value = Asked> {
    let answer = (any::<Option<bool>>(), any::<Option<bool>>());
    prop_oneof![
        Just(Asked::Nothing),
        answer.prop_map(|(public_repository, fork)| Asked::Told { public_repository, fork }),
        (1_u64..300).prop_map(|pause| Asked::Silent {
            why: "its limit is used up".to_owned(),
            pause: Duration::from_secs(pause),
        }),
    ]
}

/// What the job itself says: how far it is, how many machines were made for it and when the last of them, and its end.
fn any_status() -> impl Strategy<Value = RunnerJobStatus> {
    let states = [None, Some(JobState::Queued), Some(JobState::Running), Some(JobState::Completed)].to_vec();
    (prop::sample::select(states), 0_u32..6, 0_i64..60).prop_map(|(state, made, second)| RunnerJobStatus {
        state,
        claims_made: (made > 0).then_some(made),
        last_claim_at: (made > 0).then(|| Moment::from(at(second))),
        ended_at: (state == Some(JobState::Completed)).then(|| Moment::from(at(second))),
        ..RunnerJobStatus::default()
    })
}

/// What the pool says of itself, and whether it has machines that are ready.
fn any_pool() -> impl Strategy<Value = (Option<Reason>, u32)> {
    let reasons = [None, Some(Reason::AtMaximum), Some(Reason::MachinesFailing), Some(Reason::Steady)].to_vec();
    (prop::sample::select(reasons), 0_u32..2)
}

fn whole(
    status: RunnerJobStatus,
    (word, ready): (Option<Reason>, u32),
    claim_says: Option<Value>,
    asked: Asked,
) -> Observed {
    let made = status.claims_made;
    let mut observed = waits(status);
    if let Some(word) = word {
        pool_says(&mut observed, word == Reason::Steady, word, "as the pool says");
    }
    change_pool(&mut observed, |pool| pool.status.get_or_insert_default().ready_replicas = ready);
    if asked != Asked::Nothing {
        observed.tells = Tells { public_repositories: true, forks: true };
    }
    observed.asked = asked;
    observed.claims = claim_says.filter(|_| made.is_some()).map(claim).into_iter().collect();
    for own in &mut observed.claims {
        Arc::make_mut(own).metadata.name = made.map(|made| crate::pool::claim_name("job-1", made));
    }
    observed
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    /// A pool that did not say when to look again left a job waiting for ever; a job that does not would tell an old reason.
    #[test]
    fn a_job_has_nothing_to_do_before_it_said_that_it_would_look_again(
        status in any_status(), pool in any_pool(), machine in prop::option::of(any_claim()), asked in any_asked(),
        start in 0_i64..90,
    ) {
        let observed = whole(status, pool, machine, asked);
        let first = decide(&observed, start);
        let observed = after(observed, start);
        let due = match first.next {
            Next::OnChange => i64::MAX,
            Next::After(wait, _) => start + i64::try_from(wait.as_secs()).unwrap(),
        };
        for later in [0, 1, 3, 9, 16, 31, 61, 600, 3_000, 4_000].map(|later| start + later) {
            if later < due {
                let plan = decide(&observed, later);
                let said = plan.status.as_ref().map(|status| &status.conditions);
                prop_assert!(
                    plan.status.is_none() && plan.steps.is_empty(),
                    "at {start} it rests until {due}, and at {later} it would say {said:?} and do {:?}", plan.steps
                );
            }
        }
    }

    /// Who has just looked and has nothing to do gains nothing by another look at once, and would never stop.
    #[test]
    fn a_job_with_nothing_to_do_never_looks_again_at_once(
        status in any_status(), pool in any_pool(), machine in prop::option::of(any_claim()), start in 0_i64..4_000,
    ) {
        let plan = decide(&after(whole(status, pool, machine, Asked::Nothing), start), start);
        let idle = plan.status.is_none() && plan.steps.is_empty();
        prop_assert!(!idle || !matches!(plan.next, Next::After(Duration::ZERO, _)), "{plan:?}");
    }
}
