//! The servers that a fleet moves between, and what people do with them: `hyperfleet up`; a server of ours behind TLS whose
//! operator is a process of its own; and a real one.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use api::MachineClaim;
use apiserver::access::{Authenticator, Signer};
use apiserver::{ApiServer, Options, User};
use chassis::{Clock, Tasks};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::{ListParams, PostParams};
use kube::config::{KubeConfigOptions, Kubeconfig};
use kube::{Api, Client};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::{Value, json};
use testenv::{ControlPlane, Output, Program, eventually, free_port};
use tokio::net::TcpListener;

use crate::works::SOON;

/// One API server of the two.
pub(crate) struct Server {
    pub(crate) kubeconfig: PathBuf,
    pub(crate) client: Client,
    pub(crate) namespace: String,
    _home: Option<tempfile::TempDir>,
    _tasks: Tasks,
}

impl Server {
    /// A server of ours with our kinds and one namespace.
    pub(crate) async fn ours(namespace: &str) -> Self {
        let (token, tasks) = ("an-administrator-in-tests", Tasks::new());
        let admin = User { uid: "admin".to_owned(), ..User::new("admin", &["system:masters"]) };
        let signer = Signer::new("https://kubernetes.default.svc.cluster.local", vec![6; 32].into());
        let options = Options {
            authenticator: Authenticator::new(signer, [(token.into(), admin.clone())]),
            ..Options::in_memory(Clock::system(), [6; 32])
        };
        let server = ApiServer::new(options).unwrap();
        let definitions = Api::all(Client::new(server.door(admin), "default"));
        for definition in api::crds() {
            definitions.create(&PostParams::default(), &definition).await.unwrap();
        }
        let (tls, ca) = tls();
        let address = server.listen(TcpListener::bind("127.0.0.1:0").await.unwrap(), tls, &tasks).unwrap();
        let home = tempfile::tempdir().unwrap();
        let (kubeconfig, authority) = (home.path().join("kubeconfig"), home.path().join("ca.pem"));
        let config = json!({
            "apiVersion": "v1", "kind": "Config", "current-context": "test",
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
            "clusters": [{ "name": "test", "cluster": {
                "server": format!("https://{address}"), "certificate-authority": authority,
            } }],
            "users": [{ "name": "test", "user": { "token": token } }],
        });
        std::fs::write(&authority, ca).unwrap();
        std::fs::write(&kubeconfig, config.to_string()).unwrap();
        let file = Kubeconfig::read_from(&kubeconfig).unwrap();
        let config = kube::Config::from_custom_kubeconfig(file, &KubeConfigOptions::default()).await.unwrap();
        let client = Client::try_from(config).unwrap();
        let object: Namespace = serde_json::from_value(json!({ "metadata": { "name": namespace } })).unwrap();
        Api::all(client.clone()).create(&PostParams::default(), &object).await.unwrap();
        Self { kubeconfig, client, namespace: namespace.to_owned(), _home: Some(home), _tasks: tasks }
    }

    /// `hyperfleet up`, whose operator is told what this one is told, and a namespace.
    pub(crate) async fn up(operator: &Command, namespace: &str) -> (Self, Program) {
        let place = tempfile::tempdir().unwrap();
        let folder = place.path().canonicalize().unwrap().join("up");
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        command.arg("up").arg(format!("--data-dir={}", folder.display()));
        command.arg(format!("--listen=127.0.0.1:{}", free_port().unwrap()));
        let particular = ["--watch-namespaces", "--leader-elect"];
        let told = operator
            .get_args()
            .skip(1)
            .filter(|flag| !particular.iter().any(|particular| flag.to_string_lossy().starts_with(particular)));
        command.args(told);
        command.envs(operator.get_envs().filter_map(|(name, value)| Some((name, value?))));
        command.env_remove("KUBECONFIG").env_remove("POD_NAMESPACE");
        let program = Program::start(&command);
        let kubeconfig = folder.join("kubeconfig");
        let client = async || {
            let read = Kubeconfig::read_from(&kubeconfig).ok()?;
            let config = kube::Config::from_custom_kubeconfig(read, &KubeConfigOptions::default()).await.ok()?;
            let client = Client::try_from(config).ok()?;
            client.apiserver_version().await.is_ok().then_some(client)
        };
        let answers = tokio::time::timeout(SOON, eventually("the API answers", SOON * 2, client)).await;
        let Ok(client) = answers else { panic!("{}", program.output()) };
        let namespace = namespace.to_owned();
        let server = Self { kubeconfig, client, namespace, _home: Some(place), _tasks: Tasks::new() };
        server.kubectl(&["create", "namespace", &server.namespace], "").await;
        (server, program)
    }

