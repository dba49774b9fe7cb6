//! In which form a client wants its answer, from its `Accept` header.

use http::StatusCode;

use crate::failure::{Details, Failure};

/// The form of an answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Form {
    /// The objects themselves.
    Object,
    /// A table for people, in a version of `meta.k8s.io`.
    Table(&'static str),
    /// The metadata of one object alone, in a version of `meta.k8s.io`.
    Metadata(&'static str),
    /// The metadata of the objects of a list alone.
    MetadataList(&'static str),
}

/// Where a request goes, as far as it matters for what can be served there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Endpoint {
    /// An object of a built-in kind.
    Object,
    /// A collection of a built-in kind, which can be watched too.
    Collection,
    /// Anything of a custom kind.
    Custom,
}

impl Form {
    /// The first form of the header that the server can give, and whether it is wanted as YAML.
    pub(crate) fn accepted(header: &str, at: Endpoint) -> Result<(Self, bool), Failure> {
        if header.trim().is_empty() {
            return Ok((Self::Object, false));
        }
        let mut clauses: Vec<(u32, &str)> = header.split(',').map(|clause| (weight(clause), clause.trim())).collect();
        clauses.sort_by_key(|(weight, _)| std::cmp::Reverse(*weight));
        let named = clauses.iter().any(|(_, clause)| media(clause).is_some());
        clauses.into_iter().find_map(|(_, clause)| read(clause)).ok_or_else(|| not_acceptable(named, at))
    }
}

/// `named` tells that a media type could be served, but not in the form that is asked for.
fn not_acceptable(named: bool, at: Endpoint) -> Failure {
    if named || at == Endpoint::Custom {
        let message = "only the following media types are accepted: application/json, application/yaml, \
                       application/vnd.kubernetes.protobuf";
        return Failure::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message);
    }
    let streams = match at {
        Endpoint::Collection => ", application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch",
        Endpoint::Object | Endpoint::Custom => "",
    };
    let message = format!(
        "406: Not Acceptable\n\nAvailable representations: application/json, application/yaml, \
         application/vnd.kubernetes.protobuf{streams}"
    );
    Failure::new(StatusCode::NOT_ACCEPTABLE, "NotAcceptable", message).with_details(Details::default())
}

fn weight(clause: &str) -> u32 {
    let q = clause.split(';').filter_map(|part| part.trim().strip_prefix("q=")).find_map(|q| q.parse::<f64>().ok());
    #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a weight is between 0 and 1")]
    let thousandths = (q.unwrap_or(1.0).clamp(0.0, 1.0) * 1000.0) as u32;
    thousandths
}

/// The media type, if it can be served, and whether it is YAML.
fn media(clause: &str) -> Option<bool> {
    match clause.split(';').next()?.trim() {
        "application/json" | "application/*" | "*/*" => Some(false),
        "application/yaml" => Some(true),
        _ => None,
    }
}

fn read(clause: &str) -> Option<(Form, bool)> {
    let yaml = media(clause)?;
    let parts = clause.split(';').skip(1).map(str::trim);
    let (mut kind, mut group, mut version) = ("", "", "");
    for (name, value) in parts.filter_map(|part| part.split_once('=')) {
        match name {
            "as" => kind = value,
            "g" => group = value,
            "v" => version = value,
            "stream" if value != "watch" => return None,
            _ => {}
        }
    }
    if kind.is_empty() && group.is_empty() && version.is_empty() {
        return Some((Form::Object, yaml));
    }
    let version = match version {
        "v1" => "v1",
        "v1beta1" => "v1beta1",
        _ => return None,
    };
    match (group, kind) {
        ("meta.k8s.io", "Table") => Some((Form::Table(version), yaml)),
        ("meta.k8s.io", "PartialObjectMetadata") => Some((Form::Metadata(version), yaml)),
        ("meta.k8s.io", "PartialObjectMetadataList") => Some((Form::MetadataList(version), yaml)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_best_form_that_can_be_given_is_chosen() {
        let accepted = |header: &str| Form::accepted(header, Endpoint::Object).unwrap().0;
        assert_eq!(accepted(""), Form::Object);
        assert_eq!(accepted("*/*"), Form::Object);
        assert_eq!(accepted("application/vnd.kubernetes.protobuf,application/json"), Form::Object);
        let kubectl = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,\
                       application/json";
        assert_eq!(accepted(kubectl), Form::Table("v1"));
        assert_eq!(accepted("application/json;as=Nonsense;v=v1;g=meta.k8s.io,application/json"), Form::Object);
        assert_eq!(accepted("application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1"), Form::Metadata("v1"));
        assert_eq!(Form::accepted("application/yaml", Endpoint::Object).unwrap(), (Form::Object, true));
        assert_eq!(Form::accepted("text/html", Endpoint::Custom).unwrap_err().code, StatusCode::NOT_ACCEPTABLE);
    }
}
