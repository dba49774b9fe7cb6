//! What happens, in order: the examples are applied, jobs are queued, something goes wrong if it was asked for, the jobs end,
//! and everything is cleared away.

use std::time::Duration;

use anyhow::{Context, bail};
use api::ConditionType;
use api::condition::holds;
use jiff::SignedDuration;
use kube::Resource;
use kube::api::{Api, ApiResource, DynamicObject, GroupVersionKind, PostParams};
use serde_json::Value;
use sim::github::{
    Conclusion, HOOK_SECRET, HookOwner, JobSpec, JobView, PUBLIC_REPOSITORY, REPOSITORY, Receiver, Scope, Status,
};
use tokio::time::{Instant, sleep};

use super::proof::Inventory;
use super::scene::last_attempts;
use super::strike::Hand;
use super::{Order, story};
use crate::demo::world::World;

/// Between two looks.
const GLANCE: Duration = Duration::from_millis(100);

/// After this long without anything happening, something is wrong: longer than the longest pause between two tries to remove
/// something, which is two minutes and a fifth of that.
const PATIENCE: Duration = Duration::from_mins(3);

/// So long after a job was lost the platform may have been asked to run it again.
const AGAIN: SignedDuration = SignedDuration::from_secs(20);

/// Nothing is left if nothing was at two moments this far apart: what is under way would have shown.
const CALM: Duration = Duration::from_millis(500);

/// What there was before the first job, and what there is after the last.
pub(super) struct Outcome {
    pub(super) before: Inventory,
    pub(super) after: Inventory,
    /// Jobs that did not end as they should, a line each.
    pub(super) wrong: Vec<String>,
    /// How often the fault struck that was asked for.
    pub(super) struck: Option<usize>,
}

/// Plays it all.
pub(super) async fn play(order: &Order, hand: &Hand<'_>) -> anyhow::Result<Outcome> {
    let world = hand.world;
    (hand.say)(format!("examples {} and {} are applied", story::STORIES[0], story::STORIES[1]));
    apply(world).await?;
    ready(world).await?;
    let before = Inventory::take(world).await?;
    order.fault.into_iter().for_each(|fault| hand.before(fault));
    let runs = queue(order, world)?;
    (hand.say)(format!("{} jobs are queued at GitHub", runs.len()));
    let strikes = async {
        match order.fault {
            Some(fault) => hand.strike(fault).await,
            None => 0,
        }
    };
    let (done, seen) = tokio::join!(done(order, &runs, world), strikes);
    done?;
    (hand.say)("all jobs are over; what was made for them is cleared away".to_owned());
    order.fault.into_iter().for_each(|fault| hand.after(fault));
    let after = cleared(world, &before).await?;
    let wrong = wrong(order, &runs, &world.github.jobs());
    let struck = order.fault.map(|fault| hand.count(fault, seen));
    Ok(Outcome { before, after, wrong, struck })
}

/// A person applies the examples.
async fn apply(world: &World) -> anyhow::Result<()> {
    let client = world.single.admin();
    for object in &world.story {
        let (kind, name) = (story::text(object, "/kind"), story::text(object, "/metadata/name"));
        let version = story::text(object, "/apiVersion");
        let (group, version) = version.split_once('/').unwrap_or(("", &version));
        let resource = ApiResource::from_gvk(&GroupVersionKind::gvk(group, version, &kind));
        let objects: Api<DynamicObject> = Api::namespaced_with(client.clone(), "default", &resource);
        let object = parsed(object).with_context(|| format!("{kind} {name} is no object"))?;
        let created = objects.create(&PostParams::default(), &object).await;
        created.with_context(|| format!("{kind} {name} is not accepted"))?;
    }
    Ok(())
}

fn parsed(object: &Value) -> anyhow::Result<DynamicObject> {
    Ok(serde_json::from_value(object.clone())?)
}

/// Waits until machines can be made and jobs are heard of, and lets GitHub call us.
async fn ready(world: &World) -> anyhow::Result<()> {
    let known = &world.known;
    let sessions = || world.github.scale_sets().iter().any(|set| set.session.is_some());
    wait("the examples are not ready", || {
        let template = known.templates.all().iter().all(|template| {
            template.status.as_ref().is_some_and(|status| holds(&status.conditions, ConditionType::TemplateValid))
        });
        let mut sources = known.sources.all().into_iter();
        let sources = sources
            .all(|source| source.status.as_ref().is_some_and(|status| holds(&status.conditions, ConditionType::Ready)));
        template && sources && !known.sources.all().is_empty() && world.webhook().is_some() && sessions()
    })
    .await?;
    let url = world.webhook().context("the source that GitHub calls has no path")?;
    let owner = HookOwner::Of(Scope::Repository(PUBLIC_REPOSITORY.to_owned()));
    world.github.add_hook(owner, &url, HOOK_SECRET, Receiver::Network);
    Ok(())
}

async fn wait(what: &str, mut holds: impl FnMut() -> bool) -> anyhow::Result<()> {
    let since = Instant::now();
    while !holds() {
        if since.elapsed() > PATIENCE {
            bail!("{what} after {} s", PATIENCE.as_secs());
        }
        sleep(GLANCE).await;
    }
    Ok(())
}

/// Queues the jobs, a run each: two of three are the organisation's, the third a public repository's. The runs' numbers.
fn queue(order: &Order, world: &World) -> anyhow::Result<Vec<u64>> {
    let run = |number: usize| {
        let (repository, what, labels) = match number % 3 {
            2 => (PUBLIC_REPOSITORY, "check", &["self-hosted", "linux", "x64", "untrusted"][..]),
            _ => (REPOSITORY, "build", &["self-hosted", "linux", "x64"][..]),
        };
        let fails = order.fault.is_some_and(|fault| fault.fails(number));
        let spec = JobSpec {
            seconds: order.tempo.job(number),
            conclusion: if fails { Conclusion::Failure } else { Conclusion::Success },
            ..JobSpec::new(format!("{what}-{:02}", number + 1), labels)
        };
        world.github.queue(repository, &[spec]).map(|(run, _)| run)
    };
    (0..order.jobs).map(|number| run(number).context("GitHub does not know the repository")).collect()
}

