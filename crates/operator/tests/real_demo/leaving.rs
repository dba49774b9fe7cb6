//! Ctrl-C at any moment: at once, and nothing is left.

use std::time::Duration;

use testenv::{Signal, Stopwatch};

use crate::screen::{SIZE, wait_for};
use crate::stand::{SOON, Stand};
use crate::terminal::Terminal;

/// How long it may take to be gone, on a busy machine.
const AT_ONCE: Duration = Duration::from_secs(10);

/// Moments to leave at, by what is said last.
const MOMENTS: [&str; 4] = ["start in this process", "are applied", "jobs are queued", "all jobs are over"];

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_leaves_a_pipe_leaves_nothing_behind() {
    for moment in MOMENTS {
        let stand = Stand::new();
        let program = stand.start("--jobs 2 --speed 4");
        program.wait_for_line(moment, SOON).await;
        let watch = Stopwatch::start();
        program.signal(Signal::Interrupt);
        let ended = program.wait(AT_ONCE).await;
        println!("lane: left the demo at {moment:?} within {:.1} s", watch.elapsed().as_secs_f64());
        assert_eq!(ended.code(), Some(130), "{moment}: {}", program.output());
        assert!(stand.left().is_empty(), "{moment}: {:?} is left", stand.left());
    }
}

/// What makes somebody leave a terminal.
#[derive(Clone, Copy)]
enum Leave {
    Key(&'static str),
    Signal(Signal),
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn whoever_leaves_a_terminal_has_it_back() {
    for (leave, moment, code) in [
        (Leave::Key("\u{3}"), "HyperFleet demo", 130),
        (Leave::Key("\u{3}"), " runs on VM", 130),
        (Leave::Key("q"), "EVENTS", 130),
        (Leave::Signal(Signal::Terminate), "EVENTS", 143),
    ] {
        let stand = Stand::new();
        let mut terminal = Terminal::start(&mut stand.command("--jobs 6 --speed 2"), SIZE.0, SIZE.1);
        wait_for(&terminal, moment, SOON).await;
        assert!(terminal.is_raw());
        match leave {
            Leave::Key(keys) => terminal.press(keys),
            Leave::Signal(signal) => terminal.signal(signal),
        }
        assert_eq!(terminal.ended(AT_ONCE).await, Some(code), "{}", terminal.seen());
        assert!(!terminal.is_raw(), "the terminal is given back");
        terminal.wait_for("\u{1b}[?1049l", AT_ONCE).await;
        assert!(stand.left().is_empty(), "{:?} is left", stand.left());
    }
}
