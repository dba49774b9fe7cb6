//! The metrics endpoint against unknown callers and a cluster that does not answer.

use std::sync::Mutex;
use std::time::Duration;

use chassis::serve::Bind;
use http::Response;
use kube::client::Body;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::time::Instant;
use tower::service_fn;

use super::*;

const LOCAL: Bind = Bind::At(SocketAddr::new(std::net::IpAddr::V4(std::net::Ipv4Addr::LOCALHOST), 0));

/// One request over a fresh connection; the whole answer.
async fn fetch(address: SocketAddr, request: &str) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream
        .write_all(format!("GET {request} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").as_bytes())
        .await
        .unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn metrics_are_plain_and_open_only_when_told_so_and_off_when_told_so() {
    let (metrics, tasks) = (Metrics::new("1.2.3"), Tasks::new());
    let mut endpoint = MetricsEndpoint { bind: LOCAL, secure: false, certificate: None };
    let annex = Annex::new(cluster(|_, _| None));
    let address = serve_metrics(&endpoint, metrics.clone(), &annex, &tasks).await.unwrap().unwrap();
    let answer = fetch(address, "/metrics").await;
    assert!(answer.starts_with("HTTP/1.1 200 "), "{answer}");
    assert!(answer.contains(&format!("content-type: {CONTENT_TYPE}\r\n")), "{answer}");
    assert!(answer.contains("hyperfleet_build_info{version=\"1.2.3\"} 1\n") && answer.ends_with("# EOF\n"), "{answer}");
    endpoint.bind = Bind::At(address);
    let taken = serve_metrics(&endpoint, metrics.clone(), &annex, &tasks).await.unwrap_err();
    assert_eq!(taken.to_string(), format!("the metrics server cannot listen on {address}"));
    endpoint.bind = Bind::Off;
    assert!(serve_metrics(&endpoint, metrics, &annex, &tasks).await.unwrap().is_none());
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}

/// A cluster that answers reviews, or nothing at all.
fn cluster(answer: impl Fn(&str, Value) -> Option<Value> + Clone + Send + Sync + 'static) -> kube::Client {
    let service = service_fn(move |request: http::Request<Body>| {
        let answer = answer.clone();
        async move {
            let (parts, body) = request.into_parts();
            let review: Value = serde_json::from_slice(&body.collect_bytes().await?).unwrap();
            let status = answer(parts.uri.path(), review["spec"].clone()).ok_or("connection refused")?;
            let body = json!({"metadata": {}, "spec": {}, "status": status}).to_string();
            Ok::<_, Box<dyn std::error::Error + Send + Sync>>(Response::new(Body::from(body.into_bytes())))
        }
    });
    kube::Client::new(service, "default")
}

/// Knows the token `good`, lets nobody else in, and allows `/metrics` alone; counts reviews by path.
fn counting(reviews: &Arc<Mutex<Vec<String>>>) -> kube::Client {
    let reviews = Arc::clone(reviews);
    cluster(move |path, spec| {
        reviews.lock().unwrap().push(path.rsplit('/').next().unwrap().to_owned());
        Some(if path.ends_with("tokenreviews") {
            json!({"authenticated": spec["token"] == "good", "user": {"username": "u", "groups": ["g"], "uid": "1"}})
        } else {
            assert_eq!((&spec["user"], &spec["groups"], &spec["uid"]), (&json!("u"), &json!(["g"]), &json!("1")));
            let attributes = &spec["nonResourceAttributes"];
            json!({"allowed": attributes["path"] == "/metrics" && attributes["verb"] == "get"})
        })
    })
}

