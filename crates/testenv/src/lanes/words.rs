//! The words of tests that failed, told once more at the end: whoever reads only the last page must see what went wrong.

/// Lines that are enough to see what went wrong; all of them stand further up.
const MOST: usize = 25;

/// A line longer than this is cut: some tests print whole objects.
const WIDTH: usize = 1_000;

/// What a test said before it failed, from the end: the last complaint of a property is about its smallest case.
pub(super) fn of_failure(output: &str, test: &str) -> String {
    let opening = format!("---- {test} stdout ----");
    let own = output.lines().skip_while(|line| *line != opening).skip(1);
    let own = own.take_while(|line| !line.starts_with("---- ") && *line != "failures:");
    let said: Vec<String> = own.filter(|line| !line.trim().is_empty()).map(cut).collect();
    let first = said.len().saturating_sub(MOST);
    said[first..].iter().fold(String::new(), |text, line| text + "    " + line + "\n")
}

fn cut(line: &str) -> String {
    let mut short: String = line.chars().take(WIDTH).collect();
    if short.len() < line.len() {
        short.push('…');
    }
    short
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_words_of_the_test_itself_are_told() {
        let output = "---- a stdout ----\nno\n\n---- b stdout ----\n\nwhy\nbecause\n\nfailures:\n    a\n    b\n";
        assert_eq!(of_failure(output, "b"), "    why\n    because\n");
        assert_eq!(of_failure(output, "c"), "");
    }

    #[test]
    fn the_last_words_of_many_are_told_and_long_ones_are_cut() {
        let many = (0..100).map(|line| line.to_string()).collect::<Vec<_>>().join("\n");
        let told = of_failure(&format!("---- a stdout ----\n{many}\n{}\n", "x".repeat(2_000)), "a");
        assert_eq!(told.lines().count(), MOST);
        assert!(told.lines().last().unwrap().ends_with("x…"), "{told}");
        assert!(!told.contains("    75\n") && told.contains("    76\n"), "{told}");
    }
}
