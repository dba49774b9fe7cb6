//! Every field of every resource of the fleet in every state: set, changed, removed, at its bounds, refused, and back.
//!
//! What may be changed is changed in place, and must end as a fresh install of the same object does. What may not be
//! changed, claims and jobs, is made anew for each state of each field, comes to its end, and leaves nothing.

mod fields;

use std::any::Any;
use std::cell::RefCell;
use std::rc::Rc;
use std::time::Duration;

use serde_json::{Map, Value, json};
use sim::world::{
    Call, FuzzReport, Fuzzing, Installed, Object, State, World, across, fuzz, mutations, schema_of, seeds,
};

use crate::town::{JOBS, POOLS, SOURCES, Town, pool, source};
use crate::yard::{CLAIMS, CLUSTERS, Pace, SECRET, TEMPLATES, TOKEN, Yard, claim, cluster, template};

/// Nothing is at rest as long as somebody writes; leases are renewed for ever, and events are a courtesy.
fn unrest(call: &Call) -> bool {
    let resource = call.deed.object.resource.as_str();
    call.to == "kube" && !resource.starts_with("leases") && !resource.starts_with("events")
}

/// A kind whose objects may be changed.
struct Kind {
    plural: &'static str,
    collection: &'static str,
    sample: Value,
    /// What must be as in the sample for the object to say that all is well.
    needs: &'static [&'static str],
    untouched: &'static [&'static str],
    /// How long nobody writes where all is at rest.
    pause: Duration,
    install: fn(World, Kept) -> Installed,
}

/// Longer than the pause between two looks at anything.
const LOOKS: Duration = Duration::from_secs(150);

/// What lives as long as its world.
type Kept = Rc<RefCell<Vec<Box<dyn Any>>>>;

fn keep(kept: &Kept, one: impl Any) {
    kept.borrow_mut().push(Box::new(one));
}

fn clusters() -> Kind {
    Kind {
        plural: "hypervisorclusters",
        collection: CLUSTERS,
        sample: cluster("pve"),
        // Neither default storage nor default network: templates with their own go without, and whoever uses them says what
        // is missing.
        needs: &["/endpoint", "/credentials", "/proxmox/pool"],
        untouched: &[],
        pause: LOOKS,
        install: |world, kept| {
            Box::pin(async move {
                let yard = Yard::new(&world);
                keep(&kept, yard.hypervisor("pve"));
                yard.secret("pve", TOKEN, SECRET).await;
                keep(&kept, yard);
            })
        },
    }
}

fn templates() -> Kind {
    Kind {
        plural: "hypervisormachinetemplates",
        collection: TEMPLATES,
        sample: template("small"),
        needs: &["/hypervisorClusterRef", "/template/proxmox/templateId"],
        untouched: &[],
        pause: LOOKS,
        install: |world, kept| Box::pin(async move { keep(&kept, Yard::with_cluster(&world).await) }),
    }
}

fn sources() -> Kind {
    Kind {
        plural: "runnersources",
        collection: SOURCES,
        sample: source("poll", Duration::from_secs(30)),
        needs: &["/platform", "/url", "/github/credentials"],
        untouched: &[],
        pause: LOOKS,
        install: |world, kept| Box::pin(async move { keep(&kept, Town::founded(&world, Pace::USUAL).await) }),
    }
}

fn pools() -> Kind {
    Kind {
        plural: "runnerpools",
        collection: POOLS,
        sample: pool("linux", 2),
        needs: &["/sourceRef", "/templateRef"],
        // With a minimum of machines that may live for seconds only, there is no rest.
        untouched: &["/lifecycle"],
        // Longer than a machine is kept that is not needed any more: five minutes unless somebody says otherwise.
        pause: Duration::from_secs(400),
        install: |world, kept| Box::pin(async move { keep(&kept, Town::new(&world, "poll").await) }),
    }
}

fn lifecycles() -> Kind {
    let untouched =
        &["/scaling", "/sourceRef", "/templateRef", "/labels", "/tags", "/queue", "/trust", "/rerunLostJobs"];
    Kind { untouched, ..pools() }
}

fn schema(plural: &str) -> Value {
    let crds = api::crds().into_iter().map(|crd| serde_json::to_value(crd).unwrap());
    let own = crds.into_iter().find(|crd| crd["spec"]["names"]["plural"] == plural);
    schema_of(&own.unwrap())
}

fn resource(plural: &str) -> String {
    format!("{plural}.hypervisor.hyperfleet.io")
}

