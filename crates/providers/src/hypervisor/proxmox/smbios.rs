//! What our guests read from their SMBIOS fields: the serial number that leads cloud-init to its seed, and the product
//! family that is our agent's.
//!
//! Other fields stay as they are. Values are in base64, whose letters mean nothing to whoever takes the fields apart.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};

use super::property::Property;
use crate::hypervisor::id::Uuid;

/// The most that Proxmox takes for all fields together.
pub(super) const LONGEST: usize = 512;
/// What our values begin with, by field.
const OURS: [(&str, &[u8]); 2] = [("serial", b"ds=nocloud-net;"), ("family", b"hf1;")];

/// The fields with these values of ours; the machine's UUID and whatever else is set stay.
pub(super) fn with(
    current: Option<&str>,
    serial: Option<&SecretString>,
    letter: Option<&SecretString>,
) -> Option<SecretString> {
    let mut fields = encoded(&Property::parse(current.unwrap_or_default()));
    for (name, value) in [("serial", serial), ("family", letter)] {
        if let Some(value) = value {
            fields = fields.with(name, Some(&STANDARD.encode(value.expose_secret())));
        }
    }
    // Last, where it stays when the fields are read and written again.
    let text = fields.with("base64", Some("1")).to_string();
    (text.len() <= LONGEST).then(|| text.into())
}

/// The fields with this UUID; whatever else is set stays.
pub(super) fn with_uuid(current: Option<&str>, uuid: &Uuid) -> String {
    Property::parse(current.unwrap_or_default()).with("uuid", Some(uuid.as_str())).to_string()
}

/// The fields without our values; `None` if there are none.
pub(super) fn without(current: Option<&str>) -> Option<String> {
    let fields = Property::parse(current?);
    let is_ours = |name: &str, ours: &[u8]| {
        fields.get(name).and_then(|value| STANDARD.decode(value).ok()).is_some_and(|value| value.starts_with(ours))
    };
    let found: Vec<&str> = OURS.iter().filter(|(name, ours)| is_ours(name, ours)).map(|(name, _)| *name).collect();
    if found.is_empty() {
        return None;
    }
    Some(found.into_iter().fold(fields.clone(), |fields, name| fields.with(name, None)).to_string())
}

/// The fields, all in base64 as one flag speaks for all, but for the UUID, which never is, and the flag itself.
fn encoded(fields: &Property) -> Property {
    let is_encoded = fields.get("base64") == Some("1");
    let mut kept = Property::default();
    for (key, value) in fields.parts() {
        match key {
            Some("uuid") => kept = kept.with("uuid", Some(value)),
            Some("base64") | None => {}
            Some(key) if is_encoded => kept = kept.with(key, Some(value)),
            Some(key) => kept = kept.with(key, Some(&STANDARD.encode(value))),
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    fn serial() -> SecretString {
        "ds=nocloud-net;s=http://10.0.0.1:8080/seed/abc/".to_owned().into()
    }

    #[test]
    fn the_uuid_is_kept_and_other_fields_follow_the_flag() {
        let current = "uuid=278caaf8-6ca2-4a15-9b2a-b9814b29fae7,product=HyperFleet";
        let text = with(Some(current), Some(&serial()), None).unwrap();
        assert_eq!(
            text.expose_secret(),
            "uuid=278caaf8-6ca2-4a15-9b2a-b9814b29fae7,product=SHlwZXJGbGVldA==,\
             serial=ZHM9bm9jbG91ZC1uZXQ7cz1odHRwOi8vMTAuMC4wLjE6ODA4MC9zZWVkL2FiYy8=,base64=1"
        );
        let again = with(Some(text.expose_secret()), Some(&serial()), None).unwrap();
        assert_eq!(again.expose_secret().len(), text.expose_secret().len());
        assert_eq!(
            without(Some(text.expose_secret())).unwrap(),
            "uuid=278caaf8-6ca2-4a15-9b2a-b9814b29fae7,product=SHlwZXJGbGVldA==,base64=1"
        );
    }

    #[test]
    fn the_uuid_is_ours_and_the_rest_stays() {
        let uuid: Uuid = "5d1d9be8-1111-4222-8333-444455556666".parse().unwrap();
        assert_eq!(
            with_uuid(Some("uuid=278caaf8-6ca2-4a15-9b2a-b9814b29fae7,product=X"), &uuid),
            "uuid=5d1d9be8-1111-4222-8333-444455556666,product=X"
        );
        assert_eq!(with_uuid(None, &uuid), "uuid=5d1d9be8-1111-4222-8333-444455556666");
    }

    #[test]
    fn a_serial_number_of_others_is_left_alone() {
        assert_eq!(without(Some("uuid=a,serial=QUJD,base64=1")), None);
        assert_eq!(without(Some("uuid=a")), None);
        assert_eq!(without(None), None);
    }

    #[test]
    fn a_letter_stands_beside_the_address_and_goes_with_it() {
        let letter: SecretString = "hf1;a;b".to_owned().into();
        let both = with(Some("uuid=a,family=X"), Some(&serial()), Some(&letter)).unwrap();
        let read = Property::parse(both.expose_secret());
        assert_eq!(read.get("family"), Some("aGYxO2E7Yg=="));
        assert_eq!(
            with(Some(both.expose_secret()), Some(&serial()), Some(&letter)).unwrap().expose_secret(),
            both.expose_secret()
        );
        assert_eq!(without(Some(both.expose_secret())).unwrap(), "uuid=a,base64=1");
        let alone = with(Some("uuid=a"), None, Some(&letter)).unwrap();
        assert_eq!(alone.expose_secret(), "uuid=a,family=aGYxO2E7Yg==,base64=1");
        assert_eq!(without(Some(alone.expose_secret())).unwrap(), "uuid=a,base64=1");
    }

    proptest::proptest! {
        #[test]
        fn row_13_no_value_adds_or_changes_another_field(value in ".{0,120}", letter in ".{0,120}") {
            let (serial, line) = (value.clone().into(), letter.clone().into());
            let Some(text) = with(Some("uuid=a,product=b,sku=c"), Some(&serial), Some(&line)) else { return Ok(()) };
            let fields = Property::parse(text.expose_secret());
            let names: Vec<&str> = fields.parts().filter_map(|(name, _)| name).collect();
            proptest::prop_assert_eq!(names, ["uuid", "product", "sku", "serial", "family", "base64"]);
            proptest::prop_assert_eq!(fields.get("uuid"), Some("a"));
            let read = |name| STANDARD.decode(fields.get(name).unwrap()).unwrap();
            proptest::prop_assert_eq!((read("serial"), read("family")), (value.into_bytes(), letter.into_bytes()));
        }
    }

    #[test]
    fn what_is_too_long_is_not_made() {
        assert!(with(Some("uuid=a"), Some(&"x".repeat(400).into()), None).is_none());
        assert!(with(Some("uuid=a"), Some(&"x".repeat(330).into()), None).is_some());
    }
}
