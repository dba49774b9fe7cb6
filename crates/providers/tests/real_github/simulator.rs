//! `hyperfleet-sim github`, with a certificate of its own authority.

use std::process::{Command, Stdio};

use http::Method;
use providers::http::Trust;
use providers::platform::github::{Credentials, GitHub, Scope};
use providers::platform::{
    Error, Grant, JobResult, JobState, Marker, Mode, Platform as _, Removal, RunnerState, Session,
};
use rstest::rstest;
use secrecy::ExposeSecret as _;
use serde_json::json;
use sim::github::{CLIENT_ID, ENTERPRISE, INSTALLATION_ID, ORGANIZATION, PERSONAL_TOKEN};
use tempfile::TempDir;
use testenv::Program;

use crate::ground::{Ground, PATIENCE, Wishes, beside, news, order, proven, queue};

/// Where GitHub is said to be.
#[derive(Clone, Copy, Debug)]
enum Address {
    /// Where it listens: an Enterprise Server, with its API below `/api/v3`.
    Server,
    /// At github.com, with its API at a host of its own.
    Hosted,
}

#[derive(Clone, Copy, Debug)]
enum Caller {
    App,
    Token,
}

struct Place {
    ground: Ground,
    files: TempDir,
}

impl Place {
    async fn new() -> Self {
        let files = tempfile::tempdir().unwrap();
        let mut command = Command::new(beside("hyperfleet-sim"));
        command.args(["github", "--listen", "127.0.0.1:0", "--faster", "50"]);
        command.arg("--ca-file").arg(files.path().join("ca.pem"));
        command.arg("--app-key-file").arg(files.path().join("app.pem"));
        let mut ground = Ground::start(&command, "GitHub at ").await;
        ground.trust = Trust::Bundle(std::fs::read(files.path().join("ca.pem")).unwrap());
        Self { ground, files }
    }

    fn github(&self, address: Address, scope: Scope, caller: Caller, wishes: Wishes) -> GitHub {
        let credentials = match caller {
            Caller::Token => Credentials::Token(PERSONAL_TOKEN.into()),
            Caller::App => Credentials::App {
                id: CLIENT_ID.to_owned(),
                key: std::fs::read_to_string(self.files.path().join("app.pem")).unwrap().into(),
                installation: INSTALLATION_ID,
            },
        };
        let address = match address {
            Address::Server => self.ground.web.as_str(),
            Address::Hosted => "https://github.com",
        };
        self.ground.github(address, scope, credentials, wishes)
    }

    /// A runner with what it was granted, as a program.
    fn run(&self, grant: &Grant) -> Program {
        let mut command = Command::new(beside("hyperfleet-sim"));
        command.args(["runner", "run"]).current_dir(self.files.path()).stdin(Stdio::null());
        command.env("SSL_CERT_FILE", self.files.path().join("ca.pem"));
        command.env("ACTIONS_RUNNER_INPUT_JITCONFIG", grant.credential.expose_secret());
        Program::start(&command)
    }
}

fn organization() -> Scope {
    Scope::Organization(ORGANIZATION.to_owned())
}

fn repository() -> Scope {
    Scope::Repository { owner: ORGANIZATION.to_owned(), name: "widgets".to_owned() }
}

fn enterprise() -> Scope {
    Scope::Enterprise(ENTERPRISE.to_owned())
}

#[rstest]
#[case::app_of_an_organization_of_a_server(Address::Server, Caller::App, organization())]
#[case::app_of_a_repository(Address::Hosted, Caller::App, repository())]
#[case::token_of_an_enterprise_of_a_server(Address::Server, Caller::Token, enterprise())]
#[case::token_of_an_enterprise(Address::Hosted, Caller::Token, enterprise())]
#[tokio::test]
async fn r5_1_a_job_is_heard_of_and_served_over_tls(
    #[case] address: Address,
    #[case] caller: Caller,
    #[case] scope: Scope,
) {
    let place = Place::new().await;
    let github = place.github(address, scope, caller, Wishes { sessions: true, ..Wishes::default() });
    let health = github.validate().await.unwrap();
    assert_eq!(health.missing, []);
    let wanted = queue("pool", "test");
    let mut session = github.open_session(&wanted).await.unwrap();
    let job = json!({ "jobs": [{ "name": "build", "labels": ["pool"], "seconds": 0.2 }] });
    place.ground.control(Method::POST, "/sim/runs", &job).await;
    assert_eq!(news(&mut session).await.jobs[0].state, JobState::Queued);
    let order = order(1, Some(wanted));
    let grant = github.mint(&order, &proven(&order.machine), jiff::Timestamp::UNIX_EPOCH).await.unwrap();
    let listed = github.registrations(&Marker::of("5e3c1b6a")).await.unwrap();
    assert_eq!(listed.runners, [(grant.runner.clone(), RunnerState::Offline)]);
    let runner = place.run(&grant);
    let begun = news(&mut session).await;
    assert_eq!((begun.jobs[0].state, begun.jobs[0].runner.as_deref()), (JobState::Running, Some(order.name.as_str())));
    assert_eq!(news(&mut session).await.jobs[0].state, JobState::Done(JobResult::Succeeded));
    assert!(runner.wait(PATIENCE).await.success(), "{}", runner.output());
    assert_eq!(github.deregister(&grant.runner, Mode::IfIdle).await, Ok(Removal::Gone));
    session.close().await.unwrap();
}

#[tokio::test]
async fn r5_1_an_enterprise_registers_runners_without_scale_sets() {
    let place = Place::new().await;
    for address in [Address::Server, Address::Hosted] {
        let github = place.github(address, enterprise(), Caller::Token, Wishes::default());
        assert_eq!(github.validate().await.unwrap().missing, [], "{address:?}");
        let order = order(1, None);
        let grant = github.mint(&order, &proven(&order.machine), jiff::Timestamp::UNIX_EPOCH).await.unwrap();
        assert_eq!(github.state(&grant.runner).await, Ok(RunnerState::Offline));
        assert_eq!(github.deregister(&grant.runner, Mode::IfIdle).await, Ok(Removal::Gone));
        let app = place.github(address, enterprise(), Caller::App, Wishes::default());
        let missing = format!("{:?}", app.validate().await.unwrap().missing);
        assert!(missing.contains("credentials.pat") && missing.contains("use a token"), "{missing}");
    }
}

#[tokio::test]
async fn a_certificate_that_nobody_vouches_for_is_told_with_the_field_to_set() {
    let place = Place::new().await;
    let other = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let printed = place.ground.program.wait_for_line("fingerprint is ", PATIENCE).await;
    let pin = printed.rsplit(' ').next().unwrap().parse().unwrap();
    let with = |trust| Wishes { trust: Some(trust), ..Wishes::default() };
    let wrong =
        [Trust::System, Trust::Bundle(other.cert.pem().into_bytes()), Trust::Pinned("00".repeat(32).parse().unwrap())];
    for trust in wrong {
        let github = place.github(Address::Server, organization(), Caller::Token, with(trust));
        let refused = github.validate().await.unwrap_err();
        let text = refused.to_string();
        assert!(matches!(refused, Error::Untrusted { .. }), "{text}");
        assert!(text.contains("certificate is not trusted") && text.contains("spec.tls.caCertificate"), "{text}");
    }
    let github = place.github(Address::Server, organization(), Caller::Token, with(Trust::Pinned(pin)));
    assert_eq!(github.validate().await.unwrap().missing, []);
}
