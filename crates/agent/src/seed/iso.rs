//! Reads a file from the root directory of an ISO 9660 image, by its Rock Ridge name.
//!
//! The image comes from outside: every number in it is held against what is there before it is used.

const SECTOR: usize = 2048;
/// Where the primary volume descriptor is.
const DESCRIPTOR: usize = 16 * SECTOR;
/// Where the root directory's record is in it.
const ROOT: usize = 156;
/// The fixed part of a directory record.
const RECORD: usize = 33;
/// The flag of a directory, and that of a file that goes on in the next record.
const NO_WHOLE_FILE: u8 = 0b1000_0010;

/// Why a file cannot be read from an image.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IsoError {
    /// There is no file system of this kind.
    #[error("it is no ISO 9660 image")]
    NoImage,
    /// There is no such file.
    #[error("there is no file {0} in it")]
    NoFile(String),
    /// A number in it leads outside of it.
    #[error("the image is damaged: {0} lies outside of it")]
    Outside(&'static str),
}

/// The content of the file with this name in the image's root directory.
pub fn file<'a>(image: &'a [u8], name: &str) -> Result<&'a [u8], IsoError> {
    let volume = part(image, DESCRIPTOR, SECTOR).ok_or(IsoError::NoImage)?;
    if !volume.starts_with(b"\x01CD001\x01") || volume.get(128..130) != Some(&[0, 8]) {
        return Err(IsoError::NoImage);
    }
    let root = volume.get(ROOT..).and_then(extent).ok_or(IsoError::NoImage)?;
    let directory = root.of(image).ok_or(IsoError::Outside("its directory"))?;
    for record in records(directory) {
        if is_whole_file(record) && named(record).as_deref() == Some(name.as_bytes()) {
            let content = extent(record).and_then(|extent| extent.of(image));
            return content.ok_or(IsoError::Outside("the file"));
        }
    }
    Err(IsoError::NoFile(name.to_owned()))
}

fn part(bytes: &[u8], at: usize, length: usize) -> Option<&[u8]> {
    bytes.get(at..at.checked_add(length)?)
}

fn number(bytes: &[u8], at: usize) -> Option<usize> {
    let bytes: [u8; 4] = part(bytes, at, 4)?.try_into().ok()?;
    usize::try_from(u32::from_le_bytes(bytes)).ok()
}

/// Where something is.
struct Extent {
    sector: usize,
    length: usize,
}

fn extent(record: &[u8]) -> Option<Extent> {
    Some(Extent { sector: number(record, 2)?, length: number(record, 10)? })
}

impl Extent {
    fn of<'a>(&self, image: &'a [u8]) -> Option<&'a [u8]> {
        part(image, self.sector.checked_mul(SECTOR)?, self.length)
    }
}

/// The records of a directory; none crosses a sector's end.
fn records(directory: &[u8]) -> impl Iterator<Item = &[u8]> {
    directory.chunks(SECTOR).flat_map(|sector| {
        let mut rest = sector;
        std::iter::from_fn(move || {
            let length = usize::from(*rest.first()?);
            if length < RECORD {
                return None;
            }
            let (record, after) = rest.split_at_checked(length)?;
            rest = after;
            Some(record)
        })
    })
}

fn is_whole_file(record: &[u8]) -> bool {
    record.get(25).is_some_and(|flags| flags & NO_WHOLE_FILE == 0)
}

/// The Rock Ridge name of a record: its `NM` entries together.
fn named(record: &[u8]) -> Option<Vec<u8>> {
    let plain = usize::from(*record.get(RECORD - 1)?);
    let mut rest = record.get(RECORD + plain + usize::from(plain.is_multiple_of(2))..)?;
    let mut name = None;
    while let Some(length) = rest.get(2).map(|length| usize::from(*length)).filter(|length| *length >= 4) {
        let (entry, after) = rest.split_at_checked(length)?;
        if entry.starts_with(b"NM") {
            name.get_or_insert_with(Vec::new).extend_from_slice(entry.get(5..)?);
        }
        rest = after;
    }
    name
}

#[cfg(test)]
pub(super) mod tests;
