//! What a connection is made from, out of a cluster's spec and its Secrets.

use api::{HypervisorCluster, SecretKey};
use fleet::cluster::{self, Settings};
use kube::Client;
use providers::http::Trust;
use providers::hypervisor::Keyring;
use providers::hypervisor::proxmox::Credentials;
use reconcile::Fault;
use secrecy::{ExposeSecret, SecretString};

use super::ownership::Ownership;
use crate::drawer::{Drawer, Gaps, hash, holds_certificates};

/// Reads Secrets by name, in the namespace of the object that names them.
#[derive(Clone)]
pub struct Secrets(Client);

/// What a connection is made from, or why there is none.
pub enum Login {
    /// All of it.
    Complete(Box<Complete>),
    /// Something is missing: a sentence each.
    Missing(Vec<String>),
    /// Something cannot be right: a sentence each.
    Malformed(Vec<String>),
}

/// What a connection is made from.
pub struct Complete {
    pub(super) credentials: Credentials,
    pub(super) trust: Trust,
    pub(super) owner: Keyring,
    pub(super) settings: Settings,
}

impl Complete {
    /// Whom the endpoint's certificate must be by.
    pub(crate) const fn trust(&self) -> &Trust {
        &self.trust
    }
}

impl Login {
    /// One that is made from these, wherever they are from; it marks nothing.
    pub(crate) fn given(cluster: &HypervisorCluster, credentials: Credentials, trust: Trust) -> Self {
        let (owner, settings) = (Ownership::of_nobody().keyring(cluster), Settings(String::new()));
        Self::Complete(Box::new(Complete { credentials, trust, owner, settings }))
    }

    /// The same as the planner sees it: without anything secret.
    pub fn seen(&self) -> cluster::Login {
        match self {
            Self::Complete(complete) => cluster::Login::Complete(complete.settings.clone()),
            Self::Missing(what) => cluster::Login::Missing(what.clone()),
            Self::Malformed(what) => cluster::Login::Malformed(what.clone()),
        }
    }
}

impl Secrets {
    /// Reads with `client`.
    pub const fn new(client: Client) -> Self {
        Self(client)
    }

    /// Everything that `cluster` is connected with. Each Secret is read once, however many entries are named.
    pub async fn login(&self, cluster: &HypervisorCluster, ownership: &Ownership) -> Result<Login, Fault> {
        let namespace = cluster.metadata.namespace.clone().unwrap_or_default();
        let mut drawer = Drawer::of(&self.0, &namespace);
        let Some((first, second, is_token)) = pair(&cluster.spec.credentials) else {
            return Ok(Login::Missing(vec!["spec.credentials is incomplete".to_owned()]));
        };
        let ca = cluster.spec.tls.as_ref().and_then(|tls| tls.ca_certificate.as_ref());
        let mut texts = Vec::new();
        let mut gaps = Gaps::default();
        for at in [Some(first), Some(second), ca].into_iter().flatten() {
            texts.extend(drawer.find(at, &mut gaps).await?);
        }
        let mut texts = texts.into_iter();
        let (Some(name), Some(secret), true) = (texts.next(), texts.next(), gaps.is_empty()) else {
            return Ok(Login::Missing(gaps.sentences(&namespace)));
        };
        let bundle = texts.next();
        let wrong = wrong(is_token, first, &name, second, &secret, ca.zip(bundle.as_ref()));
        if !wrong.is_empty() {
            return Ok(Login::Malformed(wrong));
        }
        let name = name.expose_secret().to_owned();
        let credentials = if is_token {
            Credentials::Token { id: name, secret }
        } else {
            Credentials::Password { user: name, password: secret }
        };
        let trust = trust(cluster, bundle.as_ref());
        let settings = fingerprint(cluster, &credentials, bundle.as_ref(), ownership);
        let owner = ownership.keyring(cluster);
        Ok(Login::Complete(Box::new(Complete { credentials, trust, owner, settings })))
    }
}

