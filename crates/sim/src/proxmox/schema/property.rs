//! Composed values ("property strings"): `virtio=BC:24:11:00:00:01,bridge=vmbr0`.

use std::collections::BTreeMap;

use super::text::parse_boolean;
use super::validate::{check, missing};
use super::{COMPOSED, Errors, Format, Properties, Property, truthy};
use crate::proxmox::Release;

/// A composed value taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Composed(pub(crate) BTreeMap<String, String>);

impl Composed {
    /// Takes `text` apart by the rules of an option; what is wrong is in the server's words.
    pub(crate) fn parse(text: &str, rules: &Property, path: &str, release: Release) -> Result<Self, String> {
        let rules = rules.composed().expect("only options with composed values are taken apart");
        parse(text, rules, path, release)
    }

    /// One of its values.
    pub(crate) fn get(&self, key: &str) -> Option<&str> {
        self.0.get(key).map(String::as_str)
    }
}

/// Checks `text` against a format that may be a composed one.
pub(super) fn check_format(format: &Format, text: &str, path: &str, release: Release) -> Result<(), String> {
    match format {
        Format::Composed(rules) => parse(text, rules, path, release).map(drop),
        Format::Named(name) => match COMPOSED.get(name) {
            Some(rules) => parse(text, rules, path, release).and_then(|composed| super::format::whole(name, &composed)),
            None => super::format::check(name, text),
        },
    }
}

fn parse(text: &str, rules: &Properties, path: &str, release: Release) -> Result<Composed, String> {
    let mut values = BTreeMap::new();
    let mut default_used: Option<&str> = None;
    for part in text.split(',').filter(|part| !part.trim().is_empty()) {
        match part.split_once('=') {
            Some((key, value)) if !key.is_empty() && !value.is_empty() => insert(&mut values, rules, key, value)?,
            Some(_) => return Err("missing key in comma-separated list property\n".to_owned()),
            None => {
                let duplicate = |key: &str| format!("duplicate key in comma-separated list property: {key}\n");
                if let Some(key) = default_used {
                    return Err(duplicate(key));
                }
                let Some((key, rule)) = rules.iter().find(|(_, rule)| truthy(&rule.default_key)) else {
                    return Err("value without key, but schema does not define a default key\n".to_owned());
                };
                if values.contains_key(key.as_str()) {
                    return Err(duplicate(key));
                }
                default_used = Some(key);
                values.insert(key.clone(), boolean(rule, part));
            }
        }
    }
    let errors = errors_of(&values, rules, path, release);
    if errors.is_empty() {
        return Ok(Composed(values));
    }
    let lines: Vec<String> = errors.iter().map(|(at, error)| format!("{at}: {error}\n")).collect();
    Err(format!("format error\n{}", lines.concat()))
}

fn insert(values: &mut BTreeMap<String, String>, rules: &Properties, key: &str, value: &str) -> Result<(), String> {
    if values.contains_key(key) {
        return Err(format!("duplicate key in comma-separated list property: {key}\n"));
    }
    let mut name = key;
    if let Some(alias) = rules.get(key).and_then(|rule| rule.alias.as_deref()) {
        if let Some(key_alias) = rules.get(key).and_then(|rule| rule.key_alias.as_deref()) {
            if values.contains_key(key_alias) {
                return Err(format!("key alias '{key_alias}' is already defined\n"));
            }
            values.insert(key_alias.to_owned(), key.to_owned());
        }
        name = alias;
    }
    let rule = rules.get(name).ok_or_else(|| format!("invalid key in comma-separated list property: {name}\n"))?;
    values.insert(name.to_owned(), boolean(rule, value));
    Ok(())
}

fn boolean(rule: &Property, value: &str) -> String {
    let is_boolean = rule.kind.as_deref() == Some("boolean");
    is_boolean.then(|| parse_boolean(value)).flatten().unwrap_or(value).to_owned()
}

fn errors_of(values: &BTreeMap<String, String>, rules: &Properties, path: &str, release: Release) -> Errors {
    let mut errors = Errors::new();
    for (key, rule) in rules {
        let at = format!("{path}.{key}");
        match values.get(key) {
            Some(value) => {
                check(value, rule, &at, release, &mut errors);
                if let Some(needed) = rule.requires.as_ref().filter(|needed| !values.contains_key(*needed)) {
                    errors.insert(format!("{path}.{needed}"), missing(&at, release));
                }
            }
            None if rule.is_optional() || rule.alias.is_some() => {}
            None => {
                errors.insert(at, "property is missing and it is not optional".to_owned());
            }
        }
    }
    errors
}
