//! Where a runner's things are, put into its plan.

use std::path::Path;

use protocol::{Item, Plan, Root};

/// Where they are.
pub(super) struct Places<'a> {
    /// The plan's files, in memory.
    pub(super) files: &'a Path,
    /// Its jobs' files, on a disk.
    pub(super) work: &'a Path,
    /// Where the image keeps runners.
    pub(super) runners: &'a Path,
    /// The runner itself, if it writes into its own directory.
    pub(super) root: Option<&'a Path>,
}

impl Places<'_> {
    /// The plan with every `{files}`, `{work}`, `{runners}` and `{root}` in it replaced.
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

    /// A runner's directory with `{runners}` in it replaced.
    pub(super) fn put_into_root(&self, root: &Root) -> Root {
        Root { path: self.put(&root.path), ..root.clone() }
    }

    fn put(&self, text: &str) -> String {
        let known = [("{files}", self.files), ("{work}", self.work), ("{runners}", self.runners)];
        let places = known.map(|(name, place)| (name, Some(place))).into_iter().chain([("{root}", self.root)]);
        places.fold(text.to_owned(), |text, (name, place)| match place {
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
        let [files, work, runners, root] = ["/f", "/w", "/opt", "/r"].map(Path::new);
        let places = Places { files, work, runners, root: Some(root) };
        let put = places.put_into(&plan);
        assert_eq!(put.argv, ["/r/bin/run", "--config=/f/c", "{other}"]);
        assert_eq!(put.env["HOME"], "/w");
        assert!(put.env.contains_key("{work}") && put.files[0].path == "{files}", "names are names");
        assert_eq!(put.files[0].content, "/w /w");
        let at = Root { path: "{runners}/x".to_owned(), work: Some("{runners}".to_owned()) };
        assert_eq!(places.put_into_root(&at), Root { path: "/opt/x".to_owned(), ..at.clone() }, "names are names");
        let without = Places { root: None, ..places };
        assert_eq!(without.put_into(&plan).argv[0], "{root}/bin/run");
    }
}
