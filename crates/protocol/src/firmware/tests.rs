//! What goes into the firmware comes out of it, and nothing else does.

use proptest::prelude::*;

use super::*;

fn seed(url: &str) -> Seed {
    Seed {
        version: VERSION,
        url: url.to_owned(),
        authority: format!("{PIN}{}", BASE64.encode([7; 32])),
        id: "5d1d9be8-0000-4000-8000-000000000001".to_owned(),
        token: "0123456789abcdef".repeat(4).into(),
        machine: "278caaf8-6ca2-4a15-9b2a-b9814b29fae7".to_owned(),
        agent: None,
    }
}

fn pinned(url: &str) -> Seed {
    Seed { agent: Some("fedcba9876543210".repeat(4)), ..seed(url) }
}

#[test]
fn a_seed_comes_back_from_the_firmware_as_it_was() {
    for seed in [seed("https://[fd00::1]:8444"), pinned("https://[fd00::1]:8444")] {
        let line = engrave(&seed).unwrap();
        let read = decipher(&format!("{}\n", line.expose_secret())).unwrap();
        assert_eq!(serde_json::to_value(&read).unwrap(), serde_json::to_value(seed).unwrap());
    }
}

#[test]
fn a_line_has_room_beside_the_address_of_the_seed() {
    // 512 characters hold this line and cloud-init's address in base64, the UUID and the names of the fields, if the
    // service's address has no more than this.
    for (longest, pins) in [(50, false), (28, true)] {
        let url = format!("https://{}:8444", "a".repeat(longest));
        let seed = if pins { pinned(&url) } else { seed(&url) };
        let line = engrave(&seed).unwrap().expose_secret().len().div_ceil(3) * 4;
        let other = format!("ds=nocloud-net;s={url}/v1/nocloud/{}/", "b".repeat(22)).len().div_ceil(3) * 4;
        let rest = "uuid=278caaf8-6ca2-4a15-9b2a-b9814b29fae7,serial=,family=,base64=1".len();
        assert!(line + other + rest <= 512, "{}", line + other + rest);
    }
}

#[test]
fn what_does_not_fit_is_not_written() {
    let changes: [fn(&mut Seed); 7] = [
        |seed| seed.url = "https://a;b".to_owned(),
        |seed| seed.url.clear(),
        |seed| seed.id = "x".to_owned(),
        |seed| seed.token = "guess".to_owned().into(),
        |seed| seed.authority = "-----BEGIN CERTIFICATE-----".to_owned(),
        |seed| seed.version = 2,
        |seed| seed.agent = Some("any".to_owned()),
    ];
    for change in changes {
        let mut seed = seed("https://boot");
        change(&mut seed);
        assert!(engrave(&seed).is_none(), "{seed:?}");
    }
}

proptest! {
    #[test]
    fn row_13_whatever_stands_in_the_firmware_is_read_without_harm(text in ".{0,300}", tail in "[ -~]{0,200}") {
        for line in [text.clone(), format!("{ENGRAVED}{text}"), format!("{ENGRAVED}{tail}")] {
            if let Some(seed) = decipher(&line) {
                prop_assert_eq!(engrave(&seed).map(|line| line.expose_secret().to_owned()), Some(line.trim_end().to_owned()));
            }
        }
    }

    #[test]
    fn row_13_no_address_adds_a_field(url in ".{0,80}") {
        let Some(line) = engrave(&seed(&url)) else { return Ok(()) };
        let line = line.expose_secret();
        prop_assert_eq!(line.split(';').count(), 6);
        prop_assert!(line.bytes().all(|byte| byte.is_ascii_graphic() && byte != b','));
        prop_assert_eq!(decipher(line).unwrap().url, url);
    }

    #[test]
    fn row_13_seeds_of_any_numbers_come_back(id: [u8; 16], token: [u8; 32], host in "[a-z0-9.-]{1,40}") {
        let mut before = seed(&format!("https://{host}:1"));
        (before.id, before.token) = (uuid(&id), hex(&token).into());
        let read = decipher(engrave(&before).unwrap().expose_secret()).unwrap();
        prop_assert_eq!((read.id, read.url), (before.id, before.url));
        prop_assert_eq!(read.token.expose_secret(), before.token.expose_secret());
    }
}
