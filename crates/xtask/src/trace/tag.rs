//! The numbers of requirements, as documents write them and as test names carry them.

use std::fmt;
use std::str::FromStr;

use serde::de::{Deserialize, Deserializer, Error as _};

/// A criterion (`R3.8`, `r3_8_` in a test name) or a property (`P27`, `p27_`).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Tag {
    /// Requirement and criterion.
    Criterion(u8, u8),
    /// Property.
    Property(u8),
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Criterion(requirement, criterion) => write!(f, "R{requirement}.{criterion}"),
            Self::Property(number) => write!(f, "P{number}"),
        }
    }
}

/// Text that is no `R3.8` and no `P27`.
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is neither a criterion such as R3.8 nor a property such as P27")]
pub struct NotATag(String);

impl FromStr for Tag {
    type Err = NotATag;

    fn from_str(text: &str) -> Result<Self, NotATag> {
        let tag = || match text.split_at_checked(1)? {
            ("R", numbers) => {
                let (requirement, criterion) = numbers.split_once('.')?;
                Some(Self::Criterion(requirement.parse().ok()?, criterion.parse().ok()?))
            }
            ("P", number) => Some(Self::Property(number.parse().ok()?)),
            _ => None,
        };
        tag().ok_or_else(|| NotATag(text.to_owned()))
    }
}

impl<'de> Deserialize<'de> for Tag {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        String::deserialize(deserializer)?.parse().map_err(D::Error::custom)
    }
}

/// The tags a test's name begins with: `p22_r9_1_flags_win` claims P22 and R9.1.
pub fn tags(name: &str) -> Vec<Tag> {
    let mut found = Vec::new();
    let mut rest = name;
    while let Some((tag, after)) = leading(rest) {
        found.push(tag);
        rest = after;
    }
    found
}

fn leading(name: &str) -> Option<(Tag, &str)> {
    match name.split_at_checked(1)? {
        ("r", numbers) => {
            let (requirement, rest) = numbers.split_once('_')?;
            let (criterion, rest) = rest.split_once('_')?;
            Some((Tag::Criterion(requirement.parse().ok()?, criterion.parse().ok()?), rest))
        }
        ("p", number) => {
            let (number, rest) = number.split_once('_')?;
            Some((Tag::Property(number.parse().ok()?), rest))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_carry_their_tags_in_front() {
        assert_eq!(tags("r3_8_a_stopped_vm_goes"), [Tag::Criterion(3, 8)]);
        assert_eq!(tags("p27_law"), [Tag::Property(27)]);
        assert_eq!(tags("p22_r9_1_flags_win"), [Tag::Property(22), Tag::Criterion(9, 1)]);
        assert_eq!(tags("r10_10_both"), [Tag::Criterion(10, 10)]);
        for plain in ["restarts_are_counted", "p_value", "r3_x_y", "a_r3_8_b", "p27", ""] {
            assert!(tags(plain).is_empty(), "{plain}");
        }
    }

    #[test]
    fn documents_write_them_with_a_dot() {
        for text in ["R3.8", "P27"] {
            assert_eq!(text.parse::<Tag>().unwrap().to_string(), text);
        }
        assert!("R3".parse::<Tag>().is_err());
        assert!("Q1".parse::<Tag>().is_err());
    }
}
