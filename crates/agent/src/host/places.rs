//! Where a runner's things are, put into its plan.

use std::path::Path;

use protocol::{Item, Plan};

/// Where they are.
pub(super) struct Places<'a> {
    /// The plan's files, in memory.
    pub(super) files: &'a Path,
    /// Its jobs' files, on a disk.
    pub(super) work: &'a Path,
    /// The runner itself, if it writes into its own directory.
    pub(super) root: Option<&'a Path>,
}

impl Places<'_> {
    /// The plan with every `{files}`, `{work}` and `{root}` in it replaced.
    pub(super) fn put_into(&self, plan: &Plan) -> Plan {
        let put = |text: &String| self.put(text);
        let item = |item: &Item| Item { content: put(&item.content), ..item.clone() };
        Plan {
            argv: plan.argv.iter().map(put).collect(),
            env: plan.env.iter().map(|(name, value)| (name.clone(), put(value))).collect(),
            files: plan.files.iter().map(item).collect(),
            ..plan.clone()
        }
    }

    fn put(&self, text: &str) -> String {
        let places = [("{files}", Some(self.files)), ("{work}", Some(self.work)), ("{root}", self.root)];
        places.into_iter().fold(text.to_owned(), |text, (name, place)| match place {
            Some(place) => text.replace(name, &place.to_string_lossy()),
            None => text,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_put_wherever_a_plan_names_them() {
        let plan = Plan {
            argv: vec!["{root}/bin/run".to_owned(), "--config={files}/c".to_owned(), "{other}".to_owned()],
            env: [("HOME".to_owned(), "{work}".to_owned()), ("{work}".to_owned(), "x".to_owned())].into(),
            files: vec![Item { path: "{files}".to_owned(), content: "{work} {work}".to_owned(), mode: 0o400 }],
            ..Plan::default()
        };
        let places = Places { files: Path::new("/f"), work: Path::new("/w"), root: Some(Path::new("/r")) };
        let put = places.put_into(&plan);
        assert_eq!(put.argv, ["/r/bin/run", "--config=/f/c", "{other}"]);
        assert_eq!(put.env["HOME"], "/w");
        assert!(put.env.contains_key("{work}") && put.files[0].path == "{files}", "names are names");
        assert_eq!(put.files[0].content, "/w /w");
        let without = Places { root: None, ..places };
        assert_eq!(without.put_into(&plan).argv[0], "{root}/bin/run");
    }
}
