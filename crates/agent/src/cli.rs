//! The program: reads the seed, lives, powers off whatever happened.

use std::ffi::OsString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Args, Parser, Subcommand};
use protocol::{Beacon, Seed, Stage, path};
use tokio::signal::unix::{SignalKind, signal};

use crate::power_off::PowerOff;
use crate::watchdog::Watchdog;
use crate::{Ending, Host, Line, Machine, Patience, Wire, hardening, live, power_off, program, seed};

/// The exit code of a program that has nothing to do on this machine.
const NOT_OURS: u8 = 3;

/// The agent in a VM: proves itself, runs one piece of work, reports, powers off.
#[derive(Debug, Parser)]
#[command(name = "hyperfleet-agent", version)]
struct Cli {
    #[command(subcommand)]
    command: Command,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Lives once, and powers the machine off.
    ///
    /// Only the machine whose firmware has the seed's UUID is powered off. On any other the program exits with code 3
    /// and does nothing.
    Run(Flags),
    /// Powers the machine off that an agent has begun to live on, however that one ended.
    ///
    /// For the unit that starts the agent: an agent that was killed or hung does not power off by itself. Where none has
    /// begun, or on another machine, the program exits with code 3 and does nothing.
    Off(End),
}

#[derive(Debug, Args)]
struct Flags {
    /// Where the seed is: a directory with hyperfleet.json or the firmware's values, an ISO image, or a device with one
    /// [default: the firmware, then the medium labelled cidata, /dev/sr0 or /dev/sr1, waiting for them]
    #[arg(long, value_name = "PATH")]
    seed: Option<PathBuf>,
    #[command(flatten)]
    end: End,
    /// The user that work runs as that names none [default: hyperfleet, or whoever the agent is if that is not root]
    #[arg(long, value_name = "NAME")]
    user: Option<String>,
    /// Where the files of a runner's jobs go; on a disk, because they may be large.
    #[arg(long, value_name = "DIR", default_value = "/var/lib/hyperfleet/work")]
    work_dir: PathBuf,
    /// Where the image keeps runners, each in a directory of its own; an absolute path.
    #[arg(long, value_name = "DIR", default_value = crate::host::RUNNERS, value_parser = absolute)]
    runners_dir: PathBuf,
    /// Go on although the machine swaps. Dangerous: tokens and credentials can reach the disk and outlive the machine.
    #[arg(long)]
    allow_swap: bool,
    #[command(flatten)]
    watchdog: Watchdog,
}

/// What is known of the machine, and what happens to it at the end.
#[derive(Debug, Args)]
struct End {
    /// Run this by /bin/sh at the end, always, and never power off the machine.
    #[arg(long, value_name = "COMMAND")]
    power_off_command: Option<String>,
    /// Where the firmware's values are; only together with --power-off-command.
    #[arg(long, value_name = "DIR", default_value = "/sys/class/dmi/id", requires = "power_off_command")]
    dmi: PathBuf,
    /// Where the work's files go; must be in memory.
    #[arg(long, value_name = "DIR", default_value = "/run/hyperfleet")]
    run_dir: PathBuf,
}

impl End {
    fn firmware(&self) -> Option<String> {
        power_off::firmware(&self.dmi)
    }

    /// What happens at the end of a life that was meant for this machine.
    fn choose(&self, wanted: Option<&str>) -> PowerOff {
        power_off::choose(self.firmware().as_deref(), wanted, self.power_off_command.as_deref())
    }
}

/// A path that means the same wherever the work is.
fn absolute(text: &str) -> Result<PathBuf, String> {
    let path = PathBuf::from(text);
    if path.is_absolute() { Ok(path) } else { Err("the path must begin with '/'".to_owned()) }
}

/// Runs the program with these arguments.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let Cli { command } = match Cli::try_parse_from(arguments) {
        Ok(cli) => cli,
        Err(error) => {
            let _: Result<(), _> = error.print();
            return ExitCode::from(u8::try_from(error.exit_code()).unwrap_or(2));
        }
    };
    tracing_subscriber::fmt().with_writer(std::io::stderr).with_ansi(false).with_target(false).init();
    match command {
        Command::Run(flags) => once(&flags),
        Command::Off(end) => off(&end),
    }
}

/// The end of a life whose agent may not have come to it.
fn off(end: &End) -> ExitCode {
    let begun = hardening::begun(&end.run_dir);
    if !power_off::is_ours(end.firmware().as_deref(), begun.as_deref()) {
        tracing::info!("no agent has begun on this machine: nothing is done");
        return ExitCode::from(NOT_OURS);
    }
    tracing::warn!("the agent is gone");
    end.choose(begun.as_deref()).carry_out();
    ExitCode::SUCCESS
}

/// One life and its end.
fn once(flags: &Flags) -> ExitCode {
    hardening::keep_memory_private();
    let seed = match &flags.seed {
        Some(path) => seed::read(path),
        None => seed::find(&flags.end.dmi),
    };
    let seed = seed.inspect_err(|error| tracing::error!(%error, "there is no seed to live by")).ok();
    let (firmware, wanted) = (flags.end.firmware(), seed.as_ref().map(|seed| seed.machine.as_str()));
    let off = flags.end.choose(wanted);
    let code = match (&seed, firmware) {
        (Some(seed), Some(firmware)) if power_off::is_ours(Some(&firmware), wanted) => {
            tracing::info!(machine = firmware, service = seed.url, "this machine has a seed");
            told(&survived(|| lives(flags, seed, &firmware)))
        }
        (_, firmware) => {
            let firmware = firmware.as_deref().unwrap_or("unknown");
            tracing::error!(
                firmware,
                seed = wanted.unwrap_or("none"),
                "there is no seed of this machine's: nothing is done"
            );
            ExitCode::from(NOT_OURS)
        }
    };
    off.carry_out();
    code
}

