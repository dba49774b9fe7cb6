//! Disks and CD drives in a configuration.

use std::collections::BTreeMap;

use super::Config;

/// A drive's line taken apart: its file and its options.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Drive {
    pub(crate) file: String,
    pub(crate) options: BTreeMap<String, String>,
}

impl Drive {
    /// Takes a checked line apart.
    pub(crate) fn parse(text: &str) -> Self {
        let (mut file, mut options) = (String::new(), BTreeMap::new());
        for part in text.split(',').filter(|part| !part.is_empty()) {
            match part.split_once('=') {
                Some(("file" | "volume", value)) => value.clone_into(&mut file),
                Some((key, value)) => {
                    options.insert(key.to_owned(), value.to_owned());
                }
                None => part.clone_into(&mut file),
            }
        }
        Self { file, options }
    }

    /// Puts it together again.
    pub(crate) fn print(&self) -> String {
        let options = self.options.iter().map(|(key, value)| format!("{key}={value}"));
        std::iter::once(self.file.clone()).chain(options).collect::<Vec<_>>().join(",")
    }

    /// Its storage and the name of its volume there.
    pub(crate) fn volume(&self) -> Option<(&str, &str)> {
        self.file.split_once(':').filter(|_| !self.file.starts_with('/'))
    }

    /// Whether it is the drive that cloud-init's settings are written to.
    pub(crate) fn is_cloud_init(&self) -> bool {
        self.volume().is_some_and(|(_, name)| {
            let file = name.rsplit('/').next().unwrap_or(name);
            name == "cloudinit" || file.contains("-cloudinit")
        })
    }

    /// Whether it is a CD drive, the one of cloud-init included.
    pub(crate) fn is_cd(&self) -> bool {
        self.options.get("media").is_some_and(|media| media == "cdrom") || self.is_cloud_init()
    }

    /// A CD drive that is not cloud-init's.
    pub(crate) fn is_plain_cd(&self) -> bool {
        self.is_cd() && !self.is_cloud_init()
    }

    /// Its size in bytes.
    pub(crate) fn size(&self) -> Option<u64> {
        parse_size(self.options.get("size")?)
    }
}

const STEMS: [(&str, u32); 4] = [("ide", 4), ("scsi", 31), ("virtio", 16), ("sata", 6)];

/// Whether an option is a drive.
pub(crate) fn is_drive(name: &str) -> bool {
    drive_order(name).is_some()
}

/// Where a drive comes in the order in which the server goes through them.
pub(crate) fn drive_order(name: &str) -> Option<u32> {
    match name {
        "efidisk0" => return Some(1_000),
        "tpmstate0" => return Some(1_001),
        _ => {}
    }
    STEMS.iter().zip(0..).find_map(|((stem, count), rank)| {
        let number = name.strip_prefix(stem)?;
        let index: u32 = number.parse().ok().filter(|index: &u32| index.to_string() == number)?;
        (index < *count).then_some(rank * 100 + index)
    })
}

impl Config {
    /// Its drives, in the server's order.
    pub(crate) fn drives(&self) -> Vec<(String, Drive)> {
        let mut drives: Vec<(u32, String, Drive)> = self
            .options
            .iter()
            .filter_map(|(name, value)| Some((drive_order(name)?, name.clone(), Drive::parse(value))))
            .collect();
        drives.sort_by_key(|(order, _, _)| *order);
        drives.into_iter().map(|(_, name, drive)| (name, drive)).collect()
    }

    /// Volumes that are no drive any more.
    pub(crate) fn unused(&self) -> Vec<(String, Drive)> {
        let unused = self.options.iter().filter(|(name, _)| name.starts_with("unused"));
        unused.map(|(name, value)| (name.clone(), Drive::parse(value))).collect()
    }

    /// Keeps a volume that is no drive any more.
    pub(crate) fn add_unused(&mut self, volume: &str) {
        if self.unused().iter().any(|(_, drive)| drive.file == volume) {
            return;
        }
        let free = (0_u32..256).map(|index| format!("unused{index}")).find(|name| !self.options.contains_key(name));
        if let Some(name) = free {
            self.set(&name, volume);
        }
    }

    /// The disk it boots from.
    pub(crate) fn boot_disk(&self) -> Option<(String, Drive)> {
        let drives = self.drives();
        let find = |name: &String| drives.iter().find(|(known, drive)| known == name && !drive.is_cd()).cloned();
        boot_order(self.get("boot")).iter().find_map(find)
    }

    /// What it boots from when nobody says: the first disk, the first CD drive, the first network card.
    pub(crate) fn default_boot_order(&self) -> Vec<String> {
        let drives = self.drives();
        let bootable = |name: &str| !matches!(name, "efidisk0" | "tpmstate0");
        let first = |cd: bool| {
            let found = drives.iter().find(|(name, drive)| bootable(name) && drive.is_cd() == cd);
            found.map(|(name, _)| name.clone())
        };
        let card = self.options.keys().find(|name| is_card(name)).cloned();
        first(false).into_iter().chain(first(true)).chain(card).collect()
    }
}

/// Whether an option is a network card.
fn is_card(name: &str) -> bool {
    name.strip_prefix("net").is_some_and(|number| !number.is_empty() && number.bytes().all(|b| b.is_ascii_digit()))
}

/// The devices of a `boot` line.
pub(crate) fn boot_order(boot: Option<&str>) -> Vec<String> {
    let order = boot.and_then(|text| text.strip_prefix("order="));
    order
        .into_iter()
        .flat_map(|list| list.split([';', ',']))
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// The `boot` line of devices.
pub(crate) fn print_boot_order(devices: &[String]) -> String {
    if devices.is_empty() { String::new() } else { format!("order={}", devices.join(";")) }
}

/// A size with its unit, in bytes.
pub(crate) fn parse_size(text: &str) -> Option<u64> {
    let (number, shift) = match text.chars().last()? {
        'K' => (&text[..text.len() - 1], 10),
        'M' => (&text[..text.len() - 1], 20),
        'G' => (&text[..text.len() - 1], 30),
        'T' => (&text[..text.len() - 1], 40),
        _ => (text, 0),
    };
    let (whole, part) = number.split_once('.').unwrap_or((number, "0"));
    let unit = 1_u64 << shift;
    let digits = u32::try_from(part.len()).ok()?;
    let part = part.parse::<u64>().ok()?.checked_mul(unit)? / 10_u64.checked_pow(digits)?;
    whole.parse::<u64>().ok()?.checked_mul(unit)?.checked_add(part)
}

/// A size in the largest unit that leaves nothing over.
pub(crate) fn format_size(bytes: u64) -> String {
    let fits = [(40, 'T'), (30, 'G'), (20, 'M'), (10, 'K')]
        .into_iter()
        .find(|(shift, _)| bytes > 0 && bytes.is_multiple_of(1 << shift));
    fits.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}
