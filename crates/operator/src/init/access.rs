//! The token for the hypervisor: one that exists, or one that an administrator's login makes with all it needs.

use std::collections::BTreeMap;

use anyhow::{Context, anyhow, bail};
use providers::http::{Client, Endpoint, Trust};
use providers::hypervisor::proxmox::{Admin, Credentials, Gap, Generation, Grants, Limits, Proxmox, Settings};
use providers::hypervisor::{Hypervisor, Keyring, NodeName, Presence};
use secrecy::{ExposeSecret, SecretString};

use super::Wish;
use super::store::{PROXMOX, Store};
use super::wish::{hidden, somebody};
use crate::print;

/// The token's secret; nothing if somebody has to run lines first.
pub(super) async fn obtain(wish: &Wish, trust: &Trust, store: &Store) -> anyhow::Result<Option<SecretString>> {
    if let Some((user, password)) = &wish.admin {
        let credentials = Credentials::Password { user: user.clone(), password: password.clone() };
        let admin = Admin::new(client(wish, trust)?, credentials);
        return apply(wish, trust, &admin, store).await.map(Some);
    }
    let generation = wish.generation.ok_or_else(|| {
        anyhow!("--proxmox-version is needed (8 or 9): privileges differ; with --apply it is found out")
    })?;
    let grants = Grants::new(&wish.needs(), generation, &wish.user, &wish.token);
    let known = match &wish.token_secret {
        Some(secret) => Some(secret.clone()),
        None => stored(wish, store).await?,
    };
    if known.is_none() || wish.print_only {
        print::out(&format!(
            "Run this on a node of the Proxmox VE, as root; the third line prints the token's secret:\n\n{grants}\n"
        ))?;
    }
    if wish.print_only {
        return Ok(None);
    }
    let secret = match known {
        Some(secret) => secret,
        None if somebody() => match hidden("The token's secret, when you have run them: ")? {
            Some(secret) => secret,
            None => return Ok(None),
        },
        None => {
            let again = "Then run this again with --token-secret-file FILE, or with --apply to have it done.\n";
            print::out(again)?;
            return Ok(None);
        }
    };
    keep(wish, trust, &secret, store).await?;
    Ok(Some(secret))
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

/// The secret that an earlier run has stored for this token.
async fn stored(wish: &Wish, store: &Store) -> anyhow::Result<Option<SecretString>> {
    let entries = store.secret(PROXMOX).await?.unwrap_or_default();
    let same = entries.get("tokenId").is_some_and(|id| id.expose_secret() == wish.identity());
    Ok(entries.get("tokenSecret").filter(|_| same).cloned())
}

/// Stores what the cluster's object will name.
async fn keep(wish: &Wish, trust: &Trust, secret: &SecretString, store: &Store) -> anyhow::Result<()> {
    let mut entries = BTreeMap::from([("tokenId", wish.identity().into()), ("tokenSecret", secret.clone())]);
    if let Trust::Bundle(pem) = trust {
        entries.insert("ca.crt", String::from_utf8_lossy(pem).into_owned().into());
    }
    store.put_secret(PROXMOX, &entries).await
}

/// Makes what is missing, and nothing else.
async fn apply(wish: &Wish, trust: &Trust, admin: &Admin, store: &Store) -> anyhow::Result<SecretString> {
    let version = admin.version().await.context("--admin-user")?;
    let generation =
        Generation::of(&version).ok_or_else(|| anyhow!("Proxmox VE {version} is not supported: 8 or 9 is needed"))?;
    let grants = Grants::new(&wish.needs(), generation, &wish.user, &wish.token);
    let gap = admin.gap(&grants).await?;
    print::out(&format!("Proxmox VE {version}: {}\n", told(&grants, &gap)))?;
    admin.found(&grants, &gap).await?;
    let known = if gap.token { None } else { stored(wish, store).await? };
    let good = match &known {
        Some(secret) => hypervisor(wish, trust, secret)?.health().await.is_ok(),
        None => false,
    };
    let secret = if let Some(secret) = known.filter(|_| good) {
        secret
    } else {
        if !gap.token {
            let identity = grants.identity();
            print::out(&format!(
                "The secret of {identity} is not stored here, or not good: the token is made anew.\n"
            ))?;
        }
        let secret = admin.token(&grants, &gap).await?;
        // It is told once: before anything else can go wrong it is where a second run finds it.
        keep(wish, trust, &secret, store).await?;
        secret
    };
    // With an old token its entries in the access list are gone, too.
    let gap = admin.gap(&grants).await?;
    admin.fill(&grants, &gap).await?;
    let left = admin.gap(&grants).await?;
    if !left.is_empty() {
        bail!("Proxmox VE took every change, and still lacks {}", told(&grants, &left));
    }
    Ok(secret)
}

/// What is to be done, in words.
fn told(grants: &Grants, gap: &Gap) -> String {
    if gap.is_empty() {
        return "nothing is missing, nothing is changed".to_owned();
    }
    let mut parts = Vec::new();
    if let Some(pool) = grants.pool.as_ref().filter(|_| gap.pool) {
        parts.push(format!("pool {pool}"));
    }
    if gap.user {
        parts.push(format!("user {}", grants.user));
    }
    if gap.token {
        parts.push(format!("token {}", grants.identity()));
    }
    parts.extend(gap.roles.iter().map(|(role, _)| format!("role {}", role.name)));
    parts.extend(gap.paths.iter().map(|path| format!("rights on {path}")));
    format!("making {}", parts.join(", "))
}

/// The nodes that machines may go to: those that were named, or all that are online.
pub(super) async fn nodes(wish: &Wish, trust: &Trust, secret: &SecretString) -> anyhow::Result<Vec<NodeName>> {
    if !wish.nodes.is_empty() {
        return Ok(wish.nodes.clone());
    }
    let inventory = hypervisor(wish, trust, secret)?.inventory().await.context("--token-secret-file")?;
    let online = inventory.nodes.into_iter().filter(|row| row.presence == Presence::Online);
    let nodes: Vec<NodeName> = online.map(|row| row.name).collect();
    if nodes.is_empty() { Err(anyhow!("--node: no node is online; name one")) } else { Ok(nodes) }
}
