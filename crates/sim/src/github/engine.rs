//! The job engine: what happens by itself, and when.

mod agenda;
mod dispatch;
mod jobs;
mod runs;

use std::sync::Arc;

pub(crate) use agenda::{Agenda, Event};

use super::world::{Shared, World};

/// Works off the agenda until the simulator's tasks stop.
pub(crate) fn start(world: &Shared) {
    let (world, tasks) = (Arc::clone(world), world.tasks.clone());
    let stopping = tasks.stopping();
    tasks.spawn("github engine", async move {
        tokio::select! {
            biased;
            () = stopping => {}
            () = work(&world) => {}
        }
    });
}

async fn work(world: &Shared) {
    loop {
        while let Some(event) = world.agenda.due() {
            happen(world, event);
        }
        world.agenda.wait().await;
    }
}

fn happen(world: &Shared, event: Event) {
    match event {
        Event::Dispatch => world.dispatch(),
        Event::OfferLapsed { job, runner } => world.offer_lapsed(job, runner),
        Event::RunnerSilent(runner) => world.runner_silent(runner),
        Event::RunnerExpired(runner) => world.runner_expired(runner),
        Event::Lost { job, runner } => world.job_lost(job, runner),
        Event::JobTimedOut(job) => world.job_timed_out(job),
        Event::QueueTimedOut(job) => world.queue_timed_out(job),
        Event::CancelForced(job) => world.cancel_forced(job),
        Event::Send(delivery) => World::send(world, delivery),
    }
}
