//! Acting as somebody else: `kubectl --as`.
//!
//! A request says in headers whom it wants to be. There are several ways to be allowed that, tried in turn: narrow ones
//! that also ask what the request is about (`impersonate-on:<mode>:<verb>` and `impersonate:<mode>`), and the old one
//! (`impersonate`). The refusal is that of the first way, or of the one that last worked for the same requester.

mod extra;
mod headers;

use super::attributes::{Attributes, Resource};
use super::policy::Policy;
use super::user::{
    ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, account_groups, split_account, split_node,
};
use crate::failure::Failure;

const AUTHENTICATION: (&str, &str) = ("authentication.k8s.io", "v1");
const CORE: (&str, &str) = ("", "v1");
/// From so many checks of one kind on, the real server first asks about all of them at once.
const MANY: usize = 4;

/// Whom a request wants to be, as its headers say it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Wanted(User);

/// A way to be allowed to act as somebody else.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// A service account acts as the node it runs on.
    AssociatedNode,
    /// Anybody acts as a node.
    ArbitraryNode,
    /// Anybody acts as a service account.
    Account,
    /// Anybody acts as any other user.
    User,
    /// The old way, whatever the request is about.
    Legacy,
}

impl Mode {
    const ALL: [Self; 5] = [Self::AssociatedNode, Self::ArbitraryNode, Self::Account, Self::User, Self::Legacy];

    const fn word(self) -> Option<&'static str> {
        match self {
            Self::AssociatedNode => Some("associated-node"),
            Self::ArbitraryNode => Some("arbitrary-node"),
            Self::Account => Some("serviceaccount"),
            Self::User => Some("user-info"),
            Self::Legacy => None,
        }
    }

    fn applies(self, wanted: &User, requester: &User) -> bool {
        let name_alone = wanted.uid.is_empty() && wanted.groups.is_empty() && wanted.extra.is_empty();
        let (node, account) = (split_node(&wanted.name), split_account(&wanted.name));
        match self {
            Self::AssociatedNode => {
                let own = requester.extra.get("authentication.kubernetes.io/node-name").map(Vec::as_slice);
                let own = if let Some([own]) = own { Some(own.as_str()) } else { None };
                name_alone && node.is_some() && split_account(&requester.name).is_some() && own == node
            }
            Self::ArbitraryNode => name_alone && node.is_some(),
            Self::Account => name_alone && account.is_some(),
            Self::User => node.is_none() && account.is_none(),
            Self::Legacy => true,
        }
    }
}

impl Wanted {
    /// Decides whether the requester of `wish` may act as the wanted user, and who he is then.
    ///
    /// `last` is what this returned for the same requester the last time: it is tried first.
    pub fn assume(&self, policy: &Policy, wish: &Attributes, last: Option<Mode>) -> Result<(User, Mode), Failure> {
        let rest = Mode::ALL.into_iter().filter(|mode| Some(*mode) != last);
        let mut refusal = None;
        for mode in last.into_iter().chain(rest).filter(|mode| mode.applies(&self.0, &wish.user)) {
            match (Attempt { policy, wish, wanted: &self.0, mode }).run() {
                Ok(user) => return Ok((user, mode)),
                Err(failure) => refusal = refusal.or(Some(failure)),
            }
        }
        Err(refusal.expect("the old way always applies, and has failed"))
    }
}

struct Attempt<'a> {
    policy: &'a Policy,
    wish: &'a Attributes,
    wanted: &'a User,
    mode: Mode,
}

