//! What was found at a value: its faults, each said once, and how much of the schema it met.

use super::super::field::Place;
use super::super::refusal::{Cause, Violation};

/// One fault, in the server's words.
pub(super) struct Fault {
    /// Where, from the judged value on; a fault of a choice or of a range has no place.
    place: Option<String>,
    /// The validator's own sentence: two faults with the same are one.
    sentence: String,
    cause: Cause,
    message: String,
}

impl Fault {
    fn new(path: &str, cause: Cause, sentence: String, message: String) -> Self {
        Self { place: Some(path.to_owned()), sentence, cause, message }
    }

    /// The value is not as the schema wants it.
    pub(super) fn invalid(path: &str, shown: &str, sentence: String) -> Self {
        let message = format!("Invalid value: {shown}: {sentence}");
        Self::new(path, Cause::Invalid, sentence, message)
    }

    /// The value is of another type, or not of the format.
    pub(super) fn wrong_type(path: &str, wanted: &str, given: &str) -> Self {
        let sentence = format!("{path} in body must be of type {wanted}: {given}");
        let message = format!("Invalid value: {given}: {sentence}");
        Self::new(path, Cause::TypeInvalid, sentence, message)
    }

    /// A fault that the server reports without a place.
    pub(super) fn nowhere(sentence: String) -> Self {
        let message = format!("Invalid value: \"\": {sentence}");
        Self { place: None, sentence, cause: Cause::Invalid, message }
    }

    pub(super) fn required(path: &str) -> Self {
        Self::new(path, Cause::Required, format!("{path} in body is required"), "Required value".to_owned())
    }

    pub(super) fn not_supported(path: &str, shown: &str, known: &str) -> Self {
        let message = format!("Unsupported value: {shown}: supported values: {known}");
        Self::new(path, Cause::NotSupported, format!("{path} in body should be one of {known}"), message)
    }

    pub(super) fn too_long(path: &str, most: u64) -> Self {
        let unit = if most == 1 { "byte" } else { "bytes" };
        let message = format!("Too long: may not be more than {most} {unit}");
        Self::new(path, Cause::TooLong, format!("{path} in body should be at most {most} chars long"), message)
    }

    pub(super) fn too_many(path: &str, count: u64, most: u64, of: &str) -> Self {
        let unit = if most == 1 { "item" } else { "items" };
        let message = format!("Too many: {count}: must have at most {most} {unit}");
        Self::new(path, Cause::TooMany, format!("{path} in body should have at most {most} {of}"), message)
    }

    fn into_violation(self, root: &Place) -> Violation {
        let name = self.place.as_deref().map(|place| place.strip_prefix('.').unwrap_or(place));
        let place = name.filter(|name| !name.is_empty()).map_or_else(|| root.clone(), |name| root.child(name));
        Violation::new(&place, self.cause, self.message)
    }
}

/// The faults of a value, and the number of checks that it met: of several choices, the nearest is reported.
#[derive(Default)]
pub(super) struct Found {
    faults: Vec<Fault>,
    matches: usize,
}

impl Found {
    pub(super) fn is_clean(&self) -> bool {
        self.faults.is_empty()
    }

    pub(super) fn matches(&self) -> usize {
        self.matches
    }

    /// One more check was made.
    pub(super) fn matched(&mut self) {
        self.matches += 1;
    }

    pub(super) fn add(&mut self, fault: Fault) {
        if !self.faults.iter().any(|said| said.sentence == fault.sentence) {
            self.faults.push(fault);
        }
    }

    pub(super) fn merge(&mut self, other: Self) {
        self.matches += other.matches;
        for fault in other.faults {
            self.add(fault);
        }
    }

    /// Merges the outcome of one check.
    pub(super) fn take(&mut self, other: Self) {
        self.merge(other);
        self.matched();
    }

    /// Nothing of it is held against the writer.
    pub(super) fn forgive(&mut self) {
        self.faults.clear();
    }

    pub(super) fn into_violations(self, root: &Place) -> Vec<Violation> {
        self.faults.into_iter().map(|fault| fault.into_violation(root)).collect()
    }
}

impl From<Option<Fault>> for Found {
    fn from(fault: Option<Fault>) -> Self {
        Self { faults: fault.into_iter().collect(), matches: 0 }
    }
}
