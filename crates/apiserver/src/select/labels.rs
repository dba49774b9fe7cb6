//! Label selectors: `a=b,c!=d,e in (f,g),!h`.

use std::collections::BTreeSet;
use std::sync::LazyLock;

use regex::Regex;

/// Which labels an object must have.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LabelSelector(Vec<Requirement>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Requirement {
    key: String,
    rule: Rule,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Rule {
    In(BTreeSet<String>),
    NotIn(BTreeSet<String>),
    Exists,
    Absent,
    Above(i64),
    Below(i64),
}

impl LabelSelector {
    /// Reads a selector; the error is the server's.
    pub fn parse(text: &str) -> Result<Self, String> {
        let mut parser = Parser { tokens: tokens(text), next: 0 };
        parser.selector().map(Self)
    }

    /// Whether it selects everything.
    pub const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Whether an object with these labels is selected.
    pub fn matches<'a>(&self, label: impl Fn(&str) -> Option<&'a str>) -> bool {
        self.0.iter().all(|requirement| {
            let value = label(&requirement.key);
            match &requirement.rule {
                Rule::In(values) => value.is_some_and(|value| values.contains(value)),
                Rule::NotIn(values) => value.is_none_or(|value| !values.contains(value)),
                Rule::Exists => value.is_some(),
                Rule::Absent => value.is_none(),
                Rule::Above(bound) => number(value).is_some_and(|value| value > *bound),
                Rule::Below(bound) => number(value).is_some_and(|value| value < *bound),
            }
        })
    }
}

