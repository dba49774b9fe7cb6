//! A GitHub App by GitHub's manifest flow: a page on this machine posts the manifest, GitHub sends the browser back with a
//! code, the code is exchanged for the key.
//!
//! Where no browser is at hand the page is a file, too: it can be opened anywhere, and the code be pasted here.

use std::sync::Arc;

use anyhow::{Context, anyhow, bail};
use axum::Router;
use axum::extract::State;
use axum::http::Uri;
use axum::response::Html;
use axum::routing::get;
use percent_encoding::percent_decode_str;
use providers::http::Client;
use providers::platform::Error;
use providers::platform::github::{self, Account, NewApp, Site};
use tokio::net::TcpListener;
use tokio::sync::mpsc;
use tokio::time::{sleep, timeout};

use super::{PATIENCE, passing, scope};
use crate::chance::real_chance;
use crate::doctor::Sight;
use crate::init::wish::Ci;
use crate::init::{Wish, owner};
use crate::print;

/// What the page knows.
#[derive(Clone)]
struct Page {
    html: Arc<str>,
    state: Arc<str>,
    codes: mpsc::Sender<String>,
}

/// Has a person make the App; what GitHub tells of it.
pub(in crate::init) async fn create(wish: &Wish, ci: &Ci, sight: &Sight) -> anyhow::Result<NewApp> {
    // What a person agrees to is lost if nobody can fetch it.
    let (site, client) = owner::reach(ci, sight)?;
    let personal = is_personal(wish, ci, &site, &client).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await.context("no port on this machine is free")?;
    let here = format!("http://{}", listener.local_addr()?);
    let mut bytes = [0; 16];
    real_chance()(&mut bytes);
    let state = providers::hex::encode(&bytes);
    let target = github::manifest_page(&site, (!personal).then(|| ci.owner()), &state);
    let name = format!("hyperfleet-{}", ci.owner());
    // Where webhooks go in the end holds the uid of a source that does not exist yet.
    let hook = ci.webhook.as_ref().map(|address| format!("{address}/webhooks/"));
    let manifest = github::manifest(&scope(ci), &name, &format!("{here}/callback"), hook.as_deref());
    let html = form(&target, &manifest.to_string());
    let file = wish.output.join("github-app.html");
    std::fs::write(&file, &html).context("--output")?;
    let (codes, told) = mpsc::channel(4);
    print::out(&format!("Open {here}/ in your browser and agree there.\n"))?;
    if wish.questions.open() {
        print::out(&format!(
            "No browser on this machine? Open {} on another one, agree, and paste the code that is in the address afterwards.\n",
            file.display()
        ))?;
        listen(codes.clone(), state.clone());
    }
    let page = Page { html: html.into(), state: state.into(), codes };
    let router = Router::new().route("/", get(shown)).route("/callback", get(back)).with_state(page);
    let made = tokio::select! {
        served = axum::serve(listener, router).into_future() => bail!("the page cannot be served: {served:?}"),
        made = timeout(PATIENCE, exchanged(&site, &client, told)) => made.context("nobody agreed within an hour")??,
    };
    // It is of no use any more.
    let _ = std::fs::remove_file(&file);
    Ok(made)
}

/// Whether a person's account is to have the App, as far as GitHub, a flag or somebody at the terminal says it.
async fn is_personal(wish: &Wish, ci: &Ci, site: &Site, client: &Client) -> anyhow::Result<bool> {
    let account = github::account(site, client, ci.owner()).await;
    match account.with_context(|| format!("--ci: {}", ci.url))? {
        Some(Account::Person) => Ok(true),
        Some(Account::Organization) => Ok(false),
        None if ci.personal || ci.scope.len() == 1 => Ok(ci.personal),
        None => wish.questions.agrees(&format!("Is {} a person, not an organization? Type yes or no: ", ci.owner())),
    }
}

/// The App of the first code that is good. What goes wrong on the way does not cost it: it was agreed to.
async fn exchanged(site: &Site, client: &Client, mut codes: mpsc::Receiver<String>) -> anyhow::Result<NewApp> {
    while let Some(code) = codes.recv().await {
        loop {
            let error = match github::convert(site, client, &code).await {
                Ok(made) => return Ok(made),
                Err(error) => error,
            };
            if let Error::Invalid { .. } = error {
                print::note(&format!("{error}. Still waiting for one that is good."));
                break;
            }
            let lost = "the App may be made: delete it in its settings, then run this again";
            let pause = passing(&error).ok_or_else(|| anyhow!(error.clone()).context(lost))?;
            print::note(&format!("The new App cannot be fetched yet: {error}"));
            sleep(pause).await;
        }
    }
    bail!("nobody is there to send a code")
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
                    if codes.blocking_send(code).is_err() {
                        return;
                    }
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
