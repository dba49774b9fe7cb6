//! Where two servers disagree.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;

use super::differences::{self, GENERATED_ORDER, Known, WATCH_HISTORY};
use super::normal::{Normal, Part, normalise};
use super::run::Record;
use super::sequence::{Sequence, Step};

/// One place where the answers differ.
#[derive(Clone, Debug, PartialEq)]
pub struct Difference {
    pub step: usize,
    pub part: Part,
    /// Where in the answer, as a path with dots.
    pub at: String,
    /// What the real server says there, none if nothing.
    pub real: Option<Value>,
    /// What ours says there.
    pub ours: Option<Value>,
}

/// What came of one sequence.
pub struct Verdict {
    pub seed: u64,
    pub sequence: Sequence,
    /// Differences that nothing explains.
    pub unexplained: Vec<Difference>,
    /// Identifiers of the known differences that were met.
    pub known: Vec<&'static str>,
    /// Whether the servers differed once and, run again, did not.
    pub fleeting: bool,
    pub real: Normal,
    pub ours: Normal,
    pub requests: usize,
    pub events: usize,
}

/// Compares what two servers said to one sequence.
pub fn compare(sequence: &Sequence, real: &Record, ours: &Record) -> Verdict {
    let (requests, events) = (real.requests(), real.events());
    let (real, ours) = (normalise(sequence, real), normalise(sequence, ours));
    let mut unexplained = Vec::new();
    let mut known = Vec::new();
    let expired = expired(&real);
    let drawn = format!("{sequence:?}").contains("generateName");
    for difference in differences(&real, &ours) {
        if difference.part == Part::Events && expired.contains(&difference.step) {
            known.push(WATCH_HISTORY);
            continue;
        }
        if drawn && paged(sequence, difference.step) {
            known.push(GENERATED_ORDER);
            continue;
        }
        let step = sequence.steps.iter().find(|step| step.id == difference.step);
        match step.and_then(|step| explain(step, &difference)) {
            Some(entry) => known.push(entry.id),
            None => unexplained.push(difference),
        }
    }
    let fleeting = false;
    Verdict {
        seed: sequence.seed,
        sequence: sequence.clone(),
        unexplained,
        known,
        fleeting,
        real,
        ours,
        requests,
        events,
    }
}

/// Whether a step asks for a part of a list.
fn paged(sequence: &Sequence, step: usize) -> bool {
    let step = sequence.steps.iter().find(|other| other.id == step);
    step.is_some_and(|step| format!("{step:?}").contains("\"limit\""))
}

/// The watches that the real server ended because it does not remember that far.
fn expired(real: &Normal) -> BTreeSet<usize> {
    let too_old = |value: &Value| value.to_string().contains("too old resource version");
    real.parts
        .iter()
        .filter(|((_, part), value)| *part == Part::Events && too_old(value))
        .map(|((step, _), _)| *step)
        .collect()
}

fn explain(step: &Step, difference: &Difference) -> Option<&'static Known> {
    differences::KNOWN.iter().find(|entry| (entry.matches)(step, difference))
}

/// Every place where the two differ.
pub fn differences(real: &Normal, ours: &Normal) -> Vec<Difference> {
    let mut found = Vec::new();
    let keys: std::collections::BTreeSet<_> = real.parts.keys().chain(ours.parts.keys()).collect();
    for key in keys {
        let mut places = Vec::new();
        differ("", real.parts.get(key), ours.parts.get(key), &mut places);
        found.extend(places.into_iter().map(|(at, real, ours)| Difference {
            step: key.0,
            part: key.1,
            at,
            real,
            ours,
        }));
    }
    found
}

type Place = (String, Option<Value>, Option<Value>);

fn differ(at: &str, real: Option<&Value>, ours: Option<&Value>, found: &mut Vec<Place>) {
    match (real, ours) {
        (Some(Value::Object(real)), Some(Value::Object(ours))) => {
            let keys: std::collections::BTreeSet<&String> = real.keys().chain(ours.keys()).collect();
            for key in keys {
                differ(&format!("{at}.{key}"), real.get(key), ours.get(key), found);
            }
        }
        (Some(Value::Array(real)), Some(Value::Array(ours))) => {
            for index in 0..real.len().max(ours.len()) {
                differ(&format!("{at}[{index}]"), real.get(index), ours.get(index), found);
            }
        }
        (real, ours) if real == ours => {}
        (Some(Value::String(real)), Some(Value::String(ours))) if is_same_complaint(real, ours) => {}
        (real, ours) => found.push((at.to_owned(), real.cloned(), ours.cloned())),
    }
}

/// Whether two messages of the typed merge are of one object. With several things wrong the real server gives up at one
/// that a Go map puts first, so that one list may hold less than the other.
fn is_same_complaint(real: &str, ours: &str) -> bool {
    let parts = |text: &str| -> Option<(String, std::collections::BTreeSet<String>)> {
        let rest = text.strip_prefix("failed to create typed ")?;
        let (object, errors) = rest.split_once("): ")?;
        let errors = errors.strip_prefix("errors:\n").unwrap_or(errors);
        Some((object.to_owned(), errors.lines().map(|line| line.trim().to_owned()).collect()))
    };
    match (parts(real), parts(ours)) {
        (Some((object, some)), Some((other, more))) => {
            object == other && (some.is_subset(&more) || more.is_subset(&some))
        }
        _ => false,
    }
}

