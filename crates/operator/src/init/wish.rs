//! What somebody wishes for: from flags, and from questions where flags are missing and somebody is there.

use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::str::FromStr;

use anyhow::{Context, anyhow, bail};
use clap::ArgMatches;
use providers::http::{AddressPolicy, Fingerprint, Trust};
use providers::hypervisor::proxmox::Generation;
use providers::hypervisor::{BridgeName, Needs, NodeName, PoolName, StorageName, VmId, VmIdRange};
use secrecy::SecretString;

use crate::print;

/// What somebody wishes for.
pub(crate) struct Wish {
    pub(crate) endpoint: String,
    /// How its certificate is believed; nothing if that is to be found out.
    pub(crate) trust: Option<Trust>,
    pub(crate) generation: Option<Generation>,
    pub(crate) user: String,
    pub(crate) token: String,
    /// The secret of a token that exists.
    pub(crate) token_secret: Option<SecretString>,
    /// Who makes what is missing, with which password; nothing if lines are only printed.
    pub(crate) admin: Option<(String, SecretString)>,
    pub(crate) pool: PoolName,
    pub(crate) image: VmId,
    pub(crate) nodes: Vec<NodeName>,
    pub(crate) storage: StorageName,
    pub(crate) iso: Option<StorageName>,
    pub(crate) bridge: BridgeName,
    pub(crate) range: VmIdRange,
    pub(crate) ci: Option<Ci>,
    pub(crate) labels: Vec<String>,
    pub(crate) policy: AddressPolicy,
    pub(crate) output: PathBuf,
    pub(crate) namespace: String,
    pub(crate) cpu: u32,
    pub(crate) memory: String,
    pub(crate) disk: String,
    /// Whether only lines are printed.
    pub(crate) print_only: bool,
}

/// Where jobs come from.
pub(crate) struct Ci {
    pub(crate) platform: api::Platform,
    /// Scheme and host.
    pub(crate) url: String,
    /// `organization`, `organization/repository`, or nothing for all of it.
    pub(crate) scope: Vec<String>,
    pub(crate) trust: Trust,
    pub(crate) ca: Option<String>,
    pub(crate) token: Option<SecretString>,
    pub(crate) app: Option<GivenApp>,
    pub(crate) create_app: bool,
    pub(crate) personal: bool,
    pub(crate) webhook: Option<String>,
}

/// An App that exists.
pub(crate) struct GivenApp {
    pub(crate) id: String,
    pub(crate) installation: u64,
    pub(crate) key: SecretString,
}

impl Wish {
    /// Reads flags and the files they name, and asks for what is missing.
    pub(crate) fn read(matches: &ArgMatches, namespace: &str) -> anyhow::Result<Self> {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let endpoint = needed(matches, "endpoint", "Proxmox VE endpoint (https://pve.example.com:8006): ")?;
        let image = needed(matches, "image", "VMID of the template to make machines from: ")?;
        let storage = needed(matches, "storage", "Storage for machines' disks (local-lvm): ")?;
        let iso = asked(matches, "iso-storage", "Storage for seed images, content type iso (empty: seed by SMBIOS): ")?;
        let print_only = matches.get_flag("print");
        let admin = match (matches.get_flag("apply") && !print_only).then(|| text("admin-user")).flatten() {
            None => None,
            Some(user) => {
                let password = secret(matches, "admin-password-file", &format!("Password of {user}: "))?;
                let missing = "--apply needs the administrator's password: nobody is at the terminal to ask; add \
                               --admin-password-file";
                Some((user, password.context(missing)?))
            }
        };
        let loopback = ["127.0.0.0/8", "::1"].map(|range| range.parse().expect("these are ranges"));
        let allow = if matches.get_flag("allow-loopback") { loopback.to_vec() } else { Vec::new() };
        Ok(Self {
            endpoint: endpoint.trim().trim_end_matches('/').to_owned(),
            trust: trust(matches)?,
            generation: text("proxmox-version").and_then(|version| Generation::of(&version)),
            user: text("user").unwrap_or_default(),
            token: text("token-name").unwrap_or_default(),
            token_secret: file(matches, "token-secret-file")?,
            admin,
            pool: parsed("--pool", &text("pool").unwrap_or_default())?,
            image: parsed("--image", &image)?,
            nodes: many(matches, "node").iter().map(|name| parsed("--node", name)).collect::<Result<_, _>>()?,
            storage: parsed("--storage", &storage)?,
            iso: iso.map(|name| parsed("--iso-storage", &name)).transpose()?,
            bridge: parsed("--bridge", &text("bridge").unwrap_or_default())?,
            range: range(&text("vmid-range").unwrap_or_default())?,
            ci: if print_only { None } else { Ci::read(matches)? },
            labels: many(matches, "label"),
            policy: AddressPolicy { allow, deny: Vec::new() },
            output: matches.get_one::<PathBuf>("output").cloned().unwrap_or_default(),
            namespace: namespace.to_owned(),
            cpu: matches.get_one::<u32>("cpu").copied().unwrap_or(2),
            memory: text("memory").unwrap_or_default(),
            disk: text("disk").unwrap_or_default(),
            print_only,
        })
    }

