//! Why user data cannot be merged, in words for the person who wrote it.

use std::fmt;

use thiserror::Error;

/// Why user data cannot be merged with ours. Every text names the field and what to do.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Refusal {
    /// It is a result of merging, with another part of ours.
    #[error("cloudInit.userData: holds the operator's part already; give your own user data alone")]
    AlreadyMerged,
    /// It is compressed or base64.
    #[error("cloudInit.userData: {place}is compressed or base64; give it as plain text")]
    Encoded {
        /// Which part.
        place: Place,
    },
    /// Nothing tells cloud-init what it is.
    #[error(
        "cloudInit.userData: {place}is of no format that cloud-init knows; its first line must be #cloud-config, a \
         script's #!, #include, #include-once, #cloud-boothook, #cloud-config-archive, ## template: jinja, or a header \
         of a MIME message"
    )]
    Unknown {
        /// Which part.
        place: Place,
    },
    /// A JSON patch: there is nothing before it to patch.
    #[error("cloudInit.userData: {place}is a #cloud-config-jsonp; write what it makes as #cloud-config")]
    Patch {
        /// Which part.
        place: Place,
    },
    /// Code that takes over the reading of parts, ours among them.
    #[error(
        "cloudInit.userData: {place}is a #part-handler, which could take our part away; use #cloud-config or a script"
    )]
    PartHandler {
        /// Which part.
        place: Place,
    },
    /// A multipart message that cannot be read.
    #[error("cloudInit.userData: {place}{problem}")]
    Message {
        /// Which part.
        place: Place,
        /// What is wrong and what to do, as the end of a sentence.
        problem: &'static str,
    },
    /// Not YAML.
    #[error("cloudInit.userData: {place}is not the YAML that cloud-init reads: {problem}; correct it there")]
    Yaml {
        /// Which part.
        place: Place,
        /// What the parser says, and where.
        problem: String,
    },
    /// A character that YAML does not allow.
    #[error(
        "cloudInit.userData: {place}line {line} has the character U+{code:04X}, which YAML does not allow; remove it, \
         or write it as an escape in double quotes"
    )]
    Character {
        /// Which part.
        place: Place,
        /// The line, from 1.
        line: usize,
        /// The character.
        code: u32,
    },
    /// A key that stands twice in one mapping.
    #[error("cloudInit.userData: {place}line {line} has the key {key:?} a second time; keep one of them")]
    DuplicateKey {
        /// Which part.
        place: Place,
        /// The line, from 1.
        line: u64,
        /// The key.
        key: String,
    },
    /// A cloud-config that is a list or a scalar.
    #[error("cloudInit.userData: {place}must be a mapping at its top level, such as `packages: [git]`")]
    NotMapping {
        /// Which part.
        place: Place,
    },
    /// A list of ours has nothing to be appended to.
    #[error("cloudInit.userData: {place}{key} must be a list; write its items as one, or remove the key")]
    NotList {
        /// Which part.
        place: Place,
        /// The key.
        key: &'static str,
    },
    /// An item at which cloud-init would stop, before it comes to ours.
    #[error("cloudInit.userData: {place}{key}[{index}] must be {expected}")]
    Item {
        /// Which part.
        place: Place,
        /// The list.
        key: &'static str,
        /// Place in the list, from 0.
        index: usize,
        /// What it must be and how to write it.
        expected: &'static str,
    },
    /// A file in a place of ours.
    #[error("cloudInit.userData: {place}write_files[{index}].path {path:?} is reserved; choose a path outside {tree}")]
    Reserved {
        /// Which part.
        place: Place,
        /// Place in the list, from 0.
        index: usize,
        /// The path as it is written.
        path: String,
        /// What is reserved.
        tree: String,
    },
    /// The machine would be switched off while its job runs.
    #[error(
        "cloudInit.userData: {place}power_state is not allowed, it would switch the machine off under its job; remove \
         it, machines are switched off when their job is done"
    )]
    PowerState {
        /// Which part.
        place: Place,
    },
}

/// Which part of user data that has several; the whole of it where nothing is counted.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Place(Vec<usize>);

impl Place {
    /// The part inside, counted from 1.
    pub(super) fn part(&self, number: usize) -> Self {
        Self(self.0.iter().copied().chain([number]).collect())
    }

    /// How many containers are around it.
    pub(super) fn depth(&self) -> usize {
        self.0.len()
    }
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() {
            return Ok(());
        }
        let numbers: Vec<_> = self.0.iter().map(ToString::to_string).collect();
        write!(f, "part {}: ", numbers.join("."))
    }
}
