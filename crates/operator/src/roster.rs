//! Which controllers there are, in the sets that are deployed together.

use chassis::settings::{Kind, Setting};
use runtime::rbac::Rule;

use crate::controllers::{
    hypervisor_clusters, machine_claims, machine_templates, runner_jobs, runner_pools, runner_sources,
};
use crate::{bootstrap, ingress};

/// Controllers that run in one process under one account.
#[derive(Clone, Copy, Debug)]
pub struct Set {
    /// Its name in `--controllers` and in the names of its roles.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// The controllers in it.
    pub controllers: &'static [Duty],
    /// Whether only one of its replicas acts at a time.
    pub elects: bool,
}

/// One controller as the roster knows it.
#[derive(Clone, Copy, Debug)]
pub struct Duty {
    /// Its name in `--controllers`, logs and metrics.
    pub name: &'static str,
    /// One line about it.
    pub summary: &'static str,
    /// What it may do in the cluster.
    pub rules: &'static [Rule],
}

const SETS: &[Set] = &[
    Set {
        name: "fleet",
        summary: "ephemeral VMs for CI jobs, on your own hypervisors",
        controllers: &[
            hypervisor_clusters::DUTY,
            machine_templates::DUTY,
            machine_claims::DUTY,
            runner_sources::DUTY,
            runner_pools::DUTY,
            runner_jobs::DUTY,
        ],
        elects: true,
    },
    Set {
        name: "bootstrap",
        summary: "where fresh VMs prove themselves; every replica serves",
        controllers: &[bootstrap::DUTY],
        elects: false,
    },
    Set {
        name: "ingress",
        summary: "where CI platforms tell of jobs; every replica serves",
        controllers: &[ingress::DUTY],
        elects: false,
    },
];

/// The settings of `hyperfleet operator` beside those every process has.
pub const SETTINGS: &[Setting] = &[
    Setting {
        key: "controllers.enabled",
        flag: "controllers",
        env: "CONTROLLERS",
        default: "fleet,bootstrap,ingress",
        reload: false,
        kind: Kind::List,
        help: "Controllers to run, by name or by the name of their set",
    },
    Setting {
        key: "hypervisors.period",
        flag: "hypervisor-period",
        env: "HYPERVISOR_PERIOD",
        default: "30s",
        reload: true,
        kind: Kind::Duration(1, 3_600),
        help: "Pause between two looks at a hypervisor",
    },
    Setting {
        key: "hypervisors.allowedAddresses",
        flag: "hypervisor-allowed-addresses",
        env: "HYPERVISOR_ALLOWED_ADDRESSES",
        default: "",
        reload: false,
        kind: Kind::Ranges,
        help: "Ranges of addresses that hypervisors may have although they are loopback, link-local or denied",
    },
    Setting {
        key: "hypervisors.deniedAddresses",
        flag: "hypervisor-denied-addresses",
        env: "HYPERVISOR_DENIED_ADDRESSES",
        default: "",
        reload: false,
        kind: Kind::Ranges,
        help: "Ranges of addresses that hypervisors may not have: those of the cluster's pods and services",
    },
    Setting {
        key: "claims.backoff",
        flag: "claim-backoff",
        env: "CLAIM_BACKOFF",
        default: "5s",
        reload: true,
        kind: Kind::Duration(1, 3_600),
        help: "Pause after the first attempt to make a machine that failed; it doubles with each further one",
    },
    Setting {
        key: "claims.backoffMax",
        flag: "claim-backoff-max",
        env: "CLAIM_BACKOFF_MAX",
        default: "5m",
        reload: true,
        kind: Kind::Duration(1, 86_400),
        help: "Longest pause between two attempts",
    },
    Setting {
        key: "claims.attempts",
        flag: "claim-attempts",
        env: "CLAIM_ATTEMPTS",
        default: "10",
        reload: true,
        kind: Kind::Int(1, 100),
        help: "Attempts after which a claim fails",
    },
    Setting {
        key: "bootstrap.listen",
        flag: "bootstrap-listen",
        env: "BOOTSTRAP_LISTEN",
        default: ":8444",
        reload: false,
        kind: Kind::Address,
        help: "Where fresh machines prove themselves, over TLS; 0 is off",
    },
    Setting {
        key: "bootstrap.advertise",
        flag: "bootstrap-advertise",
        env: "BOOTSTRAP_ADVERTISE",
        default: "",
        reload: false,
        kind: Kind::Text,
        help: "The address that machines reach the bootstrap service at, as https://host:port",
    },
    Setting {
        key: "platforms.allowedAddresses",
        flag: "platform-allowed-addresses",
        env: "PLATFORM_ALLOWED_ADDRESSES",
        default: "",
        reload: false,
        kind: Kind::Ranges,
        help: "Ranges of addresses that CI platforms may have although they are loopback, link-local or denied",
    },
    Setting {
        key: "platforms.deniedAddresses",
        flag: "platform-denied-addresses",
        env: "PLATFORM_DENIED_ADDRESSES",
        default: "",
        reload: false,
        kind: Kind::Ranges,
        help: "Ranges of addresses that CI platforms may not have: those of the cluster's pods and services",
    },
    Setting {
        key: "ingress.listen",
        flag: "ingress-listen",
        env: "INGRESS_LISTEN",
        default: "0",
        reload: false,
        kind: Kind::Address,
        help: "Where CI platforms deliver webhooks; 0 is off",
    },
    Setting {
        key: "ingress.certDir",
        flag: "ingress-cert-path",
        env: "INGRESS_CERT_PATH",
        default: "",
        reload: false,
        kind: Kind::Text,
        help: "Directory of tls.crt and tls.key for webhooks, read again when they change; without it they come over plain http, from something that brings TLS",
    },
];

