//! The smallest ISO 9660 image that cloud-init reads: one directory of small files, with Rock Ridge names.
//!
//! Plain ISO names cannot hold a '-', so each file also has its real name in a Rock Ridge `NM` entry. Sectors: 16 the
//! volume's description, 17 its end, 18 and 19 the path tables, 20 the directory, from 21 on the files.

const SECTOR: usize = 2048;
const DESCRIPTOR: usize = 16;
const TERMINATOR: usize = 17;
const PATHS_LITTLE: u32 = 18;
const PATHS_BIG: u32 = 19;
const ROOT: u32 = 20;
const FILES: u32 = 21;
/// A directory, readable by root alone.
const DIRECTORY_MODE: u32 = 0o040_500;
/// A file, readable by root alone: it may hold a token.
const FILE_MODE: u32 = 0o100_400;

/// An image with this label and these files, which must be sorted by name. The same input gives the same bytes.
pub(super) fn image(label: &str, files: &[(&str, &[u8])]) -> Vec<u8> {
    let mut extents = Vec::with_capacity(files.len());
    let mut next = FILES;
    for (name, content) in files {
        extents.push(Extent { name, start: next, content });
        next += sectors(content.len());
    }
    let mut image = vec![0; next as usize * SECTOR];
    put(&mut image, DESCRIPTOR, &descriptor(label, next));
    put(&mut image, TERMINATOR, b"\xffCD001\x01");
    put(&mut image, PATHS_LITTLE as usize, &path_table(u32::to_le_bytes, u16::to_le_bytes));
    put(&mut image, PATHS_BIG as usize, &path_table(u32::to_be_bytes, u16::to_be_bytes));
    put(&mut image, ROOT as usize, &directory(&extents));
    for extent in &extents {
        put(&mut image, extent.start as usize, extent.content);
    }
    image
}

struct Extent<'a> {
    name: &'a str,
    start: u32,
    content: &'a [u8],
}

fn sectors(bytes: usize) -> u32 {
    u32::try_from(bytes.div_ceil(SECTOR).max(1)).expect("a seed has far less than 8 TiB")
}

fn put(image: &mut [u8], sector: usize, bytes: &[u8]) {
    image[sector * SECTOR..][..bytes.len()].copy_from_slice(bytes);
}

/// A number in both byte orders, as the standard wants most of them.
fn both32(number: u32) -> [u8; 8] {
    let mut bytes = [0; 8];
    bytes[..4].copy_from_slice(&number.to_le_bytes());
    bytes[4..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn both16(number: u16) -> [u8; 4] {
    let mut bytes = [0; 4];
    bytes[..2].copy_from_slice(&number.to_le_bytes());
    bytes[2..].copy_from_slice(&number.to_be_bytes());
    bytes
}

fn descriptor(label: &str, total: u32) -> Vec<u8> {
    let mut bytes = vec![0; SECTOR];
    let mut at = |offset: usize, part: &[u8]| bytes[offset..offset + part.len()].copy_from_slice(part);
    at(0, b"\x01CD001\x01");
    // System, volume, then volume set to bibliographic file: text padded with blanks.
    at(8, &[b' '; 64]);
    at(40, &label.as_bytes()[..label.len().min(32)]);
    at(80, &both32(total));
    at(120, &both16(1));
    at(124, &both16(1));
    at(128, &both16(2048));
    at(132, &both32(10));
    at(140, &PATHS_LITTLE.to_le_bytes());
    at(148, &PATHS_BIG.to_be_bytes());
    at(156, &record(&[0], ROOT, SECTOR, true, &[]));
    at(190, &[b' '; 623]);
    for date in [813, 830, 847, 864] {
        // Not given: sixteen zero digits and no offset. A seed is the same whenever it is made.
        at(date, b"0000000000000000\0");
    }
    at(881, &[1]);
    bytes
}

/// The table of directories: the root alone.
fn path_table(long: fn(u32) -> [u8; 4], short: fn(u16) -> [u8; 2]) -> Vec<u8> {
    [&[1, 0][..], &long(ROOT), &short(1), &[0, 0]].concat()
}

fn directory(extents: &[Extent<'_>]) -> Vec<u8> {
    // SP says that Rock Ridge begins here, ER which kind of it.
    let announced =
        [&b"SP\x07\x01\xbe\xef\x00"[..], &attributes(DIRECTORY_MODE, 2), b"ER\x12\x01\x0a\x00\x00\x01RRIP_1991A"];
    let mut bytes = record(&[0], ROOT, SECTOR, true, &announced.concat());
    bytes.extend(record(&[1], ROOT, SECTOR, true, &attributes(DIRECTORY_MODE, 2)));
    for extent in extents {
        let plain = format!("{}.;1", extent.name.to_ascii_uppercase().replace('-', "_"));
        let rock = [attributes(FILE_MODE, 1), real_name(extent.name)].concat();
        bytes.extend(record(plain.as_bytes(), extent.start, extent.content.len(), false, &rock));
    }
    bytes
}

/// A directory record: fixed part, name, and the Rock Ridge entries in its system use area.
fn record(name: &[u8], start: u32, length: usize, is_directory: bool, rock: &[u8]) -> Vec<u8> {
    let length = u32::try_from(length).expect("a seed has far less than 4 GiB");
    let mut bytes = vec![0, 0];
    bytes.extend(both32(start));
    bytes.extend(both32(length));
    bytes.extend([0; 7]);
    bytes.extend([if is_directory { 2 } else { 0 }, 0, 0]);
    bytes.extend(both16(1));
    bytes.push(u8::try_from(name.len()).expect("seed files have short names"));
    bytes.extend(name);
    if name.len().is_multiple_of(2) {
        bytes.push(0);
    }
    bytes.extend(rock);
    if !bytes.len().is_multiple_of(2) {
        bytes.push(0);
    }
    bytes[0] = u8::try_from(bytes.len()).expect("a record with a short name has less than 255 bytes");
    bytes
}

/// `PX`: mode, links, owner and group; both root.
fn attributes(mode: u32, links: u32) -> Vec<u8> {
    let mut bytes = b"PX\x24\x01".to_vec();
    for number in [mode, links, 0, 0] {
        bytes.extend(both32(number));
    }
    bytes
}

/// `NM`: the name as it is.
fn real_name(name: &str) -> Vec<u8> {
    let length = u8::try_from(name.len() + 5).expect("seed files have short names");
    [&[b'N', b'M', length, 1, 0], name.as_bytes()].concat()
}

#[cfg(test)]
mod tests;
