//! A few of many names, for messages that must not grow with what they speak of.

/// Names that are shown.
const SHOWN: usize = 3;

/// The first names, and how many more there are.
pub(crate) fn few(names: &[String]) -> String {
    let shown = names.iter().take(SHOWN).map(String::as_str).collect::<Vec<_>>().join(", ");
    if names.len() > SHOWN { format!("{shown} and {} more", names.len() - SHOWN) } else { shown }
}

#[cfg(test)]
mod tests {
    use super::few;

    #[test]
    fn three_are_named_and_the_others_counted() {
        let names = |count: usize| (0..count).map(|number| number.to_string()).collect::<Vec<_>>();
        assert_eq!((few(&names(3)).as_str(), few(&names(5)).as_str()), ("0, 1, 2", "0, 1, 2 and 2 more"));
    }
}
