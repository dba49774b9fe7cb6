//! Brings a fleet to an API server.
//!
//! Nothing is written before everything was looked at. The first write puts the key there, on hold; the last one takes the
//! hold off. In between, everything is written only where it is missing, so that an import can end at any moment and be
//! repeated.

mod check;
mod fit;
mod grants;

use std::collections::BTreeMap;

use api::registry::annotation::{DELETING, HOLD, IMPORTED, OWNER};
use futures::{StreamExt, TryStreamExt, stream};
use kube::Client;
use serde_json::{Value, json};

use self::fit::{Fit, fit};
use super::file::Export;
use super::hold::NOTICED;
use super::object::{KINDS, Place, annotation, hold, lost, owner_of, reference, renumber, unpack};
use super::server::{Server, TRIES, contended};
use super::tally::{Fate, Tally};
use super::{TransferError, object};
use crate::bootstrap::AUTHORITY;
use crate::site::OWNERSHIP;

/// Writes that are under way at the same time.
const AT_ONCE: usize = 16;

/// A fleet about to be brought somewhere.
pub struct Import<'a> {
    server: Server,
    export: &'a Export,
    /// The namespace of the operator here.
    home: String,
    makes_namespaces: bool,
}

/// What a look at everything has shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// It was imported before; there is nothing to do.
    Done,
    /// An import of it has begun, or its manifests were applied.
    Begun,
    /// Nothing of it is here.
    New,
}

/// What is here by now.
type Known = BTreeMap<Place, Value>;

impl<'a> Import<'a> {
    /// Brings `export` to the API server of `client`, whose operator lives in the namespace `home`, or in that of the export.
    pub fn new(client: &Client, export: &'a Export, home: Option<&str>, makes_namespaces: bool) -> Self {
        let home = home.unwrap_or(&export.header.home).to_owned();
        Self { server: Server(client.clone()), export, home, makes_namespaces }
    }

    /// Writes what is missing; only after [`check`](Self::check).
    pub async fn run(&self) -> Result<Tally, TransferError> {
        let mut tally = Tally::default();
        if self.makes_namespaces {
            for namespace in self.namespaces() {
                self.server.make_namespace(&namespace, self.export.namespaces.get(&namespace)).await?;
            }
        }
        let is_new = self.seize().await?;
        tally.count(object::SECRET, if is_new { Fate::Made } else { Fate::Kept });
        for secret in self.export.secrets.iter().filter(|secret| secret["metadata"]["name"] != OWNERSHIP) {
            tally.count(object::SECRET, self.hand_over(secret).await?);
        }
        let mut known = Known::new();
        for kind in KINDS {
            let wanted = self.export.objects.iter().filter(|object| object["kind"] == *kind);
            let placing: Vec<_> = wanted.map(|packed| self.place(packed, &known)).collect();
            let placed: Vec<(Place, Value, Fate)> =
                stream::iter(placing).buffer_unordered(AT_ONCE).try_collect().await?;
            for (place, live, fate) in placed {
                tally.count(kind, fate);
                known.insert(place, live);
            }
        }
        let on_hold = known.iter().filter(|(_, live)| annotation(live, HOLD).is_some());
        let releasing: Vec<_> = on_hold.map(|(place, live)| self.release(place, live)).collect();
        stream::iter(releasing).buffer_unordered(AT_ONCE).try_collect::<Vec<()>>().await?;
        let marks = json!({ "metadata": { "annotations": { HOLD: null, IMPORTED: self.export.identity() } } });
        self.server.change(&self.key(), |_| Some(marks.clone())).await?;
        Ok(tally)
    }

    /// Where the ownership key is here.
    fn key(&self) -> Place {
        Place::secret(&self.home, OWNERSHIP)
    }

    /// Where a Secret of the file goes: those of the operator to where it lives here.
    fn place_of(&self, secret: &Value) -> Option<Place> {
        let mut place = Place::of(secret)?;
        let own = [OWNERSHIP, AUTHORITY].contains(&place.name.as_str()) && place.namespace == self.export.header.home;
        if own {
            place.namespace.clone_from(&self.home);
        }
        Some(place)
    }

    /// Puts the key here, on hold, and waits until everybody who runs has noticed; whether it is new.
    async fn seize(&self) -> Result<bool, TransferError> {
        let place = self.key();
        let mut wanted = unpack(self.brought().map_err(TransferError::refused)?, None);
        wanted["metadata"]["namespace"] = json!(self.home);
        wanted["metadata"]["annotations"][HOLD] = json!(hold(&self.export.header.id));
        let (live, is_new) = self.server.create(&place, &wanted).await?;
        if is_new {
            tokio::time::sleep(NOTICED).await;
            return Ok(true);
        }
        // Somebody may have put it here since everything was looked at.
        match self.judge_key(&live).map_err(TransferError::refused)? {
            Verdict::Begun => Ok(false),
            Verdict::Done | Verdict::New => Err(TransferError::refused(format!(
                "somebody else has imported this export in this moment, and {place} is not on hold any more: nothing is left to \
                 do here"
            ))),
        }
    }

