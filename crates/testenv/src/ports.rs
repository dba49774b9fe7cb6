//! Free loopback ports, each for one program on this machine.
//!
//! A port that the kernel chose is anybody's as soon as it is let go: of another test that asks for one, and of every
//! connection that goes out. So ours are from below the range that the kernel chooses from, and whoever has one keeps a
//! lock on a file of that name for as long as its process lives.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io;
use std::net::{Ipv4Addr, TcpListener};
use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

/// Below them are the ports of well-known services.
const FIRST: u16 = 10_000;

/// Where the kernel begins to choose if it does not say.
const USUAL: u16 = 32_768;

/// The locks of this process.
static HELD: Mutex<Vec<File>> = Mutex::new(Vec::new());

/// A loopback port nobody listens on, which no other process that asks here is given while this one lives. Somebody else
/// may still take it: whoever can must be ready to ask again.
pub fn free_port() -> io::Result<u16> {
    let directory = std::env::temp_dir().join("hyperfleet-ports");
    fs::create_dir_all(&directory)?;
    // For every user of this machine; whoever made it has said so already.
    let _ = fs::set_permissions(&directory, fs::Permissions::from_mode(0o1777));
    let last = ephemeral().max(FIRST + 1) - 1;
    // Neighbours begin at different places, so that they seldom meet.
    let offset = std::process::id() % u32::from(last - FIRST);
    let begin = FIRST + u16::try_from(offset).unwrap_or_default();
    for port in (begin..=last).chain(FIRST..begin) {
        if let Some(lock) = lock(directory.join(port.to_string()))?
            && TcpListener::bind((Ipv4Addr::LOCALHOST, port)).is_ok()
        {
            HELD.lock().unwrap_or_else(PoisonError::into_inner).push(lock);
            return Ok(port);
        }
    }
    Err(io::Error::new(io::ErrorKind::AddrInUse, format!("no port from {FIRST} to {last} is free")))
}

/// The first port that the kernel may choose by itself.
fn ephemeral() -> u16 {
    let range = fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range").unwrap_or_default();
    range.split_whitespace().next().and_then(|first| first.parse().ok()).unwrap_or(USUAL)
}

/// A lock on the file, if nobody has one. Whoever dies gives it back.
fn lock(path: PathBuf) -> io::Result<Option<File>> {
    let file = match OpenOptions::new().create(true).truncate(false).write(true).open(path) {
        Ok(file) => file,
        // Another user of this machine was here.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => return Ok(None),
        Err(error) => return Err(error),
    };
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Whether somebody accepts connections on this loopback port.
pub(crate) fn answers(port: u16) -> bool {
    std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn nobody_is_given_the_port_of_another() {
        let ports: BTreeSet<u16> = (0..100).map(|_| free_port().unwrap()).collect();
        assert_eq!(ports.len(), 100);
        assert!(ports.iter().all(|port| (FIRST..ephemeral()).contains(port)), "the kernel may choose one of {ports:?}");
    }

    #[test]
    fn a_port_that_somebody_listens_on_is_left_out() {
        let begin = free_port().unwrap();
        let _taken = TcpListener::bind((Ipv4Addr::LOCALHOST, begin + 1));
        assert_ne!(free_port().unwrap(), begin + 1);
    }
}
