//! UUIDs as firmware and seeds write them.

/// Whether the text is a UUID that can name one machine: not the blank ones that firmware ships with.
pub(crate) fn is_uuid(text: &str) -> bool {
    let groups: Vec<&str> = text.split('-').collect();
    let lengths = groups.iter().map(|group| group.len());
    let digits = || groups.iter().flat_map(|group| group.chars());
    lengths.eq([8, 4, 4, 4, 12])
        && digits().all(|digit| digit.is_ascii_hexdigit())
        && !digits().all(|digit| digit == '0')
        && !digits().all(|digit| digit.eq_ignore_ascii_case(&'f'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_uuid_that_names_something_is_one() {
        assert!(is_uuid("278caaf8-6ca2-4a15-9b2a-b9814b29fae7"));
        assert!(is_uuid("278CAAF8-6CA2-4A15-9B2A-B9814B29FAE7"));
        let bad = [
            "",
            "278caaf86ca24a159b2ab9814b29fae7",
            "278caaf8-6ca2-4a15-9b2a-b9814b29fae",
            "278caaf8-6ca2-4a15-9b2a-b9814b29fae7-",
            "278caaf8-6ca2-4a15-9b2a-b9814b29fag7",
            "00000000-0000-0000-0000-000000000000",
            "ffffffff-FFFF-ffff-ffff-ffffffffffff",
        ];
        for text in bad {
            assert!(!is_uuid(text), "{text}");
        }
    }
}
