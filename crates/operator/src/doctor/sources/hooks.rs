//! Webhooks: whether one leads here, tells of jobs, and arrives.

use api::RunnerSource;
use fleet::source::webhook_path;
use providers::platform::Hearing;

use super::super::chart::{About, Chart, Check, Severity};
use super::renew;
use crate::outpost::Survey;

/// Looks at the webhooks of a source that learns of jobs by them.
pub(super) async fn examine(source: &RunnerSource, survey: &Survey, about: &About, chart: &mut Chart) {
    match survey.hearings().await {
        Some(Ok(hearings)) => judge(source, &hearings, about, chart),
        Some(Err(error)) => {
            let what = format!("its webhooks cannot be looked at: {error}");
            let remedy = format!(
                "let the credential read webhooks, or look at them at {}: one has an address that ends in {}",
                source.spec.url,
                path(source)
            );
            chart.find(Severity::Unknown, Check::Webhook, about, what, remedy);
        }
        None => {}
    }
}

fn path(source: &RunnerSource) -> String {
    webhook_path(source).unwrap_or_default()
}

fn judge(source: &RunnerSource, hearings: &[Hearing], about: &About, chart: &mut Chart) {
    let path = path(source);
    let ours: Vec<&Hearing> =
        hearings.iter().filter(|hearing| hearing.url.trim_end_matches('/').ends_with(&path)).collect();
    let Some(hearing) = ours.iter().find(|hearing| hearing.jobs).or(ours.first()) else {
        return missing(source, hearings, about, chart);
    };
    if !hearing.jobs {
        let what = format!("the webhook to {} does not tell of jobs", hearing.url);
        return chart.find(Severity::Broken, Check::Webhook, about, what, "subscribe it to the event Workflow jobs");
    }
    if !hearing.json {
        let what = format!("the webhook to {} sends forms, not JSON", hearing.url);
        return chart.find(Severity::Broken, Check::Webhook, about, what, "set its content type to application/json");
    }
    let url = &hearing.url;
    let well = match &hearing.deliveries {
        None => format!("the webhook to {url} is there; which deliveries arrive the platform does not say"),
        Some(deliveries) => match deliveries.first() {
            None => format!("the webhook to {url} is there; nothing was delivered yet"),
            Some((_, 200..=299)) => format!("deliveries to {url} arrive"),
            Some(_) => return failing(source, url, deliveries, about, chart),
        },
    };
    chart.pass(Check::Webhook, about, well);
}

/// No webhook that is seen leads here. An App sees its own and no other.
fn missing(source: &RunnerSource, hearings: &[Hearing], about: &About, chart: &mut Chart) {
    let path = path(source);
    let make = format!(
        "payload URL https://YOUR-INGRESS{path}, content type application/json, the secret of spec.webhook.secret, event \
         Workflow jobs"
    );
    let is_app = source.spec.github.as_ref().is_some_and(|github| github.credentials.app.is_some());
    if is_app {
        let urls: Vec<&str> =
            hearings.iter().map(|hearing| hearing.url.as_str()).filter(|url| !url.is_empty()).collect();
        let leads = if urls.is_empty() { "nowhere".to_owned() } else { format!("to {}, not here", urls.join(", ")) };
        let what =
            format!("the App's own webhook leads {leads}, and whether another one leads here cannot be seen as an App");
        let remedy = format!("unless there is one at {}: in the App's settings, Webhook: {make}", source.spec.url);
        return chart.find(Severity::Unknown, Check::Webhook, about, what, remedy);
    }
    let what = format!("no webhook leads here: none of {} has an address that ends in {path}", hearings.len());
    chart.find(Severity::Broken, Check::Webhook, about, what, format!("at {}, Webhooks: {make}", source.spec.url));
}

fn failing(source: &RunnerSource, url: &str, deliveries: &[(jiff::Timestamp, u16)], about: &About, chart: &mut Chart) {
    let Some((at, code)) = deliveries.first() else { return };
    let failed = deliveries.iter().take_while(|(_, code)| !(200..300).contains(code)).count();
    let last = format!("the last {failed} deliveries to {url} failed, the newest at {at}");
    let (what, remedy) = match code {
        401 => {
            let secret = source.spec.webhook.as_ref().map(|webhook| &webhook.secret);
            let place = secret.map(|key| format!("entry {} of Secret {}", key.key, key.name)).unwrap_or_default();
            let remedy = format!("make the webhook's secret and {place} the same: {}", renew(source, about));
            (format!("{last}: they were refused (401), so the secret differs"), remedy)
        }
        0 => (format!("{last}: nobody answered"), reachable(url)),
        code => (format!("{last} with status {code}"), reachable(url)),
    };
    chart.find(Severity::Broken, Check::Webhook, about, what, remedy);
}

fn reachable(url: &str) -> String {
    format!("curl -X POST {url}    # from outside; 401 is right, else see that it leads to --ingress-listen")
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    /// What is said of one webhook that leads to a source at Gitea or GitHub.
    fn told(platform: &str, change: impl FnOnce(&mut Hearing)) -> Chart {
        let key = json!({ "name": "ci", "key": "token" });
        let source = json!({
            "apiVersion": "hypervisor.hyperfleet.io/v1alpha1", "kind": "RunnerSource",
            "metadata": { "name": "ci", "namespace": "ci", "uid": "u-1" },
            "spec": {
                "platform": platform, "url": "https://git.example.com", "demand": { "mode": "webhook" },
                "webhook": { "secret": key },
            },
        });
        let source: RunnerSource = serde_json::from_value(source).unwrap();
        let url = format!("https://hooks.example.com{}", path(&source));
        let mut hearing = Hearing { url, jobs: true, json: true, deliveries: Some(Vec::new()) };
        change(&mut hearing);
        let (about, mut chart) = (About::new("RunnerSource", &source.metadata), Chart::default());
        judge(&source, &[hearing], &about, &mut chart);
        chart
    }

    #[test]
    fn a_webhook_that_tells_of_something_else_is_broken() {
        let chart = told("github", |hearing| hearing.jobs = false);
        let [finding] = chart.findings()[..] else { panic!("one thing is wrong: {:?}", chart.findings()) };
        assert!(finding.what.contains("does not tell of jobs"), "{finding:?}");
        assert!(finding.remedy.contains("event Workflow jobs"), "{finding:?}");
        let chart = told("github", |hearing| hearing.json = false);
        assert!(chart.findings()[0].what.contains("sends forms, not JSON"), "{:?}", chart.findings());
        assert_eq!(chart.code(), 1);
    }

    #[test]
    fn gitea_is_asked_for_its_webhooks_and_not_for_what_it_cannot_say() {
        let chart = told("gitea", |hearing| hearing.deliveries = None);
        assert_eq!((chart.code(), chart.findings().len()), (0, 0));
        assert!(chart.passed()[0].what.contains("which deliveries arrive the platform does not say"));
        let chart = told("gitea", |hearing| hearing.url = "https://hooks.example.com/webhooks/other".to_owned());
        assert_eq!(chart.code(), 1, "{:?}", chart.findings());
        assert!(chart.findings()[0].what.contains("no webhook leads here"), "{:?}", chart.findings());
    }
}
