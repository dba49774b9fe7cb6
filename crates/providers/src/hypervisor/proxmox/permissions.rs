//! Which privileges are missing, for what, and the command that grants them.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::hypervisor::health::{Missing, Needs};
use crate::hypervisor::id::BridgeName;

/// What the server says about ourselves: path, privilege, and whether it holds below that path too.
pub(super) type Granted = BTreeMap<String, BTreeMap<String, Value>>;

/// Making, changing and removing VMs.
const MACHINES: &[&str] = &[
    "VM.Allocate",
    "VM.Audit",
    "VM.Config.CDROM",
    "VM.Config.CPU",
    "VM.Config.Cloudinit",
    "VM.Config.Disk",
    "VM.Config.HWType",
    "VM.Config.Memory",
    "VM.Config.Network",
    "VM.Config.Options",
    "VM.PowerMgmt",
];

/// Making disks.
pub(super) const SPACE: &[&str] = &["Datastore.AllocateSpace", "Datastore.Audit"];

/// Where the zones of networks are.
const ZONES: &str = "/sdn/zones/";

/// The zone of what is a plain bridge.
const PLAIN: &str = "localnetwork";

/// What the right to remove any volume is for, and what it costs.
const LEFTOVERS: &str = "remove disks that a removal left behind, which is the right to remove every disk there";

/// How much something is needed.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Weight {
    /// Machines cannot be made without it.
    Required,
    /// Something suffers without it, and it gives away nothing.
    Useful,
    /// Something suffers without it, but it gives away more than we want: whoever grants it should know.
    Costly,
}

/// One thing we need to be allowed to do somewhere.
pub(super) struct Need {
    pub(super) path: String,
    pub(super) privileges: &'static [&'static str],
    pub(super) purpose: &'static str,
    pub(super) weight: Weight,
}

/// The privileges that are needed and not granted.
pub(super) fn missing(granted: &Granted, needs: &Needs, identity: &str) -> Vec<Missing> {
    let lacking = list(needs).into_iter().filter_map(|Need { path, privileges, purpose, weight }| {
        let has = held(granted, &path);
        let lacks: BTreeSet<String> =
            privileges.iter().filter(|wanted| !has.contains(**wanted)).map(|wanted| (*wanted).to_owned()).collect();
        let (remedy, required) = (remedy(&path, &lacks, identity), weight == Weight::Required);
        (!lacks.is_empty()).then_some(Missing { path, privileges: lacks, purpose, required, remedy })
    });
    lacking.collect()
}

/// Everything that these needs take.
pub(super) fn list(needs: &Needs) -> Vec<Need> {
    // Images are linked where `shared` says so.
    let Needs { images, linked: _, pool, storages, seeds, networks, shared, plugs } = needs;
    let need = |path: String, privileges, purpose, weight| Need { path, privileges, purpose, weight };
    let home = pool.as_ref().map_or_else(|| "/vms".to_owned(), |pool| format!("/pool/{pool}"));
    let mut list = vec![need(home.clone(), MACHINES, "make, change and remove machines", Weight::Required)];
    if pool.is_some() {
        list.push(need(home, &["Pool.Audit"], "see which machines are in the resource pool", Weight::Useful));
    }
    let image = |id| need(format!("/vms/{id}"), &["VM.Audit", "VM.Clone"], "clone the image", Weight::Required);
    list.extend(images.iter().map(image));
    for storage in storages {
        let path = || format!("/storage/{storage}");
        list.push(need(path(), SPACE, "make disks", Weight::Required));
        list.push(need(path(), &["Datastore.Allocate"], LEFTOVERS, Weight::Costly));
    }
    for storage in shared.difference(storages) {
        let path = || format!("/storage/{storage}");
        list.push(need(path(), &["Datastore.AllocateSpace"], "make linked clones of an image there", Weight::Required));
        list.push(need(path(), &["Datastore.Audit"], "see how much room linked clones have", Weight::Useful));
        list.push(need(path(), &["Datastore.Allocate"], LEFTOVERS, Weight::Costly));
    }
    if let Some(storage) = seeds {
        let privileges = &["Datastore.Allocate", "Datastore.AllocateTemplate", "Datastore.Audit"];
        list.push(need(format!("/storage/{storage}"), privileges, "upload and remove seed images", Weight::Required));
    }
    for (zone, network) in networks {
        let path = format!("{ZONES}{}/{network}", zone.as_deref().unwrap_or(PLAIN));
        list.push(need(path, &["SDN.Use"], "plug machines into the network", Weight::Required));
    }
    let named = |bridge: &&BridgeName| networks.iter().any(|(_, network)| network == *bridge);
    for bridge in plugs.iter().filter(|bridge| !named(bridge)) {
        let path = format!("{ZONES}{PLAIN}/{bridge}");
        list.push(need(path, &["SDN.Use"], "clone an image that is plugged in there", Weight::Required));
    }
    list.push(need("/nodes".into(), &["Sys.Audit"], "see how much room nodes have", Weight::Useful));
    list
}

