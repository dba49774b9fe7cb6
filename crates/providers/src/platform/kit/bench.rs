//! What happens at the platform, and what goes wrong there.

use std::future::Future;
use std::time::Duration;

use ::http::HeaderMap;
use bytes::Bytes;
use jiff::Timestamp;
use secrecy::SecretString;

use crate::platform::{Grant, JobKey, Marker};

/// Something that should go wrong from now until [`Bench::calm`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Trouble {
    /// The platform takes the credential for nobody's.
    RefusedCredential,
    /// The credential works and lacks something that is needed.
    MissingPermission,
    /// The next registration happens, but its answer is lost.
    LostMintAnswer,
    /// As much was asked for as may be; it is over after about this long.
    RateLimited(Duration),
    /// Deliveries are sent and do not arrive.
    FailingDeliveries,
}

/// This cannot be made to happen here, for this reason.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub struct Unavailable(pub String);

/// What the platform sent to the hook.
#[derive(Clone, Debug)]
pub struct Delivery {
    /// Its headers.
    pub headers: HeaderMap,
    /// Its body.
    pub body: Bytes,
}

/// Makes things happen at a platform: a simulator can, and somebody with a real server and runner can most of it.
///
/// The suite is alone in the scope: no jobs but its own are there.
pub trait Bench: Send + Sync {
    /// The labels of the pool whose jobs are queued and whose runners are registered.
    fn pool(&self) -> Vec<String>;

    /// What names of our runners begin with.
    fn marker(&self) -> Marker;

    /// The secret that deliveries are signed with.
    fn secret(&self) -> SecretString;

    /// The present moment of the platform's world.
    fn now(&self) -> Timestamp;

    /// The key of a job that the platform never had.
    fn nobody(&self) -> JobKey;

    /// Somebody queues one job with these labels; its name, for people.
    fn queue(&self, labels: &[String]) -> impl Future<Output = Result<String, Unavailable>> + Send;

    /// Somebody cancels every job that waits or runs.
    fn cancel(&self) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// What arrived at the hook since the last call, once everything that was on its way has.
    fn deliveries(&self) -> impl Future<Output = Result<Vec<Delivery>, Unavailable>> + Send;

    /// A runner connects with what it was granted, and stays. It runs what it is given until [`Bench::finish`].
    fn connect(&self, grant: &Grant) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// The job of that runner ends well, and the runner with it.
    fn finish(&self, runner: &str) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// Sees to it that the trouble is there.
    fn arrange(&self, trouble: Trouble) -> impl Future<Output = Result<(), Unavailable>> + Send;

    /// Ends all trouble; called after every case.
    fn calm(&self) -> impl Future<Output = ()> + Send;
}
