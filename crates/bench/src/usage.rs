//! What a process has used, as the kernel counts it.

use anyhow::{Context, Result};

/// The kernel counts processor time in hundredths of a second, whatever its own clock does.
const TICKS: f64 = 100.0;

/// Seconds of processor time so far, its own and the kernel's for it.
pub(crate) fn processor_seconds(pid: u32) -> Result<f64> {
    let line = std::fs::read_to_string(format!("/proc/{pid}/stat"))?;
    ticks(&line).map(|ticks| ticks / TICKS).context("the kernel tells no processor time")
}

/// The name of a program may contain blanks and brackets; what is counted comes after the last of them.
fn ticks(line: &str) -> Option<f64> {
    let mut fields = line.rsplit_once(')')?.1.split_whitespace().skip(11);
    let mut next = || fields.next()?.parse::<f64>().ok();
    Some(next()? + next()?)
}

/// The most memory that a process ever held, in megabytes.
pub(crate) fn peak_megabytes(pid: u32) -> Result<f64> {
    let status = std::fs::read_to_string(format!("/proc/{pid}/status"))?;
    let peak =
        status.lines().find_map(|line| line.strip_prefix("VmHWM:")?.trim().split(' ').next()?.parse::<f64>().ok());
    Ok(peak.context("the kernel tells no peak of memory")? / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_with_blanks_and_brackets_does_not_shift_the_fields() {
        let line = "7 (a (strange) name) S 1 7 7 0 -1 4194560 100 0 0 0 250 50 0 0 20 0 4 0 100 0 0";
        assert_eq!(ticks(line), Some(300.0));
    }

    #[test]
    fn we_have_used_something_ourselves() {
        let pid = std::process::id();
        assert!(processor_seconds(pid).unwrap() >= 0.0 && peak_megabytes(pid).unwrap() > 1.0);
    }
}
