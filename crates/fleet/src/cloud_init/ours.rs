//! The operator's part: values in, YAML out.

use std::fmt::{self, Write};

use serde_json::{Map, Value, json};

/// What the operator wants on a machine.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ours {
    /// Name of the machine; a user's `hostname` gives way.
    pub hostname: String,
    /// Full name of the machine; a user's `fqdn` gives way. Left out, the user's stays.
    pub fqdn: Option<String>,
    /// Files written early, after the user's.
    pub files: Vec<File>,
    /// Commands run early in every boot, after the user's: a program and its arguments each.
    pub boot_commands: Vec<Vec<String>>,
    /// Commands run once, late in the first boot, after the user's: a program and its arguments each.
    pub commands: Vec<Vec<String>>,
}

/// A file on the machine.
#[derive(Clone, PartialEq, Eq)]
pub struct File {
    /// Absolute path.
    pub path: String,
    /// All of its text.
    pub content: String,
    /// Permission bits, such as `0o600`.
    pub mode: u16,
    /// User and group, such as `root:root`.
    pub owner: String,
}

impl fmt::Debug for File {
    /// Without the content: it may hold a token.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { path, content, mode, owner } = self;
        let size = content.len();
        write!(f, "File({path:?}, {size} bytes, {mode:04o}, {owner:?})")
    }
}

/// How everything that we write begins.
const HEAD: &str = "#cloud-config\n# Written by HyperFleet.\n";

/// Whether we wrote this document.
pub(super) fn is_ours(text: &str) -> bool {
    text.starts_with(HEAD)
}

impl Ours {
    /// All of it as one document.
    pub(super) fn alone(&self) -> String {
        let mut all = self.map_of_settings();
        all.extend(self.map_of_additions());
        document(all)
    }

    /// The keys on which ours win.
    pub(super) fn settings(&self) -> String {
        document(self.map_of_settings())
    }

    /// The lists that ours are appended to.
    pub(super) fn additions(&self) -> String {
        document(self.map_of_additions())
    }

    /// Where our files are.
    pub(super) fn paths(&self) -> Vec<&str> {
        self.files.iter().map(|file| file.path.as_str()).collect()
    }

    fn map_of_settings(&self) -> Map<String, Value> {
        let mut map = Map::new();
        map.extend(self.fqdn.iter().map(|fqdn| ("fqdn".to_owned(), json!(fqdn))));
        map.insert("hostname".to_owned(), json!(self.hostname));
        map.insert("manage_etc_hosts".to_owned(), json!(true));
        map.insert("preserve_hostname".to_owned(), json!(false));
        map
    }

    fn map_of_additions(&self) -> Map<String, Value> {
        let Self { hostname: _, fqdn: _, files, boot_commands, commands } = self;
        let files = files.iter().map(File::entry).collect();
        let lists = [("bootcmd", json!(boot_commands)), ("runcmd", json!(commands)), ("write_files", files)];
        let filled = lists.into_iter().filter(|(_, list)| *list != json!([]));
        filled.map(|(key, list)| (key.to_owned(), list)).collect()
    }
}

impl File {
    fn entry(&self) -> Value {
        let Self { path, content, mode, owner } = self;
        json!({ "content": content, "owner": owner, "path": path, "permissions": format!("{mode:04o}") })
    }
}

fn document(map: Map<String, Value>) -> String {
    format!("{HEAD}{}\n", no_mail(&escape(&Value::Object(map).to_string())))
}

/// JSON that YAML 1.1 reads as JSON does. What it calls unprintable it refuses, and it folds at three characters that
/// are no line ends in JSON; all of them can only stand in strings.
fn escape(json: &str) -> String {
    let mut text = String::with_capacity(json.len());
    for c in json.chars() {
        match c {
            '\u{7f}'..='\u{9f}' | '\u{2028}' | '\u{2029}' | '\u{feff}' | '\u{fffe}' | '\u{ffff}' => {
                write!(text, "\\u{:04x}", u32::from(c)).expect("a string takes everything");
            }
            other => text.push(other),
        }
    }
    text
}

/// cloud-init takes everything for a mail that has this near its beginning, be it in the middle of a value, and garbles
/// what is not ASCII in it.
const MAIL: &str = "mime-version:";

/// The same JSON, and no mail. The colon is part of a string: one between key and value follows a quote.
fn no_mail(json: &str) -> String {
    let small = json.to_ascii_lowercase();
    let (mut text, mut end) = (String::with_capacity(json.len()), 0);
    for (start, found) in small.match_indices(MAIL) {
        let colon = start + found.len() - 1;
        text.push_str(&json[end..colon]);
        text.push_str("\\u003a");
        end = colon + 1;
    }
    text + &json[end..]
}
