//! Objects as rules see them: typed by the schema, with names that CEL can spell.

use std::collections::{BTreeMap, HashMap};
use std::sync::{Arc, LazyLock};

use kube::core::cel::cel::objects::{Key, Map};
use kube::core::cel::cel::{Context, Program, Value as Cel};
use serde_json::{Number, Value};

use super::super::field::{flag, property, values, word};

/// Words that CEL keeps for itself.
const RESERVED: &[&str] = &[
    "true",
    "false",
    "null",
    "in",
    "as",
    "break",
    "const",
    "continue",
    "else",
    "for",
    "function",
    "if",
    "import",
    "let",
    "loop",
    "package",
    "namespace",
    "return",
    "var",
    "void",
    "while",
];

/// What reads a text of a format.
static READERS: LazyLock<BTreeMap<&str, Program>> = LazyLock::new(|| {
    let readers = [("date-time", "timestamp(text)"), ("duration", "duration(text)"), ("byte", "base64.decode(text)")];
    readers.into_iter().filter_map(|(format, reader)| Some((format, Program::compile(reader).ok()?))).collect()
});

/// Makes values for rules, and remembers what did not fit its schema.
pub(super) struct Values<'a> {
    functions: &'a Context<'static>,
    misfit: Option<&'static str>,
}

impl<'a> Values<'a> {
    pub(super) fn new(functions: &'a Context<'static>) -> Self {
        Self { functions, misfit: None }
    }

    /// What a server says of a rule that stumbles, if a value did not fit its schema.
    pub(super) fn misfit(&self) -> Option<&str> {
        self.misfit
    }

    /// The value as the schema types it.
    pub(super) fn convert(&mut self, schema: &Value, value: &Value) -> Cel {
        let of = word(schema, "type").filter(|_| !flag(schema, "x-kubernetes-int-or-string")).unwrap_or_default();
        match value {
            Value::Null => Cel::Null,
            Value::Bool(yes) => Cel::Bool(*yes),
            Value::Number(number) => self.number(of, number),
            Value::String(text) if of == "string" => self.text(schema, text),
            Value::String(text) => Cel::String(Arc::new(text.clone())),
            Value::Array(items) => {
                let of = schema.get("items").unwrap_or(&Value::Null);
                Cel::List(Arc::new(items.iter().map(|item| self.convert(of, item)).collect()))
            }
            Value::Object(fields) => {
                let of = |key: &str| property(schema, key).or_else(|| values(schema)).unwrap_or(&Value::Null);
                let is_map = schema.get("properties").is_none();
                let name = |key: &str| if is_map { key.to_owned() } else { escaped(key) };
                let fields: HashMap<Key, Cel> = fields
                    .iter()
                    .map(|(key, value)| (Key::String(Arc::new(name(key))), self.convert(of(key), value)))
                    .collect();
                Cel::Map(Map { map: Arc::new(fields) })
            }
        }
    }

    fn number(&mut self, of: &str, number: &Number) -> Cel {
        match (of, number.as_i64(), number.as_f64()) {
            ("integer", None, _) => {
                self.misfit = Some("invalid data, expected int, got float64");
                unusable()
            }
            ("number", _, Some(float)) | (_, None, Some(float)) => Cel::Float(float),
            (_, Some(whole), _) => Cel::Int(whole),
            (_, None, None) => Cel::Null,
        }
    }

    /// A text of a format is what it stands for.
    fn text(&self, schema: &Value, text: &str) -> Cel {
        let plain = Cel::String(Arc::new(text.to_owned()));
        let program = word(schema, "format").and_then(|format| READERS.get(format));
        let mut context = self.functions.new_inner_scope();
        context.add_variable_from_value("text", plain.clone());
        program.and_then(|program| program.execute(&context).ok()).unwrap_or(plain)
    }
}

/// A value with which no operator agrees.
fn unusable() -> Cel {
    Cel::Map(Map { map: Arc::new(HashMap::new()) })
}

/// The name of a property in rules.
fn escaped(name: &str) -> String {
    if RESERVED.contains(&name) {
        return format!("__{name}__");
    }
    let name = name.replace("__", "__underscores__");
    name.replace('.', "__dot__").replace('-', "__dash__").replace('/', "__slash__")
}
