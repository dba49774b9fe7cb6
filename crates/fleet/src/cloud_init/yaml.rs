//! YAML, read to be judged and never to be written again.

use serde_json::Value;
use serde_saphyr::options::NonFiniteFloatPolicy;
use serde_saphyr::{Error, Options, UserMessageFormatter};

use super::refusal::{Place, Refusal};

/// The document; null if there is none. Types of scalars are not cloud-init's.
pub(super) fn read(text: &str, place: &Place) -> Result<Value, Refusal> {
    allowed(text, place)?;
    serde_saphyr::from_str_with_options(text, options()).map_err(|error| refusal(&error, place.clone()))
}

/// Anchors, aliases and merge keys work as in `PyYAML`. Tags are refused that `PyYAML` does not know, or not so.
fn options() -> Options {
    serde_saphyr::options! {
        // User data has at most 64 KiB; aliases must not make a thousand times that of it.
        budget: serde_saphyr::budget! { max_nodes: 65_536, max_total_scalar_bytes: 1 << 20 },
        // A file may begin with any number of comments.
        emit_comments: false,
        ignore_binary_tag_for_string: true,
        non_finite_float_policy: NonFiniteFloatPolicy::AsString,
        reject_unsupported_tags: true,
        // The text is the user's; a status or a log is not the place to repeat it.
        with_snippet: false,
    }
}

/// YAML 1.1 allows fewer characters than our parser does.
fn allowed(text: &str, place: &Place) -> Result<(), Refusal> {
    for (index, line) in text.split('\n').enumerate() {
        if let Some(c) = line.chars().find(|c| !is_printable(*c)) {
            return Err(Refusal::Character { place: place.clone(), line: index + 1, code: u32::from(c) });
        }
    }
    Ok(())
}

fn is_printable(c: char) -> bool {
    let is_control = c.is_control() && !matches!(c, '\t' | '\r' | '\u{85}');
    !is_control && !matches!(c, '\u{fffe}' | '\u{ffff}')
}

fn refusal(error: &Error, place: Place) -> Refusal {
    if let Error::DuplicateMappingKey { key: Some(key), location } = error {
        return Refusal::DuplicateKey { place, line: location.line(), key: key.clone() };
    }
    Refusal::Yaml { place, problem: error.render_with_formatter(&UserMessageFormatter) }
}
