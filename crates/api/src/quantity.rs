//! Sizes of memory and disks.

use std::fmt;

use serde::{Deserialize, Serialize};

/// A size such as `8Gi` or `50G`: a whole number and a unit (`M`, `G`, `T`, or `Mi`, `Gi`, `Ti` for powers of two).
///
/// The text stays as it was written, so that objects read back as their authors wrote them.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Quantity {
    text: String,
    bytes: u64,
}

/// A text that is no [`Quantity`].
#[derive(Debug, thiserror::Error)]
#[error("`{0}` is no size: write a whole number and a unit, such as 8Gi or 50G")]
pub struct NotAQuantity(String);

const UNITS: [(&str, u64); 6] = [
    ("Mi", 1 << 20),
    ("Gi", 1 << 30),
    ("Ti", 1 << 40),
    ("M", 1_000_000),
    ("G", 1_000_000_000),
    ("T", 1_000_000_000_000),
];

impl Quantity {
    /// The largest whole number of bytes per unit the schema admits: seven digits, so that bytes fit 64 bits.
    const PATTERN: &str = "^[1-9][0-9]{0,6}(Mi|Gi|Ti|M|G|T)$";

    /// The size in whole mebibytes, in the largest unit that keeps it exact.
    pub fn from_mebibytes(mebibytes: u64) -> Self {
        let (count, unit) = match mebibytes {
            whole if whole > 0 && whole.is_multiple_of(1 << 20) => (whole >> 20, "Ti"),
            whole if whole > 0 && whole.is_multiple_of(1 << 10) => (whole >> 10, "Gi"),
            other => (other, "Mi"),
        };
        Self { text: format!("{count}{unit}"), bytes: mebibytes << 20 }
    }

    /// The size in bytes.
    pub const fn bytes(&self) -> u64 {
        self.bytes
    }

    /// The size in whole mebibytes, rounded up, as hypervisors count memory.
    pub const fn mebibytes(&self) -> u64 {
        self.bytes.div_ceil(1 << 20)
    }
}

impl TryFrom<String> for Quantity {
    type Error = NotAQuantity;

    fn try_from(text: String) -> Result<Self, NotAQuantity> {
        let bytes = UNITS.iter().find_map(|(unit, factor)| {
            let count: u64 = text.strip_suffix(unit)?.parse().ok()?;
            count.checked_mul(*factor)
        });
        match bytes {
            Some(bytes) => Ok(Self { text, bytes }),
            None => Err(NotAQuantity(text)),
        }
    }
}

impl From<Quantity> for String {
    fn from(quantity: Quantity) -> Self {
        quantity.text
    }
}

impl PartialEq for Quantity {
    /// Two quantities are equal when they are the same size, however they were written.
    fn eq(&self, other: &Self) -> bool {
        self.bytes == other.bytes
    }
}

impl Eq for Quantity {}

impl fmt::Display for Quantity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}

impl schemars::JsonSchema for Quantity {
    fn inline_schema() -> bool {
        true
    }

    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Quantity".into()
    }

    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "type": "string", "minLength": 2, "maxLength": 9, "pattern": Self::PATTERN })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> Quantity {
        Quantity::try_from(text.to_owned()).unwrap()
    }

    #[test]
    fn binary_and_decimal_units_are_told_apart() {
        assert_eq!(parsed("8Gi").bytes(), 8 << 30);
        assert_eq!(parsed("50G").bytes(), 50_000_000_000);
        assert_eq!(parsed("512M").mebibytes(), 489);
    }

    #[test]
    fn mebibytes_are_written_in_the_largest_exact_unit() {
        assert_eq!(Quantity::from_mebibytes(8192).to_string(), "8Gi");
        assert_eq!(Quantity::from_mebibytes(8193).to_string(), "8193Mi");
        assert_eq!(Quantity::from_mebibytes(2 << 20).to_string(), "2Ti");
    }

    #[test]
    fn the_text_survives_a_round_trip_and_equal_sizes_are_equal() {
        assert_eq!(serde_json::to_string(&parsed("1024Mi")).unwrap(), "\"1024Mi\"");
        assert_eq!(parsed("1024Mi"), parsed("1Gi"));
    }

    #[test]
    fn anything_else_is_refused_with_the_remedy() {
        for bad in ["", "8", "Gi", "8GB", "-1Gi", "1.5Gi", "99999999999999999999Ti"] {
            let refusal = Quantity::try_from(bad.to_owned()).unwrap_err();
            assert!(refusal.to_string().contains("such as 8Gi"), "{refusal}");
        }
    }
}
