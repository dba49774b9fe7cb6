//! What the objects of one set-up are called: all of it follows from one name, so that two set-ups never meet.

use anyhow::bail;

/// The name without which nothing else is said.
pub(crate) const DEFAULT: &str = "pve";
/// Letters of a name that leave room for what is put behind it.
const LONGEST: usize = 40;

/// The names of everything.
pub(crate) struct Names {
    /// The `HypervisorCluster`.
    pub(super) cluster: String,
    /// The `HypervisorMachineTemplate`.
    pub(super) template: String,
    /// The `RunnerPool`.
    pub(super) pool: String,
    /// The Secret with the hypervisor's credentials.
    pub(super) proxmox: String,
    /// The Secret with the CI platform's.
    pub(super) ci: String,
    prefix: String,
}

impl Names {
    /// The names that follow from one.
    pub(super) fn new(name: &str) -> anyhow::Result<Self> {
        if !is_label(name) || name.len() > LONGEST {
            bail!("--name: {name:?} is no name: give at most {LONGEST} of a to z, 0 to 9 and -, such as {DEFAULT}");
        }
        let prefix = if name == DEFAULT { String::new() } else { format!("{name}-") };
        let of = |what: &str| format!("{prefix}{what}");
        Ok(Self {
            cluster: name.to_owned(),
            template: of("machines"),
            pool: of("linux-x64"),
            proxmox: of("proxmox-credentials"),
            ci: of("ci-credentials"),
            prefix,
        })
    }

    /// The `RunnerSource`.
    pub(super) fn source(&self, platform: api::Platform) -> String {
        format!("{}{}", self.prefix, platform.as_str())
    }
}

/// Whether Kubernetes takes it as a namespace, or as a part of a name.
pub(super) fn is_label(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
    let ends = text.bytes().next().is_some_and(plain) && text.bytes().last().is_some_and(plain);
    ends && text.len() <= 63 && text.bytes().all(|byte| plain(byte) || byte == b'-')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_one_and_the_first_set_up_has_the_short_ones() {
        let first = Names::new(DEFAULT).unwrap();
        assert_eq!((first.cluster.as_str(), first.proxmox.as_str()), ("pve", "proxmox-credentials"));
        assert_eq!(first.source(api::Platform::GitHub), "github");
        let second = Names::new("lab").unwrap();
        assert_eq!((second.cluster.as_str(), second.pool.as_str()), ("lab", "lab-linux-x64"));
        assert_eq!(second.source(api::Platform::Gitea), "lab-gitea");
    }

    #[test]
    fn what_kubernetes_would_refuse_is_no_name() {
        for wrong in ["", "Lab", "-lab", "lab-", "a.b", &"a".repeat(41)] {
            assert!(Names::new(wrong).is_err(), "{wrong}");
        }
    }
}
