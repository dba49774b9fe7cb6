//! What can be wrong with settings, in words an administrator can act on.

use super::Source;

/// One mistake.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// A name that no setting has.
    #[error("{name}: unknown ({found}); the nearest known one is {nearest}")]
    Unknown {
        /// As it was written.
        name: String,
        /// Where it was found.
        found: Source,
        /// The known name it resembles most.
        nearest: String,
    },
    /// A value that its setting does not take.
    #[error("{key}: {value:?} from {found} is not {expected}")]
    Malformed {
        /// The setting.
        key: &'static str,
        /// Where it was found.
        found: Source,
        /// As it was written.
        value: String,
        /// What the setting takes.
        expected: String,
    },
    /// One key twice in the file, nested and dotted.
    #[error("{key}: given twice in {found}")]
    Twice {
        /// The key.
        key: String,
        /// The file.
        found: Source,
    },
    /// A flag of other operators that does nothing here.
    #[error("--{flag}: has no meaning here; {instead}")]
    Refused {
        /// The flag.
        flag: String,
        /// What to use instead.
        instead: &'static str,
    },
    /// A file that is not what it should be at all.
    #[error("{found}: {error}")]
    Unreadable {
        /// The file.
        found: Source,
        /// What the reader said.
        error: String,
    },
    /// Values that do not go together.
    #[error("{0}")]
    Contradiction(String),
}

/// Every mistake there is, a line each.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
pub struct Problems(pub Vec<Problem>);

/// The candidate with the smallest edit distance to `name`, letter case apart; the first of equals.
pub(super) fn nearest<'a>(name: &str, candidates: impl Iterator<Item = &'a str>) -> &'a str {
    let name = name.to_ascii_lowercase();
    candidates.min_by_key(|candidate| distance(&name, &candidate.to_ascii_lowercase())).unwrap_or("none")
}

/// Levenshtein's distance, row by row.
fn distance(a: &str, b: &str) -> usize {
    let b: Vec<char> = b.chars().collect();
    let mut row: Vec<usize> = (0..=b.len()).collect();
    for (i, from) in a.chars().enumerate() {
        let mut diagonal = std::mem::replace(&mut row[0], i + 1);
        for (j, to) in b.iter().enumerate() {
            let substituted = diagonal + usize::from(from != *to);
            diagonal = row[j + 1];
            row[j + 1] = substituted.min(row[j] + 1).min(diagonal + 1);
        }
    }
    row[b.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_nearest_name_is_the_one_with_the_fewest_edits() {
        assert_eq!(distance("kitten", "sitting"), 3);
        assert_eq!(distance("", "abc"), 3);
        let keys = ["metrics.bindAddress", "health.bindAddress", "log.level"];
        assert_eq!(nearest("metrics.bindaddres", keys.into_iter()), "metrics.bindAddress");
        assert_eq!(nearest("logLevel", keys.into_iter()), "log.level");
    }
}