/// The privileges on what a path names. The name of a network does not say which zone it is in, nor which VLAN somebody has
/// the right to, so that whatever is granted on that name anywhere counts: Proxmox itself has the last word.
fn held<'a>(granted: &'a Granted, path: &str) -> BTreeSet<&'a str> {
    let mut held = effective(granted, path);
    let plain = path.strip_prefix(ZONES).and_then(|rest| rest.strip_prefix(PLAIN)?.strip_prefix('/'));
    let Some(network) = plain else { return held };
    for below in granted.keys().filter_map(|known| known.strip_prefix(ZONES)) {
        let mut parts = below.split('/');
        let zone = parts.next().unwrap_or_default();
        held.extend(effective(granted, &format!("{ZONES}{zone}/{network}")));
        if parts.next() == Some(network) {
            held.extend(effective(granted, &format!("{ZONES}{below}")));
        }
    }
    held
}

/// The privileges on a path: its own entry, or what its nearest ancestor with an entry passes down.
fn effective<'a>(granted: &'a Granted, path: &str) -> BTreeSet<&'a str> {
    if let Some(own) = granted.get(path) {
        return own.keys().map(String::as_str).collect();
    }
    let mut above = path;
    while above != "/" {
        above = match above.rsplit_once('/') {
            Some(("", _)) | None => "/",
            Some((parent, _)) => parent,
        };
        if let Some(entry) = granted.get(above) {
            let passed = entry.iter().filter(|(_, down)| down.as_u64() == Some(1) || down.as_str() == Some("1"));
            return passed.map(|(privilege, _)| privilege.as_str()).collect();
        }
    }
    BTreeSet::new()
}

