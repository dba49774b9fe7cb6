//! The wire form of ownership, and its order.

use jiff::Timestamp;
use jiff::tz::Offset;
use serde_json::{Map, Value, json};

use super::{Holding, Managed, Operation, Owner};
use crate::merge::fields::{Set, Undecodable};

/// The entries of an object, if it has any.
pub(super) fn entries(object: &Value) -> Option<&Vec<Value>> {
    object.get("metadata")?.get("managedFields")?.as_array().filter(|entries| !entries.is_empty())
}

/// Whether two entries say the same apart from their times.
pub(super) fn same(left: &Value, right: &Value) -> bool {
    let (Some(left), Some(right)) = (left.as_object(), right.as_object()) else { return false };
    let without = |entry: &Map<String, Value>| entry.len() - usize::from(entry.contains_key("time"));
    let fields = left.iter().filter(|(name, _)| *name != "time");
    without(left) == without(right) && fields.into_iter().all(|(name, field)| right.get(name) == Some(field))
}

pub(super) fn read(object: &Value) -> Result<Managed, Undecodable> {
    let mut managed = Managed::default();
    for (at, entry) in entries(object).into_iter().flatten().enumerate() {
        managed.put(read_entry(at, entry)?);
    }
    Ok(managed)
}

fn read_entry(at: usize, entry: &Value) -> Result<Holding, Undecodable> {
    let text = |name: &str| entry.get(name).and_then(Value::as_str).unwrap_or_default();
    let operation = match text("operation") {
        "Apply" => Operation::Apply,
        "Update" => Operation::Update,
        _ => return Err(Undecodable("operation must be `Apply` or `Update`".to_owned())),
    };
    let api_version = text("apiVersion");
    if api_version.is_empty() {
        return Err(Undecodable("apiVersion must not be empty".to_owned()));
    }
    match text("fieldsType") {
        "FieldsV1" => {}
        "" => return Err(Undecodable(format!("missing fieldsType in managed fields entry {at}"))),
        other => return Err(Undecodable(format!("invalid fieldsType \"{other}\" in managed fields entry {at}"))),
    }
    let fields = entry.get("fieldsV1").map_or(Ok(Set::new()), Set::from_json)?;
    let time = match text("time") {
        "" => None,
        time => Some(time.parse::<Timestamp>().map_err(|why| Undecodable(why.to_string()))?),
    };
    let owner = Owner {
        name: text("manager").to_owned(),
        operation,
        api_version: match operation {
            Operation::Apply => String::new(),
            Operation::Update => api_version.to_owned(),
        },
        subresource: text("subresource").to_owned(),
    };
    Ok(Holding { owner, api_version: api_version.to_owned(), time, fields })
}

pub(super) fn write(managed: &Managed, object: &mut Value) {
    let Value::Object(object) = object else { return };
    if managed.is_empty() {
        if let Some(Value::Object(metadata)) = object.get_mut("metadata") {
            metadata.remove("managedFields");
        }
        return;
    }
    let mut sorted: Vec<&Holding> = managed.holdings.iter().collect();
    sorted.sort_by_key(|holding| {
        let Owner { name, operation, subresource, .. } = &holding.owner;
        (*operation, holding.time.map_or(0, Timestamp::as_second), name, &holding.api_version, subresource)
    });
    let entries: Vec<Value> = sorted.into_iter().map(write_entry).collect();
    if let Value::Object(metadata) = object.entry("metadata").or_insert_with(|| json!({})) {
        metadata.insert("managedFields".to_owned(), Value::Array(entries));
    }
}

fn write_entry(holding: &Holding) -> Value {
    let Holding { owner, api_version, time, fields } = holding;
    let mut entry = Map::new();
    let mut text = |name: &str, text: &str| {
        if !text.is_empty() {
            entry.insert(name.to_owned(), Value::from(text));
        }
    };
    text("manager", &owner.name);
    text("operation", owner.operation.as_str());
    text("apiVersion", api_version);
    if let Some(time) = time {
        text("time", &seconds(*time));
    }
    text("fieldsType", "FieldsV1");
    text("subresource", &owner.subresource);
    entry.insert("fieldsV1".to_owned(), fields.to_json());
    Value::Object(entry)
}

/// A time as Kubernetes writes it: whole seconds, in UTC.
fn seconds(time: Timestamp) -> String {
    let time = Offset::UTC.to_datetime(time);
    let (date, clock) = (time.date(), time.time());
    let [year, month, day] = [i32::from(date.year()), i32::from(date.month()), i32::from(date.day())];
    let [hour, minute, second] = [clock.hour(), clock.minute(), clock.second()];
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}Z")
}
