//! Whom the headers of a request ask for.

use std::collections::BTreeMap;

use http::HeaderMap;
use http::header::HeaderValue;
use percent_encoding::percent_decode_str;

use super::Wanted;
use crate::access::User;
use crate::access::quote::quote;
use crate::failure::Failure;

const EXTRA: &str = "impersonate-extra-";

impl Wanted {
    /// Whom the headers ask for; none if they ask for nobody.
    pub fn read(headers: &HeaderMap) -> Result<Option<Self>, Failure> {
        let first = |name: &str| headers.get(name).map(text).unwrap_or_default();
        let mut user = User { name: first("impersonate-user"), uid: first("impersonate-uid"), ..User::default() };
        user.groups = headers.get_all("impersonate-group").iter().map(text).collect();
        for (name, value) in headers {
            if let Some(key) = name.as_str().strip_prefix(EXTRA) {
                user.extra.entry(unescape(key)).or_default().push(text(value));
            }
        }
        if !user.name.is_empty() {
            return Ok(Some(Self(user)));
        }
        if user == User::default() {
            return Ok(None);
        }
        Err(Failure::bad_request(format!("requested {} without impersonating a user name", in_go(&user))))
    }
}

fn text(value: &HeaderValue) -> String {
    String::from_utf8_lossy(value.as_bytes()).into_owned()
}

/// The key with its escapes resolved; as it stands if one of them is broken.
fn unescape(key: &str) -> String {
    let broken = key
        .split('%')
        .skip(1)
        .any(|after| after.len() < 2 || !after.as_bytes().iter().take(2).all(u8::is_ascii_hexdigit));
    if broken { key.to_owned() } else { percent_decode_str(key).decode_utf8_lossy().into_owned() }
}

/// The user as the real server prints one.
fn in_go(user: &User) -> String {
    let list = |texts: &[String]| {
        format!("[]string{{{}}}", texts.iter().map(|text| quote(text)).collect::<Vec<_>>().join(", "))
    };
    let groups = if user.groups.is_empty() { "[]string(nil)".to_owned() } else { list(&user.groups) };
    let map = |extra: &BTreeMap<String, Vec<String>>| {
        let entries: Vec<String> =
            extra.iter().map(|(key, values)| format!("{}:{}", quote(key), list(values))).collect();
        format!("map[string][]string{{{}}}", entries.join(", "))
    };
    let extra = if user.extra.is_empty() { "map[string][]string(nil)".to_owned() } else { map(&user.extra) };
    let (name, uid) = (quote(&user.name), quote(&user.uid));
    format!("&user.DefaultInfo{{Name:{name}, UID:{uid}, Groups:{groups}, Extra:{extra}}}")
}
