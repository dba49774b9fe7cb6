//! Licence expressions: `(MIT OR Apache-2.0) AND Unicode-3.0`.

/// An expression that has been read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Expression {
    /// A licence, with its exception if it has one: `Apache-2.0 WITH LLVM-exception`.
    One(String),
    /// Any of these will do.
    Any(Vec<Expression>),
    /// All of these apply.
    All(Vec<Expression>),
}

/// Why an expression cannot be read.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum NotAnExpression {
    #[error("ends where a licence should stand")]
    Ends,
    #[error("`{0}` stands where a licence should")]
    Unexpected(String),
    #[error("`{0}` is left over")]
    LeftOver(String),
    #[error("a parenthesis is not closed")]
    Open,
}

impl Expression {
    /// Reads an expression; `/` is the registry's old way to write `OR`.
    pub(super) fn parse(text: &str) -> Result<Self, NotAnExpression> {
        let spaced = text.replace('/', " OR ").replace('(', " ( ").replace(')', " ) ");
        let mut words: Vec<&str> = spaced.split_whitespace().rev().collect();
        let expression = any(&mut words)?;
        words.pop().map_or(Ok(expression), |word| Err(NotAnExpression::LeftOver(word.to_owned())))
    }

    /// Whether one can comply using allowed licences alone.
    pub(super) fn allows(&self, allowed: &dyn Fn(&str) -> bool) -> bool {
        match self {
            Self::One(licence) => allowed(licence),
            Self::Any(parts) => parts.iter().any(|part| part.allows(allowed)),
            Self::All(parts) => parts.iter().all(|part| part.allows(allowed)),
        }
    }
}

/// `AND` binds tighter than `OR`. The words are kept last first.
fn any(words: &mut Vec<&str>) -> Result<Expression, NotAnExpression> {
    Ok(Expression::Any(separated(words, "OR", all)?))
}

fn all(words: &mut Vec<&str>) -> Result<Expression, NotAnExpression> {
    Ok(Expression::All(separated(words, "AND", one)?))
}

fn one(words: &mut Vec<&str>) -> Result<Expression, NotAnExpression> {
    match words.pop() {
        None => Err(NotAnExpression::Ends),
        Some("(") => {
            let inner = any(words)?;
            if words.pop() == Some(")") { Ok(inner) } else { Err(NotAnExpression::Open) }
        }
        Some(word @ (")" | "OR" | "AND" | "WITH")) => Err(NotAnExpression::Unexpected(word.to_owned())),
        Some(licence) if words.last() == Some(&"WITH") => {
            words.pop();
            let exception = words.pop().ok_or(NotAnExpression::Ends)?;
            Ok(Expression::One(format!("{licence} WITH {exception}")))
        }
        Some(licence) => Ok(Expression::One(licence.to_owned())),
    }
}

type Part = fn(&mut Vec<&str>) -> Result<Expression, NotAnExpression>;

fn separated(words: &mut Vec<&str>, by: &str, part: Part) -> Result<Vec<Expression>, NotAnExpression> {
    let mut parts = vec![part(words)?];
    while words.last() == Some(&by) {
        words.pop();
        parts.push(part(words)?);
    }
    Ok(parts)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_mit(text: &str) -> bool {
        let allowed = |licence: &str| licence == "MIT" || licence == "Apache-2.0 WITH LLVM-exception";
        Expression::parse(text).unwrap().allows(&allowed)
    }

    #[test]
    fn or_needs_one_and_and_needs_all() {
        assert!(with_mit("MIT"));
        assert!(with_mit("GPL-3.0 OR MIT"));
        assert!(with_mit("GPL-3.0/MIT"));
        assert!(!with_mit("GPL-3.0 AND MIT"));
    }

    #[test]
    fn and_binds_tighter_than_or() {
        assert!(with_mit("MIT OR GPL-3.0 AND ISC"));
        assert!(!with_mit("(MIT OR GPL-3.0) AND ISC"));
        assert!(with_mit("(ISC AND (GPL-3.0 OR ISC)) OR MIT"));
    }

    #[test]
    fn an_exception_is_part_of_its_licence() {
        assert!(with_mit("Apache-2.0 WITH LLVM-exception"));
        assert!(!with_mit("Apache-2.0"));
        assert!(!with_mit("Apache-2.0 WITH other-exception"));
        assert!(with_mit("Apache-2.0 WITH LLVM-exception OR GPL-3.0"));
    }

    #[test]
    fn nonsense_is_refused() {
        let wrong = |text: &str| Expression::parse(text).unwrap_err();
        assert_eq!(wrong(""), NotAnExpression::Ends);
        assert_eq!(wrong("MIT AND"), NotAnExpression::Ends);
        assert_eq!(wrong("OR MIT"), NotAnExpression::Unexpected("OR".to_owned()));
        assert_eq!(wrong("(MIT"), NotAnExpression::Open);
        assert_eq!(wrong("MIT ISC"), NotAnExpression::LeftOver("ISC".to_owned()));
    }
}