/// Type, status and reason of each condition.
fn said(object: &Value) -> Value {
    let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let told = conditions.iter().map(|one| {
        let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
        (text("type"), json!([text("status"), text("reason")]))
    });
    Value::Object(told.collect::<Map<_, _>>())
}

/// What everybody sees of the object, and how many machines were asked for. A pool that can make none keeps those that it had.
fn outcome(state: &State, plural: &str) -> Value {
    let resource = resource(plural);
    let objects: Map<_, _> = state.of(&resource).map(|(object, value)| (object.name.clone(), said(value))).collect();
    let is_held = objects.values().any(|said| {
        let scaling = (&said["Scaling"][0], &said["Scaling"][1]);
        scaling.0 == "False" && scaling.1 != "AtMaximum"
    });
    let machines = (!is_held).then(|| state.of("machineclaims.hypervisor.hyperfleet.io").count());
    json!({ "said": objects, "machines": machines })
}

impl Kind {
    /// What the object says and is not so: that it speaks of what was asked for last, and that all is well if it is not.
    fn lies(&self, state: &State) -> Vec<String> {
        let name = self.sample["metadata"]["name"].as_str().unwrap_or_default();
        let Some(object) = state.get(&Object::new(&resource(self.plural), "default", name)) else { return Vec::new() };
        let generation = &object["metadata"]["generation"];
        let conditions = object["status"]["conditions"].as_array().cloned().unwrap_or_default();
        let old = conditions.iter().filter(|one| one["observedGeneration"] != *generation);
        let mut lies: Vec<String> = old
            .map(|one| format!("{} is of another generation than {generation}: {conditions:?}", one["type"]))
            .collect();
        let well = conditions.iter().any(|one| {
            ["Ready", "TemplateValid"].contains(&one["type"].as_str().unwrap_or_default()) && one["status"] == "True"
        });
        // What is not said is not asked for: a cluster without a resource pool is as well as one whose pool is there.
        let is_other = |need: &&&str| {
            object["spec"].pointer(need).is_some_and(|told| Some(told) != self.sample["spec"].pointer(need))
        };
        lies.extend(self.needs.iter().filter(|_| well).filter(is_other).map(|need| {
            format!("all is well though {need} is {}", object["spec"].pointer(need).unwrap_or(&Value::Null))
        }));
        lies
    }

    fn fuzzed(&self, seed: u64, compared: usize) -> FuzzReport {
        let kept = Kept::default();
        let fuzzing = Fuzzing {
            install: &|world| {
                kept.borrow_mut().clear();
                (self.install)(world, Rc::clone(&kept))
            },
            destination: "kube",
            collection: self.collection,
            sample: &self.sample,
            schema: &schema(self.plural),
            untouched: self.untouched,
            compared,
            counts: unrest,
            rest: (self.pause, Duration::from_hours(2)),
            outcome: &|state| outcome(state, self.plural),
            lies: &|state| self.lies(state),
        };
        fuzz(seed, &fuzzing)
    }
}

/// Holds a kind in every state of every field to a fresh install.
fn all(kind: impl Fn() -> Kind + Sync, first: u64, count: u64, compared: usize) {
    let reports = across(&seeds(first, count), |seed| kind().fuzzed(seed, compared));
    let mut sum = FuzzReport::default();
    for report in reports {
        sum.add(report);
    }
    let FuzzReport { taken, refused, compared, failures, .. } = sum;
    println!("lane: {}: {taken} changes taken, {refused} refused, {compared} compared", kind().plural);
    assert!(failures.is_empty(), "{} failures: {}", failures.len(), failures.join("\n"));
    assert!(taken > 20 && refused > 10 && compared > 0);
}

/// What was made, refused and left of objects that may not be changed.
#[derive(Debug, Default)]
struct Made {
    taken: usize,
    refused: usize,
    failures: Vec<String>,
}

