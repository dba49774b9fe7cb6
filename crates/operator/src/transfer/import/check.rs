//! Looks at everything before anything is written.

use std::collections::BTreeSet;

use api::registry::annotation::{EXPORTED, HOLD, IMPORTED};
use futures::{StreamExt, TryStreamExt, stream};
use serde_json::Value;

use super::super::TransferError;
use super::super::object::{KINDS, Place, annotation, held_for, past};
use super::fit::{Fit, fit};
use super::{AT_ONCE, Import, Verdict};
use crate::bootstrap::AUTHORITY;
use crate::site::OWNERSHIP;

impl Import<'_> {
    /// Whether everything can be brought here; if not, every reason at once. Nothing is written.
    pub async fn check(&self) -> Result<Verdict, TransferError> {
        let mut problems = self.missing().await?;
        if !problems.is_empty() {
            return Err(TransferError::Refused(problems));
        }
        let verdict = match self.key_here().await? {
            Ok(Verdict::Done) => return Ok(Verdict::Done),
            Ok(verdict @ (Verdict::Begun | Verdict::New)) => verdict,
            Err(problem) => return Err(TransferError::refused(problem)),
        };
        let secrets = self.export.secrets.iter().filter(|secret| secret["metadata"]["name"] != OWNERSHIP);
        for secret in secrets {
            problems.extend(self.secret_here(secret).await?);
        }
        let looking: Vec<_> = self.export.objects.iter().map(|packed| self.object_here(packed)).collect();
        let found: Vec<Option<String>> = stream::iter(looking).buffer_unordered(AT_ONCE).try_collect().await?;
        problems.extend(found.into_iter().flatten());
        problems.sort();
        if problems.is_empty() { Ok(verdict) } else { Err(TransferError::Refused(problems)) }
    }

    /// The namespaces that the fleet lives in here.
    pub(super) fn namespaces(&self) -> BTreeSet<String> {
        let of_secrets = self.export.secrets.iter().filter_map(|secret| self.place_of(secret));
        let of_objects = self.export.objects.iter().filter_map(Place::of);
        of_secrets.chain(of_objects).map(|place| place.namespace).collect()
    }

    /// Definitions and namespaces that are not here.
    async fn missing(&self) -> Result<Vec<String>, TransferError> {
        let mut missing = Vec::new();
        for kind in KINDS {
            if self.server.list(kind, Some(&self.home)).await?.is_none() {
                missing.push(format!(
                    "the API server has no definition of {kind}: install them with `hyperfleet crds | kubectl apply \
                     --server-side -f -`"
                ));
            }
        }
        for namespace in self.namespaces().into_iter().filter(|_| !self.makes_namespaces) {
            if self.server.labels(&namespace).await?.is_none() {
                missing.push(format!("there is no Namespace {namespace}: create it, or say --create-namespaces"));
            }
        }
        Ok(missing)
    }

    /// The key that the file brings.
    pub(super) fn brought(&self) -> Result<&Value, String> {
        let key = self.key();
        let brought = self.export.secrets.iter().find(|secret| self.place_of(secret).as_ref() == Some(&key));
        brought.ok_or_else(|| format!("the file has no Secret {OWNERSHIP}, without which no machine is anybody's"))
    }

    /// How it stands with the key here; the problem if the fleet cannot come.
    async fn key_here(&self) -> Result<Result<Verdict, String>, TransferError> {
        if let Err(problem) = self.brought() {
            return Ok(Err(problem));
        }
        let live = self.server.get(&self.key()).await?;
        Ok(live.map_or(Ok(Verdict::New), |live| self.judge_key(&live)))
    }

    /// What a key that is here already means; the problem if the fleet cannot come.
    pub(super) fn judge_key(&self, live: &Value) -> Result<Verdict, String> {
        let (place, id, brought) = (self.key(), self.export.header.id.as_str(), self.brought()?);
        if live["data"] != brought["data"] {
            return Err(format!(
                "{place} is the key of another fleet, and one operator has one key. Bring this fleet to another cluster, or to \
                 an operator in another namespace (--operator-namespace); or, if that fleet has no machines, stop its \
                 operator, delete the Secret and import again"
            ));
        }
        // The file itself, or all of its hold, if that was called off.
        let before = annotation(live, IMPORTED).is_some_and(|past| past == id || past == self.export.identity());
        let akin = past(live) == Some(id);
        match (annotation(live, HOLD), held_for(live)) {
            (None, _) if before => Ok(Verdict::Done),
            (None, _) if akin => Err(format!(
                "another file of export {id} was imported here, and the fleet is at work since: what only this file has does \
                 not come any more. Make it here anew, if it has no machine; a fleet moves at once, with --all-namespaces"
            )),
            (None, _) => Err(format!(
                "the fleet of this export is at work here: {place} is its key, and is not on hold. A fleet is brought to where \
                 it is not"
            )),
            (Some(_), Some(held)) if held == id && akin => Err(format!(
                "this export was imported here before, and was applied by hand since. What is here is right: say `hyperfleet \
                 export --thaw --operator-namespace {}`, and delete the objects that it names: they ended since",
                self.home
            )),
            (Some(_), Some(held)) if held == id && annotation(live, EXPORTED) == Some(id) => Err(format!(
                "this is where the fleet was exported from: bring it to another server, which KUBECONFIG has to name; or, to go \
                 on here, say `hyperfleet export --thaw --operator-namespace {}`",
                self.home
            )),
            (Some(_), Some(held)) if held == id => Ok(Verdict::Begun),
            (Some(_), _) => Err(
                "the fleet here is on hold for another move, so what is here may be out of date: bring this one to an empty \
                 server, or end that hold with `hyperfleet export --thaw` if nobody else has that fleet"
                    .to_owned(),
            ),
        }
    }

    /// The problem with a Secret that is here already.
    pub(super) async fn secret_here(&self, secret: &Value) -> Result<Option<String>, TransferError> {
        let Some(place) = self.place_of(secret) else { return Ok(None) };
        let Some(live) = self.server.get(&place).await? else { return Ok(None) };
        if live["data"] == secret["data"] {
            return Ok(None);
        }
        if place != Place::secret(&self.home, AUTHORITY) {
            return Ok(Some(format!("{place} is here already with other entries: remove it, or make it the same")));
        }
        // An operator makes one as soon as it starts; it matters once a machine believes it.
        let claims = self.server.list("MachineClaim", None).await?.unwrap_or_default();
        let strangers = claims
            .iter()
            .filter(|claim| claim.pointer("/status/allocation").is_some())
            .filter(|claim| !self.export.objects.iter().any(|packed| Place::of(packed) == Place::of(claim)));
        Ok((strangers.count() > 0).then(|| {
            format!(
                "{place} is the authority that other machines here believe: bring the fleet to an operator in another \
                 namespace (--operator-namespace), or wait until there is no other machine"
            )
        }))
    }

    /// The problem with an object that is here already.
    async fn object_here(&self, packed: &Value) -> Result<Option<String>, TransferError> {
        let Some(place) = Place::of(packed) else { return Ok(None) };
        let Some(live) = self.server.get(&place).await? else { return Ok(None) };
        Ok(match fit(packed, &live, &self.export.header.id) {
            Fit::Ours | Fit::Settled => None,
            Fit::Other(why) => Some(format!("{place} {why}")),
        })
    }
}
