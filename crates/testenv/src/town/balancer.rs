//! What a Service is in a cluster: one address in front of replicas that come and go.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use crate::demand::demand;
use crate::ports::free_port;

/// One loopback port that leads to whichever of several accepts, bytes unread; it is closed with this value.
#[derive(Debug)]
pub struct Balancer {
    port: u16,
    backends: Arc<[u16]>,
    shut: Arc<AtomicBool>,
    _accepting: JoinSet<()>,
}

impl Balancer {
    /// A port in front of as many others, on which nobody listens yet.
    pub async fn new(replicas: usize) -> Self {
        let listener = demand("listen on loopback", TcpListener::bind("127.0.0.1:0").await);
        let port = demand("a port", listener.local_addr()).port();
        let backends: Arc<[u16]> = (0..replicas).map(|_| demand("a free port", free_port())).collect();
        let mut accepting = JoinSet::new();
        let shut = Arc::new(AtomicBool::new(false));
        accepting.spawn(accept(listener, Arc::clone(&backends), Arc::clone(&shut)));
        Self { port, backends, shut, _accepting: accepting }
    }

    /// Hangs up on whoever calls from now on, or does so no more.
    pub fn shut(&self, shut: bool) {
        self.shut.store(shut, Ordering::Relaxed);
    }

    /// The port that everybody knows.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// How many replicas there is room for.
    pub fn backends(&self) -> usize {
        self.backends.len()
    }

    /// The port that this replica listens on.
    pub fn backend(&self, replica: usize) -> u16 {
        self.backends[replica]
    }
}

async fn accept(listener: TcpListener, backends: Arc<[u16]>, shut: Arc<AtomicBool>) {
    let (mut open, turn) = (JoinSet::new(), AtomicUsize::new(0));
    loop {
        tokio::select! {
            accepted = listener.accept() => {
                let Ok((stream, _)) = accepted else { continue };
                if shut.load(Ordering::Relaxed) {
                    continue;
                }
                let first = turn.fetch_add(1, Ordering::Relaxed);
                open.spawn(carry(stream, Arc::clone(&backends), first));
            }
            Some(_) = open.join_next() => {}
        }
    }
}

/// Connects to the first that accepts, in turn; a caller whom nobody accepts is hung up on.
async fn carry(mut caller: TcpStream, backends: Arc<[u16]>, first: usize) {
    for step in 0..backends.len() {
        let port = backends[(first + step) % backends.len()];
        if let Ok(mut replica) = TcpStream::connect(("127.0.0.1", port)).await {
            // Whoever ends it, both are told.
            let _ = tokio::io::copy_bidirectional(&mut caller, &mut replica).await;
            return;
        }
    }
}