/// Makes one object for each mutation of the sample, waits for all of them to end or to say what they wait for, and removes
/// what is left.
fn made(seed: u64, plural: &str, collection: &str, sample: &Value, which: impl Fn(usize) -> bool) -> Made {
    let changes = mutations(&schema(plural)["properties"]["spec"], &sample["spec"], &[]);
    let changes: Vec<_> = changes.into_iter().flatten().enumerate().filter(|(number, _)| which(*number)).collect();
    World::run(seed, async |world| {
        let (town, mut made) = (Town::new(&world, "poll").await, Made::default());
        for (number, change) in &changes {
            let mut object = sample.clone();
            object["metadata"]["name"] = json!(format!("made-{number}"));
            change.make(&mut object["spec"]);
            match town.yard.person.create(collection, &object).await {
                Ok(_) => made.taken += 1,
                Err(refused) => {
                    made.refused += 1;
                    if refused.code != 422 || !change.path.iter().any(|name| refused.message.contains(name)) {
                        made.failures.push(format!("{change}: refused without naming the field: {refused}"));
                    }
                }
            }
        }
        if !world.quiet(LOOKS, Duration::from_hours(3), unrest).await {
            made.failures.push(format!("no rest\n{}", world.report()));
        }
        let (state, resource) = (world.state(), resource(plural));
        for (object, value) in state.of(&resource) {
            let generation = &value["metadata"]["generation"];
            let conditions = value["status"]["conditions"].as_array().cloned().unwrap_or_default();
            let told = !conditions.is_empty() && conditions.iter().all(|one| one["observedGeneration"] == *generation);
            let reason = conditions.iter().all(|one| !one["message"].as_str().unwrap_or_default().is_empty());
            if !told || !reason {
                made.failures.push(format!("{object} says nothing of itself: {value}"));
            }
            let path = format!("{collection}/{}", object.name);
            town.yard.person.delete(&path).await.unwrap();
        }
        if !town.until(7_200, async |town| town.leftovers().await.is_empty()).await {
            made.failures.push(format!("left: {}", town.leftovers().await));
        }
        made
    })
}

fn job(name: &str) -> Value {
    json!({
        "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "RunnerJob", "metadata": { "name": name },
        "spec": {
            "key": "github/acme/widgets/1/job/1", "sourceRef": { "name": "gh" }, "labels": ["self-hosted", "small"],
            "repository": "acme/widgets", "queuedAt": "2026-01-01T00:00:00Z",
        },
    })
}

fn runner(name: &str) -> Value {
    let mut object = claim(name, &[]);
    object["spec"]["workload"] = json!({ "runner": { "sourceRef": { "name": "gh" }, "labels": ["small"] } });
    object
}

/// Makes every `part`th state of every field.
fn all_made(seed: u64, part: usize) {
    let command = claim("", &["true"]);
    for (plural, collection, sample) in
        [("machineclaims", CLAIMS, command), ("machineclaims", CLAIMS, runner("")), ("runnerjobs", JOBS, job(""))]
    {
        let skip = usize::try_from(seed).unwrap();
        let made = made(seed, plural, collection, &sample, |number| (number + skip).is_multiple_of(part));
        let Made { taken, refused, failures } = made;
        println!("lane: {plural} in other states: {taken} made, {refused} refused");
        assert!(failures.is_empty(), "{} failures: {}", failures.len(), failures.join("\n"));
        assert!(taken > 0 && refused > 0);
    }
}

#[test]
fn what_is_made_in_any_state_comes_to_its_end_and_leaves_nothing() {
    all_made(1, 3);
}

#[test]
#[ignore = "many states: make soak"]
fn soak_what_is_made_in_any_state_comes_to_its_end_and_leaves_nothing() {
    all_made(2, 1);
}

#[test]
fn every_state_of_every_field_of_a_cluster_ends_as_a_fresh_install_does() {
    all(clusters, 1, 1, 4);
}

#[test]
fn every_state_of_every_field_of_a_template_ends_as_a_fresh_install_does() {
    all(templates, 1, 1, 4);
}

#[test]
fn every_state_of_every_field_of_a_source_ends_as_a_fresh_install_does() {
    all(sources, 1, 1, 4);
}

#[test]
fn every_state_of_every_field_of_a_pool_ends_as_a_fresh_install_does() {
    all(pools, 1, 1, 4);
    all(lifecycles, 1, 1, 4);
}

#[test]
#[ignore = "many states: make soak"]
fn soak_every_state_of_every_field_ends_as_a_fresh_install_does() {
    for kind in [clusters, templates, sources] {
        all(kind, 10, 4, usize::MAX);
    }
}

#[test]
#[ignore = "many states: make soak"]
fn soak_every_state_of_every_field_of_a_pool_ends_as_a_fresh_install_does() {
    for kind in [pools, lifecycles] {
        all(kind, 10, 4, usize::MAX);
    }
}

/// A member of a union excludes the others: credentials, scopes, platforms, networks.
#[test]
#[ignore = "many states: make soak"]
fn soak_every_state_beside_every_member_of_a_union_ends_as_a_fresh_install_does() {
    for (kind, samples) in [
        (clusters as fn() -> Kind, fields::clusters()),
        (templates, fields::templates()),
        (sources, fields::sources()),
        (pools, fields::pools()),
    ] {
        for sample in samples {
            all(|| Kind { sample: sample.clone(), needs: &[], ..kind() }, 20, 1, 4);
        }
    }
}
