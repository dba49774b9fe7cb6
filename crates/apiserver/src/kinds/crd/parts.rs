//! Where the server looks for the parts of a version: what is the same in all versions it judges once, under the name
//! that an older form of definitions had for it.

use serde_json::Value;

use crate::kinds::field::list;

/// The four parts that may be said once for all versions, by version.
pub(super) struct Parts<'a> {
    versions: &'a [Value],
}

/// A part of a version.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Part {
    /// `schema`, once `validation`.
    Schema,
    /// `subresources`.
    Subresources,
    /// `additionalPrinterColumns`.
    Columns,
    /// `selectableFields`.
    Selectable,
}

impl Part {
    const fn key(self) -> &'static str {
        match self {
            Self::Schema => "schema",
            Self::Subresources => "subresources",
            Self::Columns => "additionalPrinterColumns",
            Self::Selectable => "selectableFields",
        }
    }

    const fn top(self) -> &'static str {
        match self {
            Self::Schema => "validation",
            Self::Subresources | Self::Columns | Self::Selectable => self.key(),
        }
    }
}

impl<'a> Parts<'a> {
    pub(super) fn of(crd: &'a Value) -> Self {
        Self { versions: list(crd, "/spec/versions") }
    }

    /// Whether all versions say the same.
    fn shared(&self, part: Part) -> bool {
        let mut values = self.versions.iter().map(|version| version.get(part.key()));
        let first = values.next().flatten();
        values.all(|value| value == first)
    }

    /// The part of one version, and its path, if it is not shared.
    pub(super) fn own(&self, part: Part, index: usize) -> Option<(&'a Value, String)> {
        let value = self.versions.get(index)?.get(part.key())?;
        (!self.shared(part)).then(|| (value, format!("spec.versions[{index}].{}", part.key())))
    }

    /// The part of all versions, and its path, if it is shared.
    pub(super) fn of_all(&self, part: Part) -> Option<(&'a Value, String)> {
        let value = self.versions.first()?.get(part.key())?;
        self.shared(part).then(|| (value, format!("spec.{}", part.top())))
    }

    /// The versions as they are shown in complaints about them: shared parts are not theirs.
    pub(super) fn shown(&self, present: bool) -> String {
        if !present {
            return "null".to_owned();
        }
        let versions: Vec<String> = self.versions.iter().map(|version| self.shown_version(version)).collect();
        format!("[{}]", versions.join(","))
    }

    fn shown_version(&self, version: &Value) -> String {
        let plain = |key: &str, zero: &str| version.get(key).map_or_else(|| zero.to_owned(), Value::to_string);
        let part = |part: Part| match version.get(part.key()).filter(|_| !self.shared(part)) {
            Some(value) => value.to_string(),
            None => "null".to_owned(),
        };
        format!(
            "{{\"Name\":{},\"Served\":{},\"Storage\":{},\"Deprecated\":{},\"DeprecationWarning\":{},\"Schema\":{},\
             \"Subresources\":{},\"AdditionalPrinterColumns\":{},\"SelectableFields\":{}}}",
            plain("name", "\"\""),
            plain("served", "false"),
            plain("storage", "false"),
            plain("deprecated", "false"),
            plain("deprecationWarning", "null"),
            part(Part::Schema),
            part(Part::Subresources),
            part(Part::Columns),
            part(Part::Selectable),
        )
    }
}
