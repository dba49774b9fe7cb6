//! Puts the user's cloud-init user data and the operator's part into one text that cloud-init reads as both.
//!
//! ```text
//!   theirs, byte for byte          ─┐
//!   our settings  (dict(replace))   ├─▶ one multipart message, merged by cloud-init on the machine, in this order
//!   our additions (list(append))   ─┘
//! ```
//!
//! **Why the user's document is not written anew.** cloud-init reads YAML 1.1 (`PyYAML`), our parser something near
//! 1.2: `0644` is 420 there and 644.0 here, `1:30` is 90 or a string, `0o17` a string or 15, `y` a string or true, a
//! date a date or a string. What is parsed here and written again may mean something else on the machine. So theirs is
//! parsed only to be judged and travels untouched. cloud-init's own mergers then give exactly the rules wanted: our
//! settings replace theirs key by key, our lists are appended to theirs, and nothing else of theirs is touched. One
//! part cannot do both: the merger that appends lists never replaces a truth value such as `preserve_hostname`.
//!
//! **What keeps values out of the structure.** Parts are base64, so no text of anybody can hold a boundary; only a
//! message of the user's own stands as it is, inside a boundary that is not in it. Our part is serialised JSON, with
//! everything escaped that YAML 1.1 reads otherwise than JSON does.
//!
//! **What is judged.** Cloud-config alone, in archives and in multipart messages. What a script does, a template
//! renders to or an address serves is known on the machine only. Ours comes after it and wins, unless it makes
//! something else than a list of one that ours is appended to: cloud-init keeps that and drops ours.

mod archive;
mod config;
mod envelope;
mod format;
mod message;
mod ours;
mod refusal;
mod theirs;
mod yaml;

pub use ours::{File, Ours};
pub use refusal::{Place, Refusal};

use theirs::Theirs;

/// The user data of one machine: the user's, where there is any, and ours.
///
/// Beside user data both grow by 35 % (base64 and line ends): of the largest that a template can hold, 64 KiB, 87 KiB
/// become, and ours is added. Merging a result again with the same `ours` changes nothing.
pub fn merge(user: Option<&str>, ours: &Ours) -> Result<String, Refusal> {
    let Some(text) = user else { return Ok(ours.alone()) };
    if envelope::is_result(text, ours) {
        return Ok(text.to_owned());
    }
    Ok(match Theirs::read(text, &ours.paths())? {
        Some(theirs) => envelope::seal(&theirs, ours),
        None => ours.alone(),
    })
}

/// Whether user data can be merged with an operator's part, as far as that is known before there is one.
pub fn check(user: &str) -> Result<(), Refusal> {
    Theirs::read(user, &[]).map(|_| ())
}

#[cfg(test)]
mod tests;
