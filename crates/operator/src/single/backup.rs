//! Backups of a running server, for whoever may open a socket in its data directory: its owner, and root.
//!
//! Whoever connects gets `ok`, the number of bytes, and a database with everything as it is at that moment; or `no` and why.
//! The server stands still only while it copies what it has in memory.

use std::fs::{self, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::time::Duration;

use apiserver::ApiServer;
use apiserver::store::{Disk, Store};
use chassis::Tasks;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::SingleError;

/// How long whoever asked may take to read.
const PATIENCE: Duration = Duration::from_mins(2);

/// Gives backups at `socket` until `tasks` stop.
pub(crate) fn serve(socket: &Path, server: &ApiServer, tasks: &Tasks) -> Result<(), SingleError> {
    let refused = |source| SingleError::File { path: socket.to_owned(), source };
    let listener = UnixListener::bind(socket).map_err(refused)?;
    fs::set_permissions(socket, Permissions::from_mode(0o600)).map_err(refused)?;
    let clerk = Clerk(server.clone());
    let stopping = tasks.stopping();
    tasks.spawn("backups", async move {
        tokio::select! {
            () = stopping => {}
            () = clerk.accept(listener) => {}
        }
    });
    Ok(())
}

/// Asks the server that listens on `socket` for a backup.
pub(crate) async fn ask(socket: &Path) -> io::Result<Vec<u8>> {
    let mut stream = BufReader::new(UnixStream::connect(socket).await?);
    let mut head = String::new();
    stream.read_line(&mut head).await?;
    let length = match head.trim_end().split_once(' ') {
        Some(("ok", length)) => length.parse::<usize>().map_err(io::Error::other)?,
        Some(("no", why)) => return Err(io::Error::other(why.to_owned())),
        Some(_) | None => return Err(io::Error::other("it ended before it had said anything")),
    };
    let mut bytes = Vec::with_capacity(length);
    stream.read_to_end(&mut bytes).await?;
    if bytes.len() == length { Ok(bytes) } else { Err(ErrorKind::UnexpectedEof.into()) }
}

struct Clerk(ApiServer);

impl Clerk {
    /// One after the other: each holds a copy of everything.
    async fn accept(self, listener: UnixListener) {
        loop {
            match listener.accept().await {
                Ok((stream, _)) => match tokio::time::timeout(PATIENCE, self.answer(stream)).await {
                    Ok(Ok(())) => {}
                    Ok(Err(error)) => tracing::warn!(%error, "a backup was not taken"),
                    Err(_) => tracing::warn!("a backup was not taken in time"),
                },
                Err(error) => {
                    tracing::warn!(%error, "nobody can ask for a backup");
                    tokio::time::sleep(Duration::from_secs(1)).await;
                }
            }
        }
    }

    async fn answer(&self, mut stream: UnixStream) -> io::Result<()> {
        let server = self.0.clone();
        let made = tokio::task::spawn_blocking(move || Disk::image(&server.store(Store::saved))).await;
        match made.map_err(io::Error::other)? {
            Ok(bytes) => {
                stream.write_all(format!("ok {}\n", bytes.len()).as_bytes()).await?;
                stream.write_all(&bytes).await?;
                tracing::info!(bytes = bytes.len(), "a backup was taken");
            }
            Err(error) => {
                tracing::warn!(%error, "no backup can be made");
                stream.write_all(format!("no {}\n", error.to_string().replace('\n', " ")).as_bytes()).await?;
            }
        }
        stream.shutdown().await
    }
}
