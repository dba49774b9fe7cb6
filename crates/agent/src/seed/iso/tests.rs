//! What others wrote, damaged or not.

use proptest::prelude::*;

use super::*;

fn both(number: usize) -> Vec<u8> {
    let number = u32::try_from(number).unwrap();
    [number.to_le_bytes(), number.to_be_bytes()].concat()
}

fn record(name: &[u8], sector: usize, length: usize, flags: u8, rock: &[u8]) -> Vec<u8> {
    let mut bytes = [&[0, 0][..], &both(sector), &both(length), &[0; 7], &[flags, 0, 0, 1, 0, 0, 1]].concat();
    bytes.push(u8::try_from(name.len()).unwrap());
    bytes.extend(name);
    if name.len().is_multiple_of(2) {
        bytes.push(0);
    }
    bytes.extend(rock);
    bytes[0] = u8::try_from(bytes.len()).unwrap();
    bytes
}

fn rock(name: &str) -> Vec<u8> {
    [&[b'N', b'M', u8::try_from(name.len() + 5).unwrap(), 1, 0], name.as_bytes()].concat()
}

/// An image with these files and as many directory sectors as they need, two records a sector.
pub(in crate::seed) fn image(files: &[(&str, &[u8])]) -> Vec<u8> {
    let sectors = files.len().div_ceil(2).max(1);
    let mut image = vec![0; (20 + sectors) * SECTOR];
    image[DESCRIPTOR..][..7].copy_from_slice(b"\x01CD001\x01");
    image[DESCRIPTOR + 128..][..4].copy_from_slice(&[0, 8, 8, 0]);
    let root = record(&[0], 20, sectors * SECTOR, 2, &[]);
    image[DESCRIPTOR + ROOT..][..root.len()].copy_from_slice(&root);
    for (index, pair) in files.chunks(2).enumerate() {
        let mut at = (20 + index) * SECTOR;
        for (name, content) in pair {
            let record = record(b"PLAIN.;1", image.len() / SECTOR, content.len(), 0, &rock(name));
            image[at..][..record.len()].copy_from_slice(&record);
            at += record.len();
            image.extend_from_slice(content);
            image.resize(image.len().next_multiple_of(SECTOR), 0);
        }
    }
    image
}

#[test]
fn a_file_is_found_by_its_real_name_in_any_sector_of_the_directory() {
    let (long, files) = (vec![7; 5000], ["a", "b-c", "hyperfleet.json", "user-data", "z"]);
    let files: Vec<(&str, &[u8])> =
        files.iter().map(|name| (*name, if *name == "z" { &long[..] } else { name.as_bytes() })).collect();
    let image = image(&files);
    for (name, content) in files {
        assert_eq!(file(&image, name), Ok(content));
    }
    assert_eq!(file(&image, "other"), Err(IsoError::NoFile("other".to_owned())));
}

#[test]
fn a_name_in_two_parts_is_one_name() {
    let mut image = image(&[]);
    let record = record(b"X", 20, 3, 0, &[rock("hyperfleet"), rock(".json")].concat());
    image[20 * SECTOR..][..record.len()].copy_from_slice(&record);
    assert!(file(&image, "hyperfleet.json").is_ok());
}

#[test]
fn a_directory_is_no_file() {
    let mut image = image(&[]);
    let record = record(b"X", 20, 3, 2, &rock("hyperfleet.json"));
    image[20 * SECTOR..][..record.len()].copy_from_slice(&record);
    assert!(matches!(file(&image, "hyperfleet.json"), Err(IsoError::NoFile(_))));
}

#[test]
fn a_file_that_lies_outside_is_named_so() {
    let whole = image(&[("seed", &[1; 3000])]);
    assert_eq!(file(&whole[..whole.len() - SECTOR], "seed"), Err(IsoError::Outside("the file")));
    assert_eq!(file(&whole[..20 * SECTOR], "seed"), Err(IsoError::Outside("its directory")));
    assert_eq!(file(&whole[..100], "seed"), Err(IsoError::NoImage));
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn bytes_without_meaning_are_read_without_harm(bytes in prop::collection::vec(any::<u8>(), 0..1000)) {
        // As a whole image, as a directory, as a record, and as everything behind a good beginning.
        prop_assert_eq!(file(&bytes, "seed"), Err(IsoError::NoImage));
        for record in records(&bytes) {
            let _: Option<Vec<u8>> = named(record);
        }
        let _: Option<Vec<u8>> = named(&bytes);
        let mut image = image(&[("seed", b"x")]);
        image.truncate(20 * SECTOR);
        image.extend_from_slice(&bytes);
        let _: Result<&[u8], IsoError> = file(&image, "seed");
    }

    #[test]
    fn a_damaged_image_is_read_without_harm(
        places in prop::collection::vec((0_usize..2 * SECTOR, any::<u8>()), 1..40),
        cut in 0_usize..23 * SECTOR,
    ) {
        let mut image = image(&[("seed", b"the seed"), ("more", &[5; 100])]);
        for (place, byte) in places {
            // The descriptor's numbers and the directory.
            let at = if place < SECTOR { DESCRIPTOR + place } else { 19 * SECTOR + place };
            image[at] = byte;
        }
        image.truncate(cut.max(DESCRIPTOR));
        let _: Result<&[u8], IsoError> = file(&image, "seed");
    }
}
