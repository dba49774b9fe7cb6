//! What holds for every claim, whatever is seen of it.

use proptest::prelude::*;

use super::any::NOW;
use super::*;

/// When a claim's life is over by its limits, worked out from what its spec says alone.
fn end(claim: &MachineClaim) -> Option<Timestamp> {
    let limits = &claim.spec.lifecycle;
    let status = claim.status.clone().unwrap_or_default();
    let state = status.bootstrap.as_ref().map(|record| record.state);
    let proven = state == Some(BootstrapState::Bound);
    let booting = status.first_running_time.is_some()
        && !matches!(state, Some(BootstrapState::Bound | BootstrapState::Revoked | BootstrapState::Released));
    let plus = |start: Option<&api::Moment>, span: Option<api::Span>| {
        Some(start?.timestamp().checked_add(span?.as_duration()).unwrap())
    };
    let created = api::Moment::from(claim.metadata.creation_timestamp.as_ref().unwrap().0);
    let working = proven && status.busy_time.is_some();
    // The platform may have given it a job.
    let listed = proven && status.runner.is_some();
    let extra = limits.drain_timeout.filter(|_| working || listed).map_or(Duration::ZERO, api::Span::as_duration);
    let ends = [
        plus(Some(&created), limits.max_lifetime).map(|end| end.checked_add(extra).unwrap()),
        plus(status.first_running_time.as_ref(), limits.bootstrap_timeout).filter(|_| booting),
        status.bootstrap.as_ref().filter(|_| booting).map(|record| record.not_after.timestamp()),
        plus(status.busy_time.as_ref(), limits.job_timeout)
            .filter(|_| proven)
            .map(|end| end.checked_add(secs(30)).unwrap()),
        plus(status.ready_time.as_ref(), limits.idle_timeout).filter(|_| proven && !working && !listed),
    ];
    ends.into_iter().flatten().min()
}

fn is_over(status: Option<&MachineClaimStatus>) -> bool {
    let phase = status.and_then(|status| status.phase);
    matches!(phase, Some(Phase::Terminating | Phase::Succeeded | Phase::Failed))
}

/// Whether somebody has seen that nothing of the VM is left.
fn vm_is_gone(observed: &Observed) -> bool {
    let status = observed.claim.status.clone().unwrap_or_default();
    let recorded = status.teardown.is_some_and(|teardown| teardown.vm_gone_at.is_some());
    let discarded = observed.errands.certain && observed.errands.done.contains(&Job::Discard);
    let seen = match &observed.sight {
        Sight::Absent { remains } => remains.is_empty() && discarded,
        Sight::Foreign { settled, .. } => *settled && discarded,
        Sight::Unasked | Sight::Unknown(_) | Sight::Locked { .. } | Sight::Ours { .. } => false,
    };
    status.allocation.is_none() || recorded || seen
}

/// Whether the platform has said that nothing of the runner is left, and nothing can come.
fn runner_is_gone(observed: &Observed) -> bool {
    let status = observed.claim.status.clone().unwrap_or_default();
    let Some(runner) = status.runner else { return true };
    let recorded = status.teardown.is_some_and(|teardown| teardown.runner_gone_at.is_some());
    let Farewell { since, answer, .. } = &observed.runner.farewell;
    let said = answer.as_ref().filter(|answer| answer.removal == Removal::Gone).map(|answer| answer.at);
    let answered = runner.id.is_some() || status.busy_time.is_some();
    let settled = answered || said.zip(*since).is_some_and(|(said, since)| said.duration_since(since).as_secs() >= 60);
    recorded || (said.is_some() && settled)
}

