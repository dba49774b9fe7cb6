//! The page as it is in the source, and a server of ours that tells it whatever a test says: what a real one tells is for the
//! tests of the console itself.

use std::convert::Infallible;
use std::path::Path;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Body;
use axum::extract::Path as Asked;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use chassis::Tasks;
use serde_json::{Value, json};
use tokio::net::TcpListener;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

/// When everything on the stage was born.
pub(crate) const BORN: i64 = 1_767_225_600_000;
/// What the clock of the stage says.
pub(crate) const NOW: i64 = BORN + 10_000_000;

/// A console for one viewer, who sits down once.
pub(crate) struct Stage {
    pub(crate) origin: String,
    said: UnboundedSender<String>,
}

impl Stage {
    pub(crate) async fn new(tasks: &Tasks) -> Self {
        let (said, heard) = unbounded_channel();
        let heard = Arc::new(Mutex::new(Some(heard)));
        let pages = Router::new()
            .route("/console/", get(|| file(Asked("index.html".to_owned()))))
            .route("/console/events", get(async move || events(heard.lock().unwrap().take())))
            .route("/console/{name}", get(file));
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let origin = format!("http://{}", listener.local_addr().unwrap());
        let stopping = tasks.stopping();
        tasks.spawn("pages", async move {
            tokio::select! {
                () = stopping => {}
                served = axum::serve(listener, pages) => served.unwrap(),
            }
        });
        Self { origin, said }
    }

    /// Tells the page of a `state` or a `change`; how long that is.
    pub(crate) fn say(&self, name: &str, content: &Value) -> usize {
        let text = format!("event: {name}\ndata: {}\n\n", json!({ "serial": 1, "now": NOW, name: content }));
        let length = text.len();
        self.said.send(text).unwrap();
        length
    }

    /// The sitting ends, and then the operator cannot ask anybody whose token it is.
    pub(crate) fn lose_the_cluster(self) {
        drop(self.said);
    }
}

fn events(heard: Option<UnboundedReceiver<String>>) -> Response {
    let Some(heard) = heard else {
        return (StatusCode::SERVICE_UNAVAILABLE, "the Kubernetes API does not answer\n").into_response();
    };
    let stream = futures::stream::unfold(heard, |mut heard| async move {
        heard.recv().await.map(|text| (Ok::<_, Infallible>(text), heard))
    });
    ([(header::CONTENT_TYPE, "text/event-stream")], Body::from_stream(stream)).into_response()
}

/// A file of the page, as it is in the source.
async fn file(Asked(name): Asked<String>) -> Response {
    let kind = match name.rsplit('.').next() {
        Some("js") => "text/javascript",
        Some("css") => "text/css",
        Some("svg") => "image/svg+xml",
        Some(_) | None => "text/html",
    };
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/console/page").join(name);
    match std::fs::read(path) {
        Ok(bytes) => ([(header::CONTENT_TYPE, kind)], bytes).into_response(),
        Err(_) => StatusCode::NOT_FOUND.into_response(),
    }
}
