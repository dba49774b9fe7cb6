//! What was asked for, read from the flags and the files they name; whatever is wrong is said with its flag.

use std::io::{self, Read};
use std::net::IpAddr;
use std::path::{Path, PathBuf};

use clap::ArgMatches;
use providers::http::{
    AddressPolicy, AddressRefused, Client, ConnectError, Endpoint, EndpointError, Fingerprint, Trust,
};
use providers::hypervisor::kit::{Case, SeedKind};
use providers::hypervisor::proxmox::Credentials;
use providers::hypervisor::{BridgeName, NodeName, PoolName, StorageName, VmId, VmIdRange};

/// A flag with a value that cannot be used.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("{flag}: {why}")]
pub(crate) struct Wrong {
    flag: &'static str,
    why: String,
}

impl Wrong {
    pub(super) fn new(flag: &'static str, why: impl Into<String>) -> Self {
        Self { flag, why: why.into() }
    }
}

/// A trial run, as asked for.
pub(crate) struct Request {
    /// The endpoint in the person's words.
    pub(super) url: String,
    /// Its host alone.
    pub(super) host: String,
    pub(super) client: Client,
    pub(super) credentials: Credentials,
    pub(super) image: VmId,
    pub(super) node: NodeName,
    pub(super) pool: Option<PoolName>,
    pub(super) storage: Option<StorageName>,
    pub(super) iso_storage: Option<StorageName>,
    pub(super) seed: SeedKind,
    pub(super) bridge: Option<BridgeName>,
    pub(super) range: VmIdRange,
    pub(super) record: Option<PathBuf>,
    pub(super) yes: bool,
    only: Vec<Case>,
}

impl Request {
    /// Reads the flags and the files they name; reaches for nothing else.
    pub(crate) fn read(matches: &ArgMatches) -> Result<Self, Wrong> {
        let iso_storage: Option<StorageName> = matches.get_one("iso-storage").cloned();
        let seed = seed(matches.get_one::<String>("seed").map(String::as_str), iso_storage.is_some())?;
        let url = matches.get_one::<String>("endpoint").expect("clap demands it").trim().trim_end_matches('/');
        let policy = if matches.get_flag("allow-loopback") { loopback() } else { AddressPolicy::default() };
        let endpoint = Endpoint::https(url, trust(matches)?, policy).map_err(|error| match error {
            EndpointError::Credentials => {
                Wrong::new("--endpoint", "the URL holds a user name or password; use --token-file, or --user")
            }
            other @ (EndpointError::NoUrl(_) | EndpointError::NotHttps(_)) => {
                Wrong::new("--endpoint", other.to_string())
            }
        })?;
        let client = Client::connect("proxmox", &endpoint).map_err(|error| match error {
            ConnectError::Address(refused) => refused_address(&refused),
            bundle @ ConnectError::Bundle(_) => Wrong::new("--ca-file", bundle.to_string()),
            other @ (ConnectError::Roots(_) | ConnectError::Tls(_)) => Wrong::new("--endpoint", other.to_string()),
        })?;
        let host = client.authority().rsplit_once(':').map_or(client.authority(), |(host, _)| host);
        Ok(Self {
            host: host.trim_start_matches('[').trim_end_matches(']').to_owned(),
            url: url.to_owned(),
            client,
            credentials: credentials(matches)?,
            image: *matches.get_one("image").expect("clap demands it"),
            node: matches.get_one::<NodeName>("node").expect("clap demands it").clone(),
            pool: matches.get_one("pool").cloned(),
            storage: matches.get_one("storage").cloned(),
            iso_storage,
            seed,
            bridge: matches.get_one("bridge").cloned(),
            range: *matches.get_one("vmid-range").expect("it has a default"),
            record: matches.get_one("record").cloned(),
            yes: matches.get_flag("yes"),
            only: matches.get_many::<Case>("only").map(|cases| cases.copied().collect()).unwrap_or_default(),
        })
    }

    /// The cases to try, and those that a real hypervisor gives no chance to.
    pub(super) fn cases(&self) -> (Vec<Case>, Vec<Case>) {
        let asked = |case: &Case| self.only.is_empty() || self.only.contains(case);
        Case::ALL.into_iter().filter(asked).partition(|case| !case.needs_help())
    }
}

/// An address that is refused, with the flag that allows it where there is one.
pub(super) fn refused_address(AddressRefused { address, why }: &AddressRefused) -> Wrong {
    let remedy = match address {
        address if address.is_loopback() => "add --allow-loopback if it is right",
        IpAddr::V4(_) | IpAddr::V6(_) => "name an address of the hypervisor",
    };
    Wrong::new("--endpoint", format!("{address} is {why}; {remedy}"))
}

