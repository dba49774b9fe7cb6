//! Manifests in files, of which only the owner reads those with secrets.

use std::fs::{self, DirBuilder};
use std::io::{self, ErrorKind};
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};

use anyhow::{Context, anyhow, bail};
use providers::hex;
use serde_json::Value;
use sha2::{Digest as _, Sha256};

use super::words;
use crate::manifest;
use crate::single::files::{replace, replace_as};

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

/// Sees to it that there is a directory, that files can be written there, and that git sees none that holds a secret.
pub(super) fn ready(directory: &Path) -> anyhow::Result<()> {
    seen_to(directory).with_context(|| format!("--output: {} cannot be written to", directory.display()))
}

fn seen_to(directory: &Path) -> io::Result<()> {
    DirBuilder::new().recursive(true).mode(0o700).create(directory)?;
    let probe = directory.join(".hyperfleet-init");
    replace(&probe, b"")?;
    fs::remove_file(&probe)?;
    let ignored = directory.join(".gitignore");
    if ignored.exists() {
        return Ok(());
    }
    // Beside files of somebody else only the secret ones are ours to hide.
    let ours_alone = fs::read_dir(directory)?.next().is_none();
    replace_as(0o644, &ignored, if ours_alone { b"*\n" } else { b"secret-*\n.secret-*\n" })
}

/// Whether the file of an object is to stay as it is: somebody has changed it, and it says all that is wanted. One that says
/// something else is never written over.
pub(super) fn stays(directory: &Path, wanted: &Value) -> anyhow::Result<bool> {
    let (kind, name) = words(wanted);
    let (path, Some(there)) = (path(directory, kind, name), read(directory, kind, name)?) else { return Ok(false) };
    let text = fs::read_to_string(&path).unwrap_or_default();
    if text.split_once('\n').is_some_and(|(first, rest)| first == mark(rest)) {
        return Ok(false);
    }
    let fields = differing("spec", &there["spec"], &wanted["spec"]);
    if fields.is_empty() {
        return Ok(true);
    }
    bail!(
        "{kind} {name} in {} was changed by hand in {}, and stays as it is: change it there, move it away to have it written \
         anew, or give this set-up a name of its own with --name",
        path.display(),
        fields.join(", ")
    )
}

/// The fields of what is wanted that what is there says otherwise.
fn differing(path: &str, there: &Value, wanted: &Value) -> Vec<String> {
    match (there, wanted) {
        (Value::Object(there), Value::Object(wanted)) => wanted
            .iter()
            .flat_map(|(name, wanted)| {
                differing(&format!("{path}.{name}"), there.get(name).unwrap_or(&Value::Null), wanted)
            })
            .collect(),
        (there, wanted) if there == wanted => Vec::new(),
        (_, _) => vec![path.to_owned()],
    }
}

/// The first line of a file, which tells what was written here from what somebody has changed.
fn mark(text: &str) -> String {
    format!("# Written by hyperfleet init: {}", hex::encode(&Sha256::digest(text)))
}

/// Writes an object into its file.
pub(super) fn write(directory: &Path, object: &Value) -> anyhow::Result<()> {
    let (kind, name) = words(object);
    let (path, text) = (path(directory, kind, name), manifest::yaml(std::slice::from_ref(object)));
    let written = match kind {
        "Secret" => replace(&path, text.as_bytes()),
        _ => replace_as(0o644, &path, format!("{}\n{text}", mark(&text)).as_bytes()),
    };
    written.with_context(|| format!("--output: {} cannot be written", path.display()))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn more_than_is_wanted_is_no_difference() {
        let wanted = json!({ "storage": "disks", "nodes": [{ "name": "a" }], "proxmox": { "pool": "hf" } });
        let there = json!({ "storage": "disks", "nodes": [{ "name": "a" }], "proxmox": { "pool": "hf", "more": 1 } });
        assert!(differing("spec", &there, &wanted).is_empty());
        let other = json!({ "storage": "tank", "nodes": [{ "name": "b" }], "proxmox": {} });
        assert_eq!(differing("spec", &other, &wanted), ["spec.nodes", "spec.proxmox.pool", "spec.storage"]);
    }
}
