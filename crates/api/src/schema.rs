//! From derived schemas to what a Kubernetes API server should get.

use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::{
    CustomResourceDefinition, JSONSchemaProps, JSONSchemaPropsOrArray, JSONSchemaPropsOrBool,
};

/// Bounds the object's own name, for kinds whose names become label values, which Kubernetes limits to 63 characters.
///
/// The name is all that a definition may say about `metadata`.
pub(crate) fn name_fits_a_label(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    let name = JSONSchemaProps {
        type_: Some("string".into()),
        max_length: Some(63),
        description: Some("Name of the object; at most 63 characters, because it is used as a label value.".into()),
        ..JSONSchemaProps::default()
    };
    let metadata = JSONSchemaProps {
        type_: Some("object".into()),
        properties: Some([("name".to_owned(), name)].into()),
        ..JSONSchemaProps::default()
    };
    for version in &mut crd.spec.versions {
        let root = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut());
        if let Some(properties) = root.and_then(|root| root.properties.as_mut()) {
            properties.insert("metadata".into(), metadata.clone());
        }
    }
    crd
}

/// Removes from a derived definition what says nothing to an API server or would weaken it.
///
/// Optional fields lose `nullable`: without it the server drops an explicit null as if the field were left out, and
/// `has()` in a rule means what it says. Formats go too: bounds say more than `uint16`, which servers warn about.
pub(crate) fn polish(mut crd: CustomResourceDefinition) -> CustomResourceDefinition {
    for version in &mut crd.spec.versions {
        if let Some(root) = version.schema.as_mut().and_then(|schema| schema.open_api_v3_schema.as_mut()) {
            polish_schema(root);
        }
    }
    crd
}

fn polish_schema(schema: &mut JSONSchemaProps) {
    schema.nullable = None;
    schema.format = None;
    schema.title = None;
    // Lines were broken for the source; terminals and web pages break them anew.
    schema.description = schema.description.take().map(|text| text.replace('\n', " "));
    if schema.default.as_ref().is_some_and(|default| default.0.is_null()) {
        schema.default = None;
    }
    if let Some(words) = &mut schema.enum_ {
        words.retain(|word| !word.0.is_null());
    }
    for property in schema.properties.iter_mut().flat_map(|properties| properties.values_mut()) {
        polish_schema(property);
    }
    if let Some(JSONSchemaPropsOrArray::Schema(items)) = &mut schema.items {
        polish_schema(items);
    }
    if let Some(JSONSchemaPropsOrBool::Schema(values)) = &mut schema.additional_properties {
        polish_schema(values);
    }
}

#[cfg(test)]
mod tests;
