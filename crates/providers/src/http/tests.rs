//! What every call promises, over services in process.

use std::sync::Mutex;

use tower::service_fn;

use super::*;

type Reply = Result<Response<Full<Bytes>>, BoxError>;

fn call(path: &str) -> Call {
    Call {
        method: Method::GET,
        route: "/nodes/{node}/status",
        subject: "node n".into(),
        path: path.to_owned(),
        headers: HeaderMap::new(),
        body: Bytes::new(),
        timeout: PROBE_TIMEOUT,
    }
}

fn client(reply: impl Fn(Request<Full<Bytes>>) -> Reply + Clone + Send + Sync + 'static) -> Client {
    Client::over("test", service_fn(move |request| std::future::ready(reply(request))))
}

fn response(status: u16) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from_static(b"body")));
    *response.status_mut() = StatusCode::from_u16(status).unwrap();
    response
}

#[tokio::test]
async fn an_answer_in_process_carries_its_reason_phrase_like_a_real_one() {
    let client = client(|request| {
        assert_eq!(request.uri(), "http://in.process/api2/json/nodes/n/status?x=1");
        let mut response = response(596);
        response.extensions_mut().insert(ReasonPhrase::from_static(b"Broken pipe"));
        Ok(response)
    });
    let answer = client.send(call("/api2/json/nodes/n/status?x=1")).await.unwrap();
    assert_eq!((answer.status.as_u16(), answer.reason.as_str(), &answer.body[..]), (596, "Broken pipe", &b"body"[..]));
    let plain = self::client(|_| Ok(response(500))).send(call("/")).await.unwrap();
    assert_eq!(plain.reason, "Internal Server Error");
}

#[tokio::test]
async fn what_has_not_changed_is_an_answer_and_no_redirect() {
    let client = client(|_| Ok(response(304)));
    assert_eq!(client.send(call("/")).await.unwrap().status, 304);
}

#[tokio::test]
async fn a_redirect_is_refused_and_named_without_its_query() {
    let client = client(|_| {
        let mut response = response(301);
        response.headers_mut().insert(LOCATION, "https://evil.example/login?token=canary#x".parse()?);
        Ok(response)
    });
    let error = client.send(call("/")).await.unwrap_err();
    assert_eq!(
        error.to_string(),
        "the server answered 301 Moved Permanently and points to https://evil.example/login; name that address as the endpoint if it is right"
    );
    assert!(!error.may_have_acted());
}

#[tokio::test(start_paused = true)]
async fn a_call_ends_at_its_deadline() {
    let client = Client::over("test", service_fn(|_| std::future::pending::<Reply>()));
    let started = Instant::now();
    let error = client.send(call("/")).await.unwrap_err();
    assert_eq!(error, TransportError::TimedOut { after: PROBE_TIMEOUT });
    assert_eq!(started.elapsed(), PROBE_TIMEOUT);
    assert!(error.may_have_acted());
}

#[tokio::test]
async fn a_simulated_failure_is_what_it_says_and_any_other_a_broken_connection() {
    let refused = TransportError::Unreachable { detail: "node down".into() };
    let simulated = refused.clone();
    let error = client(move |_| Err(simulated.clone().into())).send(call("/")).await.unwrap_err();
    assert_eq!(error, refused);
    let error = client(|_| Err("reset by peer".into())).send(call("/")).await.unwrap_err();
    assert_eq!(error, TransportError::Interrupted { detail: "reset by peer".into() });
}

#[derive(Default)]
struct Counted(Mutex<Vec<(String, String)>>);

impl Meter for Counted {
    fn observe(&self, seen: &Observation<'_>) {
        let call = format!("{} {} {}", seen.provider, seen.method, seen.route);
        self.0.lock().unwrap().push((call, seen.outcome.to_owned()));
    }

    fn failed(&self, failure: &Failure<'_>) {
        let call = format!("{} {} {}", failure.provider, failure.method, failure.route);
        self.0.lock().unwrap().push((call, failure.class.as_str().to_owned()));
    }
}

#[tokio::test]
async fn every_call_is_metered_by_its_route_and_outcome() {
    let meter = Arc::new(Counted::default());
    let good = client(|_| Ok(response(403))).metered(Arc::clone(&meter) as Arc<dyn Meter>);
    good.send(call("/nodes/secret-name/status")).await.unwrap();
    let bad = client(|_| Err("reset".into())).metered(Arc::clone(&meter) as Arc<dyn Meter>);
    bad.send(call("/nodes/secret-name/status")).await.unwrap_err();
    let route = "test GET /nodes/{node}/status".to_owned();
    assert_eq!(*meter.0.lock().unwrap(), [(route.clone(), "403".to_owned()), (route, "interrupted".to_owned())]);
}

#[derive(Default)]
struct Noted(Mutex<Vec<String>>);

impl Recorder for Noted {
    fn record(&self, exchange: &Exchange<'_>) {
        let Exchange { method, path, headers, body, outcome, elapsed: _ } = exchange;
        let outcome = match outcome {
            Ok(answer) => format!("{} {}", answer.status.as_u16(), String::from_utf8_lossy(&answer.body)),
            Err(error) => error.as_str().to_owned(),
        };
        let body = String::from_utf8_lossy(body);
        self.0.lock().unwrap().push(format!("{method} {path} {} {body} -> {outcome}", headers.len()));
    }
}

#[tokio::test]
async fn a_recorder_sees_what_was_sent_and_what_came_back_or_did_not() {
    let recorder = Arc::new(Noted::default());
    let good = client(|_| Ok(response(500))).recorded(Arc::clone(&recorder) as Arc<dyn Recorder>);
    let headers = HeaderMap::from_iter([(LOCATION, "x".parse().unwrap())]);
    good.send(Call { headers, body: Bytes::from_static(b"a=1"), ..call("/x?y=1") }).await.unwrap();
    let bad = client(|_| Err("reset".into())).recorded(Arc::clone(&recorder) as Arc<dyn Recorder>);
    bad.send(call("/z")).await.unwrap_err();
    assert_eq!(*recorder.0.lock().unwrap(), ["GET /x?y=1 1 a=1 -> 500 body", "GET /z 0  -> interrupted"]);
}
