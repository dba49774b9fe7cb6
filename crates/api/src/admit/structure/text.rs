//! Length, pattern and format of texts. Of length and pattern the first that fails is reported.

use serde_json::Value;

use super::super::field::word;
use super::super::go;
use super::Structure;
use super::format;
use super::found::{Fault, Found};

impl Structure {
    pub(super) fn text(&self, schema: &Value, text: &str, path: &str) -> Found {
        let limit = |keyword: &str| schema.get(keyword).and_then(Value::as_u64);
        let length = text.chars().count() as u64;
        if let Some(most) = limit("maxLength").filter(|most| length > *most) {
            return Some(Fault::too_long(path, most)).into();
        }
        if let Some(least) = limit("minLength").filter(|least| length < *least) {
            let sentence = format!("{path} in body should be at least {least} chars long");
            return Some(Fault::invalid(path, &go::quoted(text), sentence)).into();
        }
        let pattern = word(schema, "pattern").and_then(|pattern| self.patterns.get_key_value(pattern));
        let broken = pattern.filter(|(_, compiled)| !compiled.is_match(text));
        let fault = broken.map(|(pattern, _)| {
            Fault::invalid(path, &go::quoted(text), format!("{path} in body should match '{pattern}'"))
        });
        fault.into()
    }
}

/// A text must be of the format.
pub(super) fn of_format(format: &str, text: &str, path: &str) -> Found {
    let fault = (!format::holds(format, text)).then(|| Fault::wrong_type(path, format, &go::quoted(text)));
    fault.into()
}
