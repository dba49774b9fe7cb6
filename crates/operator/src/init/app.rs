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
use providers::platform::github::{self, GitHub, NewApp, Scope, Site};
use secrecy::SecretString;
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep, timeout};

use super::Wish;
use super::wish::{Ci, somebody};
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
    let manifest = github::manifest(&scope(ci), &name, &format!("{here}/callback"), ci.webhook.as_deref());
    let html = form(&target, &manifest.to_string());
    let file = wish.output.join("github-app.html");
    std::fs::create_dir_all(&wish.output).and_then(|()| std::fs::write(&file, &html)).context("--output")?;
    print::out(&format!(
        "Open {here}/ in your browser and agree there.\nNo browser on this machine? Open {} on another one, agree, and paste \
         the code that is in the address afterwards.\n",
        file.display()
    ))?;
    let (codes, mut told) = mpsc::channel(4);
    if somebody() {
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

/// Waits until somebody has installed the App; the installation's number.
pub(super) async fn installed(ci: &Ci, sight: &Sight, id: &str, key: &SecretString) -> anyhow::Result<u64> {
    let dial = over_the_network(sight.platforms.clone(), Arc::new(Unmetered));
    let (trust, clock) = (ci.trust.clone(), sight.clock);
    let settings = github::Settings {
        site: Site::parse(&ci.url).context("--ci")?,
        scope: scope(ci),
        credentials: github::Credentials::App { id: id.to_owned(), key: key.clone(), installation: 0 },
        group: None,
        sessions: false,
        budget: None,
        now: Arc::new(move || clock.now()),
    };
    let connect = move |host: &str| {
        dial("github", host, &trust)
            .map_err(|error| providers::platform::Error::Invalid { what: "the address", detail: error.to_string() })
    };
    let github = GitHub::new(settings, Arc::new(connect))?;
    let deadline = Instant::now() + PATIENCE;
    let mut told = false;
    loop {
        if let Some(number) = github.find_installation().await? {
            return Ok(number);
        }
        if Instant::now() > deadline {
            bail!("the App was not installed within an hour: install it, then run this again");
        }
        if !told {
            print::note("Waiting until it is installed; Ctrl-C and a second run go on from here.");
            told = true;
        }
        sleep(PAUSE).await;
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
    fn the_page_keeps_the_manifest_together() {
        let page = form("https://github.com/x?state=1&a=b", "{\"name\":\"a<b\"}");
        assert!(page.contains("action=\"https://github.com/x?state=1&amp;a=b\""), "{page}");
        assert!(page.contains("value=\"{&quot;name&quot;:&quot;a&lt;b&quot;}\""), "{page}");
    }
}
