//! The real program as a person runs it: by flags, and on a terminal.

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::Value;
use tempfile::TempDir;
use testenv::Program;

use crate::clinic::Clinic;

/// How long a run may take.
pub(crate) const SOON: Duration = Duration::from_secs(30);
/// The administrator's password.
pub(crate) const PASSWORD: &str = "correct horse battery";

pub(crate) struct Ended {
    pub(crate) code: i32,
    pub(crate) output: String,
}

/// A person with a directory.
pub(crate) struct Person {
    pub(crate) files: TempDir,
}

impl Person {
    pub(crate) fn new() -> Self {
        Self { files: TempDir::new().unwrap() }
    }

    pub(crate) fn path(&self, name: &str) -> String {
        self.files.path().join(name).to_str().unwrap().to_owned()
    }

    pub(crate) fn file(&self, name: &str, text: &str) -> String {
        std::fs::write(self.path(name), text).unwrap();
        self.path(name)
    }

    /// `hyperfleet` with these arguments, in the person's directory.
    pub(crate) fn command(&self, arguments: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        command.args(arguments).current_dir(self.files.path()).env("KUBECONFIG", "/nonexistent").env("NO_COLOR", "1");
        command
    }

    pub(crate) async fn run(&self, arguments: &[&str]) -> Ended {
        let program = Program::start(&self.command(arguments));
        let code = program.wait(SOON).await.code().unwrap_or(-1);
        Ended { code, output: program.output() }
    }

    /// The flags that lead to a clinic's hypervisor.
    pub(crate) fn hypervisor(&self, clinic: &Clinic) -> Vec<String> {
        let ca = self.file("ca.pem", clinic.authority.pem());
        [
            "init",
            "--yes",
            "--allow-loopback",
            "--endpoint",
            &clinic.pve_url,
            "--ca-file",
            &ca,
            "--image",
            "9000",
            "--node",
            "pve1",
            "--storage",
            "disks",
            "--iso-storage",
            "local",
        ]
        .map(str::to_owned)
        .to_vec()
    }

    /// The same with more of them; one that is there already gets its new value.
    pub(crate) fn flags(&self, clinic: &Clinic, more: &[&str]) -> Vec<String> {
        let start = self.hypervisor(clinic);
        let said = |flag: &String| flag.starts_with("--") && more.contains(&flag.as_str());
        let mut flags = Vec::new();
        let mut words = start.into_iter();
        while let Some(word) = words.next() {
            if said(&word) {
                words.next();
            } else {
                flags.push(word);
            }
        }
        flags.extend(more.iter().map(|word| (*word).to_owned()));
        flags
    }

    /// Runs `init` for a clinic's hypervisor with these flags.
    pub(crate) async fn init(&self, clinic: &Clinic, more: &[&str]) -> Ended {
        let flags = self.flags(clinic, more);
        self.run(&flags.iter().map(String::as_str).collect::<Vec<_>>()).await
    }

    /// The same with an administrator's login.
    pub(crate) async fn apply(&self, clinic: &Clinic, more: &[&str]) -> Ended {
        clinic.pve.set_password("root@pam", PASSWORD);
        let password = self.file("password", PASSWORD);
        self.init(clinic, &[&["--apply", "--admin-password-file", password.as_str()], more].concat()).await
    }

    /// An object that was written.
    pub(crate) fn object(&self, kind: &str) -> Value {
        self.objects().into_iter().find(|object| object["kind"] == kind).unwrap_or_default()
    }

    /// An entry of a Secret that was written.
    pub(crate) fn entry(&self, secret: &str, entry: &str) -> String {
        let secrets = self.objects();
        let found = secrets.iter().find(|object| object["kind"] == "Secret" && object["metadata"]["name"] == secret);
        found.and_then(|secret| secret["stringData"][entry].as_str()).unwrap_or_default().to_owned()
    }

    /// Everything that was written, by file name, but what is hidden.
    pub(crate) fn written(&self) -> Vec<(String, String, u32)> {
        use std::os::unix::fs::PermissionsExt as _;
        let directory = Path::new(self.files.path()).join("hyperfleet-setup");
        let Ok(entries) = std::fs::read_dir(directory) else { return Vec::new() };
        let mut files: Vec<_> = entries
            .map(Result::unwrap)
            .filter(|entry| !entry.file_name().to_string_lossy().starts_with('.'))
            .map(|entry| {
                let mode = entry.metadata().unwrap().permissions().mode() & 0o777;
                let text = std::fs::read_to_string(entry.path()).unwrap();
                (entry.file_name().into_string().unwrap(), text, mode)
            })
            .collect();
        files.sort();
        files
    }

    /// What was written, as objects.
    pub(crate) fn objects(&self) -> Vec<Value> {
        self.written().iter().map(|(_, text, _)| serde_saphyr::from_str(text).unwrap()).collect()
    }
}