#[tokio::test(start_paused = true)]
async fn answers_are_remembered_as_long_as_controller_runtime_remembers_them() {
    let reviews = Arc::default();
    let access = Access::new(counting(&reviews));
    let asked = || std::mem::take(&mut *reviews.lock().unwrap());
    let later = |seconds| tokio::time::advance(Duration::from_secs(seconds));
    assert_eq!(access.check("good", "/metrics").await, Verdict::Allowed);
    assert_eq!(asked(), ["tokenreviews", "subjectaccessreviews"]);
    later(59).await;
    assert_eq!(access.check("good", "/metrics").await, Verdict::Allowed);
    assert!(asked().is_empty());
    later(2).await;
    assert_eq!(access.check("good", "/metrics").await, Verdict::Allowed);
    assert_eq!(asked(), ["tokenreviews"], "a minute for the token, five for the right");
    later(5 * 60).await;
    assert_eq!(access.check("good", "/metrics").await, Verdict::Allowed);
    assert_eq!(asked(), ["tokenreviews", "subjectaccessreviews"]);
    assert_eq!(access.check("good", "/debug").await, Verdict::Forbidden);
    later(29).await;
    assert_eq!(access.check("good", "/debug").await, Verdict::Forbidden);
    assert_eq!(asked(), ["subjectaccessreviews"]);
    later(2).await;
    assert_eq!(access.check("good", "/debug").await, Verdict::Forbidden);
    assert_eq!(asked(), ["subjectaccessreviews"], "half a minute for a refusal");
    assert_eq!(access.check("bad", "/metrics").await, Verdict::Unauthenticated);
    assert_eq!(access.check("bad", "/metrics").await, Verdict::Unauthenticated);
    assert_eq!(asked(), ["tokenreviews"]);
}

#[tokio::test(start_paused = true)]
async fn a_dead_or_silent_cluster_opens_no_door_and_is_asked_again() {
    let calls = Arc::new(Mutex::new(0));
    let counted = Arc::clone(&calls);
    let dead = Access::new(cluster(move |_, _| {
        *counted.lock().unwrap() += 1;
        None
    }));
    assert_eq!(dead.check("good", "/metrics").await, Verdict::Unknown);
    assert_eq!(dead.check("good", "/metrics").await, Verdict::Unknown);
    assert_eq!(*calls.lock().unwrap(), 2);
    let hanging =
        service_fn(|_: http::Request<Body>| std::future::pending::<Result<Response<Body>, tower::BoxError>>());
    let start = Instant::now();
    let verdict = Access::new(kube::Client::new(hanging, "default")).check("good", "/metrics").await;
    assert_eq!((verdict, start.elapsed().as_secs()), (Verdict::Unknown, 10));
}

#[tokio::test(start_paused = true)]
async fn strangers_cannot_fill_the_memory() {
    let reviews = Arc::default();
    let access = Access::new(counting(&reviews));
    for stranger in 0..2_000 {
        assert_eq!(access.check(&format!("t{stranger}"), "/metrics").await, Verdict::Unauthenticated);
    }
    assert_eq!(access.remembered(), 1_024);
}

#[test]
fn a_bearer_token_is_read_as_the_specification_says() {
    let read = |value: &'static str| {
        let headers = HeaderMap::from_iter([(header::AUTHORIZATION, value.parse().unwrap())]);
        bearer(&headers).map(str::to_owned)
    };
    assert_eq!(read("Bearer abc").as_deref(), Some("abc"));
    assert_eq!(read("bearer abc").as_deref(), Some("abc"));
    assert_eq!(read("Basic abc"), None);
    assert_eq!(read("Bearer "), None);
    assert_eq!(read("Bearer"), None);
}

#[tokio::test]
async fn more_pages_come_later_and_ask_who_comes_even_without_tls() {
    let (annex, tasks) = (Annex::new(counting(&Arc::default())), Tasks::new());
    let endpoint = MetricsEndpoint { bind: LOCAL, secure: false, certificate: None };
    let address = serve_metrics(&endpoint, Metrics::new("1.2.3"), &annex, &tasks).await.unwrap().unwrap();
    let status = async |request: &str, token: &str| {
        let answer = fetch(address, &format!("{request} HTTP/1.1\r\nAuthorization: Bearer {token}\r\nX:")).await;
        answer.split(' ').nth(1).unwrap().to_owned()
    };
    assert_eq!(status("/open", "bad").await, "401", "there is nothing yet, and strangers do not learn it");
    let page = |text: &'static str| get(move || async move { text });
    annex.furnish(Router::new().route("/open", page("open")), Router::new().route("/closed", page("closed")));
    for (request, token, answer) in [
        ("/open", "bad", "200"),
        ("/closed", "bad", "401"),
        ("/closed", "good", "403"),
        ("/nowhere", "bad", "401"),
        ("/nowhere", "good", "403"),
        ("/metrics", "bad", "200"),
    ] {
        assert_eq!(status(request, token).await, answer, "{request} {token}");
    }
    tasks.shutdown(Duration::from_secs(5)).await.unwrap();
}
