//! The `testenv` program: a control plane around a command, and the lanes of `make test`.

mod cli;
mod lanes;
mod wrap;

use std::process::ExitCode;

use clap::Parser;

fn main() -> ExitCode {
    match cli::Arguments::parse().run() {
        Ok(code) => code,
        Err(error) => cli::complain(&error),
    }
}
