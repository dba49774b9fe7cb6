//! The emulator as a server, driven through its own paths under `/_emulator`.

use std::time::Duration;

use scaleset::testing::Emulator;

use crate::place::set;

/// As long as a poll that finds nothing is held: long enough to tell it from one that does not wait.
const POLL: Duration = Duration::from_millis(300);

/// Serves until it is killed, and says where.
pub async fn serve() {
    let installation = set("GITHUB_INSTALLATION").parse().expect("a number in GITHUB_INSTALLATION");
    let emulator = Emulator::builder().pat(set("GITHUB_TOKEN")).github_app(installation).runner_group("trusted");
    let emulator = emulator.long_poll(POLL).start().await;
    println!("scale sets at {}", emulator.uri());
    std::future::pending::<()>().await;
}
