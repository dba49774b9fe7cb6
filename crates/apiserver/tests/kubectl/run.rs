//! Runs the script with the real kubectl and compares what it printed.

use std::fmt::Write as _;
use std::path::PathBuf;
use std::process::Stdio;
use std::sync::OnceLock;

use regex::Regex;
use tokio::io::AsyncWriteExt;

use serde_json::Value;

use super::script::{Command, How};

/// A server that kubectl talks to.
pub struct Side {
    pub kubeconfig: PathBuf,
    pub namespace: String,
    /// Where kubectl keeps what it learnt about the server.
    pub cache: tempfile::TempDir,
}

/// What kubectl printed and how it ended.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Printed {
    pub stdout: String,
    pub stderr: String,
    pub code: Option<i32>,
}

/// A command whose outputs differ.
#[derive(Debug)]
pub struct Mismatch {
    pub command: Command,
    pub real: Printed,
    pub ours: Printed,
}

/// Runs all commands on both sides, each after the one before.
pub async fn run(real: &Side, ours: &Side, commands: &[Command]) -> Vec<Mismatch> {
    let (said, echoed) = tokio::join!(all(real, commands), all(ours, commands));
    let pairs = commands.iter().zip(said.into_iter().zip(echoed));
    pairs
        .filter(|(command, (real, ours))| !agree(command.how, real, ours))
        .map(|(command, (real, ours))| Mismatch { command: command.clone(), real, ours })
        .collect()
}

async fn all(side: &Side, commands: &[Command]) -> Vec<Printed> {
    let mut printed = Vec::new();
    let mut uid = String::new();
    for command in commands {
        let raw = kubectl(side, command, &uid).await;
        if command.line.ends_with("jsonpath={.metadata.uid}") {
            uid.clone_from(&raw.stdout);
        }
        printed.push(normal(side, &raw));
    }
    printed
}

async fn kubectl(side: &Side, command: &Command, uid: &str) -> Printed {
    let line = command.line.replace("«ns»", &side.namespace).replace("«uid»", uid);
    let mut arguments = words(&line);
    if !line.contains("--namespace") && !line.contains(" -A") {
        arguments.push(format!("--namespace={}", side.namespace));
    }
    let program = testenv::Tool::Kubectl.path().unwrap_or_else(|missing| panic!("{missing}"));
    let mut child = tokio::process::Command::new(program)
        .args(&arguments)
        .env("KUBECONFIG", &side.kubeconfig)
        .env("KUBECACHEDIR", side.cache.path())
        .env("KUBE_EDITOR", "sed -i s/red/blue/")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .kill_on_drop(true)
        .spawn()
        .expect("kubectl starts");
    let mut stdin = child.stdin.take().expect("asked for above");
    let input = command.input.replace("«ns»", &side.namespace);
    let feed = async move {
        // A kubectl that fails early does not read its input.
        let _ = stdin.write_all(input.as_bytes()).await;
    };
    let ((), output) = tokio::join!(feed, child.wait_with_output());
    let output = output.expect("kubectl ends");
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    Printed { stdout: text(&output.stdout), stderr: text(&output.stderr), code: output.status.code() }
}

