//! The page of kinds and fields.

use anyhow::{Context as _, Result};
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;

use super::schema::{Field, fields, laws};
use crate::generated::Generated;
use crate::markdown::{Page, code, codes};

const INTRODUCTION: &str = "\
Every kind, field, default and rule. `[]` in a path stands for an item of a list, `{}` for a key of a map.
`kubectl explain <kind>.spec` says the same in a terminal.";

pub(in crate::codegen) fn render(generated: &mut Generated) -> Result<()> {
    generated.add("docs/reference/api.md", page(&api::crds())?)
}

fn page(crds: &[CustomResourceDefinition]) -> Result<String> {
    let mut page = Page::from_source("crates/api", "API");
    page.text(INTRODUCTION);
    page.table(&["Kind", "Short names", "Scope", "Subresources"], crds.iter().map(overview));
    for crd in crds {
        chapter(&mut page, crd)?;
    }
    Ok(page.finish())
}

fn overview(crd: &CustomResourceDefinition) -> Vec<String> {
    let names = &crd.spec.names;
    let subresources = crd.spec.versions.iter().filter_map(|version| version.subresources.as_ref());
    let (mut status, mut scale) = (None, None);
    for all in subresources {
        status = status.or(all.status.as_ref().map(|_| "status"));
        scale = scale.or(all.scale.as_ref().map(|_| "scale"));
    }
    let link = format!("[{}](#{})", names.kind, names.kind.to_lowercase());
    let short = names.short_names.iter().flatten().map(String::as_str);
    let subresources: Vec<&str> = status.into_iter().chain(scale).collect();
    vec![link, codes(short), crd.spec.scope.clone(), subresources.join(", ")]
}

fn chapter(page: &mut Page, crd: &CustomResourceDefinition) -> Result<()> {
    let kind = &crd.spec.names.kind;
    let version = crd.spec.versions.first().with_context(|| format!("{kind} has no version"))?;
    let schema = version.schema.as_ref().and_then(|schema| schema.open_api_v3_schema.as_ref());
    let schema = schema.with_context(|| format!("{kind} has no schema"))?;
    page.heading(2, kind);
    page.text(&code(&format!("apiVersion: {}/{}", crd.spec.group, version.name)));
    page.text(schema.description.as_deref().unwrap_or_default());
    for part in ["spec", "status"] {
        if let Some(inner) = schema.properties.as_ref().and_then(|all| all.get(part)) {
            page.heading(3, &format!("{kind} {part}"));
            page.text(inner.description.as_deref().unwrap_or_default());
            page.table(&["Field", "Type", "Default", "Bounds", "Meaning"], fields(part, inner).iter().map(row));
        }
    }
    let laws = laws("", schema);
    if !laws.is_empty() {
        page.heading(3, &format!("{kind} rules"));
        page.table(&["At", "Rule"], laws.into_iter().map(|law| vec![at(&law.path), law.says]));
    }
    Ok(())
}

fn row(field: &Field) -> Vec<String> {
    let default = match &field.default {
        _ if field.required => "*required*".to_owned(),
        default => code(default.as_deref().unwrap_or_default()),
    };
    vec![code(&field.path), field.kind.clone(), default, field.bounds.clone(), field.description.clone()]
}

fn at(path: &str) -> String {
    match path.trim_start_matches('.') {
        "" => "the object".to_owned(),
        path => code(path),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn crd() -> CustomResourceDefinition {
        let text = serde_json::json!({
            "metadata": {"name": "things.example.org"},
            "spec": {
                "group": "example.org", "scope": "Namespaced",
                "names": {"kind": "Thing", "plural": "things", "shortNames": ["th"]},
                "versions": [{"name": "v1", "served": true, "storage": true, "subresources": {"status": {}},
                    "schema": {"openAPIV3Schema": {"type": "object", "description": "A thing.", "properties": {
                        "spec": {"type": "object", "required": ["size"], "properties": {
                            "size": {"type": "integer", "minimum": 1, "description": "How big | wide."}},
                            "x-kubernetes-validations": [{"rule": "r", "message": "size is immutable"}]}}}}}],
            },
        });
        serde_json::from_value(text).unwrap()
    }

    #[test]
    fn a_kind_is_told_with_its_fields_and_rules() {
        let text = page(&[crd()]).unwrap();
        for line in [
            "| [Thing](#thing) | `th` | Namespaced | status |",
            "## Thing\n\n`apiVersion: example.org/v1`\n\nA thing.\n\n### Thing spec\n",
            "| `spec.size` | integer | *required* | ≥ 1 | How big \\| wide. |",
            "### Thing rules\n",
            "| `spec` | size is immutable |",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
    }

    #[test]
    fn a_kind_without_a_schema_is_an_error() {
        let mut crd = crd();
        crd.spec.versions[0].schema = None;
        assert_eq!(page(&[crd]).unwrap_err().to_string(), "Thing has no schema");
    }
}
