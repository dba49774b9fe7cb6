//! The server: who asks, may he, what for, and what he gets.

mod dispatch;
mod door;
mod expire;
mod listen;
mod options;
mod start;

use std::sync::{Arc, Mutex, MutexGuard, PoisonError, TryLockError};

use bytes::Bytes;
use http::{Response, request};
use tokio::runtime::{Handle, RuntimeFlavor};
use tokio::task::block_in_place;

use crate::access::{self, Attributes, Authenticator, Credential, User, Wanted};
use crate::answer::{Answer, Body};
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::form::{Endpoint, Form};
use crate::lifecycle;
use crate::query::Query;
use crate::route::{Route, Verb};
use crate::select::FieldSelector;
use crate::store::{StorageError, Store};

pub use door::Door;
pub use options::{Chores, Options};

/// A Kubernetes API; clones serve the same objects.
#[derive(Clone)]
pub struct ApiServer(Arc<Inner>);

struct Inner {
    cluster: Mutex<Cluster>,
    authenticator: Authenticator,
    clock: chassis::Clock,
    chores: Chores,
    /// Whether a commit may take a while.
    blocks: bool,
}

/// How a client shows who it is.
#[derive(Clone)]
enum Caller {
    /// It is in this process, and we know it.
    Known(User),
    /// It came over the network.
    Unknown,
}

impl User {
    /// Somebody who may do everything.
    pub fn admin() -> Self {
        Self::new("kubernetes-admin", &[access::MASTERS])
    }
}

impl ApiServer {
    /// A server with what `options` say; an empty storage gets what a fresh cluster has.
    pub fn new(options: Options) -> Result<Self, StorageError> {
        let now = options.clock.now();
        let store = Store::open(options.storage, options.history, now)?;
        let mut cluster = Cluster::open(store, options.seed);
        start::furnish(&mut cluster, now).map_err(|failure| StorageError(failure.message))?;
        lifecycle::settle(&mut cluster, now);
        let inner = Inner {
            blocks: cluster.store.blocks(),
            cluster: Mutex::new(cluster),
            authenticator: options.authenticator,
            clock: options.clock,
            chores: options.chores,
        };
        Ok(Self(Arc::new(inner)))
    }

    /// Another server in memory that begins with everything this one has, without compiling its definitions again. The seed
    /// must be another one, or uids would come twice.
    #[must_use]
    pub fn copy(&self, clock: chassis::Clock, seed: [u8; 32]) -> Self {
        let Options { authenticator, .. } = Options::in_memory(clock, seed);
        let cluster = Mutex::new(self.cluster().copy(seed));
        Self(Arc::new(Inner { cluster, authenticator, clock, chores: self.0.chores, blocks: false }))
    }

    /// A service for a client in this process, known as `user`.
    pub fn door(&self, user: User) -> Door {
        Door::new(self.clone(), Caller::Known(user.authenticated()))
    }

    /// A service for clients that prove who they are with each request.
    pub fn front_door(&self) -> Door {
        Door::new(self.clone(), Caller::Unknown)
    }

    /// Lets `read` see the objects and the journal at this moment.
    pub fn store<T>(&self, read: impl FnOnce(&Store) -> T) -> T {
        read(&self.cluster().store)
    }

    /// Lets `look` see the state at this moment.
    pub(crate) fn look<T>(&self, look: impl FnOnce(&Cluster) -> T) -> T {
        look(&self.cluster())
    }

    pub(crate) fn now(&self) -> jiff::Timestamp {
        self.0.clock.now()
    }

    /// Does what changes have called for since the last time: garbage collection, namespaces, definitions, roles.
    pub fn settle(&self) {
        lifecycle::settle(&mut self.cluster(), self.0.clock.now());
    }

    /// Forgets the past, as a compaction of the database does: watches from an old version end with 410.
    pub fn compact(&self) {
        self.cluster().store.compact();
    }

