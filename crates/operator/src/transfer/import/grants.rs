//! Whether namespaces are still granted here what they were granted where the fleet came from.

use std::collections::BTreeMap;

use api::NamespaceSelector;
use fleet::grant::covers;

use super::super::TransferError;
use super::super::object::Place;
use super::Import;

impl Import<'_> {
    /// What is to be said of namespaces that are here with other labels than there: a sentence for each grant that covers them
    /// no more.
    pub async fn lapsed(&self) -> Result<Vec<String>, TransferError> {
        let mut notes = Vec::new();
        for (namespace, had) in &self.export.namespaces {
            let has = match self.server.labels(namespace).await {
                Ok(Some(has)) => has,
                // It will be made with those it had; who may not look is told by who does.
                Ok(None) => continue,
                Err(error) if error.is_forbidden() => continue,
                Err(error) => return Err(error),
            };
            let lost = self.grants().filter(|(_, grant)| covers(Some(grant), had) && !covers(Some(grant), &has));
            let names: Vec<String> = lost.map(|(place, _)| place.to_string()).collect();
            if !names.is_empty() {
                notes.push(format!(
                    "Namespace {namespace} has other labels here, so that it may not use {} any more. Where it came from, it \
                     had {}.",
                    names.join(" and "),
                    listed(had)
                ));
            }
        }
        Ok(notes)
    }

    /// Who may use what of the file.
    fn grants(&self) -> impl Iterator<Item = (Place, NamespaceSelector)> {
        self.export.objects.iter().filter_map(|object| {
            let grant = object.pointer("/spec/allowedNamespaces")?.clone();
            Some((Place::of(object)?, serde_json::from_value(grant).ok()?))
        })
    }
}

fn listed(labels: &BTreeMap<String, String>) -> String {
    labels.iter().map(|(key, value)| format!("{key}={value}")).collect::<Vec<_>>().join(", ")
}
