//! A GitHub App by GitHub's manifest flow: a page on this machine posts the manifest, GitHub sends the browser back with a
//! code, the code is exchanged for the key.
//!
//! Where no browser is at hand the page is a file, too: it can be opened anywhere, and the code be pasted here.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, anyhow, bail};
use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Html;
use axum::routing::get;
use percent_encoding::percent_decode_str;
use providers::http::Unmetered;
use providers::platform::Error;
use providers::platform::github::{self, GitHub, NewApp, Scope, Site};
use reconcile::Class;
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::Wish;
use super::wish::Ci;
use crate::chance::real_chance;
use crate::doctor::Sight;
use crate::outpost::over_the_network;
use crate::print;

/// As long as GitHub's code is good.
const PATIENCE: Duration = Duration::from_hours(1);
/// Between two looks whether the App is installed.
const PAUSE: Duration = Duration::from_secs(2);

fn scope(ci: &Ci) -> Scope {
    match ci.scope.as_slice() {
        [owner, name, ..] => Scope::Repository { owner: owner.clone(), name: name.clone() },
        [organization] => Scope::Organization(organization.clone()),
        [] => Scope::Organization(String::new()),
    }
}

/// What the page knows.
#[derive(Clone)]
struct Page {
    html: Arc<str>,
    state: Arc<str>,
    codes: mpsc::Sender<String>,
}

/// Has a person make the App; what GitHub tells of it.
pub(super) async fn create(wish: &Wish, ci: &Ci, sight: &Sight) -> anyhow::Result<NewApp> {
    let site = Site::parse(&ci.url).context("--ci")?;
    let listener = TcpListener::bind("127.0.0.1:0").await.context("no port on this machine is free")?;
    let here = format!("http://{}", listener.local_addr()?);
    let mut bytes = [0; 16];
    real_chance()(&mut bytes);
    let state = providers::hex::encode(&bytes);
    let organization = (!ci.personal).then(|| ci.owner());
    let target = github::manifest_page(&site, organization, &state);
    let name = format!("hyperfleet-{}", ci.owner());
    // Where webhooks go in the end holds the uid of a source that does not exist yet.
    let hook = ci.webhook.as_ref().map(|address| format!("{address}/webhooks/"));
    let manifest = github::manifest(&scope(ci), &name, &format!("{here}/callback"), hook.as_deref());
    let html = form(&target, &manifest.to_string());
    let file = wish.output.join("github-app.html");
    std::fs::create_dir_all(&wish.output).and_then(|()| std::fs::write(&file, &html)).context("--output")?;
    print::out(&format!(
        "Open {here}/ in your browser and agree there.\nNo browser on this machine? Open {} on another one, agree, and paste \
         the code that is in the address afterwards.\n",
        file.display()
    ))?;
    let (codes, mut told) = mpsc::channel(4);
    if wish.questions.open() {
        listen(codes.clone(), state.clone());
    }
    let page = Page { html: html.into(), state: state.into(), codes };
    let router = Router::new().route("/", get(shown)).route("/callback", get(back)).with_state(page);
    let code = tokio::select! {
        served = axum::serve(listener, router).into_future() => bail!("the page cannot be served: {served:?}"),
        code = timeout(PATIENCE, told.recv()) => code.ok().flatten().ok_or_else(|| anyhow!("nobody agreed within an hour"))?,
    };
    let dial = over_the_network(sight.platforms.clone(), Arc::new(Unmetered));
    let client = dial("github", site.api(), &ci.trust).context("--ci")?;
    let made = github::convert(&site, &client, &code).await?;
    // It is of no use any more.
    let _ = std::fs::remove_file(&file);
    Ok(made)
}

async fn shown(State(page): State<Page>) -> Html<String> {
    Html(page.html.to_string())
}

/// Where GitHub sends the browser. What somebody else's page sends there has not our state in it.
async fn back(State(page): State<Page>, uri: Uri) -> Html<&'static str> {
    let query = uri.query().unwrap_or_default();
    if value(query, "state").as_deref() != Some(&*page.state) {
        return Html("<p>This is not the answer to what was asked here. Go back and begin again.</p>");
    }
    let Some(code) = value(query, "code") else { return Html("<p>GitHub sent no code. Go back and begin again.</p>") };
    match page.codes.try_send(code) {
        Ok(()) => Html("<p>Good. Go on in the terminal.</p>"),
        Err(_) => Html("<p>That was said already.</p>"),
    }
}

fn value(query: &str, name: &str) -> Option<String> {
    let found = query.split('&').filter_map(|pair| pair.split_once('=')).find(|(key, _)| *key == name)?;
    Some(percent_decode_str(found.1).decode_utf8_lossy().into_owned())
}

/// Takes codes from the terminal: alone, or in the whole address.
fn listen(codes: mpsc::Sender<String>, state: String) {
    // A thread, since nobody may ever type anything, and no runtime waits for it.
    std::thread::spawn(move || {
        for line in std::io::stdin().lines().map_while(Result::ok) {
            let code = pasted(line.trim(), &state);
            match code {
                Some(code) => {
                    let _ = codes.blocking_send(code);
                    return;
                }
                None => {
                    print::note("That is not the answer to what was asked here: paste the code, or the whole address.");
                }
            }
        }
    });
}