/// Waits until every job is over, as long as anything happens.
async fn done(order: &Order, runs: &[u64], world: &World) -> anyhow::Result<()> {
    let (mut since, mut before) = (Instant::now(), String::new());
    loop {
        let last = last_attempts(world.github.jobs());
        let open: Vec<&JobView> = last.iter().filter(|job| !is_over(order, runs, world, job)).collect();
        if open.is_empty() {
            return Ok(());
        }
        let now = format!("{last:?}{:?}", phases(world));
        if now != before {
            (since, before) = (Instant::now(), now);
        }
        if since.elapsed() > PATIENCE {
            let names: Vec<&str> = open.iter().map(|job| job.name.as_str()).collect();
            let seconds = PATIENCE.as_secs();
            bail!("nothing has happened for {seconds} s, and these jobs are not over: {}", names.join(", "));
        }
        sleep(GLANCE).await;
    }
}

/// Whether nothing more comes of a job. One that ended as it should not may be run again a little later.
fn is_over(order: &Order, runs: &[u64], world: &World, job: &JobView) -> bool {
    let ended = job.completed.filter(|_| job.status == Status::Completed);
    let late = |ended: jiff::Timestamp| world.clock.now().duration_since(ended) > AGAIN;
    ended.is_some_and(|ended| job.conclusion == Some(wanted(order, runs, job.run)) || late(ended))
}

/// How a job should end.
fn wanted(order: &Order, runs: &[u64], run: u64) -> Conclusion {
    let number = runs.iter().position(|known| *known == run);
    let fails = number.zip(order.fault).is_some_and(|(number, fault)| fault.fails(number));
    if fails { Conclusion::Failure } else { Conclusion::Success }
}

fn phases(world: &World) -> Vec<String> {
    let claims = world.known.claims.all();
    claims.iter().map(|claim| format!("{:?} {:?}", claim.meta().name, claim.meta().resource_version)).collect()
}

/// Waits until nothing is left; what there is then, or after all patience.
async fn cleared(world: &World, before: &Inventory) -> anyhow::Result<Inventory> {
    let (mut since, mut seen) = (Instant::now(), Inventory::take(world).await?);
    loop {
        let now = Inventory::take(world).await?;
        if now.beside(before).is_empty() {
            sleep(CALM).await;
            let again = Inventory::take(world).await?;
            if again.beside(before).is_empty() {
                return Ok(again);
            }
        }
        if now != seen {
            (since, seen) = (Instant::now(), now);
        }
        if since.elapsed() > PATIENCE {
            return Ok(seen);
        }
        sleep(GLANCE).await;
    }
}

/// What is not as it should be: each run that was queued has one job in its newest attempt, and there is no other run.
fn wrong(order: &Order, runs: &[u64], jobs: &[JobView]) -> Vec<String> {
    let judge = |(number, run): (usize, &u64)| {
        let newest = jobs.iter().filter(|job| job.run == *run).map(|job| job.attempt).max();
        let newest: Vec<&JobView> = jobs.iter().filter(|job| job.run == *run && Some(job.attempt) == newest).collect();
        let [job] = newest[..] else {
            return Some(format!("run {} should have one job at GitHub: it has {}", number + 1, newest.len()));
        };
        let (wanted, how) = (wanted(order, runs, *run), job.conclusion.map_or("not over", Conclusion::as_str));
        (job.conclusion != Some(wanted)).then(|| format!("{} should end with {}: {how}", job.name, wanted.as_str()))
    };
    let strange = jobs.iter().filter(|job| !runs.contains(&job.run));
    let strange = strange.map(|job| format!("{} was not queued here", job.name));
    runs.iter().enumerate().filter_map(judge).chain(strange).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::demo::Tempo;

    fn job(run: u64, attempt: u64, conclusion: Conclusion) -> JobView {
        let at = jiff::Timestamp::UNIX_EPOCH;
        JobView {
            id: run * 10 + attempt,
            run,
            attempt,
            name: format!("build-{run}"),
            repository: REPOSITORY.to_owned(),
            status: Status::Completed,
            conclusion: Some(conclusion),
            runner: None,
            created: at,
            started: Some(at),
            completed: Some(at),
        }
    }

    fn well(run: u64) -> JobView {
        job(run, 1, Conclusion::Success)
    }

    #[test]
    fn every_run_is_judged_and_no_other_is_taken_for_one() {
        let order = Order { jobs: 2, fault: None, tempo: Tempo::new(1.0).unwrap(), keep: false, plain: true };
        let failed = |attempt| job(2, attempt, Conclusion::Failure);
        let cases: [(Vec<JobView>, &[&str]); 6] = [
            (vec![well(1), well(2)], &[]),
            (vec![well(1), failed(1), job(2, 2, Conclusion::Success)], &[]),
            (vec![well(1), failed(1)], &["build-2 should end with success: failure"]),
            (vec![well(1)], &["run 2 should have one job at GitHub: it has 0"]),
            (vec![well(1), well(2), well(2)], &["run 2 should have one job at GitHub: it has 2"]),
            (vec![well(1), well(2), well(9)], &["build-9 was not queued here"]),
        ];
        for (jobs, told) in cases {
            assert_eq!(wrong(&order, &[1, 2], &jobs), told, "{jobs:?}");
        }
    }
}
