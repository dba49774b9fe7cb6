//! Forms and query strings, decoded as the server decodes them.

use std::collections::BTreeMap;

use percent_encoding::percent_decode_str;
use serde_json::Value;

use crate::proxmox::schema::Given;

/// Parameters by name.
pub(crate) type Fields = BTreeMap<String, Given>;

/// Decodes a form. Pairs end at `&` and at `;`, and a second raw `=` cuts the value off.
pub(crate) fn decode(text: &str) -> Fields {
    let mut fields = Fields::new();
    for pair in text.split(['&', ';']).filter(|pair| !pair.is_empty()) {
        let mut parts = pair.split('=');
        let name = unescaped(parts.next().unwrap_or_default());
        let value = unescaped(parts.next().unwrap_or_default());
        add(&mut fields, name, value);
    }
    // What web interfaces add against caches.
    fields.remove("_dc");
    fields
}

fn unescaped(text: &str) -> String {
    percent_decode_str(&text.replace('+', " ")).decode_utf8_lossy().into_owned()
}

fn add(fields: &mut Fields, name: String, value: String) {
    let merged = match fields.remove(&name) {
        None => Given::One(value),
        Some(Given::One(first)) => Given::Many(vec![first, value]),
        Some(Given::Many(mut values)) => {
            values.push(value);
            Given::Many(values)
        }
        Some(Given::Object) => Given::Object,
    };
    fields.insert(name, merged);
}

/// Decodes a JSON body; it must be an object, and null means that a parameter is absent.
pub(crate) fn decode_json(body: &[u8]) -> Result<Fields, String> {
    let parsed: Value = serde_json::from_slice(body).map_err(|error| {
        let at = error.column().saturating_sub(1);
        format!("malformed JSON string, neither tag, array, object, number, string or atom, at character offset {at}")
    })?;
    let Value::Object(members) = parsed else { return Err("JSON text must be an object or array".to_owned()) };
    Ok(members.into_iter().filter(|(_, value)| !value.is_null()).map(|(name, value)| (name, given(value))).collect())
}

fn given(value: Value) -> Given {
    match value {
        Value::Bool(flag) => Given::One(if flag { "1" } else { "0" }.to_owned()),
        Value::Number(number) => Given::One(number.to_string()),
        Value::String(text) => Given::One(text),
        Value::Array(items) => Given::Many(
            items.into_iter().map(|item| item.as_str().map_or_else(|| item.to_string(), str::to_owned)).collect(),
        ),
        Value::Object(_) | Value::Null => Given::Object,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(text: &str) -> Given {
        Given::One(text.to_owned())
    }

    #[test]
    fn an_unencoded_semicolon_starts_another_parameter_and_a_second_equals_sign_ends_a_value() {
        let fields = decode("newid=101&description=a=b;c=d");
        assert_eq!(fields["description"], one("a"));
        assert_eq!(fields["c"], one("d"));
    }

    #[test]
    fn a_plus_is_a_space_and_what_is_encoded_stays() {
        let fields = decode("tags=a+b&boot=order%3Dscsi0%3Bnet0&_dc=1");
        assert_eq!(fields["tags"], one("a b"));
        assert_eq!(fields["boot"], one("order=scsi0;net0"));
        assert!(!fields.contains_key("_dc"));
    }

    #[test]
    fn a_repeated_key_is_a_list() {
        assert_eq!(decode("a=1&a=2")["a"], Given::Many(vec!["1".to_owned(), "2".to_owned()]));
    }

    #[test]
    fn json_booleans_are_numbers_and_null_is_absent() {
        let fields = decode_json(br#"{"onboot":true,"memory":1024,"x":null}"#).unwrap();
        assert_eq!((&fields["onboot"], &fields["memory"]), (&one("1"), &one("1024")));
        assert!(!fields.contains_key("x"));
    }
}
