//! The server in process behind TLS: the one place that starts it.

use std::path::PathBuf;
use std::sync::Arc;

use apiserver::access::{Authenticator, Signer};
use apiserver::{ApiServer, Options, User};
use chassis::{Clock, Tasks};
use kube::api::PostParams;
use kube::{Api, Client};
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use serde_json::json;
use tokio::net::TcpListener;

/// A server that ends with this value, and how kubectl becomes its administrator.
pub struct Ours {
    pub kubeconfig: PathBuf,
    _home: tempfile::TempDir,
    _tasks: Tasks,
}

/// A fresh server of ours on a port of its own, with the definitions.
pub async fn start() -> Ours {
    let token = "an-administrator-in-tests";
    let admin = User { uid: "admin".to_owned(), ..User::new("admin", &["system:masters"]) };
    let signer = Signer::new("https://kubernetes.default.svc.cluster.local", vec![6; 32].into());
    let options = Options {
        authenticator: Authenticator::new(signer, [(token.into(), admin.clone())]),
        ..Options::in_memory(Clock::system(), [6; 32])
    };
    let server = ApiServer::new(options).expect("an empty storage opens");
    let definitions = Api::all(Client::new(server.door(admin), "default"));
    for definition in crate::conformance::kinds::definitions() {
        definitions.create(&PostParams::default(), &definition).await.expect("a definition of this suite");
    }
    let (tls, ca) = tls();
    let tasks = Tasks::new();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("a free port");
    let address = server.listen(listener, tls, &tasks).expect("it listens");
    let home = tempfile::tempdir().expect("a temporary directory");
    let (kubeconfig, authority) = (home.path().join("kubeconfig"), home.path().join("ca.pem"));
    let config = json!({
        "apiVersion": "v1", "kind": "Config", "current-context": "test",
        "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
        "clusters": [{ "name": "test", "cluster": {
            "server": format!("https://{address}"), "certificate-authority": authority,
        } }],
        "users": [{ "name": "test", "user": { "token": token } }],
    });
    std::fs::write(&authority, ca).expect("a file");
    std::fs::write(&kubeconfig, config.to_string()).expect("a file");
    Ours { kubeconfig, _home: home, _tasks: tasks }
}

fn tls() -> (Arc<rustls::ServerConfig>, String) {
    let made = rcgen::generate_simple_self_signed(["127.0.0.1".to_owned()]).expect("a certificate");
    let chain = vec![CertificateDer::from_pem_slice(made.cert.pem().as_bytes()).expect("just made")];
    let key = PrivateKeyDer::from_pem_slice(made.signing_key.serialize_pem().as_bytes()).expect("just made");
    let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
    let config = rustls::ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has them")
        .with_no_client_auth()
        .with_single_cert(chain, key)
        .expect("the key is the certificate's");
    (Arc::new(config), made.cert.pem())
}
