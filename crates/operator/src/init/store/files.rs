//! Manifests in files, of which only the owner reads those with secrets.

use std::fs::{self, File};
use std::io::{ErrorKind, Write as _};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow};
use serde_json::Value;

use super::words;
use crate::manifest;

fn path(directory: &Path, kind: &str, name: &str) -> PathBuf {
    directory.join(format!("{}-{name}.yaml", kind.to_lowercase()))
}

/// The object in a file; nothing if there is no such file. One that is there and cannot be read is never taken for none.
pub(super) fn read(directory: &Path, kind: &str, name: &str) -> anyhow::Result<Option<Value>> {
    let path = path(directory, kind, name);
    let text = match fs::read_to_string(&path) {
        Ok(text) => text,
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(None),
        Err(error) => {
            let told = format!("--output: {} cannot be read; make it readable, or move it away", path.display());
            return Err(anyhow!(error).context(told));
        }
    };
    // What is wrong with it is not told: it would show what is in it.
    let wrong = |_| anyhow!("--output: {} is no manifest; correct it, or move it away", path.display());
    serde_saphyr::from_str(&text).map(Some).map_err(wrong)
}

/// Writes an object into its file.
pub(super) fn write(directory: &Path, object: &Value) -> anyhow::Result<()> {
    let (kind, name) = words(object);
    let (path, text) = (path(directory, kind, name), manifest::yaml(std::slice::from_ref(object)));
    whole(&path, &text, kind == "Secret").with_context(|| format!("--output: {} cannot be written", path.display()))
}

/// Writes a file whole or not at all; a secret one is the owner's alone from its first moment.
fn whole(path: &Path, text: &str, secret: bool) -> std::io::Result<()> {
    if let Some(directory) = path.parent().filter(|directory| !directory.exists()) {
        fs::DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    }
    let beside = path.with_extension("yaml.new");
    let mut file = File::options()
        .write(true)
        .create(true)
        .truncate(true)
        .mode(if secret { 0o600 } else { 0o644 })
        .open(&beside)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&beside, path)
}
