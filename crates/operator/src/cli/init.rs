//! `hyperfleet init`: the flags.

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Arg, ArgAction, ArgGroup, ArgMatches, Command, value_parser};
use providers::http::Fingerprint;

use super::reach::{kubeconfig_flag, namespace_flag, reach};
use crate::init::{self, Store, Wish};
use crate::print;

const LONG_ABOUT: &str = "Set up a Proxmox VE and a CI platform for HyperFleet, and write the manifests.

It asks for what flags do not say. It prints the pveum lines that make pool, user, token, roles and rights for your version, or \
makes them itself with an administrator's login (--apply), which is used once and stored nowhere. It can make a GitHub App in \
your browser (--create-app). Each step is checked live. Secrets go into files that only you can read, or into the cluster \
(--apply-manifests). It can be ended at any moment and run again: what is there is not made twice, and a set-up for another \
server is never written over (--name gives this one names of its own).

Exit codes:
  0  everything is there, and works
  1  something is wrong; it is said what
  2  the command line is wrong
  3  something has to be done by hand first; it is said what";

const EXAMPLES: &str = "Examples:
  hyperfleet init
  hyperfleet init --print --endpoint https://pve.example.com:8006 --image 9000 --storage local-lvm
  hyperfleet init --endpoint https://pve.example.com:8006 --ca-file pve-root-ca.pem --image 9000 --storage local-lvm \\
    --iso-storage local --apply --ci https://github.com/acme --create-app --apply-manifests -n ci";

pub(super) fn command() -> Command {
    Command::new("init")
        .about("Set up a hypervisor and a CI platform, and write the manifests")
        .long_about(LONG_ABOUT)
        .after_help(EXAMPLES)
        .args(hypervisor())
        .args(access())
        .args(platform())
        .args(outcome())
        .group(ArgGroup::new("trust").args(["ca-file", "fingerprint"]))
        .group(ArgGroup::new("login").args(["ci-token-file", "create-app", "app-id"]))
}

fn flag(name: &'static str, value: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).value_name(value).help(help)
}

fn switch(name: &'static str, help: &'static str) -> Arg {
    Arg::new(name).long(name).action(ArgAction::SetTrue).help(help)
}

fn file(name: &'static str, help: &'static str) -> Arg {
    flag(name, "FILE", help).value_parser(value_parser!(PathBuf))
}

fn hypervisor() -> Vec<Arg> {
    vec![
        flag("endpoint", "URL", "The Proxmox VE API, such as https://pve.example.com:8006"),
        file("ca-file", "Certificate authorities to trust (PEM): /etc/pve/pve-root-ca.pem of a node"),
        flag("fingerprint", "SHA256", "Fingerprint of the one certificate to trust")
            .value_parser(value_parser!(Fingerprint)),
        flag("image", "VMID", "The template to make machines from"),
        flag("node", "NAME", "A node that gets machines; by default all that are online").action(ArgAction::Append),
        flag("storage", "NAME", "Storage for machines' disks"),
        flag("iso-storage", "NAME", "Storage for seed images; without one seeds are in the firmware"),
        flag("bridge", "NAME", "Bridge of the machines").default_value("vmbr0"),
        flag("pool", "NAME", "Resource pool of the machines").default_value("hyperfleet"),
        flag("vmid-range", "FIRST-LAST", "VMIDs of the machines").default_value("100000-109999"),
        flag("cpu", "NUMBER", "Processors of a machine").value_parser(value_parser!(u32)).default_value("2"),
        flag("memory", "SIZE", "Memory of a machine").default_value("4Gi"),
        flag("disk", "SIZE", "Disk of a machine").default_value("32Gi"),
    ]
}

fn access() -> Vec<Arg> {
    vec![
        flag("user", "NAME", "User of the token").default_value("hyperfleet@pve"),
        flag("token-name", "NAME", "Name of the token").default_value("fleet"),
        file("token-secret-file", "File with the secret of a token that exists; - reads standard input"),
        switch("print", "Print the pveum lines and nothing else").conflicts_with("apply"),
        switch("apply", "Make pool, user, token, roles and rights with an administrator's login"),
        switch("renew-token", "Make a token anew whose secret is not known here; whoever uses it is locked out")
            .requires("apply")
            .conflicts_with("token-secret-file"),
        flag("admin-user", "NAME", "The administrator").default_value("root@pam"),
        file("admin-password-file", "File with his password; - reads standard input; by default it is asked for"),
    ]
}

fn platform() -> Vec<Arg> {
    vec![
        flag("ci", "URL", "Where jobs come from: https://github.com/ORGANIZATION, with /REPOSITORY for one alone"),
        flag("platform", "NAME", "What that is, where its address does not say it").value_parser(["github", "gitea"]),
        file("ci-ca-file", "Certificate authorities of a platform with its own (PEM)"),
        file("ci-token-file", "File with a token for it; - reads standard input"),
        switch("create-app", "Make a GitHub App, in a browser"),
        switch("personal-account", "The App belongs to whoever makes it, not to an organization"),
        flag("app-id", "ID", "Client id of a GitHub App that exists")
            .requires("installation-id")
            .requires("app-key-file"),
        flag("installation-id", "NUMBER", "Its installation").value_parser(value_parser!(u64)).requires("app-id"),
        file("app-key-file", "File with its private key (PEM)").requires("app-id"),
        flag(
            "webhook-url",
            "URL",
            "Where webhooks reach the operator's ingress; without one GitHub's queue is listened to, and Gitea is polled",
        ),
        flag("label", "LABEL", "A label of the runners").action(ArgAction::Append).default_values([
            "self-hosted",
            "linux",
            "x64",
        ]),
    ]
}

fn outcome() -> Vec<Arg> {
    vec![
        namespace_flag(),
        flag("name", "NAME", "What the cluster is called; names of all other objects follow from it")
            .default_value(init::DEFAULT_NAME),
        flag("output", "DIRECTORY", "Where manifests are written")
            .value_parser(value_parser!(PathBuf))
            .default_value("hyperfleet-setup"),
        switch("apply-manifests", "Apply them to the cluster, Secrets too, which are in no file then"),
        kubeconfig_flag(),
        switch("yes", "Ask nothing"),
        switch("allow-loopback", "Talk to endpoints on this machine"),
    ]
}

pub(super) async fn run(matches: &ArgMatches) -> anyhow::Result<ExitCode> {
    let given = matches.get_one::<String>("namespace").cloned();
    let (cluster, namespace) = if matches.get_flag("apply-manifests") {
        let (client, namespace) = reach(matches).await?;
        (Some(client), namespace)
    } else {
        (None, given.unwrap_or_else(|| "default".to_owned()))
    };
    let wish = match Wish::read(matches, &namespace) {
        Ok(wish) => wish,
        Err(error) => {
            print::error(&error);
            return Ok(ExitCode::from(2));
        }
    };
    let store = Store { namespace, files: wish.output.clone(), cluster };
    init::run(&wish, &store).await
}
