//! What goes wrong in a day: one thing after the other, drawn from the world's dice.

use std::time::Duration;

use jiff::SignedDuration;
use sim::github;
use sim::world::{Dice, Direction, Storm, World};

use crate::mishaps::mishaps;
use crate::town::Town;

/// One kind of trouble.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Trouble {
    /// Requests are lost, doubled and late; processes stand still and die; ways are cut.
    Storm,
    /// Tasks of the hypervisor fail, its locks time out, its answers are errors or never come.
    Hypervisor,
    /// The platform answers errors, loses answers, counts requests, leaves runners out of its listings.
    Platform,
    /// A replica dies, and comes back after a while.
    Crash,
    /// A replica does not reach the API server, the hypervisor or the platform.
    Partition,
    /// The replica that leads does not reach the API server, until another leads.
    Deposition,
    /// A replica's clock is set, by up to two days.
    Clock,
    /// The API server forgets its past and cuts every stream.
    Compaction,
    /// A machine is switched off while it works.
    Machine,
}

/// All of them.
pub(crate) const ALL: [Trouble; 9] = [
    Trouble::Storm,
    Trouble::Hypervisor,
    Trouble::Platform,
    Trouble::Crash,
    Trouble::Partition,
    Trouble::Deposition,
    Trouble::Clock,
    Trouble::Compaction,
    Trouble::Machine,
];

const REPLICAS: [&str; 2] = ["operator", "replica"];
const FAR: [&str; 3] = ["kube", "pve", "ghes"];

/// What came of it.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Toll {
    /// Machines that were lost.
    pub(crate) lost: usize,
    /// Times that another replica leads now.
    pub(crate) deposed: usize,
}

impl Trouble {
    pub(crate) fn draw(dice: &mut Dice) -> Self {
        *dice.pick(&ALL).unwrap()
    }

    /// Lets it happen, and returns when it is over.
    pub(crate) async fn happen(self, world: &World, town: &Town, dice: &mut Dice) -> Toll {
        let length = dice.between(Duration::from_secs(10), Duration::from_mins(4));
        let replica = *dice.pick(&REPLICAS).unwrap();
        match self {
            // Clocks that are set stay so after a storm; here they are set right again, by `Clock`.
            Self::Storm => {
                let length = length.min(Duration::from_mins(2));
                world.weather_out(&Storm { jumps: 0.0, ..Storm::rough(length) }).await;
            }
            Self::Hypervisor => {
                town.pve.set_faults(mishaps());
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
            Self::Deposition => return depose(world, town, dice).await,
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
                let lost = dice.pick(&machines).is_some_and(|machine| town.pve.power_off(*machine));
                return Toll { lost: usize::from(lost), ..Toll::default() };
            }
        }
        Toll::default()
    }
}

/// Cuts the leader off for longer than its lease lasts.
async fn depose(world: &World, town: &Town, dice: &mut Dice) -> Toll {
    let before = town.yard.leader().await;
    let Some((actor, _)) = before.split_once('#') else { return Toll::default() };
    let lease = town.yard.pace.lease;
    world.partition(actor, "kube", Direction::Both);
    world.pass(dice.between(lease, lease * 2)).await;
    let after = town.yard.leader().await;
    world.heal(actor, "kube");
    Toll { deposed: usize::from(!after.is_empty() && after != before), ..Toll::default() }
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
