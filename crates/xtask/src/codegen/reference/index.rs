//! The page that lists the others.

use anyhow::Result;

use crate::generated::Generated;
use crate::markdown::Page;

const FOLDER: &str = "docs/reference/";

/// Pages that tests write down, by file and title.
const ELSEWHERE: &[(&str, &str)] = &[("api-differences.md", "Where our API differs from kube-apiserver")];

/// Lists every page rendered so far by its title; comes last.
pub(in crate::codegen) fn render(generated: &mut Generated) -> Result<()> {
    let mut page = Page::from_source("the pages beside it", "Reference");
    let title = |text: &str| text.lines().find_map(|line| line.strip_prefix("# ")).unwrap_or_default().to_owned();
    let pages = generated.files().filter_map(|(path, text)| Some((path.strip_prefix(FOLDER)?, title(text))));
    let mut links: Vec<String> = pages.map(|(file, title)| format!("- [{title}]({file})")).collect();
    links.extend(ELSEWHERE.iter().map(|(file, title)| format!("- [{title}]({file})")));
    links.sort_by_key(|link| link.rsplit_once('(').map(|(_, file)| file.to_owned()));
    page.text(&links.join("\n"));
    generated.add(format!("{FOLDER}README.md"), page.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pages_are_listed_by_title() {
        let mut generated = Generated::default();
        generated.add("docs/reference/b.md", "<!-- x -->\n# The B\n").unwrap();
        generated.add("examples/README.md", "# No\n").unwrap();
        render(&mut generated).unwrap();
        assert!(
            generated.text("docs/reference/README.md").unwrap().ends_with("(api-differences.md)\n- [The B](b.md)\n")
        );
    }
}
