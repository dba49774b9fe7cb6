//! The address that machines call: whether it can be right, answers this machine, and shows a certificate of our authority.

use std::net::IpAddr;

use k8s_openapi::api::core::v1::Secret;
use kube::Api;
use providers::http::{AddressPolicy, Endpoint, TransportError, Trust};

use super::Means;
use super::chart::{Chart, Check, Severity};
use super::judge::split;
use super::kubernetes::{let_read, told};
use crate::bootstrap::{AUTHORITY, Advertised};

const OBJECT: &str = "bootstrap.advertise";
const SET: &str = "hyperfleet operator --bootstrap-advertise=https://ADDRESS:8444    # an address that machines reach";

pub(super) async fn examine(means: &Means, chart: &mut Chart) {
    let Some(text) = &means.advertise else {
        let what = "not known here, so that nobody checks whether machines reach the operator";
        let remedy = "hyperfleet doctor --bootstrap-advertise=URL    # as the operator has it";
        return chart.find(Severity::Unknown, Check::Advertise, &OBJECT, what, remedy);
    };
    let advertised = match Advertised::parse(text) {
        Ok(Some(advertised)) => advertised,
        Ok(None) => {
            let what = "not set: machines are told no address, and none of them proves itself";
            return chart.find(Severity::Broken, Check::Advertise, &OBJECT, what, SET);
        }
        Err(error) => {
            let (what, _) = split(&error.to_string());
            return chart.find(Severity::Broken, Check::Advertise, &OBJECT, what, SET);
        }
    };
    let host = advertised.host();
    let here =
        host.parse::<IpAddr>().map_or(host == "localhost", |address| address.is_loopback() || address.is_unspecified());
    if here {
        let what = format!("{advertised} is this machine to itself: a VM that calls it calls itself");
        return chart.find(Severity::Broken, Check::Advertise, &OBJECT, what, SET);
    }
    greet(means, &advertised, chart).await;
}

async fn greet(means: &Means, advertised: &Advertised, chart: &mut Chart) {
    let Some(authority) = authority(means, chart).await else { return };
    // Where machines go is for the administrator to say, whatever the address.
    let anywhere = ["0.0.0.0/0", "::/0"].map(|range| range.parse().expect("these are ranges"));
    let policy = AddressPolicy { allow: anywhere.to_vec(), deny: Vec::new() };
    let Ok(endpoint) = Endpoint::https(advertised.as_str(), Trust::Bundle(authority), policy) else { return };
    match endpoint.greet().await {
        Ok(_) => {
            let what = format!("{advertised} answers this machine, with a certificate of our authority");
            chart.pass(Check::Advertise, &OBJECT, what);
        }
        Err(TransportError::Certificate { detail }) => {
            let what = format!("{advertised} shows a certificate that our authority does not vouch for: {detail}");
            let remedy = "let TLS pass through to the operator unopened (no ingress, no proxy that ends TLS), and give the \
                          operator exactly this address";
            chart.find(Severity::Broken, Check::Advertise, &OBJECT, what, remedy);
        }
        Err(error) => {
            let what = format!("{advertised} does not answer this machine, which need not be where VMs are: {error}");
            let remedy =
                format!("openssl s_client -connect {}    # from the machines' network; then: {SET}", place(advertised));
            chart.find(Severity::Unknown, Check::Advertise, &OBJECT, what, remedy);
        }
    }
}

fn place(advertised: &Advertised) -> String {
    let place = advertised.as_str().trim_start_matches("https://");
    if place.rsplit(']').next().is_some_and(|rest| rest.contains(':')) {
        place.to_owned()
    } else {
        format!("{place}:443")
    }
}

/// The certificates that machines trust; public.
async fn authority(means: &Means, chart: &mut Chart) -> Option<Vec<u8>> {
    let secrets: Api<Secret> = Api::namespaced(means.client.clone(), &means.home);
    let elsewhere = "hyperfleet doctor --operator-namespace=NAME    # where the operator runs".to_owned();
    let (why, remedy) = match secrets.get_opt(AUTHORITY).await {
        Ok(Some(secret)) => match secret.data.and_then(|mut entries| entries.remove("ca.crt")) {
            Some(certificates) => return Some(certificates.0),
            None => ("has no ca.crt".to_owned(), elsewhere),
        },
        Ok(None) => ("does not exist; the operator makes it when it starts".to_owned(), elsewhere),
        Err(error) => (format!("cannot be read: {}", told(&error)), let_read(&means.home, [AUTHORITY])),
    };
    let what = format!("not checked: Secret {AUTHORITY} in namespace {} {why}", means.home);
    chart.find(Severity::Unknown, Check::Advertise, &OBJECT, what, remedy);
    None
}
