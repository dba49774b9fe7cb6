//! Many sequences at once, on two servers.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use futures::StreamExt;
use futures::stream;
use http::Method;
use serde_json::json;

use super::compare::{Verdict, compare};
use super::generate::{self, LABEL};
use super::normal::Part;
use super::run::{Pace, Server, run};
use super::sequence::{Act, Call, Payload, Sequence, Step, Until};

/// How many sequences are under way at once. Most of them wait for the real server.
const AT_ONCE: usize = 24;

/// How long a disagreement may be made smaller.
const SHRUNK_WITHIN: Duration = Duration::from_secs(30);

/// The seeds that a person asks for by the environment, else these.
pub fn seeds(otherwise: std::ops::Range<u64>) -> Vec<u64> {
    #[expect(clippy::disallowed_methods, reason = "a person replays a seed")]
    let asked = std::env::var(super::SEEDS).ok();
    let Some(asked) = asked else { return otherwise.collect() };
    let range = |text: &str| -> Option<Vec<u64>> {
        let (first, end) = text.split_once("..").unwrap_or((text, ""));
        let first: u64 = first.trim().parse().ok()?;
        let end: u64 = if end.is_empty() { first + 1 } else { end.trim().parse().ok()? };
        Some((first..end).collect())
    };
    asked.split(',').flat_map(|text| range(text).unwrap_or_else(|| panic!("{text}: not a seed"))).collect()
}

/// Runs the sequences of these seeds on both servers.
pub async fn drive(real: &Server, ours: &Server, seeds: &[u64]) -> Vec<Verdict> {
    let sequences: Vec<Sequence> = seeds.iter().map(|seed| generate::sequence(*seed)).collect();
    let (with, without): (Vec<Sequence>, Vec<Sequence>) =
        sequences.into_iter().partition(|sequence| sequence.controllers);
    let watch = testenv::Stopwatch::start();
    let mut verdicts = all(real, ours, without).await;
    let (quick, at) = (verdicts.len(), watch.elapsed());
    // The collector learns of new kinds only now and then; by the time the others are through it has.
    if !with.is_empty() {
        tokio::join!(await_collector(real), await_collector(ours));
        let waited = watch.elapsed();
        verdicts.extend(all(real, ours, with).await);
        println!(
            "{quick} sequences in {at:?}, the collector was ready at {waited:?}, {} with controllers until {:?}",
            verdicts.len() - quick,
            watch.elapsed()
        );
    }
    verdicts.sort_by_key(|verdict| verdict.seed);
    println!("{}", tally(&verdicts));
    verdicts
}

async fn all(real: &Server, ours: &Server, sequences: Vec<Sequence>) -> Vec<Verdict> {
    stream::iter(sequences)
        .map(|sequence| async move { judge(real, ours, &sequence).await })
        .buffer_unordered(AT_ONCE)
        .collect()
        .await
}

/// Runs a sequence on both. A difference counts if it shows again: ownership is stamped with whole seconds, and a second
/// may turn between two steps on one server and not on the other. Run again, the steps are in one second and then each in
/// its own; what differs by itself differs in one of the two.
async fn judge(real: &Server, ours: &Server, sequence: &Sequence) -> Verdict {
    let first = once(real, ours, sequence).await;
    if first.agrees() {
        return first;
    }
    for (run, pace) in [("again", Pace::Quick), ("apart", Pace::Seconds)] {
        if !once(&real.again(run, pace), &ours.again(run, pace), sequence).await.agrees() {
            return first;
        }
    }
    println!("seed {}: differed once and never again: {}", first.seed, first.signature());
    Verdict { unexplained: Vec::new(), fleeting: true, ..first }
}

async fn once(real: &Server, ours: &Server, sequence: &Sequence) -> Verdict {
    let (said, echoed) = tokio::join!(run(real, sequence), run(ours, sequence));
    compare(sequence, &said, &echoed)
}

