//! Deliveries over TLS, with a certificate from files.

use bytes::Bytes;
use http::{HeaderMap, HeaderValue, Method};
use providers::http::{AddressPolicy, Call, Client, Endpoint, TransportError, Trust};
use std::time::Duration;
use tempfile::TempDir;

use crate::{Office, event, post, signature};

/// Writes another pair into a directory, as whoever renews certificates does; the new certificate.
fn renew(directory: &TempDir) -> String {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    std::fs::write(directory.path().join("tls.crt"), made.cert.pem()).unwrap();
    std::fs::write(directory.path().join("tls.key"), made.signing_key.serialize_pem()).unwrap();
    made.cert.pem()
}

/// Delivers as a platform that believes this certificate; the status that was answered.
async fn deliver(office: &Office, trusted: &str, body: &str, signature: &str) -> Result<u16, TransportError> {
    let url = format!("https://{}", office.address);
    let trust = Trust::Bundle(trusted.as_bytes().to_vec());
    let endpoint = Endpoint::https(&url, trust, AddressPolicy::anywhere()).unwrap();
    let mut headers = HeaderMap::new();
    for (name, value) in [
        ("content-type", "application/json"),
        ("x-github-event", "workflow_job"),
        ("x-github-delivery", "1"),
        ("x-hub-signature-256", signature),
    ] {
        headers.insert(name, HeaderValue::from_str(value).unwrap());
    }
    let call = Call {
        method: Method::POST,
        route: "/webhooks/{id}",
        subject: "a delivery".to_owned(),
        path: office.path.clone(),
        headers,
        body: Bytes::from(body.to_owned()),
        timeout: Duration::from_secs(20),
    };
    Client::connect("platform", &endpoint).unwrap().send(call).await.map(|answer| answer.status.as_u16())
}

#[tokio::test]
async fn a_signed_delivery_over_tls_is_taken_and_a_plain_one_is_not() {
    let directory = tempfile::tempdir().unwrap();
    let trusted = renew(&directory);
    let office = Office::serving(Some(directory.path())).await;
    let body = event();
    assert_eq!(deliver(&office, &trusted, &body, "sha256=00").await, Ok(401));
    assert_eq!(office.send(&post(&office.path, &body, body.len())).await, None, "nothing is heard without TLS");
    assert_eq!(office.count().await, 0);
    assert_eq!(deliver(&office, &trusted, &body, &signature(&body)).await, Ok(202));
    assert_eq!(office.count().await, 1);
    office.close().await;
}

#[tokio::test]
async fn a_certificate_that_is_renewed_is_served_without_a_restart() {
    let directory = tempfile::tempdir().unwrap();
    let old = renew(&directory);
    let office = Office::serving(Some(directory.path())).await;
    let body = event();
    let sent = signature(&body);
    assert_eq!(deliver(&office, &old, &body, &sent).await, Ok(202));
    let new = renew(&directory);
    // Files are looked at when somebody connects, once a second at most.
    while deliver(&office, &new, &body, &sent).await != Ok(202) {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let refused = deliver(&office, &old, &body, &sent).await;
    assert!(matches!(refused, Err(TransportError::Certificate { .. })), "{refused:?}");
    office.close().await;
}
