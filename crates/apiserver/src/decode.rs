//! From the bytes of a request to an object: JSON or YAML, with the fields that were given twice.

use std::fmt;

use http::StatusCode;
use serde::de::{DeserializeSeed, Deserializer, Error as _, MapAccess, SeqAccess, Visitor};
use serde_json::{Map, Number, Value};

use crate::failure::Failure;

/// What a client may send.
const MEDIA_TYPES: &str = "application/json, application/yaml, application/vnd.kubernetes.protobuf";

/// A body as it was read.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Body {
    /// What it says; of a field that is given twice, the last.
    pub value: Value,
    /// What a Go type makes of it: of a field that is given twice, the last, laid over the first.
    pub laid: Value,
    /// The paths of fields that are given twice.
    pub duplicates: Vec<String>,
}

/// Reads a body by its content type.
pub(crate) fn body(bytes: &[u8], content_type: &str) -> Result<Body, Failure> {
    let media = content_type.split(';').next().unwrap_or_default().trim();
    match media {
        "" | "application/json" => json(bytes)
            .map_err(|error| Failure::bad_request(format!("couldn't get version/kind; json parse error: {error}"))),
        "application/yaml" => yaml(bytes),
        "application/vnd.kubernetes.protobuf" => {
            let value = crate::protobuf::read(bytes).map_err(Failure::bad_request)?;
            Ok(Body { laid: value.clone(), value, duplicates: Vec::new() })
        }
        _ => {
            let message = format!(
                "the body of the request was in an unknown format - accepted media types include: {MEDIA_TYPES}"
            );
            Err(Failure::new(StatusCode::UNSUPPORTED_MEDIA_TYPE, "UnsupportedMediaType", message))
        }
    }
}

/// Reads JSON.
pub(crate) fn json(bytes: &[u8]) -> Result<Body, serde_json::Error> {
    let (value, duplicates) = read(bytes, false)?;
    // Hardly any body has a field twice.
    let laid = if duplicates.is_empty() { value.clone() } else { read(bytes, true)?.0 };
    Ok(Body { value, laid, duplicates })
}

fn read(bytes: &[u8], lays: bool) -> Result<(Value, Vec<String>), serde_json::Error> {
    let mut trail = Trail::default();
    let mut deserializer = serde_json::Deserializer::from_slice(bytes);
    let value = Reading { trail: &mut trail, lays }.deserialize(&mut deserializer)?;
    deserializer.end()?;
    Ok((value, trail.duplicates))
}

/// Lays an object over another; anything else takes its place.
fn lay(below: Value, above: Value) -> Value {
    let (Value::Object(mut fields), Value::Object(others)) = (below, &above) else { return above };
    for (key, value) in others {
        let value = match fields.remove(key) {
            Some(below) => lay(below, value.clone()),
            None => value.clone(),
        };
        fields.insert(key.clone(), value);
    }
    Value::Object(fields)
}

/// Reads YAML, of which JSON is a part.
pub(crate) fn yaml(bytes: &[u8]) -> Result<Body, Failure> {
    let refusal = |error: &dyn fmt::Display| Failure::bad_request(format!("error decoding YAML: {error}"));
    if let Ok(body) = json(bytes) {
        return Ok(body);
    }
    let text = std::str::from_utf8(bytes).map_err(|error| refusal(&error))?;
    let value: Value = serde_saphyr::from_str(text).map_err(|error| refusal(&error))?;
    Ok(Body { laid: value.clone(), value, duplicates: Vec::new() })
}

/// Fields given twice that are named at the most, as on the real server.
const NAMED: usize = 100;

/// Bytes of their paths; the first is named whatever it is called.
const NAMES: usize = 1 << 16;

/// A step from a value to one in it.
#[derive(Debug)]
enum Step {
    Field(String),
    Item(usize),
}

/// The way to the value that is being read, and the fields that were there already. A path is written only for one of those:
/// a long name above many items would otherwise be copied for each of them.
#[derive(Debug, Default)]
struct Trail {
    steps: Vec<Step>,
    duplicates: Vec<String>,
    /// Bytes of `duplicates`.
    written: usize,
}

impl Trail {
    /// The field `key` of the value where the trail ends was there already.
    fn twice(&mut self, key: &str) {
        if !self.duplicates.is_empty() && (self.duplicates.len() == NAMED || self.written > NAMES) {
            return;
        }
        let mut path = String::new();
        for step in &self.steps {
            match step {
                Step::Field(name) => append(&mut path, name),
                Step::Item(index) => path.extend(["[", &index.to_string(), "]"]),
            }
        }
        append(&mut path, key);
        self.written += path.len();
        self.duplicates.push(path);
    }
}

fn append(path: &mut String, name: &str) {
    if !path.is_empty() {
        path.push('.');
    }
    path.push_str(name);
}

