//! Limits are kept before anybody has to refuse.

use super::*;
use proptest::prelude::*;

fn told(limit: u32, remaining: u32, reset: i64) -> HeaderMap {
    let pairs = [("limit", i64::from(limit)), ("remaining", i64::from(remaining)), ("reset", reset)];
    let headers = pairs.map(|(name, value)| (format!("x-ratelimit-{name}").parse().unwrap(), value.into()));
    HeaderMap::from_iter(headers)
}

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn refusal(outcome: Result<Permit<'_>, Error>) -> (Bucket, u64) {
    let error = outcome.expect_err("it is refused");
    let Error::RateLimited { bucket, wait } = error else { panic!("{error}") };
    (bucket, wait.as_secs())
}

#[tokio::test(start_paused = true)]
async fn c6_10_the_last_requests_of_an_hour_belong_to_registrations() {
    let budget = Budget::new(None);
    budget.observe(Bucket::Core, &told(1_000, 90, 1_800_000_600), now());
    assert_eq!(refusal(budget.admit(Priority::Sweep, Bucket::Core, false)), (Bucket::Core, 601));
    assert_eq!(refusal(budget.admit(Priority::Demand, Bucket::Core, false)), (Bucket::Core, 601));
    budget.admit(Priority::Deregister, Bucket::Core, true).unwrap();
    budget.observe(Bucket::Core, &told(1_000, 1, 1_800_000_600), now());
    budget.admit(Priority::Mint, Bucket::Core, true).unwrap();
    assert_eq!(refusal(budget.admit(Priority::Mint, Bucket::Core, true)), (Bucket::Core, 601), "counted before told");
    assert_eq!(budget.exhausted(Bucket::Core).map(|wait| wait.as_secs()), Some(601));
    budget.admit(Priority::Mint, Bucket::Registration, true).expect("another bucket is another limit");
    tokio::time::sleep(Duration::from_secs(601)).await;
    budget.admit(Priority::Sweep, Bucket::Core, false).expect("another hour");
    assert_eq!(budget.quotas(), []);
}

#[tokio::test(start_paused = true)]
async fn a_source_uses_no_more_than_its_own_budget() {
    let budget = Budget::new(Some(100));
    for _ in 0..75 {
        budget.admit(Priority::Sweep, Bucket::Core, false).unwrap();
    }
    assert_eq!(refusal(budget.admit(Priority::Sweep, Bucket::Core, false)), (Bucket::Budget, 3_600));
    for _ in 0..25 {
        budget.admit(Priority::Mint, Bucket::Core, false).unwrap();
    }
    assert_eq!(refusal(budget.admit(Priority::Mint, Bucket::Core, false)), (Bucket::Budget, 3_600));
    tokio::time::sleep(Duration::from_hours(1)).await;
    budget.admit(Priority::Sweep, Bucket::Core, false).unwrap();
}

#[tokio::test(start_paused = true)]
async fn a_refusal_without_a_time_waits_a_minute_then_longer() {
    let budget = Budget::new(None);
    assert_eq!(budget.refused(Some(Duration::from_secs(7))).as_secs(), 7);
    assert_eq!(refusal(budget.admit(Priority::Mint, Bucket::Core, false)), (Bucket::Burst, 7));
    assert_eq!(budget.refused(None).as_secs(), 120);
    assert_eq!(budget.refused(None).as_secs(), 240);
}

#[tokio::test(start_paused = true)]
async fn where_nobody_counts_neither_do_we() {
    let budget = Budget::new(None);
    budget.observe(Bucket::Core, &HeaderMap::new(), now());
    for _ in 0..2_000 {
        budget.admit(Priority::Sweep, Bucket::Core, true).unwrap();
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(256))]

    /// Whatever is asked and in whichever rhythm, no minute has more points than the platform takes.
    #[test]
    fn no_minute_has_more_points_than_are_allowed(asked in proptest::collection::vec((0_u64..4_000, any::<bool>(), 0_u8..4), 1..1_500)) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().start_paused(true).build().unwrap();
        runtime.block_on(async {
            let (budget, start) = (Budget::new(None), Instant::now());
            let mut spent: Vec<(u64, u32)> = Vec::new();
            for (pause, is_change, priority) in asked {
                // Mostly at once, now and then after a while.
                tokio::time::sleep(Duration::from_millis(pause.saturating_sub(3_900) * 100)).await;
                let priority = [Priority::Mint, Priority::Deregister, Priority::Demand, Priority::Sweep][usize::from(priority)];
                if budget.admit(priority, Bucket::Core, is_change).is_ok() {
                    spent.push((start.elapsed().as_secs(), if is_change { 5 } else { 1 }));
                }
            }
            for (at, _) in &spent {
                let minute = spent.iter().filter(|(other, _)| other <= at && at - other < 60);
                let points: u32 = minute.map(|(_, points)| points).sum();
                prop_assert!(points <= 900, "{points} points");
            }
            Ok(())
        })?;
    }
}