fn loopback() -> AddressPolicy {
    let allow = ["127.0.0.0/8", "::1"].map(|range| range.parse().expect("these are ranges"));
    AddressPolicy { allow: allow.to_vec(), deny: Vec::new() }
}

fn seed(asked: Option<&str>, has_storage: bool) -> Result<SeedKind, Wrong> {
    match (asked, has_storage) {
        (None | Some("iso"), true) => Ok(SeedKind::Iso),
        (Some("iso"), false) => Err(Wrong::new("--seed", "iso needs a storage for seed images; add --iso-storage")),
        (Some(other), true) => {
            Err(Wrong::new("--iso-storage", format!("it is of no use with --seed {other}; leave one out")))
        }
        (Some("native"), false) => Ok(SeedKind::Native),
        (Some(_) | None, false) => Ok(SeedKind::Smbios),
    }
}

fn trust(matches: &ArgMatches) -> Result<Trust, Wrong> {
    if let Some(path) = matches.get_one::<PathBuf>("ca-file") {
        let pem = std::fs::read(path).map_err(|error| unreadable("--ca-file", path, &error))?;
        return Ok(Trust::Bundle(pem));
    }
    let pinned = matches.get_one::<Fingerprint>("fingerprint").map(|fingerprint| Trust::Pinned(*fingerprint));
    let insecure = matches.get_flag("insecure-skip-tls-verify").then_some(Trust::Insecure);
    Ok(pinned.or(insecure).unwrap_or(Trust::System))
}

fn credentials(matches: &ArgMatches) -> Result<Credentials, Wrong> {
    if let Some(path) = matches.get_one::<PathBuf>("token-file") {
        return token(&secret("--token-file", path)?);
    }
    let user = matches.get_one::<String>("user").expect("clap demands one of the two").clone();
    if !user.contains('@') || user.contains('!') {
        return Err(Wrong::new("--user", format!("{user:?} is no user: expected user@realm, such as root@pam")));
    }
    let path = matches.get_one::<PathBuf>("password-file").expect("clap demands it beside --user");
    Ok(Credentials::Password { user, password: secret("--password-file", path)?.into() })
}

/// Reads `user@realm!name=secret`; what it holds is never repeated in errors.
fn token(line: &str) -> Result<Credentials, Wrong> {
    let line = line.trim();
    let split = line.strip_prefix("PVEAPIToken=").unwrap_or(line).split_once('=');
    match split {
        Some((id, secret)) if id.contains('@') && id.contains('!') && !secret.is_empty() => {
            Ok(Credentials::Token { id: id.to_owned(), secret: secret.into() })
        }
        Some(_) | None => Err(Wrong::new("--token-file", "expected one line such as user@realm!name=secret")),
    }
}

fn secret(flag: &'static str, path: &Path) -> Result<String, Wrong> {
    let mut text = String::new();
    let read = if path.as_os_str() == "-" {
        io::stdin().read_to_string(&mut text).map(drop)
    } else {
        std::fs::read_to_string(path).map(|read| text = read)
    };
    read.map_err(|error| unreadable(flag, path, &error))?;
    let text = text.trim_end_matches(['\r', '\n']);
    if text.is_empty() {
        return Err(Wrong::new(flag, format!("{} is empty", path.display())));
    }
    Ok(text.to_owned())
}

fn unreadable(flag: &'static str, path: &Path, error: &io::Error) -> Wrong {
    Wrong::new(flag, format!("{} cannot be read: {error}", path.display()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_read_and_a_wrong_one_not_repeated() {
        for line in ["op@pve!hf=canary\n", "PVEAPIToken=op@pve!hf=canary"] {
            assert_eq!(token(line).unwrap().identity(), "op@pve!hf");
        }
        for line in ["canary", "op@pve=canary", "op@pve!hf=", ""] {
            assert!(!token(line).unwrap_err().to_string().contains("canary"), "{line}");
        }
    }

    #[test]
    fn the_seed_follows_the_storage_unless_it_is_named() {
        assert_eq!(seed(None, true), Ok(SeedKind::Iso));
        assert_eq!(seed(None, false), Ok(SeedKind::Smbios));
        assert_eq!(seed(Some("native"), false), Ok(SeedKind::Native));
        assert!(seed(Some("iso"), false).unwrap_err().to_string().contains("--iso-storage"));
        assert!(seed(Some("smbios"), true).is_err());
    }
}
