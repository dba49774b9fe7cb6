//! The conformance kit over a hypervisor in memory: the kit proves the provider, and a provider that breaks a promise
//! proves the kit.

#[path = "memory/provider.rs"]
mod memory;

use std::collections::BTreeSet;
use std::sync::Mutex;

use memory::Memory;
use providers::hypervisor::kit::{Bench, Case, Deadlines, Kit, NoFaults, Outcome, Report, SeedKind, Watcher};
use providers::hypervisor::{CloneMode, Keyring, Shape, Tag, VmId, VmIdRange, VmRef};

fn hypervisor() -> Memory {
    let key = vec![7; 32].into();
    Memory::new(Keyring::new("kit".parse().expect("valid"), "memory".parse().expect("valid"), key))
}

fn bench(hypervisor: &Memory) -> Bench {
    let id = |number| VmId::try_from(number).expect("valid");
    Bench {
        range: VmIdRange { first: id(1000), last: id(1999) },
        image: hypervisor.image.clone(),
        node: hypervisor.image.node.clone(),
        pool: None,
        mode: CloneMode::Linked,
        shape: Shape { tags: [Tag::ours()].into(), ..Shape::default() },
        seed: SeedKind::Iso,
        seeds: None,
        run: "r1".into(),
        together: 5,
        deadlines: Deadlines::default(),
    }
}

fn outcome(report: &Report, case: Case) -> &Outcome {
    &report.entries.iter().find(|entry| entry.case == case.name()).expect("every case is reported").outcome
}

#[tokio::test(start_paused = true)]
async fn p24_r11_1_a_hypervisor_in_memory_passes_the_kit() {
    let hypervisor = hypervisor();
    let report = Kit::new(&hypervisor, &hypervisor, bench(&hypervisor)).run().await;
    println!("{report}");
    assert!(report.is_good(), "{report}");
    assert_eq!(report.entries.len(), Case::ALL.len());
    assert!(report.entries.iter().all(|entry| matches!(entry.outcome, Outcome::Passed(_))), "{report}");
    assert_eq!(hypervisor.leftovers_of_all(), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_fails_in_passing_is_repeated() {
    for percent in [5, 20, 40] {
        let hypervisor = hypervisor().on_a_bad_line(percent);
        let report = Kit::new(&hypervisor, &hypervisor, bench(&hypervisor)).run().await;
        assert!(report.is_good(), "{percent} % of calls lost:\n{report}");
        assert_eq!(hypervisor.leftovers_of_all(), (0, 0, 0));
    }
}

#[tokio::test(start_paused = true)]
async fn without_help_from_outside_the_cases_that_need_it_are_skipped_with_the_reason() {
    let hypervisor = hypervisor();
    let report = Kit::new(&hypervisor, &NoFaults, bench(&hypervisor)).run().await;
    assert!(report.is_good(), "{report}");
    let helped = [
        Case::TakenId,
        Case::SlowTask,
        Case::LostResponse,
        Case::AuthRotation,
        Case::LargeInventory,
        Case::LeakedDisks,
    ];
    for case in Case::ALL {
        assert_eq!(matches!(outcome(&report, case), Outcome::Skipped(_)), helped.contains(&case), "{}", case.name());
    }
}

#[tokio::test(start_paused = true)]
async fn a_broken_promise_is_reported_and_everything_is_cleaned_up() {
    let hypervisor = hypervisor();
    // This provider has no such seed, so the cases that attach one must fail, and leave nothing behind.
    let bench = Bench { seed: SeedKind::Smbios, ..bench(&hypervisor) };
    let report = Kit::new(&hypervisor, &NoFaults, bench).run().await;
    assert!(!report.is_good());
    assert!(matches!(outcome(&report, Case::Seed), Outcome::Failed(_)), "{report}");
    assert!(matches!(outcome(&report, Case::FullLife), Outcome::Failed(_)), "{report}");
    assert!(report.residue.is_empty(), "{report}");
    assert_eq!(hypervisor.leftovers_of_all(), (0, 0, 0));
}

#[tokio::test(start_paused = true)]
async fn what_will_be_done_is_said_beforehand() {
    let hypervisor = hypervisor();
    let lines = Kit::new(&hypervisor, &NoFaults, bench(&hypervisor)).only(&[Case::FullLife]).intentions();
    assert_eq!(
        lines,
        [
            "Make at most 5 VMs at a time from image 9000 (linked clones) on node m1, with VMIDs from 1000 to 1999 that are free now.",
            "Name them hyperfleet-kit-r1-<number> and start some of them; give each its seed as a seed image.",
            "Read, but never change, anything else.",
            "full-life: make a VM, grow its disk, configure, seed, start, stop and remove it",
            "After every case, passed or not, every VM, disk and seed image it made is removed.",
        ]
    );
}

#[tokio::test(start_paused = true)]
async fn a_range_that_is_too_small_is_said_before_anything_is_made() {
    let hypervisor = hypervisor();
    let range = VmIdRange { last: VmId::try_from(1003).unwrap(), ..bench(&hypervisor).range };
    let report = Kit::new(&hypervisor, &NoFaults, Bench { range, ..bench(&hypervisor) }).run().await;
    assert_eq!(
        report.to_string(),
        "preparation  FAILED      0.0 s  40 free VMIDs are needed in the range\n0 passed, 0 skipped, 1 failed"
    );
}

/// Ends the run when the first VM is planned.
#[derive(Default)]
struct Impatient {
    ending: Mutex<bool>,
    present: Mutex<BTreeSet<VmRef>>,
}

impl Watcher for Impatient {
    fn is_ending(&self) -> bool {
        *self.ending.lock().expect("nobody panics with it")
    }

    fn may_exist(&self, vm: &VmRef) {
        *self.ending.lock().expect("nobody panics with it") = true;
        self.present.lock().expect("nobody panics with it").insert(vm.clone());
    }

    fn is_gone(&self, vm: &VmRef) {
        self.present.lock().expect("nobody panics with it").remove(vm);
    }
}

#[tokio::test(start_paused = true)]
async fn a_run_that_is_ended_early_begins_nothing_new_and_clears_away() {
    let hypervisor = hypervisor();
    let watcher = Impatient::default();
    let cases = [Case::Health, Case::FullLife, Case::Tags];
    let report = Kit::new(&hypervisor, &NoFaults, bench(&hypervisor)).only(&cases).watched(&watcher).run().await;
    let names: Vec<&str> = report.entries.iter().map(|entry| entry.case).collect();
    assert_eq!(names, ["health", "full-life"]);
    assert_eq!(outcome(&report, Case::FullLife), &Outcome::Skipped("interrupted before its end".into()));
    assert!(report.residue.is_empty() && watcher.present.lock().unwrap().is_empty(), "{report}");
    assert_eq!(hypervisor.leftovers_of_all(), (0, 0, 0));
}
