//! A disk that takes its time: whoever does not need it goes on.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::Duration;

use apiserver::store::{Entry, Saved, Storage, StorageError};
use apiserver::{ApiServer, Options, User};
use bytes::Bytes;
use http::{Request, StatusCode};
use http_body_util::Full;
use jiff::Timestamp;
use tokio::runtime::{Builder, Runtime};
use tokio::task::JoinHandle;
use tower::ServiceExt;

use super::MAPS;

/// Longer than anything here takes.
const SOON: Duration = Duration::from_secs(20);

/// Takes its time for the next commit, if it is told to: tells when that begins, and ends it when it is told to.
struct Slow {
    next: Arc<AtomicBool>,
    begun: Sender<()>,
    ends: Receiver<()>,
}

impl Storage for Slow {
    fn load(&self) -> Result<Saved, StorageError> {
        Ok(Saved::default())
    }

    fn commit(&mut self, _: &Entry, _: u64) -> Result<(), StorageError> {
        if self.next.swap(false, Ordering::Relaxed) {
            self.begun.send(()).unwrap();
            // Also when the test is over.
            let _ = self.ends.recv();
        }
        Ok(())
    }

    fn blocks(&self) -> bool {
        true
    }
}

/// One thread that does everything, and a server over a slow storage.
struct Stage {
    // Goes first, so that nothing waits for the storage any more.
    end: Sender<()>,
    begins: Receiver<()>,
    next: Arc<AtomicBool>,
    server: ApiServer,
    runtime: Runtime,
}

impl Stage {
    fn new() -> Self {
        let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
        let (next, (begun, begins), (end, ends)) = (Arc::new(AtomicBool::new(false)), channel(), channel());
        let storage = Box::new(Slow { next: Arc::clone(&next), begun, ends });
        let server = ApiServer::new(Options { storage, ..super::options() }).unwrap();
        Self { end, begins, next, server, runtime }
    }

    /// Lets `work` begin, and waits until it commits something.
    fn commits<T: Send + 'static>(&self, work: impl Future<Output = T> + Send + 'static) -> JoinHandle<T> {
        self.next.store(true, Ordering::Relaxed);
        let working = self.runtime.spawn(work);
        self.begins.recv_timeout(SOON).expect("nothing is committed");
        working
    }

    /// Whether anything else still gets done.
    fn goes_on(&self) -> bool {
        let (done, doing) = channel();
        drop(self.runtime.spawn(async move { done.send(()) }));
        doing.recv_timeout(SOON).is_ok()
    }

    /// Ends the commit that is under way; what came of it.
    fn ends<T>(&self, working: JoinHandle<T>) -> T {
        assert!(!working.is_finished());
        self.end.send(()).unwrap();
        self.runtime.block_on(working).unwrap()
    }

    /// A request, and word of it when it is about to be answered.
    fn ask(
        &self,
        method: &str,
        path: &str,
        body: &'static str,
    ) -> (impl Future<Output = StatusCode> + Send + use<>, Receiver<()>) {
        let (tell, told) = channel();
        let request = Request::builder().method(method).uri(path).header("content-type", "application/json");
        let answer = self.server.door(User::admin()).oneshot(request.body(Full::new(Bytes::from(body))).unwrap());
        let asking = async move {
            // Nobody listens to those that write.
            let _ = tell.send(());
            answer.await.unwrap().status()
        };
        (asking, told)
    }
}

#[test]
fn a_slow_commit_does_not_hold_up_what_else_its_thread_does() {
    let stage = Stage::new();
    let writing = stage.commits(stage.ask("POST", MAPS, r#"{"metadata":{"name":"a"}}"#).0);
    assert!(stage.goes_on());
    assert_eq!(stage.ends(writing), 201);
}

#[test]
fn who_waits_for_a_slow_commit_of_somebody_else_does_not_hold_up_others() {
    let stage = Stage::new();
    let writing = stage.commits(stage.ask("POST", MAPS, r#"{"metadata":{"name":"a"}}"#).0);
    let (read, reads) = stage.ask("GET", MAPS, "");
    let reading = stage.runtime.spawn(read);
    reads.recv_timeout(SOON).expect("the request is not served");
    assert!(stage.goes_on());
    assert!(!reading.is_finished());
    assert_eq!(stage.ends(writing), 201);
    assert_eq!(stage.runtime.block_on(reading).unwrap(), 200);
}

#[test]
fn the_slow_end_of_an_event_does_not_hold_up_what_else_its_thread_does() {
    let stage = Stage::new();
    let event = r#"{"metadata":{"name":"old"},"involvedObject":{"namespace":"default"}}"#;
    let told = stage.ask("POST", "/api/v1/namespaces/default/events", event).0;
    assert_eq!(stage.runtime.block_on(told), 201);
    let server = stage.server.clone();
    let expiring = stage.commits(async move { server.expire_events(Timestamp::MAX, 1).await });
    assert!(stage.goes_on());
    assert_eq!(stage.ends(expiring), 1);
}
