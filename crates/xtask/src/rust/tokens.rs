//! Source text as words and marks, without comments and literals.

/// A piece of code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Token<'a> {
    pub(super) kind: Kind<'a>,
    /// Counted from one.
    pub(super) line: usize,
}

/// What a token is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind<'a> {
    /// An identifier or keyword.
    Word(&'a str),
    /// One character of punctuation.
    Mark(char),
    /// A string, character, number or lifetime; its text is of no interest here.
    Literal,
}

/// Every token of the text.
pub(super) fn tokens(text: &str) -> Vec<Token<'_>> {
    let mut found = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let (kind, length) = match first {
            _ if first.is_whitespace() => (None, first.len_utf8()),
            '/' if rest.starts_with("//") => (None, rest.find('\n').unwrap_or(rest.len())),
            '/' if rest.starts_with("/*") => (None, block_comment(rest)),
            '"' => (Some(Kind::Literal), 1 + until_quote(&rest[1..])),
            '\'' => (Some(Kind::Literal), character_or_lifetime(rest)),
            _ if first.is_ascii_digit() => (Some(Kind::Literal), word(rest)),
            _ if first.is_alphabetic() || first == '_' => word_or_prefixed_string(rest),
            _ => (Some(Kind::Mark(first)), first.len_utf8()),
        };
        if let Some(kind) = kind {
            found.push(Token { kind, line });
        }
        let (passed, remaining) = rest.split_at(length);
        line += passed.matches('\n').count();
        rest = remaining;
    }
    found
}

fn word(text: &str) -> usize {
    text.find(|c: char| !c.is_alphanumeric() && c != '_').unwrap_or(text.len())
}

/// A word, or a string that a word introduces: `r"…"`, `br#"…"#`, `b"…"`, `c"…"`; also `r#raw` words and `b'x'`.
fn word_or_prefixed_string(text: &str) -> (Option<Kind<'_>>, usize) {
    let length = word(text);
    let (prefix, after) = text.split_at(length);
    let hashes = after.len() - after.trim_start_matches('#').len();
    match prefix {
        "r" | "br" | "cr" if after[hashes..].starts_with('"') => {
            let end = format!("\"{}", "#".repeat(hashes));
            let body = &after[hashes + 1..];
            let body_length = body.find(&end).map_or(body.len(), |at| at + end.len());
            (Some(Kind::Literal), length + hashes + 1 + body_length)
        }
        "r" if hashes == 1 => {
            let raw = &after[1..];
            (Some(Kind::Word(&raw[..word(raw)])), length + 1 + word(raw))
        }
        "b" | "c" if after.starts_with('"') => (Some(Kind::Literal), length + 1 + until_quote(&after[1..])),
        "b" if after.starts_with('\'') => (Some(Kind::Literal), length + character_or_lifetime(after)),
        _ => (Some(Kind::Word(prefix)), length),
    }
}

/// The length up to and with the closing quote, past escapes.
fn until_quote(text: &str) -> usize {
    let mut escaped = false;
    for (at, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            '"' => return at + 1,
            _ => {}
        }
    }
    text.len()
}

/// `'x'` and `'\n'` are characters, `'x` is a lifetime.
fn character_or_lifetime(text: &str) -> usize {
    let inner = &text[1..];
    if let Some(escape) = inner.strip_prefix('\\') {
        let skipped = escape.chars().next().map_or(0, char::len_utf8);
        return escape[skipped..].find('\'').map_or(text.len(), |at| 2 + skipped + at + 1);
    }
    let first = inner.chars().next().map_or(0, char::len_utf8);
    if inner[first..].starts_with('\'') { 1 + first + 1 } else { 1 + word(inner) }
}

/// Block comments nest.
fn block_comment(text: &str) -> usize {
    let (mut depth, mut at) = (0_usize, 0);
    while at < text.len() {
        if text[at..].starts_with("/*") {
            depth += 1;
            at += 2;
        } else if text[at..].starts_with("*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += text[at..].chars().next().map_or(1, char::len_utf8);
        }
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<&str> {
        tokens(text)
            .into_iter()
            .filter_map(|token| if let Kind::Word(word) = token.kind { Some(word) } else { None })
            .collect()
    }

    #[test]
    fn comments_hold_no_words() {
        assert_eq!(words("a // fn b\n/* fn c /* fn d */ fn e */ f"), ["a", "f"]);
    }

    #[test]
    fn literals_hold_no_words() {
        assert_eq!(words(r##"a "fn \" b" r#"fn " c"# b"fn d" br"fn e" '"' 'x' '\'' b'"' '\u{1F}' f"##), ["a", "f"]);
    }

    #[test]
    fn lifetimes_are_not_the_start_of_characters() {
        assert_eq!(words("fn a<'b>(c: &'static str) -> D<'_> {}"), ["fn", "a", "c", "str", "D"]);
    }

    #[test]
    fn raw_words_lose_their_mark() {
        assert_eq!(words("r#type rest"), ["type", "rest"]);
    }

    #[test]
    fn lines_are_counted_through_strings_and_comments() {
        let last = tokens("a\n/*\n*/\n\"x\ny\"\nb").pop().unwrap();
        assert_eq!(last, Token { kind: Kind::Word("b"), line: 6 });
    }

    #[test]
    fn text_that_ends_early_ends_the_tokens() {
        for text in ["\"open", "/* open", "r#\"open", "'\\", "b'", "r#"] {
            assert!(tokens(text).len() <= 2, "{text}");
        }
    }
}