/// Builds a value and remembers what was there already.
struct Reading<'a> {
    trail: &'a mut Trail,
    /// Whether what comes second is laid over what came first.
    lays: bool,
}

impl Reading<'_> {
    fn below(&mut self) -> Reading<'_> {
        Reading { trail: self.trail, lays: self.lays }
    }
}

impl<'de> DeserializeSeed<'de> for Reading<'_> {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        deserializer.deserialize_any(self)
    }
}

impl<'de> Visitor<'de> for Reading<'_> {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a JSON value")
    }

    fn visit_unit<E>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_bool<E>(self, value: bool) -> Result<Value, E> {
        Ok(Value::Bool(value))
    }

    fn visit_i64<E>(self, value: i64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_u64<E>(self, value: u64) -> Result<Value, E> {
        Ok(Value::from(value))
    }

    fn visit_f64<E: serde::de::Error>(self, value: f64) -> Result<Value, E> {
        Number::from_f64(value).map(Value::Number).ok_or_else(|| E::custom("not a number"))
    }

    fn visit_str<E>(self, value: &str) -> Result<Value, E> {
        Ok(Value::String(value.to_owned()))
    }

    fn visit_string<E>(self, value: String) -> Result<Value, E> {
        Ok(Value::String(value))
    }

    fn visit_seq<A: SeqAccess<'de>>(mut self, mut sequence: A) -> Result<Value, A::Error> {
        let mut items = Vec::new();
        loop {
            self.trail.steps.push(Step::Item(items.len()));
            let item = sequence.next_element_seed(self.below())?;
            self.trail.steps.pop();
            let Some(item) = item else { return Ok(Value::Array(items)) };
            items.push(item);
        }
    }

    fn visit_map<A: MapAccess<'de>>(mut self, mut map: A) -> Result<Value, A::Error> {
        let mut fields = Map::new();
        while let Some(key) = map.next_key::<String>()? {
            self.trail.steps.push(Step::Field(key.clone()));
            let value = map.next_value_seed(self.below()).map_err(A::Error::custom)?;
            self.trail.steps.pop();
            let Some(before) = fields.remove(&key) else {
                fields.insert(key, value);
                continue;
            };
            self.trail.twice(&key);
            fields.insert(key, if self.lays { lay(before, value) } else { value });
        }
        Ok(Value::Object(fields))
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_field_given_twice_is_named_and_the_last_counts() {
        let read = json(br#"{"a":1,"b":[{"c":1,"c":2}],"a":3}"#).unwrap();
        assert_eq!(read.value, json!({ "a": 3, "b": [{ "c": 2 }] }));
        assert_eq!(read.duplicates, ["b[0].c", "a"]);
    }

    #[test]
    fn what_is_given_twice_is_laid_over_itself_for_go_types() {
        let read = json(br#"{"m":{"name":"x","l":{"a":"1"}},"m":{"l":{"b":"2"}},"s":[1,2],"s":[3]}"#).unwrap();
        assert_eq!(read.value, json!({ "m": { "l": { "b": "2" } }, "s": [3] }));
        assert_eq!(read.laid, json!({ "m": { "name": "x", "l": { "a": "1", "b": "2" } }, "s": [3] }));
    }

    /// The path was written for each item: a body of 3 MB copied terabytes, and everybody waited.
    #[test]
    fn a_long_name_over_many_items_costs_its_length_once() {
        let name = "n".repeat(1_500_000);
        let (items, pairs) = (vec!["0"; 500_000].join(","), vec![r#"{"a":1,"a":2}"#; 100_000].join(","));
        let read = json(format!(r#"{{"{name}":[{items}]}}"#).as_bytes()).unwrap();
        assert_eq!(read.value[&name].as_array().unwrap().len(), 500_000);
        assert!(read.duplicates.is_empty());
        let twice = json(format!(r#"{{"{name}":[{pairs}]}}"#).as_bytes()).unwrap().duplicates;
        assert_eq!(twice, [format!("{name}[0].a")], "the first is named, and no more of such a length");
        let short = json(format!("[{pairs}]").as_bytes()).unwrap().duplicates;
        assert_eq!((short.len(), short[99].as_str()), (100, "[99].a"));
    }

    #[test]
    fn yaml_is_read_where_it_is_announced_and_json_everywhere() {
        let read = body(b"a: 1\nb: [x, true]\n", "application/yaml").unwrap();
        assert_eq!(read.value, json!({ "a": 1, "b": ["x", true] }));
        assert!(body(b"a: 1", "application/json").unwrap_err().message.contains("json parse error"));
        assert_eq!(body(b"{}", "text/plain").unwrap_err().code, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }

    #[test]
    fn rubbish_behind_the_object_is_refused() {
        assert!(json(b"{} x").is_err());
        assert!(json(b"{\"a\":}").is_err());
        assert!(json(b"").is_err());
    }
}