/// Every set there is.
pub fn sets() -> &'static [Set] {
    SETS
}

/// A name that neither a set nor a controller has.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
#[error("controllers: {name:?} is unknown; there are: {known}")]
pub struct UnknownController {
    name: String,
    known: String,
}

/// The controllers that these names stand for, each once, in the order of the roster.
pub fn select(names: &[String]) -> Result<Vec<Duty>, UnknownController> {
    for name in names {
        let known = sets().iter().any(|set| set.name == name || set.controllers.iter().any(|duty| duty.name == name));
        if !known {
            return Err(UnknownController { name: name.clone(), known: known_names() });
        }
    }
    let wanted = |set: &Set, duty: &Duty| names.iter().any(|name| name == set.name || name == duty.name);
    let chosen = sets().iter().flat_map(|set| set.controllers.iter().filter(move |duty| wanted(set, duty)));
    Ok(chosen.copied().collect())
}

fn known_names() -> String {
    let list = |set: &Set| {
        let duties: Vec<&str> = set.controllers.iter().map(|duty| duty.name).collect();
        format!("{} ({})", set.name, duties.join(", "))
    };
    sets().iter().map(list).collect::<Vec<_>>().join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(of: &[&str]) -> Vec<String> {
        of.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn a_set_stands_for_its_controllers_and_none_runs_twice() {
        let chosen = select(&names(&["runner-jobs", "fleet"])).unwrap();
        assert_eq!(
            chosen.iter().map(|duty| duty.name).collect::<Vec<_>>(),
            [
                "hypervisor-clusters",
                "machine-templates",
                "machine-claims",
                "runner-sources",
                "runner-pools",
                "runner-jobs"
            ]
        );
    }

    #[test]
    fn an_unknown_name_is_refused_with_the_known_ones() {
        let error = select(&names(&["flet"])).unwrap_err();
        assert_eq!(
            error.to_string(),
            r#"controllers: "flet" is unknown; there are: fleet (hypervisor-clusters, machine-templates, machine-claims, runner-sources, runner-pools, runner-jobs), bootstrap (bootstrap), ingress (ingress)"#
        );
    }

    #[test]
    fn a_name_stands_for_one_choice() {
        // A set of one may have its controller's name: both stand for the same.
        let own = |set: &Set| Some(set.name).filter(|name| set.controllers.iter().all(|duty| duty.name != *name));
        let mut all: Vec<&str> =
            sets().iter().flat_map(|set| set.controllers.iter().map(|duty| duty.name).chain(own(set))).collect();
        let before = all.len();
        all.sort_unstable();
        all.dedup();
        assert_eq!(all.len(), before);
        for set in sets().iter().filter(|set| own(set).is_none()) {
            assert_eq!(set.controllers.len(), 1, "{}", set.name);
        }
    }
}
