//! What an earlier run left, and whom it belongs to: another hypervisor's or platform's set-up is never written over, and
//! what is secret goes only where it was given for.

use anyhow::bail;
use secrecy::ExposeSecret;
use serde_json::Value;

use super::wish::Ci;
use super::{Store, Wish};

/// The entry of the hypervisor's Secret that says which one it is for.
pub(super) const ENDPOINT: &str = "endpoint";
/// The entry of the platform's Secret that says which one it is for.
pub(super) const PLACE: &str = "url";

/// Entries that are sent to whomever a Secret is for.
const CREDENTIALS: &[&str] = &["tokenSecret", "token", "private-key"];

/// Refuses a wish that would write over what is somebody else's.
pub(super) async fn check(wish: &Wish, store: &Store) -> anyhow::Result<()> {
    let names = &wish.names;
    if let Some(cluster) = store.object("HypervisorCluster", &names.cluster).await? {
        at_home(wish, "HypervisorCluster", &cluster)?;
        let there = cluster["spec"]["endpoint"].as_str().unwrap_or_default();
        differs(wish, "--endpoint", &format!("HypervisorCluster {}", names.cluster), there, &wish.endpoint)?;
    }
    marked(wish, store, &names.proxmox, (ENDPOINT, "--endpoint"), &wish.endpoint).await?;
    let Some(ci) = &wish.ci else { return Ok(()) };
    let name = names.source(ci.platform);
    if let Some(source) = store.object("RunnerSource", &name).await? {
        at_home(wish, "RunnerSource", &source)?;
        differs(wish, "--ci", &format!("RunnerSource {name}"), &place(ci, &source), &ci.place())?;
    }
    marked(wish, store, &names.ci, (PLACE, "--ci"), &ci.place()).await
}

/// A manifest for another namespace is another set-up's.
fn at_home(wish: &Wish, kind: &str, object: &Value) -> anyhow::Result<()> {
    match object["metadata"]["namespace"].as_str() {
        Some(other) if other != wish.namespace => bail!(
            "--namespace: the {kind} in {} is for namespace {other}, not {}: name another directory with --output",
            wish.output.display(),
            wish.namespace
        ),
        Some(_) | None => Ok(()),
    }
}

/// Whether what is stored was given for somebody else.
async fn marked(
    wish: &Wish,
    store: &Store,
    secret: &str,
    (entry, flag): (&str, &str),
    wanted: &str,
) -> anyhow::Result<()> {
    let entries = store.secret(secret).await?.unwrap_or_default();
    match entries.get(entry) {
        Some(there) => differs(wish, flag, &format!("Secret {secret}"), there.expose_secret(), wanted),
        None if CREDENTIALS.iter().any(|name| entries.contains_key(*name)) => bail!(
            "{flag}: Secret {secret} is there already, and does not say for what: if it is for {wanted}, say so in its entry \
             {entry}; else give this set-up a name of its own with --name (now {})",
            wish.names.cluster
        ),
        None => Ok(()),
    }
}

fn differs(wish: &Wish, flag: &str, what: &str, there: &str, wanted: &str) -> anyhow::Result<()> {
    if same(there, wanted) {
        return Ok(());
    }
    bail!(
        "{flag}: {what} is there already, for {there}, not {wanted}: give this set-up a name of its own with --name (now {}). \
         If both are the same under two addresses, change the address in {what} first",
        wish.names.cluster
    )
}

/// Whether two addresses are one; a path to the API and a slash at the end make no difference.
pub(super) fn same(one: &str, other: &str) -> bool {
    let bare = |text: &str| {
        let text = text.trim().trim_end_matches('/').to_ascii_lowercase();
        text.trim_end_matches("/api2/json").trim_end_matches('/').to_owned()
    };
    bare(one) == bare(other)
}

/// What a source is for, in the words of a wish.
fn place(ci: &Ci, source: &Value) -> String {
    let spec = &source["spec"];
    let scope = &spec[ci.platform.as_str()]["scope"];
    let scope = ["organization", "repository", "enterprise"].iter().find_map(|name| scope[*name].as_str());
    let url = spec["url"].as_str().unwrap_or_default().trim_end_matches('/');
    scope.map_or_else(|| url.to_owned(), |scope| format!("{url}/{scope}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_the_same_however_it_ends() {
        assert!(same("https://PVE.example.com:8006/", "https://pve.example.com:8006/api2/json"));
        assert!(!same("https://pve-a.example.com:8006", "https://pve-b.example.com:8006"));
        assert!(!same("https://github.com/acme", "https://github.com/acme/widgets"));
    }
}
