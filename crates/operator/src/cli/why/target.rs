//! What a person asks about: `kind/name`, or a name alone.

use std::str::FromStr;

use api::{MachineClaim, RunnerJob, RunnerPool};
use fleet::trail::Kind;
use kube::{CustomResourceExt, Resource};

/// What a person asks about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Target {
    /// The kind, if it was named.
    pub(super) kind: Option<Kind>,
    /// The name.
    pub(super) name: String,
}

/// What cannot be asked about.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NoTarget {
    /// It is no kind, or one that does not wait.
    #[error("`{0}` cannot be asked about: name a runnerjob, a machineclaim or a runnerpool")]
    Kind(String),
    /// There is no name.
    #[error("a name is missing: write [KIND/]NAME")]
    Name,
}

impl FromStr for Target {
    type Err = NoTarget;

    fn from_str(text: &str) -> Result<Self, NoTarget> {
        let (kind, name) = match text.split_once('/') {
            Some((kind, name)) => (Some(kind_of(kind).ok_or_else(|| NoTarget::Kind(kind.to_owned()))?), name),
            None => (None, text),
        };
        if name.is_empty() || name.contains('/') {
            return Err(NoTarget::Name);
        }
        Ok(Self { kind, name: name.to_owned() })
    }
}

/// The kind that goes by this name, as `kubectl` takes it: singular, plural or short, in any case.
fn kind_of(word: &str) -> Option<Kind> {
    let word = word.to_ascii_lowercase();
    [(Kind::Job, names::<RunnerJob>()), (Kind::Claim, names::<MachineClaim>()), (Kind::Pool, names::<RunnerPool>())]
        .into_iter()
        .find_map(|(kind, names)| names.contains(&word).then_some(kind))
}

fn names<K: Resource<DynamicType = ()> + CustomResourceExt>() -> Vec<String> {
    let short = K::shortnames().iter().map(|name| (*name).to_owned());
    [K::kind(&()).to_ascii_lowercase(), K::plural(&()).into_owned()].into_iter().chain(short).collect()
}

/// The kind as manifests spell it.
pub(super) const fn kind_name(kind: Kind) -> &'static str {
    match kind {
        Kind::Job => "RunnerJob",
        Kind::Pool => "RunnerPool",
        Kind::Claim => "MachineClaim",
        Kind::Source => "RunnerSource",
        Kind::Template => "HypervisorMachineTemplate",
        Kind::Cluster => "HypervisorCluster",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn kinds_are_named_as_kubectl_takes_them() {
        for (text, kind, name) in [
            ("runnerjob/a", Some(Kind::Job), "a"),
            ("RunnerJobs/a", Some(Kind::Job), "a"),
            ("rjob/a", Some(Kind::Job), "a"),
            ("mclaim/a.b", Some(Kind::Claim), "a.b"),
            ("rpool/small", Some(Kind::Pool), "small"),
            ("small", None, "small"),
        ] {
            assert_eq!(text.parse(), Ok(Target { kind, name: name.to_owned() }));
        }
    }

    #[test]
    fn what_cannot_be_asked_about_is_refused_with_what_can() {
        for (text, says) in [
            ("pod/a", "`pod` cannot be asked about: name a runnerjob, a machineclaim or a runnerpool"),
            ("rjob/", "a name is missing: write [KIND/]NAME"),
            ("", "a name is missing: write [KIND/]NAME"),
            ("rjob/ci/a", "a name is missing: write [KIND/]NAME"),
        ] {
            assert_eq!(text.parse::<Target>().unwrap_err().to_string(), says);
        }
    }
}
