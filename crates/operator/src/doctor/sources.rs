//! CI platforms: whether each lets us in, allows what we do, and tells us of jobs.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use api::condition::find;
use api::{Condition, ConditionType, DemandMode, Platform, Reason, RunnerSource, SecretKey};
use fleet::source::{self, Link, Observed, Session, demand_mode, webhook_path};
use providers::http::{Trust, Unmetered};
use providers::platform::Missing;
use providers::platform::github::Hearing;
use runtime::Key;

use super::chart::{About, Chart, Check, Severity};
use super::clock;
use super::hypervisors::make_secret;
use super::judge::{matter, reason, split};
use super::kubernetes::Objects;
use super::{Means, Sight};
use crate::outpost::{Given, Survey, over_the_network};

/// Looks at every source.
pub(super) async fn examine(means: &Means, objects: &Objects, chart: &mut Chart) -> BTreeMap<Key, Survey> {
    let dial = over_the_network(means.sight.platforms.clone(), Arc::new(Unmetered));
    let mut surveys = BTreeMap::new();
    for source in &objects.sources {
        let about = About::new("RunnerSource", &source.metadata);
        let survey = match Survey::of(&means.client, source, &dial, means.sight.clock).await {
            Ok(survey) => survey,
            Err(fault) => {
                let remedy = format!("kubectl -n {} get secrets    # as somebody who may", about.namespace);
                let what = format!("its Secrets cannot be read: {fault}");
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
            (Check::Permissions, format!("{field}: {what}"), format!("{told}: {}", about.edit()))
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
        Some(Reason::TlsVerificationFailed) => (Check::Certificate, what, format!("{told}: {}", about.edit())),
        Some(Reason::PlatformUnreachable) => {
            (Check::Endpoint, message.to_owned(), format!("curl -I {url}    # else correct spec.url: {}", about.edit()))
        }
        Some(_) | None => (Check::Permissions, what, format!("{told}: {}", about.edit())),
    };
    chart.find(Severity::Broken, check, about, what, remedy);
}

/// The command that puts other credentials into the source's Secrets.
fn renew(source: &RunnerSource, about: &About) -> String {
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
    make_secret(&about.namespace, &keys)
}

/// Whether we hear of jobs.
async fn demand(source: &RunnerSource, survey: &Survey, about: &About, chart: &mut Chart) {
    let mode = demand_mode(source);
    match survey.queue(mode).await {
        Some(Ok(())) => chart.pass(Check::Queue, about, "the queue of jobs can be listened to"),
        Some(Err(error)) => {
            let remedy =
                format!("let the operator reach it, or set spec.demand.mode to webhook or poll: {}", about.edit());
            chart.find(
                Severity::Broken,
                Check::Queue,
                about,
                format!("the queue of jobs cannot be listened to: {error}"),
                remedy,
            );
        }
        None => {}
    }
    if mode != DemandMode::Webhook {
        return;
    }
    match survey.hearings().await {
        Some(Ok(hearings)) => webhook(source, &hearings, about, chart),
        Some(Err(error)) => {
            let what = format!("its webhooks cannot be looked at: {error}");
            let remedy = "let the credential read webhooks, or look at the platform's own list of deliveries";
            chart.find(Severity::Advice, Check::Webhook, about, what, remedy);
        }
        None => {
            let what = format!("{} does not say which deliveries arrived", source.spec.platform.as_str());
            let remedy = format!("look at its settings, Webhooks: the address ends in {}", path(source));
            chart.find(Severity::Advice, Check::Webhook, about, what, remedy);
        }
    }
}

fn path(source: &RunnerSource) -> String {
    webhook_path(source).unwrap_or_default()
}

fn webhook(source: &RunnerSource, hearings: &[Hearing], about: &About, chart: &mut Chart) {
    let path = path(source);
    let ours: Vec<&Hearing> =
        hearings.iter().filter(|hearing| hearing.url.trim_end_matches('/').ends_with(&path)).collect();
    let make = format!(
        "at {}, Webhooks: payload URL https://YOUR-INGRESS{path}, content type application/json, the secret of \
         spec.webhook.secret, event Workflow jobs",
        source.spec.url
    );
    let Some(hearing) = ours.iter().find(|hearing| hearing.jobs).or(ours.first()) else {
        let what = format!("no webhook leads here: none of {} has an address that ends in {path}", hearings.len());
        return chart.find(Severity::Broken, Check::Webhook, about, what, make);
    };
    if !hearing.jobs {
        let what = format!("the webhook to {} does not tell of jobs", hearing.url);
        return chart.find(Severity::Broken, Check::Webhook, about, what, "subscribe it to the event Workflow jobs");
    }
    if !hearing.json {
        let what = format!("the webhook to {} sends forms, not JSON", hearing.url);
        return chart.find(Severity::Broken, Check::Webhook, about, what, "set its content type to application/json");
    }
    match hearing.deliveries.first() {
        None => chart.pass(
            Check::Webhook,
            about,
            format!("the webhook to {} is there; nothing was delivered yet", hearing.url),
        ),
        Some((_, 200..=299)) => chart.pass(Check::Webhook, about, format!("deliveries to {} arrive", hearing.url)),
        Some((at, code)) => failing(source, hearing, (at, *code), about, chart),
    }
}

fn failing(
    source: &RunnerSource,
    hearing: &Hearing,
    (at, code): (&jiff::Timestamp, u16),
    about: &About,
    chart: &mut Chart,
) {
    let failed = hearing.deliveries.iter().take_while(|(_, code)| !(200..300).contains(code)).count();
    let last = format!("the last {failed} deliveries to {} failed, the newest at {at}", hearing.url);
    let (what, remedy) = match code {
        401 => {
            let secret = source.spec.webhook.as_ref().map(|webhook| &webhook.secret);
            let place = secret.map(|key| format!("entry {} of Secret {}", key.key, key.name)).unwrap_or_default();
            let remedy = format!("make the webhook's secret and {place} the same: {}", renew(source, about));
            (format!("{last}: they were refused (401), so the secret differs"), remedy)
        }
        0 => (format!("{last}: nobody answered"), reachable(hearing)),
        code => (format!("{last} with status {code}"), reachable(hearing)),
    };
    chart.find(Severity::Broken, Check::Webhook, about, what, remedy);
}

fn reachable(hearing: &Hearing) -> String {
    format!("curl -X POST {}    # from outside; 401 is right, else see that it leads to --ingress-listen", hearing.url)
}

/// Whether letter case makes no difference to labels there.
pub(super) const fn folds(platform: Platform) -> bool {
    match platform {
        Platform::GitHub => true,
        Platform::GitLab | Platform::Buildkite | Platform::Gitea | Platform::Forgejo => false,
    }
}
