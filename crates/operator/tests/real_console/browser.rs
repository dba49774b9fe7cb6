//! Chromium, driven through playwright.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use serde_json::{Value, json};
use testenv::eventually;
use tokio::io::{AsyncBufReadExt, AsyncWriteExt, BufReader, Lines};
use tokio::process::{Child, ChildStdin, ChildStdout, Command};
use tokio::sync::Mutex;

/// How long the page may take to show what is.
const SOON: Duration = Duration::from_mins(1);

pub(crate) struct Browser {
    pipes: Mutex<(ChildStdin, Lines<BufReader<ChildStdout>>)>,
    _program: Child,
}

impl Browser {
    pub(crate) async fn start() -> Self {
        let tests = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/real_console");
        let mut program = Command::new("node")
            .arg(tests.join("browser.mjs"))
            .arg(playwright().await)
            .arg("/usr/bin/chromium")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("node runs: `make tools` says what to install");
        let (stdin, stdout) = (program.stdin.take().unwrap(), program.stdout.take().unwrap());
        Self { pipes: Mutex::new((stdin, BufReader::new(stdout).lines())), _program: program }
    }

    async fn order(&self, order: &Value) -> Value {
        let mut pipes = self.pipes.lock().await;
        pipes.0.write_all(format!("{order}\n").as_bytes()).await.unwrap();
        let line =
            pipes.1.next_line().await.unwrap().expect("chromium runs: `make tools-clients` brings what is missing");
        let answer: Value = serde_json::from_str(&line).unwrap();
        assert!(answer["error"].is_null(), "{order}: {}", answer["error"]);
        answer["ok"].clone()
    }

    /// A fresh profile and a window in it.
    pub(crate) async fn open(&self, origin: &str, (width, height): (u32, u32), scheme: &str) {
        self.order(&json!({ "order": "open", "origin": origin, "width": width, "height": height, "scheme": scheme }))
            .await;
    }

    pub(crate) async fn goto(&self, url: &str) {
        self.order(&json!({ "order": "goto", "url": url })).await;
    }

    /// What a script gives in the page.
    pub(crate) async fn eval(&self, script: &str) -> Value {
        self.order(&json!({ "order": "eval", "script": script })).await
    }

    pub(crate) async fn click(&self, selector: &str) {
        self.order(&json!({ "order": "click", "selector": selector })).await;
    }

    pub(crate) async fn press(&self, key: &str) {
        self.order(&json!({ "order": "press", "key": key })).await;
    }

    pub(crate) async fn back(&self) {
        self.order(&json!({ "order": "back" })).await;
    }

    pub(crate) async fn fill(&self, selector: &str, text: &str) {
        self.order(&json!({ "order": "fill", "selector": selector, "text": text })).await;
    }

    pub(crate) async fn look(&self, (width, height): (u32, u32), scheme: &str) {
        self.order(&json!({ "order": "look", "width": width, "height": height, "scheme": scheme })).await;
    }

    /// Takes a picture into the target directory.
    pub(crate) async fn shot(&self, name: &str) {
        let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("console");
        std::fs::create_dir_all(&folder).unwrap();
        self.order(&json!({ "order": "shot", "path": folder.join(format!("{name}.png")) })).await;
    }

    /// Waits until a script gives true.
    pub(crate) async fn until(&self, script: &str) {
        eventually(&format!("the page shows {script}"), SOON, async || {
            tokio::time::sleep(Duration::from_millis(100)).await;
            (self.eval(script).await == json!(true)).then_some(())
        })
        .await;
    }

    /// The text of the first element of a selector; empty if there is none.
    pub(crate) async fn text(&self, selector: &str) -> String {
        let script = format!("document.querySelector({})?.textContent ?? ''", json!(selector));
        self.eval(&script).await.as_str().unwrap().to_owned()
    }

    /// How long its frames, and whatever kept it from answering, took so far, in milliseconds; from now on it counts anew.
    pub(crate) async fn toil(&self) -> Toil {
        let noted = self.eval("[globalThis.work.splice(0), globalThis.long.splice(0)]").await;
        let (mut work, long): (Vec<f64>, Vec<f64>) = serde_json::from_value(noted).unwrap();
        work.sort_by(f64::total_cmp);
        let median = work.get(work.len() / 2).copied().unwrap_or_default();
        let longest = work.iter().chain(&long).copied().fold(0.0, f64::max);
        Toil { frames: work.len(), median, longest }
    }

    /// Nothing went wrong in the page, and nobody else was asked for anything.
    pub(crate) async fn is_clean(&self) {
        let report = self.order(&json!({ "order": "report" })).await;
        assert_eq!(report, json!({ "errors": [], "foreign": [] }));
    }

    /// Forgets what went wrong on purpose; what was asked of others all the same.
    pub(crate) async fn forgive(&self) {
        assert_eq!(self.order(&json!({ "order": "report" })).await["foreign"], json!([]));
    }

    /// Nobody is shut out of what is shown now.
    pub(crate) async fn is_accessible(&self, place: &str) {
        let complaints = self.eval(include_str!("checks.js")).await;
        assert_eq!(complaints, json!([]), "{place}");
    }
}

/// What a page had to do.
#[derive(Debug)]
pub(crate) struct Toil {
    pub(crate) frames: usize,
    pub(crate) median: f64,
    pub(crate) longest: f64,
}

impl Toil {
    /// Keys and scrolling are answered while it works. The longest frame is printed, and says something where nothing else
    /// runs: other programs of the lane took half a second from one.
    pub(crate) fn is_smooth(&self, place: &str) {
        println!("lane: {place} in a browser: {self:?} ms");
        assert!(self.frames > 0, "{place}: nothing was drawn");
        assert!(self.median <= 50.0 && self.longest <= 2_000.0, "{place}: {self:?} ms");
    }
}

async fn playwright() -> PathBuf {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../hack/tools.sh");
    let output = Command::new(script).args(["--path", "playwright-core"]).output().await.unwrap();
    let program = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
    assert!(program.exists(), "{} is missing: run `make tools-clients`", program.display());
    program.parent().unwrap().with_file_name("package")
}
