//! Lists in pages.

use std::collections::BTreeMap;

use serde_json::{Value, json};

use super::Call;
use crate::github::wire::Reply;

/// How many a page holds.
pub(super) fn size(query: &BTreeMap<String, String>) -> usize {
    query.get("per_page").and_then(|size| size.parse().ok()).unwrap_or(30).clamp(1, 100)
}

/// An address of the same call with another value for one parameter.
pub(super) fn address(call: &Call<'_>, name: &str, value: &str) -> String {
    let mut query = call.ask.query.clone();
    query.insert(name.to_owned(), value.to_owned());
    let encode =
        |text: &str| percent_encoding::utf8_percent_encode(text, percent_encoding::NON_ALPHANUMERIC).to_string();
    let pairs: Vec<String> =
        query.iter().map(|(name, value)| format!("{}={}", encode_name(name), encode(value))).collect();
    format!("{}{}?{}", call.world.addresses().api, call.ask.path, pairs.join("&"))
}

/// Names of parameters are plain words.
fn encode_name(name: &str) -> String {
    name.chars().filter(|letter| letter.is_ascii_alphanumeric() || *letter == '_').collect()
}

/// The page that was asked for, under this name and with the whole count, and where the others are.
pub(super) fn counted(call: &Call<'_>, name: &str, items: Vec<Value>) -> Reply {
    let total = items.len();
    let (items, links) = cut(call, items);
    let mut body = json!({ "total_count": total });
    body[name] = Value::Array(items);
    linked(Reply::json(200, body), &links)
}

/// The page that was asked for, as a bare list.
pub(super) fn bare(call: &Call<'_>, items: Vec<Value>) -> Reply {
    let (items, links) = cut(call, items);
    linked(Reply::json(200, Value::Array(items)), &links)
}

pub(super) fn linked(reply: Reply, links: &[(&str, String)]) -> Reply {
    if links.is_empty() {
        return reply;
    }
    let links: Vec<String> = links.iter().map(|(rel, address)| format!("<{address}>; rel=\"{rel}\"")).collect();
    reply.with("link", links.join(", "))
}

fn cut(call: &Call<'_>, items: Vec<Value>) -> (Vec<Value>, Vec<(&'static str, String)>) {
    let size = size(&call.ask.query);
    let page: usize = call.ask.query.get("page").and_then(|page| page.parse().ok()).unwrap_or(1).max(1);
    let last = items.len().div_ceil(size).max(1);
    let mut links = Vec::new();
    let mut link = |rel, page: usize| links.push((rel, address(call, "page", &page.to_string())));
    if page > 1 {
        link("prev", page - 1);
    }
    if page < last {
        link("next", page + 1);
        link("last", last);
    }
    if page > 1 {
        link("first", 1);
    }
    (items.into_iter().skip((page - 1) * size).take(size).collect(), links)
}
