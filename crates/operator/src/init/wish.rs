//! What somebody wishes for: from flags, and from questions where flags are missing and somebody is there.

mod ci;
mod flags;

use std::path::PathBuf;

use anyhow::{Context, anyhow, bail};
use clap::ArgMatches;
use providers::http::{AddressPolicy, Endpoint, Fingerprint, Trust};
use providers::hypervisor::{BridgeName, Needs, NodeName, PoolName, StorageName, VmId, VmIdRange};
use secrecy::SecretString;

pub(crate) use self::ci::Ci;
use self::flags::{Flags, parsed};
use super::names::Names;
use super::questions::Questions;
use super::valid;

/// Where the installer of Proxmox VE puts disks.
const STORAGE: &str = "local-lvm";

/// What somebody wishes for.
pub(crate) struct Wish {
    /// Who can be asked for more.
    pub(crate) questions: Questions,
    /// What objects are called.
    pub(crate) names: Names,
    pub(crate) endpoint: String,
    /// How its certificate is believed; nothing if that is to be found out.
    pub(crate) trust: Option<Trust>,
    pub(crate) user: String,
    pub(crate) token: String,
    /// The secret of a token that exists.
    pub(crate) token_secret: Option<SecretString>,
    /// Whether a token whose secret nobody here knows is made anew.
    pub(crate) renew_token: bool,
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

impl Wish {
    /// Reads flags and the files they name, asks for what is missing, and refuses what can come to nothing.
    pub(crate) fn read(matches: &ArgMatches, namespace: &str) -> anyhow::Result<Self> {
        let flags = Flags { matches, questions: Questions::new(matches.get_flag("yes")) };
        let value = |name: &str| flags.text(name).unwrap_or_default();
        let question = "Proxmox VE endpoint, such as https://pve.example.com:8006: ";
        let endpoint = flags.needed("endpoint", question, endpoint)?;
        let question = "VMID of the template to make machines from: ";
        let image = flags.needed("image", question, |text| parsed("--image", text))?;
        let question = format!("Storage for machines' disks (empty: {STORAGE}): ");
        let storage = match flags.asked("storage", &question, |text| parsed("--storage", text))? {
            None if flags.questions.open() => parsed("--storage", STORAGE)?,
            storage => storage.context("--storage is needed: nobody answered at a terminal")?,
        };
        let question = "Storage for seed images, content type iso (empty: seed by SMBIOS): ";
        let iso = flags.asked("iso-storage", question, |text| parsed("--iso-storage", text))?;
        let print_only = matches.get_flag("print");
        let loopback = ["127.0.0.0/8", "::1"].map(|range| range.parse().expect("these are ranges"));
        let allow = if matches.get_flag("allow-loopback") { loopback.to_vec() } else { Vec::new() };
        let wish = Self {
            questions: flags.questions,
            names: Names::new(&value("name"))?,
            endpoint,
            trust: trust(&flags)?,
            user: user("--user", value("user"))?,
            token: token(value("token-name"))?,
            token_secret: flags.secret("token-secret-file")?,
            renew_token: matches.get_flag("renew-token"),
            pool: parsed("--pool", &value("pool"))?,
            image,
            nodes: flags.many("node").iter().map(|name| parsed("--node", name)).collect::<Result<_, _>>()?,
            storage,
            iso,
            bridge: parsed("--bridge", &value("bridge"))?,
            range: range(&value("vmid-range"))?,
            admin: admin(&flags)?,
            ci: if print_only { None } else { Ci::read(&flags)? },
            labels: flags.many("label"),
            policy: AddressPolicy { allow, deny: Vec::new() },
            output: matches.get_one::<PathBuf>("output").cloned().unwrap_or_default(),
            namespace: namespace.to_owned(),
            cpu: matches.get_one::<u32>("cpu").copied().unwrap_or(2),
            memory: value("memory"),
            disk: value("disk"),
            print_only,
        };
        valid::check(&wish)?;
        Ok(wish)
    }

    /// The token's whole name.
    pub(crate) fn identity(&self) -> String {
        format!("{}!{}", self.user, self.token)
    }

    /// The names of the Secrets that will be written.
    pub(crate) fn secrets(&self) -> Vec<&str> {
        let ci = self.ci.as_ref().map(|_| self.names.ci.as_str());
        [self.names.proxmox.as_str()].into_iter().chain(ci).collect()
    }

