//! What the kernel knows about this process, read from `/proc` at each scrape.

use std::fmt;
use std::fs;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric};
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::gauge::ConstGauge;

use super::catalogue::{CPU_SECONDS, Entry, OPEN_FDS, RESIDENT_MEMORY, START_TIME};

/// Clock ticks per second in `/proc`: fixed at 100 for user space on every architecture we build for.
const TICKS: f64 = 100.0;

/// Leaves out what cannot be read (another kernel, a hidden `/proc`) rather than inventing a zero.
#[derive(Debug)]
pub(super) struct Host;

impl Collector for Host {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let stat = fs::read_to_string("/proc/self/stat").ok();
        let stat = stat.as_deref().and_then(Stat::parse);
        let status = fs::read_to_string("/proc/self/status").ok();
        if let Some(bytes) = status.as_deref().and_then(resident) {
            put(&mut encoder, RESIDENT_MEMORY, &ConstGauge::new(bytes))?;
        }
        if let Some(stat) = &stat {
            put(&mut encoder, CPU_SECONDS, &ConstCounter::new(stat.cpu))?;
        }
        if let Some(open) = fs::read_dir("/proc/self/fd").ok().map(Iterator::count) {
            put(&mut encoder, OPEN_FDS, &ConstGauge::new(i64::try_from(open).unwrap_or(i64::MAX)))?;
        }
        let boot = fs::read_to_string("/proc/stat").ok();
        if let (Some(stat), Some(boot)) = (stat, boot.as_deref().and_then(boot_time)) {
            put(&mut encoder, START_TIME, &ConstGauge::new(boot + stat.start))?;
        }
        Ok(())
    }
}

fn put(encoder: &mut DescriptorEncoder<'_>, entry: Entry, metric: &impl EncodeMetric) -> fmt::Result {
    let help = format!("{}.", entry.help);
    metric.encode(encoder.encode_descriptor(entry.stem(), &help, None, metric.metric_type())?)
}

/// Seconds of processor time used, and seconds between the machine's start and ours.
struct Stat {
    cpu: f64,
    start: f64,
}

impl Stat {
    /// The program's name, the second field, may hold blanks and brackets: count from the last bracket on.
    fn parse(stat: &str) -> Option<Self> {
        let fields: Vec<&str> = stat.rsplit_once(')')?.1.split_whitespace().collect();
        let ticks = |index: usize| fields.get(index)?.parse::<f64>().ok();
        Some(Self { cpu: (ticks(11)? + ticks(12)?) / TICKS, start: ticks(19)? / TICKS })
    }
}

fn resident(status: &str) -> Option<i64> {
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    line.trim().strip_suffix("kB")?.trim().parse::<i64>().ok().map(|kib| kib * 1024)
}

fn boot_time(stat: &str) -> Option<f64> {
    stat.lines().find_map(|line| line.strip_prefix("btime "))?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_name_with_brackets_does_not_shift_the_fields() {
        let stat = "7 (a) b (c) S 1 7 7 0 -1 4194560 1 2 3 4 150 50 0 0 20 0 1 0 4200 1 2";
        let parsed = Stat::parse(stat).unwrap();
        assert!((parsed.cpu - 2.0).abs() < 1e-9);
        assert!((parsed.start - 42.0).abs() < 1e-9);
    }
}
