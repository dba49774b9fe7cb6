//! How much is logged, and in which shape.

use std::sync::{Arc, PoisonError, RwLock};

use tracing::level_filters::LevelFilter;
use tracing::{Metadata, callsite};
use tracing_subscriber::layer::{Context, Filter};

pub use tracing::Level;

/// Our own crates, by the first word of their records' target. Everybody else is heard from INFO up only: DEBUG records
/// of HTTP libraries may quote requests.
#[rustfmt::skip]
const OURS: [&str; 14] = [
    "agent", "api", "apiserver", "baseline", "chassis", "executor", "fleet", "hourglass", "hyperfleet", "operator", "providers", "reconcile", "runtime",
    "sim",
];

/// The levels that can be set, most severe first.
pub const LEVELS: [Level; 4] = [Level::ERROR, Level::WARN, Level::INFO, Level::DEBUG];

/// Reads a level's name, in any case.
pub fn level(name: &str) -> Option<Level> {
    LEVELS.into_iter().find(|level| level.as_str().eq_ignore_ascii_case(name.trim()))
}

/// The shape of log records.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// One JSON object a line.
    Json,
    /// One line for human eyes.
    Text,
}

/// The level in force, which may change at any time. Spans pass whatever the level, so that even a lone ERROR record
/// knows its controller, object and trace.
#[derive(Clone, Debug)]
pub(super) struct Threshold(Arc<RwLock<Level>>);

impl Threshold {
    pub(super) fn new(level: Level) -> Self {
        Self(Arc::new(RwLock::new(level)))
    }

    pub(super) fn set(&self, level: Level) {
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = level;
        callsite::rebuild_interest_cache();
    }

    fn get(&self) -> Level {
        *self.0.read().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<S> Filter<S> for Threshold {
    fn enabled(&self, metadata: &Metadata<'_>, _: &Context<'_, S>) -> bool {
        if metadata.is_span() {
            return traced(metadata);
        }
        let ours = metadata.target().split("::").next().is_some_and(|name| OURS.contains(&name));
        *metadata.level() <= if ours { self.get() } else { self.get().min(Level::INFO) }
    }

    fn max_level_hint(&self) -> Option<LevelFilter> {
        Some(LevelFilter::from_level(self.get().max(Level::INFO)))
    }
}

/// What becomes part of a trace. DEBUG spans of HTTP libraries would make the export trace itself.
pub(super) fn traced(metadata: &Metadata<'_>) -> bool {
    *metadata.level() <= Level::INFO
}
