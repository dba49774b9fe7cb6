//! The trouble a hypervisor in memory can make.

use std::sync::atomic::Ordering;
use std::time::Duration;

use providers::hypervisor::VmRef;
use providers::hypervisor::kit::{Faults, Trouble, Unavailable};

use super::Memory;
use super::machine::Machine;

/// What is going wrong now.
#[derive(Default)]
pub(crate) struct Arranged {
    pub(crate) slow: Duration,
    pub(crate) loses_answer: bool,
    pub(crate) leaks: bool,
    pub(crate) crowd: u32,
    foreign: Option<VmRef>,
}

impl Faults for Memory {
    async fn arrange(&self, trouble: Trouble) -> Result<(), Unavailable> {
        let mut world = self.world();
        match trouble {
            Trouble::SlowTasks(slow) => world.trouble.slow = slow,
            Trouble::LostCloneAnswer => world.trouble.loses_answer = true,
            Trouble::NewCredentials => {
                world.password += 1;
                self.password.store(world.password, Ordering::SeqCst);
            }
            Trouble::ForeignVm(id, node) => {
                let vm = VmRef { id, node };
                world.trouble.foreign = Some(vm.clone());
                world.machines.insert(id, Machine::foreign(vm));
            }
            Trouble::Crowd(count) => world.trouble.crowd = count,
            Trouble::LeakedDisks => world.trouble.leaks = true,
        }
        Ok(())
    }

    async fn calm(&self) {
        let mut world = self.world();
        let arranged = std::mem::take(&mut world.trouble);
        if let Some(vm) = arranged.foreign {
            let there = world.machines.remove(&vm.id);
            assert!(there.is_some(), "somebody else's VM must still be there");
        }
    }
}
