//! The crate's own listener makes a runner for every job that is assigned, until all are done.

use std::collections::BTreeMap;
use std::time::Duration;

use scaleset::listener::{Event, Listener, Scaler};
use scaleset::{BoxError, Client, JitRunnerSetting, RunnerScaleSetSpec, ScaleSetId};
use tokio::process::Child;
use tokio::sync::watch;

use crate::place::Place;

const JOBS: usize = 5;
/// Fewer than there are jobs, so that some wait.
const RUNNERS: u32 = 3;
/// Far above what five jobs take.
const PATIENCE: Duration = Duration::from_secs(60);

struct Yard<'a> {
    place: &'a Place,
    client: Client,
    set: ScaleSetId,
    /// Runners whose job has not ended, by name.
    runners: BTreeMap<String, Child>,
    born: usize,
    most: usize,
    ended: watch::Sender<usize>,
}

impl Scaler for Yard<'_> {
    type Error = BoxError;

    async fn scale(&mut self, event: Event<'_>) -> Result<(), BoxError> {
        for job in event.message().iter().flat_map(|message| message.jobs_completed()) {
            assert_eq!(job.result, "succeeded");
            let mut runner = self.runners.remove(&job.runner_name).expect("a runner of ours ran it");
            assert!(runner.wait().await?.success());
            self.ended.send_modify(|ended| *ended += 1);
        }
        let wanted = event.statistics().total_assigned_jobs as usize;
        self.most = self.most.max(wanted);
        while self.runners.len() < wanted {
            self.born += 1;
            let name = format!("crowd-{}", self.born);
            let made = self.client.generate_jit_config(self.set, &JitRunnerSetting::new(&name)).await?;
            self.runners.insert(name, self.place.run(&made));
        }
        Ok(())
    }
}

/// More jobs than runners, each on a runner of its own.
pub async fn crowd(place: &Place) {
    let client = place.app("acme");
    let set = client.create_runner_scale_set(&RunnerScaleSetSpec::new("crowd")).await.expect("a scale set");
    place.queue("crowd", JOBS, 0.2).await;
    let (ended, mut heard) = watch::channel(0);
    let mut yard =
        Yard { place, client: client.clone(), set: set.id, runners: BTreeMap::new(), born: 0, most: 0, ended };
    let done = async move {
        let all = tokio::time::timeout(PATIENCE, heard.wait_for(|ended| *ended == JOBS)).await;
        all.expect("all jobs end in time").expect("the yard is there");
    };
    Listener::new(client.clone(), set.id, RUNNERS).run(&mut yard, done).await.expect("the listener's work");
    assert_eq!((yard.born, yard.runners.len()), (JOBS, 0), "a runner for each job");
    let acquires = crate::place::set("GITHUB_HANDOVER") == "acquire";
    assert!(acquires || yard.most <= RUNNERS as usize, "never more than were asked for: {}", yard.most);
    client.delete_runner_scale_set(set.id).await.expect("the end of the scale set");
}
