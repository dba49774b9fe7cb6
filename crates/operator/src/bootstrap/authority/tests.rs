//! Authorities that are right, and those that are not.

use std::time::Duration;

use super::*;

const NOW: Timestamp = Timestamp::constant(1_800_000_000, 0);

fn later(days: u64) -> Timestamp {
    NOW + Duration::from_hours(24 * days)
}

fn damage(change: impl FnOnce(&mut BTreeMap<String, ByteString>)) -> String {
    let mut secret = fresh(NOW).unwrap();
    change(secret.data.as_mut().unwrap());
    Authority::read(&secret, "home", NOW).err().unwrap().to_string()
}

#[test]
fn what_was_made_reads_back_and_signs_for_years() {
    let secret = fresh(NOW).unwrap();
    for days in [0, 29, 3_600] {
        let authority = Authority::read(&secret, "home", later(days)).unwrap();
        let leaf = authority.leaf(later(days)).unwrap();
        assert!(certificate::trusted_by(&leaf, authority.certificates(), later(days)).is_some());
    }
}

#[test]
fn a_leaf_lives_for_a_month_and_is_renewed_when_a_third_is_left() {
    let authority = Authority::read(&fresh(NOW).unwrap(), "home", NOW).unwrap();
    let leaf = authority.leaf(NOW).unwrap();
    let trusted = |now| certificate::trusted_by(&leaf, authority.certificates(), now).is_some();
    assert!(trusted(NOW - Duration::from_hours(23)), "a guest's clock may be behind");
    assert!(trusted(later(29)) && !trusted(later(31)));
    assert!(!leaf.is_due(later(19)) && leaf.is_due(later(20)));
}

#[test]
fn nobody_elses_authority_is_trusted() {
    let read = || Authority::read(&fresh(NOW).unwrap(), "home", NOW).unwrap();
    let (ours, theirs) = (read(), read());
    assert!(certificate::trusted_by(&theirs.leaf(NOW).unwrap(), ours.certificates(), NOW).is_none());
}

#[test]
fn nobody_puts_another_authority_in_its_place_by_hand() {
    assert_eq!(fresh(NOW).unwrap().immutable, Some(true));
}

#[test]
fn a_damaged_authority_is_named_and_never_replaced() {
    let text = |text: &str| ByteString(text.as_bytes().to_vec());
    let other = || fresh(NOW).unwrap().data.unwrap();
    for (error, what) in [
        (damage(|entries| drop(entries.remove(CERTIFICATE))), "(entry ca.crt)"),
        (damage(|entries| drop(entries.remove(KEY))), "(entry ca.key)"),
        (damage(|entries| drop(entries.insert(KEY.to_owned(), text("garbage")))), "(entry ca.key)"),
        (damage(|entries| drop(entries.insert(CERTIFICATE.to_owned(), text("garbage")))), "do not belong together"),
        (damage(|entries| drop(entries.insert(KEY.to_owned(), other()[KEY].clone()))), "do not belong together"),
    ] {
        assert!(error.starts_with("Secret hyperfleet-bootstrap-authority in namespace home is damaged"), "{error}");
        assert!(error.contains(what), "{error}");
        assert!(!error.contains("PRIVATE"), "{error}");
    }
}
