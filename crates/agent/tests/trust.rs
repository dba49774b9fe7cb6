//! Whoever is not the service learns nothing, on real TLS connections.

#![allow(missing_docs, reason = "tests are their own documentation")]
#![allow(clippy::unwrap_used, clippy::panic, reason = "a test that cannot go on should say where")]
#![allow(dead_code, reason = "test programs share one server, and not all of each")]

#[path = "service/anybody.rs"]
mod anybody;
#[path = "service/authority.rs"]
mod authority;
#[path = "service/server.rs"]
mod server;

use std::time::Duration;

use agent::{Answer, Ending, Exit, Host, Line, LineError, Patience, Wire, live};
use authority::Authority;
use protocol::{LONGEST_BODY, Order, Plan, SERVER_NAME, path};
use serde_json::json;
use server::{Heard, ID, MACHINE, Server, TOKEN, answer, kindly};

/// The defaults, a hundred times faster.
fn hasty() -> Patience {
    let slow = Patience::default();
    Patience {
        connect: slow.connect / 100,
        trust: slow.trust / 100,
        first_pause: slow.first_pause / 100,
        longest_pause: slow.longest_pause / 100,
        refusals: slow.refusals,
        refusal_pause: slow.refusal_pause / 100,
        clock: slow.clock / 100,
        grace: slow.grace / 100,
        last_word: slow.last_word / 10,
        lost_word: slow.lost_word / 10,
    }
}

fn plan() -> Plan {
    let user = rustix::process::geteuid().is_root().then(|| "root".to_owned());
    Plan { argv: vec!["true".to_owned()], user, ..Plan::default() }
}

fn content(heard: &Heard) -> String {
    kindly(heard, &plan(), Order::GoOn)
}

async fn lives(server: &Server, authority: &Authority) -> Ending {
    let folder = tempfile::tempdir().unwrap();
    let (seed, host) = (server.seed(authority), Host::new(folder.path(), folder.path(), None));
    live(&seed, MACHINE, &Wire::new(&seed).unwrap(), &host, &hasty()).await
}

async fn lives_by_hash(server: &Server, authority: &Authority) -> Ending {
    let folder = tempfile::tempdir().unwrap();
    let seed = protocol::Seed { authority: authority.pin(), ..server.seed(authority) };
    live(&seed, MACHINE, &Wire::new(&seed).unwrap(), &Host::new(folder.path(), folder.path(), None), &hasty()).await
}

#[tokio::test]
async fn an_authority_is_believed_by_the_hash_of_its_certificate() {
    let authority = Authority::new();
    let server = Server::start(authority.issue_whole(SERVER_NAME), content).await;
    assert_eq!(lives_by_hash(&server, &authority).await, Ending::Finished(Exit::Code(0)));
    assert!(server.has_seen(TOKEN));
}

#[tokio::test]
async fn whoever_cannot_show_the_authority_of_that_hash_and_what_it_signed_learns_nothing() {
    let (ours, impostor) = (Authority::new(), Authority::new());
    // Shows our authority, but is signed by another of the same name.
    let mut forged = impostor.issue(SERVER_NAME);
    forged.0.push(ours.certificate());
    let mut expired = ours.issue_expired(SERVER_NAME);
    expired.0.push(ours.certificate());
    for (identity, why) in [
        (impostor.issue_whole(SERVER_NAME), "UnknownIssuer"),
        (ours.issue(SERVER_NAME), "UnknownIssuer"),
        (forged, "BadSignature"),
        (ours.issue_whole("example.com"), "not valid for"),
        (expired, "expired"),
    ] {
        let server = Server::start(identity, content).await;
        let ending = lives_by_hash(&server, &ours).await;
        assert!(matches!(&ending, Ending::Untrusted(says) if says.contains(why)), "{why}: {ending:?}");
        assert!(!server.has_seen(TOKEN), "not one byte of the token");
    }
}

/// Nothing secret was said, nothing was shown, and a beacon tells why.
async fn is_not_believed(server: Server, authority: &Authority, why: &str) {
    let ending = lives(&server, authority).await;
    assert!(matches!(&ending, Ending::Untrusted(says) if says.contains(why)), "{ending:?}");
    assert!(!server.has_seen(TOKEN), "not one byte of the token");
    let beacons = server.posted(&path::beacon(ID));
    assert_eq!(beacons.len(), server.heard().len(), "nothing but beacons was sent");
    assert!(!beacons.is_empty());
    for beacon in beacons {
        assert_eq!(beacon.body["stage"], "trust");
        assert!(beacon.body["trouble"].as_str().unwrap().contains(why), "{:?}", beacon.body);
        assert!(beacon.body["clock"].as_i64().unwrap() > 1_700_000_000);
        assert_eq!(beacon.key, None, "our key is shown to nobody but the service");
    }
}

#[tokio::test]
async fn the_service_is_believed_and_told_the_token_with_one_key() {
    let authority = Authority::new();
    let server = Server::start(authority.issue(SERVER_NAME), content).await;
    assert_eq!(lives(&server, &authority).await, Ending::Finished(Exit::Code(0)));
    assert!(server.has_seen(TOKEN));
    let keys: Vec<Option<Vec<u8>>> = server.heard().into_iter().map(|heard| heard.key).collect();
    assert!(keys.len() >= 3 && keys[0].is_some() && keys.iter().all(|key| *key == keys[0]));
}

#[tokio::test]
async fn every_life_has_a_key_of_its_own() {
    let authority = Authority::new();
    let server = Server::start(authority.issue(SERVER_NAME), content).await;
    lives(&server, &authority).await;
    lives(&server, &authority).await;
    let starts = server.posted(&path::start(ID));
    assert_ne!(starts[0].key, starts[1].key);
}

