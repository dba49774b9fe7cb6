//! Files that come from outside.

use sha1::Sha1;
use sha2::{Digest as _, Sha224, Sha256, Sha384, Sha512};

use super::{Call, disks};
use crate::proxmox::failure::{Failure, Outcome};
use crate::proxmox::hex::hex;
use crate::proxmox::model::{Content, Volume};

pub(super) fn upload(call: &Call) -> Outcome {
    let Some(file) = call.upload.clone() else {
        return Err(Failure::param("filename", "property is missing and it is not optional"));
    };
    let (node, storage) = (call.node().to_owned(), call.params.get("storage").unwrap_or_default().to_owned());
    let word = call.params.get("content").unwrap_or_default().to_owned();
    let content = Content::named(&word).unwrap_or(Content::Iso);
    let name = normal(&file.name);
    let extensions: &[&str] = match content {
        Content::Iso => &[".iso", ".img"],
        Content::Import => &[".ova", ".qcow2", ".raw", ".vmdk"],
        Content::Template => &[".tar.gz", ".tar.xz", ".tar.zst"],
        Content::Images | Content::Snippets => &[],
    };
    if !extensions.iter().any(|extension| name.ends_with(extension)) {
        return Err(Failure::param("filename", "wrong file extension"));
    }
    {
        let state = call.world.state();
        let known = disks::usable(&state, &storage, &node)?;
        if !known.kind.is_files() {
            return Err(Failure::died(format!("can't upload to storage type '{}'", known.kind.as_str())));
        }
        if !known.holds(&word) {
            return Err(Failure::died(format!("storage '{storage}' does not support '{word}' content")));
        }
    }
    let expected = call.params.get("checksum").map(str::to_lowercase);
    let algorithm = call.params.get("checksum-algorithm").unwrap_or_default().to_owned();
    let size = u64::try_from(file.bytes.len()).unwrap_or(u64::MAX);
    call.fork("imgcopy", "", move |worker| async move {
        worker.log(format!("starting file import from: /var/tmp/pveupload-{size:x}"));
        worker.log(format!("target node: {node}"));
        worker.log(format!("file size is: {size}"));
        if let (Some(expected), Some(got)) = (expected, checksum(&algorithm, &file.bytes)) {
            if got != expected {
                return Err(Failure::died(format!("checksum mismatch: got '{got}' != expect '{expected}'")));
            }
            worker.log("calculating checksum...OK, checksum verified");
        }
        let volume = Volume {
            content,
            format: if content == Content::Iso { "iso" } else { "raw" },
            used: size,
            vmid: None,
            bytes: Some(file.bytes),
            ..Volume::image(0, "raw", size, worker.world.now().as_second())
        };
        let mut state = worker.world.state();
        if let Some(known) = state.storages.get_mut(&storage) {
            known.put(&node, &format!("{}/{name}", content.as_str()), volume);
        }
        drop(state);
        worker.log("finished file import successfully");
        Ok(())
    })
}

/// The checksum of a file, by the algorithms that need no further library.
fn checksum(algorithm: &str, bytes: &[u8]) -> Option<String> {
    match algorithm {
        "sha1" => Some(hex(&Sha1::digest(bytes))),
        "sha224" => Some(hex(&Sha224::digest(bytes))),
        "sha256" => Some(hex(&Sha256::digest(bytes))),
        "sha384" => Some(hex(&Sha384::digest(bytes))),
        "sha512" => Some(hex(&Sha512::digest(bytes))),
        _ => None,
    }
}

/// A name without a path and without what file systems do not like.
fn normal(name: &str) -> String {
    let file = name.rsplit(['/', '\\']).next().unwrap_or(name);
    file.chars().map(|c| if c.is_ascii_alphanumeric() || "_.-".contains(c) { c } else { '_' }).collect()
}
