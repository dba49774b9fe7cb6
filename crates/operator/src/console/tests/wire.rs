//! What comes over the wire: headers, who is let in, and events.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use chassis::metrics::Metrics;
use chassis::serve::Bind;
use chassis::settings::MetricsEndpoint;
use chassis::{Clock, Tasks};
use kube::client::Body;
use runtime::admin::{Annex, serve_metrics};
use serde_json::{Value, json};
use tokio::io::{AsyncBufReadExt, AsyncReadExt, AsyncWriteExt, BufReader};
use tokio::net::TcpStream;

use super::super::show::Show;
use super::super::state::State;
use super::super::{page, seat};

/// A cluster that knows `reader`, who may look, and `stranger`, who may not.
fn cluster() -> kube::Client {
    let service = tower::service_fn(|request: http::Request<Body>| async move {
        let (parts, body) = request.into_parts();
        let review: Value = serde_json::from_slice(&body.collect_bytes().await?).unwrap();
        let spec = &review["spec"];
        let status = if parts.uri.path().ends_with("tokenreviews") {
            let known = ["reader", "stranger"].iter().any(|name| spec["token"] == **name);
            json!({ "authenticated": known, "user": { "username": spec["token"] } })
        } else {
            let path = spec["nonResourceAttributes"]["path"].as_str().unwrap();
            json!({ "allowed": spec["user"] == "reader" && path.starts_with("/console/") })
        };
        let body = json!({ "metadata": {}, "spec": {}, "status": status }).to_string();
        Ok::<_, Box<dyn std::error::Error + Send + Sync>>(http::Response::new(Body::from(body.into_bytes())))
    });
    kube::Client::new(service, "default")
}

async fn console() -> (SocketAddr, Tasks) {
    console_of(cluster()).await
}

/// A console of nothing, which counts the seconds of a leader.
async fn console_of(cluster: kube::Client) -> (SocketAddr, Tasks) {
    let (annex, tasks) = (Annex::new(cluster), Tasks::new());
    let bind: Bind = "127.0.0.1:0".parse().unwrap();
    let endpoint = MetricsEndpoint { bind, secure: false, certificate: None };
    let address = serve_metrics(&endpoint, Metrics::new("1.2.3"), &annex, &tasks).await.unwrap().unwrap();
    let clock = Clock::system();
    let show = Arc::new(Show::new(clock, move || {
        let mut state = State::default();
        state.place.instance = clock.now().as_millisecond().to_string();
        state
    }));
    annex.furnish(page::open(), seat::closed(&show, &tasks));
    let stopping = tasks.stopping();
    tasks.spawn("painter", async move {
        tokio::select! {
            () = stopping => {}
            () = show.run() => {}
            () = stir(&show) => {}
        }
    });
    (address, tasks)
}

