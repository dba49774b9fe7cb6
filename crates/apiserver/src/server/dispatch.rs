//! From a permitted request to the verb that answers it.

use bytes::Bytes;
use http::{StatusCode, request};
use jiff::Timestamp;
use serde_json::{Value, json};

use super::ApiServer;
use crate::access::{self, Review, TokenRequest, User};
use crate::answer::{Answer, Content};
use crate::call::{Call, Warnings};
use crate::cluster::Cluster;
use crate::failure::Failure;
use crate::form::{Endpoint, Form};
use crate::kind::{Kind, Nature};
use crate::merge::fields::Set;
use crate::merge::managed::writer_from_user_agent;
use crate::merge::track::{Writer, track};
use crate::query::Query;
use crate::route::{Target, Verb};
use crate::table::Include;
use crate::verb::{create, delete, list, patch, read, scale, update, watch};
use crate::{decode, discovery, openapi};

/// A permitted request to a resource.
pub(super) struct Request<'a> {
    pub(super) head: &'a request::Parts,
    pub(super) body: Bytes,
    pub(super) user: User,
    pub(super) query: Query,
    pub(super) target: Target,
    pub(super) verb: Verb,
}

impl Request<'_> {
    fn header(&self, name: http::header::HeaderName) -> &str {
        self.head.headers.get(name).and_then(|value| value.to_str().ok()).unwrap_or_default()
    }
}

/// Answers a request to a resource.
pub(super) fn resource(server: &ApiServer, cluster: &mut Cluster, request: Request<'_>) -> Result<Answer, Failure> {
    let target = &request.target;
    if let Some(of) = Review::of(&target.group, &target.plural) {
        return review(server, cluster, &request, of);
    }
    let found = cluster.kinds.get(&target.group, &target.version, &target.plural).cloned();
    let Some(found) = found else { return Ok(unknown(cluster, target)) };
    if misplaced(&found.kind, target, request.verb) {
        return Ok(unknown(cluster, target));
    }
    let endpoint = match (&found.kind.nature, target.name.is_empty() && request.verb != Verb::Create) {
        (Nature::Custom(_), _) => Endpoint::Custom,
        (Nature::BuiltIn(_), true) => Endpoint::Collection,
        (Nature::BuiltIn(_), false) => Endpoint::Object,
    };
    let (form, yaml) = Form::accepted(request.header(http::header::ACCEPT), endpoint)?;
    if matches!(form, Form::Table(_)) {
        Include::check(request.query.text("includeObject"))?;
    }
    let call = Call {
        served: found,
        agent: request.header(http::header::USER_AGENT).to_owned(),
        content_type: request.header(http::header::CONTENT_TYPE).to_owned(),
        form,
        warnings: Warnings::default(),
        target: request.target,
        query: request.query,
        user: request.user,
        body: request.body,
        now: server.0.clock.now(),
    };
    let warnings = call.warnings.clone();
    let mut answer = place(server, cluster, call, request.verb).unwrap_or_else(Answer::from);
    answer.warnings.extend(warnings.take());
    Ok(if yaml { answer.into_yaml() } else { answer })
}

fn place(server: &ApiServer, cluster: &mut Cluster, call: Call, verb: Verb) -> Result<Answer, Failure> {
    if call.target.deeper && matches!(call.kind().nature, Nature::BuiltIn(_)) {
        return Err(Failure::no_such_path());
    }
    if let Some(wrong) = crate::kinds::names::path_segment(&call.target.name).first()
        && !call.target.name.is_empty()
    {
        let name = &call.target.name;
        return Err(Failure::bad_request(format!("Name parameter invalid: {name:?}: {wrong}")));
    }
    match call.target.subresource.as_str() {
        "" => object(server, cluster, call, verb),
        "status" if call.kind().status => part(cluster, &call, verb),
        "finalize" if call.kind().plural == "namespaces" && verb == Verb::Update => update::update(cluster, &call),
        "scale" if call.kind().scale.is_some() => scaled(cluster, &call, verb),
        "token" if call.kind().plural == "serviceaccounts" && verb == Verb::Create => token(server, cluster, &call),
        // Custom resources look for the object before they look for what of it is wanted.
        _ if matches!(call.kind().nature, Nature::Custom(_)) => {
            Err(Failure::not_found(call.kind().resource(), &call.target.name))
        }
        _ => Err(Failure::no_such_path()),
    }
}

