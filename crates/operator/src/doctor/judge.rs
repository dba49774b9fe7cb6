//! From a planner's condition to a finding: what of its message is the matter, and what is the remedy.

use api::{Condition, Reason};

/// What is wrong and what to do, out of one message: planners put what to do behind the last colon, errors behind the last
/// semicolon.
pub(super) fn split(message: &str) -> (String, String) {
    let at = |mark: &str| message.rfind(mark);
    match at(": ").max(at("; ")) {
        Some(at) => (message[..at].to_owned(), message[at + 2..].to_owned()),
        None => (message.to_owned(), String::new()),
    }
}

/// What stands before the remedy of an error.
pub(super) fn matter(message: &str) -> String {
    message.rsplit_once("; ").map_or(message, |(matter, _)| matter).to_owned()
}

/// The reason of a condition; it is one of ours.
pub(super) fn reason(condition: &Condition) -> Option<Reason> {
    Reason::ALL.iter().find(|reason| reason.as_str() == condition.reason).copied()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_remedy_is_what_stands_last() {
        for (message, what, remedy) in [
            ("9000 is a VM, not a template: convert it", "9000 is a VM, not a template", "convert it"),
            (
                "it cannot be used: its seed is native; set another",
                "it cannot be used: its seed is native",
                "set another",
            ),
            ("it is so", "it is so", ""),
        ] {
            assert_eq!(split(message), (what.to_owned(), remedy.to_owned()));
        }
        assert_eq!(matter("no way: refused; check it"), "no way: refused");
    }
}
