//! Whole days of a whole fleet: two replicas, a hypervisor, a CI platform and machines, and everything that can go wrong.

mod day;
mod trouble;
