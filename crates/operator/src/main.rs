//! The `hyperfleet` program; see `operator::cli`.

use std::process::ExitCode;

#[tokio::main]
async fn main() -> ExitCode {
    operator::cli::run(std::env::args_os()).await
}
