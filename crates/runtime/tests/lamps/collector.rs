//! A trace collector built from the official protos, over http/protobuf.

use std::net::SocketAddr;
use std::sync::{Arc, Mutex};

use axum::Router;
use axum::body::Bytes;
use axum::routing::post;
use chassis::Tasks;
use chassis::serve::{Bind, Listener};
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::trace::v1::Span;
use prost::Message;

/// The spans that have arrived.
#[derive(Clone, Default)]
pub struct Collector(Arc<Mutex<Vec<Span>>>);

impl Collector {
    /// Starts one; the address is what `OTEL_EXPORTER_OTLP_ENDPOINT` wants.
    pub async fn start(tasks: &Tasks) -> (Self, String) {
        let collector = Self::default();
        let inbox = collector.clone();
        let receive = move |body: Bytes| {
            let inbox = inbox.clone();
            async move { inbox.take(&body) }
        };
        let listener = Listener::bind(Bind::At(SocketAddr::from(([127, 0, 0, 1], 0)))).await.unwrap().unwrap();
        let address = format!("http://{}", listener.address());
        listener.serve("collector", Router::new().route("/v1/traces", post(receive)), tasks);
        (collector, address)
    }

    fn take(&self, body: &[u8]) {
        let request = ExportTraceServiceRequest::decode(body).unwrap();
        let scopes = request.resource_spans.into_iter().flat_map(|resource| resource.scope_spans);
        self.0.lock().unwrap().extend(scopes.flat_map(|scope| scope.spans));
    }

    /// Everything so far.
    pub fn spans(&self) -> Vec<Span> {
        self.0.lock().unwrap().clone()
    }
}

/// An id as logs write it.
pub fn hex(id: &[u8]) -> String {
    use std::fmt::Write;
    id.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").unwrap();
        text
    })
}
