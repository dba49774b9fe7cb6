//! A story told again and again, with the operator dying before or after another one of its writes each time.

use std::time::Duration;

use sim::world::{Deed, Scenario, World, crash_everywhere};

use crate::promises::promises;

/// Writes that are worth a crash: leases are renewed for ever, and events are a courtesy.
fn counts(deed: &Deed) -> bool {
    let resource = deed.object.resource.as_str();
    !resource.starts_with("leases") && !resource.starts_with("events")
}

/// Tells the story with a crash at every write, to Kubernetes and to whoever else is written to. The story itself says what
/// must be so at its end; what must be so in every story is judged here.
pub(crate) fn everywhere(name: &str, story: impl AsyncFn(World)) {
    let invariants = promises();
    let scenario = Scenario { story, invariants: &invariants, counts, down: Duration::from_secs(20) };
    let report = crash_everywhere(1, &scenario);
    println!("lane: crash at every write of {name:?}: {} writes, {} runs", report.writes, report.writes * 2 + 1);
    assert!(report.failures.is_empty(), "{report}");
}
