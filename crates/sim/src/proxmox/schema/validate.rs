//! The generic check of a call's parameters.

use std::collections::BTreeMap;
use std::sync::{LazyLock, Mutex, PoisonError};

use regex::Regex;
use serde_json::Value;

use super::property::check_format;
use super::text::{is_integer, is_number};
use super::{Errors, Format, Method, Property};
use crate::proxmox::Release;

/// A parameter as it came over the wire.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Given {
    /// A scalar; JSON numbers and booleans in their text form.
    One(String),
    /// A key that was given several times, or a JSON list.
    Many(Vec<String>),
    /// A JSON object, which nothing takes.
    Object,
}

/// The parameters of a call that passed its checks.
#[derive(Clone, Debug, Default)]
pub(crate) struct Params(BTreeMap<String, Vec<String>>);

impl Params {
    /// A parameter's text.
    pub(crate) fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name)?.first().map(String::as_str)
    }

    /// A boolean parameter; absent is false.
    pub(crate) fn flag(&self, name: &str) -> bool {
        self.get(name) == Some("1")
    }

    /// A number.
    pub(crate) fn number<T: std::str::FromStr>(&self, name: &str) -> Option<T> {
        self.get(name)?.parse().ok()
    }

    /// Takes a parameter out.
    pub(crate) fn take(&mut self, name: &str) -> Option<String> {
        self.0.remove(name)?.into_iter().next()
    }

    /// Puts a parameter in.
    pub(crate) fn set(&mut self, name: &str, value: impl Into<String>) {
        self.0.insert(name.to_owned(), vec![value.into()]);
    }

    /// What is left, in order of names.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (&str, &str)> {
        self.0.iter().filter_map(|(name, values)| Some((name.as_str(), values.first()?.as_str())))
    }
}

/// Checks everything that was given for `method`; all mistakes at once.
pub(crate) fn validate(method: &Method, given: &BTreeMap<String, Given>, release: Release) -> Result<Params, Errors> {
    let (mut errors, mut params) = (Errors::new(), BTreeMap::new());
    for (name, value) in given {
        let Some(rule) = method.property(name) else {
            let unknown = "property is not defined in schema and the schema does not allow additional properties";
            errors.insert(name.clone(), unknown.to_owned());
            continue;
        };
        let values = conform(value, rule);
        check_given(&values, rule, name, release, &mut errors);
        if let Some(needed) = rule.requires.as_ref().filter(|needed| !given.contains_key(*needed)) {
            errors.insert(needed.clone(), missing(name, release));
        }
        let texts = match values {
            Given::One(text) => vec![text],
            Given::Many(texts) => texts,
            Given::Object => Vec::new(),
        };
        params.insert(name.clone(), texts);
    }
    for (name, rule) in &method.parameters.properties {
        if !name.ends_with("[n]") && !rule.is_optional() && !given.contains_key(name) {
            errors.insert(name.clone(), "property is missing and it is not optional".to_owned());
        }
    }
    if errors.is_empty() { Ok(Params(params)) } else { Err(errors) }
}

/// A list where text is expected is joined if the text is a list; text where a list is expected is a list of one.
fn conform(value: &Given, rule: &Property) -> Given {
    let is_list = matches!(&rule.format, Some(Format::Named(name)) if name.ends_with("-list"));
    match value {
        Given::Many(texts) if rule.kind.as_deref() == Some("string") && is_list => Given::One(texts.join(",")),
        Given::One(text) if rule.kind.as_deref() == Some("array") => Given::Many(vec![text.clone()]),
        Given::One(_) | Given::Many(_) | Given::Object => value.clone(),
    }
}

fn check_given(value: &Given, rule: &Property, path: &str, release: Release, errors: &mut Errors) {
    let kind = rule.kind.as_deref().unwrap_or("string");
    match value {
        Given::One(text) => check(text, rule, path, release, errors),
        Given::Many(texts) if kind == "array" => {
            if let Some(items) = &rule.items {
                for (index, text) in texts.iter().enumerate() {
                    check(text, items, &format!("{path}[{index}]"), release, errors);
                }
            }
        }
        Given::Many(_) => {
            errors.insert(path.to_owned(), format!("type check ('{kind}') failed - got ARRAY"));
        }
        Given::Object => {
            errors.insert(path.to_owned(), format!("type check ('{kind}') failed - got HASH"));
        }
    }
}

