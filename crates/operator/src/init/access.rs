//! The token for the hypervisor: one that exists, or one that an administrator's login makes with all it needs.
//!
//! A secret that somebody gave or typed is tried before it is stored; one that is told once is stored before anything else.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow, bail};
use providers::http::{Client, Endpoint, Trust};
use providers::hypervisor::proxmox::{Admin, Credentials, Grants, Limits, Proxmox, Settings};
use providers::hypervisor::{Error, Hypervisor, Keyring, NodeName, Presence};
use secrecy::{ExposeSecret, SecretString};
use serde_json::Value;

use super::existing::{ENDPOINT, same};
use super::{Store, Wish, apply, manifests};
use crate::print;

/// The token's secret; nothing if somebody has to run lines first.
pub(super) async fn obtain(wish: &Wish, trust: &Trust, store: &Store) -> anyhow::Result<Option<SecretString>> {
    if let Some((user, password)) = &wish.admin {
        let credentials = Credentials::Password { user: user.clone(), password: password.clone() };
        let admin = Admin::new(client(wish, trust)?, credentials);
        return apply::apply(wish, trust, &admin, store).await.map(Some);
    }
    if wish.print_only {
        lines(wish)?;
        return Ok(None);
    }
    let secret = match known(wish, trust, store).await? {
        Some(secret) => secret,
        None => match typed(wish, trust).await? {
            Some(secret) => secret,
            None => return Ok(None),
        },
    };
    keep(wish, trust, &secret, store).await?;
    Ok(Some(secret))
}

/// Shows the lines that make everything; nobody has looked at the image.
fn lines(wish: &Wish) -> anyhow::Result<()> {
    let grants = Grants::new(&wish.needs(), &wish.user, &wish.token);
    let elsewhere = grants.elsewhere(wish.image);
    Ok(print::out(&format!(
        "Run this on a node of the Proxmox VE, as root; the third line prints the token's secret:\n\n{grants}{elsewhere}\n"
    ))?)
}

/// Shows the lines, and has the secret that they bring typed; nothing if nobody types it.
async fn typed(wish: &Wish, trust: &Trust) -> anyhow::Result<Option<SecretString>> {
    lines(wish)?;
    let question = "The token's secret, when you have run them: ";
    let Some(secret) = wish.questions.hidden(question)? else {
        print::out("Then run this again with --token-secret-file FILE, or with --apply to have it done.\n")?;
        return Ok(None);
    };
    if is_good(wish, trust, &secret).await? {
        return Ok(Some(secret));
    }
    bail!(
        "{} refuses what was typed as the secret of {}; nothing is stored. Run this again",
        wish.endpoint,
        wish.identity()
    )
}

/// A secret that works: the one that was given, or that of an earlier run for this very hypervisor and token.
pub(super) async fn known(wish: &Wish, trust: &Trust, store: &Store) -> anyhow::Result<Option<SecretString>> {
    let identity = wish.identity();
    if let Some(secret) = &wish.token_secret {
        if is_good(wish, trust, secret).await? {
            return Ok(Some(secret.clone()));
        }
        bail!(
            "--token-secret-file: {} refuses it as the secret of {identity}; nothing is stored. Correct it, or --user and \
             --token-name",
            wish.endpoint
        );
    }
    let Some(secret) = stored(wish, store).await? else { return Ok(None) };
    if is_good(wish, trust, &secret).await? {
        return Ok(Some(secret));
    }
    print::out(&format!("The stored secret of {identity} is refused, and not used any more.\n"))?;
    Ok(None)
}

/// Whether the hypervisor takes a secret. One that does not answer says neither yes nor no.
async fn is_good(wish: &Wish, trust: &Trust, secret: &SecretString) -> anyhow::Result<bool> {
    match hypervisor(wish, trust, secret)?.health().await {
        Ok(_) => Ok(true),
        Err(Error::Auth { .. }) => Ok(false),
        Err(error) => Err(anyhow!(error).context(format!("--endpoint: {}", wish.endpoint))),
    }
}

