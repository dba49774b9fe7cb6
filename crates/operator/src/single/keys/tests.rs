//! Keys stay what they are, and only their owner reads them.

use std::os::unix::fs::PermissionsExt as _;
use std::path::PathBuf;

use jiff::{SignedDuration, Timestamp};
use secrecy::ExposeSecret as _;

use super::*;

fn now() -> Timestamp {
    Timestamp::from_second(1_800_000_000).unwrap()
}

fn place() -> (tempfile::TempDir, PathBuf) {
    let directory = tempfile::tempdir().unwrap();
    let folder = directory.path().join("pki");
    (directory, folder)
}

#[test]
fn the_second_start_finds_the_keys_of_the_first() {
    let (_directory, folder) = place();
    let (first, second) =
        (Keys::load_or_make(&folder, now()).unwrap(), Keys::load_or_make(&folder, now() + year(8)).unwrap());
    assert_eq!(first.certificate, second.certificate);
    assert_eq!(first.key.serialize_pem(), second.key.serialize_pem());
    assert_eq!(first.token.expose_secret(), second.token.expose_secret());
    assert_eq!(first.accounts.expose_secret(), second.accounts.expose_secret());
}

fn year(years: i64) -> SignedDuration {
    SignedDuration::from_hours(24 * 365 * years)
}

#[test]
fn an_authority_that_ends_soon_is_made_anew_and_the_token_stays() {
    let (_directory, folder) = place();
    let first = Keys::load_or_make(&folder, now()).unwrap();
    let later = Keys::load_or_make(&folder, now() + year(9) + year(1) / 2).unwrap();
    assert_ne!(first.certificate, later.certificate);
    assert_eq!(first.token.expose_secret(), later.token.expose_secret());
    assert_eq!(Keys::load_or_make(&folder, now() + year(10)).unwrap().certificate, later.certificate);
}

#[test]
fn only_their_owner_reads_them() {
    let (_directory, folder) = place();
    Keys::load_or_make(&folder, now()).unwrap();
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&folder), 0o700);
    let names: Vec<PathBuf> = fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    assert_eq!(names.len(), 4);
    for path in names {
        assert_eq!(mode(&path), 0o600, "{}", path.display());
    }
}

#[test]
fn a_damaged_file_is_named_and_left_as_it_is() {
    let (kubeconfig, accounts) = ("copies of the kubeconfig", "tokens of ServiceAccounts");
    for (name, lost) in [(CERTIFICATE, kubeconfig), (KEY, kubeconfig), (TOKEN, kubeconfig), (ACCOUNTS, accounts)] {
        let (_directory, folder) = place();
        let first = Keys::load_or_make(&folder, now()).unwrap();
        fs::write(folder.join(name), "half").unwrap();
        let refused = Keys::load_or_make(&folder, now()).err().unwrap().to_string();
        let said = format!("{} is damaged (", folder.join(name).display());
        assert!(refused.starts_with(&said) && refused.contains("or remove it to have a new one made"), "{refused}");
        assert!(refused.ends_with(&format!("; {lost} do not work any more then")), "{refused}");
        assert_eq!(fs::read_to_string(folder.join(name)).unwrap(), "half");
        fs::remove_file(folder.join(name)).unwrap();
        let new = Keys::load_or_make(&folder, now()).unwrap();
        let same = (
            new.certificate == first.certificate && new.token.expose_secret() == first.token.expose_secret(),
            new.accounts.expose_secret() == first.accounts.expose_secret(),
        );
        assert_eq!(same, (lost == accounts, lost == kubeconfig), "{name}: something else was lost");
    }
}

#[test]
fn a_certificate_of_another_key_is_refused() {
    let ((_one, folder), (_other, elsewhere)) = (place(), place());
    Keys::load_or_make(&folder, now()).unwrap();
    Keys::load_or_make(&elsewhere, now()).unwrap();
    fs::copy(elsewhere.join(KEY), folder.join(KEY)).unwrap();
    let refused = Keys::load_or_make(&folder, now()).err().unwrap().to_string();
    assert!(refused.contains("ca.key is not its key"), "{refused}");
}
