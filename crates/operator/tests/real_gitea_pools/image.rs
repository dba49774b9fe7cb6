//! What an image has beside the agent: the platform's runner, and trust in the platform's certificate.

use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use testenv::{Gitea, Tool};

/// A directory of runners that everybody may read: work never runs as root.
pub(crate) struct Image {
    place: TempDir,
}

impl Image {
    /// The runner as it was built, started with the server's authority among those that it believes.
    pub(crate) fn new(gitea: &Gitea) -> Self {
        let place = TempDir::new().unwrap();
        let home = place.path().join("gitea-runner");
        std::fs::create_dir(&home).unwrap();
        let (real, authority) = (home.join("real"), home.join("ca.pem"));
        std::fs::copy(Tool::GiteaRunner.path().unwrap(), &real).unwrap();
        std::fs::copy(gitea.authority(), &authority).unwrap();
        let start = home.join("gitea-runner");
        let script = format!("#!/bin/sh\nSSL_CERT_FILE={} exec {} \"$@\"\n", authority.display(), real.display());
        std::fs::write(&start, script).unwrap();
        let mode = |path: &Path, mode| std::fs::set_permissions(path, PermissionsExt::from_mode(mode)).unwrap();
        for path in [place.path(), &home, &real, &start] {
            mode(path, 0o755);
        }
        mode(&authority, 0o644);
        Self { place }
    }

    /// Where runners are, each in a directory of its name.
    pub(crate) fn runners(&self) -> &Path {
        self.place.path()
    }

    /// The runner's own program.
    pub(crate) fn program(&self) -> PathBuf {
        self.place.path().join("gitea-runner/real")
    }
}