    /// The token's whole name.
    pub(crate) fn identity(&self) -> String {
        format!("{}!{}", self.user, self.token)
    }

    /// What machines will use.
    pub(crate) fn needs(&self) -> Needs {
        Needs {
            images: [self.image].into(),
            pool: Some(self.pool.clone()),
            storages: [self.storage.clone()].into(),
            seeds: self.iso.clone(),
            networks: [(None, self.bridge.clone())].into(),
        }
    }
}

impl Ci {
    fn read(matches: &ArgMatches) -> anyhow::Result<Option<Self>> {
        let text = |name: &str| matches.get_one::<String>(name).cloned();
        let question = "Where jobs come from (https://github.com/ORGANIZATION, or empty for later): ";
        let Some(whole) = asked(matches, "ci", question)? else { return Ok(None) };
        let (url, scope) = split(&whole)?;
        let hosted = url == "https://github.com" || url.ends_with(".ghe.com");
        let platform = match text("platform").as_deref() {
            Some("gitea") => api::Platform::Gitea,
            Some(_) => api::Platform::GitHub,
            None if hosted => api::Platform::GitHub,
            None => {
                bail!("--ci: {url} may be GitHub Enterprise Server or Gitea: add --platform github or --platform gitea")
            }
        };
        if platform == api::Platform::GitHub && scope.is_empty() {
            bail!("--ci: name an organization or a repository, such as {url}/ORGANIZATION");
        }
        let ca = match matches.get_one::<PathBuf>("ci-ca-file") {
            Some(path) => Some(read("--ci-ca-file", path)?),
            None => None,
        };
        let app = match (text("app-id"), matches.get_one::<u64>("installation-id"), file(matches, "app-key-file")?) {
            (Some(id), Some(installation), Some(key)) => Some(GivenApp { id, installation: *installation, key }),
            _ => None,
        };
        let trust = ca.as_ref().map_or(Trust::System, |pem| Trust::Bundle(pem.clone().into_bytes()));
        Ok(Some(Self {
            platform,
            url,
            scope,
            trust,
            ca,
            token: file(matches, "ci-token-file")?,
            app,
            create_app: matches.get_flag("create-app"),
            personal: matches.get_flag("personal-account"),
            webhook: text("webhook-url"),
        }))
    }

    /// The organisation, or whose repository it is.
    pub(crate) fn owner(&self) -> &str {
        self.scope.first().map(String::as_str).unwrap_or_default()
    }
}

/// Scheme and host, and what stands behind them.
fn split(whole: &str) -> anyhow::Result<(String, Vec<String>)> {
    let wrong = || anyhow!("--ci: {whole:?} is no address such as https://github.com/ORGANIZATION");
    let rest = whole.trim().strip_prefix("https://").ok_or_else(wrong)?;
    let mut parts = rest.split('/').filter(|part| !part.is_empty());
    let host = parts.next().filter(|host| !host.contains('@')).ok_or_else(wrong)?;
    let scope: Vec<String> = parts.map(|part| part.trim_end_matches(".git").to_owned()).collect();
    let plain = |part: &String| part.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_.".contains(letter));
    if scope.len() > 2 || !scope.iter().all(plain) {
        return Err(wrong());
    }
    Ok((format!("https://{}", host.to_ascii_lowercase()), scope))
}

