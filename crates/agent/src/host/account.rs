//! Whom the work runs as.

use std::path::PathBuf;

/// Where nothing is said, work is not root's.
const UNPRIVILEGED: &str = "hyperfleet";

/// A line of the system's list of accounts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Account {
    pub(super) name: String,
    pub(super) owner: Owner,
    pub(super) home: PathBuf,
}

/// A user and a group by number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Owner {
    pub(super) user: u32,
    pub(super) group: u32,
}

/// Whom the work runs as.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum RunsAs {
    /// As somebody whom root can become.
    Account(Account),
    /// As whoever the agent is, because it cannot become anybody else.
    Itself(Option<Account>),
}

impl RunsAs {
    /// The account, if it is known.
    pub(super) fn account(&self) -> Option<&Account> {
        match self {
            Self::Account(account) => Some(account),
            Self::Itself(account) => account.as_ref(),
        }
    }

    /// Whom to become and give files to, if that is possible.
    pub(super) fn owner(&self) -> Option<Owner> {
        match self {
            Self::Account(account) => Some(account.owner),
            Self::Itself(_) => None,
        }
    }
}

/// Whom work runs as that wants this user, if the agent is `us`.
pub(super) fn choose(passwd: &str, wanted: Option<&str>, us: u32) -> Result<RunsAs, String> {
    let by_name = |name: &str| {
        let found = accounts(passwd).find(|account| account.name == name);
        found.ok_or_else(|| format!("there is no user {name:?} in this image: add it, or name another"))
    };
    match (us, wanted) {
        (0, _) => by_name(wanted.unwrap_or(UNPRIVILEGED)).map(RunsAs::Account),
        (_, None) => Ok(RunsAs::Itself(accounts(passwd).find(|account| account.owner.user == us))),
        (_, Some(name)) => {
            let account = by_name(name)?;
            if account.owner.user != us {
                return Err(format!("only root can run work as {name:?}, and the agent is not root"));
            }
            Ok(RunsAs::Itself(Some(account)))
        }
    }
}

/// The lines that make sense.
fn accounts(passwd: &str) -> impl Iterator<Item = Account> {
    passwd.lines().filter_map(|line| {
        let fields: Vec<&str> = line.split(':').collect();
        let [name, _password, user, group, _about, home, _shell] = fields[..] else { return None };
        let owner = Owner { user: user.parse().ok()?, group: group.parse().ok()? };
        (!name.is_empty()).then(|| Account { name: name.to_owned(), owner, home: home.into() })
    })
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const PASSWD: &str = "root:x:0:0::/:/bin/sh\n# nonsense\nbroken:x:abc:1::/:/\n:x:7:7::/:/\n+::::::\n\
                          hyperfleet:x:990:980:the work's:/var/lib/work:/bin/sh\nada:x:1000:1001:::\n";

    #[rstest]
    #[case::roots_default(None, 0, Some(990))]
    #[case::asked_for(Some("ada"), 0, Some(1000))]
    #[case::root_if_it_is_asked_for(Some("root"), 0, Some(0))]
    #[case::only_itself(None, 1000, None)]
    #[case::itself_by_name(Some("ada"), 1000, None)]
    #[case::itself_without_a_line(None, 4711, None)]
    fn root_becomes_somebody_and_others_stay_who_they_are(
        #[case] wanted: Option<&str>,
        #[case] us: u32,
        #[case] becomes: Option<u32>,
    ) {
        let chosen = choose(PASSWD, wanted, us).unwrap();
        assert_eq!(chosen.owner().map(|owner| owner.user), becomes);
        if us != 0 {
            assert_eq!(chosen.account().is_some(), us == 1000);
        }
    }

    #[rstest]
    #[case(Some("nobody"), 0, "there is no user \"nobody\"")]
    #[case(Some("broken"), 0, "there is no user \"broken\"")]
    #[case(Some(""), 0, "there is no user \"\"")]
    #[case(Some("hyperfleet"), 1000, "only root can run work as \"hyperfleet\"")]
    #[case(Some("root"), 1000, "only root")]
    fn what_is_impossible_is_said(#[case] wanted: Option<&str>, #[case] us: u32, #[case] says: &str) {
        assert!(choose(PASSWD, wanted, us).unwrap_err().contains(says));
    }

    #[test]
    fn a_line_is_read_whole() {
        let RunsAs::Account(account) = choose(PASSWD, None, 0).unwrap() else { panic!("root can become anybody") };
        assert_eq!(account.owner, Owner { user: 990, group: 980 });
        assert_eq!((account.name.as_str(), account.home), ("hyperfleet", "/var/lib/work".into()));
    }
}
