//! `examples`: a folder per story, and a page that tells them apart.

use anyhow::Result;

use crate::generated::Generated;
use crate::markdown::Page;
use crate::yaml;

const SOURCE: &str = "crates/api/src/examples";

const INTRODUCTION: &str = "\
A folder per story; every object is valid as it stands, and a test applies each one to a real API server.
Change names, addresses and Secrets to yours, then `kubectl apply -f examples/<story>/`.";

pub(super) fn render(generated: &mut Generated) -> Result<()> {
    let mut rows = Vec::new();
    for story in api::examples() {
        let mut files = Vec::new();
        for (stem, object) in &story.objects {
            let file = format!("{}/{stem}.yaml", story.name);
            generated.add(format!("examples/{file}"), yaml::manifest(SOURCE, std::slice::from_ref(object)))?;
            files.push(format!("[{stem}]({file})"));
        }
        rows.push(vec![story.name.to_string(), story.summary.to_string(), files.join(", ")]);
    }
    let mut page = Page::from_source(SOURCE, "Examples");
    page.text(INTRODUCTION);
    page.table(&["Story", "What it shows", "Files"], rows);
    generated.add("examples/README.md", page.finish())
}
