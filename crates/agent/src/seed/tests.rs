//! Seeds that are good, and everything that can be wrong with one.

use rstest::rstest;
use secrecy::ExposeSecret;
use serde_json::json;

use super::*;

fn good() -> Value {
    json!({
        "version": 1,
        "url": "https://10.0.0.1:8444",
        "authority": "-----BEGIN CERTIFICATE-----",
        "id": "5d1d9be8-0000-4000-8000-000000000001",
        "token": "canary",
        "machine": "278caaf8-6ca2-4a15-9b2a-b9814b29fae7",
    })
}

fn complaint(seed: &Value) -> String {
    let error = parse(seed.to_string().as_bytes()).unwrap_err().to_string();
    assert!(!error.contains("canary"), "{error}");
    error
}

#[test]
fn a_good_seed_is_read() {
    let seed = parse(good().to_string().as_bytes()).unwrap();
    assert_eq!(seed.token.expose_secret(), "canary");
    assert_eq!(place(&seed.url), Some(("10.0.0.1".to_owned(), 8444)));
}

#[rstest]
#[case("version", json!(2), "field version of the seed must be 1: use an image")]
#[case("version", json!("1"), "field version")]
#[case("url", json!("http://10.0.0.1"), "field url of the seed must be https://host or https://host:port: correct boot")]
#[case("authority", json!(7), "field authority of the seed must be a text")]
#[case("id", json!("../../x"), "field id of the seed must be a UUID")]
#[case("token", json!(""), "field token of the seed must be a text")]
#[case("token", json!(["canary"]), "field token of the seed must be a text")]
#[case("machine", json!("00000000-0000-0000-0000-000000000000"), "field machine of the seed must be a UUID")]
#[case("agent", json!("canary"), "field agent of the seed must be a SHA-256")]
#[case("agent", json!("BA7816BF".repeat(8)), "field agent of the seed must be a SHA-256")]
#[case("agent", json!(null), "field agent of the seed must be a SHA-256")]
#[case("insecure", json!(true), "a field \"insecure\" that is not known")]
fn a_bad_field_is_named_with_a_remedy(#[case] field: &str, #[case] value: Value, #[case] says: &str) {
    let mut seed = good();
    seed[field] = value;
    let said = complaint(&seed);
    assert!(said.contains(says), "{said}");
}

#[test]
fn a_seed_may_pin_the_agent() {
    assert_eq!(parse(good().to_string().as_bytes()).unwrap().agent, None);
    let mut seed = good();
    seed["agent"] = json!("0123456789abcdef".repeat(4));
    assert_eq!(json!(parse(seed.to_string().as_bytes()).unwrap().agent), seed["agent"]);
}

#[test]
fn every_field_is_needed() {
    for field in ["version", "url", "authority", "id", "token", "machine"] {
        let mut seed = good();
        seed.as_object_mut().unwrap().remove(field);
        assert!(complaint(&seed).contains(&format!("field {field} ")), "{field}");
    }
}

#[test]
fn what_is_no_json_shows_where_and_not_what() {
    let said = parse(b"{\"token\": \"canary\" x").unwrap_err().to_string();
    assert!(said.contains("line 1, column") && !said.contains("canary"), "{said}");
}

#[rstest]
#[case("https://bootstrap.example.com", Some(("bootstrap.example.com", 443)))]
#[case("https://bootstrap.example.com:8444/", Some(("bootstrap.example.com", 8444)))]
#[case("https://[fd00::1]:8444", Some(("fd00::1", 8444)))]
#[case("https://user@host", None)]
#[case("https://host:0", None)]
#[case("https://host:", None)]
#[case("https://host:99999", None)]
#[case("https://host/path", None)]
#[case("https://host?x=1", None)]
#[case("host:8444", None)]
#[case("", None)]
fn a_place_is_a_host_and_a_port(#[case] url: &str, #[case] expected: Option<(&str, u16)>) {
    assert_eq!(place(url), expected.map(|(host, port)| (host.to_owned(), port)), "{url}");
}

#[test]
fn a_seed_is_read_from_a_directory_or_an_image_and_a_missing_one_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let missing = read(folder.path()).unwrap_err().to_string();
    assert!(missing.contains(&folder.path().display().to_string()), "{missing}");
    std::fs::write(folder.path().join(protocol::FILE), good().to_string()).unwrap();
    assert_eq!(read(folder.path()).unwrap().id, good()["id"]);
    let image = folder.path().join("no.iso");
    std::fs::write(&image, vec![0; 100_000]).unwrap();
    assert!(matches!(read(&image), Err(FindError::Image { source: IsoError::NoImage, .. })));
    std::fs::write(&image, iso::tests::image(&[("meta-data", b"x")])).unwrap();
    assert!(matches!(read(&image), Err(FindError::Image { source: IsoError::NoFile(_), .. })));
    std::fs::write(&image, iso::tests::image(&[(protocol::FILE, good().to_string().as_bytes())])).unwrap();
    assert_eq!(read(&image).unwrap().id, good()["id"]);
}

/// A seed as the firmware holds it.
fn line() -> String {
    let mut fields: Seed = parse(good().to_string().as_bytes()).unwrap();
    fields.authority = format!("{}{}", protocol::PIN, "A".repeat(43));
    fields.token = "0123456789abcdef".repeat(4).into();
    protocol::engrave(&fields).unwrap().expose_secret().to_owned()
}

#[test]
fn a_seed_in_the_firmware_is_found_before_any_medium_and_kept_from_other_users() {
    use std::os::unix::fs::PermissionsExt as _;

    let dmi = tempfile::tempdir().unwrap();
    let family = dmi.path().join("product_family");
    std::fs::write(&family, format!("{}\n", line())).unwrap();
    for seed in [find(dmi.path()).unwrap(), read(dmi.path()).unwrap()] {
        assert_eq!((seed.id.as_str(), seed.url.as_str()), (good()["id"].as_str().unwrap(), "https://10.0.0.1:8444"));
    }
    assert_eq!(std::fs::metadata(&family).unwrap().permissions().mode() & 0o777, 0o400);
}

#[test]
fn a_damaged_seed_in_the_firmware_is_said_and_a_strange_family_is_left_alone() {
    use std::os::unix::fs::PermissionsExt as _;

    let dmi = tempfile::tempdir().unwrap();
    let family = dmi.path().join("product_family");
    std::fs::write(&family, &line()[..60]).unwrap();
    assert!(matches!(find(dmi.path()), Err(FindError::Seed(SeedError::Line))));
    std::fs::set_permissions(&family, std::fs::Permissions::from_mode(0o644)).unwrap();
    std::fs::write(&family, "Virtual Machine\n").unwrap();
    assert!(matches!(read(dmi.path()), Err(FindError::Read { .. })));
    assert_eq!(std::fs::metadata(&family).unwrap().permissions().mode() & 0o777, 0o644);
}
