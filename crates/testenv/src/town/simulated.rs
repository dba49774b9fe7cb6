//! A simulated world as a program, and the hands behind its scene.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use http::{Method, Request, header};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, RootCertStore};
use serde_json::Value;
use tokio::net::TcpStream;
use tokio_rustls::TlsConnector;

use crate::demand::demand;
use crate::program::Program;

/// A simulated world over TLS; it ends with this value.
#[derive(Debug)]
pub struct Simulated {
    /// The program.
    pub program: Program,
    /// Where it listens, as `https://127.0.0.1:PORT`.
    pub address: String,
    ca_file: PathBuf,
}

impl Simulated {
    /// Starts what the command describes and waits until it says where it listens. It writes whom to trust to this file.
    pub(super) async fn start(mut command: Command, ca_file: &Path, within: Duration) -> Self {
        command.arg("--ca-file").arg(ca_file);
        let program = Program::start(&command);
        let line = program.wait_for_line("https://", within).await;
        let address = line.split(['/', ' ', ',']).find(|word| word.starts_with("127.0.0.1:"));
        let address = format!("https://{}", address.expect("the line has an address"));
        Self { program, address, ca_file: ca_file.to_owned() }
    }

    /// The file with the certificates that its clients trust.
    pub fn ca_file(&self) -> &Path {
        &self.ca_file
    }

    /// Whom its clients trust, in PEM.
    pub fn ca(&self) -> String {
        demand("read an authority", std::fs::read_to_string(&self.ca_file))
    }

    /// Looks behind the scene, such as at `/sim/state`.
    pub async fn get(&self, path: &str) -> Value {
        self.ask(Method::GET, path, &Value::Null).await
    }

    /// Does something behind the scene; panics with the answer if it is refused.
    pub async fn ask(&self, method: Method, path: &str, body: &Value) -> Value {
        let what = format!("{method} {path} at {}", self.address);
        demand(&what, self.exchange(method, path, body).await)
    }

    async fn exchange(&self, method: Method, path: &str, body: &Value) -> Result<Value> {
        let place = self.address.trim_start_matches("https://");
        let stream = TcpStream::connect(place).await.context("connect")?;
        let stream = self.connector()?.connect(ServerName::try_from("localhost")?, stream).await.context("TLS")?;
        let (mut sender, connection) = http1::handshake(TokioIo::new(stream)).await?;
        let body = if body.is_null() { Bytes::new() } else { Bytes::from(body.to_string()) };
        let request = Request::builder()
            .method(method)
            .uri(path)
            .header(header::HOST, place)
            .header(header::CONTENT_TYPE, "application/json")
            .body(Full::new(body))?;
        let answer = async {
            let answer = sender.send_request(request).await?;
            let status = answer.status();
            let body = answer.into_body().collect().await?.to_bytes();
            ensure!(status.is_success(), "{status}: {}", String::from_utf8_lossy(&body));
            Ok(serde_json::from_slice(&body)?)
        };
        tokio::pin!(answer, connection);
        tokio::select! {
            answer = &mut answer => answer,
            ended = &mut connection => {
                ended?;
                answer.await
            }
        }
    }

    fn connector(&self) -> Result<TlsConnector> {
        let mut roots = RootCertStore::empty();
        for certificate in CertificateDer::pem_file_iter(&self.ca_file)? {
            roots.add(certificate?)?;
        }
        let provider = Arc::new(rustls::crypto::aws_lc_rs::default_provider());
        let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions()?;
        Ok(TlsConnector::from(Arc::new(config.with_root_certificates(roots).with_no_client_auth())))
    }
}
