//! What went wrong, by what Gitea says.

use std::time::Duration;

use rstest::rstest;

use super::*;
use crate::platform::{Bucket, Missing};

fn said(message: &str) -> Value {
    json!({ "message": message, "url": "https://git.example.com/api/swagger" })
}

#[rstest]
#[case(401, said("invalid username, password or token"),
    Error::Auth { detail: "invalid username, password or token".to_owned() })]
#[case(403, said("no"), Error::Permission { what: "list jobs", detail: "no".to_owned() })]
#[case(404, said("not found"), Error::NotFound { object: "what a list of jobs is about".to_owned() })]
#[case(400, said("Invalid status x"), Error::Invalid { what: "a list of jobs", detail: "Invalid status x".to_owned() })]
#[case(429, Value::Null, Error::RateLimited { bucket: Bucket::Core, wait: Duration::from_mins(1) })]
#[case(500, said("oops"), Error::Transient { detail: "500: oops".to_owned() })]
#[case(502, Value::Null, Error::Transient { detail: "502: Bad Gateway".to_owned() })]
#[case(418, Value::Null, Error::Protocol { detail: "418: I'm a teapot".to_owned() })]
#[tokio::test]
async fn an_answer_that_is_no_success_is_told_for_what_it_is(
    #[case] status: u16,
    #[case] body: Value,
    #[case] wanted: Error,
) {
    assert_eq!(Scripted::new([(status, body)]).gitea(organization()).poll(now()).await, Err(wanted));
}

#[tokio::test]
async fn what_is_no_json_is_no_gitea() {
    let answer = Scripted::new([(200, json!("<html>"))]).gitea(organization()).poll(now()).await;
    assert!(matches!(answer, Err(Error::Protocol { .. })), "{answer:?}");
}

#[test]
fn no_token_is_shown() {
    let settings =
        GiteaSettings { url: "https://git.example.com".to_owned(), scope: organization(), token: TOKEN.into() };
    assert!(!format!("{settings:?}").contains(TOKEN));
    let broken = GiteaSettings { token: format!("{TOKEN}\n{TOKEN}").into(), ..settings };
    let service =
        service_fn(|_: Request<Full<Bytes>>| async { Ok::<Response<Full<Bytes>>, Infallible>(Response::default()) });
    let error = Gitea::new(&broken, Client::over("gitea", service)).err().expect("no header can carry it");
    assert!(matches!(error, Error::Auth { .. }) && !error.to_string().contains(TOKEN), "{error}");
}

fn version(text: &str) -> (u16, Value) {
    (200, json!({ "version": text }))
}

fn token() -> (u16, Value) {
    (200, json!({ "token": "the registration token" }))
}

fn fine() -> (u16, Value) {
    (200, json!({ "anything": [] }))
}

#[rstest]
#[case("1.25.0", true)]
#[case("1.26.2", true)]
#[case("1.26.0+rc0-12-gabc", true)]
#[case("2.0.0", true)]
#[case("development", true)]
#[case("1.24.7", false)]
#[case("1.9.0", false)]
#[tokio::test]
async fn only_a_version_that_lists_jobs_is_new_enough(#[case] text: &str, #[case] enough: bool) {
    let mut answers = vec![version(text)];
    if enough {
        answers.extend([token(), fine(), fine()]);
    }
    let server = Scripted::new(answers);
    let health = server.gitea(organization()).validate().await.unwrap();
    assert_eq!(health.version.as_deref(), Some(text));
    let too_old = matches!(health.missing[..], [Missing::Version { at_least: "1.25", .. }]);
    assert_eq!((health.missing.is_empty(), too_old), (enough, !enough));
    server.made();
}

#[tokio::test]
async fn forgejo_is_told_from_gitea() {
    let health = Scripted::new([version("15.0.1+gitea-1.22.0")]).gitea(organization()).validate().await.unwrap();
    assert!(matches!(&health.missing[..], [Missing::Setting { field: "platform", .. }]), "{health:?}");
}

#[tokio::test]
async fn a_scope_that_the_token_lacks_is_named_with_where_to_get_it() {
    let words =
        "token does not have at least one of required scope(s), required=[write:organization], token scope=read:user";
    let health = Scripted::new([version("1.26.2"), (403, said(words)), fine(), fine()]).gitea(organization());
    let missing = health.validate().await.unwrap().missing;
    let [Missing::Permission { name, remedy }] = &missing[..] else { panic!("{missing:?}") };
    assert_eq!(name, "write:organization");
    assert!(remedy.contains("register runners") && remedy.contains("Applications"), "{remedy}");
}

#[tokio::test]
async fn a_user_who_is_no_owner_is_told_to_become_one() {
    let answers = [version("1.26.2"), (403, said("Must be an organization owner")), fine(), fine()];
    let missing = Scripted::new(answers).gitea(organization()).validate().await.unwrap().missing;
    let [Missing::Permission { name, remedy }] = &missing[..] else { panic!("{missing:?}") };
    assert_eq!(name, "owner of organization fleet");
    assert!(remedy.contains("Must be an organization owner") && remedy.contains("write:organization"), "{remedy}");
}

#[tokio::test]
async fn a_scope_that_is_not_there_is_a_wrong_setting() {
    let answers = [version("1.26.2"), (404, said("not found")), (404, said("not found")), fine()];
    let missing = Scripted::new(answers).gitea(organization()).validate().await.unwrap().missing;
    assert!(matches!(&missing[..], [Missing::Setting { field: "gitea.scope", .. }]), "{missing:?}");
}

#[tokio::test]
async fn a_repository_needs_no_other_permission_than_its_own() {
    let server = Scripted::new([version("1.26.2"), token(), fine()]);
    let scope = GiteaScope::Repository { owner: "fleet".to_owned(), name: "demo".to_owned() };
    assert_eq!(server.gitea(scope).validate().await.unwrap().missing, []);
    let paths: Vec<_> = server.made().into_iter().map(|(method, path, _)| format!("{method} {path}")).collect();
    assert_eq!(
        paths,
        [
            "GET /api/v1/version",
            "POST /api/v1/repos/fleet/demo/actions/runners/registration-token",
            "GET /api/v1/repos/fleet/demo/actions/jobs?limit=1"
        ]
    );
}
