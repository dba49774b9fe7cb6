//! Processes and directories that cannot outlive the program that made them.
//!
//! A parent that is killed with `kill -9` runs no destructor. What still happens is that the kernel closes its files. So
//! every child gets a pipe whose other end only we hold, the *lifeline*, and a watcher in its process group that reads from
//! it: end of file means that we are gone, and the watcher kills the group.
//!
//! ```text
//!   us ──lifeline──▶ watcher (sh) ┐ one process group,
//!                    program      ┘ the program is its leader: its pid is the pid we know
//! ```

use std::io;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, ExitStatus, Stdio};

use rustix::process::{Pid, Signal};

/// Starts the watcher, then becomes the program. Neither keeps the other's end of anything: the watcher holds no output
/// of the program open, and the program does not hold the lifeline.
const WATCHED: &str = r#"
exec 3<&0
( read -r _ <&3; kill -s KILL -- "-$$" ) </dev/null >/dev/null 2>&1 &
exec "$@" 3<&- </dev/null
"#;

/// Waits for the lifeline to end, then removes a directory. Its writers are being killed at the same moment, so the first
/// try may find a file that was just made.
const SWEEP: &str = r#"
read -r _
for _ in 1 2 3 4 5 6 7 8 9 10; do rm -rf -- "$1" 2>/dev/null && exit 0; sleep 0.1; done
exit 1
"#;

/// Where the output of a guarded program goes.
pub(crate) enum Sink {
    /// Both streams are appended to one file.
    File(std::fs::File),
    /// Both streams are pipes that the caller takes from the child.
    Pipes,
}

/// A running program, in its own process group, that dies with this value and with this process.
#[derive(Debug)]
pub(crate) struct Guarded {
    child: Child,
    lifeline: Option<ChildStdin>,
}

impl Guarded {
    /// Starts what `command` describes: its program, arguments, environment changes and directory. Its standard input is empty.
    pub(crate) fn spawn(command: &Command, sink: Sink) -> io::Result<Self> {
        let mut shell = Command::new("/bin/sh");
        shell.args(["-c", WATCHED, "guard"]).arg(command.get_program()).args(command.get_args());
        for (name, value) in command.get_envs() {
            match value {
                Some(value) => shell.env(name, value),
                None => shell.env_remove(name),
            };
        }
        if let Some(directory) = command.get_current_dir() {
            shell.current_dir(directory);
        }
        match sink {
            Sink::File(file) => shell.stdout(file.try_clone()?).stderr(file),
            Sink::Pipes => shell.stdout(Stdio::piped()).stderr(Stdio::piped()),
        };
        let mut child = shell.stdin(Stdio::piped()).process_group(0).spawn()?;
        let lifeline = child.stdin.take();
        Ok(Self { child, lifeline })
    }

    /// The child, for those who take its pipes.
    pub(crate) fn child(&mut self) -> &mut Child {
        &mut self.child
    }

    /// The program's process id.
    pub(crate) fn pid(&self) -> u32 {
        self.child.id()
    }

    /// How the program ended, if it did.
    pub(crate) fn ended(&mut self) -> io::Result<Option<ExitStatus>> {
        self.child.try_wait()
    }

    /// Sends a signal to the program; a program that has ended gets none.
    pub(crate) fn signal(&mut self, signal: Signal) -> io::Result<()> {
        // Until we have collected its exit status the pid is ours: nobody else can have been given the same number.
        if self.ended()?.is_none() {
            rustix::process::kill_process(Pid::from_child(&self.child), signal)?;
        }
        Ok(())
    }

    /// Kills the program and whatever it started in its group; returns when the program is gone.
    pub(crate) fn stop(&mut self) -> io::Result<ExitStatus> {
        self.signal(Signal::KILL)?;
        let status = self.child.wait()?;
        drop(self.lifeline.take());
        Ok(status)
    }
}

impl Drop for Guarded {
    fn drop(&mut self) {
        // The lifeline goes with the value in any case; there is nobody to tell about an error.
        let _ = self.stop();
    }
}

/// A temporary directory that is removed with this value and with this process.
#[derive(Debug)]
pub(crate) struct Scratch {
    path: PathBuf,
    sweeper: Child,
}

impl Scratch {
    /// Makes an empty directory that only this user can read.
    pub(crate) fn new() -> io::Result<Self> {
        let path = tempfile::Builder::new().prefix("hyperfleet-testenv-").tempdir()?.keep();
        let mut sweeper = Command::new("/bin/sh");
        sweeper.args(["-c", SWEEP, "sweep"]).arg(&path);
        // Its own group: an interrupt from the keyboard must not end the one who cleans up after it.
        let sweeper =
            sweeper.stdin(Stdio::piped()).stdout(Stdio::null()).stderr(Stdio::null()).process_group(0).spawn()?;
        Ok(Self { path, sweeper })
    }

    /// Where it is.
    pub(crate) fn path(&self) -> &Path {
        &self.path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        drop(self.sweeper.stdin.take());
        let _ = self.sweeper.wait();
    }
}