/// Whether the path has a namespace where the kind has none, or none where it needs one.
fn misplaced(kind: &Kind, target: &Target, verb: Verb) -> bool {
    let whole = matches!(verb, Verb::List | Verb::Watch) && target.name.is_empty();
    kind.namespaced && target.namespace.is_empty() && !whole || !kind.namespaced && !target.namespace.is_empty()
}

/// A path that no kind has: of a known group it is said in JSON, of another in a line of text.
fn unknown(cluster: &Cluster, target: &Target) -> Answer {
    let known = cluster.kinds.all().any(|served| {
        let kind = &served.kind;
        kind.group == target.group && kind.version == target.version && matches!(kind.nature, Nature::BuiltIn(_))
    });
    if known { Failure::no_such_path().into() } else { nowhere() }
}

fn nowhere() -> Answer {
    let body = Content::Whole(Bytes::from_static(b"404 page not found\n"));
    Answer { code: StatusCode::NOT_FOUND, body, warnings: Vec::new(), content_type: "text/plain; charset=utf-8" }
}

fn object(server: &ApiServer, cluster: &mut Cluster, mut call: Call, verb: Verb) -> Result<Answer, Failure> {
    let custom = matches!(call.kind().nature, Nature::Custom(_));
    if verb == Verb::Create && custom {
        // Custom resources take a new object wherever it is sent.
        call.target.name.clear();
    }
    let named = !call.target.name.is_empty();
    match verb {
        Verb::Get => read::get(cluster, &call),
        Verb::List => list::list(cluster, &call),
        Verb::Watch => watch::watch(server, cluster, call),
        // Only collections take new objects, and only objects are replaced or changed.
        Verb::Create if named => Err(Failure::method_not_allowed()),
        Verb::Update | Verb::Patch if !named && custom => Err(Failure::bad_request("name must be provided")),
        Verb::Update | Verb::Patch if !named => Err(Failure::method_not_allowed()),
        Verb::Create => create::create(cluster, &call),
        Verb::Update => update::update(cluster, &call),
        Verb::Patch => patch::patch(cluster, &call),
        Verb::Delete => delete::delete(cluster, &call),
        Verb::DeleteCollection => delete::delete_collection(cluster, &call),
    }
}

fn part(cluster: &mut Cluster, call: &Call, verb: Verb) -> Result<Answer, Failure> {
    match verb {
        Verb::Get => read::get(cluster, call),
        Verb::Update => update::update(cluster, call),
        Verb::Patch => patch::patch(cluster, call),
        Verb::List | Verb::Watch | Verb::Create | Verb::Delete | Verb::DeleteCollection => {
            Err(unsupported(call.kind(), verb))
        }
    }
}

/// The refusal of a verb that a part of an object does not have.
fn unsupported(kind: &Kind, verb: Verb) -> Failure {
    if matches!(kind.nature, Nature::BuiltIn(_)) {
        return Failure::method_not_allowed();
    }
    let message = format!("{} is not supported on resources of kind {:?}", verb.as_str(), kind.resource().to_string());
    Failure::new(StatusCode::METHOD_NOT_ALLOWED, "MethodNotAllowed", message).about(kind.resource(), "")
}

fn scaled(cluster: &mut Cluster, call: &Call, verb: Verb) -> Result<Answer, Failure> {
    let Some(scale) = call.kind().scale.clone() else { return Err(Failure::no_such_path()) };
    match verb {
        Verb::Get => scale::get(cluster, call, &scale),
        Verb::Update => scale::update(cluster, call, &scale),
        Verb::Patch => scale::modify(cluster, call, &scale),
        Verb::List | Verb::Watch | Verb::Create | Verb::Delete | Verb::DeleteCollection => {
            Err(unsupported(call.kind(), verb))
        }
    }
}

