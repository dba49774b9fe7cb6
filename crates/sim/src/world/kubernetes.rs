//! The Kubernetes API of a world: the in-process server, its history, its past and its chores.
//!
//! What a cluster's own controllers do (garbage collection, the end of namespaces) happens here some time after the
//! request that called for it, and in nobody's name.

use std::collections::BTreeMap;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll};
use std::time::Duration;

use apiserver::store::{Change, Entry, Key, Resource};
use apiserver::{ApiServer, Body, Chores, Door, Options, User};
use bytes::Bytes;
use futures::FutureExt as _;
use http::{HeaderValue, Method, Request, Response, Uri, header};
use http_body_util::{BodyExt as _, Full};
use serde_json::Value;
use tower::{BoxError, Service};

use super::deed::{Deed, Nature, Object, Verb};
use super::ledger::Ledger;
use super::memory::Past;
use super::{World, lock};

/// A running API; clones are the same one.
#[derive(Clone)]
pub struct Kubernetes {
    server: ApiServer,
    world: World,
    ledger: Ledger,
    books: Arc<Mutex<Books>>,
}

#[derive(Default)]
struct Books {
    /// Everything up to this revision is in the ledger.
    written: u64,
    /// Chores are on their way.
    chores: bool,
    /// Objects as they were last written down.
    latest: BTreeMap<Object, Arc<Value>>,
}

impl Books {
    /// What an object was and is, for the ledger.
    fn enter(&mut self, object: &Object, change: &Change) -> (Option<Arc<Value>>, Option<Arc<Value>>) {
        let (old, new) = match change {
            Change::Added { after } => (None, Some(after)),
            Change::Modified { before, after } => (Some(before), Some(after)),
            Change::Deleted { before, .. } => (Some(before), None),
        };
        let known = self.latest.remove(object);
        let before = old.map(|old| known.unwrap_or_else(|| Arc::new(old.parse())));
        let after = new.map(|new| Arc::new(new.parse()));
        if let Some(after) = &after {
            self.latest.insert(object.clone(), Arc::clone(after));
        }
        (before, after)
    }
}

/// How long the cluster's own controllers take, at least and at most.
const CHORES: (Duration, Duration) = (Duration::from_millis(5), Duration::from_secs(2));

impl World {
    /// Starts a Kubernetes API behind the name `destination`, for anybody and with all rights.
    pub fn kubernetes(&self, destination: &str) -> Kubernetes {
        let mut seed = [0; 32];
        seed[..8].copy_from_slice(&self.seed().to_be_bytes());
        let options = Options { chores: Chores::WhenAsked, ..Options::in_memory(self.clock(), seed) };
        let server = ApiServer::new(options).expect("a server in memory has nothing that could be broken");
        self.open(destination, server)
    }

    /// Starts a Kubernetes API that serves the definitions of `prototype` from its first moment.
    pub fn kubernetes_like(&self, destination: &str, Prototype(prototype): &Prototype) -> Kubernetes {
        // Its end is not that of a fresh API's seed, so that no uid of the prototype comes again.
        let mut seed = [1; 32];
        seed[..8].copy_from_slice(&self.seed().to_be_bytes());
        self.open(destination, prototype.copy(self.clock(), seed))
    }

    fn open(&self, destination: &str, server: ApiServer) -> Kubernetes {
        let kubernetes = Kubernetes { server, world: self.clone(), ledger: self.ledger(), books: Arc::default() };
        kubernetes.settle();
        kubernetes.serve(destination, User::admin());
        self.past(destination, kubernetes.clone());
        kubernetes
    }
}

/// A Kubernetes API with its definitions compiled, for many worlds to begin with: compiling takes longer than most of them.
pub struct Prototype(ApiServer);

impl Prototype {
    /// An API that serves these definitions; the error is the server's.
    pub fn new(crds: &[Value]) -> Result<Self, String> {
        let define = || {
            World::run(0, async |world| {
                let kubernetes = world.kubernetes("prototype");
                crds.iter().try_for_each(|crd| kubernetes.define(crd))?;
                Ok(Self(kubernetes.server.clone()))
            })
        };
        // In a thread of its own: who needs it first is in a world already, and a thread has room for one.
        let made = std::thread::scope(|scope| scope.spawn(define).join());
        made.unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    }
}

impl Kubernetes {
    /// Opens another door to the same API, behind which everybody has the rights of `user`.
    pub fn serve(&self, destination: &str, user: User) {
        let door = self.server.door(user);
        self.world.serve(destination, Nature::Kubernetes, Counter { door, kubernetes: self.clone() });
    }

