//! Who may be powered off: the machine that the seed names, and no other.
//!
//! An agent that is started by mistake, with somebody else's seed, must not take a machine down that has nothing to do
//! with it. [`choose`] decides that once, before anything else happens.

use std::path::Path;
use std::process::{Command, Stdio};
use std::time::Duration;

use crate::uuid::is_uuid;

/// How long the system gets to power itself off.
const PATIENCE: Duration = Duration::from_secs(20);

/// What happens at the end of the agent's life.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum PowerOff {
    /// This machine is powered off: it is the seed's.
    Machine,
    /// This command is run in its place, by `/bin/sh`.
    Command(String),
    /// Nothing, and nothing else either: the seed is not this machine's.
    Nothing,
}

/// Chooses from the UUID in this machine's firmware, the one in the seed and the command that was given in place of the
/// real thing.
pub fn choose(firmware: Option<&str>, seed: Option<&str>, command: Option<&str>) -> PowerOff {
    match command {
        Some(command) => PowerOff::Command(command.to_owned()),
        None if is_ours(firmware, seed) => PowerOff::Machine,
        None => PowerOff::Nothing,
    }
}

/// Whether this machine is the one that the seed names.
pub fn is_ours(firmware: Option<&str>, seed: Option<&str>) -> bool {
    let (Some(firmware), Some(seed)) = (firmware, seed) else { return false };
    is_uuid(seed) && firmware.eq_ignore_ascii_case(seed)
}

/// The UUID in this machine's firmware, in small letters, if it can be read.
pub(crate) fn firmware(dmi: &Path) -> Option<String> {
    let text = std::fs::read_to_string(dmi.join("product_uuid")).ok()?;
    Some(text.trim().to_ascii_lowercase())
}

impl PowerOff {
    /// Does it; returns only if this machine goes on.
    pub(crate) fn carry_out(&self) {
        match self {
            Self::Nothing => {}
            Self::Command(command) => match Command::new("/bin/sh").args(["-c", command]).status() {
                Ok(status) => tracing::info!(%status, "ran the command in place of power-off"),
                Err(error) => tracing::error!(%error, "cannot run the command in place of power-off"),
            },
            Self::Machine => power_off(),
        }
    }
}

/// Twice `--force`: no service is asked, work that ignores signals delays nothing.
fn power_off() {
    tracing::info!("powering off");
    let mut order = Command::new("systemctl");
    order.args(["poweroff", "--force", "--force"]).stdin(Stdio::null());
    match order.status() {
        Ok(_) => std::thread::sleep(PATIENCE),
        Err(error) => tracing::error!(%error, "cannot run systemctl"),
    }
    tracing::error!("still here: asking the kernel");
    if let Err(error) = rustix::system::reboot(rustix::system::RebootCommand::PowerOff) {
        tracing::error!(%error, "the kernel does not power off");
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const OURS: &str = "278caaf8-6ca2-4a15-9b2a-b9814b29fae7";
    const OTHER: &str = "5d1d9be8-0000-4000-8000-000000000002";
    const BLANK: &str = "00000000-0000-0000-0000-000000000000";

    // Nothing is carried out here: a table of words.
    #[rstest]
    #[case::the_seeds_machine(Some(OURS), Some(OURS), None, PowerOff::Machine)]
    #[case::in_other_letters(Some("278CAAF8-6CA2-4A15-9B2A-B9814B29FAE7"), Some(OURS), None, PowerOff::Machine)]
    #[case::another_machine(Some(OTHER), Some(OURS), None, PowerOff::Nothing)]
    #[case::part_of_it(Some("278caaf8"), Some(OURS), None, PowerOff::Nothing)]
    #[case::no_firmware(None, Some(OURS), None, PowerOff::Nothing)]
    #[case::no_seed(Some(OURS), None, None, PowerOff::Nothing)]
    #[case::nothing_known(None, None, None, PowerOff::Nothing)]
    #[case::both_empty(Some(""), Some(""), None, PowerOff::Nothing)]
    #[case::both_blank(Some(BLANK), Some(BLANK), None, PowerOff::Nothing)]
    fn only_the_seeds_machine_is_powered_off(
        #[case] firmware: Option<&str>,
        #[case] seed: Option<&str>,
        #[case] command: Option<&str>,
        #[case] expected: PowerOff,
    ) {
        assert_eq!(choose(firmware, seed, command), expected);
        // A command takes the place of whatever would have been done.
        assert_eq!(choose(firmware, seed, Some("touch x")), PowerOff::Command("touch x".to_owned()));
    }

    #[test]
    fn a_seed_is_used_on_its_own_machine_only() {
        assert!(is_ours(Some(OURS), Some(OURS)));
        for (firmware, seed) in [(Some(OTHER), Some(OURS)), (None, Some(OURS)), (Some(OURS), None), (None, None)] {
            assert!(!is_ours(firmware, seed), "{firmware:?} {seed:?}");
        }
    }
}