/// Checks one scalar; the first thing that is wrong with it is reported.
pub(super) fn check(value: &str, rule: &Property, path: &str, release: Release, errors: &mut Errors) {
    if let Err(error) = check_scalar(value, rule, path, release) {
        errors.insert(path.to_owned(), error);
    }
}

fn check_scalar(value: &str, rule: &Property, path: &str, release: Release) -> Result<(), String> {
    let kind = rule.kind.as_deref().unwrap_or("string");
    let right = match kind {
        "boolean" => value == "0" || value == "1",
        "integer" => is_integer(value),
        "number" => is_number(value),
        "array" | "object" => return Err(format!("type check ('{kind}') failed")),
        _ => true,
    };
    if !right {
        return Err(format!("type check ('{kind}') failed - got '{value}'"));
    }
    if let Some(format) = &rule.format {
        check_format(format, value, path, release).map_err(|why| format!("invalid format - {why}"))?;
    }
    if let Some(pattern) = &rule.pattern
        && !matches(pattern, value)
    {
        return Err("value does not match the regex pattern".to_owned());
    }
    let length = value.chars().count();
    if let Some(most) = rule.max_length.filter(|most| length > *most) {
        return Err(format!("value may only be {most} characters long"));
    }
    if let Some(least) = rule.min_length.filter(|least| length < *least) {
        return Err(format!("value must be at least {least} characters long"));
    }
    check_bounds(value, rule)?;
    check_enumeration(value, rule)
}

fn check_bounds(value: &str, rule: &Property) -> Result<(), String> {
    let Ok(number) = value.parse::<f64>() else { return Ok(()) };
    if !is_number(value) {
        return Ok(());
    }
    if let Some(most) = rule.maximum.as_ref().filter(|most| number_of(most).is_some_and(|most| number > most)) {
        return Err(format!("value must have a maximum value of {}", text_of(most)));
    }
    if let Some(least) = rule.minimum.as_ref().filter(|least| number_of(least).is_some_and(|least| number < least)) {
        return Err(format!("value must have a minimum value of {}", text_of(least)));
    }
    Ok(())
}

fn check_enumeration(value: &str, rule: &Property) -> Result<(), String> {
    let Some(allowed) = &rule.allowed else { return Ok(()) };
    let allowed: Vec<String> = allowed.iter().map(text_of).collect();
    if allowed.iter().any(|one| one == value) {
        return Ok(());
    }
    Err(format!("value '{value}' does not have a value in the enumeration '{}'", allowed.join(", ")))
}

/// What is said about a parameter that `by` cannot do without.
pub(super) fn missing(by: &str, release: Release) -> String {
    match release {
        Release::V8 => format!("missing property - '{by}' requires this property"),
        Release::V9 => format!("missing property required by '{by}'"),
    }
}

fn number_of(value: &Value) -> Option<f64> {
    value.as_f64().or_else(|| value.as_str()?.parse().ok())
}

fn text_of(value: &Value) -> String {
    value.as_str().map_or_else(|| value.to_string(), str::to_owned)
}

/// Whether the whole of `value` matches a pattern of the schema, which is in Perl's dialect.
fn matches(pattern: &str, value: &str) -> bool {
    static COMPILED: LazyLock<Mutex<BTreeMap<String, Regex>>> = LazyLock::new(Mutex::default);
    let mut compiled = COMPILED.lock().unwrap_or_else(PoisonError::into_inner);
    let regex = compiled.entry(pattern.to_owned()).or_insert_with(|| {
        let ours = pattern.replace("(?^:", "(?:").replace("{,", "{0,");
        Regex::new(&format!("^(?:{ours})$")).expect("every pattern of the schema is compiled in a test")
    });
    regex.is_match(value)
}

/// Every pattern of a property and below it.
#[cfg(test)]
pub(super) fn compiles(rule: &Property) {
    if let Some(pattern) = &rule.pattern {
        matches(pattern, "");
    }
    rule.composed().into_iter().flatten().for_each(|(_, inner)| compiles(inner));
    rule.items.iter().for_each(|items| compiles(items));
}