    /// What machines will use, as far as flags say it.
    pub(crate) fn needs(&self) -> Needs {
        Needs {
            images: [self.image].into(),
            linked: [self.image].into(),
            pool: Some(self.pool.clone()),
            storages: [self.storage.clone()].into(),
            seeds: self.iso.clone(),
            networks: [(None, self.bridge.clone())].into(),
            ..Needs::default()
        }
    }
}

/// Where the hypervisor's API is, without a slash at its end.
fn endpoint(text: &str) -> anyhow::Result<String> {
    let text = text.trim().trim_end_matches('/');
    match Endpoint::https(text, Trust::System, AddressPolicy::default()) {
        Ok(_) => Ok(text.to_owned()),
        Err(error) => bail!("--endpoint: expected an address such as https://pve.example.com:8006 ({error})"),
    }
}

/// Who makes what is missing: as a flag says, or as somebody answers who gave no flag that speaks against it.
fn admin(flags: &Flags<'_>) -> anyhow::Result<Option<(String, SecretString)>> {
    let matches = flags.matches;
    let decided = matches.get_flag("print") || matches.contains_id("token-secret-file");
    let question = "Make pool, user, token and rights now with an administrator's login? Type yes, or no to have the lines \
                    printed: ";
    if !matches.get_flag("apply") && (decided || !flags.questions.agrees(question)?) {
        return Ok(None);
    }
    let user = user("--admin-user", flags.text("admin-user").unwrap_or_default())?;
    let password = match flags.secret("admin-password-file")? {
        Some(password) => Some(password),
        None => flags.questions.hidden(&format!("Password of {user}: "))?,
    };
    let missing =
        "--apply needs the administrator's password: nobody is at the terminal to ask; add --admin-password-file";
    Ok(Some((user, password.context(missing)?)))
}

/// A user as Proxmox VE names one, of letters that mean nothing to a shell.
fn user(flag: &str, text: String) -> anyhow::Result<String> {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.+".contains(letter);
    match text.split_once('@') {
        Some((name, realm)) if !name.is_empty() && name.chars().all(plain) && is_word(realm) => Ok(text),
        Some(_) | None => bail!("{flag}: {text:?} is no user with its realm, such as hyperfleet@pve"),
    }
}

fn token(text: String) -> anyhow::Result<String> {
    if is_word(&text) {
        return Ok(text);
    }
    bail!("--token-name: {text:?} is no name of a token: give a letter, then letters, digits, -, _ or ., such as fleet")
}

/// What Proxmox VE takes as the name of a realm or token.
fn is_word(text: &str) -> bool {
    let plain = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    text.len() > 1 && text.starts_with(|letter: char| letter.is_ascii_alphabetic()) && text.chars().all(plain)
}

/// VMIDs from the first to the last.
fn range(text: &str) -> anyhow::Result<VmIdRange> {
    let wrong = || anyhow!("--vmid-range: {text:?} is no range such as 100000-109999");
    let (first, last) = text.split_once('-').ok_or_else(wrong)?;
    let (first, last): (VmId, VmId) = (parsed("--vmid-range", first)?, parsed("--vmid-range", last)?);
    if first > last { Err(wrong()) } else { Ok(VmIdRange { first, last }) }
}

fn trust(flags: &Flags<'_>) -> anyhow::Result<Option<Trust>> {
    if let Some(pem) = flags.content("ca-file")? {
        return Ok(Some(Trust::Bundle(pem.into_bytes())));
    }
    Ok(flags.matches.get_one::<Fingerprint>("fingerprint").map(|fingerprint| Trust::Pinned(*fingerprint)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_user_has_a_realm_and_a_token_a_name() {
        for good in ["hyperfleet@pve", "root@pam", "a.b+c@my-realm"] {
            assert_eq!(user("--user", good.to_owned()).unwrap(), good);
        }
        for wrong in ["hyperfleet", "@pve", "a@", "a b@pve", "a;b@pve", "a@p;ls"] {
            assert!(user("--user", wrong.to_owned()).unwrap_err().to_string().starts_with("--user: "), "{wrong}");
        }
        assert_eq!(token("fleet-2".to_owned()).unwrap(), "fleet-2");
        for wrong in ["", "2fleet", "a!b", "a b"] {
            assert!(token(wrong.to_owned()).unwrap_err().to_string().starts_with("--token-name: "), "{wrong}");
        }
    }
}
