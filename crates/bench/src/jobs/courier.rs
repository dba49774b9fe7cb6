//! Brings deliveries to an ingress, over connections that stay open.

use std::net::{Ipv4Addr, SocketAddr};
use std::sync::atomic::{AtomicUsize, Ordering};

use anyhow::{Result, ensure};
use bytes::Bytes;
use futures::future::try_join_all;
use http::{HeaderValue, Request, StatusCode, header};
use http_body_util::{BodyExt, Full};
use hyper::client::conn::http1::{self, SendRequest};
use hyper_util::rt::TokioIo;
use sim::Tasks;
use tokio::net::TcpStream;

/// Where an ingress hears of the jobs of one source.
pub(super) struct Courier {
    address: SocketAddr,
    path: String,
    tasks: Tasks,
}

/// One connection to it.
pub(super) struct Line<'a> {
    courier: &'a Courier,
    sender: SendRequest<Full<Bytes>>,
}

impl Courier {
    pub(super) fn new(port: u16, path: String) -> Self {
        Self { address: SocketAddr::from((Ipv4Addr::LOCALHOST, port)), path, tasks: Tasks::new() }
    }

    pub(super) async fn connect(&self) -> Result<Line<'_>> {
        let stream = TcpStream::connect(self.address).await?;
        stream.set_nodelay(true)?;
        let (sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        self.tasks.spawn("line", async move { drop(connection.await) });
        Ok(Line { courier: self, sender })
    }

    /// Brings all of them, each over the first of so many connections that is free; every one must be accepted.
    pub(super) async fn bring(&self, deliveries: &[Request<Bytes>], connections: usize) -> Result<()> {
        let next = AtomicUsize::new(0);
        let mut lines = try_join_all((0..connections).map(|_| self.connect())).await?;
        let next = &next;
        let work = lines.iter_mut().map(|line| async move {
            while let Some(delivery) = deliveries.get(next.fetch_add(1, Ordering::Relaxed)) {
                line.bring(delivery).await?;
            }
            anyhow::Ok(())
        });
        try_join_all(work).await.map(drop)
    }
}

impl Line<'_> {
    /// Brings one, which must be accepted.
    pub(super) async fn bring(&mut self, delivery: &Request<Bytes>) -> Result<()> {
        let status = self.offer(delivery).await?;
        ensure!(status == StatusCode::ACCEPTED, "a delivery was answered with {status}");
        Ok(())
    }

    /// Offers one; what is answered.
    pub(super) async fn offer(&mut self, delivery: &Request<Bytes>) -> Result<StatusCode> {
        let mut request = Request::post(&self.courier.path).body(Full::new(delivery.body().clone()))?;
        *request.headers_mut() = delivery.headers().clone();
        request.headers_mut().insert(header::HOST, HeaderValue::from_static("hooks"));
        self.sender.ready().await?;
        let answer = self.sender.send_request(request).await?;
        let status = answer.status();
        answer.into_body().collect().await?;
        Ok(status)
    }
}
