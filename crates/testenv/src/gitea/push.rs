//! What people do with Gitea: they push.

use std::path::Path;
use std::process::Command;

use anyhow::{Context, Result, ensure};

use super::Gitea;
use super::home::ADMINISTRATOR;
use crate::demand::demand;

impl Gitea {
    /// Adds a workflow to a repository, as people do: a clone, a commit, a push. What it runs on begins.
    pub fn push(&self, repository: &str, file: &str, text: &str) {
        demand("push a workflow", self.clone_and_push(repository, file, text));
    }

    fn clone_and_push(&self, repository: &str, file: &str, text: &str) -> Result<()> {
        let place = tempfile::tempdir()?;
        let clone = place.path().join("clone");
        let (scheme, host) = self.url().split_once("://").context("its URL has a scheme")?;
        let url = format!("{scheme}://{ADMINISTRATOR}:{}@{host}/{repository}.git", self.token());
        let at = clone.to_str().context("temporary directories have plain names")?;
        self.git(place.path(), &["clone", "--quiet", &url, at])?;
        let workflows = clone.join(".gitea/workflows");
        std::fs::create_dir_all(&workflows)?;
        std::fs::write(workflows.join(file), text)?;
        self.git(&clone, &["add", "."])?;
        self.git(&clone, &["commit", "--quiet", "--message", "Add a workflow"])?;
        self.git(&clone, &["push", "--quiet"])
    }

    fn git(&self, place: &Path, arguments: &[&str]) -> Result<()> {
        let mut command = Command::new("git");
        command.args(["-c", "user.name=boss", "-c", "user.email=boss@example.com"]).args(arguments);
        command.current_dir(place).env("HOME", self.home.of_people()).env("GIT_SSL_CAINFO", self.authority());
        command.env("GIT_TERMINAL_PROMPT", "0").env("GIT_CONFIG_NOSYSTEM", "1");
        let output = command.output().context("run git")?;
        let said = String::from_utf8_lossy(&output.stderr).replace(self.token(), "…");
        ensure!(output.status.success(), "git {}: {said}", arguments[0]);
        Ok(())
    }
}
