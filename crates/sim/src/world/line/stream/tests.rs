//! What may change places in a stream, and what may not.

use super::*;

fn event(kind: &str, name: &str, version: u32) -> Bytes {
    let object =
        serde_json::json!({ "metadata": { "namespace": "n", "name": name, "resourceVersion": version.to_string() } });
    Bytes::from(format!("{}\n", serde_json::json!({ "type": kind, "object": object })))
}

#[test]
fn events_about_different_objects_change_places_but_the_last_stays_last() {
    let lines: Vec<Bytes> = (0..9).map(|number| event("MODIFIED", &format!("o{number}"), number)).collect();
    let mut mixed = lines.clone();
    assert!(mix(&mut mixed, &mut Dice::new(1)));
    assert_ne!(mixed, lines);
    assert_eq!(mixed.last(), lines.last());
}

#[test]
fn nothing_changes_places_around_a_bookmark_or_two_events_about_one_object() {
    let once_more = [event("ADDED", "a", 1), event("MODIFIED", "a", 2), event("ADDED", "b", 3)];
    let bookmark = [event("ADDED", "a", 1), event("BOOKMARK", "", 2), event("ADDED", "b", 3)];
    for lines in [once_more, bookmark] {
        let mut mixed = lines.clone();
        assert!(!mix(&mut mixed, &mut Dice::new(1)));
        assert_eq!(mixed, lines);
    }
}

#[test]
fn half_a_line_waits_for_its_other_half() {
    let mut rest = BytesMut::from(&b"one\ntwo\nthr"[..]);
    assert_eq!(whole_lines(&mut rest), [Bytes::from_static(b"one\n"), Bytes::from_static(b"two\n")]);
    assert_eq!(&rest[..], b"thr");
}
