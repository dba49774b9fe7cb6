//! The service on a socket.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use bytes::Bytes;
use http::Request;
use http_body_util::{BodyExt, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use crate::github::Simulator;
use crate::github::front::{self, Place};
use crate::github::world::Shared;
use crate::proxmox::Transport;

/// A simulated GitHub on a socket, with everything below one address as GitHub Enterprise Server has it.
pub struct Server {
    address: SocketAddr,
    web: String,
}

/// No request of anybody's is larger.
const BODY: usize = 26 << 20;

impl Server {
    /// Listens and serves until the simulator's tasks stop.
    pub async fn start(simulator: &Simulator, address: SocketAddr, transport: Transport) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let scheme = match &transport {
            Transport::Plain => "http",
            Transport::Tls(_) => "https",
        };
        let web = format!("{scheme}://{address}");
        let world = Arc::clone(&simulator.world);
        world.settle(&web);
        let place = if address.ip().is_loopback() { Place::Near } else { Place::Far };
        let (tasks, stopping) = (world.tasks.clone(), world.tasks.stopping());
        tasks.spawn("github server", async move {
            tokio::select! {
                () = stopping => {}
                () = accept(listener, world, transport, place) => {}
            }
        });
        Ok(Self { address, web })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }

    /// The address of its pages; the API is at `/api/v3` below it.
    pub fn web(&self) -> &str {
        &self.web
    }
}

async fn accept(listener: TcpListener, world: Shared, transport: Transport, place: Place) {
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (world, transport, stopping) = (Arc::clone(&world), transport.clone(), world.tasks.stopping());
        let tasks = world.tasks.clone();
        tasks.spawn("github connection", async move {
            tokio::select! {
                () = stopping => {}
                () = connection(stream, world, transport, place) => {}
            }
        });
    }
}

async fn connection(stream: TcpStream, world: Shared, transport: Transport, place: Place) {
    let _ = stream.set_nodelay(true);
    match transport {
        Transport::Plain => converse(stream, world, place).await,
        Transport::Tls(authority) => {
            if let Ok(stream) = authority.acceptor().accept(stream).await {
                converse(stream, world, place).await;
            }
        }
    }
}

async fn converse<S>(stream: S, world: Shared, place: Place)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let answer = service_fn(|request: Request<Incoming>| {
        let world = Arc::clone(&world);
        async move {
            let (head, body) = request.into_parts();
            let body = Limited::new(body, BODY).collect().await.map(http_body_util::Collected::to_bytes);
            let body: Bytes = body.unwrap_or_default();
            front::answer(&world, Request::from_parts(head, body), place).await
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).auto_date_header(false);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), answer).await {
        tracing::debug!(%error, "connection ended");
    }
}
