//! What a schema says about ownership: which values are leaves, which lists have keys, what may stand where.
//!
//! A schema that names no type allows every form. A map without `properties` is free: what is in it is deduced from the
//! values, maps by field, lists whole. `x-kubernetes-preserve-unknown-fields` holds for everything below it.

use serde_json::{Map, Value};

/// The shape of a value.
#[derive(Clone, Copy)]
pub(crate) struct Shape<'a> {
    of: Of<'a>,
    /// Whether unknown fields are kept here and below.
    free: bool,
}

#[derive(Clone, Copy)]
enum Of<'a> {
    Schema(&'a Map<String, Value>),
    /// No schema: maps by field, lists and scalars whole.
    Deduced,
    /// No schema: everything whole.
    Whole,
}

/// The form of a value that a shape allows.
#[derive(Clone, Copy)]
pub(crate) enum Form<'a> {
    Map(MapForm<'a>),
    Scalar(Scalar),
    List(ListForm<'a>),
}

/// A scalar's type.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scalar {
    Number,
    Text,
    Flag,
    Any,
}

/// How a map is owned.
#[derive(Clone, Copy)]
pub(crate) struct MapForm<'a> {
    properties: Option<&'a Map<String, Value>>,
    others: Option<Shape<'a>>,
    free: bool,
    /// Whether it is one field as a whole.
    pub(crate) whole: bool,
}

/// How a list is owned.
#[derive(Clone, Copy)]
pub(crate) struct ListForm<'a> {
    /// The shape of its items.
    pub(crate) items: Shape<'a>,
    /// What tells them apart.
    pub(crate) by: By<'a>,
}

/// What tells the items of a list apart.
#[derive(Clone, Copy)]
pub(crate) enum By<'a> {
    /// Nothing: the list is one field.
    Whole,
    /// Their values.
    Value,
    /// The values of these fields.
    Keys(&'a [Value]),
    /// The value of this field, as built-in kinds say it.
    Key(&'a Value),
}

impl<'a> Shape<'a> {
    /// The shape that a schema describes.
    pub(crate) fn new(schema: &'a Value) -> Self {
        Self::below(schema, false)
    }

    fn below(schema: &'a Value, free: bool) -> Self {
        match schema {
            Value::Object(fields) => {
                let free = free || fields.get("x-kubernetes-preserve-unknown-fields") == Some(&Value::Bool(true));
                Self { of: Of::Schema(fields), free }
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => {
                Self { of: Of::Deduced, free }
            }
        }
    }

    const fn deduced() -> Self {
        Self { of: Of::Deduced, free: true }
    }

    /// The shape of what no schema describes: one field as a whole.
    pub(crate) const fn whole() -> Self {
        Self { of: Of::Whole, free: true }
    }

    /// Whether any value has this shape.
    pub(crate) const fn takes_anything(self) -> bool {
        match self.of {
            Of::Schema(_) => false,
            Of::Deduced | Of::Whole => true,
        }
    }

    fn type_of(self) -> &'a str {
        match self.of {
            Of::Schema(schema) => schema.get("type").and_then(Value::as_str).unwrap_or_default(),
            Of::Deduced | Of::Whole => "",
        }
    }

    /// The form in which a value is looked at: the one it has where the shape allows it, else one that the shape allows.
    pub(crate) fn form(self, value: Option<&Value>) -> Form<'a> {
        let free = || match value {
            Some(Value::Bool(_) | Value::Number(_) | Value::String(_)) => Form::Scalar(Scalar::Any),
            Some(Value::Array(_)) => Form::List(self.list_form()),
            None | Some(Value::Null | Value::Object(_)) => Form::Map(self.map_form()),
        };
        match self.type_of() {
            "object" => Form::Map(self.map_form()),
            "array" => Form::List(self.list_form()),
            "integer" | "number" => Form::Scalar(Scalar::Number),
            "boolean" => Form::Scalar(Scalar::Flag),
            "string" => Form::Scalar(self.text()),
            _ => free(),
        }
    }

    /// How maps of this shape are owned, if it allows maps.
    pub(crate) fn map(self) -> Option<MapForm<'a>> {
        matches!(self.type_of(), "" | "object").then(|| self.map_form())
    }

    /// How lists of this shape are owned, if it allows lists.
    pub(crate) fn list(self) -> Option<ListForm<'a>> {
        matches!(self.type_of(), "" | "array").then(|| self.list_form())
    }

    fn text(self) -> Scalar {
        match self.of {
            Of::Schema(schema) => match schema.get("format").and_then(Value::as_str) {
                None | Some("" | "byte") => Scalar::Text,
                Some(_) => Scalar::Any,
            },
            Of::Deduced | Of::Whole => Scalar::Any,
        }
    }

    fn map_form(self) -> MapForm<'a> {
        let Self { of, free } = self;
        let schema = match of {
            Of::Schema(schema) => schema,
            Of::Deduced => {
                return MapForm { properties: None, others: Some(Self::deduced()), free: true, whole: false };
            }
            Of::Whole => return MapForm { properties: None, others: Some(Self::whole()), free: true, whole: true },
        };
        let properties = schema.get("properties").and_then(Value::as_object).filter(|all| !all.is_empty());
        let others = match schema.get("additionalProperties") {
            None if free || properties.is_none() => Some(Self::deduced()),
            None | Some(Value::Bool(false)) => None,
            Some(Value::Bool(true)) => Some(Self::deduced()),
            Some(schema) => Some(Self::below(schema, free)),
        };
        let whole = schema.get("x-kubernetes-map-type").and_then(Value::as_str) == Some("atomic");
        MapForm { properties, others, free, whole }
    }

    fn list_form(self) -> ListForm<'a> {
        let whole = ListForm { items: Self::whole(), by: By::Whole };
        match self.of {
            Of::Deduced | Of::Whole => whole,
            Of::Schema(schema) => {
                let items = schema.get("items").map_or(whole.items, |items| Self::below(items, self.free));
                ListForm { items, by: by(schema) }
            }
        }
    }
}

