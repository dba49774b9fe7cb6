//! The label sets, a type each, so that no two labels can change places.

use prometheus_client::encoding::EncodeLabelSet;

macro_rules! labels {
    ($($name:ident { $($label:ident: $value:ty),+ })+) => {$(
        #[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
        pub(super) struct $name {
            $(pub(super) $label: $value),+
        }
    )+};
}

labels! {
    Controller { controller: String }
    Pass { controller: String, result: &'static str }
    Request { verb: String, resource: String, code: String }
    Failure { verb: String, resource: String, class: &'static str }
    Lease { lease: String }
    Object { kind: String }
    Event { r#type: String, reason: String }
    Verdict { result: &'static str }
    Loss { reason: &'static str }
    Build { version: String }
}
