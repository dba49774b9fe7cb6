//! Who is asking, and may he.
//!
//! ```text
//!   credential ─▶ Authenticator ─▶ User ─▶ impersonation ─▶ User ─▶ Attributes ─▶ Policy ─▶ Decision
//!                                                                                  ▲
//!                          roles and bindings, escalation, aggregation ────────────┘
//! ```
//!
//! Nothing here reads a clock, a store or a random number: time, objects and ids are arguments. A [`Policy`] is compiled
//! from the RBAC objects whenever one of them changes; a question to it looks only at the bindings of who asks.

#![allow(clippy::result_large_err, reason = "a request is refused once: what a refusal weighs costs nothing")]

mod aggregate;
mod attributes;
mod authenticate;
mod bootstrap;
mod covers;
mod escalation;
mod impersonate;
mod policy;
mod quote;
mod review;
mod rule;
mod token;
mod token_request;
mod user;

pub use aggregate::aggregate;
pub use attributes::{Attributes, Resource, Target};
pub use authenticate::{Authenticator, Credential};
pub use bootstrap::bootstrap;
pub use covers::missing;
pub use escalation::{RbacKind, Write};
pub use impersonate::{Mode, Wanted};
pub use policy::{Decision, NoRole, Policy, Rights, RoleRef};
pub use review::{Review, Setting};
pub use rule::Rule;
pub use token::{Account, Accounts, Authenticated, Grant, Signer};
pub use token_request::TokenRequest;
pub use user::{
    ANONYMOUS, AUTHENTICATED, MASTERS, UNAUTHENTICATED, User, account_groups, account_username, split_account,
};
