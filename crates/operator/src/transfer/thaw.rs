//! Calls a move off, or undoes an export that was applied by hand.

use api::registry::annotation::{DELETING, EXPORTED, HOLD, IMPORTED, OWNER};
use kube::Client;
use serde_json::{Value, json};

use super::TransferError;
use super::export::key;
use super::object::{KINDS, Place, annotation, held_for, is_untouched, past};
use super::server::Server;
use crate::site::OWNERSHIP;

/// What became of a hold.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Thawed {
    /// Whether the fleet was on hold.
    pub ended: bool,
    /// Objects that were on hold by themselves.
    pub freed: usize,
    /// Objects that are so still: whoever applied the export has made them, with no status.
    pub left: Vec<String>,
    /// Kinds of which it could not be seen.
    pub unseen: Vec<&'static str>,
}

/// Ends the hold on the fleet of the operator in this namespace, and on everything of it that got it with an export. An error
/// if it has no fleet, or one that has not come whole.
pub async fn thaw(client: &Client, home: &str) -> Result<Thawed, TransferError> {
    let (server, place) = (Server(client.clone()), Place::secret(home, OWNERSHIP));
    let secret = key(&server, home).await?;
    let known: Vec<&str> = [annotation(&secret, EXPORTED), past(&secret)].into_iter().flatten().collect();
    let held = held_for(&secret);
    if held.is_some_and(|id| !known.contains(&id)) {
        return Err(TransferError::refused(format!(
            "the fleet on hold here was not exported from here, and not all of it has come: complete that with `hyperfleet \
             import` of its file. If it stays where it was, see that KUBECONFIG names that server; what is here can go then, \
             {place} last"
        )));
    }
    // The key's comes last: nobody acts before everything is as it should be.
    let mut thawed = free(&server, &known).await?;
    thawed.ended = annotation(&secret, HOLD).is_some();
    if thawed.ended {
        // From now on the export is the past: brought here after all, it would undo what happens next.
        let gone_by = held.filter(|id| past(&secret) != Some(id)).or(annotation(&secret, IMPORTED));
        let marks = json!({ "metadata": { "annotations": { HOLD: null, IMPORTED: gone_by } } });
        server.merge(&place, &secret, marks).await?;
    }
    Ok(thawed)
}

/// Takes the marks of these exports off whatever has them.
async fn free(server: &Server, ids: &[&str]) -> Result<Thawed, TransferError> {
    let mut thawed = Thawed::default();
    for kind in KINDS {
        let objects = match server.list(kind, None).await {
            Ok(found) => found.unwrap_or_default(),
            Err(error) if error.is_forbidden() => {
                thawed.unseen.push(kind);
                continue;
            }
            Err(error) => return Err(error),
        };
        let ours = |object: &&Value| held_for(object).is_some_and(|id| ids.contains(&id));
        for object in objects.iter().filter(ours) {
            let Some(place) = Place::of(object) else { continue };
            if is_untouched(object) {
                thawed.left.push(place.to_string());
                continue;
            }
            let marks = json!({ "metadata": { "annotations": { HOLD: null, OWNER: null, DELETING: null } } });
            server.change(&place, |live| annotation(live, HOLD).map(|_| marks.clone())).await?;
            thawed.freed += 1;
        }
    }
    Ok(thawed)
}
