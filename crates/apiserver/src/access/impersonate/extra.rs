//! What the narrow ways demand of the extra facts about a user.

use std::collections::BTreeMap;

use crate::access::quote::quote;
use crate::access::user::is_subdomain;

const SUBDOMAIN: &str = "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', \
     and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is \
     '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const PATH: &str = "Invalid path (regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')";

/// What is wrong with the extra facts, if something is.
pub(super) fn check(extra: &BTreeMap<String, Vec<String>>) -> Result<(), String> {
    for (key, values) in extra {
        if key.is_empty() {
            return Err("impersonating the empty string key in extra is not allowed".to_owned());
        }
        check_key(key).map_err(|why| format!("impersonating an invalid key in extra is not allowed: {why}"))?;
        if key.chars().any(char::is_uppercase) {
            return Err(format!("impersonating a non-lowercase key in extra is not allowed: {}", quote(key)));
        }
        if values.iter().any(String::is_empty) {
            return Err("impersonating the empty string value in extra is not allowed".to_owned());
        }
    }
    Ok(())
}

fn check_key(key: &str) -> Result<(), String> {
    let invalid = |what: &str, why: &str| format!("extra.key: Invalid value: {}: {why}", quote(what));
    let Some((host, path)) = key.split_once('/').filter(|(host, path)| !host.is_empty() && !path.is_empty()) else {
        return Err(invalid(key, "must be a domain-prefixed path (such as \"acme.io/foo\")"));
    };
    let mut wrong = Vec::new();
    if host.len() > 253 {
        wrong.push(invalid(host, "must be no more than 253 characters"));
    } else if !is_subdomain(host) {
        wrong.push(invalid(host, SUBDOMAIN));
    }
    if !path.chars().all(|c| c.is_ascii_alphanumeric() || "/-._~%!$&'()*+,;=:".contains(c)) {
        wrong.push(invalid(path, PATH));
    }
    match wrong.as_slice() {
        [] => Ok(()),
        [only] => Err(only.clone()),
        several => Err(format!("[{}]", several.join(", "))),
    }
}