fn review(server: &ApiServer, cluster: &mut Cluster, request: &Request<'_>, of: Review) -> Result<Answer, Failure> {
    if request.verb != Verb::Create {
        return Err(Failure::method_not_allowed());
    }
    let body = decode::body(&request.body, request.header(http::header::CONTENT_TYPE))?.value;
    let body = owned(request, of, lean(body), server.0.clock.now());
    cluster.policy();
    let (Some(policy), cluster) = (cluster.compiled(), &*cluster) else { return Err(Failure::internal("no policy")) };
    let setting = access::Setting {
        user: &request.user,
        namespace: &request.target.namespace,
        now: server.0.clock.now(),
        policy,
        authenticator: &server.0.authenticator,
        accounts: &|namespace, name| cluster.account(namespace, name),
    };
    Ok(Answer::json(StatusCode::CREATED, &of.answer(&body, &setting)?))
}

/// A review without what Go would leave out.
fn lean(value: Value) -> Value {
    match value {
        Value::Object(fields) => {
            let empty = |value: &Value| match value {
                Value::Null => true,
                Value::String(text) => text.is_empty(),
                Value::Array(items) => items.is_empty(),
                Value::Bool(_) | Value::Number(_) | Value::Object(_) => false,
            };
            fields.into_iter().map(|(key, value)| (key, lean(value))).filter(|(_, value)| !empty(value)).collect()
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) | Value::Array(_) => value,
    }
}

/// A review with the ownership that its creation gives, though nobody will ever look at it.
fn owned(request: &Request<'_>, of: Review, body: Value, now: Timestamp) -> Value {
    let named = request.query.text("fieldManager");
    let agent = writer_from_user_agent(request.header(http::header::USER_AGENT));
    let writer = Writer {
        name: if named.is_empty() { &agent } else { named },
        subresource: "",
        api_version: &format!("{}/v1", of.group()),
        kind: "",
        kin: &[],
        reset: &Set::new(),
        blank: Some(&json!({ "spec": {}, "status": {} })),
        now,
    };
    track(&json!({ "type": "object", "x-kubernetes-preserve-unknown-fields": true }), None, body, &writer)
}

fn token(server: &ApiServer, cluster: &mut Cluster, call: &Call) -> Result<Answer, Failure> {
    let body = decode::body(&call.body, &call.content_type)?.value;
    let (namespace, name, id) = (&call.target.namespace, &call.target.name, cluster.entropy.uid());
    let account = cluster.account(namespace, name);
    let request = TokenRequest { namespace, name, body: &body, now: call.now, id: &id };
    let answer = request.answer(&server.0.authenticator, account.as_ref().map(|account| account.uid.as_str()))?;
    Ok(Answer::json(StatusCode::CREATED, &answer))
}

/// Answers a request to anything but a resource.
pub(super) fn other(cluster: &mut Cluster, head: &request::Parts, segments: &[String]) -> Result<Answer, Failure> {
    let accept = head.headers.get(http::header::ACCEPT).and_then(|value| value.to_str().ok()).unwrap_or_default();
    let parts: Vec<&str> = segments.iter().map(String::as_str).collect();
    match parts.as_slice() {
        ["healthz" | "livez" | "readyz", ..] => {
            let body = Content::Whole(Bytes::from_static(b"ok"));
            Ok(Answer { code: StatusCode::OK, body, warnings: Vec::new(), content_type: "text/plain; charset=utf-8" })
        }
        ["openapi", rest @ ..] => openapi::answer(&cluster.kinds, rest, accept),
        parts => Ok(discovery::answer(&cluster.kinds, parts, accept).unwrap_or_else(|_| nowhere())),
    }
}
