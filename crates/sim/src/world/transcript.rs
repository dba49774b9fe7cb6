//! What happened, in lines that a person can follow.

use std::fmt::Write as _;
use std::time::Duration;

/// One line: when, who, what, and to what.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Event {
    /// Since the world began.
    pub at: Duration,
    /// Who it happened to.
    pub actor: String,
    /// What it was about; may be empty.
    pub object: String,
    /// What happened.
    pub what: String,
}

/// The lines of one run, in the order in which they were told.
#[derive(Clone, Debug, Default)]
pub(crate) struct Transcript(Vec<Event>);

impl Transcript {
    pub(crate) fn tell(&mut self, event: Event) {
        self.0.push(event);
    }

    /// Every line, those of one instant ordered by actor and object.
    pub(crate) fn ordered(&self) -> Vec<Event> {
        let mut events = self.0.clone();
        events.sort_by(|a, b| (a.at, &a.actor, &a.object).cmp(&(b.at, &b.actor, &b.object)));
        events
    }
}

/// The lines as text.
pub(crate) fn text(events: &[Event]) -> String {
    let mut text = String::new();
    for Event { at, actor, object, what } in events {
        let gap = if object.is_empty() { "" } else { "  " };
        writeln!(text, "{:>12.6}  {actor:<10}  {object}{gap}{what}", at.as_secs_f64())
            .expect("writing to a string cannot fail");
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(at: u64, actor: &str, object: &str, what: &str) -> Event {
        Event { at: Duration::from_secs(at), actor: actor.into(), object: object.into(), what: what.into() }
    }

    #[test]
    fn lines_of_one_instant_are_ordered_by_actor_and_object_and_no_further() {
        let mut transcript = Transcript::default();
        for line in [event(2, "b", "x", "1"), event(2, "a", "y", "2"), event(2, "a", "x", "4"), event(2, "a", "x", "3")]
        {
            transcript.tell(line);
        }
        transcript.tell(event(1, "z", "", "0"));
        let told: Vec<String> = transcript.ordered().into_iter().map(|event| event.what).collect();
        assert_eq!(told, ["0", "4", "3", "2", "1"]);
        assert!(text(&transcript.ordered()).starts_with("    1.000000  z           0\n"));
    }
}
