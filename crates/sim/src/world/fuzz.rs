//! Every field of a custom resource in every state: set, changed, removed, at its bounds, invalid, and back.
//!
//! The mutations come from the resource's own schema. They are applied in an order that the dice choose, some of them
//! in a row; after each burst the system must come to rest with a status that does not lie, and what it has then built
//! must be what a fresh install of the same object builds.

mod mutation;
mod values;

use std::pin::Pin;
use std::time::Duration;

use serde_json::{Value, json};

use super::World;
use super::dice::Dice;
use super::figures::Figures;
use super::history::{Call, State, essence};
use super::person::{Person, Refused};

pub use mutation::{Change, ITEM, Mutation, mutations};

/// Everything is there that the object needs.
pub type Installed = Pin<Box<dyn Future<Output = ()>>>;

/// What is fuzzed, and how the controller's own test sees it.
pub struct Fuzzing<'a> {
    /// Starts destinations and actors, and makes the objects that this one needs.
    pub install: &'a dyn Fn(World) -> Installed,
    /// The destination that holds the object.
    pub destination: &'a str,
    /// The collection that the object is made in.
    pub collection: &'a str,
    /// The object as it is first made.
    pub sample: &'a Value,
    /// The schema of the whole object (`openAPIV3Schema`).
    pub schema: &'a Value,
    /// Fields that are left alone, as JSON pointers below `/spec`.
    pub untouched: &'a [&'a str],
    /// How many states at the most are compared with a fresh install, spread over all of them.
    pub compared: usize,
    /// Which writes show that the system is not at rest.
    pub counts: fn(&Call) -> bool,
    /// How long it must be silent to be at rest, and how long that may take.
    pub rest: (Duration, Duration),
    /// What was built for the object, without what depends on when and how often it was written.
    pub outcome: &'a dyn Fn(&State) -> Value,
    /// What the status says and is not so.
    pub lies: &'a dyn Fn(&State) -> Vec<String>,
}

/// What came of it.
#[derive(Clone, Debug, Default)]
pub struct FuzzReport {
    /// Mutations that the API took.
    pub taken: usize,
    /// Mutations that it refused.
    pub refused: usize,
    /// States that were compared with a fresh install.
    pub compared: usize,
    /// The sum over all runs.
    pub figures: Figures,
    /// What was wrong, and how to see it again.
    pub failures: Vec<String>,
}

/// A state at rest.
struct Rest {
    spec: Value,
    outcome: Value,
    after: String,
}

/// Fuzzes with this seed; every field of the schema is in every state at least once.
pub fn fuzz(seed: u64, fuzzing: &Fuzzing<'_>) -> FuzzReport {
    let mut report = FuzzReport::default();
    let rests = World::run(seed, async |world: World| {
        let rests = fuzzing.mutate(&world, &mut report).await;
        report.figures += world.figures();
        rests
    });
    let mut known: Vec<(Value, Value)> = Vec::new();
    let step = rests.len().div_ceil(fuzzing.compared.max(1)).max(1);
    for rest in rests.into_iter().step_by(step) {
        let same = known.iter().find(|(spec, _)| *spec == rest.spec).map(|(_, fresh)| fresh.clone());
        let fresh = same.unwrap_or_else(|| fuzzing.fresh(seed, &rest.spec, &mut report));
        known.push((rest.spec.clone(), fresh.clone()));
        report.compared += 1;
        if fresh != rest.outcome {
            let Rest { spec, outcome, after } = rest;
            report.failures.push(format!("after {after} the spec is {spec}\n  a fresh install gives {fresh}\n  but there is {outcome}\n  (seed {seed})"));
        }
    }
    report
}

/// Mutations in a row at most.
const ROW: usize = 4;