impl Attempt<'_> {
    fn run(&self) -> Result<User, Failure> {
        if let Some(word) = self.mode.word() {
            let verb = format!("impersonate-on:{word}:{}", self.wish.verb);
            self.demand(&Attributes { verb, ..self.wish.clone() })?;
        }
        let mut user = self.wanted.clone();
        self.name(&mut user)?;
        if !self.wanted.uid.is_empty() {
            self.demand(&self.ask(AUTHENTICATION, "uids", &self.wanted.uid))?;
        }
        self.groups()?;
        self.extra()?;
        let group = if user.name == ANONYMOUS { UNAUTHENTICATED } else { AUTHENTICATED };
        if !user.is_in(group) && !user.is_in(UNAUTHENTICATED) {
            user.groups.push(group.to_owned());
        }
        Ok(user)
    }

    fn name(&self, user: &mut User) -> Result<(), Failure> {
        let wanted = &self.wanted.name;
        let of = |resource: &str, namespace: &str, name: &str| {
            let (resource, namespace, name) = (resource.to_owned(), namespace.to_owned(), name.to_owned());
            Resource { resource, name, namespace, ..self.in_group() }
        };
        let resource = match (split_node(wanted), split_account(wanted)) {
            (Some(node), _) if self.mode != Mode::Legacy => {
                user.groups = vec!["system:nodes".to_owned()];
                // Whoever may act as his own node may do so on every node: the question names none.
                of("nodes", "", if self.mode == Mode::AssociatedNode { "*" } else { node })
            }
            (_, Some((namespace, name))) => {
                if self.wanted.groups.is_empty() {
                    user.groups = account_groups(namespace);
                }
                of("serviceaccounts", namespace, name)
            }
            (Some(_) | None, None) => of("users", "", wanted),
        };
        self.demand(&Attributes::resource(&self.wish.user, self.verb(), resource))
    }

    fn groups(&self) -> Result<(), Failure> {
        let groups = &self.wanted.groups;
        let ask = |name: &str| {
            Attributes::resource(
                &self.wish.user,
                self.verb(),
                Resource { resource: "groups".to_owned(), name: name.to_owned(), ..self.in_group() },
            )
        };
        if self.mode != Mode::Legacy {
            if groups.iter().any(String::is_empty) {
                return Err(ask("").forbidden("impersonating the empty string group is not allowed"));
            }
            if self.wanted.is_in(MASTERS) {
                return Err(ask(MASTERS).forbidden("impersonating the system:masters group is not allowed"));
            }
            if groups.len() >= MANY && self.demand(&ask("*")).is_ok() {
                return Ok(());
            }
        }
        groups.iter().try_for_each(|group| self.demand(&ask(group)))
    }

    fn extra(&self) -> Result<(), Failure> {
        let extra = &self.wanted.extra;
        let ask = |key: &str, value: &str| {
            let (group, version) = AUTHENTICATION;
            let resource = Resource {
                group: group.to_owned(),
                version: version.to_owned(),
                resource: "userextras".to_owned(),
                subresource: key.to_owned(),
                name: value.to_owned(),
                ..Resource::default()
            };
            Attributes::resource(&self.wish.user, self.verb(), resource)
        };
        if self.mode != Mode::Legacy && !extra.is_empty() {
            extra::check(extra).map_err(|why| ask("", "").forbidden(&why))?;
            let many = extra.len() >= MANY || extra.values().map(Vec::len).sum::<usize>() >= MANY;
            if many && self.demand(&ask("*", "*")).is_ok() {
                return Ok(());
            }
        }
        let pairs = extra.iter().flat_map(|(key, values)| values.iter().map(move |value| (key, value)));
        pairs.into_iter().try_for_each(|(key, value)| self.demand(&ask(key, value)))
    }

    fn verb(&self) -> String {
        self.mode.word().map_or_else(|| "impersonate".to_owned(), |word| format!("impersonate:{word}"))
    }

    /// The group in which this mode knows users and groups.
    fn in_group(&self) -> Resource {
        let (group, version) = if self.mode == Mode::Legacy { CORE } else { AUTHENTICATION };
        Resource { group: group.to_owned(), version: version.to_owned(), ..Resource::default() }
    }

    fn ask(&self, (group, version): (&str, &str), resource: &str, name: &str) -> Attributes {
        let owned = str::to_owned;
        let (group, version, resource, name) = (owned(group), owned(version), owned(resource), owned(name));
        let resource = Resource { group, version, resource, name, ..Resource::default() };
        Attributes::resource(&self.wish.user, self.verb(), resource)
    }

    fn demand(&self, wish: &Attributes) -> Result<(), Failure> {
        let decision = self.policy.authorize(wish);
        if decision.allowed { Ok(()) } else { Err(wish.forbidden(&decision.reason)) }
    }
}

#[cfg(test)]
mod tests;
