//! The whole environment of the work: what the plan says, and what every program expects.

use std::collections::BTreeMap;
use std::path::Path;

use protocol::Plan;

use super::account::Account;

/// The variable that names the directory with the plan's files.
const FILES: &str = "HYPERFLEET_FILES";
const PATH: &str = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin";

/// The environment of the work; what the plan says wins, except where its files are. The error names a variable and
/// never shows what it holds.
pub(super) fn of(plan: &Plan, account: Option<&Account>, files: &Path) -> Result<BTreeMap<String, String>, String> {
    let mut environment = plan.env.clone();
    if let Some((name, _)) = environment.iter().find(|(name, value)| !is_name(name) || value.contains('\0')) {
        return Err(format!("variable {name:?} of the plan is none: its name or its text cannot be in an environment"));
    }
    let mut expected = |name: &str, value: &str| {
        environment.entry(name.to_owned()).or_insert_with(|| value.to_owned());
    };
    expected("PATH", PATH);
    if let Some(Account { name, home, owner: _ }) = account {
        expected("USER", name);
        expected("LOGNAME", name);
        expected("HOME", &home.to_string_lossy());
    }
    environment.insert(FILES.to_owned(), files.to_string_lossy().into_owned());
    Ok(environment)
}

fn is_name(name: &str) -> bool {
    !name.is_empty() && !name.contains(['=', '\0'])
}

#[cfg(test)]
mod tests {
    use super::super::account::Owner;
    use super::*;

    fn plan(env: &[(&str, &str)]) -> Plan {
        let env = env.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
        Plan { env, ..Plan::default() }
    }

    #[test]
    fn the_plan_wins_and_nothing_is_inherited() {
        let account = Account { name: "ada".to_owned(), owner: Owner { user: 1, group: 1 }, home: "/a".into() };
        let plan = plan(&[("HOME", "/elsewhere"), ("A", "b=c"), ("HYPERFLEET_FILES", "/mine")]);
        let environment = of(&plan, Some(&account), Path::new("/run/x/files")).unwrap();
        let expected = [
            ("A", "b=c"),
            ("HOME", "/elsewhere"),
            ("HYPERFLEET_FILES", "/run/x/files"),
            ("LOGNAME", "ada"),
            ("PATH", PATH),
            ("USER", "ada"),
        ];
        assert_eq!(environment, expected.map(|(name, value)| (name.to_owned(), value.to_owned())).into());
    }

    #[test]
    fn what_cannot_be_a_variable_is_named_and_not_shown() {
        for (name, value) in [("", "canary"), ("A=B", "canary"), ("A\0", "canary"), ("A", "canary\0")] {
            let said = of(&plan(&[(name, value)]), None, Path::new("/f")).unwrap_err();
            assert!(!said.contains("canary"), "{said}");
        }
    }
}
