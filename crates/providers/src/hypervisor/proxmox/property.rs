//! Property strings (`virtio=BC:24:11:…,bridge=vmbr0,tag=5`): taken apart, changed in one place, put together again.

use std::fmt;

/// A list of `key=value` parts, of which the first may lack its key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Property(Vec<(Option<String>, String)>);

impl Property {
    pub(super) fn parse(text: &str) -> Self {
        let part = |part: &str| match part.split_once('=') {
            Some((key, value)) => (Some(key.to_owned()), value.to_owned()),
            None => (None, part.to_owned()),
        };
        Self(text.trim().split(',').filter(|text| !text.is_empty()).map(part).collect())
    }

    /// The value without a key, or with `key`.
    pub(super) fn main(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name.as_deref().is_none_or(|name| name == key)).map(|(_, value)| value.as_str())
    }

    pub(super) fn get(&self, key: &str) -> Option<&str> {
        self.0.iter().find(|(name, _)| name.as_deref() == Some(key)).map(|(_, value)| value.as_str())
    }

    pub(super) fn parts(&self) -> impl Iterator<Item = (Option<&str>, &str)> {
        self.0.iter().map(|(name, value)| (name.as_deref(), value.as_str()))
    }

    /// The same with `key` set to `value`, where it stands or at the end; `None` takes it out.
    pub(super) fn with(mut self, key: &str, value: Option<&str>) -> Self {
        let at = self.0.iter().position(|(name, _)| name.as_deref() == Some(key));
        match (at, value) {
            (Some(at), Some(value)) => value.clone_into(&mut self.0[at].1),
            (Some(at), None) => drop(self.0.remove(at)),
            (None, Some(value)) => self.0.push((Some(key.to_owned()), value.to_owned())),
            (None, None) => {}
        }
        self
    }
}

impl fmt::Display for Property {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let part = |(key, value): &(Option<String>, String)| match key {
            Some(key) => format!("{key}={value}"),
            None => value.clone(),
        };
        f.write_str(&self.0.iter().map(part).collect::<Vec<_>>().join(","))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_network_device_keeps_its_address_when_it_is_plugged_elsewhere() {
        let device = Property::parse("virtio=BC:24:11:16:0F:29,bridge=vmbr0,firewall=1");
        let moved = device.with("bridge", Some("vmbr1")).with("tag", Some("50"));
        assert_eq!(moved.to_string(), "virtio=BC:24:11:16:0F:29,bridge=vmbr1,firewall=1,tag=50");
        assert_eq!(moved.with("tag", None).to_string(), "virtio=BC:24:11:16:0F:29,bridge=vmbr1,firewall=1");
    }

    #[test]
    fn the_part_without_a_key_is_the_main_one() {
        let drive = Property::parse("store:101/vm-101-cloudinit.qcow2,media=cdrom,size=4M");
        assert_eq!(drive.main("file"), Some("store:101/vm-101-cloudinit.qcow2"));
        assert_eq!(drive.get("size"), Some("4M"));
        assert_eq!(Property::parse("enabled=1,type=virtio").main("enabled"), Some("1"));
        assert_eq!(Property::parse(" ").main("enabled"), None);
    }
}
