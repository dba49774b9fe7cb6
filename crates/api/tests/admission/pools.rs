//! Bad pools.

use serde_json::{Value, json};

use super::Way::{Create, Status, Update};
use super::{Row, drop_field, example, long, put};

fn good() -> Value {
    example("github-actions", "RunnerPool")
}

fn create(name: &'static str, change: fn(&mut Value), field: &'static str) -> Row {
    Row::new(name, Create, good(), change, field)
}

pub(super) fn rows() -> Vec<Row> {
    let mut rows = routing();
    rows.extend(scaling());
    rows.extend(lifecycle());
    rows.extend(changes());
    rows
}

fn routing() -> Vec<Row> {
    vec![
        create("a pool needs a source", |o| drop_field(o, "/spec/sourceRef"), "spec.sourceRef"),
        create("a pool needs a template", |o| drop_field(o, "/spec/templateRef"), "spec.templateRef"),
        create("a pool serves something", |o| drop_field(o, "/spec/labels"), "spec.labels"),
        create("labels are not empty", |o| put(o, "/spec/labels", json!([])), "spec.labels"),
        create("labels and tags exclude each other", |o| put(o, "/spec/tags", json!(["linux"])), "spec.labels"),
        create("labels and a queue exclude each other", |o| put(o, "/spec/queue", json!("linux")), "spec.labels"),
        create("a label has no blank", |o| put(o, "/spec/labels/0", json!("self hosted")), "spec.labels[0]"),
        create("a label has no comma", |o| put(o, "/spec/labels/0", json!("a,b")), "spec.labels[0]"),
        create("a label has a bound", |o| put(o, "/spec/labels/0", long(129)), "spec.labels[0]"),
        create("a label stands there once", |o| put(o, "/spec/labels", json!(["linux", "linux"])), "spec.labels[1]"),
        create("labels are a list", |o| put(o, "/spec/labels", json!("linux")), "spec.labels"),
        create(
            "there are at most 100 labels",
            |o| put(o, "/spec/labels", (0..101).map(|n| json!(format!("l{n}"))).collect()),
            "spec.labels",
        ),
        create(
            "a queue's key has no blank",
            |o| {
                drop_field(o, "/spec/labels");
                put(o, "/spec/queue", json!("my queue"));
            },
            "spec.queue",
        ),
        create("a pool's name fits a label", |o| put(o, "/metadata/name", long(64)), "metadata.name"),
        create("trust is a switch", |o| put(o, "/spec/trust/forks", json!("always")), "spec.trust.forks"),
        create("a rerun is a switch", |o| put(o, "/spec/rerunLostJobs", json!(2)), "spec.rerunLostJobs"),
    ]
}

fn scaling() -> Vec<Row> {
    vec![
        create(
            "a minimum is not above the maximum",
            |o| put(o, "/spec/scaling/minReplicas", json!(21)),
            "spec.scaling.minReplicas",
        ),
        create(
            "a default maximum counts too",
            |o| put(o, "/spec/scaling", json!({ "minReplicas": 11 })),
            "spec.scaling.minReplicas",
        ),
        create(
            "a minimum is not negative",
            |o| put(o, "/spec/scaling/minReplicas", json!(-1)),
            "spec.scaling.minReplicas",
        ),
        create(
            "a maximum has a bound",
            |o| put(o, "/spec/scaling/maxReplicas", json!(10_001)),
            "spec.scaling.maxReplicas",
        ),
        create(
            "a maximum is a number",
            |o| put(o, "/spec/scaling/maxReplicas", json!("ten")),
            "spec.scaling.maxReplicas",
        ),
        create("no more are warm than may be", |o| put(o, "/spec/scaling/warm", json!(21)), "spec.scaling.warm"),
        create(
            "one may always be going",
            |o| put(o, "/spec/scaling/maxTerminating", json!(0)),
            "spec.scaling.maxTerminating",
        ),
        create(
            "a delay is a length of time",
            |o| put(o, "/spec/scaling/scaleDownDelay", json!("soon")),
            "spec.scaling.scaleDownDelay",
        ),
    ]
}

fn lifecycle() -> Vec<Row> {
    vec![
        create(
            "a life lasts at least a minute",
            |o| put(o, "/spec/lifecycle/maxLifetime", json!("59s")),
            "spec.lifecycle.maxLifetime",
        ),
        create(
            "a runner may wait at least ten seconds",
            |o| put(o, "/spec/lifecycle/idleTimeout", json!("9s")),
            "spec.lifecycle.idleTimeout",
        ),
        create(
            "a job may run at least ten seconds",
            |o| put(o, "/spec/lifecycle/jobTimeout", json!("0s")),
            "spec.lifecycle.jobTimeout",
        ),
        create(
            "a machine may boot at least ten seconds",
            |o| put(o, "/spec/lifecycle/bootstrapTimeout", json!("1s")),
            "spec.lifecycle.bootstrapTimeout",
        ),
        create("a ttl is not negative", |o| put(o, "/spec/lifecycle/ttl", json!("-1s")), "spec.lifecycle.ttl"),
        create(
            "a drain is counted in hours, minutes and seconds",
            |o| put(o, "/spec/lifecycle/drainTimeout", json!("1d")),
            "spec.lifecycle.drainTimeout",
        ),
    ]
}

fn changes() -> Vec<Row> {
    let mut reported = good();
    put(&mut reported, "/status", json!({ "replicas": 1 }));
    vec![
        Row::new(
            "a pool keeps its source",
            Update,
            good(),
            |o| put(o, "/spec/sourceRef/name", json!("other")),
            "spec.sourceRef",
        ),
        Row::new(
            "a maximum cannot sink below the minimum",
            Update,
            good(),
            |o| put(o, "/spec/scaling", json!({ "minReplicas": 3, "maxReplicas": 2 })),
            "spec.scaling.minReplicas",
        ),
        Row::new(
            "replicas are not negative",
            Status,
            reported.clone(),
            |o| put(o, "/status/replicas", json!(-1)),
            "status.replicas",
        ),
        Row::new(
            "a level has its time",
            Status,
            reported.clone(),
            |o| put(o, "/status/level", json!({ "jobs": 3 })),
            "status.level.asOf",
        ),
        Row::new(
            "a condition stands there once",
            Status,
            reported,
            |o| {
                let condition = json!({
                    "type": "Scaling", "status": "True", "reason": "Steady", "message": "",
                    "lastTransitionTime": "2026-01-01T00:00:00Z",
                });
                put(o, "/status/conditions", json!([condition, condition]));
            },
            "status.conditions[1]",
        ),
    ]
}
