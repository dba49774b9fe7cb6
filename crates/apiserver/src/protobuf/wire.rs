//! Protobuf on the wire: numbers of fields, and numbers or bytes after them.

/// What stands after a field's number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Wire<'a> {
    /// A number of any width.
    Number(i64),
    /// A text, a message, or plain bytes.
    Bytes(&'a [u8]),
}

impl<'a> Wire<'a> {
    pub(super) fn bytes(&self) -> Option<&'a [u8]> {
        match self {
            Self::Number(_) => None,
            Self::Bytes(bytes) => Some(bytes),
        }
    }

    pub(super) fn number(&self) -> i64 {
        match self {
            Self::Number(number) => *number,
            Self::Bytes(_) => 0,
        }
    }
}

/// The fields of a message in their order.
pub(super) fn fields(mut rest: &[u8]) -> Result<Vec<(u64, Wire<'_>)>, String> {
    let mut found = Vec::new();
    while !rest.is_empty() {
        let tag = varint(&mut rest)?;
        let wire = match tag & 7 {
            0 => Wire::Number(varint(&mut rest)?.cast_signed()),
            1 => Wire::Number(fixed(take(&mut rest, 8)?)),
            2 => {
                let length = usize::try_from(varint(&mut rest)?).map_err(|error| error.to_string())?;
                Wire::Bytes(take(&mut rest, length)?)
            }
            5 => Wire::Number(fixed(take(&mut rest, 4)?)),
            other => return Err(format!("proto: illegal wireType {other}")),
        };
        found.push((tag >> 3, wire));
    }
    Ok(found)
}

fn take<'a>(rest: &mut &'a [u8], length: usize) -> Result<&'a [u8], String> {
    let (taken, after) = rest.split_at_checked(length).ok_or("unexpected EOF")?;
    *rest = after;
    Ok(taken)
}

fn fixed(bytes: &[u8]) -> i64 {
    bytes.iter().rev().fold(0, |number, byte| (number << 8) | i64::from(*byte))
}

fn varint(rest: &mut &[u8]) -> Result<u64, String> {
    let mut number = 0;
    for shift in (0..70).step_by(7) {
        let byte = take(rest, 1)?[0];
        // The tenth byte has room for one bit; what else it says is lost, as in Go.
        number |= u64::from(byte & 0x7f).checked_shl(shift).unwrap_or_default();
        if byte < 0x80 {
            return Ok(number);
        }
    }
    Err("proto: integer overflow".to_owned())
}
