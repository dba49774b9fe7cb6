//! From a cluster of one to a real cluster, with runners and commands at work, by the commands of the guide.

use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;

use serde_json::{Value, json};
use testenv::{Grant, Program, Signal, Stopwatch, Town};

use crate::history::{each_on_its_own, machines};
use crate::single::{Server, text};
use crate::works::{SOON, Works, file};

/// Jobs of the platform, each longer than a move takes.
const JOBS: usize = 3;

/// A command that ends when this file is there.
pub(crate) fn command(name: &str, gate: &Path) -> Value {
    let script = format!("while [ ! -e {} ]; do sleep 0.2; done; echo moved", gate.display());
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "MachineClaim", "metadata": { "name": name },
        "spec": {
            "templateRef": { "name": "debian-12" }, "captureOutput": true,
            "workload": { "command": { "argv": ["/bin/sh", "-c", script] } },
        },
    })
}

/// Where our manifests install the operator, and `hyperfleet up` has it.
const HOME: &str = "hyperfleet-operator-system";

/// The operator of a replica's place, installed by our manifests.
async fn installed(works: &Works, replica: usize) -> Program {
    let roles = ["fleet", "bootstrap", "ingress"].map(|set| file(&format!("deploy/rbac/{set}.yaml")));
    let grants: Vec<Grant> = roles.iter().flat_map(|text| Grant::from_yaml(text)).collect();
    let account = works.town.plane.service_account(HOME, "hyperfleet", &grants).await;
    let mut command = works.command(replica);
    command.env("KUBECONFIG", works.town.plane.kubeconfig_for(&account)).env("POD_NAMESPACE", HOME);
    Program::start(&command)
}

/// VMs that the hypervisor has, by number.
pub(crate) async fn vms(town: &Town) -> BTreeSet<String> {
    let there = town.there().await;
    let row = |vm: &Value| vm["vmid"].to_string();
    there[0].as_array().unwrap().iter().map(row).collect()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_fleet_moves_to_a_real_cluster_while_its_machines_work() {
    let works = Works::new("moved", 2).await;
    let (here, source) = Server::up(&works.command(0), &works.town.namespace).await;
    let there = Server::real(works.town.plane, &works.town.namespace);
    let gate = works.town.files().join("gate");
    here.apply(&works.session_story(4)).await;
    here.kubectl(&["wait", "--for=condition=Ready", "--timeout=120s", "runnersource", "--all"], "").await;
    let template = "hypervisormachinetemplate/debian-12";
    here.kubectl(&["wait", "--for=condition=TemplateValid", "--timeout=120s", template], "").await;
    here.apply(&[command("one", &gate), command("two", &gate)]).await;
    let jobs = works.queue(JOBS, 26.0).await;
    here.phase("Busy", JOBS + 2, || source.output()).await;
    let before = vms(&works.town).await;

    // A slip of the pen puts nothing on hold.
    let (file, team) = (works.town.files().join("fleet.yaml"), works.town.namespace.as_str());
    let slip = ["export", "--freeze", "-n", team, "--operator-namespace", "default", "-o", &text(&file)];
    let (well, said) = here.hyperfleet(&slip).await;
    assert!(!well && said.contains(&format!("--operator-namespace {HOME}")), "{said}");
    assert!(!file.exists() && !source.output().contains("this fleet is on hold"), "{}", source.output());

    // It moves.
    let watch = Stopwatch::start();
    let told = here.does(&["export", "--freeze", "-A", "-o", &text(&file)]).await;
    assert!(told.contains("MachineClaim               5") && told.contains("holds secrets"), "{told}");
    assert_eq!(std::fs::metadata(&file).unwrap().permissions().mode() & 0o777, 0o600);
    let (well, said) = here.hyperfleet(&["export", "--freeze", "-A", "-o", &text(&file)]).await;
    assert!(!well && said.contains("is not written over"), "{said}");
    let dry = there.does(&["import", &text(&file), "--create-namespaces", "--dry-run"]).await;
    assert!(dry.contains("Nothing was written") && there.claims().await.is_empty(), "{dry}");
    let told = there.does(&["import", &text(&file), "--create-namespaces"]).await;
    assert!(told.contains("MachineClaim               5 created"), "{told}");
    let again = there.does(&["import", &text(&file), "--create-namespaces"]).await;
    assert!(again.contains("nothing was changed"), "{again}");
    let moved = watch.elapsed();
    assert_eq!(vms(&works.town).await, before, "none lost, none doubled\n{}", source.output());

    // There it is looked after; here everything is switched off.
    let target = installed(&works, 1).await;
    target.wait_for_line("started", SOON).await;
    source.signal(Signal::Terminate);
    assert!(source.wait(SOON).await.success(), "{}", source.output());
    assert!(source.output().contains("this fleet is on hold"), "{}", source.output());
    let all = there.claims().await;
    assert!(
        all.iter().filter(|claim| claim.spec.pool_ref.is_some()).all(|claim| claim.metadata.owner_references.is_some())
    );
    std::fs::write(&gate, "").unwrap();
    there.phase("Succeeded", 2, || target.output()).await;
    for claim in there.claims().await.iter().filter(|claim| claim.spec.pool_ref.is_none()) {
        let outcome = claim.status.as_ref().and_then(|status| status.outcome.clone()).unwrap();
        assert_eq!((outcome.exit_code, outcome.output.as_deref()), (Some(0), Some("moved\n")), "{claim:#?}");
    }
    there.kubectl(&["delete", "machineclaims", "one", "two", "--timeout=60s"], "").await;
    works.done(&jobs, || target.output()).await;
    works.cleared(|| target.output()).await;
    each_on_its_own(&works, &jobs, 0).await;
    let made = machines(&works).await.len();
    assert_eq!(made, JOBS + 2, "one machine for each, ever");
    println!("lane: {made} machines at work were moved to a real cluster in {:.1} s", moved.as_secs_f64());
    target.signal(Signal::Terminate);
    assert!(target.wait(SOON).await.success(), "{}", target.output());
}
