//! Calls that are late, endless, too many, and counted.

use super::*;
use http_body_util::StreamBody;
use hyper::body::Frame;
use jiff::Timestamp;
use std::convert::Infallible;
use tower::{ServiceExt, service_fn};

type Stream = StreamBody<futures::stream::BoxStream<'static, Result<Frame<Bytes>, Infallible>>>;

fn guard(rate: Option<(f64, u32)>) -> Guard {
    let clock = Clock::starting_at(Timestamp::UNIX_EPOCH);
    Guard::new(Limits { deadline: Duration::from_secs(15), rate }, clock, Metrics::new("test"))
}

fn request(uri: &str) -> Request<Body> {
    Request::get(uri).body(Body::empty()).unwrap()
}

/// An answer whose body never ends.
fn endless() -> Response<Stream> {
    Response::new(StreamBody::new(Box::pin(futures::stream::pending())))
}

#[tokio::test(start_paused = true)]
async fn a_call_without_an_answer_ends_at_its_deadline() {
    let silent = service_fn(|_| std::future::pending::<Result<Response<Stream>, Infallible>>());
    let started = Instant::now();
    let error = guard(None).layer(silent).oneshot(request("/api/v1/namespaces/a/pods")).await.err().unwrap();
    assert_eq!(error.downcast_ref(), Some(&Late(Duration::from_secs(15))));
    assert_eq!(started.elapsed(), Duration::from_secs(15));
}

#[tokio::test(start_paused = true)]
async fn an_answer_that_stops_half_way_ends_at_the_same_deadline() {
    let stuck = service_fn(|_| async { Ok::<_, Infallible>(endless()) });
    let error = guard(None).layer(stuck).oneshot(request("/api/v1/namespaces/a/pods/b")).await.err().unwrap();
    assert!(error.is::<Late>());
}

#[tokio::test(start_paused = true)]
async fn a_watch_is_handed_on_as_a_stream() {
    let watch = service_fn(|_| async { Ok::<_, Infallible>(endless()) });
    let answer = guard(None).layer(watch).oneshot(request("/api/v1/pods?watch=true")).await.unwrap();
    assert!(matches!(answer.into_body(), Either::Right(_)));
}

#[tokio::test(start_paused = true)]
async fn a_limit_spreads_calls_over_time() {
    let quick = service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) });
    let service = guard(Some((10.0, 5))).layer(quick);
    let started = Instant::now();
    for _ in 0..25 {
        service.clone().oneshot(request("/api/v1/pods")).await.unwrap();
    }
    let (least, most) = (Duration::from_secs(2), Duration::from_millis(2_100));
    assert!((least..most).contains(&started.elapsed()), "{:?}", started.elapsed());
}

#[tokio::test(start_paused = true)]
async fn every_call_is_counted_with_verb_resource_and_code() {
    let guard = guard(None);
    let quick = service_fn(|_| async { Ok::<_, Infallible>(Response::new(Full::<Bytes>::default())) });
    guard.layer(quick).oneshot(request("/apis/g.io/v1/namespaces/a/widgets/b/status")).await.unwrap();
    let exposed = guard.metrics.render();
    let counted =
        r#"hyperfleet_kube_request_duration_seconds_count{verb="get",resource="widgets/status",code="200"} 1"#;
    assert!(exposed.contains(counted), "{exposed}");
}
