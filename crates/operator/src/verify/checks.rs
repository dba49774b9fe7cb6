//! What can be found out before anything is changed.

use std::collections::BTreeSet;
use std::fmt::Write;

use providers::http::TransportError;
use providers::hypervisor::kit::IDS;
use providers::hypervisor::proxmox::{Credentials, Proxmox};
use providers::hypervisor::{
    CloneMode, Content, Error, Health, Hypervisor, Image, Inventory, Missing, Object, Presence, StorageName, VmId,
    VmRef,
};

use super::request::{Request, Wrong, refused_address};
use super::run::Run;
use crate::print::Paint;

/// What a run goes on with.
#[derive(Clone, Debug)]
pub(super) struct Ready {
    pub(super) health: Health,
    /// The image, on the node where it is.
    pub(super) image: VmRef,
    /// How clones are made.
    pub(super) mode: CloneMode,
}

/// What the checks found, in their order.
#[derive(Default)]
pub(super) struct Findings {
    lines: Vec<(Verdict, String)>,
    ready: Option<Ready>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Verdict {
    Good,
    Advice,
    Bad,
}

impl Findings {
    /// What to go on with, unless something must be put right first.
    pub(super) fn ready(self) -> Option<Ready> {
        let bad = self.lines.iter().any(|(verdict, _)| *verdict == Verdict::Bad);
        self.ready.filter(|_| !bad)
    }

    /// A line for each.
    pub(super) fn text(&self, paint: Paint) -> String {
        let mut text = String::new();
        for (verdict, line) in &self.lines {
            let word = match verdict {
                Verdict::Good => paint.good("ok     "),
                Verdict::Advice => paint.odd("advice "),
                Verdict::Bad => paint.bad("WRONG  "),
            };
            // Writing to a string cannot fail.
            let _ = writeln!(text, "  {word}  {}", line.replace('\n', "\n           "));
        }
        text
    }

    fn good(&mut self, line: impl Into<String>) {
        self.lines.push((Verdict::Good, line.into()));
    }

    fn bad(&mut self, line: impl Into<String>) {
        self.lines.push((Verdict::Bad, line.into()));
    }

