//! Until when a certificate is valid: the one field of it that we read ourselves.

use jiff::Timestamp;
use jiff::civil::DateTime;
use jiff::tz::TimeZone;

const SEQUENCE: u8 = 0x30;
const VERSION: u8 = 0xa0;
const SHORT_TIME: u8 = 0x17;
const LONG_TIME: u8 = 0x18;

/// The end of a certificate in DER; nothing if it cannot be read.
pub(super) fn end(certificate: &[u8]) -> Option<Timestamp> {
    let (signed, _) = element(certificate, SEQUENCE)?;
    let (mut fields, _) = element(signed, SEQUENCE)?;
    if fields.first() == Some(&VERSION) {
        fields = skip(fields)?;
    }
    // Number, algorithm, issuer.
    for _ in 0..3 {
        fields = skip(fields)?;
    }
    let (validity, _) = element(fields, SEQUENCE)?;
    moment(skip(validity)?)
}

fn moment(bytes: &[u8]) -> Option<Timestamp> {
    let (tag, content, _) = any(bytes)?;
    let text = std::str::from_utf8(content).ok()?.strip_suffix('Z')?;
    let text = match tag {
        // Two digits of the year: those from 50 on are of the last century (RFC 5280).
        SHORT_TIME => format!("{}{text}", if text.get(..2)? < "50" { "20" } else { "19" }),
        LONG_TIME => text.to_owned(),
        _ => return None,
    };
    let part = |from: usize, to: usize| text.get(from..to)?.parse::<i8>().ok();
    let year = text.get(..4)?.parse().ok()?;
    let (date, time) = ((part(4, 6)?, part(6, 8)?), (part(8, 10)?, part(10, 12)?, part(12, 14)?));
    let moment = DateTime::new(year, date.0, date.1, time.0, time.1, time.2, 0).ok()?;
    TimeZone::UTC.to_timestamp(moment).ok()
}

fn skip(bytes: &[u8]) -> Option<&[u8]> {
    any(bytes).map(|(_, _, rest)| rest)
}

fn element(bytes: &[u8], wanted: u8) -> Option<(&[u8], &[u8])> {
    any(bytes).filter(|(tag, _, _)| *tag == wanted).map(|(_, content, rest)| (content, rest))
}

/// The first element: its tag, its content, and what follows it.
fn any(bytes: &[u8]) -> Option<(u8, &[u8], &[u8])> {
    let (&tag, bytes) = bytes.split_first()?;
    let (&first, bytes) = bytes.split_first()?;
    let digits = usize::from(first & 0x7f);
    let (length, bytes) = if first < 0x80 {
        (digits, bytes)
    } else {
        let (digits, rest) = bytes.split_at_checked(digits).filter(|(digits, _)| (1..=4).contains(&digits.len()))?;
        (digits.iter().fold(0, |sum, digit| (sum << 8) | usize::from(*digit)), rest)
    };
    let (content, rest) = bytes.split_at_checked(length)?;
    Some((tag, content, rest))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;
    use rcgen::{CertificateParams, KeyPair, date_time_ymd};

    use super::*;

    fn certificate(year: i32) -> Vec<u8> {
        let mut params = CertificateParams::new(vec!["pve.example.com".to_owned()]).unwrap();
        params.not_after = date_time_ymd(year, 3, 4);
        params.self_signed(&KeyPair::generate().unwrap()).unwrap().der().to_vec()
    }

    #[test]
    fn the_end_is_read_in_both_ways_of_writing_it() {
        for (year, end_of) in [(2031, "2031-03-04T00:00:00Z"), (2061, "2061-03-04T00:00:00Z")] {
            assert_eq!(end(&certificate(year)), end_of.parse().ok());
        }
    }

    proptest! {
        #[test]
        fn whatever_is_no_certificate_has_no_end(bytes: Vec<u8>, cut in 0..200usize) {
            prop_assert_eq!(end(&bytes), None);
            let whole = certificate(2031);
            prop_assert_eq!(end(&whole[..cut.min(whole.len() - 1)]), None);
        }
    }
}