impl Fuzzing<'_> {
    fn object(&self) -> String {
        format!("{}/{}", self.collection, self.sample["metadata"]["name"].as_str().unwrap_or_default())
    }

    /// Applies everything, and tells the states in which the system came to rest.
    async fn mutate(&self, world: &World, report: &mut FuzzReport) -> Vec<Rest> {
        let mut dice = world.dice("fuzz");
        let person = self.begin(world, self.sample).await;
        let mut left = mutations(&self.schema["properties"]["spec"], &self.sample["spec"], self.untouched);
        let mut rests = Vec::new();
        while left.iter().any(|sequence| !sequence.is_empty()) {
            let mut row = Vec::new();
            for _ in 0..=dice.below(ROW) {
                row.extend(next(&mut left, &mut dice));
            }
            for mutation in &row {
                match self.apply(&person, mutation).await {
                    Ok(()) => report.taken += 1,
                    Err(_) => report.refused += 1,
                }
            }
            let after = row.iter().map(ToString::to_string).collect::<Vec<_>>().join(", ");
            if !world.quiet(self.rest.0, self.rest.1, self.counts).await {
                report.failures.push(format!("no rest {:?} after {after}\n{}", self.rest.1, world.report()));
            }
            let state = world.state();
            for lie in (self.lies)(&state) {
                report.failures.push(format!("after {after} its status lies: {lie}\n{}", world.report()));
            }
            let spec = person.get(&self.object()).await.map(|object| object["spec"].clone()).unwrap_or_default();
            rests.push(Rest { spec, outcome: essence(&(self.outcome)(&state)), after });
        }
        rests
    }

    async fn begin(&self, world: &World, object: &Value) -> Person {
        (self.install)(world.clone()).await;
        let person = world.person("person", self.destination);
        if let Err(refused) = person.create(self.collection, object).await {
            world.tell("person", "", format!("cannot begin: {refused}"));
        }
        world.quiet(self.rest.0, self.rest.1, self.counts).await;
        person
    }

    /// What a fresh install builds for this spec.
    fn fresh(&self, seed: u64, spec: &Value, report: &mut FuzzReport) -> Value {
        let mut object = self.sample.clone();
        object["spec"] = spec.clone();
        World::run(seed, async |world: World| {
            self.begin(&world, &object).await;
            report.figures += world.figures();
            essence(&(self.outcome)(&world.state()))
        })
    }

    /// Makes one change, whatever the controller writes meanwhile.
    async fn apply(&self, person: &Person, mutation: &Mutation) -> Result<(), Refused> {
        loop {
            let mut object = person.get(&self.object()).await?;
            mutation.make(&mut object["spec"]);
            match person.replace(&self.object(), &object).await {
                Ok(_) => return Ok(()),
                Err(refused) if refused.code == 409 => {}
                Err(refused) => return Err(refused),
            }
        }
    }
}

/// The next mutation of some field: fields in any order, the mutations of one field in theirs.
fn next(left: &mut [Vec<Mutation>], dice: &mut Dice) -> Option<Mutation> {
    let open: Vec<usize> = (0..left.len()).filter(|index| !left[*index].is_empty()).collect();
    let chosen = *dice.pick(&open)?;
    Some(left[chosen].remove(0))
}

impl FuzzReport {
    /// Adds another seed's.
    pub fn add(&mut self, other: Self) {
        self.taken += other.taken;
        self.refused += other.refused;
        self.compared += other.compared;
        self.figures += other.figures;
        self.failures.extend(other.failures);
    }
}

/// The schema of a CRD's stored version, for [`Fuzzing::schema`].
pub fn schema_of(crd: &Value) -> Value {
    let versions = crd["spec"]["versions"].as_array();
    let stored = versions.into_iter().flatten().find(|version| version["storage"] == json!(true));
    stored.map_or(Value::Null, |version| version["schema"]["openAPIV3Schema"].clone())
}

/// What is left of a history's last state for one resource, for [`Fuzzing::outcome`].
pub fn built(state: &State, resource: &str) -> Value {
    let objects = state.of(resource).map(|(object, value)| (object.to_string(), essence(value)));
    Value::Object(objects.collect())
}
