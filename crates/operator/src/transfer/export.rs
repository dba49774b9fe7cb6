//! Puts a fleet on hold and reads all of it.

use std::collections::BTreeSet;

use api::MachineClaim;
use api::registry::annotation::{EXPORTED, HOLD};
use chassis::Clock;
use kube::Client;
use providers::hex;
use serde_json::{Value, json};

use super::TransferError;
use super::border::alone;
use super::file::{Export, Header, Labels};
use super::object::{KINDS, Place, annotation, held_for, hold, pack, pack_secret, secrets_of};
use super::server::Server;
use crate::bootstrap::AUTHORITY;
use crate::chance::Chance;
use crate::cli::VERSION;
use crate::controllers::hypervisor_clusters::cluster_of;
use crate::site::{OWNERSHIP, Ownership};

/// The namespace of the operator: the one that has its key.
pub async fn home(client: &Client) -> Result<String, TransferError> {
    let mut homes = Server(client.clone()).homes(OWNERSHIP).await?;
    match (homes.pop(), homes.is_empty()) {
        (Some(home), true) => Ok(home),
        (Some(last), false) => {
            homes.push(last);
            let homes = homes.join(", ");
            Err(TransferError::refused(format!(
                "several operators have their keys here, in the namespaces {homes}: say which is meant with \
                 --operator-namespace"
            )))
        }
        (None, _) => Err(TransferError::refused(format!(
            "no namespace has a Secret {OWNERSHIP}, so no operator has had a hypervisor here: say where the operator lives \
             with --operator-namespace"
        ))),
    }
}

/// Puts the fleet of the operator in this namespace on hold; the hold's id, and whether it is new.
pub async fn freeze(client: &Client, home: &str, chance: &Chance) -> Result<(String, bool), TransferError> {
    let (server, place) = (Server(client.clone()), Place::secret(home, OWNERSHIP));
    let mut id = [0; 6];
    chance(&mut id);
    let id = hex::encode(&id);
    let Some(secret) = server.get(&place).await? else {
        never_had_one(&server, home).await?;
        let mut fresh = json!(Ownership::fresh(chance));
        fresh["apiVersion"] = json!("v1");
        fresh["kind"] = json!("Secret");
        fresh["metadata"] = json!({ "name": OWNERSHIP, "namespace": home, "annotations": marks(&id) });
        let (made, is_new) = server.create(&place, &fresh).await?;
        let known = held_for(&made).map(str::to_owned);
        return known.map(|id| (id, is_new)).ok_or_else(|| {
            TransferError::refused(format!("{place} was made by somebody else in this moment: try again"))
        });
    };
    match held_for(&secret) {
        Some(id) if annotation(&secret, EXPORTED) == Some(id) => return Ok((id.to_owned(), false)),
        Some(_) => {
            return Err(TransferError::refused(
                "the fleet here is on hold because it is being moved here, or because an export was applied here by hand: \
                 complete that with `hyperfleet import` of its file first",
            ));
        }
        None => {}
    }
    server.merge(&place, &secret, json!({ "metadata": { "annotations": marks(&id) } })).await?;
    Ok((id, true))
}

/// What the key of a fleet has that is exported.
fn marks(id: &str) -> Value {
    json!({ HOLD: hold(id), EXPORTED: id })
}

/// Refuses to make a key for a fleet that has one, or had one: no machine of it would be known by another. It is the
/// operator's own rule, and its own key is not the only one that there may be.
async fn never_had_one(server: &Server, home: &str) -> Result<(), TransferError> {
    let place = Place::secret(home, OWNERSHIP);
    let homes = server.homes(OWNERSHIP).await?;
    if !homes.is_empty() {
        return Err(elsewhere(home, &homes));
    }
    let claims = server.list("MachineClaim", None).await?.unwrap_or_default();
    if let Some(holder) = claims.iter().find(|claim| has_machine(claim)).and_then(Place::of) {
        return Err(TransferError::refused(format!(
            "there is no {place}, and {holder} has a machine that was marked with the key in it: restore the Secret from \
             a backup, or say where the operator lives with --operator-namespace"
        )));
    }
    Ok(())
}

/// Why nothing is done for a fleet in a namespace that has no key, while others have one.
fn elsewhere(home: &str, homes: &[String]) -> TransferError {
    TransferError::refused(format!(
        "there is no {}, and a key in another namespace, so that this fleet's operator does not live in namespace {home}: say \
         --operator-namespace {}",
        Place::secret(home, OWNERSHIP),
        homes.join(" or ")
    ))
}