/// Something happens all the time.
async fn stir(show: &Show) {
    loop {
        show.stir();
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
}

async fn ask(address: SocketAddr, path: &str, more: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n{more}\r\n");
    stream.write_all(request.as_bytes()).await.unwrap();
    stream
}

async fn fetch(address: SocketAddr, path: &str, more: &str) -> (u16, String) {
    let mut text = String::new();
    ask(address, path, more).await.read_to_string(&mut text).await.unwrap();
    (text.split(' ').nth(1).unwrap().parse().unwrap(), text)
}

#[tokio::test]
async fn what_is_known_is_for_those_who_may_look_and_the_page_for_all() {
    let (address, tasks) = console().await;
    for path in ["/console/state", "/console/events"] {
        assert_eq!(fetch(address, path, "").await.0, 401, "{path}");
        assert_eq!(fetch(address, path, "Authorization: Bearer nobody\r\n").await.0, 401, "{path}");
        assert_eq!(fetch(address, path, "Authorization: Bearer stranger\r\n").await.0, 403, "{path}");
        let by_address = format!("{path}?token=reader");
        assert_eq!(fetch(address, &by_address, "").await.0, 401, "a token in an address is a token in a log");
    }
    let (status, state) = fetch(address, "/console/state", "Authorization: Bearer reader\r\n").await;
    assert!(
        status == 200 && state.contains("\"instance\":") && state.contains("cache-control: no-store\r\n"),
        "{state}"
    );
    for path in ["/console/", "/console/style.css", "/console/app.js", "/console/icon.svg"] {
        assert_eq!(fetch(address, path, "").await.0, 200, "{path}");
    }
    let (status, moved) = fetch(address, "/console", "").await;
    assert!(status == 308 && moved.contains("location: console/\r\n"), "{moved}");
    assert_eq!(fetch(address, "/console/../metrics", "").await.0, 401);
    assert_eq!(fetch(address, "/console/other", "").await.0, 401, "nothing tells strangers what there is");
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn browsers_are_told_to_run_nothing_that_is_not_ours() {
    let (address, tasks) = console().await;
    for (path, token) in
        [("/console/", ""), ("/console/app.js", ""), ("/console/state", "Authorization: Bearer reader\r\n")]
    {
        let (_, answer) = fetch(address, path, token).await;
        let head = answer.split("\r\n\r\n").next().unwrap();
        let policy = head.lines().find(|line| line.starts_with("content-security-policy: ")).unwrap();
        for rule in [
            "default-src 'none'",
            "script-src 'self'",
            "style-src 'self'",
            "connect-src 'self'",
            "frame-ancestors 'none'",
        ] {
            assert!(policy.contains(rule), "{path}: {policy}");
        }
        assert!(!policy.contains("unsafe") && !policy.contains("http") && !policy.contains('*'), "{policy}");
        for line in ["x-content-type-options: nosniff", "referrer-policy: no-referrer", "x-frame-options: DENY"] {
            assert!(head.contains(line), "{path}: {head}");
        }
        assert!(head.contains("cache-control: no-"), "{path}: {head}");
        assert!(!head.contains("access-control-"), "no other page may read this: {head}");
    }
    let (_, page) = fetch(address, "/console/", "").await;
    let tag = page.lines().find_map(|line| line.strip_prefix("etag: ")).unwrap();
    assert_eq!(fetch(address, "/console/", &format!("If-None-Match: {tag}\r\n")).await.0, 304);
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn events_begin_with_the_whole_picture_and_go_on_with_what_changed() {
    let (address, tasks) = console().await;
    let stream = ask(address, "/console/events", "Authorization: Bearer reader\r\n").await;
    let mut lines = BufReader::new(stream).lines();
    let mut told = Vec::new();
    while told.len() < 3 {
        let line = lines.next_line().await.unwrap().unwrap();
        if let Some(name) = line.strip_prefix("event: ") {
            let content = lines.next_line().await.unwrap().unwrap();
            let content: Value = serde_json::from_str(content.strip_prefix("data: ").unwrap()).unwrap();
            told.push((name.to_owned(), content));
        }
    }
    let names: Vec<&str> = told.iter().map(|(name, _)| name.as_str()).collect();
    assert_eq!(names, ["state", "change", "change"]);
    let serials: Vec<u64> = told.iter().map(|(_, content)| content["serial"].as_u64().unwrap()).collect();
    assert_eq!([serials[1] - serials[0], serials[2] - serials[1]], [1, 1]);
    assert!(told[0].1["state"]["pools"].is_object());
    assert_eq!(told[1].1["change"].as_object().unwrap().keys().collect::<Vec<_>>(), ["place"]);
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
    while let Some(line) = lines.next_line().await.unwrap_or_default() {
        assert!(line.len() < 10_000, "the end is an end");
    }
}

/// A connection lives for a while longer than a sitting: a second sitting on it would be cut off in the middle.
#[tokio::test]
async fn a_sitting_takes_its_connection_with_it() {
    let (address, tasks) = console().await;
    let mut stream = TcpStream::connect(address).await.unwrap();
    let request = "GET /console/events HTTP/1.1\r\nHost: a\r\nAuthorization: Bearer reader\r\n\r\n";
    stream.write_all(request.as_bytes()).await.unwrap();
    let mut lines = BufReader::new(stream).lines();
    let mut head = Vec::new();
    while let Some(line) = lines.next_line().await.unwrap().filter(|line| !line.is_empty()) {
        head.push(line);
    }
    assert_eq!(head[0], "HTTP/1.1 200 OK");
    assert!(head.iter().any(|line| line == "connection: close"), "the browser, which would keep it, is told: {head:?}");
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// The page tells it from a connection that is lost, by these words.
#[tokio::test]
async fn whoever_looks_while_the_cluster_is_away_is_told_so() {
    let away = tower::service_fn(|_: http::Request<Body>| async { Err::<http::Response<Body>, _>("refused") });
    let (address, tasks) = console_of(kube::Client::new(away, "default")).await;
    let (status, text) = fetch(address, "/console/events", "Authorization: Bearer reader\r\n").await;
    assert!(status == 503 && !text.contains("retry-after"), "{text}");
    let said = text.split("\r\n\r\n").nth(1).unwrap().trim_end();
    assert!(include_str!("../page/stream.js").contains(&format!("\"{said}\"")), "the page knows {said:?}");
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[tokio::test]
async fn many_who_look_leave_room_for_those_who_measure() {
    let (address, tasks) = console().await;
    let mut looking = Vec::new();
    for _ in 0..64 {
        let mut stream = ask(address, "/console/events", "Authorization: Bearer reader\r\n").await;
        let mut begun = [0; 12];
        stream.read_exact(&mut begun).await.unwrap();
        assert_eq!(&begun, b"HTTP/1.1 200");
        looking.push(stream);
    }
    for path in ["/console/events", "/console/state"] {
        let (status, text) = fetch(address, path, "Authorization: Bearer reader\r\n").await;
        assert!(status == 503 && text.contains("retry-after: 5\r\n"), "{path}: {text}");
    }
    assert_eq!(fetch(address, "/metrics", "").await.0, 200);
    drop(looking);
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

#[test]
fn a_link_hides_its_token_behind_what_is_never_sent() {
    assert_eq!(super::super::link("https://127.0.0.1:8443/", "a.b.c"), "https://127.0.0.1:8443/console/#token=a.b.c");
}
