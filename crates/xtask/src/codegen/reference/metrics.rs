//! The page of metrics.

use anyhow::Result;
use chassis::metrics::{CATALOGUE, Entry};

use crate::generated::Generated;
use crate::markdown::{Page, code, codes};

const INTRODUCTION: &str = "\
Served on `/metrics` over TLS to callers that may `get` the path: see the role `hyperfleet-operator-metrics-reader`.";

pub(in crate::codegen) fn render(generated: &mut Generated) -> Result<()> {
    let mut page = Page::from_source("`chassis::metrics::CATALOGUE` and `operator::METRICS`", "Metrics");
    page.text(INTRODUCTION);
    let row = |entry: &Entry| {
        let (name, labels) = (code(entry.name), codes(entry.labels.iter().copied()));
        vec![name, entry.kind.as_str().to_owned(), labels, entry.help.to_owned()]
    };
    page.table(&["Name", "Type", "Labels", "Meaning"], CATALOGUE.iter().chain(operator::METRICS).map(row));
    generated.add("docs/reference/metrics.md", page.finish())
}
