//! `hyperfleet up backup`: everything as it is now, in a new file, while the server runs or not.

use std::fs::{self, File, OpenOptions, TryLockError};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::time::Duration;

use anyhow::{Context, ensure};
use apiserver::store::{Disk, Saved, Storage as _};
use clap::{Arg, ArgMatches, Command, value_parser};
use tokio::time::Instant;

use super::directory;
use super::folder::Folder;
use crate::print;
use crate::single::backup::ask;

/// How long a server may take to start, and to end.
const PATIENCE: Duration = Duration::from_secs(10);

/// Between two looks at whether it has.
const PAUSE: Duration = Duration::from_millis(100);

const LONG_ABOUT: &str = "Write everything as it is at this moment into a new file: every object, Secrets included.

It works while `hyperfleet up` runs and while it does not. Keys and the kubeconfig are not in it: they are made anew where \
they are missing. To restore it, end `hyperfleet up`, put the file in the place of state.redb in the data directory, and \
start it again.";

pub(super) fn command() -> Command {
    let file = Arg::new("file")
        .value_name("FILE")
        .required(true)
        .value_parser(value_parser!(PathBuf))
        .help("The new file; nothing is overwritten. Keep it as safe as the data directory: Secrets are in it");
    Command::new("backup")
        .about("Write everything into a new file, while it runs")
        .long_about(LONG_ABOUT)
        .arg(directory().required(true))
        .arg(file)
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<()> {
    let directory = matches.get_one::<PathBuf>("data-dir").context("--data-dir is missing")?;
    let file = matches.get_one::<PathBuf>("file").context("FILE is missing")?;
    let folder = Folder::at(directory)?;
    ensure!(!fs::exists(file)?, "{} exists already: name a file that does not", file.display());
    let bytes = take(&folder).await?;
    write(file, &bytes).with_context(|| format!("{} cannot be written", file.display()))?;
    let Saved { revision, objects, .. } = Disk::open(file)?.load()?;
    let (count, shown) = (objects.len(), file.display());
    Ok(print::out(&format!("{shown} holds {count} objects as they were at revision {revision}\n"))?)
}

/// Everything as it is: from the server, or from its file if nobody runs. Who has the file and does not answer is about to
/// start, or to end.
async fn take(folder: &Folder) -> anyhow::Result<Vec<u8>> {
    let (state, begun) = (folder.state(), Instant::now());
    loop {
        match ask(&folder.socket()).await {
            Ok(bytes) => return Ok(bytes),
            Err(error) if matches!(error.kind(), ErrorKind::NotFound | ErrorKind::ConnectionRefused) => {}
            Err(error) => return Err(error).context("the running server gives no backup"),
        }
        ensure!(fs::exists(&state)?, "{} holds no state.redb: nothing was ever kept in it", folder.path.display());
        if begun.elapsed() > PATIENCE || !taken(&state)? {
            return Ok(Disk::image(&Disk::open(&state)?.load()?)?);
        }
        tokio::time::sleep(PAUSE).await;
    }
}

/// Whether a process has the file open.
fn taken(path: &Path) -> std::io::Result<bool> {
    match File::open(path)?.try_lock_shared() {
        Ok(()) => Ok(false),
        Err(TryLockError::WouldBlock) => Ok(true),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

/// Writes a new file that only its owner reads; a part of one is removed again.
fn write(path: &Path, bytes: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?;
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    // The name of a new file is kept by its directory.
    let written = file.write_all(bytes).and_then(|()| file.sync_all()).and_then(|()| File::open(folder)?.sync_all());
    if written.is_err() {
        let _ = fs::remove_file(path);
    }
    written
}
