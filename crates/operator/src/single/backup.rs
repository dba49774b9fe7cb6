//! Backups of a running server, for whoever may open a socket in its data directory: its owner, and root.
//!
//! Whoever connects gets `ok`, the number of bytes, and a database with everything as it is at that moment; or `no` and why.
//! The server stands still only while it copies what it has in memory.

use std::fs::{self, File, Permissions};
use std::io::{self, ErrorKind, Read as _};
use std::os::unix::fs::PermissionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use apiserver::ApiServer;
use apiserver::store::{Disk, Store};
use chassis::Tasks;
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, AsyncWriteExt as _, BufReader};
use tokio::net::{UnixListener, UnixStream};

use super::SingleError;

/// What the names of half-made backups begin with.
pub(crate) const PREFIX: &str = ".backup-";

/// How long whoever asked may take to read.
const PATIENCE: Duration = Duration::from_mins(2);

/// Gives backups at `socket` until `tasks` stop; each is made in `folder` first.
pub(crate) fn serve(socket: &Path, folder: &Path, server: &ApiServer, tasks: &Tasks) -> Result<(), SingleError> {
    let refused = |source| SingleError::File { path: socket.to_owned(), source };
    let listener = UnixListener::bind(socket).map_err(refused)?;
    fs::set_permissions(socket, Permissions::from_mode(0o600)).map_err(refused)?;
    let clerk = Clerk { server: server.clone(), folder: folder.to_owned(), made: Arc::default() };
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

struct Clerk {
    server: ApiServer,
    folder: PathBuf,
    made: Arc<AtomicU64>,
}

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
        let (server, folder) = (self.server.clone(), self.folder.clone());
        let number = self.made.fetch_add(1, Ordering::Relaxed);
        let made =
            tokio::task::spawn_blocking(move || make(&server, &folder.join(format!("{PREFIX}{number}.redb")))).await;
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

/// Everything as it is now, as a database.
fn make(server: &ApiServer, path: &Path) -> io::Result<Vec<u8>> {
    let saved = server.store(Store::saved);
    let made = Disk::save(path, &saved).map_err(io::Error::other);
    let read = made.and_then(|()| File::open(path));
    // It has no name from here on: nothing is left of it, whatever happens.
    let removed = fs::remove_file(path);
    let mut bytes = Vec::new();
    read?.read_to_end(&mut bytes)?;
    removed?;
    Ok(bytes)
}