/// The code in what was pasted.
fn pasted(line: &str, state: &str) -> Option<String> {
    match line.split_once('?') {
        Some((_, query)) if value(query, "state").is_none_or(|told| told == state) => value(query, "code"),
        Some(_) => None,
        None => (!line.is_empty()).then(|| line.trim_start_matches("code=").to_owned()),
    }
}

/// A page with one button; it needs no script.
fn form(target: &str, manifest: &str) -> String {
    let plain =
        |text: &str| text.replace('&', "&amp;").replace('"', "&quot;").replace('<', "&lt;").replace('>', "&gt;");
    format!(
        "<!doctype html>\n<meta charset=\"utf-8\">\n<title>A GitHub App for HyperFleet</title>\n<h1>A GitHub App for \
         HyperFleet</h1>\n<p>GitHub shows what the App may do, and asks you.</p>\n<form action=\"{}\" method=\"post\">\n<input \
         type=\"hidden\" name=\"manifest\" value=\"{}\">\n<button>Go on at GitHub</button>\n</form>\n",
        plain(target),
        plain(manifest)
    )
}

/// The platform, to whom we are the App.
fn as_app(ci: &Ci, sight: &Sight, (id, key, installation): (&str, &SecretString, u64)) -> anyhow::Result<GitHub> {
    let dial = over_the_network(sight.platforms.clone(), Arc::new(Unmetered));
    let (trust, clock) = (ci.trust.clone(), sight.clock);
    let settings = github::Settings {
        site: Site::parse(&ci.url).context("--ci")?,
        scope: scope(ci),
        credentials: github::Credentials::App { id: id.to_owned(), key: key.clone(), installation },
        group: None,
        sessions: false,
        budget: None,
        now: Arc::new(move || clock.now()),
    };
    let connect = move |host: &str| {
        dial("github", host, &trust)
            .map_err(|error| providers::platform::Error::Invalid { what: "the address", detail: error.to_string() })
    };
    Ok(GitHub::new(settings, Arc::new(connect))?)
}

/// Leads the App's webhook to an address.
pub(super) async fn lead(ci: &Ci, sight: &Sight, app: (&str, &SecretString, u64), address: &str) -> anyhow::Result<()> {
    Ok(as_app(ci, sight, app)?.lead_hook(address).await?)
}

/// Waits until somebody has installed the App, whose page is told if it is known; the installation's number.
pub(super) async fn installed(
    ci: &Ci,
    sight: &Sight,
    (id, key): (&str, &SecretString),
    page: Option<&str>,
) -> anyhow::Result<u64> {
    let github = as_app(ci, sight, (id, key, 0))?;
    let deadline = Instant::now() + PATIENCE;
    let mut told = false;
    loop {
        let pause = match github.find_installation().await {
            Ok(Some(number)) => return Ok(number),
            Ok(None) => {
                if !told {
                    install(page)?;
                    told = true;
                }
                PAUSE
            }
            Err(error) => {
                let pause = passing(&error).ok_or_else(|| error.clone())?;
                print::note(&format!("It is not known yet whether the App is installed: {error}"));
                pause
            }
        };
        if Instant::now() > deadline {
            bail!("the App was not installed within an hour: install it, then run this again");
        }
        sleep(pause).await;
    }
}

/// Says where the App is installed, in this run or in the one that goes on from here.
fn install(page: Option<&str>) -> anyhow::Result<()> {
    let place =
        page.map_or_else(|| "in its settings, Install App".to_owned(), |page| format!("{page}/installations/new"));
    print::out(&format!("Install it: {place}\n"))?;
    print::note("Waiting until it is installed; Ctrl-C and a second run go on from here.");
    Ok(())
}

/// How long to wait after an error that may pass by itself; nothing for one that does not.
fn passing(error: &Error) -> Option<Duration> {
    match (error, error.class()) {
        // Somebody else may be answering: a person has to look.
        (Error::Untrusted { .. }, _) | (_, Class::Refused) => None,
        (_, Class::Throttled(wait)) => Some(wait.max(PAUSE)),
        (_, Class::Conflict | Class::Unavailable) => Some(PAUSE),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_pasted_alone_or_in_its_address() {
        let whole = "http://127.0.0.1:1/callback?code=abc&state=s1";
        assert_eq!(pasted("abc", "s1").as_deref(), Some("abc"));
        assert_eq!(pasted("code=abc", "s1").as_deref(), Some("abc"));
        assert_eq!(pasted(whole, "s1").as_deref(), Some("abc"));
        assert_eq!(pasted(whole, "s2"), None);
        assert_eq!(pasted("", "s1"), None);
    }

    #[test]
    fn one_bad_answer_does_not_end_the_wait_and_a_refusal_does() {
        let transient = Error::Transient { detail: "502".to_owned() };
        let limited = Error::RateLimited { bucket: providers::platform::Bucket::Core, wait: Duration::from_mins(1) };
        assert_eq!((passing(&transient), passing(&limited)), (Some(PAUSE), Some(Duration::from_mins(1))));
        assert_eq!(passing(&Error::Auth { detail: "no".to_owned() }), None);
        assert_eq!(passing(&Error::Untrusted { detail: "no".to_owned() }), None);
    }

    #[test]
    fn the_page_keeps_the_manifest_together() {
        let page = form("https://github.com/x?state=1&a=b", "{\"name\":\"a<b\"}");
        assert!(page.contains("action=\"https://github.com/x?state=1&amp;a=b\""), "{page}");
        assert!(page.contains("value=\"{&quot;name&quot;:&quot;a&lt;b&quot;}\""), "{page}");
    }
}
