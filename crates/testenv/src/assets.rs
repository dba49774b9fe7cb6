//! Where the real programs are: `KUBEBUILDER_ASSETS` if set, else the cache that `make tools` fills.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

/// The versions are stated once, in the Go modules that build the programs.
const ETCD_MODULE: &str = include_str!("../../../tools/etcd/go.mod");
const KUBERNETES_MODULE: &str = include_str!("../../../tools/kubernetes/go.mod");
const GITEA_MODULE: &str = include_str!("../../../tools/gitea/go.mod");
const GITEA_RUNNER_MODULE: &str = include_str!("../../../tools/gitea-runner/go.mod");

/// A real program that tests run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Tool {
    /// The store under the API server.
    Etcd,
    /// The API server.
    KubeApiserver,
    /// Garbage collection, namespace deletion, service accounts.
    KubeControllers,
    /// The command line.
    Kubectl,
    /// The Gitea server.
    Gitea,
    /// What runs the jobs of Gitea.
    GiteaRunner,
}

/// A program that is not where it should be, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[error("{program} is not at {}: {remedy}", looked_at.display())]
pub struct Missing {
    program: &'static str,
    looked_at: PathBuf,
    remedy: &'static str,
}

impl Tool {
    /// Its file name.
    pub fn program(self) -> &'static str {
        match self {
            Self::Etcd => "etcd",
            Self::KubeApiserver => "kube-apiserver",
            Self::KubeControllers => "kube-controller-manager",
            Self::Kubectl => "kubectl",
            Self::Gitea => "gitea",
            Self::GiteaRunner => "gitea-runner",
        }
    }

    /// Whether `KUBEBUILDER_ASSETS` is the place for it.
    fn is_of_kubernetes(self) -> bool {
        match self {
            Self::Etcd | Self::KubeApiserver | Self::KubeControllers | Self::Kubectl => true,
            Self::Gitea | Self::GiteaRunner => false,
        }
    }

    /// The path of the program on this machine.
    pub fn path(self) -> Result<PathBuf, Missing> {
        let set = |name| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let cache = set("XDG_CACHE_HOME").or_else(|| set("HOME").map(|home| home.join(".cache"))).unwrap_or_default();
        self.locate(set("KUBEBUILDER_ASSETS").as_deref(), &cache, Path::is_file)
    }

    fn locate(self, assets: Option<&Path>, cache: &Path, is_file: impl Fn(&Path) -> bool) -> Result<PathBuf, Missing> {
        let built = cache.join("hyperfleet/tools").join(self.directory()).join("bin").join(self.program());
        let given = assets.filter(|_| self.is_of_kubernetes()).map(|assets| assets.join(self.program()));
        let (looked_at, remedy) = match given {
            // The archives that KUBEBUILDER_ASSETS usually points at do not carry this one.
            Some(given) if self == Self::KubeControllers && !is_file(&given) => {
                (built, "KUBEBUILDER_ASSETS does not have it either; run `make tools`")
            }
            Some(given) => (given, "KUBEBUILDER_ASSETS points there; unset it and run `make tools`, or complete it"),
            None => (built, "run `make tools`"),
        };
        if is_file(&looked_at) {
            return Ok(looked_at);
        }
        Err(Missing { program: self.program(), looked_at, remedy })
    }

    /// The directory in the cache that holds this program and those built with it.
    fn directory(self) -> String {
        let (name, version) = match self {
            Self::Etcd => ("etcd", version(ETCD_MODULE, "go.etcd.io/etcd/server/v3")),
            Self::KubeApiserver | Self::KubeControllers | Self::Kubectl => {
                ("kubernetes", version(KUBERNETES_MODULE, "k8s.io/kubernetes"))
            }
            Self::Gitea => ("gitea", version(GITEA_MODULE, "code.gitea.io/gitea")),
            Self::GiteaRunner => ("gitea-runner", version(GITEA_RUNNER_MODULE, "gitea.com/gitea/runner")),
        };
        format!("{name}-{version}")
    }
}

/// The version that a go.mod asks of a module.
fn version<'a>(go_mod: &'a str, module: &str) -> &'a str {
    go_mod
        .lines()
        .filter_map(|line| line.trim().strip_prefix(module))
        .find_map(|rest| rest.strip_prefix(' ')?.split(' ').next())
        .expect("each module under tools/ requires the program it builds")
}

#[expect(
    clippy::disallowed_methods,
    reason = "where programs are is a matter of the machine, not a setting of the product"
)]
pub(crate) fn variable(name: &str) -> Option<OsString> {
    std::env::var_os(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    const CACHE: &str = "/cache";

    fn built(tool: Tool) -> PathBuf {
        Path::new(CACHE).join("hyperfleet/tools").join(tool.directory()).join("bin").join(tool.program())
    }

    #[test]
    fn versions_come_from_the_go_modules() {
        let go_mod =
            "require (\n\tk8s.io/kubernetes-extra v9.9.9 // indirect\n\tk8s.io/kubernetes v1.2.3 // indirect\n)\n";
        assert_eq!(version(go_mod, "k8s.io/kubernetes"), "v1.2.3");
        assert!(Tool::Kubectl.directory().starts_with("kubernetes-v1."));
        assert!(Tool::Etcd.directory().starts_with("etcd-v3."));
    }

    #[test]
    fn assets_win_over_the_cache() {
        let found = Tool::Etcd.locate(Some(Path::new("/assets")), Path::new(CACHE), |_| true);
        assert_eq!(found.unwrap(), Path::new("/assets/etcd"));
    }

    #[test]
    fn without_assets_the_cache_serves() {
        let found = Tool::Kubectl.locate(None, Path::new(CACHE), |_| true);
        assert_eq!(found.unwrap(), built(Tool::Kubectl));
    }

    #[test]
    fn incomplete_assets_are_an_error_and_not_a_mixture_of_versions() {
        let missing =
            Tool::KubeApiserver.locate(Some(Path::new("/assets")), Path::new(CACHE), |path| path.starts_with(CACHE));
        let message = missing.unwrap_err().to_string();
        assert!(message.contains("kube-apiserver is not at /assets/kube-apiserver"), "{message}");
    }

    #[test]
    fn the_controllers_may_come_from_the_cache_when_the_assets_lack_them() {
        let found =
            Tool::KubeControllers.locate(Some(Path::new("/assets")), Path::new(CACHE), |path| path.starts_with(CACHE));
        assert_eq!(found.unwrap(), built(Tool::KubeControllers));
    }

    #[test]
    fn assets_are_no_place_for_gitea() {
        let found = Tool::Gitea.locate(Some(Path::new("/assets")), Path::new(CACHE), |_| true);
        assert_eq!(found.unwrap(), built(Tool::Gitea));
        assert!(Tool::GiteaRunner.directory().starts_with("gitea-runner-v1."));
    }

    #[test]
    fn a_missing_program_names_the_command_that_builds_it() {
        for tool in [Tool::Etcd, Tool::KubeApiserver, Tool::KubeControllers, Tool::Kubectl, Tool::Gitea] {
            let message = tool.locate(None, Path::new(CACHE), |_| false).unwrap_err().to_string();
            assert!(message.contains("make tools") && message.contains(tool.program()), "{message}");
        }
    }
}