/// Whether a person has given up what is left.
fn is_given_up(observed: &Observed) -> bool {
    let held = observed.claim.status.as_ref().and_then(|status| status.allocation.as_ref());
    let word = observed.claim.metadata.annotations.as_ref().and_then(|all| all.get(ABANDON));
    word.zip(held).is_some_and(|(word, held)| *word == held.vm_id.to_string())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn p6_whatever_is_seen_a_plan_breaks_no_promise_and_the_server_takes_its_status(observed in any::observed()) {
        let plan = plan(&observed, at(NOW));
        prop_assert_eq!(audit(&observed, &plan), []);
        if let Some(status) = &plan.status {
            written(&observed.claim, status, at(NOW));
        }
    }

    #[test]
    fn p6_a_vm_is_made_only_for_a_claim_that_is_kept_and_wanted_and_says_so(observed in any::observed()) {
        let plan = plan(&observed, at(NOW));
        let made = plan.steps.iter().any(|step| matches!(step, Step::Clone | Step::StageSeed | Step::Configure | Step::Start));
        if made {
            let claim = &observed.claim;
            prop_assert!(claim.metadata.finalizers.as_ref().is_some_and(|names| names.iter().any(|name| name == VM_CLEANUP)));
            prop_assert!(claim.metadata.deletion_timestamp.is_none() && !is_over(claim.status.as_ref()));
            prop_assert!(status_of(claim).allocation.is_some());
            prop_assert_eq!(status_of(claim).first_running_time.as_ref(), None, "a VM is made once");
            prop_assert!(matches!(observed.gate, Gate::Open(_)), "a machine of nothing");
        }
        if plan.status.as_ref().is_some_and(|status| status.allocation.is_some()) && claim_without_number(&observed) {
            prop_assert!(observed.claim.metadata.deletion_timestamp.is_none(), "no number for a claim that goes");
        }
    }

    #[test]
    fn p26_r6_8_a_vm_is_touched_only_after_a_look_that_proved_it_ours(observed in any::observed()) {
        for step in plan(&observed, at(NOW)).steps {
            let touches = match step {
                Step::Resize | Step::Configure | Step::Start | Step::DetachSeed | Step::Stop | Step::Destroy => true,
                Step::Clone
                | Step::StageSeed
                | Step::DiscardSeed
                | Step::RemoveLeftover(_)
                | Step::Deregister { .. }
                | Step::Delete => false,
            };
            prop_assert!(!touches || matches!(observed.sight, Sight::Ours { .. }), "{} after {:?}", step, observed.sight);
            if step == Step::Clone {
                let free = matches!(observed.sight, Sight::Absent { .. } | Sight::Unasked);
                prop_assert!(free, "a clone after {:?}", observed.sight);
            }
        }
    }

    #[test]
    fn p7_r3_6_a_claim_goes_and_its_end_is_told_only_when_nothing_is_left(observed in any::observed()) {
        let plan = plan(&observed, at(NOW));
        let given_up = is_given_up(&observed);
        let nothing = vm_is_gone(&observed) && runner_is_gone(&observed);
        let left = !(given_up || nothing);
        prop_assert!(!(plan.finalizer == Finalizer::Remove && left), "{:?} {:?}", observed.sight, observed.runner);
        prop_assert!(!(plan.steps.contains(&Step::Delete) && left), "{:?} {:?}", observed.sight, observed.runner);
        let told = |about: ConditionType| {
            let says_gone = |status: &MachineClaimStatus| api::condition::holds(&status.conditions, about);
            plan.status.as_ref().is_some_and(says_gone) && !observed.claim.status.as_ref().is_some_and(says_gone)
        };
        prop_assert!(!told(ConditionType::VmCleanedUp) || (vm_is_gone(&observed) && !given_up), "{:?}", observed.sight);
        let parted = runner_is_gone(&observed) && !given_up;
        prop_assert!(!told(ConditionType::Deregistered) || parted, "{:?}", observed.runner);
        if matches!(observed.reach, Reach::Away(_)) && holds_machine(&observed.claim) && !given_up {
            prop_assert_eq!(plan.finalizer, if needs_keeping(&observed) { Finalizer::Add } else { Finalizer::Keep });
            prop_assert!(plan.steps.iter().all(|step| matches!(step, Step::Deregister { .. })), "{:?}", plan.steps);
        }
    }

    /// The second half of it: a machine that may have a job is let go by its own word and the platform's alone.
    #[test]
    fn p7_a_registered_runner_is_let_go_only_idle_or_at_its_end(observed in any::observed()) {
        let plan = plan(&observed, at(NOW));
        let status = observed.claim.status.clone().unwrap_or_default();
        let over = observed.claim.metadata.deletion_timestamp.is_some() || is_over(observed.claim.status.as_ref());
        for step in &plan.steps {
            let Step::Deregister { name, mode, .. } = step else { continue };
            prop_assert_eq!(Some(name), status.runner.as_ref().map(|runner| &runner.name));
            prop_assert!(over == (*mode == Mode::Force), "{}", step);
            prop_assert!(over || (status.busy_time.is_none() && observed.runner.work != Work::Current), "{}", step);
            prop_assert!(!observed.runner.farewell.asking, "asked twice at a time");
        }
    }

    #[test]
    fn p7_a_vm_is_removed_only_after_its_end_is_written_down(observed in any::observed()) {
        let steps = plan(&observed, at(NOW)).steps;
        if steps.iter().any(|step| matches!(step, Step::Stop | Step::Destroy)) {
            let gone = observed.claim.metadata.deletion_timestamp.is_some();
            prop_assert!(gone || is_over(observed.claim.status.as_ref()));
        }
        if steps.iter().any(|step| matches!(step, Step::RemoveLeftover(_))) {
            prop_assert!(observed.errands.certain && matches!(observed.sight, Sight::Absent { .. }), "{:?}", steps);
        }
    }

    /// The oracle adds up the limits in its own words.
    #[test]
    fn p10_a_machine_ends_by_its_limits_when_they_are_over_and_not_before(
        claim in any::life_so_far(), lifecycle in any::lifecycle(), now in 0_i64..5_000, made in any::job(),
    ) {
        let claim = with(claim, |claim| claim.spec.lifecycle = lifecycle);
        let wanted = !is_over(claim.status.as_ref());
        let observed = Observed { life: Life::Running, errands: under_way(made), ..seen(claim) };
        let plan = plan(&observed, at(now));
        let shut_out = status_of_record(&observed) == Some(BootstrapState::Revoked);
        let over = end(&observed.claim).is_some_and(|end| end <= at(now));
        if wanted && !shut_out {
            prop_assert_eq!(is_over(plan.status.as_ref()), over, "{:?}", plan);
        }
        if wanted && !shut_out && !over {
            let Some(end) = end(&observed.claim) else { return Ok(()) };
            let Next::After(pause, _) = plan.next else {
                prop_assert!(plan.status.is_some(), "nobody would notice its end: {:?}", plan);
                return Ok(());
            };
            // One tick of what is looked at regularly may come in between.
            prop_assert!(pause <= secs(30) || at(now).checked_add(pause).unwrap() <= end, "{:?}", plan);
        }
    }
}

