//! Field selectors: `metadata.name=a,type!=Opaque`.

/// Which values the fields of an object must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector(Vec<Term>);

/// One demand on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Term {
    /// The field.
    pub field: String,
    /// The value.
    pub value: String,
    /// Whether it must have the value, or must not.
    pub equal: bool,
}

impl FieldSelector {
    /// Reads a selector; the error is the server's.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parts = split(text);
        parts.sort_unstable();
        let mut terms = Vec::new();
        for part in parts.into_iter().filter(|part| !part.is_empty()) {
            let Some((field, equal, value)) = operator(part) else {
                return Err(format!("invalid selector: '{text}'; can't understand '{part}'"));
            };
            terms.push(Term { field: field.to_owned(), value: unescape(value)?, equal });
        }
        Ok(Self(terms))
    }

    /// A selector of exactly one name.
    pub fn name(name: &str) -> Self {
        Self(vec![Term { field: "metadata.name".to_owned(), value: name.to_owned(), equal: true }])
    }

    /// What it demands.
    pub fn terms(&self) -> &[Term] {
        &self.0
    }

    /// Whether it selects everything.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object with these fields is selected; a field that is not there counts as empty.
    pub fn matches(&self, field: impl Fn(&str) -> String) -> bool {
        self.0.iter().all(|term| (field(&term.field) == term.value) == term.equal)
    }

    /// The one value that the field must have, if the selector demands one.
    pub fn exact(&self, field: &str) -> Option<&str> {
        self.0.iter().find(|term| term.equal && term.field == field).map(|term| term.value.as_str())
    }
}

/// The terms; an escaped comma does not end one.
fn split(text: &str) -> Vec<&str> {
    let (mut parts, mut start, mut escaped) = (Vec::new(), 0, false);
    for (index, c) in text.char_indices() {
        match c {
            _ if escaped => escaped = false,
            '\\' => escaped = true,
            ',' => {
                parts.push(&text[start..index]);
                start = index + 1;
            }
            _ => {}
        }
    }
    parts.push(&text[start..]);
    parts
}

fn operator(term: &str) -> Option<(&str, bool, &str)> {
    let position = term.find(['=', '!'].as_slice()).filter(|position| {
        let rest = &term[*position..];
        rest.starts_with('=') || rest.starts_with("!=")
    })?;
    let (field, rest) = term.split_at(position);
    match rest {
        rest if rest.starts_with("!=") => Some((field, false, &rest[2..])),
        rest if rest.starts_with("==") => Some((field, true, &rest[2..])),
        rest => Some((field, true, &rest[1..])),
    }
}

fn unescape(text: &str) -> Result<String, String> {
    let mut value = String::new();
    let mut chars = text.chars();
    while let Some(c) = chars.next() {
        match c {
            '\\' => match chars.next() {
                Some(next @ ('\\' | ',' | '=')) => value.push(next),
                Some(next) => return Err(format!("invalid field selector: invalid escape sequence: \\{next}")),
                None => return Err("invalid field selector: invalid escape sequence: \\".to_owned()),
            },
            ',' | '=' => {
                return Err(format!("invalid field selector: unescaped character in value: {}", u32::from(c)));
            }
            c => value.push(c),
        }
    }
    Ok(value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn terms_are_read_with_their_escapes() {
        let selector = FieldSelector::parse(r"b!=x\,y,a==1,c=").unwrap();
        let term = |field: &str, value: &str, equal| Term { field: field.into(), value: value.into(), equal };
        assert_eq!(selector.terms(), [term("a", "1", true), term("b", "x,y", false), term("c", "", true)]);
        assert!(selector.matches(|field| if field == "a" { "1".to_owned() } else { String::new() }));
        assert!(!selector.matches(|field| if field == "b" { "x,y".to_owned() } else { "1".to_owned() }));
    }

    #[test]
    fn what_cannot_be_read_is_refused() {
        assert!(FieldSelector::parse("nonsense").unwrap_err().contains("can't understand 'nonsense'"));
        assert!(FieldSelector::parse(r"a=\x").unwrap_err().contains("invalid escape sequence"));
        assert!(FieldSelector::parse("a=b=c").unwrap_err().contains("unescaped character"));
    }
}
