//! Uploads, read by the rules of the server's own parser: the file comes last and is called `filename`.

use bytes::Bytes;

use super::form::Fields;
use crate::proxmox::schema::Given;

/// A file that was sent.
#[derive(Clone, Debug)]
pub(crate) struct Upload {
    /// As the client calls it.
    pub(crate) name: String,
    pub(crate) bytes: Bytes,
}

/// The boundary of a multipart body.
pub(super) fn boundary(content: &str) -> Option<String> {
    let mut parts = content.split(';').map(str::trim);
    if !parts.next()?.eq_ignore_ascii_case("multipart/form-data") {
        return None;
    }
    let boundary = parts.find_map(|part| part.strip_prefix("boundary="))?;
    Some(boundary.trim_matches('"').to_owned())
}

/// The fields before the file, and the file.
pub(super) fn parse(body: &Bytes, boundary: &str) -> Result<(Fields, Option<Upload>), String> {
    let (mut fields, mut rest) = (Fields::new(), body.clone());
    let delimiter = format!("--{boundary}");
    loop {
        let Some(start) = find(&rest, delimiter.as_bytes()) else { return Ok((fields, None)) };
        let mut part = rest.split_off(start + delimiter.len());
        if part.starts_with(b"--") {
            return Ok((fields, None));
        }
        let Some(end) = find(&part, b"\r\n\r\n") else { return Ok((fields, None)) };
        let head = String::from_utf8_lossy(&part[..end]).into_owned();
        let content = part.split_off(end + 4);
        let until = find(&content, format!("\r\n{delimiter}").as_bytes()).unwrap_or(content.len());
        let name = quoted(&head, "name").unwrap_or_default();
        if let Some(file) = quoted(&head, "filename") {
            if name != "filename" {
                return Err(format!("wrong field name '{name}' for file upload, expected 'filename'"));
            }
            return Ok((fields, Some(Upload { name: file, bytes: content.slice(..until) })));
        }
        let value = String::from_utf8_lossy(&content[..until]).into_owned();
        fields.insert(name, Given::One(value));
        rest = content.slice(until..);
    }
}

fn quoted(head: &str, name: &str) -> Option<String> {
    let disposition = head.lines().find(|line| line.starts_with("Content-Disposition:"))?;
    let mut parts = disposition.split(';').map(str::trim);
    let value = parts.find_map(|part| part.strip_prefix(name)?.strip_prefix('='))?;
    Some(value.trim_matches('"').to_owned())
}

fn find(haystack: &[u8], needle: &[u8]) -> Option<usize> {
    haystack.windows(needle.len()).position(|window| window == needle)
}
