//! The multipart message that carries theirs and ours.

use std::fmt::Write;

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::format::Format;
use super::ours::Ours;
use super::theirs::Theirs;

/// How a message of ours begins; a number follows.
const HEAD: &str = "Content-Type: multipart/mixed; boundary=\"hyperfleet-";

/// Our keys take the place of theirs.
const REPLACE: &str = "dict(replace)+list()+str()";

/// Our lists are appended to theirs.
const APPEND: &str = "list(append)+dict(no_replace,recurse_list)+str()";

/// Letters in a line of base64; MIME allows no more.
const WIDTH: usize = 76;

/// Whether this is a message of ours.
pub(super) fn is_sealed(text: &str) -> bool {
    text.starts_with(HEAD)
}

/// Whether this is what merging with `ours` gives.
pub(super) fn is_result(text: &str, ours: &Ours) -> bool {
    let same = |inner: &str| {
        let theirs = Theirs::read(inner, &ours.paths());
        theirs.is_ok_and(|theirs| theirs.is_some_and(|theirs| seal(&theirs, ours) == text))
    };
    text == ours.alone() || open(text).is_some_and(|part| same(part) || decoded(part).is_some_and(|part| same(&part)))
}

/// Theirs and ours in one message.
pub(super) fn seal(theirs: &Theirs<'_>, ours: &Ours) -> String {
    let number = free_number(theirs);
    let boundary = format!("--hyperfleet-{number}");
    // Containers are not encoded, only what is in them.
    let is_container = theirs.format == Format::Message;
    let theirs = if is_container { format!("{}\n", theirs.text) } else { part(theirs.format, "", theirs.text) };
    let settings = part(Format::CloudConfig, &ours_as("settings", REPLACE), &ours.settings());
    let additions = part(Format::CloudConfig, &ours_as("additions", APPEND), &ours.additions());
    format!(
        "{HEAD}{number}\"\nMIME-Version: 1.0\n\n\
         {boundary}\n{theirs}{boundary}\n{settings}{boundary}\n{additions}{boundary}--\n"
    )
}

/// The number of a boundary that stands nowhere in theirs. Only a message can hold one, the rest is base64, which knows
/// no hyphens.
fn free_number(theirs: &Theirs<'_>) -> usize {
    let is_free = |number: &usize| !theirs.text.contains(&format!("hyperfleet-{number}"));
    if theirs.format == Format::Message {
        (0..=theirs.text.len()).find(is_free).expect("a text has more letters than numbers")
    } else {
        0
    }
}

fn ours_as(name: &str, merge: &str) -> String {
    format!("Content-Disposition: attachment; filename=\"hyperfleet-{name}\"\nMerge-Type: {merge}\n")
}

fn part(format: Format, headers: &str, text: &str) -> String {
    let letters = STANDARD.encode(text);
    let mut part = format!("{}{headers}\n", part_head(format));
    for start in (0..letters.len()).step_by(WIDTH) {
        let line = &letters[start..letters.len().min(start + WIDTH)];
        writeln!(part, "{line}").expect("a string takes everything");
    }
    part
}

fn part_head(format: Format) -> String {
    let kind = format.content_type();
    format!("Content-Type: {kind}; charset=\"utf-8\"\nContent-Transfer-Encoding: base64\n")
}

/// The first part of a message of ours, as it stands there.
fn open(text: &str) -> Option<&str> {
    let (number, rest) = text.strip_prefix(HEAD)?.split_once('"')?;
    let (_, parts) = rest.split_once(&format!("\n--hyperfleet-{number}\n"))?;
    parts.split_once(&format!("\n--hyperfleet-{number}\n")).map(|(first, _)| first)
}

fn decoded(part: &str) -> Option<String> {
    let (_, letters) = part.split_once("\n\n")?;
    let bytes = STANDARD.decode(letters.replace('\n', "")).ok()?;
    String::from_utf8(bytes).ok()
}
