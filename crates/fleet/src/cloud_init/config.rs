//! What a user's cloud-config may not say.

use serde_json::{Map, Value};

use super::refusal::Refusal;
use super::theirs::{Content, Scope};
use super::yaml;

/// Directories of ours; the last is what `/run` was called before.
const RESERVED: &[&str] = &["/etc/hyperfleet", "/opt/hyperfleet", "/run/hyperfleet", "/var/run/hyperfleet"];

/// Lists of commands that ours are appended to. At an item that is neither text nor a list, cloud-init gives up the
/// whole list.
const COMMANDS: &[&str] = &["bootcmd", "runcmd"];

const FILES: &str = "write_files";

/// Refuses a cloud-config that collides with ours, or at which cloud-init would stop before it comes to ours.
pub(super) fn judge(text: &str, scope: &Scope<'_>) -> Result<Content, Refusal> {
    let place = || scope.place.clone();
    let map = match yaml::read(text, &scope.place)? {
        Value::Null => return Ok(Content::Nothing),
        Value::Object(map) => map,
        Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
            return Err(Refusal::NotMapping { place: place() });
        }
    };
    if map.contains_key("power_state") {
        return Err(Refusal::PowerState { place: place() });
    }
    for key in COMMANDS {
        for (index, item) in items(&map, key, scope)?.iter().enumerate() {
            command(item).map_err(|expected| Refusal::Item { place: place(), key, index, expected })?;
        }
    }
    for (index, item) in items(&map, FILES, scope)?.iter().enumerate() {
        file(index, item, scope)?;
    }
    Ok(Content::Something)
}

/// The list under a key, empty if there is none. Nothing at all, as in `runcmd:`, is no list to cloud-init either, and
/// would take the place of ours.
fn items<'a>(map: &'a Map<String, Value>, key: &'static str, scope: &Scope<'_>) -> Result<&'a [Value], Refusal> {
    match map.get(key) {
        None => Ok(&[]),
        Some(Value::Array(items)) => Ok(items),
        Some(Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Object(_)) => {
            Err(Refusal::NotList { place: scope.place.clone(), key })
        }
    }
}

fn command(item: &Value) -> Result<(), &'static str> {
    match item {
        Value::Null | Value::String(_) | Value::Array(_) => Ok(()),
        Value::Object(_) => Err("text or a list, and is a mapping because of a colon in it; put it in quotes"),
        Value::Bool(_) | Value::Number(_) => Err("text or a list; put it in quotes"),
    }
}

fn file(index: usize, item: &Value, scope: &Scope<'_>) -> Result<(), Refusal> {
    let place = || scope.place.clone();
    let Value::Object(entry) = item else {
        let expected = "a mapping with a path, such as `path: /etc/motd`";
        return Err(Refusal::Item { place: place(), key: FILES, index, expected });
    };
    let Some(path) = entry.get("path").and_then(Value::as_str) else { return Ok(()) };
    let steps = normal(path);
    let tree = RESERVED.iter().find(|tree| steps.starts_with(&normal(tree)));
    match tree.or_else(|| scope.taken.iter().find(|taken| steps == normal(taken))) {
        None => Ok(()),
        Some(tree) => {
            let (path, tree) = (path.to_owned(), (*tree).to_owned());
            Err(Refusal::Reserved { place: place(), index, path, tree })
        }
    }
}

/// The steps of a path from the root, where cloud-init starts relative ones.
fn normal(path: &str) -> Vec<&str> {
    let mut steps = Vec::new();
    for step in path.split('/') {
        match step {
            "" | "." => {}
            ".." => drop(steps.pop()),
            name => steps.push(name),
        }
    }
    steps
}
