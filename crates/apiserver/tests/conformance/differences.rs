//! Where we know that ours is not as the real one, and why that stays so. `docs/reference/api-differences.md` is
//! written from this list.

use std::fmt::Write as _;

use serde_json::Value;

use super::compare::Difference;
use super::sequence::Step;

/// A difference that stays.
pub struct Known {
    /// A short name.
    pub id: &'static str,
    /// What differs, for a user.
    pub what: &'static str,
    /// Why it stays.
    pub why: &'static str,
    /// Whether this is one.
    pub matches: fn(&Step, &Difference) -> bool,
}

/// The id of the difference that the comparison finds by itself.
pub const WATCH_HISTORY: &str = "watch-history";

/// The id of another.
pub const GENERATED_ORDER: &str = "generated-order";

/// All of them, in the order of the page.
pub const KNOWN: &[Known] = &[
    Known {
        id: "which-wrong-type",
        what: "Of several values of wrong types in one object, another one is named.",
        why: "The real server names the first in the text, ours the first in the order of names; the remedy is the same.",
        matches: |_, difference| {
            let wrong = |value: &Option<Value>| {
                let text = value.as_ref().and_then(Value::as_str).unwrap_or_default();
                text.contains("cannot be handled as a")
                    && (text.contains("cannot unmarshal") || text.contains("parsing time"))
            };
            difference.at == ".body.message" && wrong(&difference.real) && wrong(&difference.ours)
        },
    },
    Known {
        id: WATCH_HISTORY,
        what: "A watch from an older version still works.",
        why: "The real server's watch cache of a kind begins when the kind is first served; ours remembers the last 10,000 \
              changes of all kinds, and of large ones those of the last 64 MiB.",
        // Found by the comparison itself: everything behind the error differs then.
        matches: |_, _| false,
    },
    Known {
        id: "scale-apply",
        what: "Server-side apply through the `scale` subresource of a custom resource fails with 500.",
        why: "The real server does the same in most cases, since it cannot convert a Scale to the custom kind; nobody applies \
              a Scale.",
        matches: |step, _| {
            let step = format!("{step:?}");
            step.contains("/scale") && step.contains("apply-patch")
        },
    },
    Known {
        id: GENERATED_ORDER,
        what: "Objects with generated names come in another order on a page.",
        why: "Generated names are random on both servers.",
        // Found by the comparison itself, which knows the whole sequence.
        matches: |_, _| false,
    },
    Known {
        id: "wrapped-integers",
        what: "An integer that its field cannot hold is refused as such when it is applied.",
        why: "The real server lets it overflow and complains about the negative number that it never was given.",
        matches: |step, _| format!("{step:?}").contains("3000000000"),
    },
    Known {
        id: "definition-rule-types",
        what: "A definition whose CEL rules compare values of different types is admitted.",
        why: "Rules are parsed here, not type-checked; an object that meets such a rule is refused when it is judged.",
        matches: |step, _| format!("{step:?}").contains("x-kubernetes-validations"),
    },
    Known {
        id: "which-missing-key",
        what: "Where both sides of an `||` or `&&` in a rule ask for a field that is not there, the other field is named.",
        why: "The CEL interpreters differ in which of two errors they keep; the rule is broken either way.",
        matches: |_, difference| {
            let rule = |value: &Option<Value>| {
                let text = value.as_ref().and_then(Value::as_str)?;
                let (head, rule) = text.split_once(" evaluating rule: ")?;
                head.contains("no such key: ").then(|| rule.to_owned())
            };
            let (real, ours) = (rule(&difference.real), rule(&difference.ours));
            real.is_some() && real == ours
        },
    },
    Known {
        id: "complaint-order",
        what: "Of fields that are unknown and fields that are given twice, the latter are named first.",
        why: "The real server names them in the order of the text.",
        matches: |_, difference| {
            let complaints = |value: &Option<Value>| {
                let text = value.as_ref().and_then(Value::as_str)?;
                let (_, list) = text.split_once("strict decoding error: ")?;
                let mut complaints: Vec<String> = list.split(", ").map(str::to_owned).collect();
                complaints.sort_unstable();
                Some(complaints)
            };
            let (real, ours) = (complaints(&difference.real), complaints(&difference.ours));
            real.is_some() && real == ours
        },
    },
    Known {
        id: "key-order",
        what: "The keys of a JSON document stand in another order.",
        why: "Order has no meaning in JSON; the real server writes in the order of its Go types.",
        matches: |_, _| false,
    },
    Known {
        id: "no-quota",
        what: "`kubectl describe namespace` says nothing of quotas and limit ranges.",
        why: "ResourceQuota and LimitRange are not served.",
        matches: |_, _| false,
    },
    Known {
        id: "doubled-parents",
        what: "Where a part of an object is given twice, unknown fields in the first one are not warned of.",
        why: "Only the last one counts; that it is given twice is warned of.",
        matches: |step, difference| {
            let doubled =
                |value: &Option<Value>| value.as_ref().is_some_and(|it| it.to_string().contains("duplicate field"));
            let twice =
                |step: &Step| format!("{step:?}").contains("Twice") || format!("{step:?}").matches("spec").count() > 1;
            let named = doubled(&difference.real) || doubled(&difference.ours);
            difference.at.starts_with(".warnings") && (named || twice(step))
        },
    },
];

/// The page.
pub fn page() -> String {
    let mut text = String::from(
        "# Where our API differs from kube-apiserver\n\n\
         The small Kubernetes API in this project is held to the real kube-apiserver: the same requests go to both, and every\n\
         answer must be equal. These are the differences that we know and keep. A kind, verb or subresource that is not served\n\
         at all answers as a real server without that feature would, and is not listed.\n\n\
         This page is written from a list that the conformance suite checks; a difference that is not on it is a bug.\n\n",
    );
    if KNOWN.is_empty() {
        text.push_str("None are known.\n");
        return text;
    }
    text.push_str("| name | what differs | why |\n|---|---|---|\n");
    for Known { id, what, why, matches: _ } in KNOWN {
        let _ = writeln!(text, "| `{id}` | {what} | {why} |");
    }
    text
}
