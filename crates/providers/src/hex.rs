//! Bytes as pairs of hexadecimal digits.

/// Two lower-case digits a byte.
pub fn encode(bytes: &[u8]) -> String {
    let halves = bytes.iter().flat_map(|byte| [byte >> 4, byte & 0xf]);
    halves.filter_map(|half| char::from_digit(half.into(), 16)).collect()
}

/// The bytes, if the text is pairs of digits and nothing else.
pub fn decode(text: &str) -> Option<Vec<u8>> {
    let digits = text.as_bytes();
    // The standard parser would take a sign for a digit.
    if !digits.len().is_multiple_of(2) || !digits.iter().all(u8::is_ascii_hexdigit) {
        return None;
    }
    let byte = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).ok()?, 16).ok();
    digits.chunks(2).map(byte).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn bytes_read_back(bytes: Vec<u8>) {
            prop_assert_eq!(decode(&encode(&bytes)), Some(bytes));
        }
    }

    #[test]
    fn what_is_no_pairs_of_digits_is_refused() {
        for text in ["a", "+1", "0x", "ä", " 1"] {
            assert_eq!(decode(text), None, "{text}");
        }
    }
}