    /// Puts a Secret here.
    async fn hand_over(&self, secret: &Value) -> Result<Fate, TransferError> {
        let Some(place) = self.place_of(secret) else { return Ok(Fate::Kept) };
        let mut wanted = unpack(secret, None);
        wanted["metadata"]["namespace"] = json!(place.namespace);
        let (live, is_new) = self.server.create(&place, &wanted).await?;
        if is_new {
            return Ok(Fate::Made);
        }
        if live["data"] == wanted["data"] {
            return Ok(Fate::Kept);
        }
        // Only the authority of an operator that has no machines yet. Everything else was refused before, and is if it came
        // since.
        if let Some(problem) = self.secret_here(secret).await? {
            return Err(TransferError::refused(problem));
        }
        // It cannot be changed.
        self.server.delete(&place).await?;
        let (live, _) = self.server.create(&place, &wanted).await?;
        if live["data"] == wanted["data"] {
            return Ok(Fate::Completed);
        }
        Err(TransferError::refused(format!("{place} was made anew by the operator here in this moment: import again")))
    }

    /// Puts an object here, with its status.
    async fn place(&self, packed: &Value, known: &Known) -> Result<(Place, Value, Fate), TransferError> {
        let place = Place::of(packed).expect("the file was read");
        let owner = owner_of(packed).and_then(|(kind, name)| known.get(&place.beside(kind, name)));
        let wanted = unpack(packed, owner.map(reference));
        let (mut live, is_new) = self.server.create(&place, &wanted).await?;
        match fit(packed, &live, &self.export.header.id) {
            Fit::Ours => {}
            Fit::Settled => return Ok((place, live, Fate::Kept)),
            Fit::Other(why) => return Err(TransferError::refused(format!("{place} {why}"))),
        }
        let mut fate = if is_new { Fate::Made } else { Fate::Kept };
        for _ in 0..TRIES {
            let written = self.complete(&place, &live, &wanted, packed, known).await;
            match written {
                Ok(None) => return Ok((place, live, fate)),
                Ok(Some(changed)) => {
                    live = changed;
                    fate = if is_new { Fate::Made } else { Fate::Completed };
                }
                Err(error) if error.is_conflict() => live = self.read(&place).await?,
                Err(error) => return Err(error),
            }
        }
        Err(contended(&place))
    }

    /// Writes one thing that an object lacks; nothing if it lacks none.
    async fn complete(
        &self,
        place: &Place,
        live: &Value,
        wanted: &Value,
        packed: &Value,
        known: &Known,
    ) -> Result<Option<Value>, TransferError> {
        let lacks = |field: &str| wanted["metadata"][field] != live["metadata"][field];
        let fields: Vec<&str> = ["ownerReferences", "finalizers"].into_iter().filter(|field| lacks(field)).collect();
        if !fields.is_empty() {
            let entries = fields.iter().map(|field| ((*field).to_owned(), wanted["metadata"][*field].clone()));
            let patch = json!({ "metadata": entries.collect::<serde_json::Map<_, _>>() });
            return self.server.merge(place, live, patch).await.map(Some);
        }
        if lost(&wanted["spec"], &live["spec"], "spec").is_some() {
            let changed = self.server.merge(place, live, json!({ "spec": wanted["spec"] })).await?;
            return kept(place, "spec", &wanted["spec"], changed).map(Some);
        }
        let Some(status) = self.status(packed, live, known) else { return Ok(None) };
        if lost(&status, &live["status"], "status").is_none() {
            return Ok(None);
        }
        let changed = self.server.status(place, live, &status).await?;
        kept(place, "status", &status, changed).map(Some)
    }

    /// The status that an object has here.
    fn status(&self, packed: &Value, live: &Value, known: &Known) -> Option<Value> {
        let mut status = packed.get("status")?.clone();
        renumber(&mut status, &packed["metadata"]["generation"], &live["metadata"]["generation"]);
        if let Some(made) = status.pointer_mut("/allocation/templateGeneration") {
            *made = self.template_generation(packed, made, known).unwrap_or_else(|| json!(0));
        }
        Some(status)
    }

    /// The generation here of the template that a claim's machine was made from; none if it has changed since.
    fn template_generation(&self, claim: &Value, made: &Value, known: &Known) -> Option<Value> {
        let template = &claim["spec"]["templateRef"];
        let mut place = Place::of(claim)?.beside("HypervisorMachineTemplate", template["name"].as_str()?);
        if let Some(namespace) = template.get("namespace").and_then(Value::as_str) {
            namespace.clone_into(&mut place.namespace);
        }
        let packed = self.export.objects.iter().find(|object| Place::of(object).as_ref() == Some(&place))?;
        let same = packed["metadata"]["generation"] == *made;
        known.get(&place).filter(|_| same).map(|live| live["metadata"]["generation"].clone())
    }

    /// Lets an object be looked after.
    async fn release(&self, place: &Place, live: &Value) -> Result<(), TransferError> {
        if annotation(live, DELETING).is_some() {
            self.server.delete(place).await?;
        }
        let marks = json!({ "metadata": { "annotations": { HOLD: null, OWNER: null, DELETING: null } } });
        self.server.change(place, |live| annotation(live, HOLD).map(|_| marks.clone())).await
    }

    async fn read(&self, place: &Place) -> Result<Value, TransferError> {
        let gone = || TransferError::refused(format!("{place} was deleted while it was imported: import again"));
        self.server.get(place).await?.ok_or_else(gone)
    }
}

/// What a write has made of an object, if the server has kept all of it.
fn kept(place: &Place, field: &str, wanted: &Value, changed: Value) -> Result<Value, TransferError> {
    let Some(field) = lost(wanted, &changed[field], field) else { return Ok(changed) };
    Err(TransferError::refused(format!(
        "the API server does not keep {field} of {place}: its definition of {} is another version's. Install those of this \
         version with `hyperfleet crds | kubectl apply --server-side -f -`, and import again",
        place.kind
    )))
}
