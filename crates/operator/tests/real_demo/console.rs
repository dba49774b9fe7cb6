//! The console of a demo, in a browser.

use std::path::Path;

use testenv::Signal;

use crate::browser::Browser;
use crate::stand::{SOON, Stand};
use crate::typed::shell;

const VIEWS: [&str; 5] = ["queue", "vms", "timelines", "clusters", "overview"];

async fn go(browser: &Browser, view: &str) {
    browser.click(&format!("nav a[href='#/{view}']")).await;
    browser.until(&format!("!document.getElementById('{view}').hidden")).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_link_of_a_demo_shows_what_has_happened_and_what_happens_then() {
    let stand = Stand::new();
    let program = stand.start("--jobs 3 --speed 3 --keep");
    let export = program.wait_for_line("export KUBECONFIG=", SOON).await;
    let kubeconfig = Path::new(export.rsplit_once('=').unwrap().1).to_owned();
    let told = program.wait_for_line("console      http://127.0.0.1:", SOON).await;
    let link = told.split_whitespace().last().unwrap();
    let browser = Browser::start().await;
    browser.open(link.split("/console/").next().unwrap(), (1280, 800), "light").await;
    browser.goto(link).await;
    browser.until("document.getElementById('link-text').textContent === 'Live'").await;
    for view in VIEWS {
        go(&browser, view).await;
        browser.is_accessible(view).await;
    }
    go(&browser, "timelines").await;
    browser.until("shown.jobs().length === 3 && shown.bar('queued', 'clone', 'busy')").await;
    go(&browser, "clusters").await;
    browser.until("shown.clusters()[0]?.[1].startsWith('connected') && shown.clusters()[0][2].length === 3").await;
    browser.until("document.querySelector('#clusters-list').textContent.includes('Memory free768 GiB')").await;
    let scale = move || shell(&kubeconfig, "kubectl scale runnerpool linux-x64 --replicas=2");
    let (well, said) = tokio::task::spawn_blocking(scale).await.unwrap();
    assert!(well, "{said}");
    go(&browser, "vms").await;
    browser.until("shown.vms().filter(([, phase]) => phase === 'Ready').length === 2").await;
    go(&browser, "overview").await;
    // Name, wanted, there, busy, waiting, at most.
    browser.until("shown.pools().some(([name, ...numbers]) => name === 'linux-x64' && numbers[1] === 2)").await;
    browser.shot("demo-overview-desktop-light").await;
    browser.is_clean().await;
    program.signal(Signal::Interrupt);
    assert_eq!(program.wait(SOON).await.code(), Some(130), "{}", program.output());
    assert!(stand.left().is_empty(), "{:?} is left", stand.left());
}
