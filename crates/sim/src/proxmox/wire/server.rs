//! The API on a socket: connections that are closed early, often and without a word, as the real ones are.

use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use bytes::Bytes;
use http::{Request, Response, header};
use http_body_util::{BodyExt, Full, Limited};
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::net::{TcpListener, TcpStream};

use super::{Authority, Dropped};
use crate::proxmox::world::World;
use crate::proxmox::{Simulator, front};

/// How a server speaks.
#[derive(Clone)]
pub enum Transport {
    /// Plain http.
    Plain,
    /// https, with certificates of this authority; whoever speaks http is sent there.
    Tls(Arc<Authority>),
}

/// A simulated cluster on a socket.
pub struct Server {
    address: SocketAddr,
}

/// An upload may be this large; everything else is bounded much earlier.
const UPLOAD: usize = 256 << 20;

impl Server {
    /// Listens and serves until the simulator's tasks stop.
    pub async fn start(simulator: &Simulator, address: SocketAddr, transport: Transport) -> io::Result<Self> {
        let listener = TcpListener::bind(address).await?;
        let address = listener.local_addr()?;
        let world = Arc::clone(&simulator.world);
        let (tasks, stopping) = (world.tasks.clone(), world.tasks.stopping());
        tasks.spawn("proxmox server", async move {
            tokio::select! {
                () = stopping => {}
                () = accept(listener, world, transport, address.ip().is_loopback()) => {}
            }
        });
        Ok(Self { address })
    }

    /// Where it listens.
    pub const fn address(&self) -> SocketAddr {
        self.address
    }
}

async fn accept(listener: TcpListener, world: Arc<World>, transport: Transport, loopback: bool) {
    let place = if loopback { front::Place::Loopback } else { front::Place::Network };
    loop {
        let Ok((stream, _)) = listener.accept().await else { continue };
        let (world, transport, stopping) = (Arc::clone(&world), transport.clone(), world.tasks.stopping());
        let tasks = world.tasks.clone();
        tasks.spawn("proxmox connection", async move {
            tokio::select! {
                () = stopping => {}
                () = connection(stream, world, transport, place) => {}
            }
        });
    }
}

async fn connection(stream: TcpStream, world: Arc<World>, transport: Transport, place: front::Place) {
    let _ = stream.set_nodelay(true);
    match transport {
        Transport::Plain => converse(stream, world, place).await,
        Transport::Tls(authority) => {
            let mut first = [0_u8; 1];
            let speaks_tls = stream.peek(&mut first).await.is_ok_and(|read| read == 1 && first[0] == 0x16);
            if !speaks_tls {
                return redirect(stream).await;
            }
            if let Ok(stream) = authority.acceptor().accept(stream).await {
                converse(stream, world, place).await;
            }
        }
    }
}

async fn converse<S>(stream: S, world: Arc<World>, place: front::Place)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    let (served, idle, most) = (AtomicU32::new(0), world.limits.idle, world.limits.requests);
    let answer = service_fn(|request: Request<Incoming>| {
        let (world, count) = (Arc::clone(&world), served.fetch_add(1, Ordering::Relaxed) + 1);
        async move {
            let (head, body) = request.into_parts();
            // What is too large, or breaks off, is for the HTTP layer to refuse; it sees an empty body.
            let body = Limited::new(body, UPLOAD).collect().await.map(http_body_util::Collected::to_bytes);
            let mut response =
                front::answer(&world, Request::from_parts(head, body.unwrap_or_default()), place).await?;
            if count >= most {
                response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
            }
            Ok::<_, Dropped>(response)
        }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(idle).title_case_headers(true).auto_date_header(false);
    if let Err(error) = builder.serve_connection(TokioIo::new(stream), answer).await {
        tracing::debug!(%error, "connection ended");
    }
}

async fn redirect(stream: TcpStream) {
    let answer = service_fn(|request: Request<Incoming>| async move {
        let host = request.headers().get(header::HOST).and_then(|host| host.to_str().ok()).unwrap_or_default();
        let status = if request.method() == http::Method::GET { 301 } else { 308 };
        let mut response = Response::new(Full::new(Bytes::new()));
        *response.status_mut() = http::StatusCode::from_u16(status).expect("a fixed status");
        if let Ok(location) = header::HeaderValue::from_str(&format!("https://{host}{}", request.uri())) {
            response.headers_mut().insert(header::LOCATION, location);
        }
        response.headers_mut().insert(header::CONNECTION, header::HeaderValue::from_static("close"));
        Ok::<_, Infallible>(response)
    });
    let _ = http1::Builder::new().serve_connection(TokioIo::new(stream), answer).await;
}
