//! Why a hypervisor cannot be used, and what to do about it.

use std::collections::BTreeMap;

use api::{Condition, HypervisorCluster, Reason, SecretKey};
use providers::hypervisor::proxmox::Grants;

use super::super::chart::{About, Chart, Check, Severity};
use super::super::judge::{matter, reason, split};
use crate::site::Survey;

/// Why a cluster cannot be used.
pub(super) fn refused(
    cluster: &HypervisorCluster,
    about: &About,
    verdict: Option<&Condition>,
    survey: Option<&Survey>,
    chart: &mut Chart,
) {
    let message = verdict.map_or("nothing is known of it", |verdict| verdict.message.as_str());
    let (endpoint, pool) =
        (cluster.spec.endpoint.as_str(), cluster.spec.proxmox.as_ref().and_then(|p| p.pool.as_ref()));
    let (what, told) = split(message);
    let all = |remedy: String| (message.to_owned(), remedy);
    let edit = |field: &str| format!("{}    # {field}", about.edit());
    let (check, (what, remedy)) = match verdict.and_then(reason) {
        Some(Reason::CredentialsMissing) => (Check::Credentials, (what, create_secret(cluster, about))),
        Some(Reason::CredentialsInvalid) => (Check::Credentials, all(create_secret(cluster, about))),
        Some(Reason::AuthenticationFailed) => {
            let renew = survey.map(|survey| renew(endpoint, survey)).unwrap_or_default();
            (Check::Credentials, (matter(message), format!("{renew}\n{}", create_secret(cluster, about))))
        }
        Some(Reason::TlsVerificationFailed) => {
            let remedy = format!(
                "scp root@{}:/etc/pve/pve-root-ca.pem ca.crt    # and put it into the Secret that spec.tls.caCertificate \
                 names; or spec.tls.fingerprint from: pvenode cert info",
                host(endpoint)
            );
            (Check::Certificate, (matter(message), remedy))
        }
        Some(Reason::Unreachable | Reason::ConnectionFailed) => {
            let remedy =
                format!("curl -k {endpoint}/api2/json    # 401 is right; else correct spec.endpoint: {}", about.edit());
            (Check::Endpoint, (matter(message), remedy))
        }
        Some(Reason::PoolNotFound) => {
            let pool = pool.map(ToString::to_string).unwrap_or_default();
            (Check::ResourcePool, (what, format!("pveum pool add {pool}    # or name another in spec.proxmox.pool")))
        }
        Some(Reason::NodesMissing) => (Check::Nodes, all(edit("spec.nodes"))),
        Some(_) | None => (Check::Endpoint, if told.is_empty() { all(about.edit()) } else { (what, told) }),
    };
    chart.find(Severity::Broken, check, about, what, remedy);
}

fn host(endpoint: &str) -> &str {
    let place = endpoint.split("://").last().unwrap_or_default();
    place.split(['/', ':']).next().unwrap_or_default()
}

/// The lines that give whom the hypervisor refused other credentials, without taking any right away.
fn renew(endpoint: &str, survey: &Survey) -> String {
    let identity = survey.identity.as_str();
    let Some((user, token)) = identity.split_once('!') else {
        return format!(
            "pveum user list    # is {identity} there, enabled, and not expired?\n\
             pveum passwd {identity}    # or put the right password into the Secret:"
        );
    };
    let grants = Grants::new(&survey.needs, user, token).to_string();
    let rights: Vec<&str> = grants.lines().filter(|line| line.starts_with("pveum acl")).collect();
    format!(
        "pveum user token list {user}    # is {token} there, and not expired?\n\
         hyperfleet init --endpoint {endpoint} --user {user} --token-name {token} … --apply --renew-token    # with the \
         flags of the first time, if init made it; or on a node:\n\
         pveum user token remove {user} {token} && pveum user token add {user} {token}    # it prints the new secret; the \
         rights went with the old one, so give them again, with the roles of hyperfleet init --print:\n\
         {}\n\
         # then put the new secret into the Secret:",
        rights.join("\n")
    )
}

/// The entries of Secrets that a cluster names.
pub(in crate::doctor) fn keys(cluster: &HypervisorCluster) -> Vec<&SecretKey> {
    let api::Credentials { token_id, token_secret, username, password } = &cluster.spec.credentials;
    let ca = cluster.spec.tls.as_ref().and_then(|tls| tls.ca_certificate.as_ref());
    [token_id, token_secret, username, password].into_iter().flatten().chain(ca).collect()
}

/// The command that makes the Secret that a cluster names, with all of its entries.
fn create_secret(cluster: &HypervisorCluster, about: &About) -> String {
    make_secret(&about.namespace, &keys(cluster))
}

/// The command that makes Secrets with these entries, out of files so that nothing secret is in a command line.
pub(in crate::doctor) fn make_secret(namespace: &str, keys: &[&SecretKey]) -> String {
    let mut secrets: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    for key in keys {
        secrets.entry(key.name.as_str()).or_default().push(key.key.as_str());
    }
    let line = |(name, entries): (&str, Vec<&str>)| {
        let entries: Vec<String> = entries.iter().map(|entry| format!("--from-file={entry}=FILE")).collect();
        format!(
            "kubectl -n {namespace} create secret generic {name} {} --dry-run=client -o yaml | kubectl apply -f -",
            entries.join(" ")
        )
    };
    secrets.into_iter().map(line).collect::<Vec<_>>().join("\n")
}
