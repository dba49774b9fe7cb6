//! CI platforms: whether each lets us in, allows what we do, and tells us of jobs.

mod hooks;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::condition::find;
use api::{Condition, ConditionType, DemandMode, Platform, Reason, RunnerSource, SecretKey};
use fleet::source::{self, Link, Observed, Session, demand_mode};
use providers::http::{Trust, Unmetered};
use providers::platform::Missing;
use runtime::Key;

use super::chart::{About, Chart, Check, Severity};
use super::clock;
use super::hypervisors::make_secret;
use super::judge::{matter, reason, split};
use super::kubernetes::{Objects, let_read};
use super::{Means, Sight};
use crate::outpost::{Given, Survey, over_the_network};

/// Looks at every source.
pub(super) async fn examine(means: &Means, objects: &Objects, chart: &mut Chart) -> BTreeMap<Key, Survey> {
    let dial = over_the_network(means.sight.platforms.clone(), Arc::new(Unmetered));
    let mut surveys = BTreeMap::new();
    for source in objects.sources.iter().flatten() {
        let about = About::new("RunnerSource", &source.metadata);
        let survey = match Survey::of(&means.client, source, &dial, means.sight.clock).await {
            Ok(survey) => survey,
            Err(fault) => {
                let remedy = let_read(&about.namespace, keys(source).iter().map(|key| key.name.as_str()));
                let what = format!("not checked: its Secrets cannot be read: {fault}");
                chart.find(Severity::Unknown, Check::Credentials, &about, what, remedy);
                continue;
            }
        };
        surveyed(&means.sight, source, &survey, &about, chart).await;
        surveys.insert(Key::of(&source.metadata), survey);
    }
    surveys
}

/// Looks at the platform of a source that is nowhere yet; webhooks come later.
pub(crate) async fn try_out(sight: &Sight, source: &RunnerSource, credentials: Given, trust: Trust, chart: &mut Chart) {
    let about = About::new("RunnerSource", &source.metadata);
    let dial = over_the_network(sight.platforms.clone(), Arc::new(Unmetered));
    let survey = Survey::given(source, credentials, trust, &dial, sight.clock).await;
    if let Some(ahead) = survey.skew {
        clock::judge(chart, &about, "the platform", ahead);
    }
    usable(sight, source, &survey, &about, chart);
}

async fn surveyed(sight: &Sight, source: &RunnerSource, survey: &Survey, about: &About, chart: &mut Chart) {
    if let Some(ahead) = survey.skew {
        clock::judge(chart, about, "the platform", ahead);
    }
    if usable(sight, source, survey, about, chart) {
        demand(source, survey, about, chart).await;
    }
}

/// What the planner says of a source of which this is known.
fn judge(sight: &Sight, source: &RunnerSource, survey: &Survey) -> Option<Condition> {
    let mut fresh = source.clone();
    (fresh.status, fresh.metadata.deletion_timestamp) = (None, None);
    let link = match (&survey.login, &survey.probe) {
        (source::Login::Complete(settings), Some(probe)) => {
            Link::Up { settings: settings.clone(), probe: probe.clone(), session: Session::None }
        }
        (source::Login::Complete(_) | source::Login::Missing(_) | source::Login::Malformed(_), _) => Link::Down,
    };
    let observed = Observed {
        source: Arc::new(fresh),
        login: survey.login.clone(),
        link,
        pools: Vec::new(),
        claims: Vec::new(),
        period: Duration::from_mins(5),
    };
    let status = source::plan(&observed, sight.clock.now()).status?;
    find(&status.conditions, ConditionType::Ready).cloned()
}

fn usable(sight: &Sight, source: &RunnerSource, survey: &Survey, about: &About, chart: &mut Chart) -> bool {
    let Some(verdict) = judge(sight, source, survey) else { return false };
    if verdict.status == "True" {
        let mut parts = verdict.message.split("; ");
        chart.pass(Check::Permissions, about, parts.next().unwrap_or_default().to_owned());
        for part in parts {
            let (what, _) = split(part);
            chart.find(Severity::Advice, Check::Credentials, about, what, renew(source, about));
        }
        return true;
    }
    let until = survey.probe.as_ref().and_then(|probe| probe.trouble.as_ref()?.until);
    if let Some(until) = until {
        // It says nothing of the source.
        let what = format!("not checked: {}", verdict.message);
        let wait = Duration::try_from(until.duration_since(sight.clock.now())).unwrap_or_default();
        chart.find(Severity::Unknown, Check::Permissions, about, what, later(wait));
        return false;
    }
    if survey.missing.is_empty() {
        refused(source, &verdict, about, chart);
    }
    for missing in &survey.missing {
        lacking(missing, about, chart);
    }
    false
}

