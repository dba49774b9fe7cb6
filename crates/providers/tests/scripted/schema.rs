//! Whether a request is one that the official API schema allows.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::server::Seen;

/// The schema of one version.
pub(crate) struct Schema(BTreeMap<String, Value>);

impl Schema {
    /// The schema that the project keeps for this version.
    pub(crate) fn load(version: &str) -> Self {
        let path = format!("{}/../sim/schema/pve-{version}.json", env!("CARGO_MANIFEST_DIR"));
        let text = std::fs::read_to_string(path).expect("the project keeps the schema of this version");
        Self(serde_json::from_str(&text).expect("the schema is JSON"))
    }

    /// The route of a request, or everything that is wrong with it.
    pub(crate) fn check(&self, seen: &Seen) -> Result<String, Vec<String>> {
        let found = self.0.iter().find_map(|(route, verbs)| Some((route, bound(route, &seen.path)?, verbs)));
        let Some((route, arguments, verbs)) = found else { return Err(vec![format!("no such path: {}", seen.path)]) };
        let Some(method) = verbs.get(seen.method.as_str()) else {
            return Err(vec![format!("no {} {route}", seen.method)]);
        };
        let none = Map::new();
        let properties = method["parameters"]["properties"].as_object().unwrap_or(&none);
        let given: Vec<(String, String)> = arguments.into_iter().chain(seen.parameters.iter().cloned()).collect();
        let mut wrong: Vec<String> =
            given.iter().filter_map(|(name, value)| parameter(properties, name, value).err()).collect();
        for (at, (name, _)) in given.iter().enumerate() {
            if given[..at].iter().any(|(earlier, _)| earlier == name) {
                wrong.push(format!("{name} is given twice"));
            }
        }
        let needed = properties.iter().filter(|(name, rule)| rule["optional"] != 1 && !name.ends_with("[n]"));
        wrong.extend(
            needed
                .filter(|(name, _)| !given.iter().any(|(given, _)| given == *name))
                .map(|(name, _)| format!("{name} is missing")),
        );
        let context = |what: String| format!("{} {}: {what}", seen.method, seen.path);
        if wrong.is_empty() {
            Ok(format!("{} {route}", seen.method))
        } else {
            Err(wrong.into_iter().map(context).collect())
        }
    }
}

/// The arguments that make the route this path.
fn bound(route: &str, path: &str) -> Option<Vec<(String, String)>> {
    let mut arguments = Vec::new();
    let mut rest = path.strip_prefix('/')?.split('/');
    for part in route.strip_prefix('/')?.split('/') {
        let Some(name) = part.strip_prefix('{').and_then(|part| part.strip_suffix('}')) else {
            (rest.next()? == part).then_some(())?;
            continue;
        };
        // A volume id holds slashes and is always last.
        let value =
            if name == "volume" { rest.by_ref().collect::<Vec<_>>().join("/") } else { rest.next()?.to_owned() };
        arguments.push((name.to_owned(), value));
    }
    rest.next().is_none().then_some(arguments)
}

fn parameter(properties: &Map<String, Value>, name: &str, value: &str) -> Result<(), String> {
    let indexed = format!("{}[n]", name.trim_end_matches(|c: char| c.is_ascii_digit()));
    let rule = properties.get(name).or_else(|| properties.get(&indexed)).ok_or_else(|| format!("{name} is unknown"))?;
    check(rule, value).map_err(|what| format!("{name}={value}: {what}"))
}

fn check(rule: &Value, value: &str) -> Result<(), String> {
    let ensure = |holds: bool, what: &str| if holds { Ok(()) } else { Err(what.to_owned()) };
    let limit = |name: &str| rule.get(name).and_then(|v| v.as_i64().or_else(|| v.as_str()?.parse().ok()));
    match rule["type"].as_str().unwrap_or("string") {
        "integer" => {
            let number: i64 = value.parse().map_err(|_| "is no integer".to_owned())?;
            ensure(limit("minimum").is_none_or(|least| number >= least), "is too small")?;
            ensure(limit("maximum").is_none_or(|most| number <= most), "is too large")?;
        }
        "boolean" => ensure(matches!(value, "0" | "1"), "is no boolean")?,
        "string" => {
            let length = i64::try_from(value.chars().count()).unwrap_or(i64::MAX);
            ensure(limit("maxLength").is_none_or(|most| length <= most), "is too long")?;
        }
        other => return Err(format!("the type {other} is not checked here")),
    }
    if let Some(words) = rule["enum"].as_array() {
        ensure(words.iter().any(|word| word == value), "is none of the allowed words")?;
    }
    if let Some(pattern) = rule["pattern"].as_str() {
        ensure(pattern == r"\+?\d+(\.\d+)?[KMGT]?", "has a pattern that is not checked here")?;
        let digits = value.trim_end_matches(['K', 'M', 'G', 'T']);
        ensure(!digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()), "is no size")?;
    }
    match &rule["format"] {
        Value::String(format) => named(format, value),
        Value::Object(keys) => property(keys, value),
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::Array(_) => Ok(()),
    }
}

/// A property string: each part a key of the format, the first perhaps without its key.
fn property(keys: &Map<String, Value>, value: &str) -> Result<(), String> {
    for (at, part) in value.split(',').enumerate() {
        let default = || keys.iter().find(|(_, rule)| rule["default_key"] == 1).map(|(key, _)| key.as_str());
        let (key, value) = match part.split_once('=') {
            Some((key, value)) => (key, value),
            None if at == 0 => (default().ok_or("has no main key")?, part),
            None => return Err(format!("{part} has no key")),
        };
        let rule = keys.get(key).ok_or_else(|| format!("{key} is unknown"))?;
        let meant = rule["alias"].as_str().and_then(|alias| keys.get(alias)).unwrap_or(rule);
        check(meant, value).map_err(|what| format!("{key}={value}: {what}"))?;
    }
    Ok(())
}

fn named(format: &str, value: &str) -> Result<(), String> {
    let word = |extra: &'static str| {
        move |text: &str| !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || extra.contains(c))
    };
    let list = |text: &str, one: &dyn Fn(&str) -> bool| text.split([',', ';', ' ']).all(one);
    let holds = match format {
        "pve-node" | "pve-bridge-id" | "pve-storage-id" | "pve-poolid" | "pve-storage-content" => word("-_./")(value),
        "pve-vmid" => value.parse::<u32>().is_ok_and(|id| id >= 100),
        "dns-name" => value.split('.').all(word("-")),
        "pve-tag-list" => list(value, &|tag| word("_-+.")(tag) && !tag.starts_with(['-', '+', '.'])),
        "pve-configid-list" => list(value, &|name| word("_-")(name)),
        "urlencoded" => word("-%_.!~*'()")(value),
        "pve-qm-smbios1" => {
            let field = |part: &str| part.split_once('=').is_some_and(|(_, text)| word("+/=-")(text));
            value.split(',').all(field)
        }
        "pve-qm-ipconfig" => value.split(',').all(|part| {
            let (key, text) = part.split_once('=').unwrap_or_default();
            matches!(key, "ip" | "ip6" | "gw" | "gw6") && word(".:/")(text)
        }),
        "address-list" => value.split(' ').all(|text| text.parse::<std::net::IpAddr>().is_ok()),
        "mac-addr" => value.parse::<providers::hypervisor::Mac>().is_ok(),
        "pve-volume-id-or-qm-path" => value == "none" || value.contains(':'),
        other => return Err(format!("the format {other} is not checked here")),
    };
    if holds { Ok(()) } else { Err(format!("is no {format}")) }
}