/// Where name and secret stand, and whether they are those of a token.
fn pair(spec: &api::Credentials) -> Option<(&SecretKey, &SecretKey, bool)> {
    let api::Credentials { token_id, token_secret, username, password } = spec;
    let token = token_id.as_ref().zip(token_secret.as_ref()).map(|(id, secret)| (id, secret, true));
    token.or_else(|| username.as_ref().zip(password.as_ref()).map(|(user, password)| (user, password, false)))
}

/// What cannot be right, without a word of what is secret.
fn wrong(
    is_token: bool,
    first: &SecretKey,
    name: &SecretString,
    second: &SecretKey,
    secret: &SecretString,
    ca: Option<(&SecretKey, &SecretString)>,
) -> Vec<String> {
    let at = |key: &SecretKey| format!("entry {} of Secret {}", key.key.as_str(), key.name.as_str());
    let mut wrong = Vec::new();
    let user = |text: &str| text.split_once('@').is_some_and(|(user, realm)| !user.is_empty() && !realm.is_empty());
    let name = name.expose_secret();
    let plain = name.chars().all(|letter| letter.is_ascii_graphic());
    match name.split_once('!') {
        Some((owner, token)) if is_token && plain && user(owner) && !token.is_empty() => {}
        None if !is_token && plain && user(name) => {}
        _ if is_token => {
            wrong
                .push(format!("{} is no token id: it should look like user@realm!name, as pveum prints it", at(first)));
        }
        _ => {
            wrong.push(format!("{} is no user: it should look like user@realm, for example hyperfleet@pve", at(first)));
        }
    }
    if is_token && !secret.expose_secret().chars().all(|letter| letter.is_ascii_graphic()) {
        wrong.push(format!("{} is no token secret: it should be the UUID that pveum printed once", at(second)));
    }
    if let Some((key, pem)) = ca
        && !holds_certificates(pem)
    {
        wrong.push(format!("{} holds no certificate: it should be PEM, as in /etc/pve/pve-root-ca.pem", at(key)));
    }
    wrong
}

fn trust(cluster: &HypervisorCluster, bundle: Option<&SecretString>) -> Trust {
    let tls = cluster.spec.tls.as_ref();
    let pinned = tls.and_then(|tls| tls.fingerprint.as_ref()).and_then(|text| text.as_str().parse().ok());
    match (bundle, pinned) {
        (Some(pem), _) => Trust::Bundle(pem.expose_secret().as_bytes().to_vec()),
        (None, Some(fingerprint)) => Trust::Pinned(fingerprint),
        (None, None) if tls.is_some_and(|tls| tls.insecure_skip_verify) => Trust::Insecure,
        (None, None) => Trust::System,
    }
}

/// Where the connection goes and whose machines it knows, apart from as whom and what for: `place/rest`, each a hash.
fn fingerprint(
    cluster: &HypervisorCluster,
    credentials: &Credentials,
    bundle: Option<&SecretString>,
    ownership: &Ownership,
) -> Settings {
    let spec = &cluster.spec;
    let proxmox = spec.proxmox.as_ref();
    let seeds = proxmox.and_then(|proxmox| proxmox.iso_storage.as_ref());
    let place = format!("{:?}", (spec.provider, &spec.endpoint, &spec.tls, seeds));
    let pool = proxmox.map(|proxmox| (&proxmox.pool, proxmox.seed));
    let usage = format!("{:?}", (&spec.default_storage, &spec.default_network, pool));
    let bundle = bundle.map(|pem| pem.expose_secret().to_owned()).unwrap_or_default();
    let secret = match credentials {
        Credentials::Token { secret, .. } => secret,
        Credentials::Password { password, .. } => password,
    };
    let place = hash(&[&place, &bundle, &ownership.fingerprint()]);
    let rest = hash(&[credentials.identity(), secret.expose_secret(), &usage]);
    Settings(format!("{place}/{rest}"))
}

/// Whether two connections go to the same place, whoever uses them for what.
pub(super) fn same_place(one: &Settings, other: &Settings) -> bool {
    let place = |settings: &Settings| settings.0.split('/').next().map(str::to_owned);
    place(one) == place(other)
}