fn lacking(missing: &Missing, about: &About, chart: &mut Chart) {
    let (check, what, remedy) = match missing {
        Missing::Permission { name, remedy } => {
            (Check::Permissions, format!("the permission {name} is missing"), remedy.clone())
        }
        Missing::Setting { field, remedy } => {
            let (what, told) = split(remedy);
            (Check::Permissions, format!("{field}: {what}"), first(&told, about))
        }
        Missing::Version { at_least, lacks } => (
            Check::Endpoint,
            format!("the platform is too old: it lacks {lacks}"),
            format!("upgrade it to {at_least} or newer"),
        ),
    };
    chart.find(Severity::Broken, check, about, what, remedy);
}

fn refused(source: &RunnerSource, verdict: &Condition, about: &About, chart: &mut Chart) {
    let (message, url) = (verdict.message.as_str(), source.spec.url.as_str());
    let (what, told) = split(message);
    let (check, what, remedy) = match reason(verdict) {
        Some(Reason::CredentialsMissing) => (Check::Credentials, what, renew(source, about)),
        Some(Reason::CredentialsInvalid) => (Check::Credentials, message.to_owned(), renew(source, about)),
        Some(Reason::AuthenticationFailed) => (Check::Credentials, matter(message), renew(source, about)),
        Some(Reason::TlsVerificationFailed) => (Check::Certificate, what, first(&told, about)),
        Some(Reason::PlatformUnreachable) => {
            (Check::Endpoint, message.to_owned(), format!("curl -I {url}    # else correct spec.url: {}", about.edit()))
        }
        Some(_) | None => (Check::Permissions, what, first(&told, about)),
    };
    chart.find(Severity::Broken, check, about, what, remedy);
}

/// What the platform says that is to be done, and where.
fn first(told: &str, about: &About) -> String {
    if told.is_empty() { about.edit() } else { format!("{told}: {}", about.edit()) }
}

/// The entries of Secrets that a source names.
pub(super) fn keys(source: &RunnerSource) -> Vec<&SecretKey> {
    let spec = &source.spec;
    let mut keys: Vec<&SecretKey> = Vec::new();
    if let Some(github) = &spec.github {
        keys.extend(&github.credentials.pat);
        keys.extend(
            github.credentials.app.iter().flat_map(|app| [&app.app_id, &app.private_key, &app.installation_id]),
        );
    }
    keys.extend(spec.gitea.as_ref().map(|gitea| &gitea.credentials.token));
    keys.extend(spec.webhook.as_ref().map(|webhook| &webhook.secret));
    keys.extend(spec.tls.as_ref().and_then(|tls| tls.ca_certificate.as_ref()));
    keys
}

/// The command that puts other credentials into the source's Secrets.
fn renew(source: &RunnerSource, about: &About) -> String {
    make_secret(&about.namespace, &keys(source))
}

/// Whether we hear of jobs.
async fn demand(source: &RunnerSource, survey: &Survey, about: &About, chart: &mut Chart) {
    let mode = demand_mode(source);
    match survey.queue(mode).await {
        Some(Ok(())) => chart.pass(Check::Queue, about, "the queue of jobs can be listened to"),
        Some(Err(error)) => {
            let what = format!("the queue of jobs cannot be listened to: {error}");
            let remedy =
                format!("let the operator reach it, or set spec.demand.mode to webhook or poll: {}", about.edit());
            let (severity, remedy) =
                error.wait().map_or((Severity::Broken, remedy), |wait| (Severity::Unknown, later(wait)));
            chart.find(severity, Check::Queue, about, what, remedy);
        }
        None => {}
    }
    if mode == DemandMode::Webhook {
        hooks::examine(source, survey, about, chart).await;
    }
}

fn later(wait: Duration) -> String {
    format!("run it again in {} s", wait.as_secs())
}

/// Whether letter case makes no difference to labels there.
pub(super) const fn folds(platform: Platform) -> bool {
    match platform {
        Platform::GitHub => true,
        Platform::GitLab | Platform::Buildkite | Platform::Gitea | Platform::Forgejo => false,
    }
}
