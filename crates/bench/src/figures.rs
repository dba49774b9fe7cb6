//! The figures, their bars, and how they are shown.

use std::collections::BTreeMap;
use std::io::Write;

use anyhow::{Context, Result, ensure};
use serde_json::{Map, Value, json};

/// What a figure must be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Bar {
    AtMost(f64),
    AtLeast(f64),
    Exactly(f64),
    /// Shown for comparison; depends on the machine.
    Open,
}

/// Names are a contract: dashboards and later comparisons read them.
const BARS: &[(&str, Bar)] = &[
    ("api.creates_per_s", Bar::AtLeast(5_000.0)),
    ("api.rss_10k_objects_mb", Bar::AtMost(100.0)),
    ("apiserver_real.creates_per_s", Bar::Open),
    ("claims.burst1000_cpu_s", Bar::AtMost(10.0)),
    ("claims.burst1000_over_ceiling", Bar::AtMost(1.5)),
    ("claims.burst1000_peak_rss_mb", Bar::AtMost(64.0)),
    ("claims.burst1000_creates_per_s", Bar::Open),
    ("claims.burst1000_events", Bar::Open),
    ("claims.burst1000_s", Bar::Open),
    ("claims.burst1000_server_over_ceiling", Bar::Open),
    ("claims.burst1000_writes", Bar::Open),
    ("claims.decision_p50_ms", Bar::AtMost(50.0)),
    ("claims.decision_p95_ms", Bar::AtMost(150.0)),
    ("claims.events", Bar::Open),
    ("claims.idle1000_calls_per_min", Bar::AtMost(3.0)),
    ("claims.idle1000_writes_per_min", Bar::Exactly(0.0)),
    ("claims.writes_to_gone", Bar::AtMost(8.0)),
    ("claims.writes_to_ready", Bar::AtMost(5.0)),
    ("jobs.burst1000_cpu_s", Bar::AtMost(20.0)),
    ("jobs.burst1000_creates_per_s", Bar::Open),
    ("jobs.burst1000_events", Bar::Open),
    ("jobs.burst1000_last_clone_s", Bar::Open),
    ("jobs.burst1000_over_ceiling", Bar::AtMost(1.5)),
    ("jobs.burst1000_peak_rss_mb", Bar::AtMost(96.0)),
    ("jobs.burst1000_server_over_ceiling", Bar::Open),
    ("jobs.burst1000_stored_s", Bar::Open),
    ("jobs.burst1000_writes", Bar::Open),
    ("jobs.demand_per_s", Bar::Open),
    ("jobs.demand_share", Bar::AtLeast(0.7)),
    ("jobs.warm_to_busy_p50_ms", Bar::AtMost(500.0)),
    ("jobs.webhook_to_clone_p50_ms", Bar::AtMost(50.0)),
    ("jobs.webhook_to_clone_p95_ms", Bar::AtMost(150.0)),
    ("jobs.webhooks_per_s", Bar::AtLeast(2_000.0)),
    ("proxmox.calls_per_vm_life_iso", Bar::AtMost(14.0)),
    ("proxmox.calls_per_vm_life_smbios", Bar::AtMost(11.0)),
    ("proxmox.clone200_over_serial", Bar::AtMost(1.3)),
    ("proxmox.inventory_calls_per_tick_10k", Bar::Exactly(1.0)),
    ("proxmox.rss_growth_10k_lives_mb", Bar::AtMost(8.0)),
    ("runtime.idle_rss_mb", Bar::AtMost(40.0)),
    ("runtime.noop_api_calls", Bar::Exactly(0.0)),
    ("runtime.noop_passes", Bar::Open),
    ("runtime.reconcile_share", Bar::AtLeast(0.7)),
    ("runtime.reconciles_per_s", Bar::Open),
    ("runtime.rss_10k_objects_mb", Bar::AtMost(120.0)),
    ("up.durable_creates_per_s", Bar::Open),
    ("up.idle_rss_mb", Bar::AtMost(40.0)),
    ("up.restart_10k_ms", Bar::AtMost(1_000.0)),
    ("world.virtual_hours_per_cpu_s", Bar::Open),
];

/// Measured figures by name.
#[derive(Debug, Default)]
pub(crate) struct Figures(BTreeMap<&'static str, f64>);

impl Figures {
    /// Keeps a figure and says it at once: a run takes minutes, and the table comes at its end.
    pub(crate) fn put(&mut self, name: &'static str, value: f64) {
        let _ = writeln!(std::io::stderr().lock(), "{name} {value:.2}");
        self.0.insert(name, value);
    }

    /// Adds those of a part of the run.
    pub(crate) fn take(&mut self, other: Self) {
        self.0.extend(other.0);
    }

    pub(crate) fn get(&self, name: &str) -> f64 {
        self.0.get(name).copied().unwrap_or(f64::NAN)
    }

    /// Prints the table of the figures whose names begin with `part`, writes the file, and fails if a bar is missed or a
    /// figure was not measured.
    pub(crate) fn publish(&self, part: &str) -> Result<()> {
        let mut table = format!("\n{:32} {:>12}  {:>10}\n", "figure", "measured", "bar");
        let mut missed = Vec::new();
        for (name, bar) in BARS.iter().filter(|(name, _)| name.starts_with(part)) {
            let value = self.get(name);
            let verdict = if bar.holds(value) { "" } else { "  MISSED" };
            if !bar.holds(value) {
                missed.push(*name);
            }
            table +=
                &[format!("{name:32} {value:>12.2}  {:>10}", bar.text()), verdict.to_owned(), "\n".to_owned()].concat();
        }
        std::io::stdout().lock().write_all(table.as_bytes())?;
        self.save()?;
        ensure!(missed.is_empty(), "missed: {}", missed.join(", "));
        Ok(())
    }

    /// Writes the figures beside those of other runs' names that are not ours.
    fn save(&self) -> Result<()> {
        let flat: Map<String, Value> = self.0.iter().map(|(name, value)| ((*name).to_owned(), json!(value))).collect();
        let text = serde_json::to_string_pretty(&flat)? + "\n";
        std::fs::create_dir_all("target")?;
        std::fs::write("target/bench.json", text).context("target/bench.json cannot be written")
    }
}

impl Bar {
    fn holds(self, value: f64) -> bool {
        match self {
            Self::AtMost(most) => value <= most,
            Self::AtLeast(least) => value >= least,
            Self::Exactly(number) => (value - number).abs() < f64::EPSILON,
            Self::Open => value.is_finite(),
        }
    }

    fn text(self) -> String {
        match self {
            Self::AtMost(most) => format!("<= {most}"),
            Self::AtLeast(least) => format!(">= {least}"),
            Self::Exactly(number) => format!("= {number}"),
            Self::Open => "-".to_owned(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_figure_that_was_not_measured_misses_every_bar() {
        let unmeasured = Figures::default().get("runtime.idle_rss_mb");
        for bar in [Bar::AtMost(1.0), Bar::AtLeast(0.0), Bar::Exactly(0.0), Bar::Open] {
            assert!(!bar.holds(unmeasured), "{bar:?}");
        }
    }

    #[test]
    fn bars_hold_at_their_edge() {
        assert!(Bar::AtMost(40.0).holds(40.0) && !Bar::AtMost(40.0).holds(40.1));
        assert!(Bar::AtLeast(0.7).holds(0.7) && !Bar::AtLeast(0.7).holds(0.69));
    }
}
