//! The functions that rules may call: those of the engine and of Kubernetes, where they are as strict as the server's.

use std::sync::Arc;

use kube::core::cel::KubeCelExt;
use kube::core::cel::cel::{Context, ExecutionError, Value as Cel, functions};

use super::super::go;

/// A context with every function.
pub(super) fn all() -> Context<'static> {
    let mut context = Context::default().with_all();
    context.add_function("duration", duration);
    context
}

/// The engine's own takes a span with anything behind it.
#[expect(clippy::needless_pass_by_value, reason = "the engine hands its values over")]
fn duration(text: Arc<String>) -> Result<Cel, ExecutionError> {
    if !go::is_duration(&text) {
        return Err(ExecutionError::function_error("duration", "not a span of time"));
    }
    let plain = text.trim_start_matches('+').replace(['µ', 'μ'], "u");
    functions::duration(Arc::new(plain))
}
