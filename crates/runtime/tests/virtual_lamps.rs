//! The lamp controller in a world: sound it keeps every promise, and each of the classic mistakes breaks a named one.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::print_stdout, reason = "figures belong to the lane's report")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "bugs/faulty.rs"]
mod faulty;
#[path = "bugs/house.rs"]
mod house;
#[path = "../examples/lamps/lamp.rs"]
#[allow(dead_code, unreachable_pub, reason = "shared with the example, which uses the rest")]
mod lamp;
#[path = "world/site.rs"]
mod site;

use std::collections::BTreeSet;
use std::time::Duration;

use faulty::Bug;
use kube::CustomResourceExt as _;
use sim::world::{
    Figures, FuzzReport, Fuzzing, Scenario, Storm, Verb, World, across, built, crash_everywhere, fuzz, schema_of, seeds,
};

fn storm() -> Storm {
    Storm::rough(Duration::from_mins(5))
}

fn days(seeds: &[u64]) {
    let promises = house::promises();
    let lived = across(seeds, |seed| {
        World::run(seed, async |world: World| {
            house::day(&world, None, &storm()).await;
            world.judge(&promises).unwrap();
            world.figures()
        })
    });
    let figures: Figures = lived.into_iter().sum();
    println!("lane: days of a sound controller: {figures}");
}

#[test]
fn a_sound_controller_keeps_every_promise() {
    days(&seeds(1, 20));
}

#[test]
#[ignore = "the big number"]
fn soak_a_thousand_days_of_a_sound_controller() {
    days(&seeds(1_000, 1_000));
}

#[test]
fn a_day_is_told_the_same_twice() {
    for seed in seeds(3, 4) {
        let tell = || {
            World::run(seed, async |world: World| {
                house::day(&world, None, &storm()).await;
                world.text()
            })
        };
        let (first, second) = (tell(), tell());
        let differing = first.lines().zip(second.lines()).enumerate().find(|(_, (one, other))| one != other);
        assert_eq!(differing, None, "seed {seed}");
    }
}

/// Days until the bug is found; the names of all promises it broke.
fn found(bug: Bug, seeds: &[u64]) -> Option<(usize, BTreeSet<&'static str>)> {
    let promises = house::promises();
    let mut names = BTreeSet::new();
    for (tried, seed) in seeds.iter().enumerate() {
        let broken = World::run(*seed, async |world: World| {
            house::day(&world, Some(bug), &storm()).await;
            world.check(&promises).names()
        });
        names.extend(broken);
        if names.contains(bug.found_by()) {
            return Some((tried + 1, names));
        }
    }
    None
}

#[test]
fn each_classic_bug_is_found_by_the_promise_that_it_breaks() {
    for bug in Bug::ALL {
        let (days, names) =
            found(*bug, &seeds(1, 20)).unwrap_or_else(|| panic!("{bug:?} does not break {:?}", bug.found_by()));
        println!("lane: {bug:?} is found by \"{}\" on day {days}; broken by then: {names:?}", bug.found_by());
    }
}

#[test]
fn a_crash_at_any_write_does_no_harm() {
    let promises = house::promises();
    let story = async |world: World| {
        house::furnish(&world, None);
        let person = world.person("person", "kube");
        person.create(house::COLLECTION, &house::lamp("hall", "red", 2)).await.unwrap();
        person.create(house::COLLECTION, &house::lamp("attic", "blue", 1)).await.unwrap();
        house::evening(&world, &person).await;
    };
    let scenario = Scenario { story, invariants: &promises, counts: site::acts, down: Duration::from_secs(7) };
    let report = crash_everywhere(1, &scenario);
    assert!(report.failures.is_empty(), "{report}");
    assert!(report.writes > 10, "{report}");
    println!("lane: a crash at any write: {report}");
}

/// What many objects at once wait for is begun and finished one after the other, not begun for all of them first: whoever
/// came first need not wait for the finalizer of the last.
#[test]
fn an_object_that_was_begun_goes_on_before_new_ones_are_begun() {
    World::run(1, async |world: World| {
        house::build(&world);
        let person = world.person("person", "kube");
        for number in 0..200 {
            person.create(house::COLLECTION, &house::lamp(&format!("lamp-{number}"), "red", 1)).await.unwrap();
        }
        house::staff(&world, None);
        world.pass(Duration::from_mins(2)).await;
        let history = world.history();
        let commits: Vec<_> = history.commits.iter().filter(|commit| commit.object.resource == "configmaps").collect();
        let bulbs: Vec<usize> = commits.iter().filter_map(|commit| commit.call).collect();
        let finalizers = history.writes().filter(|call| call.deed.verb == Verb::Patch && call.succeeded());
        let finalizers: Vec<usize> = finalizers.map(|call| call.id).collect();
        assert_eq!((bulbs.len(), finalizers.len()), (200, 200));
        let earlier = |first: usize| finalizers.iter().filter(|call| **call < first).count();
        assert!(earlier(bulbs[0]) < 100, "{} lamps had been begun before the first shone", earlier(bulbs[0]));
    });
}

#[test]
fn every_state_of_every_field_ends_as_a_fresh_install_does() {
    let schema = schema_of(&serde_json::to_value(lamp::Lamp::crd()).unwrap());
    let sample = house::lamp("hall", "red", 2);
    let fuzzing = Fuzzing {
        install: &|world| {
            house::furnish(&world, None);
            Box::pin(async {})
        },
        destination: "kube",
        collection: house::COLLECTION,
        sample: &sample,
        schema: &schema,
        // Its words are orders to fail.
        untouched: &["/fault"],
        compared: usize::MAX,
        counts: house::unrest,
        rest: (Duration::from_secs(30), Duration::from_mins(10)),
        outcome: &|state| built(state, "configmaps"),
        lies: &house::lies,
    };
    let mut report = FuzzReport::default();
    for seed in seeds(1, 5) {
        report.add(fuzz(seed, &fuzzing));
    }
    assert!(report.failures.is_empty(), "{}", report.failures.join("\n"));
    assert!(report.taken > 20 && report.refused > 10 && report.compared > 10, "{report:?}");
    let FuzzReport { taken, refused, compared, figures, .. } = report;
    println!(
        "lane: {taken} mutations taken, {refused} refused, {compared} states as a fresh install has them: {figures}"
    );
}
