//! Who asks: a name, groups, and what else a credential says about its bearer.

use std::collections::BTreeMap;

/// Whoever has shown no credential.
pub const ANONYMOUS: &str = "system:anonymous";
/// The group of everybody who has shown a credential.
pub const AUTHENTICATED: &str = "system:authenticated";
/// The group of everybody who has shown none.
pub const UNAUTHENTICATED: &str = "system:unauthenticated";
/// The group that may do anything, whatever the roles say.
pub const MASTERS: &str = "system:masters";

const ACCOUNT_PREFIX: &str = "system:serviceaccount:";
const ALL_ACCOUNTS: &str = "system:serviceaccounts";

/// Somebody who asks for something.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct User {
    /// The name that roles are bound to.
    pub name: String,
    /// Tells two users of one name at different times apart; may be empty.
    pub uid: String,
    /// The groups, in the order the credential gave them.
    pub groups: Vec<String>,
    /// What else the credential says.
    pub extra: BTreeMap<String, Vec<String>>,
}

impl User {
    /// A user with groups and nothing else.
    pub fn new(name: impl Into<String>, groups: &[&str]) -> Self {
        let groups = groups.iter().map(|&group| group.to_owned()).collect();
        Self { name: name.into(), groups, ..Self::default() }
    }

    /// Whoever has shown no credential.
    pub fn anonymous() -> Self {
        Self::new(ANONYMOUS, &[UNAUTHENTICATED])
    }

    /// A service account, in the groups of all accounts and of those of its namespace.
    pub fn account(namespace: &str, name: &str, uid: &str) -> Self {
        let groups = account_groups(namespace);
        Self { name: account_username(namespace, name), uid: uid.to_owned(), groups, extra: BTreeMap::new() }
    }

    /// Whether the user is in a group.
    pub fn is_in(&self, group: &str) -> bool {
        self.groups.iter().any(|mine| mine == group)
    }

    /// The same user as one who has shown a credential: in the group of all those.
    #[must_use]
    pub fn authenticated(mut self) -> Self {
        if self.name != ANONYMOUS && !self.is_in(AUTHENTICATED) && !self.is_in(UNAUTHENTICATED) {
            self.groups.push(AUTHENTICATED.to_owned());
        }
        self
    }
}

/// The user name of a service account.
pub fn account_username(namespace: &str, name: &str) -> String {
    format!("{ACCOUNT_PREFIX}{namespace}:{name}")
}

/// The groups of the service accounts of a namespace.
pub fn account_groups(namespace: &str) -> Vec<String> {
    vec![ALL_ACCOUNTS.to_owned(), format!("{ALL_ACCOUNTS}:{namespace}")]
}

/// Namespace and name of the service account that has this user name, if it is one.
pub fn split_account(username: &str) -> Option<(&str, &str)> {
    let (namespace, name) = username.strip_prefix(ACCOUNT_PREFIX)?.split_once(':')?;
    (is_label(namespace) && is_subdomain(name)).then_some((namespace, name))
}

/// The node that has this user name, if it is one.
pub(super) fn split_node(username: &str) -> Option<&str> {
    username.strip_prefix("system:node:").filter(|name| is_subdomain(name))
}

fn is_label(text: &str) -> bool {
    let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
    !text.is_empty() && text.len() <= 63 && text.chars().all(inner) && !text.starts_with('-') && !text.ends_with('-')
}

/// Whether a text is a name as most objects have one.
pub(super) fn is_subdomain(text: &str) -> bool {
    // A part of a subdomain may be as long as the whole: only labels on their own end at 63.
    let part = |part: &str| {
        let inner = |c: char| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '-';
        !part.is_empty() && part.chars().all(inner) && !part.starts_with('-') && !part.ends_with('-')
    };
    text.len() <= 253 && text.split('.').all(part)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_an_account_is_split_as_one() {
        assert_eq!(split_account("system:serviceaccount:ns:a.b"), Some(("ns", "a.b")));
        for other in ["u", "system:serviceaccount:ns", "system:serviceaccount:n.s:a", "system:serviceaccount:ns:a:b"] {
            assert_eq!(split_account(other), None, "{other}");
        }
        let long = "a".repeat(64);
        assert_eq!(split_account(&format!("system:serviceaccount:{long}:a")), None);
        assert_eq!(split_account(&format!("system:serviceaccount:ns:{long}")), Some(("ns", long.as_str())));
    }

    #[test]
    fn a_credential_brings_its_group_once() {
        let user = User::new("u", &["g"]).authenticated();
        assert_eq!(user.groups, ["g", AUTHENTICATED]);
        assert_eq!(user.clone().authenticated(), user);
        assert_eq!(User::anonymous().authenticated(), User::anonymous());
        assert_eq!(User::new("u", &[UNAUTHENTICATED]).authenticated().groups, [UNAUTHENTICATED]);
    }
}
