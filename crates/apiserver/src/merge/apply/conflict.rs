//! Conflicts: fields that an apply would change and that others own.

use std::collections::BTreeMap;

use http::StatusCode;

use crate::failure::{Cause, Details, Failure};
use crate::merge::fields::{Path, Set};
use crate::merge::managed::{Holding, Owner};

/// A field that somebody else owns.
pub(super) struct Conflict {
    pub(super) owner: Owner,
    pub(super) path: Path,
}

/// The fields of `taken` that the holdings have, by owner.
pub(super) fn find<'a>(holdings: impl Iterator<Item = &'a Holding>, taken: &Set) -> Vec<Conflict> {
    let mut found = Vec::new();
    for holding in holdings {
        let paths = holding.fields.intersection(taken).paths();
        found.extend(paths.into_iter().map(|path| Conflict { owner: holding.owner.clone(), path }));
    }
    found.sort_by_cached_key(|conflict| conflict.owner.identity());
    found
}

/// The refusal that names them all.
pub(super) fn refusal(conflicts: &[Conflict]) -> Failure {
    let message = if let [only] = conflicts {
        format!("Apply failed with 1 conflict: conflict with {}: {}", only.owner.shown(), only.path)
    } else {
        let mut by_owner: BTreeMap<String, (String, Vec<String>)> = BTreeMap::new();
        for Conflict { owner, path } in conflicts {
            let (_, paths) = by_owner.entry(owner.identity()).or_insert_with(|| (owner.shown(), Vec::new()));
            paths.push(format!("- {path}"));
        }
        let lines: Vec<String> = by_owner
            .into_values()
            .map(|(owner, paths)| format!("conflicts with {owner}:\n{}", paths.join("\n")))
            .collect();
        format!("Apply failed with {} conflicts: {}", conflicts.len(), lines.join("\n"))
    };
    let causes = conflicts.iter().map(|Conflict { owner, path }| Cause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {}", owner.shown()),
        field: path.to_string(),
    });
    let details = Details { causes: causes.collect(), ..Details::default() };
    Failure::new(StatusCode::CONFLICT, "Conflict", message).with_details(details)
}