fn by(schema: &Map<String, Value>) -> By<'_> {
    match schema.get("x-kubernetes-list-type").and_then(Value::as_str) {
        Some("set") => return By::Value,
        Some("map") => {
            let keys = schema.get("x-kubernetes-list-map-keys").and_then(Value::as_array);
            return keys.map_or(By::Whole, |keys| By::Keys(keys));
        }
        Some(_) => return By::Whole,
        None => {}
    }
    match schema.get("x-kubernetes-patch-strategy").and_then(Value::as_str) {
        Some("merge" | "merge,retainKeys") => schema.get("x-kubernetes-patch-merge-key").map_or(By::Value, By::Key),
        Some(_) | None => By::Whole,
    }
}

impl<'a> MapForm<'a> {
    /// The shape of a field and whether the schema names it; none where no such field may be.
    pub(crate) fn field(self, name: &str) -> Option<(Shape<'a>, bool)> {
        match self.properties.and_then(|properties| properties.get(name)) {
            Some(schema) => Some((Shape::below(schema, self.free), true)),
            None => self.others.map(|shape| (shape, false)),
        }
    }

    /// Whether the schema names the field.
    pub(crate) fn names(self, name: &str) -> bool {
        self.properties.is_some_and(|properties| properties.contains_key(name))
    }

    /// Whether nothing is said about what is in it.
    pub(crate) fn is_unknown(self) -> bool {
        self.properties.is_none() && self.others.is_some_and(|shape| shape.type_of().is_empty())
    }

    /// The default of a field that the schema names.
    pub(crate) fn default(self, name: &str) -> Option<&'a Value> {
        self.properties?.get(name)?.get("default")
    }
}

impl By<'_> {
    /// Whether the list is one field.
    pub(crate) fn is_whole(self) -> bool {
        match self {
            By::Whole => true,
            By::Value | By::Keys(_) | By::Key(_) => false,
        }
    }
}

impl Form<'_> {
    /// Whether both are maps, or lists, or scalars.
    pub(crate) fn is_like(&self, other: &Self) -> bool {
        match (self, other) {
            (Form::Map(_), Form::Map(_)) | (Form::List(_), Form::List(_)) | (Form::Scalar(_), Form::Scalar(_)) => true,
            (Form::Map(_) | Form::List(_) | Form::Scalar(_), _) => false,
        }
    }
}
