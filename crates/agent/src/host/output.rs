//! The end of what the work prints; the rest is forgotten.

use std::collections::VecDeque;

/// More is never kept, whatever a plan asks for.
const LONGEST: u32 = 2048;

/// The last bytes of a stream.
#[derive(Debug)]
pub(super) struct Tail {
    room: usize,
    kept: VecDeque<u8>,
    cut: bool,
}

impl Tail {
    /// Keeps this many bytes at most.
    pub(super) fn new(bytes: u32) -> Self {
        let room = usize::try_from(bytes.min(LONGEST)).expect("2048 fits everywhere");
        Self { room, kept: VecDeque::with_capacity(room), cut: false }
    }

    pub(super) fn push(&mut self, bytes: &[u8]) {
        let over = (self.kept.len() + bytes.len()).saturating_sub(self.room);
        self.cut |= over > 0;
        self.kept.drain(..over.min(self.kept.len()));
        self.kept.extend(&bytes[bytes.len().saturating_sub(self.room)..]);
    }

    /// What is kept, as text that begins with a whole character and is no longer than was asked for.
    pub(super) fn text(&self) -> String {
        let bytes: Vec<u8> = self.kept.iter().copied().collect();
        let is_inside = |byte: &&u8| **byte & 0b1100_0000 == 0b1000_0000;
        let inside = if self.cut { bytes.iter().take(3).take_while(is_inside).count() } else { 0 };
        let text = String::from_utf8_lossy(&bytes[inside..]);
        // What stands in place of a broken byte is longer than it.
        let over = text.len().saturating_sub(self.room);
        text[text.ceil_char_boundary(over)..].to_owned()
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn tail(room: u32, parts: &[&[u8]]) -> String {
        let mut tail = Tail::new(room);
        for part in parts {
            tail.push(part);
        }
        tail.text()
    }

    #[test]
    fn the_end_is_kept() {
        assert_eq!(tail(5, &[b"hello ", b"wor", b"ld"]), "world");
        assert_eq!(tail(5, &[b"a", b"b"]), "ab");
        assert_eq!(tail(0, &[b"a"]), "");
        assert_eq!(tail(1_000_000, &[&[b'x'; 5000]]).len(), 2048);
    }

    #[test]
    fn no_character_is_cut() {
        assert_eq!(tail(3, &["äö".as_bytes()]), "ö");
        assert_eq!(tail(4, &["äö".as_bytes()]), "äö");
        assert_eq!(tail(2, &["a€".as_bytes()]), "");
        assert_eq!(tail(6, &["😀abc".as_bytes()]), "abc", "even if one write brings more than is kept");
    }

    proptest! {
        #[test]
        fn a_tail_is_the_end_of_what_was_printed(text: String, room in 0_u32..64, size in 1_usize..20) {
            let mut tail = Tail::new(room);
            for part in text.as_bytes().chunks(size) {
                tail.push(part);
            }
            let kept = tail.text();
            prop_assert!(text.ends_with(&kept));
            // As much as there is room for: the next character would not have fitted.
            prop_assert!(kept.len() == text.len() || kept.len() + 4 > room as usize);
        }

        #[test]
        fn what_is_no_text_is_never_longer_than_asked_for(
            parts in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..50), 0..10),
            room in 0_u32..64,
        ) {
            let mut tail = Tail::new(room);
            for part in &parts {
                tail.push(part);
            }
            prop_assert!(tail.text().len() <= room as usize);
        }
    }
}