/// Words of a command line; single quotes keep words together.
fn words(line: &str) -> Vec<String> {
    let (mut words, mut word, mut quoted) = (Vec::new(), String::new(), false);
    for c in line.chars() {
        match c {
            '\'' => quoted = !quoted,
            ' ' if !quoted => words.push(std::mem::take(&mut word)),
            c => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

fn normal(side: &Side, raw: &Printed) -> Printed {
    Printed { stdout: text(side, &raw.stdout), stderr: text(side, &raw.stderr), code: raw.code }
}

/// The text without what only one server, or one moment, can say.
fn text(side: &Side, raw: &str) -> String {
    static PATTERNS: OnceLock<Vec<(Regex, &str)>> = OnceLock::new();
    let patterns = PATTERNS.get_or_init(|| {
        let patterns = [
            (r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "«uid»"),
            (r#"(resourceVersion"?:\s*"?|Resource Version:\s+)[0-9]+"#, "$1«rv»"),
            (r"20(?:2[4-9]|[3-9][0-9])-[0-9]{2}-[0-9]{2}T[0-9:]{8}(?:\.[0-9]+)?Z", "«time»"),
            (r"https?://[0-9a-z.\[\]:]+:[0-9]+", "«server»"),
            (r"\b(?:[0-9]+[ydhms]){1,3}\b( \(x[0-9]+ over (?:[0-9]+[ydhms])+\))?", "«age»$1"),
            (r"over (?:[0-9]+[ydhms])+", "over «age»"),
            (r"eyJ[A-Za-z0-9_.-]{40,}", "«token»"),
            (r"(?m)^(diff -u -N|---|\+\+\+) /.*$", "$1 «files»"),
            (r"kubectl-edit-[0-9]+\.yaml", "kubectl-edit-«number».yaml"),
            // What kubectl logs beside what it says depends on the moment at which a watch is cut.
            (r"(?m)^[EWI][0-9]{4} [0-9:.]{15}\s+[0-9]+ .*\n", ""),
            // Columns are as wide as their widest word, and ages have no fixed width.
            (r"(\S) {2,}", "$1  "),
        ];
        patterns.iter().map(|(pattern, word)| (Regex::new(pattern).expect("a pattern"), *word)).collect()
    });
    let named = causes_in_order(&raw.replace(&side.namespace, "«ns»"));
    patterns.iter().fold(named, |text, (pattern, word)| pattern.replace_all(&text, *word).into_owned())
}

/// Lists of what is wrong are in the order of a Go map.
fn causes_in_order(text: &str) -> String {
    if !text.contains("\n* ") {
        return text.to_owned();
    }
    let mut lines: Vec<&str> = text.split_inclusive('\n').collect();
    lines
        .chunk_by_mut(|before, line| before.starts_with("* ") && line.starts_with("* "))
        .for_each(<[&str]>::sort_unstable);
    lines.concat()
}

fn agree(how: How, real: &Printed, ours: &Printed) -> bool {
    let sorted = |text: &str| {
        let mut lines: Vec<String> = text.lines().map(|line| line.trim().to_owned()).collect();
        lines.sort_unstable();
        lines
    };
    match how {
        How::Exactly => real == ours,
        How::Ending => real.code == ours.code,
        How::AnyOrder => {
            real.code == ours.code && sorted(&real.stdout) == sorted(&ours.stdout) && real.stderr == ours.stderr
        }
        How::Subset => {
            let known = sorted(&real.stdout);
            let told = sorted(&ours.stdout);
            real.code == ours.code && told.len() >= 4 && told.iter().all(|line| known.contains(line))
        }
        How::Document => {
            let document = |text: &str| serde_json::from_str::<Value>(text).ok().map(in_order);
            let (said, echoed) = (document(&real.stdout), document(&ours.stdout));
            real.code == ours.code && said.is_some() && said == echoed && real.stderr == ours.stderr
        }
    }
}

/// A document whose resources stand in the order of their names.
fn in_order(mut document: Value) -> Value {
    if let Some(resources) = document.get_mut("resources").and_then(Value::as_array_mut) {
        resources.sort_by_key(|resource| resource["name"].to_string());
    }
    document
}

/// The mismatches for a person.
pub fn report(mismatches: &[Mismatch]) -> String {
    let mut text = String::new();
    for Mismatch { command, real, ours } in mismatches {
        let _ = writeln!(text, "== kubectl {}   ({:?})", command.line, command.how);
        if real.code != ours.code {
            let _ = writeln!(text, "  ended with {:?}, ours with {:?}", real.code, ours.code);
        }
        for (what, real, ours) in [("out", &real.stdout, &ours.stdout), ("err", &real.stderr, &ours.stderr)] {
            if real != ours {
                let _ = writeln!(text, "  {what}, real (-) and ours (+):\n{}", lines(real, ours));
            }
        }
    }
    text
}

/// Lines that only one has; the first few of each.
fn lines(real: &str, ours: &str) -> String {
    let only = |mark: &str, these: &str, those: &str| {
        let rest: Vec<&str> = those.lines().collect();
        let lines = these.lines().filter(|line| !rest.contains(line)).take(25);
        lines.fold(String::new(), |text, line| format!("{text}    {mark} {line}\n"))
    };
    let differing = format!("{}{}", only("-", real, ours), only("+", ours, real));
    if differing.is_empty() {
        format!("    the same lines in another order:\n{real}\n    ours:\n{ours}\n")
    } else {
        differing
    }
}
