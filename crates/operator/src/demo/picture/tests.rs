//! Frames as a terminal shows them.

use std::collections::BTreeMap;

use proptest::prelude::*;
use ratatui::Terminal;
use ratatui::backend::TestBackend;
use sim::github::Conclusion;

use super::*;
use crate::demo::track::Track;

const NOW: i64 = 1_000_020;

fn second(ago: i64) -> Timestamp {
    Timestamp::from_second(NOW - ago).unwrap()
}

fn scene() -> Scene {
    Scene {
        at: second(0),
        clusters: Vec::new(),
        templates: Vec::new(),
        sources: Vec::new(),
        pools: Vec::new(),
        jobs: Vec::new(),
        claims: Vec::new(),
        told: Vec::new(),
        runners: (7, 5),
        machines: BTreeMap::from([("pve1".to_owned(), 3), ("pve2".to_owned(), 4)]),
    }
}

/// So many jobs: the first is over, the second runs, the rest wait.
fn chronicle(jobs: u64) -> Chronicle {
    let mut chronicle = Chronicle::new(second(22));
    for number in 0..jobs {
        let mut track = Track::new(&format!("build-{:02}", number + 1), 1, second(20));
        if number < 2 {
            track.machine = Some((6000 + u32::try_from(number).unwrap(), "pve2".to_owned()));
            (track.made, track.started) = (Some(second(15)), Some(second(10)));
        }
        if number == 0 {
            (track.ended, track.gone) = (Some(second(5)), Some(second(2)));
            track.conclusion = Some(Conclusion::Success);
        }
        track.waits = "AtMaximum".to_owned();
        chronicle.tracks.insert(number, track);
    }
    chronicle.add(second(10), Mood::Good, "build-02 runs on VM 6001 (pve2)");
    chronicle
}

fn frame(chronicle: &Chronicle, jobs: usize, width: u16, height: u16) -> Vec<String> {
    let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
    let scene = scene();
    let frame = Frame { chronicle, scene: &scene, jobs, stage: "q: leave" };
    terminal.draw(|shown| draw(&frame, Paint::Plain, shown.area(), shown.buffer_mut())).unwrap();
    let buffer = terminal.backend().buffer().clone();
    let row = |y: u16| (0..width).map(|x| buffer[(x, y)].symbol().to_owned()).collect::<String>();
    (0..height).map(row).map(|row| row.trim_end().to_owned()).collect()
}

#[test]
fn twenty_jobs_fit_a_terminal_of_eighty_by_twenty_four() {
    let rows = frame(&chronicle(20), 20, 80, 24);
    let text = rows.join("\n");
    for number in 1..=20 {
        assert!(text.contains(&format!("build-{number:02} ")), "{text}");
    }
    assert!(rows[0].starts_with("HyperFleet demo   1 of 20 jobs done  █░"), "{text}");
    assert!(rows[1].contains("pve1 3, pve2 4") && rows[1].contains("7 runners, 5 busy"), "{text}");
    assert!(text.contains("done in 15.0 s") && text.contains("pve2/6001 runs") && text.contains("AtMaximum"), "{text}");
    assert!(text.contains("  12.0s  build-02 runs on VM 6001 (pve2)"), "{text}");
    assert_eq!(rows[23], "q: leave");
}

#[test]
fn of_too_many_jobs_those_that_are_over_make_room() {
    let rows = frame(&chronicle(200), 200, 80, 24).join("\n");
    assert!(rows.contains(" more)") && rows.contains("build-02") && !rows.contains("build-01"), "{rows}");
}

proptest! {
    #[test]
    fn no_size_is_too_small(width in 1_u16..130, height in 1_u16..40, jobs in 0_u64..60) {
        frame(&chronicle(jobs), usize::try_from(jobs).unwrap(), width, height);
    }
}
