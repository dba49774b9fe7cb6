//! What cargo knows about the workspace.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::Command;

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

/// The platform the rules are about; the project runs in Linux containers and VMs.
pub(super) const PLATFORM: &str = "x86_64-unknown-linux-gnu";

/// Versions of packages by name.
pub type Packages = BTreeMap<String, BTreeSet<String>>;

/// All that the rules look at.
#[derive(Clone, Debug, Default)]
pub struct Facts {
    /// Our own crates.
    pub members: Vec<Member>,
    /// Every package from outside, tests' included.
    pub packages: Vec<Package>,
    /// What the whole workspace links or runs while building, tests apart.
    pub built: Packages,
}

/// One of our crates.
#[derive(Clone, Debug)]
pub struct Member {
    /// Its name in the architecture: `api` for the package `hyperfleet-api`.
    pub name: String,
    /// What its manifest asks for.
    pub dependencies: Vec<Dependency>,
    /// Everything it links when it is built alone.
    pub links: Packages,
}

/// A line of a manifest.
#[derive(Clone, Debug, Deserialize)]
pub struct Dependency {
    /// The package asked for.
    pub name: String,
    /// What it is needed for.
    #[serde(default, deserialize_with = "null_is_normal")]
    pub kind: DependencyKind,
    /// Set if the package is a folder of ours.
    pub path: Option<String>,
}

/// What a dependency is needed for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum DependencyKind {
    /// To run.
    #[default]
    Normal,
    /// To test.
    Dev,
    /// To build.
    Build,
}

/// A package from outside.
#[derive(Clone, Debug, Deserialize)]
pub struct Package {
    /// Its name.
    pub name: String,
    /// Its version.
    pub version: String,
    /// Its licence expression, if it states one.
    pub license: Option<String>,
    /// Where it comes from; our own crates come from nowhere.
    pub source: Option<String>,
    #[serde(default)]
    dependencies: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

impl Facts {
    /// Asks cargo about the workspace at `root`; uses the lock file as it is.
    pub fn gather(root: &Path) -> Result<Self> {
        let metadata = cargo(root, &["metadata", "--format-version", "1", "--locked", "--filter-platform", PLATFORM])?;
        let metadata: Metadata = serde_json::from_str(&metadata).context("cannot read `cargo metadata`")?;
        let (ours, packages): (Vec<Package>, Vec<Package>) =
            metadata.packages.into_iter().partition(|package| package.source.is_none());
        let members = ours.into_iter().map(|package| Member::gather(root, package)).collect::<Result<_>>()?;
        let built = tree(root, &["--workspace", "--edges", "normal,build"])?;
        Ok(Self { members, packages, built })
    }
}

impl Member {
    fn gather(root: &Path, package: Package) -> Result<Self> {
        let links = tree(root, &["--package", &package.name, "--edges", "normal,no-proc-macro"])?;
        Ok(Self { name: short(&package.name).to_owned(), dependencies: package.dependencies, links })
    }

    /// Our own crates it asks for, by their names in the architecture.
    pub(super) fn edges(&self) -> impl Iterator<Item = (&str, DependencyKind)> {
        self.dependencies.iter().filter(|on| on.path.is_some()).map(|on| (short(&on.name), on.kind))
    }
}

/// The architecture's name of one of our packages.
pub(super) fn short(package: &str) -> &str {
    package.strip_prefix("hyperfleet-").unwrap_or(package)
}

fn tree(root: &Path, arguments: &[&str]) -> Result<Packages> {
    let fixed = ["tree", "--locked", "--target", PLATFORM, "--prefix", "none", "--format", "{p}"];
    Ok(parse_tree(&cargo(root, &[&fixed[..], arguments].concat())?))
}

/// Lines such as `serde v1.0.229 (*)`.
pub(super) fn parse_tree(text: &str) -> Packages {
    let mut packages = Packages::new();
    for line in text.lines() {
        let mut words = line.split_whitespace();
        if let (Some(name), Some(version)) = (words.next(), words.next().and_then(|word| word.strip_prefix('v'))) {
            packages.entry(name.to_owned()).or_default().insert(version.to_owned());
        }
    }
    packages
}

fn cargo(root: &Path, arguments: &[&str]) -> Result<String> {
    let output = Command::new("cargo").args(arguments).current_dir(root).output().context("cannot start cargo")?;
    let complaint = String::from_utf8_lossy(&output.stderr);
    ensure!(output.status.success(), "`cargo {}` says: {}", arguments.join(" "), complaint.trim());
    String::from_utf8(output.stdout).context("cargo printed something that is not text")
}

fn null_is_normal<'de, D: serde::Deserializer<'de>>(deserializer: D) -> Result<DependencyKind, D::Error> {
    Ok(Option::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn trees_are_read_with_all_versions() {
        let packages = parse_tree("syn v2.0.1\nsyn v3.0.0 (*)\nhyperfleet-api v0.1.0 (/x)\n\n[build-dependencies]\n");
        assert_eq!(packages["syn"], BTreeSet::from(["2.0.1".to_owned(), "3.0.0".to_owned()]));
        assert_eq!(packages.len(), 2);
    }

    #[test]
    fn manifests_are_read_with_the_kind_of_each_line() {
        let text = r#"{"packages": [{"name": "hyperfleet-a", "version": "1.0.0", "license": "MIT", "source": null, "dependencies": [
            {"name": "hyperfleet-b", "kind": null, "path": "/x"}, {"name": "rand", "kind": "dev"}, {"name": "cc", "kind": "build"}]}]}"#;
        let metadata: Metadata = serde_json::from_str(text).unwrap();
        let kinds: Vec<DependencyKind> = metadata.packages[0].dependencies.iter().map(|on| on.kind).collect();
        assert_eq!(kinds, [DependencyKind::Normal, DependencyKind::Dev, DependencyKind::Build]);
    }
}
