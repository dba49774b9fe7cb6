//! A user's own MIME message, read as cloud-init reads it, to judge the parts.

use base64::Engine;
use base64::alphabet;
use base64::engine::{DecodePaddingMode, GeneralPurpose, GeneralPurposeConfig};

use super::format::{Format, is_packed};
use super::refusal::Refusal;
use super::theirs::{Scope, judge as judge_part};

/// Mail programs differ in how they end.
const LENIENT: GeneralPurpose = GeneralPurpose::new(
    &alphabet::STANDARD,
    GeneralPurposeConfig::new().with_decode_padding_mode(DecodePaddingMode::Indifferent),
);

/// Headers and what follows them.
#[derive(Clone, Debug)]
pub(super) struct Message<'a> {
    headers: Vec<(String, String)>,
    body: &'a str,
}

/// Refuses a message of which a part cannot be merged.
pub(super) fn judge(text: &str, scope: &Scope<'_>) -> Result<(), Refusal> {
    let refuse = |problem| Err(Refusal::Message { place: scope.place.clone(), problem });
    if !text.is_ascii() {
        return refuse(
            "has characters beyond ASCII, which cloud-init garbles in a message; encode that part as base64",
        );
    }
    let message = Message::read(text);
    let kind = message.content_type();
    if kind.starts_with("message/") {
        return refuse("is a message in a message; put its parts side by side");
    }
    if !kind.starts_with("multipart/") {
        return leaf(&message, &kind, scope);
    }
    let Some(boundary) = message.parameter("boundary") else {
        return refuse("is a multipart message without a boundary; name it in its Content-Type");
    };
    let parts = message.parts(&boundary);
    if parts.is_empty() {
        return refuse("is a multipart message without parts; its boundary must stand on a line before each");
    }
    parts.iter().enumerate().try_for_each(|(index, part)| judge(part, &scope.part(index + 1)?))
}

fn leaf(message: &Message<'_>, kind: &str, scope: &Scope<'_>) -> Result<(), Refusal> {
    if is_packed(kind) {
        return Err(Refusal::Encoded { place: scope.place.clone() });
    }
    let text = message.text().map_err(|problem| Refusal::Message { place: scope.place.clone(), problem })?;
    match Format::of_part(kind, &text) {
        Some(format) => judge_part(format, &text, scope).map(|_| ()),
        None => Ok(()),
    }
}

impl<'a> Message<'a> {
    /// Reads headers up to the first line that is none; a text that begins with no header has none.
    pub(super) fn read(text: &'a str) -> Self {
        let (mut headers, mut body): (Vec<(String, String)>, _) = (Vec::new(), text);
        for line in text.split_inclusive('\n') {
            let content = line.trim_end_matches(['\r', '\n']);
            let is_folded = content.starts_with([' ', '\t']);
            match (content.split_once(':'), headers.last_mut()) {
                (_, Some((_, value))) if is_folded => value.push_str(content),
                (Some((name, value)), _) if is_name(name) => {
                    headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
                }
                // The separator of mailboxes, before the first header.
                (_, None) if content.starts_with("From ") => {}
                _ => {
                    body = if content.is_empty() { &body[line.len()..] } else { body };
                    return Self { headers, body };
                }
            }
            body = &body[line.len()..];
        }
        Self { headers, body }
    }

    /// The first header of this name, in lower case.
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(header, _)| header == name).map(|(_, value)| value.as_str())
    }

    fn content_type(&self) -> String {
        let kind = self.header("content-type").and_then(|value| value.split(';').next()).unwrap_or_default();
        let kind = kind.trim().to_ascii_lowercase();
        if kind.matches('/').count() == 1 { kind } else { "text/plain".to_owned() }
    }

    fn parameter(&self, name: &str) -> Option<String> {
        let parameters = self.header("content-type")?.split(';').skip(1);
        let mut pairs = parameters.filter_map(|parameter| parameter.split_once('='));
        let (_, value) = pairs.find(|(key, _)| key.trim().eq_ignore_ascii_case(name))?;
        Some(value.trim().trim_matches('"').to_owned())
    }

    fn parts(&self, boundary: &str) -> Vec<&'a str> {
        let (delimiter, mut parts, mut start, mut at) = (format!("--{boundary}"), Vec::new(), None, 0);
        for line in self.body.split_inclusive('\n') {
            let rest = line.trim_end().strip_prefix(&delimiter);
            if let Some(end) = rest.filter(|rest| matches!(*rest, "" | "--")) {
                parts.extend(start.map(|start| &self.body[start..at]));
                start = Some(at + line.len()).filter(|_| end.is_empty());
                if end == "--" {
                    return parts;
                }
            }
            at += line.len();
        }
        parts.extend(start.map(|start| &self.body[start..]));
        parts
    }

    fn text(&self) -> Result<String, &'static str> {
        let encoding = self.header("content-transfer-encoding").unwrap_or("7bit").trim().to_ascii_lowercase();
        match encoding.as_str() {
            "7bit" | "8bit" | "binary" => Ok(self.body.to_owned()),
            "base64" => {
                let letters: String = self.body.split_whitespace().collect();
                let bytes = LENIENT.decode(letters).map_err(|_| "is not the base64 it says it is; encode it again")?;
                Ok(String::from_utf8_lossy(&bytes).into_owned())
            }
            _ => Err("has a Content-Transfer-Encoding other than base64, 7bit or 8bit; use base64"),
        }
    }
}

/// A name of a header: printable and without blanks.
fn is_name(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_graphic())
}
