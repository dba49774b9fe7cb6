//! Names that a person may have meant.

/// Names that are offered.
const OFFERED: usize = 3;

/// The known names that are most like `name`: those that it begins, and those a few letters away; the nearest first.
pub(super) fn similar<'a>(name: &str, known: &'a [String]) -> Vec<&'a str> {
    // A third of the letters may be wrong: more is another word.
    let most = (name.chars().count() / 3).max(1);
    let near = |other: &'a String| {
        let distance = if other.starts_with(name) { 0 } else { distance(name, other) };
        (distance <= most).then_some((distance, other.as_str()))
    };
    let mut near: Vec<(usize, &str)> = known.iter().filter_map(near).collect();
    near.sort_unstable();
    near.into_iter().take(OFFERED).map(|(_, name)| name).collect()
}

/// How many letters must be added, removed or replaced to get from one to the other (Levenshtein).
fn distance(one: &str, other: &str) -> usize {
    let other: Vec<char> = other.chars().collect();
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (at, letter) in one.chars().enumerate() {
        let mut diagonal = row[0];
        row[0] = at + 1;
        for (column, candidate) in other.iter().enumerate() {
            let replaced = diagonal + usize::from(letter != *candidate);
            diagonal = row[column + 1];
            row[column + 1] = replaced.min(diagonal + 1).min(row[column] + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_are_counted_in_letters() {
        for (one, other, letters) in [("", "", 0), ("a", "", 1), ("small", "smal", 1), ("kitten", "sitting", 3)] {
            assert_eq!((distance(one, other), distance(other, one)), (letters, letters), "{one} {other}");
        }
    }

    #[test]
    fn the_nearest_names_are_offered_first_and_others_not_at_all() {
        let known = ["job-12", "job-1", "small", "medium", "jab-1", "job-13"].map(str::to_owned);
        assert_eq!(similar("job-1", &known), ["job-1", "job-12", "job-13"]);
        assert_eq!(similar("smal1", &known), ["small"]);
        assert!(similar("gpu", &known).is_empty());
    }
}
