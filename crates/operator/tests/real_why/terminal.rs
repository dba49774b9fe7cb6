//! A terminal of the system's own, with a program on it.

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::OwnedFd;
use std::process::{Child, Command};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rustix::process::{Pid, kill_process};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, Winsize, tcgetattr, tcsetwinsize};
use testenv::{Signal, eventually};

/// A terminal and what runs on it; both are gone with this value.
pub(crate) struct Terminal {
    child: Child,
    keyboard: File,
    /// The program's side, kept open so that its settings can be looked at afterwards.
    line: File,
    seen: Arc<Mutex<Vec<u8>>>,
}

impl Terminal {
    /// Starts a program on a fresh terminal of this size.
    pub(crate) fn start(command: &mut Command, columns: u16, rows: u16) -> Self {
        let ours = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&ours).unwrap();
        unlockpt(&ours).unwrap();
        let path = ptsname(&ours, Vec::new()).unwrap().into_string().unwrap();
        let line = File::options().read(true).write(true).open(path).unwrap();
        tcsetwinsize(&line, Winsize { ws_col: columns, ws_row: rows, ws_xpixel: 0, ws_ypixel: 0 }).unwrap();
        let side = || OwnedFd::from(line.try_clone().unwrap());
        let child = command.env("TERM", "xterm").stdin(side()).stdout(side()).stderr(side()).spawn().unwrap();
        let keyboard = File::from(ours);
        let (mut screen, seen) = (keyboard.try_clone().unwrap(), Arc::new(Mutex::new(Vec::new())));
        let written = Arc::clone(&seen);
        std::thread::spawn(move || {
            let mut bytes = [0; 4096];
            while let Ok(length) = screen.read(&mut bytes) {
                written.lock().unwrap().extend_from_slice(&bytes[..length]);
            }
        });
        Self { child, keyboard, line, seen }
    }

    /// Everything that was written to the screen so far.
    pub(crate) fn seen(&self) -> String {
        String::from_utf8_lossy(&self.seen.lock().unwrap()).into_owned()
    }

    pub(crate) async fn wait_for(&self, words: &str, within: Duration) {
        eventually(&format!("{words} is seen"), within, async || self.seen().contains(words).then_some(())).await;
    }

    pub(crate) fn press(&mut self, keys: &str) {
        self.keyboard.write_all(keys.as_bytes()).unwrap();
    }

    pub(crate) fn signal(&self, signal: Signal) {
        let pid = Pid::from_raw(i32::try_from(self.child.id()).unwrap()).unwrap();
        kill_process(pid, signal.into()).unwrap();
    }

    /// Whether keys come one by one and are not shown.
    pub(crate) fn is_raw(&self) -> bool {
        !tcgetattr(&self.line).unwrap().local_modes.intersects(LocalModes::ICANON | LocalModes::ECHO)
    }

    /// How the program ended.
    pub(crate) async fn ended(&mut self, within: Duration) -> Option<i32> {
        let child = Mutex::new(&mut self.child);
        let status = eventually("it ends", within, async || child.lock().unwrap().try_wait().unwrap()).await;
        status.code()
    }
}

impl Drop for Terminal {
    fn drop(&mut self) {
        // One that has ended already needs neither.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
