//! Merging one object into another by its schema: what the second says wins, what it does not mention stays.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::{Map, Value};

use super::{fields_of, items_of, step_to};
use crate::merge::fields::Step;
use crate::merge::shape::{Form, ListForm, MapForm, Shape};

/// `config` merged into `live`.
pub(crate) fn join(shape: Shape<'_>, live: &Value, config: &Value) -> Value {
    visit(shape, Some(live), Some(config)).unwrap_or_default()
}

fn visit(shape: Shape<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    match shape.form(config.or(live)) {
        Form::Scalar(_) => leaf(live, config),
        Form::Map(map) => {
            let hollow = |value| fields_of(value).is_none_or(Map::is_empty);
            if map.whole || (hollow(live) && hollow(config)) {
                leaf(live, config)
            } else {
                visit_map(map, live, config)
            }
        }
        Form::List(list) => {
            let hollow = |value| items_of(value).is_none_or(Vec::is_empty);
            if list.by.is_whole() || (hollow(live) && hollow(config)) {
                leaf(live, config)
            } else {
                Zip::new(list, items_of(live), items_of(config)).run()
            }
        }
    }
}

fn leaf(live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    config.or(live).cloned()
}

fn visit_map(map: MapForm<'_>, live: Option<&Value>, config: Option<&Value>) -> Option<Value> {
    let (live, config) = (fields_of(live), fields_of(config));
    let mut out = Map::new();
    let mut field = |name: &String, live: Option<&Value>, config: Option<&Value>| {
        let (shape, _) = map.field(name).unwrap_or((Shape::whole(), false));
        if let Some(value) = visit(shape, live, config) {
            out.insert(name.clone(), value);
        }
    };
    for (name, value) in live.into_iter().flatten() {
        field(name, Some(value), config.and_then(|config| config.get(name)));
    }
    for (name, value) in config.into_iter().flatten() {
        if live.is_none_or(|live| !live.contains_key(name)) {
            field(name, None, Some(value));
        }
    }
    (!out.is_empty()).then_some(Value::Object(out))
}

/// Two lists that become one. Items of the configuration keep their order among themselves; items that only the live
/// list has stay where they stood, before the item that they stood before.
struct Zip<'a> {
    list: ListForm<'a>,
    live: Vec<(Step, &'a Value)>,
    config: Vec<(Step, &'a Value)>,
    /// The live items by step; of repeated ones nothing is known.
    known: BTreeMap<Step, &'a Value>,
    /// The steps that both have, in the order of the configuration, not yet reached.
    shared: std::collections::VecDeque<Step>,
    done: BTreeSet<Step>,
    out: Vec<Value>,
}

impl<'a> Zip<'a> {
    fn new(list: ListForm<'a>, live: Option<&'a Vec<Value>>, config: Option<&'a Vec<Value>>) -> Self {
        let index = |items: Option<&'a Vec<Value>>| -> Vec<(Step, &'a Value)> {
            let items = items.into_iter().flatten();
            items.filter_map(|item| step_to(&list, item).ok().map(|step| (step, item))).collect()
        };
        let (live, config) = (index(live), index(config));
        let mut known = BTreeMap::new();
        for (step, item) in &live {
            known.entry(step.clone()).and_modify(|twice| *twice = &Value::Null).or_insert(*item);
        }
        let both = config.iter().map(|(step, _)| step).filter(|step| known.contains_key(*step)).cloned();
        let shared = both.collect();
        Self { list, live, config, known, shared, done: BTreeSet::new(), out: Vec::new() }
    }

    fn run(mut self) -> Option<Value> {
        let (live, config) = (std::mem::take(&mut self.live), std::mem::take(&mut self.config));
        let in_config: BTreeSet<&Step> = config.iter().map(|(step, _)| step).collect();
        let (mut at, mut next) = (0, 0);
        while at < live.len() || next < config.len() {
            let (here, there) = (live.get(at), config.get(next));
            if let (Some((step, _)), Some((wanted, item))) = (here, there) {
                if step == wanted {
                    self.take(step, Some(item));
                    self.shared.pop_front();
                    (at, next) = (at + 1, next + 1);
                    continue;
                }
                if in_config.contains(step) && self.shared.front().is_some_and(|shared| shared != step) {
                    at += 1;
                    continue;
                }
            }
            if let Some((step, item)) = here {
                if !in_config.contains(step) {
                    self.out.extend(visit(self.list.items, Some(item), None));
                    at += 1;
                    continue;
                }
                if self.done.contains(step) {
                    at += 1;
                }
            }
            if let Some((step, item)) = there {
                self.take(step, Some(item));
                next += 1;
                if self.shared.front() == Some(step) {
                    self.shared.pop_front();
                }
            }
        }
        (!self.out.is_empty()).then_some(Value::Array(self.out))
    }

    fn take(&mut self, step: &Step, item: Option<&Value>) {
        let merged = visit(self.list.items, self.known.get(step).copied(), item);
        self.out.extend(merged);
        self.done.insert(step.clone());
    }
}