    /// The real one.
    pub(crate) fn real(plane: &ControlPlane, namespace: &str) -> Self {
        let (kubeconfig, client) = (plane.kubeconfig(), plane.client());
        Self { kubeconfig, client, namespace: namespace.to_owned(), _home: None, _tasks: Tasks::new() }
    }

    /// A person uses kubectl here, and is not told off.
    pub(crate) async fn kubectl(&self, arguments: &[&str], input: &str) -> String {
        let output = self.tries(arguments, input).await;
        assert!(output.success(), "{output:?}");
        output.stdout
    }

    /// A person uses kubectl here.
    pub(crate) async fn tries(&self, arguments: &[&str], input: &str) -> Output {
        let plane = testenv::shared().await;
        let kubeconfig = format!("--kubeconfig={}", self.kubeconfig.display());
        let all: Vec<&str> =
            [&*kubeconfig, "-n", &self.namespace].into_iter().chain(arguments.iter().copied()).collect();
        plane.kubectl_with_input(&all, input).await
    }

    pub(crate) async fn apply(&self, objects: &[Value]) {
        let texts: Vec<String> = objects.iter().map(ToString::to_string).collect();
        self.kubectl(&["apply", "-f", "-"], &texts.join("\n---\n")).await;
    }

    /// A person uses our program here; how it ended and what it said.
    pub(crate) async fn hyperfleet(&self, arguments: &[&str]) -> (bool, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_hyperfleet"));
        command.args(arguments).env("KUBECONFIG", &self.kubeconfig);
        let program = Program::start(&command);
        let ended = program.wait(SOON).await;
        (ended.success(), program.output())
    }

    /// The same, which must end well.
    pub(crate) async fn does(&self, arguments: &[&str]) -> String {
        let (well, said) = self.hyperfleet(arguments).await;
        assert!(well, "{arguments:?}: {said}");
        said
    }

    pub(crate) async fn export(&self, file: &Path) -> String {
        let namespace = self.namespace.as_str();
        self.does(&["export", "--freeze", "-n", namespace, "--operator-namespace", namespace, "-o", &text(file)]).await
    }

    pub(crate) async fn claims(&self) -> Vec<MachineClaim> {
        let claims: Api<MachineClaim> = Api::namespaced(self.client.clone(), &self.namespace);
        claims.list(&ListParams::default()).await.unwrap().items
    }

    /// Waits until so many claims are in this phase.
    pub(crate) async fn phase(&self, phase: &str, count: usize, said: impl Fn() -> String) {
        let reached = async || {
            let claims = self.claims().await;
            let there = claims.iter().filter_map(|claim| claim.status.as_ref()?.phase);
            (there.filter(|there| there.as_str() == phase).count() == count).then_some(())
        };
        let what = format!("{count} claims are {phase}");
        let waited = tokio::time::timeout(SOON, eventually(&what, SOON * 2, reached)).await;
        assert!(waited.is_ok(), "{:#?}\n{}", self.claims().await, said());
    }
}

pub(crate) fn text(path: &Path) -> String {
    path.display().to_string()
}

fn tls() -> (Arc<rustls::ServerConfig>, String) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).unwrap();
    let chain = vec![CertificateDer::from_pem_slice(made.cert.pem().as_bytes()).unwrap()];
    let key = PrivateKeyDer::from_pem_slice(made.signing_key.serialize_pem().as_bytes()).unwrap();
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
    let config = config.with_no_client_auth().with_single_cert(chain, key).unwrap();
    (Arc::new(config), made.cert.pem())
}