/// The key of the fleet of the operator in this namespace. Where there is none, there is no fleet that could be on hold or not.
pub(super) async fn key(server: &Server, home: &str) -> Result<Value, TransferError> {
    let place = Place::secret(home, OWNERSHIP);
    if let Some(secret) = server.get(&place).await? {
        return Ok(secret);
    }
    match server.homes(OWNERSHIP).await {
        Ok(homes) if !homes.is_empty() => Err(elsewhere(home, &homes)),
        Err(error) if !error.is_forbidden() => Err(error),
        // Who may not look everywhere is told what was seen.
        Ok(_) | Err(_) => Err(TransferError::refused(format!(
            "there is no {place}, so that no operator in namespace {home} has a fleet: name the operator's namespace with \
             --operator-namespace, and see that KUBECONFIG names the right server"
        ))),
    }
}

/// Refuses to export what holds nothing: the whole fleet would be on hold for a file without machines.
pub async fn inhabited(client: &Client, namespace: Option<&str>) -> Result<(), TransferError> {
    let server = Server(client.clone());
    for kind in KINDS {
        match server.list(kind, namespace).await? {
            None => return Err(undefined(kind)),
            Some(found) if !found.is_empty() => return Ok(()),
            Some(_) => {}
        }
    }
    Err(TransferError::refused(match namespace {
        Some(namespace) => format!(
            "namespace {namespace} has nothing of a fleet: name the one that has with --namespace, or export all of it with \
             --all-namespaces"
        ),
        None => "no namespace has anything of a fleet, so that there is nothing to export: see that KUBECONFIG names the right \
                 server"
            .to_owned(),
    }))
}

fn undefined(kind: &str) -> TransferError {
    TransferError::refused(format!("the API server has no definition of {kind}: there is no fleet to export"))
}

/// Whether a claim has a machine, as the operator judges it; one that cannot be read may have.
pub(super) fn has_machine(claim: &Value) -> bool {
    serde_json::from_value::<MachineClaim>(claim.clone()).map_or(true, |claim| cluster_of(&claim).is_some())
}

/// Whether the fleet of the operator in this namespace is on hold; an error if it has none.
pub async fn is_held(client: &Client, home: &str) -> Result<bool, TransferError> {
    let secret = key(&Server(client.clone()), home).await?;
    Ok(annotation(&secret, HOLD).is_some())
}

/// Everything of a fleet that is on hold under `id`, in one namespace or in all, and what is to be said of it: Secrets that
/// are named and do not exist, and what could not be checked.
pub async fn gather(
    client: &Client,
    home: &str,
    id: &str,
    namespace: Option<&str>,
    clock: Clock,
) -> Result<(Export, Vec<String>), TransferError> {
    let server = Server(client.clone());
    let mut notes: Vec<String> = alone(client, namespace).await?.into_iter().collect();
    let mut objects = Vec::new();
    for kind in KINDS {
        objects.extend(server.list(kind, namespace).await?.ok_or_else(|| undefined(kind))?);
    }
    let named = objects.iter().flat_map(|object| {
        let place = Place::of(object);
        let names = secrets_of(object).into_iter();
        names.filter_map(move |name| Some(Place::secret(&place.as_ref()?.namespace, &name)))
    });
    let own = [OWNERSHIP, AUTHORITY].map(|name| Place::secret(home, name));
    let named: BTreeSet<Place> = named.chain(own.iter().cloned()).collect();
    // The key comes first: whatever stops halfway has brought its mark.
    let (first, rest): (Vec<Place>, Vec<Place>) = named.into_iter().partition(|place| *place == own[0]);
    let mut secrets = Vec::new();
    for place in first.into_iter().chain(rest) {
        match server.get(&place).await? {
            Some(secret) => secrets.push(secret_of(&secret, &place, &own[0], id)),
            None => notes.push(format!("{place} is named and does not exist; it is not in the file.")),
        }
    }
    let header =
        Header { id: id.to_owned(), home: home.to_owned(), made: clock.now().to_string(), version: VERSION.to_owned() };
    let namespaces = labels(&server, objects.iter().chain(&secrets), &mut notes).await?;
    let objects = objects.iter().map(|object| pack(object, id)).collect();
    Ok((Export { header, namespaces, secrets, objects }, notes))
}

/// The labels of the namespaces that these are in: grants are given by them.
async fn labels(
    server: &Server,
    objects: impl Iterator<Item = &Value>,
    notes: &mut Vec<String>,
) -> Result<Labels, TransferError> {
    let names: BTreeSet<String> = objects.filter_map(Place::of).map(|place| place.namespace).collect();
    let mut labels = Labels::new();
    for name in names {
        match server.labels(&name).await {
            Ok(found) => {
                labels.insert(name, found.unwrap_or_default());
            }
            Err(error) if error.is_forbidden() => notes.push(format!(
                "The labels of Namespace {name} are not in the file, since you may not read it: see to it that it has those \
                 that grants ask for where the fleet goes."
            )),
            Err(error) => return Err(error),
        }
    }
    Ok(labels)
}

fn secret_of(secret: &Value, place: &Place, key: &Place, id: &str) -> Value {
    let mut packed = pack_secret(secret);
    if place == key {
        packed["metadata"]["annotations"][HOLD] = json!(hold(id));
    }
    packed
}
