//! Text in quotation marks as the real server writes it; Rust's own way differs for what cannot be printed.

use std::fmt::Write;

/// The text between quotation marks, with escapes where it cannot be printed.
pub(crate) fn quote(text: &str) -> String {
    let mut out = String::with_capacity(text.len() + 2);
    out.push('"');
    for c in text.chars() {
        push(&mut out, c);
    }
    out.push('"');
    out
}

/// A list of quoted texts, as in `["a" "b"]`.
pub(crate) fn quote_all<S: AsRef<str>>(texts: &[S]) -> String {
    let quoted: Vec<String> = texts.iter().map(|text| quote(text.as_ref())).collect();
    format!("[{}]", quoted.join(" "))
}

fn push(out: &mut String, c: char) {
    let known = match c {
        '"' => Some("\\\""),
        '\\' => Some("\\\\"),
        '\u{7}' => Some("\\a"),
        '\u{8}' => Some("\\b"),
        '\u{c}' => Some("\\f"),
        '\n' => Some("\\n"),
        '\r' => Some("\\r"),
        '\t' => Some("\\t"),
        '\u{b}' => Some("\\v"),
        _ => None,
    };
    let code = u32::from(c);
    let written = match known {
        Some(escape) => {
            out.push_str(escape);
            Ok(())
        }
        None if c == ' ' || c == '\'' || c.escape_debug().len() == 1 => {
            out.push(c);
            Ok(())
        }
        None if code < 0x80 => write!(out, "\\x{code:02x}"),
        None if code < 0x1_0000 => write!(out, "\\u{code:04x}"),
        None => write!(out, "\\U{code:08x}"),
    };
    written.expect("a String takes whatever is written");
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quotes_as_the_server_does() {
        assert_eq!(quote(r#"it's "a\b""#), r#""it's \"a\\b\"""#);
        assert_eq!(quote("é\u{0}\u{7f}\u{a0}\n\u{b}"), "\"é\\x00\\x7f\\u00a0\\n\\v\"");
        assert_eq!(quote_all(&["a", "b"]), r#"["a" "b"]"#);
        assert_eq!(quote_all::<&str>(&[]), "[]");
    }
}
