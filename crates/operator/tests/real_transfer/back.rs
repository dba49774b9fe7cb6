//! A person applies an export instead of importing it, and imports it after that; and the fleet moves back again.

use std::time::Duration;

use serde_json::Value;
use testenv::{Balancer, Blueprint, Program, Signal, Town, eventually, story};

use crate::moved::{command, vms};
use crate::single::{Server, text};
use crate::works::{SOON, file};

/// A town with one address for machines, and operators of several servers behind it.
struct Square {
    town: Town,
    door: Balancer,
}

impl Square {
    async fn new() -> Self {
        let roles = ["fleet", "bootstrap"].map(|set| file(&format!("deploy/rbac/{set}.yaml")));
        let (program, crds) = (std::path::Path::new(env!("CARGO_BIN_EXE_hyperfleet")), api::crds());
        let blueprint = Blueprint { name: "back", crds: &crds, roles: &roles, program, profile: "zero", runners: None };
        // An authority is replaced only where no other machine believes it: machines of other tests would be others.
        Self { town: Town::alone(blueprint).await, door: Balancer::new(3).await }
    }

    /// An operator in one of the places; under the roles that a user installs where the server knows them.
    fn operator(&self, place: usize, server: Option<&Server>) -> Program {
        let mut command = self.town.operator();
        command
            .args(["--leader-elect=false", "--controllers=fleet,bootstrap"])
            .arg(format!("--bootstrap-listen=127.0.0.1:{}", self.door.backend(place)))
            .arg(format!("--bootstrap-advertise=https://127.0.0.1:{}", self.door.port()));
        if let Some(server) = server {
            command.env("KUBECONFIG", &server.kubeconfig);
        }
        Program::start(&command)
    }

    /// The story `first-vm` without its claim.
    fn story(&self) -> Vec<Value> {
        let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/first-vm");
        story(&self.town, &folder).into_iter().filter(|object| object["kind"] != "MachineClaim").collect()
    }
}

async fn ends(operator: &Program) {
    operator.signal(Signal::Terminate);
    assert!(operator.wait(SOON).await.success(), "{}", operator.output());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_export_applied_with_kubectl_harms_nothing_and_the_fleet_moves_there_and_back() {
    let square = Square::new().await;
    let (town, gate) = (&square.town, square.town.files().join("gate"));
    let before = town.there().await;
    let here = Server::ours(&town.namespace).await;
    let there = Server::real(town.plane, &town.namespace);
    let first = square.operator(0, Some(&here));
    here.apply(&square.story()).await;
    here.apply(&[command("one", &gate), command("two", &gate)]).await;
    here.phase("Busy", 2, || format!("{}\n{}", first.output(), town.hypervisor.program.output())).await;
    let machines = vms(town).await;

    // The mistake. An operator that runs there already has an authority of its own, until the fleet brings its.
    let second = square.operator(1, None);
    second.wait_for_line("started", SOON).await;
    let out = town.files().join("out.yaml");
    here.export(&out).await;
    let authority = ["get", "secret", "hyperfleet-bootstrap-authority", "-o", "jsonpath={.data}"];
    let own = async || there.tries(&authority, "").await.stdout;
    let believed =
        eventually("it has its authority", SOON, async || Some(own().await).filter(|data| !data.is_empty())).await;
    let applied = there.tries(&["apply", "-f", &text(&out)], "").await;
    assert!(applied.stdout.contains("machineclaim.hypervisor.hyperfleet.io/one created"), "{applied:?}");
    assert!(!applied.success() && applied.stderr.contains("hyperfleet-bootstrap-authority"), "{applied:?}");
    assert!(
        applied.stderr.contains("immutable") && own().await == believed,
        "nobody's authority is replaced: {applied:?}"
    );
    second.wait_for_line("this fleet is on hold", SOON).await;
    tokio::time::sleep(Duration::from_secs(3)).await;
    assert_eq!(vms(town).await, machines, "{}", second.output());

    // Its remedy.
    let told = there.does(&["import", &text(&out)]).await;
    assert!(told.contains("MachineClaim               2 completed"), "{told}");
    eventually("they act there", SOON, async || second.output().contains("not on hold any more").then_some(())).await;
    ends(&first).await;
    there.phase("Busy", 2, || second.output()).await;
    assert_eq!(vms(town).await, machines, "{}", second.output());

    // And back, to a server that is empty.
    let home = Server::ours(&town.namespace).await;
    let back = town.files().join("back.yaml");
    there.export(&back).await;
    let told = home.does(&["import", &text(&back)]).await;
    assert!(told.contains("MachineClaim               2 created"), "{told}");
    let third = square.operator(2, Some(&home));
    third.wait_for_line("started", SOON).await;
    ends(&second).await;
    assert_eq!(vms(town).await, machines, "{}", third.output());
    let (well, said) = home.hyperfleet(&["import", &text(&out)]).await;
    assert!(!well && said.contains("is at work here"), "an older file is not brought over a fleet that lives: {said}");
    let (well, said) = there.hyperfleet(&["import", &text(&out)]).await;
    assert!(!well && said.contains("on hold for another move"), "{said}");
    std::fs::write(&gate, "").unwrap();
    home.phase("Succeeded", 2, || third.output()).await;
    let history = town.hypervisor.get("/sim/history").await;
    assert_eq!(history["vms"].as_array().unwrap().len(), 2, "one machine for each, ever: {history}");
    assert_eq!(town.there().await, before, "{}", third.output());
    println!("lane: 2 machines at work were moved to a real cluster and back");
    ends(&third).await;
}