fn client(wish: &Wish, trust: &Trust) -> anyhow::Result<Client> {
    let endpoint = Endpoint::https(&wish.endpoint, trust.clone(), wish.policy.clone()).context("--endpoint")?;
    Client::connect("proxmox", &endpoint).context("--endpoint")
}

fn hypervisor(wish: &Wish, trust: &Trust, secret: &SecretString) -> anyhow::Result<Proxmox> {
    let nobody = "0000000000000000".parse().expect("sixteen digits are an operator's id");
    let cluster = "init".parse().expect("a word is a cluster's id");
    let owner = Keyring::new(nobody, cluster, vec![0; 32].into());
    let credentials = Credentials::Token { id: wish.identity(), secret: secret.clone() };
    let settings = Settings { owner, seeds: None, limits: Limits::default() };
    Ok(Proxmox::new(client(wish, trust)?, credentials, settings))
}

/// The secret that an earlier run has stored for this token of this hypervisor; any other is sent nowhere.
async fn stored(wish: &Wish, store: &Store) -> anyhow::Result<Option<SecretString>> {
    let entries = store.secret(&wish.names.proxmox).await?.unwrap_or_default();
    let token = entries.get("tokenId").is_some_and(|id| id.expose_secret() == wish.identity());
    let place = entries.get(ENDPOINT).is_some_and(|place| same(place.expose_secret(), &wish.endpoint));
    Ok(entries.get("tokenSecret").filter(|_| token && place).cloned())
}

/// Stores what the cluster's object will name, and for which hypervisor it is.
pub(super) async fn keep(wish: &Wish, trust: &Trust, secret: &SecretString, store: &Store) -> anyhow::Result<()> {
    let mut entries = BTreeMap::from([
        (ENDPOINT, wish.endpoint.clone().into()),
        ("tokenId", wish.identity().into()),
        ("tokenSecret", secret.clone()),
    ]);
    if let Trust::Bundle(pem) = trust {
        entries.insert("ca.crt", String::from_utf8_lossy(pem).into_owned().into());
    }
    store.put_secret(&wish.names.proxmox, &entries).await
}

/// The nodes that machines may go to: those that were named, or all that are online and those that are listed already. What an
/// earlier run or a person has set for one stays with it.
pub(super) async fn nodes(
    wish: &Wish,
    trust: &Trust,
    secret: &SecretString,
    store: &Store,
) -> anyhow::Result<Vec<Value>> {
    let cluster = store.object("HypervisorCluster", &wish.names.cluster).await?.unwrap_or_default();
    let mut nodes = cluster["spec"]["nodes"].as_array().cloned().unwrap_or_default();
    let held = |nodes: &[Value], name: &str| nodes.iter().find(|node| node["name"] == name).cloned();
    if !wish.nodes.is_empty() {
        let named = wish.nodes.iter().map(NodeName::as_str);
        return Ok(named.map(|name| held(&nodes, name).unwrap_or_else(|| manifests::node(name))).collect());
    }
    let unlisted = || format!("--node: the nodes of {} cannot be listed; name them", wish.endpoint);
    let inventory = hypervisor(wish, trust, secret)?.inventory().await.with_context(unlisted)?;
    let online =
        |name: &str| inventory.nodes.iter().any(|row| row.name.as_str() == name && row.presence == Presence::Online);
    for name in nodes.iter().filter_map(|node| node["name"].as_str()).filter(|name| !online(name)) {
        print::out(&format!("Node {name} is not online now, and stays in the list.\n"))?;
    }
    for name in inventory.nodes.iter().map(|row| row.name.as_str()) {
        match (held(&nodes, name), online(name)) {
            (None, true) => nodes.push(manifests::node(name)),
            (None, false) => print::out(&format!("Node {name} is not online, and left out; name it with --node.\n"))?,
            (Some(_), _) => {}
        }
    }
    if nodes.is_empty() { Err(anyhow!("--node: no node is online; name one")) } else { Ok(nodes) }
}
