//! Ways to prove that one is a certain machine.

use api::MachineClaim;
use fleet::bootstrap::{Bound, Presented, Refusal, bind};
use jiff::Timestamp;

/// Somebody who wants to be believed, and whom he says he is.
#[derive(Clone, Copy, Debug)]
pub struct Case<'a> {
    /// The claim whose machine he says he is.
    pub claim: &'a MachineClaim,
    /// What he shows.
    pub presented: &'a Presented<'a>,
    /// When.
    pub now: Timestamp,
}

/// What an attestor thinks of a case.
pub type Verdict = Result<Bound, Refusal>;

/// One way to prove that one is a certain machine.
pub trait Attestor {
    /// Judges a case; total, and the same for the same case.
    fn judge(&self, case: &Case<'_>) -> Verdict;
}

/// Believes whoever shows the token that only the machine's seed has, on the machine with the right firmware.
#[derive(Clone, Copy, Debug)]
pub struct JoinToken;

impl Attestor for JoinToken {
    fn judge(&self, case: &Case<'_>) -> Verdict {
        bind(case.claim, case.presented, case.now)
    }
}

/// How machines are believed.
#[derive(Clone, Copy, Debug)]
enum Method {
    JoinToken(JoinToken),
}

/// Judges a case in the way that its claim asks for; claims do not say yet, so that it is the token for all.
pub(super) fn judge(case: &Case<'_>) -> Verdict {
    match Method::JoinToken(JoinToken) {
        Method::JoinToken(attestor) => attestor.judge(case),
    }
}
