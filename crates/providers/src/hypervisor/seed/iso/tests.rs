//! A reader by the standard, and readers nobody here wrote.

use std::collections::BTreeMap;
use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;

use super::*;

fn le32(bytes: &[u8]) -> usize {
    u32::from_le_bytes(bytes[..4].try_into().unwrap()) as usize
}

fn be32(bytes: &[u8]) -> usize {
    u32::from_be_bytes(bytes[..4].try_into().unwrap()) as usize
}

/// Reads an image as a Rock Ridge reader does, by the standard and not by the writer's constants.
fn read(image: &[u8]) -> (String, BTreeMap<String, Vec<u8>>) {
    assert_eq!(image.len() % 2048, 0);
    let volume = &image[16 * 2048..17 * 2048];
    assert_eq!(&volume[..7], b"\x01CD001\x01");
    assert_eq!(&image[17 * 2048..17 * 2048 + 7], b"\xffCD001\x01");
    assert_eq!(le32(&volume[80..]) * 2048, image.len());
    let root = &volume[156..190];
    for (little, big) in [(&volume[80..], &volume[84..]), (&root[2..], &root[6..]), (&root[10..], &root[14..])] {
        assert_eq!(le32(little), be32(big));
    }
    let paths = &image[le32(&volume[140..]) * 2048..];
    assert_eq!(le32(&paths[2..]), le32(&root[2..]));
    let paths = &image[be32(&volume[148..]) * 2048..];
    assert_eq!(be32(&paths[2..]), le32(&root[2..]));

    let directory = &image[le32(&root[2..]) * 2048..][..le32(&root[10..])];
    let (mut at, mut names, mut files) = (0, Vec::new(), BTreeMap::new());
    while directory[at] != 0 {
        let record = &directory[at..at + directory[at] as usize];
        at += record.len();
        let name = &record[33..33 + record[32] as usize];
        let rock = &record[33 + name.len() + usize::from(name.len().is_multiple_of(2))..];
        if name == [0] {
            assert_eq!(&rock[..7], b"SP\x07\x01\xbe\xef\x00", "Rock Ridge is announced");
        }
        if let Some(real) = rock_name(rock) {
            assert_eq!(record[25], 0, "a file is no directory");
            names.push(name.to_vec());
            let content = image[le32(&record[2..]) * 2048..][..le32(&record[10..])].to_vec();
            files.insert(real, content);
        }
    }
    assert!(names.is_sorted(), "the standard wants names in order");
    (String::from_utf8_lossy(&volume[40..72]).trim_end().to_owned(), files)
}

fn rock_name(mut rock: &[u8]) -> Option<String> {
    let mut name = None;
    while rock.len() >= 4 && rock[2] >= 4 {
        let (entry, rest) = rock.split_at(rock[2] as usize);
        if &entry[..2] == b"NM" {
            name = Some(String::from_utf8(entry[5..].to_vec()).unwrap());
        }
        rock = rest;
    }
    name
}

proptest! {
    #[test]
    fn what_is_written_reads_back(meta: Vec<u8>, network in prop::collection::vec(any::<u8>(), 0..5000), user in prop::collection::vec(any::<u8>(), 0..9000)) {
        let files = [("meta-data", &meta[..]), ("network-config", &network[..]), ("user-data", &user[..])];
        let (label, read) = read(&image("cidata", &files));
        prop_assert_eq!(label, "cidata");
        let expected: BTreeMap<String, Vec<u8>> = files.iter().map(|(name, content)| ((*name).to_owned(), content.to_vec())).collect();
        prop_assert_eq!(read, expected);
    }
}

proptest! {
    #[test]
    fn the_agent_in_a_machine_reads_every_file(ours: Vec<u8>, user in prop::collection::vec(any::<u8>(), 0..9000)) {
        let files = [("hyperfleet.json", &ours[..]), ("meta-data", b"x"), ("user-data", &user[..])];
        let image = image("cidata", &files);
        for (name, content) in files {
            prop_assert_eq!(agent::seed::file(&image, name), Ok(content));
        }
        prop_assert!(agent::seed::file(&image, "vendor-data").is_err());
    }
}

#[test]
fn the_same_seed_is_the_same_image() {
    let files = [("meta-data", &b"instance-id: a"[..]), ("user-data", b"#cloud-config\n")];
    assert_eq!(image("cidata", &files), image("cidata", &files));
}

/// Programs nobody here wrote agree, where the machine has them.
#[test]
fn others_read_it_too() {
    let made = image("cidata", &[("meta-data", b"instance-id: a\n"), ("user-data", b"#cloud-config\n")]);
    let path = std::env::temp_dir().join(format!("hyperfleet-seed-{}.iso", std::process::id()));
    std::fs::File::create(&path).unwrap().write_all(&made).unwrap();
    let says = |program: &str, arguments: &[&str]| {
        let run = Command::new(program).args(arguments).arg(&path).stderr(Stdio::null()).output().ok()?;
        run.status.success().then(|| String::from_utf8_lossy(&run.stdout).into_owned())
    };
    if let Some(text) = says("blkid", &["-p"]) {
        assert!(text.contains("LABEL=\"cidata\"") && text.contains("TYPE=\"iso9660\""), "{text}");
    }
    if let Some(text) = says("isoinfo", &["-R", "-f", "-i"]) {
        assert!(text.contains("/user-data") && text.contains("/meta-data"), "{text}");
    }
    std::fs::remove_file(&path).unwrap();
}
