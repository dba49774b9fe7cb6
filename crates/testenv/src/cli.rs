//! The command line, and the only place that prints.

use std::ffi::OsString;
use std::process::ExitCode;
use std::time::Duration;

use anyhow::Result;
use clap::{Parser, Subcommand};

use crate::lanes::{self, Lane};
use crate::wrap;

/// A real Kubernetes control plane (etcd, kube-apiserver, kube-controller-manager) around a command.
#[derive(Debug, Parser)]
#[command(name = "testenv", version, arg_required_else_help = true)]
pub(crate) struct Arguments {
    #[command(subcommand)]
    command: Action,
}

#[derive(Debug, Subcommand)]
enum Action {
    /// Starts a control plane, runs a command with its address in the environment, ends everything, and passes on the
    /// command's exit code. KUBECONFIG makes the command an administrator.
    Run {
        /// The command and its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Starts a control plane and a shell to look around in; kubectl is on the PATH.
    Shell,
    /// Becomes a command that dies with the process that started it.
    #[command(hide = true)]
    Leashed {
        /// The process that started it.
        #[arg(long)]
        parent: u32,
        /// The command and its arguments.
        #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true)]
        command: Vec<OsString>,
    },
    /// Runs lanes of tests one after the other and prints a table of times and counts.
    Lanes {
        /// Which lanes, in which order.
        #[arg(required = true)]
        lanes: Vec<Lane>,
        /// How long building has taken before, for the table.
        #[arg(long, default_value_t = 0)]
        build_seconds: u64,
    },
}

impl Arguments {
    /// Does what was asked and returns the exit code.
    pub(crate) fn run(self) -> Result<ExitCode> {
        match self.command {
            Action::Run { command } => wrap::run(&command),
            Action::Shell => wrap::shell(),
            Action::Leashed { parent, command } => wrap::leashed(parent, &command),
            Action::Lanes { lanes, build_seconds } => lanes::run(&lanes, Duration::from_secs(build_seconds)),
        }
    }
}

/// Prints a line for the person at the terminal.
#[expect(clippy::print_stdout, reason = "the one place that does, and tests capture what goes through the macro")]
pub(crate) fn say(line: &str) {
    println!("{line}");
}

/// Prints why it did not work, and the exit code that says so.
#[expect(clippy::print_stderr, reason = "the one place that does")]
pub(crate) fn complain(error: &anyhow::Error) -> ExitCode {
    eprintln!("testenv: {error:#}");
    ExitCode::FAILURE
}