/// A flag's value, or the answer to a question; nothing if the answer is empty or nobody is there.
fn asked(matches: &ArgMatches, name: &str, question: &str) -> anyhow::Result<Option<String>> {
    if let Some(value) = matches.get_one::<String>(name) {
        return Ok(Some(value.clone()));
    }
    if matches.get_flag("yes") {
        return Ok(None);
    }
    Ok(print::ask(question)?.filter(|answer| !answer.is_empty()))
}

fn needed(matches: &ArgMatches, name: &str, question: &str) -> anyhow::Result<String> {
    asked(matches, name, question)?.ok_or_else(|| anyhow!("--{name} is needed: nobody answered at a terminal"))
}

fn many(matches: &ArgMatches, name: &str) -> Vec<String> {
    matches.get_many::<String>(name).map(|values| values.cloned().collect()).unwrap_or_default()
}

fn parsed<T: FromStr>(flag: &str, text: &str) -> anyhow::Result<T>
where
    T::Err: std::fmt::Display,
{
    text.trim().parse().map_err(|error| anyhow!("{flag}: {error}"))
}

/// VMIDs from the first to the last.
fn range(text: &str) -> anyhow::Result<VmIdRange> {
    let wrong = || anyhow!("--vmid-range: {text:?} is no range such as 100000-109999");
    let (first, last) = text.split_once('-').ok_or_else(wrong)?;
    let (first, last): (VmId, VmId) = (parsed("--vmid-range", first)?, parsed("--vmid-range", last)?);
    if first > last { Err(wrong()) } else { Ok(VmIdRange { first, last }) }
}

fn read(flag: &str, path: &Path) -> anyhow::Result<String> {
    let text =
        if path.as_os_str() == "-" { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(path) };
    text.with_context(|| format!("{flag}: {} cannot be read", path.display()))
}

/// Something secret in a file, without the newline at its end.
fn file(matches: &ArgMatches, name: &str) -> anyhow::Result<Option<SecretString>> {
    let Some(path) = matches.get_one::<PathBuf>(name) else { return Ok(None) };
    let text = read(&format!("--{name}"), path)?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        bail!("--{name}: {} is empty", path.display());
    }
    Ok(Some(text.to_owned().into()))
}

/// Something secret from a file, or from the person at the terminal.
pub(super) fn secret(matches: &ArgMatches, name: &str, question: &str) -> anyhow::Result<Option<SecretString>> {
    match file(matches, name)? {
        Some(found) => Ok(Some(found)),
        None => hidden(question),
    }
}

/// Something secret from the person at the terminal, if one is there and types something.
pub(super) fn hidden(question: &str) -> anyhow::Result<Option<SecretString>> {
    use secrecy::ExposeSecret;
    Ok(print::ask_hidden(question)?.filter(|typed| !typed.expose_secret().is_empty()))
}

/// Whether somebody can be asked.
pub(super) fn somebody() -> bool {
    std::io::stdin().is_terminal()
}

fn trust(matches: &ArgMatches) -> anyhow::Result<Option<Trust>> {
    if let Some(path) = matches.get_one::<PathBuf>("ca-file") {
        return Ok(Some(Trust::Bundle(read("--ca-file", path)?.into_bytes())));
    }
    Ok(matches.get_one::<Fingerprint>("fingerprint").map(|fingerprint| Trust::Pinned(*fingerprint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_a_host_and_a_scope() {
        let scope = |text: &str| split(text).map(|(url, scope)| (url, scope.join("/")));
        let pair = |url: &str, scope: &str| (url.to_owned(), scope.to_owned());
        assert_eq!(scope("https://GitHub.com/acme/").unwrap(), pair("https://github.com", "acme"));
        assert_eq!(scope("https://github.com/acme/widgets.git").unwrap(), pair("https://github.com", "acme/widgets"));
        assert_eq!(scope("https://git.example.com:3000").unwrap(), pair("https://git.example.com:3000", ""));
        for wrong in ["http://github.com/acme", "github.com/acme", "https://", "https://me@x/acme", "https://x/a/b/c"] {
            assert!(split(wrong).is_err(), "{wrong}");
        }
    }
}