fn number(value: Option<&str>) -> Option<i64> {
    value?.parse().ok()
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum Token {
    Word(String),
    Symbol(&'static str),
    Error(String),
    End,
}

impl Token {
    fn literal(&self) -> &str {
        match self {
            Self::Word(text) | Self::Error(text) => text,
            Self::Symbol(text) => text,
            Self::End => "",
        }
    }
}

/// Longest first, so that `==` is not read as `=` twice.
const SYMBOLS: [&str; 9] = ["==", "!=", "=", "!", "(", ")", ",", ">", "<"];

fn tokens(text: &str) -> Vec<Token> {
    let special = |c: char| "=!(),><".contains(c);
    let space = |c: char| matches!(c, ' ' | '\t' | '\r' | '\n');
    let mut tokens = Vec::new();
    let mut rest = text.trim_start_matches(space);
    while let Some(first) = rest.chars().next() {
        let length = if special(first) {
            let symbol = SYMBOLS.into_iter().find(|symbol| rest.starts_with(symbol));
            tokens.push(symbol.map_or_else(|| Token::Error(first.to_string()), Token::Symbol));
            symbol.map_or(1, str::len)
        } else {
            let end = rest.find(|c| special(c) || space(c)).unwrap_or(rest.len());
            tokens.push(Token::Word(rest[..end].to_owned()));
            end
        };
        rest = rest[length..].trim_start_matches(space);
    }
    tokens.push(Token::End);
    tokens
}

struct Parser {
    tokens: Vec<Token>,
    next: usize,
}

impl Parser {
    fn peek(&self) -> &Token {
        self.tokens.get(self.next).unwrap_or(&Token::End)
    }

    fn take(&mut self) -> Token {
        let token = self.peek().clone();
        self.next += 1;
        token
    }

    fn starts_requirement(&self) -> bool {
        matches!(self.peek(), Token::Word(_) | Token::Symbol("!"))
    }

    fn selector(&mut self) -> Result<Vec<Requirement>, String> {
        let mut requirements = Vec::new();
        if *self.peek() == Token::End {
            return Ok(requirements);
        }
        if !self.starts_requirement() {
            return Err(format!("found '{}', expected: !, identifier, or 'end of string'", self.peek().literal()));
        }
        loop {
            requirements.push(self.requirement().map_err(|error| format!("unable to parse requirement: {error}"))?);
            match self.take() {
                Token::End => break,
                Token::Symbol(",") if self.starts_requirement() => {}
                Token::Symbol(",") => {
                    return Err(format!("found '{}', expected: identifier after ','", self.peek().literal()));
                }
                other @ (Token::Word(_) | Token::Symbol(_) | Token::Error(_)) => {
                    return Err(format!("found '{}', expected: ',' or 'end of string'", other.literal()));
                }
            }
        }
        requirements.sort_by(|one, other| one.key.cmp(&other.key));
        Ok(requirements)
    }

    fn requirement(&mut self) -> Result<Requirement, String> {
        let negated = *self.peek() == Token::Symbol("!");
        if negated {
            self.take();
        }
        let key = match self.take() {
            Token::Word(key) => key,
            other @ (Token::Symbol(_) | Token::Error(_) | Token::End) => {
                return Err(format!("found '{}', expected: identifier", other.literal()));
            }
        };
        check_key(&key)?;
        if negated {
            return Ok(Requirement { key, rule: Rule::Absent });
        }
        if matches!(self.peek(), Token::End | Token::Symbol(",")) {
            return Ok(Requirement { key, rule: Rule::Exists });
        }
        let rule = self.rule(&key)?;
        Ok(Requirement { key, rule })
    }

    fn rule(&mut self, key: &str) -> Result<Rule, String> {
        let operator = self.take();
        let rule = match (&operator, operator.literal()) {
            (Token::Symbol(_), "=" | "==") => Rule::In(self.exact(key)?),
            (Token::Symbol(_), "!=") => Rule::NotIn(self.exact(key)?),
            (Token::Symbol(_), ">") => Rule::Above(self.bound(key)?),
            (Token::Symbol(_), "<") => Rule::Below(self.bound(key)?),
            (Token::Word(_), "in") => Rule::In(self.set(key)?),
            (Token::Word(_), "notin") => Rule::NotIn(self.set(key)?),
            (Token::Symbol(_) | Token::Word(_) | Token::Error(_) | Token::End, found) => {
                return Err(format!("found '{found}', expected: in, notin, =, ==, !=, gt, lt"));
            }
        };
        Ok(rule)
    }

    fn exact(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        let value = match self.peek() {
            Token::End | Token::Symbol(",") => String::new(),
            Token::Word(value) => value.clone(),
            other @ (Token::Symbol(_) | Token::Error(_)) => {
                return Err(format!("found '{}', expected: identifier", other.literal()));
            }
        };
        if matches!(self.peek(), Token::Word(_)) {
            self.take();
        }
        check_value(key, 0, &value)?;
        Ok([value].into())
    }

    fn bound(&mut self, key: &str) -> Result<i64, String> {
        let values = self.exact(key)?;
        let value = values.first().map(String::as_str).unwrap_or_default();
        let hint = "for 'Gt', 'Lt' operators, the value must be an integer";
        value.parse().map_err(|_| format!("values[0]: Invalid value: {value:?}: {hint}"))
    }

    fn set(&mut self, key: &str) -> Result<BTreeSet<String>, String> {
        let opening = self.take();
        if opening != Token::Symbol("(") {
            return Err(format!("found '{}' expected: '('", opening.literal()));
        }
        let mut values = BTreeSet::new();
        let mut pending = true;
        loop {
            match self.take() {
                Token::Word(value) if pending => {
                    values.insert(value);
                    pending = false;
                }
                Token::Symbol(",") => {
                    if pending {
                        values.insert(String::new());
                    }
                    pending = true;
                }
                Token::Symbol(")") => break,
                other @ (Token::Word(_) | Token::Symbol(_) | Token::Error(_) | Token::End) => {
                    let wanted = if pending { "',', or identifier" } else { "',' or ')'" };
                    return Err(format!("found '{}', expected: {wanted}", other.literal()));
                }
            }
        }
        if pending {
            values.insert(String::new());
        }
        for (index, value) in values.iter().enumerate() {
            check_value(key, index, value)?;
        }
        Ok(values)
    }
}

static NAME: LazyLock<Regex> =
    LazyLock::new(|| Regex::new("^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$").expect("a constant"));

fn check_key(key: &str) -> Result<(), String> {
    let name = key.split_once('/').map_or(key, |(_, name)| name);
    if name.len() <= 63 && NAME.is_match(name) {
        return Ok(());
    }
    let problem = "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start and end \
                   with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation \
                   is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional DNS subdomain prefix and '/' (e.g. \
                   'example.com/MyName')";
    Err(format!("<nil>: Invalid value: {key:?}: {problem}"))
}

fn check_value(key: &str, index: usize, value: &str) -> Result<(), String> {
    let problem = if value.len() > 63 {
        "must be no more than 63 bytes"
    } else if !value.is_empty() && !NAME.is_match(value) {
        "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and \
         end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is \
         '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
    } else {
        return Ok(());
    };
    Err(format!("values[{index}][{key}]: Invalid value: {value:?}: {problem}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn selects(selector: &str, labels: &[(&str, &str)]) -> bool {
        let label = |key: &str| labels.iter().find(|(name, _)| *name == key).map(|(_, value)| *value);
        LabelSelector::parse(selector).unwrap().matches(label)
    }

    #[test]
    fn every_form_selects_what_it_says() {
        let labels = [("a", "b"), ("n", "5"), ("app.example/x", "")];
        for yes in [
            "",
            "a",
            "a=b",
            "a==b",
            "a!=c",
            "a in (b,c)",
            "z notin (b)",
            "!z",
            "n>4",
            "n<6",
            "app.example/x=",
            "a=b,n",
            "app.example/x in (,y)",
            "in notin (x)",
        ] {
            assert!(selects(yes, &labels), "{yes}");
        }
        for no in ["z", "a=c", "a!=b", "a notin (b,c)", "!a", "n>5", "n<5", "a in ()", "a=b,z"] {
            assert!(!selects(no, &labels), "{no}");
        }
    }

    #[test]
    fn what_cannot_be_read_is_refused_with_the_servers_words() {
        let error = |text: &str| LabelSelector::parse(text).unwrap_err();
        assert_eq!(error("a=b=c"), "found '=', expected: ',' or 'end of string'");
        assert_eq!(error("a,"), "found '', expected: identifier after ','");
        assert_eq!(error("a in b"), "unable to parse requirement: found 'b' expected: '('");
        assert_eq!(error("=a"), "found '=', expected: !, identifier, or 'end of string'");
        assert!(error("a=b c").starts_with("found 'c', expected: ','"));
    }
}
