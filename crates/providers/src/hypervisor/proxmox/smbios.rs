//! The serial number that leads cloud-init to its seed, among the other SMBIOS fields.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use secrecy::{ExposeSecret, SecretString};

use super::property::Property;
use crate::hypervisor::id::Uuid;

/// The most that Proxmox takes for all fields together.
pub(super) const LONGEST: usize = 512;
/// What our serial numbers begin with.
const OURS: &[u8] = b"ds=nocloud-net;";

/// The fields with this serial number; the machine's UUID and whatever else is set stay.
pub(super) fn with_serial(current: Option<&str>, serial: &SecretString) -> Option<SecretString> {
    let fields = kept(&Property::parse(current.unwrap_or_default()));
    let serial = STANDARD.encode(serial.expose_secret());
    let text = fields.with("serial", Some(&serial)).with("base64", Some("1")).to_string();
    (text.len() <= LONGEST).then(|| text.into())
}

/// The fields with this UUID; whatever else is set stays.
pub(super) fn with_uuid(current: Option<&str>, uuid: &Uuid) -> String {
    Property::parse(current.unwrap_or_default()).with("uuid", Some(uuid.as_str())).to_string()
}

/// The fields without our serial number; `None` if there is none.
pub(super) fn without_serial(current: Option<&str>) -> Option<String> {
    let fields = Property::parse(current?);
    let serial = STANDARD.decode(fields.get("serial")?).ok()?;
    serial.starts_with(OURS).then(|| fields.with("serial", None).to_string())
}

/// The fields but the serial number, all in base64 as one flag speaks for all; the UUID never is.
fn kept(fields: &Property) -> Property {
    let encoded = fields.get("base64") == Some("1");
    let mut kept = Property::default();
    for (key, value) in fields.parts() {
        match key {
            Some("uuid") => kept = kept.with("uuid", Some(value)),
            Some("serial" | "base64") | None => {}
            Some(key) if encoded => kept = kept.with(key, Some(value)),
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
        let text = with_serial(Some(current), &serial()).unwrap();
        assert_eq!(
            text.expose_secret(),
            "uuid=278caaf8-6ca2-4a15-9b2a-b9814b29fae7,product=SHlwZXJGbGVldA==,\
             serial=ZHM9bm9jbG91ZC1uZXQ7cz1odHRwOi8vMTAuMC4wLjE6ODA4MC9zZWVkL2FiYy8=,base64=1"
        );
        let again = with_serial(Some(text.expose_secret()), &serial()).unwrap();
        assert_eq!(again.expose_secret().len(), text.expose_secret().len());
        assert_eq!(
            without_serial(Some(text.expose_secret())).unwrap(),
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
        assert_eq!(without_serial(Some("uuid=a,serial=QUJD,base64=1")), None);
        assert_eq!(without_serial(Some("uuid=a")), None);
        assert_eq!(without_serial(None), None);
    }

    #[test]
    fn what_is_too_long_is_not_made() {
        assert!(with_serial(Some("uuid=a"), &"x".repeat(400).into()).is_none());
        assert!(with_serial(Some("uuid=a"), &"x".repeat(330).into()).is_some());
    }
}
