//! Free loopback ports.

use std::io;
use std::net::{Ipv4Addr, TcpListener};

/// A loopback port nobody listens on right now.
///
/// Between this answer and its use somebody else may take the port: whoever uses it must be ready to ask again.
pub fn free_port() -> io::Result<u16> {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    Ok(listener.local_addr()?.port())
}

/// Whether somebody accepts connections on this loopback port.
pub(crate) fn answers(port: u16) -> bool {
    std::net::TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_ok()
}
