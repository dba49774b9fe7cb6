//! What we ask of Gitea, each with its words.

use ::http::Method;

/// One kind of call.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Deed {
    ReadVersion,
    ListJobs,
    ListHooks,
    ReadJob,
    ReadRepository,
    ListRunners,
    ReadRunner,
    /// The token that registers runners; asking for it changes nothing that there is.
    FetchToken,
    Register,
    Disable,
    Remove,
    Rerun,
}

/// How a kind of call is made and spoken of.
pub(super) struct Words {
    pub(super) method: Method,
    /// The path with placeholders, for spans and metrics.
    pub(super) route: &'static str,
    /// What may not, or cannot, be done.
    pub(super) verb: &'static str,
    /// What was refused, or has no answer.
    pub(super) noun: &'static str,
}

impl Deed {
    pub(super) const fn words(self) -> Words {
        let (method, route, verb, noun) = match self {
            Self::ReadVersion => (Method::GET, "/version", "read the version", "a look at the version"),
            Self::ListJobs => (Method::GET, "/{scope}/actions/jobs", "list jobs", "a list of jobs"),
            Self::ListHooks => (Method::GET, "/{scope}/hooks", "list webhooks", "a list of webhooks"),
            Self::ReadJob => {
                (Method::GET, "/repos/{owner}/{name}/actions/jobs/{id}", "look at a job", "a look at a job")
            }
            Self::ReadRepository => {
                (Method::GET, "/repos/{owner}/{name}", "look at a repository", "a look at a repository")
            }
            Self::ListRunners => (Method::GET, "/{scope}/actions/runners", "list runners", "a list of runners"),
            Self::ReadRunner => {
                (Method::GET, "/{scope}/actions/runners/{id}", "look at a runner", "a look at a runner")
            }
            Self::FetchToken => {
                let route = "/{scope}/actions/runners/registration-token";
                (Method::POST, route, "register runners", "a look at the registration token")
            }
            Self::Register => {
                let route = "/runner.v1.RunnerService/Register";
                (Method::POST, route, "register a runner", "the registration of a runner")
            }
            Self::Disable => {
                let route = "/{scope}/actions/runners/{id}";
                (Method::PATCH, route, "tell a runner to take no jobs before version 1.26", "the draining of a runner")
            }
            Self::Remove => {
                (Method::DELETE, "/{scope}/actions/runners/{id}", "remove a runner", "the removal of a runner")
            }
            Self::Rerun => {
                let route = "/repos/{owner}/{name}/actions/runs/{run}/jobs/{id}/rerun";
                (Method::POST, route, "run a job again", "the rerun of a job")
            }
        };
        Words { method, route, verb, noun }
    }

    /// What may have happened if no answer comes.
    pub(super) fn change(self) -> Option<&'static str> {
        match self {
            Self::Register | Self::Disable | Self::Remove | Self::Rerun => Some(self.words().noun),
            Self::ReadVersion
            | Self::ListJobs
            | Self::ListHooks
            | Self::ReadJob
            | Self::ReadRepository
            | Self::ListRunners
            | Self::ReadRunner
            | Self::FetchToken => None,
        }
    }
}
