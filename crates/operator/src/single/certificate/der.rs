//! The one thing that we must read from a certificate of our own: when it ends.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::Offset;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const UTC_TIME: u8 = 0x17;
const GENERALIZED_TIME: u8 = 0x18;

/// The end of a certificate's validity (RFC 5280, 4.1): the second time of the fifth field of its first part.
pub(super) fn not_after(certificate: &[u8]) -> Option<Timestamp> {
    let (certificate, _) = expect(SEQUENCE, certificate)?;
    let (signed, _) = expect(SEQUENCE, certificate)?;
    let mut rest = signed;
    if let Some((_, after)) = expect(VERSION, rest) {
        rest = after;
    }
    // Serial number, signature, issuer.
    for _ in 0..3 {
        rest = field(rest)?.2;
    }
    let (validity, _) = expect(SEQUENCE, rest)?;
    let (tag, text, _) = field(field(validity)?.2)?;
    moment(tag, std::str::from_utf8(text).ok()?)
}

fn moment(tag: u8, text: &str) -> Option<Timestamp> {
    let full = match tag {
        // Two digits stand for 1950 to 2049.
        UTC_TIME => format!("{}{text}", if text.get(..2)?.parse::<u8>().ok()? < 50 { "20" } else { "19" }),
        GENERALIZED_TIME => text.to_owned(),
        _ => return None,
    };
    let at = DateTime::strptime("%Y%m%d%H%M%SZ", full).ok()?;
    Offset::UTC.to_timestamp(at).ok()
}

fn expect(tag: u8, bytes: &[u8]) -> Option<(&[u8], &[u8])> {
    field(bytes).filter(|(found, ..)| *found == tag).map(|(_, content, rest)| (content, rest))
}

/// Tag, content and what follows.
fn field(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, rest) = bytes.split_first()?;
    let (&first, rest) = rest.split_first()?;
    let (length, rest) = if first < 0x80 {
        (usize::from(first), rest)
    } else {
        let (digits, rest) =
            rest.split_at_checked(usize::from(first & 0x7f)).filter(|(digits, _)| digits.len() <= 4)?;
        (digits.iter().fold(0_usize, |length, digit| (length << 8) | usize::from(*digit)), rest)
    };
    let (content, rest) = rest.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::{AUTHORITY_LIFE, authority, end_of};
    use super::*;

    proptest! {
        #[test]
        fn a_certificate_ends_when_it_was_made_to(second in 0_i64..4_000_000_000) {
            let now = Timestamp::from_second(second).unwrap();
            let (certificate, _) = authority(now).unwrap();
            prop_assert_eq!(end_of(&certificate), Some(now + AUTHORITY_LIFE));
        }

        #[test]
        fn any_bytes_are_read_to_an_answer(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let _ = not_after(&bytes);
        }
    }
}