    fn wrong(&mut self, flag: &'static str, why: impl Into<String>) {
        self.bad(Wrong::new(flag, why).to_string());
    }
}

/// Reads what there is and compares it with what was asked for.
pub(super) async fn check(proxmox: &Proxmox, request: &Request) -> Findings {
    let mut findings = Findings::default();
    if let Err(error) = look_around(proxmox, request, &mut findings).await {
        findings.bad(explained(&error, request));
    }
    findings
}

async fn look_around(proxmox: &Proxmox, request: &Request, findings: &mut Findings) -> Result<(), Error> {
    let health = proxmox.health().await?;
    findings.good(format!("Proxmox VE {}, as {}", health.version, health.identity));
    let inventory = proxmox.inventory().await?;
    places(&inventory, request, findings);
    let Some(row) = inventory.vms.iter().find(|row| row.vm.id == request.image) else {
        findings.wrong("--image", unlisted(request.image));
        return Ok(());
    };
    let image = proxmox.inspect(&row.vm).await?;
    let mode = match (&request.storage, image.linkable) {
        (Some(storage), _) => CloneMode::Full(Some(storage.clone())),
        (None, true) => CloneMode::Linked,
        (None, false) => CloneMode::Full(None),
    };
    suits(&image, &mode, request, findings);
    let storages: BTreeSet<StorageName> = image.storages.iter().chain(&request.storage).cloned().collect();
    let bench = Run::bench_for("checks", request, row.vm.clone(), mode.clone());
    privileges(&proxmox.permissions(&bench.needs(storages)).await?, findings);
    findings.ready = Some(Ready { health, image: row.vm.clone(), mode });
    Ok(())
}

fn unlisted(image: VmId) -> String {
    format!(
        "there is no VM {image}, or we may not see it: name a template, or grant VM.Audit and VM.Clone on /vms/{image}"
    )
}

/// Whether the node, the storages and the VMIDs are there.
fn places(inventory: &Inventory, request: &Request, findings: &mut Findings) {
    let node = inventory.nodes.iter().find(|row| row.name == request.node);
    match node.map(|row| row.presence) {
        Some(Presence::Online | Presence::Unknown) => {}
        Some(Presence::Offline) => findings.wrong("--node", format!("node {} is offline", request.node)),
        None => {
            let known = joined(inventory.nodes.iter().map(|row| &row.name));
            findings.wrong("--node", format!("there is no node {}; there are: {known}", request.node));
        }
    }
    let wanted = [
        ("--storage", &request.storage, Content::Disks, "disks"),
        ("--iso-storage", &request.iso_storage, Content::Isos, "ISO images"),
    ];
    for (flag, storage, content, word) in wanted {
        let Some(storage) = storage else { continue };
        let here = inventory.storages.iter().filter(|row| row.node == request.node && row.takes.contains(&content));
        if !here.clone().any(|row| row.name == *storage) {
            let known = joined(here.map(|row| &row.name));
            let why = format!("storage {storage} takes no {word} on node {}; these do: {known}", request.node);
            findings.wrong(flag, why);
        }
    }
    let taken: BTreeSet<VmId> = inventory.vms.iter().map(|row| row.vm.id).collect();
    let free = request.range.ids().filter(|id| !taken.contains(id)).count();
    let (first, last) = (request.range.first, request.range.last);
    if free < IDS {
        let why = format!("{free} VMIDs from {first} to {last} are free, {IDS} are needed; name another range");
        findings.wrong("--vmid-range", why);
    } else {
        findings.good(format!("{free} VMIDs from {first} to {last} are free"));
    }
}

/// Whether VMs can be made from the image as asked.
fn suits(image: &Image, mode: &CloneMode, request: &Request, findings: &mut Findings) {
    if let Err(error) = image.check() {
        return findings.wrong("--image", error.to_string());
    }
    if !image.nodes.contains(&request.node) {
        let known = joined(&image.nodes);
        let why = format!("image {} cannot be cloned on node {}; it can on: {known}", request.image, request.node);
        return findings.wrong("--node", why);
    }
    let name = image.name.as_deref().map(|name| format!(" ({name})")).unwrap_or_default();
    let kind = match mode {
        CloneMode::Linked => "linked clones".to_owned(),
        CloneMode::Full(Some(storage)) | CloneMode::LinkedOrFull(Some(storage)) => format!("whole copies on {storage}"),
        CloneMode::Full(None) | CloneMode::LinkedOrFull(None) => {
            "whole copies: its storage makes no linked clones".into()
        }
    };
    let size = image.disk.map(|size| format!(", its disk has {size}")).unwrap_or_default();
    findings.good(format!("image {}{name} on node {}: {kind}{size}", image.image.id, image.image.node));
}

fn privileges(missing: &[Missing], findings: &mut Findings) {
    if missing.iter().all(|one| !one.required) {
        findings.good("every privilege that is needed is granted");
    }
    for Missing { path, privileges, purpose, required, remedy } in missing {
        let verdict = if *required { Verdict::Bad } else { Verdict::Advice };
        let privileges = joined(privileges);
        findings.lines.push((verdict, format!("to {purpose}, grant {privileges} on {path}:\n{remedy}")));
    }
}

fn joined(names: impl IntoIterator<Item = impl ToString>) -> String {
    let names: BTreeSet<String> = names.into_iter().map(|name| name.to_string()).collect();
    if names.is_empty() { "none".to_owned() } else { names.into_iter().collect::<Vec<_>>().join(", ") }
}

/// An error with the flag that it is about.
fn explained(error: &Error, request: &Request) -> String {
    if let Error::Untrusted(TransportError::Refused(refused)) = error {
        return refused_address(refused).to_string();
    }
    if let Error::Untrusted(TransportError::Certificate { .. }) = error {
        let remedy =
            "On a node, /etc/pve/pve-root-ca.pem is what --ca-file takes, and `pvenode cert info` shows fingerprints.";
        return format!("--ca-file, --fingerprint: {error}\n{remedy}");
    }
    if let Error::Auth { .. } = error {
        let flag = match request.credentials {
            Credentials::Token { .. } => "--token-file",
            Credentials::Password { .. } => "--user, --password-file",
        };
        return format!("{flag}: {error}");
    }
    if let Error::Untrusted(_) | Error::NodeUnreachable { object: Object::Hypervisor, .. } = error {
        return format!("--endpoint: {error}");
    }
    error.to_string()
}