impl Verdict {
    /// Whether nothing is left unexplained.
    pub fn agrees(&self) -> bool {
        self.unexplained.is_empty()
    }

    /// The difference that the others may follow from: answers before events, which tell of all steps.
    fn root(&self) -> Option<&Difference> {
        self.unexplained.iter().min_by_key(|difference| (difference.part, difference.step))
    }

    /// The first step that differs.
    fn first(&self) -> Option<&Step> {
        let id = self.root()?.step;
        self.sequence.steps.iter().find(|step| step.id == id)
    }

    /// Words that similar failures share: the verb, the kind, the place.
    pub fn signature(&self) -> String {
        let Some(difference) = self.root() else { return "nothing".to_owned() };
        let digits = regex::Regex::new(r"\[[0-9]+\]").expect("a pattern");
        let place = digits.replace_all(&difference.at, "[]").into_owned();
        let call = self.first().map(|step| step.act.call());
        let form = call.and_then(|call| call.headers.iter().find(|(name, _)| *name == "content-type"));
        let form = form.map(|(_, form)| form.replace("application/", "")).unwrap_or_default();
        let (method, path) = call.map(|call| (call.method.to_string(), call.path.clone())).unwrap_or_default();
        let status = |value: &Option<Value>| {
            value.as_ref().filter(|value| value.is_number()).map(Value::to_string).unwrap_or_default()
        };
        let path = path.replace("/namespaces/«ns»", "").replace("«ns»-", "");
        format!(
            "{:?} {method} {form} {path} {place} {}→{}",
            difference.part,
            status(&difference.real),
            status(&difference.ours)
        )
    }

    /// The failure for a person: the steps up to it, the request, where the answers differ, both answers, how to replay.
    pub fn report(&self, command: &str) -> String {
        let mut text = format!("== seed {}: {} differences\n", self.seed, self.unexplained.len());
        let Some(first) = self.first() else {
            let _ = writeln!(text, "{:#?}", self.unexplained);
            return text;
        };
        for step in &self.sequence.steps {
            let mark = if step.id == first.id { ">>" } else { "  " };
            let status = self.real.parts.get(&(step.id, Part::Answer)).map(|answer| answer["status"].to_string());
            let _ = writeln!(text, "{mark} {step}\n      → {}", status.unwrap_or_default());
            if step.id == first.id && !matches!(first.act, super::sequence::Act::Watch(_)) {
                break;
            }
        }
        for difference in self.unexplained.iter().filter(|difference| difference.step == first.id).take(12) {
            let show =
                |value: &Option<Value>| value.as_ref().map_or("(nothing)".to_owned(), |value| cut(&value.to_string()));
            let _ = writeln!(
                text,
                "  {:?} {}\n    real: {}\n    ours: {}",
                difference.part,
                difference.at,
                show(&difference.real),
                show(&difference.ours)
            );
        }
        for part in [Part::Answer, Part::Events] {
            let at = (first.id, part);
            if self.real.parts.get(&at) != self.ours.parts.get(&at) {
                for (who, normal) in [("real", &self.real), ("ours", &self.ours)] {
                    let _ = writeln!(
                        text,
                        "  {who} {part:?}: {}",
                        normal.parts.get(&at).map(|value| cut(&value.to_string())).unwrap_or_default()
                    );
                }
            }
        }
        let _ = writeln!(text, "  replay: {}={} {command}", super::SEEDS, self.seed);
        text
    }
}

/// Long values hide what a person looks for.
fn cut(text: &str) -> String {
    const MOST: usize = 3000;
    if text.len() <= MOST {
        text.to_owned()
    } else {
        format!("{}… ({} bytes)", text.chars().take(MOST).collect::<String>(), text.len())
    }
}

/// Failures of many seeds, the most frequent kinds first, with one full report of each.
pub fn summary(verdicts: &[Verdict], command: &str) -> String {
    let mut groups: BTreeMap<String, Vec<&Verdict>> = BTreeMap::new();
    for verdict in verdicts.iter().filter(|verdict| !verdict.agrees()) {
        groups.entry(verdict.signature()).or_default().push(verdict);
    }
    let mut groups: Vec<(String, Vec<&Verdict>)> = groups.into_iter().collect();
    groups.sort_by_key(|(_, group)| std::cmp::Reverse(group.len()));
    let mut text = String::new();
    for (signature, group) in groups.iter().take(super::REPORTS) {
        let _ = writeln!(text, "\n#### {} sequences: {signature}\n{}", group.len(), group[0].report(command));
    }
    let _ = writeln!(text, "\n{} kinds of difference:", groups.len());
    for (signature, group) in &groups {
        let seeds: Vec<String> = group.iter().take(5).map(|verdict| verdict.seed.to_string()).collect();
        let _ = writeln!(text, "{:5}  {signature}   (seeds {})", group.len(), seeds.join(" "));
    }
    text
}
