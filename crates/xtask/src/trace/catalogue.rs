//! The criteria and properties themselves.

use anyhow::{Context as _, Result, ensure};
use serde::Deserialize;

use super::tag::Tag;

/// Every row there is.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Catalogue {
    criteria: Vec<Row>,
    properties: Vec<Row>,
}

/// One criterion or property.
#[derive(Clone, Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Row {
    /// Its number.
    pub id: Tag,
    /// What must hold.
    pub says: String,
    /// What is still missing; a row without it is declared complete.
    pub open: Option<String>,
    /// The criteria a property stands for.
    #[serde(default)]
    pub validates: Vec<Tag>,
}

/// Rows that belong under one heading.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// The heading.
    pub title: &'static str,
    /// Its rows.
    pub rows: &'a [Row],
}

/// What the requirements are about, in their order.
const REQUIREMENTS: [&str; 11] = [
    "R1 Hypervisor management",
    "R2 Templates",
    "R3 VM lifecycle",
    "R4 Pools",
    "R5 CI platforms",
    "R6 Security",
    "R7 Operator framework",
    "R8 Proxmox VE",
    "R9 Configuration and observability",
    "R10 Logging and tracing",
    "R11 Extensibility",
];

impl Catalogue {
    /// The catalogue this program was built with.
    pub fn built_in() -> Self {
        Self::parse(include_str!("../../catalogue.yaml")).expect("a test parses this very text")
    }

    /// Reads a catalogue and checks that its rows are in order and refer to each other correctly.
    pub fn parse(text: &str) -> Result<Self> {
        let catalogue: Self = serde_saphyr::from_str(text).context("catalogue.yaml")?;
        for pair in catalogue.rows().collect::<Vec<_>>().windows(2) {
            ensure!(pair[0].id < pair[1].id, "catalogue.yaml: {} does not come before {}", pair[0].id, pair[1].id);
        }
        for property in &catalogue.properties {
            for criterion in &property.validates {
                let known = catalogue.criteria.iter().any(|row| row.id == *criterion);
                ensure!(known, "catalogue.yaml: {} validates {criterion}, which is no criterion", property.id);
            }
        }
        Ok(catalogue)
    }

    /// Every row, criteria first.
    pub fn rows(&self) -> impl Iterator<Item = &Row> {
        self.criteria.iter().chain(&self.properties)
    }

    /// The row with this number.
    pub fn row(&self, id: Tag) -> Option<&Row> {
        self.rows().find(|row| row.id == id)
    }

    /// The properties that stand for a criterion.
    pub fn properties_of(&self, criterion: Tag) -> impl Iterator<Item = Tag> {
        self.properties.iter().filter(move |row| row.validates.contains(&criterion)).map(|row| row.id)
    }

    /// The rows by heading.
    pub fn sections(&self) -> Vec<Section<'_>> {
        let requirement = |row: &Row| match row.id {
            Tag::Criterion(requirement, _) => usize::from(requirement),
            Tag::Property(_) => 0,
        };
        let chunks = self.criteria.chunk_by(|a, b| requirement(a) == requirement(b));
        let titled = chunks.map(|rows| Section {
            title: REQUIREMENTS.get(requirement(&rows[0]) - 1).copied().unwrap_or("Other requirements"),
            rows,
        });
        titled.chain([Section { title: "Properties", rows: &self.properties }]).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn there_are_77_criteria_and_37_properties() {
        let catalogue = Catalogue::parse(include_str!("../../catalogue.yaml")).unwrap();
        assert_eq!(catalogue.criteria.len(), 77);
        assert_eq!(catalogue.properties.len(), 37);
        let per_requirement: Vec<usize> = catalogue.sections().iter().map(|section| section.rows.len()).collect();
        assert_eq!(per_requirement, [5, 5, 11, 5, 6, 8, 8, 8, 6, 10, 5, 37]);
    }

    #[test]
    fn every_criterion_has_a_property() {
        let catalogue = Catalogue::built_in();
        let alone: Vec<String> = catalogue
            .criteria
            .iter()
            .filter(|row| catalogue.properties_of(row.id).next().is_none())
            .map(|row| row.id.to_string())
            .collect();
        assert_eq!(alone, [""; 0]);
    }

    #[test]
    fn rows_out_of_order_or_twice_are_refused() {
        let text = "criteria:\n- {id: R1.2, says: x}\n- {id: R1.2, says: y}\nproperties: []\n";
        assert_eq!(Catalogue::parse(text).unwrap_err().to_string(), "catalogue.yaml: R1.2 does not come before R1.2");
    }

    #[test]
    fn a_property_validates_criteria_that_exist() {
        let text = "criteria: []\nproperties:\n- {id: P1, says: x, validates: [R1.1]}\n";
        assert_eq!(
            Catalogue::parse(text).unwrap_err().to_string(),
            "catalogue.yaml: P1 validates R1.1, which is no criterion"
        );
    }
}
