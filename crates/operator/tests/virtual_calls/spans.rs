//! The spans of calls, as a collector would see them.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex};

use tracing::Subscriber;
use tracing::field::{Field, Visit};
use tracing::span::{Attributes, Id, Record};
use tracing_subscriber::Layer;
use tracing_subscriber::layer::Context;
use tracing_subscriber::registry::LookupSpan;

/// Fields of one span.
type Fields = BTreeMap<&'static str, String>;

/// Every span that was closed; clones are the same.
#[derive(Clone, Default)]
pub(crate) struct Spans {
    open: Arc<Mutex<BTreeMap<u64, Fields>>>,
    closed: Arc<Mutex<Vec<Fields>>>,
}

impl Spans {
    /// How often each operation ended how.
    pub(crate) fn outcomes(&self) -> BTreeMap<(String, String), u64> {
        let mut tally = BTreeMap::new();
        for fields in self.closed.lock().unwrap().iter() {
            assert_eq!((fields["provider"].as_str(), fields["otel.kind"].as_str()), ("proxmox", "client"));
            *tally
                .entry((fields["otel.name"].clone(), fields.get("status").cloned().unwrap_or_default()))
                .or_default() += 1;
        }
        tally
    }

    /// How often each operation was marked as an error.
    pub(crate) fn errors(&self) -> BTreeMap<String, u64> {
        let mut tally = BTreeMap::new();
        let is_error = |fields: &&Fields| fields.get("otel.status_code").is_some_and(|code| code == "ERROR");
        for fields in self.closed.lock().unwrap().iter().filter(is_error) {
            *tally.entry(fields["otel.name"].clone()).or_default() += 1;
        }
        tally
    }
}

impl<S: Subscriber + for<'a> LookupSpan<'a>> Layer<S> for Spans {
    fn on_new_span(&self, attributes: &Attributes<'_>, id: &Id, _: Context<'_, S>) {
        if attributes.metadata().name() == "http" {
            let mut taken = Taken::default();
            attributes.record(&mut taken);
            self.open.lock().unwrap().insert(id.into_u64(), taken.0);
        }
    }

    fn on_record(&self, id: &Id, values: &Record<'_>, _: Context<'_, S>) {
        if let Some(fields) = self.open.lock().unwrap().get_mut(&id.into_u64()) {
            let mut taken = Taken::default();
            values.record(&mut taken);
            fields.extend(taken.0);
        }
    }

    fn on_close(&self, id: Id, _: Context<'_, S>) {
        let ended = self.open.lock().unwrap().remove(&id.into_u64());
        self.closed.lock().unwrap().extend(ended);
    }
}

/// Values of fields as text.
#[derive(Default)]
struct Taken(Fields);

impl Visit for Taken {
    fn record_str(&mut self, field: &Field, value: &str) {
        self.0.insert(field.name(), value.to_owned());
    }

    fn record_debug(&mut self, field: &Field, value: &dyn std::fmt::Debug) {
        self.0.insert(field.name(), format!("{value:?}"));
    }
}