#[tokio::test]
async fn a_certificate_of_another_authority_is_not_believed() {
    let (ours, other, impostor) = (Authority::new(), Authority::named("another"), Authority::new());
    is_not_believed(Server::start(other.issue(SERVER_NAME), content).await, &ours, "UnknownIssuer").await;
    is_not_believed(Server::start(impostor.issue(SERVER_NAME), content).await, &ours, "BadSignature").await;
}

#[tokio::test]
async fn a_certificate_for_another_name_is_not_believed_even_for_the_address_itself() {
    let authority = Authority::new();
    is_not_believed(Server::start(authority.issue("127.0.0.1"), content).await, &authority, SERVER_NAME).await;
    is_not_believed(Server::start(authority.issue("example.com"), content).await, &authority, "not valid for").await;
}

#[tokio::test]
async fn an_expired_certificate_is_not_believed() {
    let authority = Authority::new();
    is_not_believed(Server::start(authority.issue_expired(SERVER_NAME), content).await, &authority, "expired").await;
}

#[tokio::test]
async fn an_old_version_of_tls_is_not_spoken() {
    let authority = Authority::new();
    is_not_believed(Server::start_old(authority.issue(SERVER_NAME), content).await, &authority, "TLS 1.3").await;
}

#[tokio::test]
async fn what_is_no_tls_at_all_is_told_nothing() {
    use tokio::io::{AsyncReadExt, AsyncWriteExt};
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("https://{}", listener.local_addr().unwrap());
    let (told, heard) = tokio::sync::oneshot::channel();
    let mut open = tokio::task::JoinSet::new();
    open.spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n").await.unwrap();
        let mut bytes = Vec::new();
        let _: Result<usize, _> = stream.read_to_end(&mut bytes).await;
        told.send(bytes).unwrap();
    });
    let authority = Authority::new();
    let server = Server::start(authority.issue(SERVER_NAME), content).await;
    let seed = protocol::Seed { url, ..server.seed(&authority) };
    let said = Wire::new(&seed).unwrap().post("/x", TOKEN.into()).await;
    assert!(matches!(said, Err(LineError::Untrusted(_))), "{said:?}");
    let bytes = heard.await.unwrap();
    assert!(!bytes.windows(TOKEN.len()).any(|window| window == TOKEN.as_bytes()));
}

/// One request to a server that answers this.
async fn asks(text: String) -> Result<Answer, LineError> {
    let authority = Authority::new();
    let server = Server::start(authority.issue(SERVER_NAME), move |_| text.clone()).await;
    Wire::new(&server.seed(&authority)).unwrap().post("/x", b"{}".to_vec()).await
}

#[tokio::test]
async fn answers_are_read_as_they_are() {
    assert_eq!(asks(answer(200, &json!({}))).await, Ok(Answer::new(200, "{}")));
    let busy = "HTTP/1.1 429 X\r\nretry-after: 7\r\ncontent-length: 0\r\n\r\n".to_owned();
    let expected = Answer { retry_after: Some(Duration::from_secs(7)), ..Answer::new(429, "") };
    assert_eq!(asks(busy).await, Ok(expected));
    // To the end of the connection.
    assert_eq!(asks("HTTP/1.1 200 X\r\n\r\nall of it".to_owned()).await, Ok(Answer::new(200, "all of it")));
}

#[tokio::test]
async fn a_redirect_is_an_answer_and_not_followed() {
    let away = "HTTP/1.1 302 X\r\nlocation: https://example.com/\r\ncontent-length: 0\r\n\r\n".to_owned();
    assert_eq!(asks(away).await, Ok(Answer::new(302, "")));
}

#[tokio::test]
async fn an_answer_that_is_too_long_or_cut_off_is_none() {
    let long = "x".repeat(LONGEST_BODY + 1);
    let long = format!("HTTP/1.1 200 X\r\ncontent-length: {}\r\n\r\n{long}", long.len());
    assert!(matches!(asks(long).await, Err(LineError::Unreachable(_))));
    let cut = "HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{".to_owned();
    assert!(matches!(asks(cut).await, Err(LineError::Unreachable(_))));
    assert!(matches!(asks(String::new()).await, Err(LineError::Unreachable(_))));
}

#[tokio::test]
async fn an_answer_that_was_cut_off_is_asked_for_again_with_the_same_key() {
    let authority = Authority::new();
    let first = std::sync::atomic::AtomicBool::new(true);
    let server = Server::start(authority.issue(SERVER_NAME), move |heard| {
        if first.swap(false, std::sync::atomic::Ordering::Relaxed) {
            return "HTTP/1.1 200 X\r\ncontent-length: 100\r\n\r\n{".to_owned();
        }
        content(heard)
    });
    let server = server.await;
    assert_eq!(lives(&server, &authority).await, Ending::Finished(Exit::Code(0)));
    let starts = server.posted(&path::start(ID));
    assert_eq!((starts.len(), &starts[0].key, &starts[0].body), (2, &starts[1].key, &starts[1].body));
}

#[tokio::test]
async fn nobody_there_is_no_doubt() {
    let authority = Authority::new();
    let seed = Server::start(authority.issue(SERVER_NAME), content).await.seed(&authority);
    // The server is gone; its port is not taken again so soon.
    tokio::time::sleep(Duration::from_millis(50)).await;
    let said = Wire::new(&seed).unwrap().post("/x", Vec::new()).await;
    assert!(matches!(said, Err(LineError::Unreachable(_))), "{said:?}");
}
