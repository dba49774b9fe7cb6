//! The `hyperfleet-agent` program; see `agent::cli`.

use std::process::ExitCode;

fn main() -> ExitCode {
    agent::cli::run(std::env::args_os())
}