/// A role for what is missing, given to the user and, since a token has no more rights than both, to the token.
fn remedy(path: &str, privileges: &BTreeSet<String>, identity: &str) -> String {
    let privileges: Vec<&str> = privileges.iter().map(String::as_str).collect();
    let plain = |c: char| if c.is_ascii_alphanumeric() { c } else { '-' };
    let role: String = format!("HyperFleet{path}").chars().map(plain).collect();
    let (user, token) = identity.split_once('!').map_or((identity, None), |(user, _)| (user, Some(identity)));
    let token = token.map(|token| format!(" --tokens '{token}'")).unwrap_or_default();
    format!(
        "pveum role add {role} --privs '{}' && pveum acl modify {path} --roles {role} --users '{user}'{token}",
        privileges.join(" ")
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn granted(value: Value) -> Granted {
        serde_json::from_value(value).unwrap()
    }

    fn needs() -> Needs {
        Needs {
            images: BTreeSet::from(["9000".parse().unwrap()]),
            pool: Some("hf".parse().unwrap()),
            storages: BTreeSet::from(["store".parse().unwrap()]),
            seeds: None,
            networks: BTreeSet::from([(None, "vmbr0".parse().unwrap())]),
            ..Needs::default()
        }
    }

    #[test]
    fn r1_2_a_missing_privilege_is_named_with_the_command_that_grants_it() {
        let all: BTreeMap<&str, u8> = MACHINES.iter().map(|privilege| (*privilege, 1)).collect();
        let mut pool = json!(all);
        pool["Pool.Audit"] = json!(1);
        let granted = granted(json!({
            "/pool/hf": pool,
            "/vms/9000": {"VM.Audit": 1},
            "/storage/store": {"Datastore.Audit": 1, "Datastore.AllocateSpace": 1, "Datastore.Allocate": 1},
            "/sdn/zones": {"SDN.Use": "1"},
            "/nodes": {"Sys.Audit": 0},
        }));
        let missing = missing(&granted, &needs(), "op@pve!hf");
        assert_eq!(
            missing.iter().map(ToString::to_string).collect::<Vec<_>>(),
            ["VM.Clone on /vms/9000, to clone the image: pveum role add HyperFleet-vms-9000 --privs 'VM.Clone' \
              && pveum acl modify /vms/9000 --roles HyperFleet-vms-9000 --users 'op@pve' --tokens 'op@pve!hf'"]
        );
        assert!(missing[0].required);
    }

    #[test]
    fn a_privilege_counts_below_its_path_only_if_it_is_passed_down() {
        let granted = granted(json!({"/": {"VM.Audit": 1, "Sys.Audit": 0}}));
        assert_eq!(effective(&granted, "/vms/101"), BTreeSet::from(["VM.Audit"]));
        assert_eq!(effective(&granted, "/"), BTreeSet::from(["Sys.Audit", "VM.Audit"]));
    }

    #[test]
    fn what_a_linked_clone_takes_is_asked_for_where_the_image_is_and_no_more() {
        let needs = Needs {
            shared: BTreeSet::from(["store".parse().unwrap(), "images".parse().unwrap()]),
            plugs: BTreeSet::from(["vmbr0".parse().unwrap(), "vmbr7".parse().unwrap()]),
            ..needs()
        };
        let lacks = missing(&Granted::new(), &needs, "op@pve");
        let told = |path: &str| {
            let of = lacks.iter().filter(|missing| missing.required && missing.path == path);
            of.map(|missing| missing.privileges.iter().cloned().collect::<Vec<_>>().join(" ")).collect::<Vec<_>>()
        };
        assert_eq!(told("/storage/images"), ["Datastore.AllocateSpace"]);
        assert_eq!(told("/sdn/zones/localnetwork/vmbr7"), ["SDN.Use"]);
        assert_eq!((told("/storage/store").len(), told("/sdn/zones/localnetwork/vmbr0").len()), (1, 1), "once each");
    }

    #[test]
    fn a_network_counts_in_whichever_zone_it_is_granted() {
        let used = |path: &str, down: u8| {
            held(&granted(json!({ path: {"SDN.Use": down} })), "/sdn/zones/localnetwork/lab").contains("SDN.Use")
        };
        for (path, down) in [
            ("/sdn/zones/localnetwork/lab", 0),
            ("/sdn/zones/simple/lab", 0),
            ("/sdn/zones/simple", 1),
            ("/sdn/zones/localnetwork/lab/42", 0),
            ("/", 1),
        ] {
            assert!(used(path, down), "{path}");
        }
        for (path, down) in [("/sdn/zones/simple", 0), ("/sdn/zones/simple/other", 1), ("/", 0)] {
            assert!(!used(path, down), "{path}");
        }
    }

    #[test]
    fn without_any_grant_everything_is_missing() {
        let missing = missing(&Granted::new(), &needs(), "op@pve");
        let required: Vec<&str> = missing.iter().filter(|m| m.required).map(|m| m.path.as_str()).collect();
        assert_eq!(required, ["/pool/hf", "/vms/9000", "/storage/store", "/sdn/zones/localnetwork/vmbr0"]);
        assert!(missing[0].remedy.ends_with("--users 'op@pve'"));
    }
}
