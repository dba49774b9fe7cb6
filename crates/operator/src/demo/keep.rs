//! Staying after the jobs: what a person can try, and what comes of it.

use std::time::Duration;

use anyhow::Context;
use secrecy::ExposeSecret as _;

use super::Order;
use super::audience::{Audience, FRAME, Left};
use super::chronicle::Chronicle;
use super::home::Home;
use super::picture::Frame;
use super::scene::Scene;
use super::world::World;
use crate::single::NAMESPACE;
use crate::{console, print};

/// How long the link to the console is good for.
const LINK: Duration = Duration::from_hours(12);

/// Tells what there is to try, and then what happens, until somebody leaves.
pub(super) async fn stay(
    order: &Order,
    home: &Home,
    world: &World,
    audience: &mut Audience,
    chronicle: &mut Chronicle,
) -> anyhow::Result<Left> {
    let kubeconfig = home.write_kubeconfig(&world.single.kubeconfig()).context("the kubeconfig cannot be written")?;
    let token = console::invite(&world.single.admin(), NAMESPACE, LINK).await?;
    let link = console::link(&format!("http://127.0.0.1:{}", world.doors.console), token.expose_secret());
    print::out(&things_to_try(&kubeconfig.display().to_string(), &link, world, home))?;
    let mut frames = tokio::time::interval(FRAME);
    frames.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Skip);
    loop {
        tokio::select! {
            left = audience.left() => return Ok(left),
            _ = frames.tick() => {
                let scene = Scene::look(world);
                chronicle.note(&scene);
                audience.show(&Frame { chronicle, scene: &scene, jobs: order.jobs, stage: "" })?;
            }
        }
    }
}

fn things_to_try(kubeconfig: &str, link: &str, world: &World, home: &Home) -> String {
    let ([hypervisor, github], webhook) = (&world.addresses, world.webhook().unwrap_or_default());
    let log = home.log();
    format!(
        "
Everything stays up until you press Ctrl-C. In another terminal:

  export KUBECONFIG={kubeconfig}

  kubectl get runnerpools,runnerjobs,machineclaims
  kubectl describe runnerpool linux-x64
  kubectl explain runnerpool.spec.scaling
  kubectl patch runnerpool linux-x64 --type merge -p '{{\"spec\":{{\"scaling\":{{\"warm\":99}}}}}}'
  kubectl scale runnerpool linux-x64 --replicas=2
  kubectl get machineclaims --watch
  hyperfleet why runnerpool/linux-x64
  hyperfleet top
  curl -k -d '{{\"jobs\":[{{\"name\":\"mine\",\"seconds\":5}}]}}' {github}/sim/runs
  kubectl delete runnerpool forks

  console      {link}
  webhooks     {webhook}
  Proxmox VE   {hypervisor}
  GitHub       {github}
  log          {log}

What happens is told here:

",
        log = log.display()
    )
}