/// Which requests were sent, and how the real server answered.
fn tally(verdicts: &[Verdict]) -> String {
    let mut counts: BTreeMap<String, BTreeMap<String, usize>> = BTreeMap::new();
    for verdict in verdicts {
        for step in &verdict.sequence.steps {
            let call = step.act.call();
            let form = call.headers.iter().find(|(name, _)| *name == "content-type" && call.method == Method::PATCH);
            let word = match &step.act {
                Act::Send(_) | Act::Settle(..) => "",
                Act::Watch(_) => "watch ",
                Act::Mark { .. } => "mark ",
            };
            let form = form.map(|(_, form)| form.replace("application/", "")).unwrap_or_default();
            let answer = verdict.real.parts.get(&(step.id, Part::Answer));
            let status = answer.map(|answer| answer["status"].to_string()).unwrap_or_default();
            *counts.entry(format!("{word}{} {form}", call.method)).or_default().entry(status).or_default() += 1;
        }
    }
    let lines = counts.iter().map(|(request, statuses)| {
        let statuses: Vec<String> = statuses.iter().map(|(status, count)| format!("{status}×{count}")).collect();
        format!("  {request:42} {}", statuses.join("  "))
    });
    lines.collect::<Vec<String>>().join("\n")
}

/// The same disagreement with fewer steps, for each kind of disagreement that will be reported at length.
pub async fn shrink(real: &Server, ours: &Server, verdicts: &mut [Verdict]) {
    let mut seen = BTreeSet::new();
    let worth = verdicts
        .iter_mut()
        .filter(|verdict| !verdict.agrees() && !verdict.sequence.controllers && seen.insert(verdict.signature()));
    stream::iter(worth.take(super::REPORTS))
        .for_each_concurrent(AT_ONCE, |verdict| async {
            // What was found until then stays.
            let _ = tokio::time::timeout(SHRUNK_WITHIN, shrink_one(real, ours, verdict)).await;
        })
        .await;
}

async fn shrink_one(real: &Server, ours: &Server, verdict: &mut Verdict) {
    let signature = verdict.signature();
    let ids: Vec<usize> = verdict.sequence.steps.iter().map(|step| step.id).rev().collect();
    for id in ids {
        let mut fewer = verdict.sequence.clone();
        // Without its mark a watch is waited for in vain.
        fewer.steps.retain(|step| step.id != id || matches!(step.act, Act::Mark { .. }));
        if fewer.steps.len() == verdict.sequence.steps.len() {
            continue;
        }
        let renamed = |server: &Server| server.again(&format!("x{id}"), server.pace);
        let smaller = once(&renamed(real), &renamed(ours), &fewer).await;
        if smaller.signature() == signature {
            *verdict = smaller;
        }
    }
}

/// Waits until the collector of a server acts on the custom resources of this suite.
async fn await_collector(server: &Server) {
    let kinds: BTreeSet<&str> = ["Widget", "Gadget"].into();
    for (index, kind) in super::kinds::all().iter().filter(|kind| kinds.contains(kind.kind.as_str())).enumerate() {
        let name = "«ns»-probe";
        let object = json!({
            "apiVersion": kind.api_version(), "kind": kind.kind,
            "metadata": { "name": name, "labels": { LABEL: "«ns»" }, "finalizers": [] }, "spec": {},
        });
        let create = Call::new(Method::POST, kind.collection()).header("content-type", "application/json");
        let delete = Call::new(Method::DELETE, kind.path(name)).query("propagationPolicy", "Foreground");
        let acts = [
            Act::Send(create.carrying(Payload::Json(object))),
            Act::Send(delete),
            Act::Settle(Call::new(Method::GET, kind.path(name)), Until::Gone),
            Act::Settle(Call::new(Method::GET, kind.path(name)), Until::Gone),
        ];
        let steps = acts.into_iter().enumerate().map(|(id, act)| Step { id, act }).collect();
        // Seeds of sequences are far from these.
        let seed = 1_000_000 + u64::try_from(index).expect("few kinds");
        let record = run(server, &Sequence { seed, steps, controllers: true }).await;
        let settled = record.answers.get(&3).and_then(|answer| answer.settled);
        assert_eq!(settled, Some(true), "the collector of {} does not know {}", server.tag, kind.kind);
    }
}