    /// Adds a definition of custom resources, served from now on; the error is the server's.
    pub fn define(&self, crd: &Value) -> Result<(), String> {
        let mut request = Request::new(Full::new(Bytes::from(crd.to_string())));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = Uri::from_static("/apis/apiextensions.k8s.io/v1/customresourcedefinitions");
        request.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        let answer = self.server.door(User::admin()).call(request).now_or_never();
        self.settle();
        match answer {
            Some(Ok(answer)) if answer.status().is_success() => Ok(()),
            Some(Ok(answer)) => {
                let body = answer.into_body().collect().now_or_never().and_then(Result::ok);
                Err(body.map(|body| String::from_utf8_lossy(&body.to_bytes()).into_owned()).unwrap_or_default())
            }
            Some(Err(never)) => match never {},
            None => Err("no answer".to_owned()),
        }
    }

    /// The server itself.
    pub fn server(&self) -> &ApiServer {
        &self.server
    }

    /// Does now what the cluster's own controllers would do some time later.
    pub fn settle(&self) {
        self.server.settle();
        self.write_down();
    }

    /// Puts into the ledger what has happened since the last time.
    fn write_down(&self) {
        let mut books = lock(&self.books);
        let (entries, newest) = self.server.store(|store| {
            let entries: Vec<Entry> =
                store.journal().after(books.written).map(|news| news.cloned().collect()).unwrap_or_default();
            (entries, store.revision())
        });
        books.written = newest;
        for Entry { resource, key, change, .. } in entries {
            let object = Object::new(&resource.to_string(), &key.namespace, &key.name);
            let (before, after) = books.enter(&object, &change);
            self.ledger.committed(object, before, after);
        }
    }

    /// Sees to the chores that a request has left behind, some time later.
    fn tidy_up_later(&self) {
        let mut books = lock(&self.books);
        if books.chores {
            return;
        }
        books.chores = true;
        let mut dice = self.world.dice(&format!("chores after {}", books.written));
        let kubernetes = self.clone();
        self.world.later(dice.between(CHORES.0, CHORES.1), move |_| {
            lock(&kubernetes.books).chores = false;
            kubernetes.settle();
        });
    }
}

/// A door that keeps the books.
#[derive(Clone)]
struct Counter {
    door: Door,
    kubernetes: Kubernetes,
}

impl Service<Request<Full<Bytes>>> for Counter {
    type Response = Response<Body>;
    type Error = BoxError;
    type Future = Pin<Box<dyn Future<Output = Result<Response<Body>, BoxError>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), BoxError>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request<Full<Bytes>>) -> Self::Future {
        let answer = self.door.call(request);
        let kubernetes = self.kubernetes.clone();
        Box::pin(async move {
            let answer = answer.await?;
            let before = lock(&kubernetes.books).written;
            kubernetes.write_down();
            if lock(&kubernetes.books).written > before {
                kubernetes.tidy_up_later();
            }
            Ok(answer)
        })
    }
}

impl Past for Kubernetes {
    fn read(&self, request: &Request<Bytes>, age: usize) -> Option<Response<Bytes>> {
        let newest = self.server.store(apiserver::store::Store::revision);
        let then = newest.checked_sub(u64::try_from(age).ok()?)?;
        let deed = Deed::of(Nature::Kubernetes, request.method(), request.uri(), request.body());
        match deed.verb {
            Verb::Get => self.object_at(&deed.object, then),
            Verb::List => self.list_at(request, then),
            Verb::Watch | Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::Read | Verb::Act => None,
        }
    }

    fn compact(&self) {
        self.server.compact();
    }
}

impl Kubernetes {
    fn object_at(&self, object: &Object, revision: u64) -> Option<Response<Bytes>> {
        let (plural, group) = object.resource.split_once('.').unwrap_or((&object.resource, ""));
        let (resource, key) = (Resource::new(group, plural), Key::new(&object.namespace, &object.name));
        let namespace = Some(object.namespace.as_str()).filter(|namespace| !namespace.is_empty());
        let found = self.server.store(|store| store.list_at(&resource, namespace, revision)).ok()?;
        let (_, record) = found.into_iter().find(|(at, _)| *at == key)?;
        Some(Response::new(Bytes::from(record.text.to_string())))
    }

    /// The server knows how to list the past; it only has to be asked.
    fn list_at(&self, request: &Request<Bytes>, revision: u64) -> Option<Response<Bytes>> {
        let query = request.uri().query().unwrap_or_default();
        let kept =
            query.split('&').filter(|pair| !pair.starts_with("resourceVersion") && !pair.starts_with("continue="));
        let query = kept.collect::<Vec<_>>().join("&");
        let path = request.uri().path();
        let uri: Uri = format!("{path}?{query}&resourceVersion={revision}&resourceVersionMatch=Exact").parse().ok()?;
        let mut asked = Request::new(Full::new(Bytes::new()));
        (*asked.uri_mut(), *asked.headers_mut()) = (uri, request.headers().clone());
        let answer = self.server.door(User::admin()).call(asked).now_or_never()?.ok()?;
        let (head, body) = answer.into_parts();
        let body = body.collect().now_or_never()?.ok()?.to_bytes();
        head.status.is_success().then(|| Response::from_parts(head, body))
    }
}
