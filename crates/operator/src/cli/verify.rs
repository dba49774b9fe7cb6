//! `hyperfleet verify`: the flags of a trial run on a real hypervisor.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};
use providers::http::Fingerprint;
use providers::hypervisor::kit::{Case, IDS};
use providers::hypervisor::{BridgeName, NodeName, PoolName, StorageName, VmId, VmIdRange};

use crate::print;
use crate::verify::{self, Code};

/// High enough to be free in most clusters.
const RANGE: &str = "990000-990099";

const ABOUT: &str = "Try out a hypervisor with a few throw-away VMs";

const LONG_ABOUT: &str = "Try out a real hypervisor with a few throw-away VMs, before you trust it with your jobs.

It checks what it was told, shows exactly what it will do, and asks. Then it makes, changes and removes VMs from one
image in one range of VMIDs, touches nothing else, and reports for each promise that HyperFleet relies on whether it holds.";

const PROXMOX: &str = "Try out a Proxmox VE, or a cluster of them.

The image is a template without a TPM. Started VMs have its network, or the bridge that is named.

Exit codes:
  0    everything that could be tried passed
  1    something did not pass, or a check beforehand
  2    the command line is wrong; nothing was touched
  3    not confirmed; nothing was changed
  130  interrupted";

const EXAMPLES: &str = "Examples:
  hyperfleet verify proxmox --endpoint https://pve.example.com:8006 \\
    --ca-file pve-root-ca.pem --token-file token --image 9000 --node pve1
  hyperfleet verify proxmox ... --record answers.jsonl

The token file holds one line: user@realm!name=secret.

If your Proxmox VE does not behave as our simulated one, a recorded file shows where.
Read it, then attach it to an issue.";

pub(super) fn command() -> Command {
    let proxmox = Command::new("proxmox")
        .about("Try out a Proxmox VE")
        .long_about(PROXMOX)
        .after_help(EXAMPLES)
        .args(connection())
        .args(objects())
        .args(conduct())
        .group(ArgGroup::new("credentials").args(["token-file", "user"]).required(true))
        .group(ArgGroup::new("trust").args(["ca-file", "fingerprint", "insecure-skip-tls-verify"]));
    Command::new("verify")
        .about(ABOUT)
        .long_about(LONG_ABOUT)
        .subcommand_required(true)
        .arg_required_else_help(true)
        .subcommand(proxmox)
}

fn flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn connection() -> Vec<Arg> {
    let file = value_parser!(PathBuf);
    vec![
        flag("endpoint", "URL", "The API, such as https://pve.example.com:8006").required(true),
        flag("token-file", "FILE", "File with an API token, user@realm!name=secret; - reads standard input")
            .value_parser(file.clone()),
        flag("user", "NAME", "User to log in as, user@realm").requires("password-file"),
        flag("password-file", "FILE", "File with the user's password; - reads standard input")
            .value_parser(file.clone())
            .requires("user")
            .conflicts_with("token-file"),
        flag("ca-file", "FILE", "Certificate authorities to trust (PEM); by default those of this system")
            .value_parser(file),
        flag("fingerprint", "SHA256", "Fingerprint of the one certificate to trust, such as AA:BB:...")
            .value_parser(value_parser!(Fingerprint)),
        switch("insecure-skip-tls-verify", "Trust any certificate: whoever is on the way can read the credentials"),
        switch("allow-loopback", "Talk to an endpoint on this machine"),
    ]
}

fn objects() -> Vec<Arg> {
    let storage =
        "Make whole copies on this storage; by default linked clones, or whole copies where those are impossible";
    let iso = "Storage to upload seed images to; what --seed iso needs";
    let seed = "How VMs get their seed [default: iso with --iso-storage, else smbios]";
    vec![
        flag("image", "VMID", "The template to make VMs from").value_parser(value_parser!(VmId)).required(true),
        flag("node", "NAME", "The node to make VMs on").value_parser(value_parser!(NodeName)).required(true),
        flag("pool", "NAME", "Resource pool to put VMs into").value_parser(value_parser!(PoolName)),
        flag("storage", "NAME", storage).value_parser(value_parser!(StorageName)),
        flag("iso-storage", "NAME", iso).value_parser(value_parser!(StorageName)),
        flag("seed", "KIND", seed).value_parser(["iso", "smbios", "native"]),
        flag("bridge", "NAME", "Bridge or virtual network of the VMs; by default the image's")
            .value_parser(value_parser!(BridgeName)),
        flag("vmid-range", "FIRST-LAST", "VMIDs to use; those that are taken are passed over")
            .value_parser(range)
            .default_value(RANGE),
    ]
}

fn conduct() -> Vec<Arg> {
    let named = |name: String| Case::ALL.into_iter().find(|case| case.name() == name).ok_or("no such case");
    let cases = PossibleValuesParser::new(Case::ALL.map(Case::name)).try_map(named);
    vec![
        flag("only", "CASE,...", "Try only these").value_delimiter(',').value_parser(cases),
        switch("yes", "Do not ask"),
        flag("record", "FILE", "Write every call and its answer to this file, a line of JSON each, without secrets")
            .value_parser(value_parser!(PathBuf)),
    ]
}

fn range(text: &str) -> Result<VmIdRange, String> {
    let (first, last) = text.split_once('-').ok_or("expected two VMIDs, such as 990000-990099")?;
    let end = |text: &str| text.trim().parse::<VmId>().map_err(|error| error.to_string());
    let range = VmIdRange { first: end(first)?, last: end(last)? };
    if range.ids().nth(IDS - 1).is_none() {
        return Err(format!("expected a range of at least {IDS} VMIDs, the lower one first"));
    }
    Ok(range)
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let (_, matches) = matches.subcommand().expect("clap demands one");
    let request = match verify::Request::read(matches) {
        Ok(request) => request,
        Err(wrong) => {
            print::error(&anyhow::Error::new(wrong));
            return Ok(Code::Usage.into());
        }
    };
    Ok(verify::run(request).await?.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_range_has_two_ends_and_room_enough() {
        let good = range("990000-990099").unwrap();
        assert_eq!((good.first.get(), good.last.get()), (990_000, 990_099));
        for (text, says) in [
            ("990000", "expected two VMIDs"),
            ("1-200", "\"1\" is no VMID"),
            ("200-100", "at least 40 VMIDs"),
            ("200-238", "at least 40 VMIDs"),
        ] {
            assert!(range(text).unwrap_err().contains(says), "{text}");
        }
        assert!(range("200-239").is_ok());
    }
}