fn claim_without_number(observed: &Observed) -> bool {
    observed.claim.status.as_ref().is_none_or(|status| status.allocation.is_none())
}

fn needs_keeping(observed: &Observed) -> bool {
    let claim = &observed.claim;
    claim.metadata.finalizers.is_none()
        && claim.metadata.deletion_timestamp.is_none()
        && !is_over(claim.status.as_ref())
}

fn status_of_record(observed: &Observed) -> Option<BootstrapState> {
    Some(observed.claim.status.as_ref()?.bootstrap.as_ref()?.state)
}

/// One failure after another, each at the moment it is tried again.
#[derive(Debug)]
struct Course {
    /// The claim when it had no more attempts, or all failures were over.
    last: Observed,
    /// When each failure happened, its kind, and when it was tried again.
    gaps: Vec<(Kind, u32, Duration)>,
}

/// Drives a claim through failures of one errand, as a shell does that remembers the last of them.
fn course(kinds: &[Kind], job: Job, sight: &Sight, late: &[u64]) -> Course {
    let mut observed = Observed { sight: sight.clone(), errands: done(&[Job::Stage]), ..seen(allocated(claim())) };
    let (mut now, mut gaps, mut times) = (at(20) + Duration::from_millis(700), Vec::new(), 0);
    for (kind, late) in kinds.iter().zip(late) {
        let attempt = status_of(&observed.claim).attempts.unwrap_or(0);
        times += 1;
        observed.errands.trouble = Some(Trouble { attempt, times, at: now, ..trouble(job, *kind) });
        let failed = now;
        let counted = plan(&observed, now);
        assert_eq!(audit(&observed, &counted), []);
        if let Some(status) = &counted.status {
            observed.claim = Arc::new(written(&observed.claim, status, now));
        }
        if is_over(observed.claim.status.as_ref()) {
            break;
        }
        // The driver wakes it when it asked to be woken, or a little later.
        while let Next::After(pause, Why::Retry { .. }) = plan(&observed, now).next {
            now += pause;
        }
        gaps.push((*kind, status_of(&observed.claim).attempts.unwrap_or(0), Duration::try_from(now - failed).unwrap()));
        now += Duration::from_millis(*late);
    }
    Course { last: observed, gaps }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    #[test]
    fn p8_r3_7_attempts_are_counted_paused_between_and_come_to_an_end(
        kinds in prop::collection::vec(prop_oneof![4 => Just(Kind::Passing), 1 => Just(Kind::Room), 1 => Just(Kind::Stale)], 1..12),
        job in prop::sample::select(vec![Job::Configure, Job::Start]), late in prop::collection::vec(0_u64..3_000, 12),
    ) {
        let Course { last, gaps } = course(&kinds, job, &ours(), &late);
        for (kind, attempt, gap) in gaps {
            let (least, most) = match kind {
                Kind::Passing => (POLICY.backoff.bare(attempt), POLICY.backoff.bare(attempt).mul_f64(1.2)),
                Kind::Room => (secs(30), secs(30)),
                Kind::Stale | Kind::Final => (Duration::ZERO, Duration::ZERO),
            };
            // Moments are written to the second.
            prop_assert!(gap >= least && gap < most + secs(1), "{:?} {:?}", kind, gap);
        }
        let failures = kinds.iter().filter(|kind| **kind == Kind::Passing).count();
        let gave_up = is_over(last.claim.status.as_ref());
        prop_assert_eq!(gave_up, failures >= POLICY.attempts as usize, "{} failures", failures);
        prop_assert!(status_of(&last.claim).attempts.unwrap_or(0) < POLICY.attempts);
        if gave_up {
            prop_assert_eq!(said(status_of(&last.claim), ConditionType::Ready).1, "RetriesExhausted");
            return Ok(());
        }
        let started = Observed { errands: done(&[Job::Start]), ..last };
        let up = plan(&started, at(100_000)).status.unwrap();
        prop_assert_eq!((up.attempts, up.next_retry_time), (None, None), "success resets");
    }

    #[test]
    fn p8_what_is_final_is_never_tried_again(observed in any::observed(), job in any::job(), attempt in 0_u32..6) {
        let trouble = Trouble { attempt, ..trouble(job, Kind::Final) };
        let observed = Observed { errands: Errands { trouble: Some(trouble), ..observed.errands }, ..observed };
        let making = stage(&observed.claim) == api::Step::Allocated && !observed.needs_finalizer();
        let open = match observed.sight {
            Sight::Ours { .. } | Sight::Locked { .. } => true,
            Sight::Foreign { .. } => !observed.errands.certain,
            Sight::Unasked | Sight::Unknown(_) | Sight::Absent { .. } => false,
        };
        if making && !(job == Job::Clone && open) {
            let plan = plan(&observed, at(NOW));
            prop_assert!(is_over(plan.status.as_ref()), "{:?}", plan);
            prop_assert!(plan.steps.iter().all(|step| *step == Step::DiscardSeed), "{:?}", plan.steps);
        }
    }

    #[test]
    fn p8_a_pause_that_is_written_down_holds_for_whoever_reads_it(observed in any::observed()) {
        let plan = plan(&observed, at(NOW));
        let paused = observed.claim.status.as_ref().and_then(|status| status.next_retry_time.as_ref());
        let happened = observed.errands.trouble.as_ref().is_some_and(|trouble| trouble.job == Job::Clone)
            && matches!(observed.sight, Sight::Ours { .. } | Sight::Locked { .. });
        let making = matches!(stage(&observed.claim), api::Step::Gated | api::Step::Allocated);
        if making && !happened && paused.is_some_and(|due| due.timestamp() > at(NOW)) {
            let tries = |step: &Step| matches!(step, Step::Clone | Step::StageSeed | Step::Resize | Step::Configure | Step::Start);
            prop_assert!(!plan.steps.iter().any(tries), "{:?}", plan.steps);
        }
    }
}
