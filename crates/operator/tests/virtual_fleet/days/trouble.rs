//! What goes wrong in a day: one thing after the other, drawn from the world's dice.

use std::time::Duration;

use jiff::SignedDuration;
use sim::github;
use sim::proxmox::{FaultId, FaultRule};
use sim::world::{Dice, Direction, Storm, World};

use crate::town::Town;

/// One kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trouble {
    /// Requests are lost, doubled and late; processes stand still and die; ways are cut.
    Storm,
    /// Tasks of the hypervisor fail, its locks time out, its answers are errors.
    Hypervisor,
    /// The platform answers errors, loses answers, counts requests, leaves runners out of its listings.
    Platform,
    /// A replica dies, and comes back after a while.
    Crash,
    /// A replica does not reach the API server, the hypervisor or the platform.
    Partition,
    /// A replica's clock is set, by up to two days.
    Clock,
    /// The API server forgets its past and cuts every stream.
    Compaction,
    /// A machine is switched off while it works.
    Machine,
}

/// All of them.
const ALL: [Trouble; 8] = [
    Trouble::Storm,
    Trouble::Hypervisor,
    Trouble::Platform,
    Trouble::Crash,
    Trouble::Partition,
    Trouble::Clock,
    Trouble::Compaction,
    Trouble::Machine,
];

const REPLICAS: [&str; 2] = ["operator", "replica"];
const FAR: [&str; 3] = ["kube", "pve", "ghes"];

impl Trouble {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        *dice.pick(&ALL).unwrap()
    }

    /// Lets it happen, and returns when it is over. Whether a machine was lost.
    pub(crate) async fn happen(self, world: &World, town: &Town, dice: &mut Dice) -> bool {
        let length = dice.between(Duration::from_secs(10), Duration::from_mins(4));
        let replica = *dice.pick(&REPLICAS).unwrap();
        match self {
            // Clocks that are set stay so after a storm; here they are set right again, by `Clock`.
            Self::Storm => {
                let length = length.min(Duration::from_mins(2));
                world.weather_out(&Storm { jumps: 0.0, ..Storm::rough(length) }).await;
            }
            Self::Hypervisor => {
                town.pve.set_faults(hypervisor());
                world.pass(length).await;
                town.pve.set_faults(Vec::new());
            }
            Self::Platform => {
                town.github.set_faults(platform());
                world.pass(length).await;
                town.github.set_faults(Vec::new());
            }
            Self::Crash => {
                world.crash(replica);
                town.yard.guests.close(replica);
                world.pass(length).await;
                world.restart(replica);
            }
            Self::Partition => {
                let far = *dice.pick(&FAR).unwrap();
                world.partition(replica, far, Direction::Both);
                world.pass(length).await;
                world.heal(replica, far);
            }
            Self::Clock => {
                let jump = dice.between(Duration::from_secs(1), Duration::from_hours(48));
                let jump = SignedDuration::try_from(jump).unwrap();
                let jump = if dice.chance(0.5) { jump } else { -jump };
                world.turn_clock(replica, jump);
                world.pass(length).await;
                world.turn_clock(replica, -jump);
            }
            Self::Compaction => {
                world.compact("kube");
                for replica in REPLICAS {
                    world.sever(replica, "kube");
                }
            }
            Self::Machine => {
                let machines = town.machines();
                return dice.pick(&machines).is_some_and(|machine| town.pve.power_off(*machine));
            }
        }
        false
    }
}

/// Faults of a hypervisor that come and go.
fn hypervisor() -> Vec<FaultRule> {
    let often = |id| FaultRule { times: Some(0), chance: Some(0.2), ..FaultRule::new(id) };
    [FaultId::F12, FaultId::F13, FaultId::F22].map(often).to_vec()
}

/// Faults of a platform that come and go.
fn platform() -> Vec<github::FaultRule> {
    use github::FaultKind as Kind;
    let often = |kind| github::FaultRule {
        times: Some(0),
        chance: Some(0.15),
        seconds: Some(5.0),
        ..github::FaultRule::new(kind)
    };
    [Kind::Answer, Kind::Reset, Kind::Lost, Kind::Slow, Kind::SecondaryLimit, Kind::OmitRunners].map(often).to_vec()
}