    fn cluster(&self) -> MutexGuard<'_, Cluster> {
        match self.0.cluster.try_lock() {
            Ok(cluster) => cluster,
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
            // Whoever has it may be waiting for the disk.
            Err(TryLockError::WouldBlock) => {
                self.aside(|| self.0.cluster.lock().unwrap_or_else(PoisonError::into_inner))
            }
        }
    }

    /// Whether somebody may ask this, as far as its head tells.
    fn admits(&self, head: &request::Parts, caller: &Caller) -> Result<(), Failure> {
        let mut cluster = self.cluster();
        let user = self.user(&mut cluster, head, caller)?;
        permit(&mut cluster, &wish(&user, head)?)
    }

    /// Does what may take a while; if somebody else can do the thread's other work meanwhile, it goes there first.
    fn aside<T>(&self, work: impl FnOnce() -> T) -> T {
        let shared =
            || Handle::try_current().is_ok_and(|runtime| runtime.runtime_flavor() == RuntimeFlavor::MultiThread);
        if self.0.blocks && shared() { block_in_place(work) } else { work() }
    }

    /// Does what changes have called for, if this server does that at once.
    fn tidy(&self, cluster: &mut Cluster) {
        if self.0.chores == Chores::AtOnce && cluster.has_chores() {
            lifecycle::settle(cluster, self.0.clock.now());
        }
    }

    /// Answers one request.
    fn answer(&self, head: &request::Parts, body: Bytes, caller: &Caller) -> Response<Body> {
        match self.serve(head, body, caller) {
            Ok(answer) => answer.into(),
            Err(failure) => refuse(head, failure),
        }
    }

    fn serve(&self, head: &request::Parts, body: Bytes, caller: &Caller) -> Result<Answer, Failure> {
        let mut cluster = self.cluster();
        let user = self.user(&mut cluster, head, caller)?;
        let query = Query::parse(head.uri.query().unwrap_or_default());
        permit(&mut cluster, &wish(&user, head)?)?;
        match Route::of(head.uri.path()) {
            Route::Other(segments) => dispatch::other(&mut cluster, head, &segments),
            Route::Resource(target) => {
                let watch = query.flag("watch") == Some(true);
                let verb = Verb::of(&head.method, &target, watch).ok_or_else(Failure::method_not_allowed)?;
                let request = dispatch::Request { head, body, user, query, target, verb };
                let answer = dispatch::resource(self, &mut cluster, request);
                self.tidy(&mut cluster);
                answer
            }
        }
    }

    fn user(&self, cluster: &mut Cluster, head: &request::Parts, caller: &Caller) -> Result<User, Failure> {
        let user = match caller {
            Caller::Known(user) => user.clone(),
            Caller::Unknown => {
                let header = head.headers.get(http::header::AUTHORIZATION).and_then(|value| value.to_str().ok());
                let credential = header.map_or(Credential::Nothing, Credential::Header);
                self.0
                    .authenticator
                    .authenticate(credential, self.0.clock.now(), &|namespace, name| cluster.account(namespace, name))?
            }
        };
        let Some(wanted) = Wanted::read(&head.headers)? else { return Ok(user) };
        let wish = wish(&user, head)?;
        Ok(wanted.assume(cluster.policy(), &wish, None)?.0)
    }
}

/// A failure in the form that was asked for.
fn refuse(head: &request::Parts, failure: Failure) -> Response<Body> {
    let accept = head.headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok());
    let wanted = Form::accepted(accept.unwrap_or_default(), Endpoint::Custom);
    let refusal = Answer::from(failure);
    if wanted.is_ok_and(|(_, yaml)| yaml) { refusal.into_yaml().into() } else { refusal.into() }
}

fn permit(cluster: &mut Cluster, wish: &Attributes) -> Result<(), Failure> {
    let decision = cluster.policy().authorize(wish);
    if decision.allowed { Ok(()) } else { Err(wish.forbidden(&decision.reason)) }
}

/// What a request wants, as roles see it.
fn wish(user: &User, head: &request::Parts) -> Result<Attributes, Failure> {
    let target = match Route::of(head.uri.path()) {
        Route::Resource(target) => target,
        Route::Other(_) => {
            let verb = head.method.as_str().to_ascii_lowercase();
            return Ok(Attributes::path(user, verb, head.uri.path()));
        }
    };
    let query = Query::parse(head.uri.query().unwrap_or_default());
    let watch = query.flag("watch") == Some(true);
    let verb = Verb::of(&head.method, &target, watch).ok_or_else(Failure::method_not_allowed)?;
    let namespaces = target.plural == "namespaces" && target.group.is_empty();
    let namespace = if namespaces { target.name.clone() } else { target.namespace };
    let mut name = target.name;
    if matches!(verb, Verb::List | Verb::Watch) && name.is_empty() {
        // A list of one name is what it is: a role for that name allows it.
        let fields = FieldSelector::parse(query.text("fieldSelector")).unwrap_or_default();
        fields.exact("metadata.name").unwrap_or_default().clone_into(&mut name);
    }
    let (group, version, subresource) = (target.group, target.version, target.subresource);
    let resource = access::Resource { group, version, resource: target.plural, subresource, namespace, name };
    Ok(Attributes::resource(user, verb.as_str(), resource))
}
