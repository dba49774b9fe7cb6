//! The bootstrap service on a real TLS socket, against clients that keep to nothing.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]

#[path = "bootstrap_wire/caller.rs"]
mod caller;
#[path = "bootstrap_wire/office.rs"]
mod office;

use caller::Identity;
use office::{ID, Office, TOKEN};
use operator::bootstrap::{Authority, digest};
use protocol::{LONGEST_BODY, path};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::version::{TLS12, TLS13};
use serde_json::json;

#[tokio::test]
async fn a_machine_proves_itself_with_the_key_of_its_handshake() {
    let office = Office::open().await;
    let identity = Identity::new();
    let caller = office.caller().with(&identity);
    let (code, body) = caller.post(&path::start(ID), &Office::start(TOKEN)).await.unwrap();
    assert_eq!((code, &body["plan"]["argv"]), (200, &json!(["true"])), "{body}");
    let record = office.record().await;
    assert_eq!(record.bound_key_hash, Some(digest(&identity.public_key())));
    assert_eq!(caller.post(path::LEASE, &json!({})).await.unwrap().0, 200);
    assert_eq!(caller.post(path::STATUS, &json!({ "report": "started" })).await.unwrap(), (200, json!({})));
    // The same key in another certificate is the same key.
    let renewed = office.caller().with(&identity.another_certificate());
    assert_eq!(renewed.post(path::LEASE, &json!({})).await.unwrap().0, 200);
    let stranger = office.caller().with(&Identity::new());
    assert_eq!(stranger.post(path::LEASE, &json!({})).await.unwrap(), (403, json!({ "error": "refused" })));
    office.close().await;
}

#[tokio::test]
async fn without_a_certificate_one_may_complain_and_nothing_else() {
    let office = Office::open().await;
    let caller = office.caller();
    let refused = (403, json!({ "error": "refused" }));
    assert_eq!(caller.post(&path::start(ID), &Office::start(TOKEN)).await.unwrap(), refused);
    assert_eq!(caller.post(path::LEASE, &json!({})).await.unwrap(), refused);
    assert_eq!(caller.post(path::STATUS, &json!({ "report": "started" })).await.unwrap(), refused);
    let beacon = json!({ "stage": "seed", "trouble": "no token", "clock": 0 });
    assert_eq!(caller.post(&path::beacon(ID), &beacon).await.unwrap(), (200, json!({})));
    assert_eq!(office.record().await.bound_key_hash, None);
    office.close().await;
}

#[tokio::test]
async fn tls_1_2_is_refused() {
    let office = Office::open().await;
    let identity = Identity::new();
    let error = office.caller().with(&identity).speaking(&TLS12).connect().await.unwrap_err();
    assert!(error.to_string().contains("ProtocolVersion"), "{error}");
    let stream = office.caller().with(&identity).speaking(&TLS13).connect().await.unwrap();
    assert_eq!(stream.get_ref().1.protocol_version(), Some(rustls::ProtocolVersion::TLSv1_3));
    office.close().await;
}

#[tokio::test]
async fn a_certificate_whose_key_one_does_not_hold_is_worth_nothing() {
    let office = Office::open().await;
    let victim = Identity::new();
    let bound = office.caller().with(&victim);
    assert_eq!(bound.post(&path::start(ID), &Office::start(TOKEN)).await.unwrap().0, 200);
    let thief = office.caller().with(&victim.with_the_key_of(&Identity::new()));
    let answer = thief.post(path::LEASE, &json!({})).await;
    assert!(answer.is_err(), "{answer:?}");
    assert_eq!(bound.post(path::LEASE, &json!({})).await.unwrap().0, 200);
    office.close().await;
}

#[tokio::test]
async fn a_body_that_is_too_long_is_refused() {
    let office = Office::open().await;
    let caller = office.caller().with(&Identity::new());
    let start = |length: usize| {
        let mut start = Office::start(TOKEN);
        let rest = length - start.to_string().len();
        start["agent"] = json!(format!("{}{}", start["agent"].as_str().unwrap(), "x".repeat(rest)));
        start
    };
    assert_eq!(caller.post(&path::start(ID), &start(LONGEST_BODY + 1)).await.unwrap().0, 413);
    assert_eq!(office.record().await.bound_key_hash, None);
    assert_eq!(caller.post(&path::start(ID), &start(LONGEST_BODY)).await.unwrap().0, 200);
    office.close().await;
}

#[tokio::test]
async fn machines_know_the_service_by_its_authority_and_its_name() {
    let office = Office::open().await;
    let leaf = office.authority.leaf(office.clock.now()).unwrap();
    let mut roots = rustls::RootCertStore::empty();
    for root in CertificateDer::pem_slice_iter(office.authority.certificates().as_bytes()) {
        roots.add(root.unwrap()).unwrap();
    }
    let provider = std::sync::Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let verifier = rustls::client::WebPkiServerVerifier::builder_with_provider(roots.into(), provider).build().unwrap();
    let verify = |name: &'static str| {
        use rustls::client::danger::ServerCertVerifier as _;
        let (name, now) = (ServerName::try_from(name).unwrap(), office.clock.now().as_second());
        let now = UnixTime::since_unix_epoch(std::time::Duration::from_secs(now.try_into().unwrap()));
        verifier.verify_server_cert(&leaf.certified.cert[0], &[], &name, &[], now).is_ok()
    };
    assert!(verify(protocol::SERVER_NAME) && !verify("example.com"));
    let another = Office::open().await;
    let error = office.caller().trusting(&another.authority).connect().await.unwrap_err();
    assert!(error.to_string().contains("UnknownIssuer") || error.to_string().contains("BadSignature"), "{error}");
    another.close().await;
    office.close().await;
}

#[tokio::test]
async fn whoever_starts_first_makes_the_authority_and_the_others_read_it() {
    let office = Office::open().await;
    let fresh = office::client().await;
    let loads = (0..4).map(|_| Authority::load(&fresh, "default", office.clock));
    let loaded: Vec<Authority> =
        futures::future::join_all(loads).await.into_iter().map(|loaded| loaded.unwrap().unwrap()).collect();
    assert!(loaded.iter().all(|one| one.certificates() == loaded[0].certificates()));
    assert_ne!(loaded[0].certificates(), office.authority.certificates());
    office.close().await;
}
