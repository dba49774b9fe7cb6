//! Writes objects and lists in the form that a client asked for.

use http::StatusCode;
use serde_json::{Value, json};

use crate::admit;
use crate::answer::Answer;
use crate::call::Call;
use crate::failure::Failure;
use crate::form::Form;
use crate::kind::{Kind, Nature};
use crate::store::Record;
use crate::table;
use crate::verb::list::Page;

/// One object.
pub(crate) fn one(call: &Call, code: StatusCode, record: &Record) -> Answer {
    let object = || call.served.value(record);
    match call.form {
        Form::Object => Answer::text(code, call.served.text(record).into_owned()),
        Form::Table(version) => {
            let object = object();
            let list = json!({ "resourceVersion": object["metadata"]["resourceVersion"] });
            Answer::json(code, &rendered(call, version, &[object], list, true))
        }
        Form::Metadata(version) => Answer::json(code, &table::partial(&object(), version)),
        Form::MetadataList(_) => not_a_list(call).into(),
    }
}

/// The refusal of one object as a list.
fn not_a_list(call: &Call) -> Failure {
    let kind = call.kind();
    if matches!(kind.nature, Nature::Custom(_)) {
        return admit::failed("content is not a list");
    }
    let message = format!(
        "you requested PartialObjectMetadataList, but the requested object is not a list (*{}.{})",
        package(kind),
        kind.kind
    );
    Failure::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
}

/// The refusal of a list as one object.
fn a_list(call: &Call) -> Failure {
    let kind = call.kind();
    let of = match kind.nature {
        Nature::Custom(_) => "unstructured.UnstructuredList".to_owned(),
        Nature::BuiltIn(_) => format!("{}.{}", package(kind), kind.list_kind),
    };
    let message = format!("you requested PartialObjectMetadata, but the requested object is a list (*{of})");
    Failure::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message)
}

/// The Go package of a built-in kind.
fn package(kind: &Kind) -> &str {
    match kind.group.as_str() {
        "" | "events.k8s.io" => "core",
        group => group.split('.').next().unwrap_or(group),
    }
}

/// A page of a collection.
pub(crate) fn many(call: &Call, page: &Page) -> Answer {
    let custom = matches!(call.kind().nature, Nature::Custom(_));
    let mut meta = json!({ "resourceVersion": page.revision.to_string() });
    // The list type of custom resources never leaves the field out.
    if custom || page.next.is_some() {
        meta["continue"] = json!(page.next.as_deref().unwrap_or_default());
    }
    if let Some(remaining) = page.remaining {
        meta["remainingItemCount"] = json!(remaining);
    }
    let values = || page.records.iter().map(|record| call.served.value(record)).collect::<Vec<Value>>();
    match call.form {
        Form::Object => {
            let kind = call.kind();
            let items: Vec<_> = if custom {
                page.records.iter().map(|record| call.served.text(record)).collect()
            } else {
                values().into_iter().map(|object| nameless(object).to_string().into()).collect()
            };
            let text = format!(
                "{{\"kind\":{},\"apiVersion\":{},\"metadata\":{meta},\"items\":[{}]}}",
                json!(kind.list_kind),
                json!(kind.api_version()),
                items.join(",")
            );
            Answer::text(StatusCode::OK, text)
        }
        Form::Table(version) => Answer::json(StatusCode::OK, &rendered(call, version, &values(), meta, true)),
        Form::Metadata(_) => a_list(call).into(),
        Form::MetadataList(version) => {
            let items: Vec<Value> = values().iter().map(|object| table::partial(object, version)).collect();
            if let Some(fields) = meta.as_object_mut().filter(|_| page.next.is_none()) {
                fields.remove("continue");
            }
            // An empty list is Go's nil here.
            let items = if items.is_empty() { Value::Null } else { Value::Array(items) };
            let list = json!({
                "kind": "PartialObjectMetadataList", "apiVersion": format!("meta.k8s.io/{version}"), "metadata": meta,
                "items": items,
            });
            Answer::json(StatusCode::OK, &list)
        }
    }
}

/// An item of a list of a built-in kind: the list says what its items are.
fn nameless(mut object: Value) -> Value {
    if let Some(fields) = object.as_object_mut() {
        fields.remove("apiVersion");
        fields.remove("kind");
    }
    object
}

/// A table of objects.
pub(crate) fn rendered(call: &Call, version: &str, objects: &[Value], list: Value, headed: bool) -> Value {
    let include = table::Include::read(call.query.text("includeObject"));
    table::render(call.kind(), objects, &table::Rendering { version, include, metadata: list, headed, now: call.now })
}
