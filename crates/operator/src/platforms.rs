//! The CI platforms, as far as claims need them: how a runner stands, what became of its job, and letting it go.

use api::RunnerRegistration;
use fleet::claim::{Mode, Removal, Standing, Work};
use futures::future::BoxFuture;
use runtime::{Bell, Key};

/// What claims ask of the platforms that their runners are registered at.
pub trait Platforms: Send + Sync {
    /// How a runner of that source stands, by the complete listings since its id was known.
    fn standing(&self, source: &Key, runner: &RunnerRegistration) -> Option<Standing>;

    /// What the platform says of the job that the claim's runner took.
    fn work(&self, claim: &Key) -> Work;

    /// Whether the loss of the claim's machine would be news for a job that its runner took.
    fn is_unnoted(&self, claim: &Key) -> bool;

    /// Asks the source's platform to let a runner go: by its id, or by its name while there is none.
    fn deregister(&self, source: &Key, runner: RunnerRegistration, mode: Mode) -> BoxFuture<'static, Removal>;

    /// Rung with the key of a claim whose standing or work has changed, and after every listing in which its runner is
    /// offline or gone: how long that lasts decides.
    fn bell(&self) -> &Bell;
}
