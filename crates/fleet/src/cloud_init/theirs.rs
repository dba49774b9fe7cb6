//! The user's part: what it is, and whether it can be merged.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

use super::format::Format;
use super::message::{self, Message};
use super::refusal::{Place, Refusal};
use super::{archive, config, envelope, ours};

/// User data that can be merged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Theirs<'a> {
    /// All of it, without a byte order mark: cloud-init would not know the format behind one.
    pub(super) text: &'a str,
    /// What it is.
    pub(super) format: Format,
}

/// Where a text that is judged stands, and what is taken there.
#[derive(Clone, Debug)]
pub(super) struct Scope<'a> {
    /// Which part it is.
    pub(super) place: Place,
    /// Paths of our files.
    pub(super) taken: &'a [&'a str],
}

/// Containers in containers that anybody needs: an archive in a multipart message in another.
const DEPTH: usize = 4;

impl Scope<'_> {
    /// The scope of a part inside.
    pub(super) fn part(&self, number: usize) -> Result<Self, Refusal> {
        if self.place.depth() == DEPTH {
            let problem = "has parts in parts in parts; put them side by side";
            return Err(Refusal::Message { place: self.place.clone(), problem });
        }
        Ok(Self { place: self.place.part(number), taken: self.taken })
    }
}

impl<'a> Theirs<'a> {
    /// Reads and judges user data. None: there is nothing in it.
    pub(super) fn read(text: &'a str, taken: &[&str]) -> Result<Option<Self>, Refusal> {
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        if text.trim().is_empty() {
            return Ok(None);
        }
        if envelope::is_sealed(text) || ours::is_ours(text) {
            return Err(Refusal::AlreadyMerged);
        }
        let scope = Scope { place: Place::default(), taken };
        let Some(format) = format_of(text) else { return Err(unknown(text, scope.place)) };
        let empty = judge(format, text, &scope)? == Content::Nothing;
        Ok((!empty).then_some(Self { text, format }))
    }
}

/// Whether cloud-init finds anything in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Content {
    /// Comments at most; cloud-init would complain of it.
    Nothing,
    /// Something.
    Something,
}

/// Refuses what cannot be merged.
pub(super) fn judge(format: Format, text: &str, scope: &Scope<'_>) -> Result<Content, Refusal> {
    let place = || scope.place.clone();
    match format {
        Format::CloudConfig => return config::judge(text, scope),
        Format::Archive => archive::judge(text, scope)?,
        Format::Message => message::judge(text, scope)?,
        Format::Patch => return Err(Refusal::Patch { place: place() }),
        Format::PartHandler => return Err(Refusal::PartHandler { place: place() }),
        Format::Script | Format::BootHook | Format::Include | Format::IncludeOnce | Format::Template => {}
    }
    Ok(Content::Something)
}

fn format_of(text: &str) -> Option<Format> {
    Format::of_text(text).or_else(|| Message::read(text).header("content-type").map(|_| Format::Message))
}

fn unknown(text: &str, place: Place) -> Refusal {
    let letters: String = text.split_whitespace().collect();
    let hidden = STANDARD.decode(letters).unwrap_or_default();
    let is_format = str::from_utf8(&hidden).is_ok_and(|text| format_of(text).is_some());
    // The latter is what becomes of gzip's first byte when somebody makes text of it.
    let is_packed = hidden.starts_with(&[0x1f, 0x8b]) || text.starts_with('\u{1f}');
    if is_format || is_packed { Refusal::Encoded { place } } else { Refusal::Unknown { place } }
}
