//! The answer as a person reads it.

use api::Span;
use fleet::trail::{Event, Link, Standing, Trail};
use jiff::Timestamp;

use crate::print::{Paint, plain};

/// The answer, then what happened, then what each object says.
pub(super) fn text(trail: &Trail, paint: Paint) -> String {
    let Trail { subject: _, about, answer, events, links, at } = trail;
    let line = plain(&answer.text);
    let line = match answer.standing {
        Standing::Works => paint.good(&line),
        Standing::Waits => paint.odd(&line),
        Standing::Blocked => paint.bad(&line),
        Standing::Ended => line,
    };
    let about = if about.is_empty() { String::new() } else { format!("{}\n", plain(about)) };
    let mut rows: Vec<Vec<String>> = events.iter().map(event).collect();
    if answer.standing != Standing::Ended {
        rows.push(vec!["now".to_owned(), now(events, *at), String::new(), String::new()]);
    }
    let happened = table(&["TIME", "AFTER", "WHAT", ""], rows);
    let said = table(&["OBJECT", "STATE", "REASON", "MESSAGE"], links.iter().map(link).collect());
    format!("{line}\n{about}\n{happened}\n{said}")
}

fn event(event: &Event) -> Vec<String> {
    let Event { mark, at, after_seconds, detail } = event;
    let time = at.map_or_else(|| "-".to_owned(), second);
    let after = after_seconds.map(after).unwrap_or_default();
    vec![time, after, mark.as_str().to_owned(), plain(detail)]
}

/// A moment to the second.
fn second(at: Timestamp) -> String {
    at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string()
}

fn after(seconds: i64) -> String {
    format!("+{}", Span::from_secs(u64::try_from(seconds).unwrap_or(0)))
}

/// How long ago the last thing happened.
fn now(events: &[Event], at: Timestamp) -> String {
    let last = events.iter().filter_map(|event| event.at).max();
    last.map(|last| after(at.duration_since(last).as_secs())).unwrap_or_default()
}

fn link(link: &Link) -> Vec<String> {
    let Link { object, state, reason, message } = link;
    let word = |word: &Option<String>| word.as_deref().map(plain).unwrap_or_default();
    vec![plain(object), plain(state), word(reason), word(message)]
}

/// Columns as wide as what stands in them; the last one takes what it needs.
fn table(heads: &[&str], rows: Vec<Vec<String>>) -> String {
    let heads: Vec<String> = heads.iter().map(|head| (*head).to_owned()).collect();
    let rows: Vec<Vec<String>> = std::iter::once(heads).chain(rows).collect();
    let wide = |column: usize| rows.iter().filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
    let line = |row: &Vec<String>| {
        let cells = row.iter().enumerate().map(|(at, cell)| {
            let last = at + 1 == row.len();
            let wide = if last { 0 } else { wide(at).unwrap_or(0) };
            format!("{cell:wide$}")
        });
        format!("{}\n", cells.collect::<Vec<_>>().join("  ").trim_end())
    };
    rows.iter().map(line).collect()
}

#[cfg(test)]
mod tests {
    use fleet::trail::{Answer, Mark};

    use super::*;

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn trail() -> Trail {
        let event = |mark, at: Option<i64>, after_seconds, detail: &str| Event {
            mark,
            at: at.map(self::at),
            after_seconds,
            detail: detail.to_owned(),
        };
        let link = |object: &str, state: &str, reason: &str, message: &str| Link {
            object: object.to_owned(),
            state: state.to_owned(),
            reason: Some(reason.to_owned()).filter(|reason| !reason.is_empty()),
            message: Some(message.to_owned()).filter(|message| !message.is_empty()),
        };
        Trail {
            subject: "runnerjob/job-1".to_owned(),
            about: "acme/app, build\u{1b}]0;owned\u{7}, https://ci.example/1".to_owned(),
            answer: Answer {
                standing: Standing::Waits,
                text: "runnerjob/job-1 waits for its VM to boot (machineclaim/job-1-1). Nothing to do.".to_owned(),
                object: "machineclaim/job-1-1".to_owned(),
                reason: Some("Booting"),
            },
            events: vec![
                event(Mark::Queued, Some(0), None, "asks for linux"),
                event(Mark::Seen, Some(2), Some(2), "from source github"),
                event(Mark::PoolChosen, None, None, "small"),
                event(Mark::ClaimMade, Some(3), Some(1), "job-1-1"),
                event(Mark::Started, Some(93), Some(90), ""),
            ],
            links: vec![
                link("runnerjob/job-1", "Queued", "MachineStarting", "a machine is being made"),
                link("hypervisorcluster/infra/pve", "missing", "", ""),
            ],
            at: at(100),
        }
    }

    #[test]
    fn the_answer_comes_first_and_the_way_to_it_below() {
        insta::assert_snapshot!(text(&trail(), Paint::Plain), @r"
        runnerjob/job-1 waits for its VM to boot (machineclaim/job-1-1). Nothing to do.
        acme/app, build ]0;owned , https://ci.example/1

        TIME                  AFTER   WHAT
        1970-01-01T00:00:00Z          queued at the platform  asks for linux
        1970-01-01T00:00:02Z  +2s     seen by us              from source github
        -                             pool chosen             small
        1970-01-01T00:00:03Z  +1s     claim made              job-1-1
        1970-01-01T00:01:33Z  +1m30s  VM cloned and started
        now                   +7s

        OBJECT                       STATE    REASON           MESSAGE
        runnerjob/job-1              Queued   MachineStarting  a machine is being made
        hypervisorcluster/infra/pve  missing
        ");
    }

    #[test]
    fn what_others_wrote_cannot_steer_the_terminal() {
        let shown = text(&trail(), Paint::Plain);
        assert!(!shown.contains(['\u{1b}', '\u{7}']) && shown.contains("build"), "{shown:?}");
    }

    #[test]
    fn what_has_ended_does_not_wait() {
        let mut trail = trail();
        trail.answer.standing = Standing::Ended;
        assert!(!text(&trail, Paint::Plain).contains("now"));
    }
}
