//! Tells systemd again and again that the agent is alive.
//!
//! An agent that hangs powers nothing off. systemd ends one that has been silent for as long as the unit says, and then
//! runs what the unit has for that case: `hyperfleet-agent off`, as after every other end of the agent.

use std::ffi::{OsStr, OsString};
use std::io;
use std::os::linux::net::SocketAddrExt as _;
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::net::{SocketAddr, UnixDatagram};
use std::time::Duration;

use clap::Args;

/// What systemd says about it to the programs that it starts.
#[derive(Debug, Args)]
pub(crate) struct Watchdog {
    /// Where systemd listens
    #[arg(long, env = "NOTIFY_SOCKET", hide = true)]
    notify_socket: Option<OsString>,
    /// How long it waits for the next word, in microseconds
    #[arg(long, env = "WATCHDOG_USEC", hide = true)]
    watchdog_usec: Option<u64>,
}

/// The word.
const ALIVE: &[u8] = b"WATCHDOG=1";

impl Watchdog {
    /// Says the word twice in the time that systemd waits; never ends. Without somebody who listens it says nothing.
    pub(crate) async fn feed(&self) {
        let (Some(place), Some(patience)) = (&self.notify_socket, self.patience()) else {
            return std::future::pending().await;
        };
        loop {
            if let Err(error) = say(place, ALIVE) {
                tracing::warn!(%error, "systemd cannot be told that the agent is alive");
            }
            tokio::time::sleep(patience / 2).await;
        }
    }

    fn patience(&self) -> Option<Duration> {
        self.watchdog_usec.filter(|patience| *patience > 0).map(Duration::from_micros)
    }
}

fn say(place: &OsStr, word: &[u8]) -> io::Result<()> {
    let address = match place.as_bytes() {
        [b'@', name @ ..] => SocketAddr::from_abstract_name(name)?,
        _ => SocketAddr::from_pathname(place)?,
    };
    UnixDatagram::unbound()?.send_to_addr(word, &address).map(drop)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn the_word_is_said_wherever_systemd_listens() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("notify");
        let name = format!("hyperfleet-agent-test-{}", std::process::id());
        let abstract_name = SocketAddr::from_abstract_name(&name).unwrap();
        let places = [
            (path.clone().into_os_string(), UnixDatagram::bind(&path).unwrap()),
            (format!("@{name}").into(), UnixDatagram::bind_addr(&abstract_name).unwrap()),
        ];
        for (place, systemd) in places {
            let watchdog = Watchdog { notify_socket: Some(place), watchdog_usec: Some(20_000) };
            let fed = tokio::time::timeout(Duration::from_millis(100), watchdog.feed()).await;
            assert!(fed.is_err(), "it never ends");
            for _ in 0..2 {
                let mut word = [0; 32];
                let length = systemd.recv(&mut word).unwrap();
                assert_eq!(&word[..length], ALIVE);
            }
        }
    }
}