/// A life that always has an ending: whatever goes wrong in it, the machine is powered off.
fn survived(life: impl FnOnce() -> Result<Ending, String>) -> Result<Ending, String> {
    catch_unwind(AssertUnwindSafe(life)).unwrap_or_else(|_| Err("the agent met a mistake of its own".to_owned()))
}

fn told(ending: &Result<Ending, String>) -> ExitCode {
    match ending {
        Ok(ending @ (Ending::Finished(_) | Ending::Idle(_) | Ending::Drained)) => {
            tracing::info!(%ending, "all is done");
            ExitCode::SUCCESS
        }
        Ok(ending) => {
            tracing::error!(%ending, "the work did not come to its own end");
            ExitCode::FAILURE
        }
        Err(why) => {
            tracing::error!(why, "there was no work");
            ExitCode::FAILURE
        }
    }
}

fn lives(flags: &Flags, seed: &Seed, firmware: &str) -> Result<Ending, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| format!("cannot start: {error}"))?;
    let ending = runtime.block_on(life(flags, seed, firmware));
    // A name lookup that hangs must not keep the machine up.
    runtime.shutdown_background();
    ending
}

async fn life(flags: &Flags, seed: &Seed, firmware: &str) -> Result<Ending, String> {
    let line = Wire::new(seed).map_err(|error| error.to_string())?;
    let host = Host::new(&flags.end.run_dir, &flags.work_dir, flags.user.clone());
    let host = host.with_runners(&flags.runners_dir).adopting();
    if let Err(trouble) = prepare(flags, seed, firmware) {
        let beacon = Beacon { stage: Stage::Prepare, trouble: trouble.clone(), clock: host.clock() };
        let beacon = serde_json::to_vec(&beacon).expect("texts have a form in JSON");
        line.beacon(&path::beacon(&seed.id), beacon).await;
        return Err(trouble);
    }
    let patience = Patience::default();
    let stop = |kind| signal(kind).map_err(|error| format!("cannot listen to signals: {error}"));
    let (mut terminate, mut interrupt) = (stop(SignalKind::terminate())?, stop(SignalKind::interrupt())?);
    tokio::select! {
        ending = live(seed, firmware, &line, &host, &patience) => Ok(ending),
        () = flags.watchdog.feed() => Err("nobody listens any more".to_owned()),
        _ = terminate.recv() => Err("the agent was told to stop".to_owned()),
        _ = interrupt.recv() => Err("the agent was told to stop".to_owned()),
    }
}

fn prepare(flags: &Flags, seed: &Seed, firmware: &str) -> Result<(), String> {
    hardening::make_run_dir(&flags.end.run_dir)?;
    hardening::begin(&flags.end.run_dir, firmware)?;
    if let Some(pin) = &seed.agent {
        program::is_pinned(Path::new(program::OURS), pin)?;
    }
    if !flags.allow_swap {
        hardening::refuse_swap(Path::new("/proc/swaps"))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn complaint(arguments: &[&str]) -> clap::Error {
        let arguments = ["hyperfleet-agent", "run"].iter().chain(arguments);
        Cli::try_parse_from(arguments).expect_err("these arguments are wrong")
    }

    #[test]
    fn another_firmware_needs_a_command_in_place_of_power_off() {
        let error = complaint(&["--dmi", "/elsewhere"]);
        assert_eq!(error.kind(), clap::error::ErrorKind::MissingRequiredArgument);
        assert!(error.to_string().contains("--power-off-command"), "{error}");
        let both = ["hyperfleet-agent", "run", "--dmi", "/elsewhere", "--power-off-command", "true"];
        assert!(Cli::try_parse_from(both).is_ok());
    }

    #[test]
    fn runners_are_looked_for_at_an_absolute_path() {
        let error = complaint(&["--runners-dir", "opt"]);
        assert!(error.to_string().contains("must begin with '/'"), "{error}");
    }

    #[test]
    fn a_mistake_of_the_agents_own_is_an_ending_too() {
        assert!(survived(|| panic!("on purpose")).unwrap_err().contains("a mistake of its own"));
        assert_eq!(survived(|| Ok(Ending::EndedByService)), Ok(Ending::EndedByService));
    }

    #[test]
    fn without_flags_everything_is_the_real_thing() {
        let ends = ["run", "off"].map(|word| match Cli::try_parse_from(["hyperfleet-agent", word]).unwrap().command {
            Command::Run(flags) => {
                assert!(flags.seed.is_none() && !flags.allow_swap);
                assert_eq!(flags.runners_dir, Path::new("/opt"));
                flags.end
            }
            Command::Off(end) => end,
        });
        for end in ends {
            assert_eq!(end.dmi, Path::new("/sys/class/dmi/id"));
            assert_eq!(end.run_dir, Path::new("/run/hyperfleet"));
            assert!(end.power_off_command.is_none());
        }
    }
}
