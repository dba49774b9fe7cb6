//! What a planner decided in one pass.

use crate::Next;

/// Everything one pass wants to happen to one object.
///
/// The driver carries it out in a fixed order: [`Finalizer::Add`] alone, so that it is visible before any side effect;
/// else the steps one by one, the first failure ending the pass; then the status, if it differs; and
/// [`Finalizer::Remove`] last, once everything before it has succeeded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan<Step, Status> {
    /// What to do to the object's finalizer.
    pub finalizer: Finalizer,
    /// Idempotent actions in order; each carries its own precondition.
    pub steps: Vec<Step>,
    /// The whole status the object should show, or `None` to leave it alone.
    pub status: Option<Status>,
    /// When to look again, and why.
    pub next: Next,
}

impl<Step, Status> Plan<Step, Status> {
    /// The plan that does nothing until something changes.
    pub const fn rest() -> Self {
        Self { finalizer: Finalizer::Keep, steps: Vec::new(), status: None, next: Next::OnChange }
    }

    /// A plan that only looks again later.
    pub const fn wait(next: Next) -> Self {
        Self { finalizer: Finalizer::Keep, steps: Vec::new(), status: None, next }
    }
}

/// What a plan does to the controller's finalizer on the object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum Finalizer {
    /// Leave it as it is.
    #[default]
    Keep,
    /// Put it on, before anything else happens; the pass ends there and the next one sees it.
    Add,
    /// Take it off after every step has succeeded; the object may be gone afterwards.
    Remove,
}
