//! What becomes of a definition: its names are accepted unless another one of its group has them, and then it is
//! established.

use std::collections::BTreeSet;

use jiff::Timestamp;
use serde_json::{Map, Value, json};

use crate::kinds::field::{list, text};
use crate::kinds::moment::{Precision, write};

/// The status that a definition gets, given all the others there are and the time.
///
/// The real server gets there in two steps of its controllers; this is where they end.
pub fn crd_status(crd: &Value, others: &[Value], now: Timestamp) -> Value {
    let taken = Taken::by(others, text(crd, "/spec/group"), text(crd, "/metadata/name"));
    let (accepted, conflict) = accept(crd, &taken);
    let (reason, message) = conflict.clone().unwrap_or(("NoConflicts", "no conflicts found".to_owned()));
    let names = Condition { kind: "NamesAccepted", holds: conflict.is_none(), reason, message };
    let established = match condition(crd, "Established") {
        Some(old) if text(old, "/status") == "True" => None,
        _ if names.holds => Some(("InitialNamesAccepted", true, "the initial names have been accepted")),
        Some(_) => None,
        None => Some(("NotAccepted", false, "not all names are accepted")),
    };
    let mut conditions = list(crd, "/status/conditions").to_vec();
    names.set(&mut conditions, now);
    if let Some((reason, holds, message)) = established {
        let message = message.to_owned();
        Condition { kind: "Established", holds, reason, message }.set(&mut conditions, now);
    }
    let mut status = crd.get("status").and_then(Value::as_object).cloned().unwrap_or_default();
    status.insert("conditions".to_owned(), json!(conditions));
    status.insert("acceptedNames".to_owned(), accepted);
    Value::Object(status)
}

/// The names that other definitions of the group have been given.
struct Taken {
    resources: BTreeSet<String>,
    kinds: BTreeSet<String>,
}

impl Taken {
    fn by(others: &[Value], group: &str, name: &str) -> Self {
        let mut taken = Self { resources: BTreeSet::new(), kinds: BTreeSet::new() };
        let same_group = |it: &&Value| text(it, "/spec/group") == group && text(it, "/metadata/name") != name;
        for names in others.iter().filter(same_group).filter_map(|it| it.pointer("/status/acceptedNames")) {
            let word = |field: &str| text(names, &format!("/{field}")).to_owned();
            taken.resources.extend([word("plural"), word("singular")]);
            taken.resources.extend(list(names, "/shortNames").iter().filter_map(Value::as_str).map(str::to_owned));
            taken.kinds.extend([word("kind"), word("listKind")]);
        }
        taken
    }
}

/// The names that are accepted, and the last conflict there was.
fn accept(crd: &Value, taken: &Taken) -> (Value, Option<(&'static str, String)>) {
    let wished = &crd["spec"]["names"];
    let mut accepted = crd.pointer("/status/acceptedNames").and_then(Value::as_object).cloned().unwrap_or_default();
    let mut conflict = None;
    let before = accepted.clone();
    let free = |name: &str, had: &str, used: &BTreeSet<String>| name == had || !used.contains(name);
    let one = |accepted: &mut Map<String, Value>, field: &str, used: &BTreeSet<String>, reason: &'static str| {
        let (name, had) = (text(wished, &format!("/{field}")), before.get(field).and_then(Value::as_str));
        if free(name, had.unwrap_or_default(), used) {
            accepted.insert(field.to_owned(), json!(name));
            None
        } else {
            Some((reason, format!("{name:?} is already in use")))
        }
    };
    conflict = one(&mut accepted, "plural", &taken.resources, "PluralConflict").or(conflict);
    conflict = one(&mut accepted, "singular", &taken.resources, "SingularConflict").or(conflict);
    conflict = short_names(wished, &mut accepted, &taken.resources).or(conflict);
    conflict = one(&mut accepted, "kind", &taken.kinds, "KindConflict").or(conflict);
    conflict = one(&mut accepted, "listKind", &taken.kinds, "ListKindConflict").or(conflict);
    match wished.get("categories") {
        Some(categories) => accepted.insert("categories".to_owned(), categories.clone()),
        None => accepted.remove("categories"),
    };
    (Value::Object(accepted), conflict)
}

fn short_names(
    wished: &Value,
    accepted: &mut Map<String, Value>,
    used: &BTreeSet<String>,
) -> Option<(&'static str, String)> {
    let had = accepted.get("shortNames").and_then(Value::as_array).cloned().unwrap_or_default();
    let new = list(wished, "/shortNames").iter().filter(|name| !had.contains(name)).filter_map(Value::as_str);
    let wrong: Vec<String> =
        new.filter(|name| used.contains(*name)).map(|name| format!("{name:?} is already in use")).collect();
    let message = match wrong.as_slice() {
        [] => {
            match wished.get("shortNames") {
                Some(names) => accepted.insert("shortNames".to_owned(), names.clone()),
                None => accepted.remove("shortNames"),
            };
            return None;
        }
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    };
    Some(("ShortNamesConflict", message))
}

fn condition<'a>(crd: &'a Value, kind: &str) -> Option<&'a Value> {
    list(crd, "/status/conditions").iter().find(|condition| text(condition, "/type") == kind)
}

struct Condition {
    kind: &'static str,
    holds: bool,
    reason: &'static str,
    message: String,
}

impl Condition {
    /// Writes the condition; its time moves only with its status.
    fn set(&self, conditions: &mut Vec<Value>, now: Timestamp) {
        let status = if self.holds { "True" } else { "False" };
        let old = conditions.iter_mut().find(|condition| text(condition, "/type") == self.kind);
        let since =
            old.as_ref().filter(|old| text(old, "/status") == status).map(|old| old["lastTransitionTime"].clone());
        let since = since.unwrap_or_else(|| json!(write(now, Precision::Seconds)));
        let new = json!({
            "type": self.kind, "status": status, "lastTransitionTime": since,
            "reason": self.reason, "message": self.message,
        });
        match old {
            Some(old) => *old = new,
            None => conditions.push(new),
        }
    }
}
