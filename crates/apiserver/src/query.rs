//! The options in a request's query, read and judged as the server does.

use std::collections::BTreeMap;
use std::str::FromStr;

use api::{Cause, Violation};
use percent_encoding::percent_decode_str;

use crate::failure::{Failure, Of};
use crate::merge::patch::{PatchKind, wrong_writer};

/// The parameters of a query; of one given twice the first counts.
#[derive(Clone, Debug, Default)]
pub(crate) struct Query(BTreeMap<String, Vec<String>>);

impl Query {
    /// Reads a query string.
    pub(crate) fn parse(text: &str) -> Self {
        let decode = |part: &str| percent_decode_str(&part.replace('+', " ")).decode_utf8_lossy().into_owned();
        let mut parameters: BTreeMap<String, Vec<String>> = BTreeMap::new();
        for pair in text.split('&').filter(|pair| !pair.is_empty()) {
            let (name, value) = pair.split_once('=').unwrap_or((pair, ""));
            parameters.entry(decode(name)).or_default().push(decode(value));
        }
        Self(parameters)
    }

    /// A parameter; empty if it is not given.
    pub(crate) fn text(&self, name: &str) -> &str {
        self.0.get(name).and_then(|values| values.first()).map_or("", String::as_str)
    }

    /// Every value of a parameter.
    pub(crate) fn all(&self, name: &str) -> &[String] {
        self.0.get(name).map_or(&[], Vec::as_slice)
    }

    /// A parameter that is yes or no; Kubernetes takes anything but `false` and `0` for yes.
    pub(crate) fn flag(&self, name: &str) -> Option<bool> {
        let value = self.0.get(name)?.first()?;
        Some(!matches!(value.to_ascii_lowercase().as_str(), "false" | "0"))
    }

    /// A number; one that cannot be read is a bad request.
    pub(crate) fn number<N: FromStr>(&self, name: &str) -> Result<Option<N>, Failure> {
        let text = self.text(name);
        if text.is_empty() {
            return Ok(None);
        }
        let refusal = || Failure::bad_request(format!("strconv.ParseInt: parsing {text:?}: invalid syntax"));
        text.parse().map(Some).map_err(|_| refusal())
    }
}

/// What to do about fields that the schema does not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldValidation {
    /// Drop them.
    Ignore,
    /// Drop them and say so.
    Warn,
    /// Refuse the object.
    Strict,
}

/// The options of a write.
#[derive(Clone, Debug)]
pub(crate) struct WriteOptions {
    /// Do everything but store.
    pub dry_run: bool,
    /// In whose name fields are owned; empty if not said.
    pub field_owner: String,
    /// What to do about unknown fields.
    pub field_validation: FieldValidation,
    /// Take what others own; only for apply.
    pub force: Option<bool>,
}

impl WriteOptions {
    /// Reads and judges them; `of` is what the server calls these options.
    pub(crate) fn read(query: &Query, of: &str, patch: Option<PatchKind>) -> Result<Self, Failure> {
        let field_owner = query.text("fieldManager").to_owned();
        let force = query.flag("force");
        let mut violations = match patch {
            Some(patch) => patch.wrong_options(&field_owner, force),
            None => wrong_writer(&field_owner),
        };
        violations.extend(dry_run_violations(query.all("dryRun")));
        let field_validation = match query.text("fieldValidation") {
            "Ignore" => FieldValidation::Ignore,
            "Strict" => FieldValidation::Strict,
            "" | "Warn" => FieldValidation::Warn,
            other => {
                violations.push(unsupported("fieldValidation", other, &["", "Ignore", "Strict", "Warn"]));
                FieldValidation::Warn
            }
        };
        if !violations.is_empty() {
            return Err(Failure::invalid(Of { group: "meta.k8s.io", name: of }, "", &violations));
        }
        Ok(Self { dry_run: !query.all("dryRun").is_empty(), field_owner, field_validation, force })
    }
}

/// What is wrong with a dry run.
pub(crate) fn dry_run_violations(values: &[String]) -> Vec<Violation> {
    if values.iter().all(|value| value == "All") {
        return Vec::new();
    }
    let given: Vec<String> = values.iter().map(|value| format!("{value:?}")).collect();
    let message = format!("Unsupported value: [{}]: supported values: \"All\"", given.join(","));
    vec![Violation::at("dryRun", Cause::NotSupported, message)]
}

/// A value that is none of the known ones.
pub(crate) fn unsupported(field: &str, value: &str, known: &[&str]) -> Violation {
    let known: Vec<String> = known.iter().map(|word| format!("{word:?}")).collect();
    let message = format!("Unsupported value: {value:?}: supported values: {}", known.join(", "));
    Violation::at(field, Cause::NotSupported, message)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_decoded() {
        let query = Query::parse("labelSelector=a%3Db%2Cc&watch=1&limit=x&empty=&space=a+b");
        assert_eq!(query.text("labelSelector"), "a=b,c");
        assert_eq!(query.flag("watch"), Some(true));
        assert_eq!(query.flag("absent"), None);
        assert_eq!(query.text("space"), "a b");
        assert!(query.number::<u64>("limit").is_err());
        assert_eq!(query.number::<u64>("empty").unwrap(), None);
    }

    #[test]
    fn options_are_judged_with_the_servers_words() {
        let refusal = |query: &str, of: &str, patch: Option<PatchKind>| {
            WriteOptions::read(&Query::parse(query), of, patch).unwrap_err().message
        };
        assert_eq!(
            refusal("", "PatchOptions", Some(PatchKind::Apply)),
            "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
        );
        assert_eq!(
            refusal("force=true", "PatchOptions", Some(PatchKind::Merge)),
            "PatchOptions.meta.k8s.io \"\" is invalid: force: Forbidden: may not be specified for non-apply patch"
        );
        assert_eq!(
            refusal("dryRun=Some", "CreateOptions", None),
            "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"Some\"]: supported values: \"All\""
        );
    }
}
