//! The figures about calls, as Prometheus reads them.

use std::collections::BTreeMap;

const REQUESTS: &str = "hyperfleet_provider_request_duration_seconds";
const ERRORS: &str = "hyperfleet_provider_errors_total";

/// Figures by operation, and by status or class.
#[derive(Debug, Default)]
pub(crate) struct Page {
    pub(crate) counts: BTreeMap<(String, String), u64>,
    pub(crate) seconds: BTreeMap<(String, String), f64>,
    pub(crate) errors: BTreeMap<(String, String), u64>,
}

impl Page {
    pub(crate) fn read(text: &str) -> Self {
        let mut page = Self::default();
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            // Operations have both spaces and braces in them.
            let Some((name, rest)) = line.split_once('{') else { continue };
            let Some((labels, value)) = rest.rsplit_once("} ") else { continue };
            let label = |name: &str| {
                let start = labels.find(&format!("{name}=\"")).unwrap() + name.len() + 2;
                labels[start..].split('"').next().unwrap().to_owned()
            };
            if name == format!("{REQUESTS}_count") {
                assert_eq!(label("provider"), "proxmox");
                page.counts.insert((label("operation"), label("code")), value.parse().unwrap());
            } else if name == format!("{REQUESTS}_sum") {
                page.seconds.insert((label("operation"), label("code")), value.parse().unwrap());
            } else if name == ERRORS {
                assert_eq!(label("provider"), "proxmox");
                page.errors.insert((label("operation"), label("class")), value.parse().unwrap());
            }
        }
        page
    }
}
