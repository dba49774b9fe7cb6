//! What a burst costs the API server itself: the part of its time that no operator can take away.
//!
//! The yardstick of a burst is creation, and what an operator does to objects is mostly change, which costs the server
//! about twice as much: it reads, decodes and checks what was there too. So the server's own work for a burst, spread over
//! all cores, can take longer than the yardstick's bar. A burst's figure is to be read next to this one.

use anyhow::{Context, Result};
use testenv::ControlPlane;

/// What the server calls the processor time it has used.
const SECONDS: &str = "process_cpu_seconds_total ";

/// Seconds of processor time that the API server has used so far.
pub(crate) async fn processor_seconds(plane: &ControlPlane) -> Result<f64> {
    let metrics = plane.client().request_text(http::Request::get("/metrics").body(Vec::new())?).await?;
    read(&metrics).context("the API server tells no processor time")
}

fn read(metrics: &str) -> Option<f64> {
    metrics.lines().find_map(|line| line.strip_prefix(SECONDS)?.trim().parse().ok())
}

/// How long the server takes for what has cost it `used` if it has every core for itself.
pub(crate) fn at_best(used: f64) -> Result<f64> {
    let cores = u32::try_from(std::thread::available_parallelism()?.get())?;
    Ok(used / f64::from(cores))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_time_is_found_among_what_a_server_tells() {
        let metrics = "# TYPE process_cpu_seconds_total counter\nprocess_cpu_seconds_total 12.5\nprocess_open_fds 3\n";
        assert_eq!(read(metrics), Some(12.5));
        assert_eq!(read("process_open_fds 3\n"), None);
    }
}
