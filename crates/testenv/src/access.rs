//! What one identity needs to reach the API server, as a client and as a kubeconfig file.

use std::path::Path;

use anyhow::{Context, Result};
use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use serde_json::json;

/// Asks for a path that is no resource, such as `/readyz`.
pub(crate) async fn get_text(client: &kube::Client, path: &str) -> Result<String> {
    let request = http::Request::get(path).body(Vec::new()).with_context(|| format!("{path} is no path"))?;
    Ok(client.request_text(request).await?)
}

/// An address, whom to trust there, and who we are.
#[derive(Clone, Debug)]
pub(crate) struct Access {
    pub(crate) url: String,
    pub(crate) ca_pem: String,
    pub(crate) token: String,
}

impl Access {
    /// The same server under another identity.
    pub(crate) fn with_token(&self, token: String) -> Self {
        Self { token, ..self.clone() }
    }

    /// A client of its own: its connections belong to the runtime that calls this.
    pub(crate) fn client(&self) -> Result<kube::Client> {
        let mut config = kube::Config::new(self.url.parse().context("the URL of the control plane")?);
        let ca =
            CertificateDer::from_pem_slice(self.ca_pem.as_bytes()).context("the authority of the control plane")?;
        config.root_cert = Some(vec![ca.to_vec()]);
        config.auth_info = serde_json::from_value(json!({ "token": self.token }))?;
        Ok(kube::Client::try_from(config)?)
    }

    /// Writes a kubeconfig file for programs that act as this identity. JSON is YAML too.
    pub(crate) fn write_kubeconfig(&self, path: &Path, ca_file: &Path) -> Result<()> {
        let config = json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "test",
            "contexts": [{ "name": "test", "context": { "cluster": "test", "user": "test" } }],
            "clusters": [{ "name": "test", "cluster": { "server": self.url, "certificate-authority": ca_file } }],
            "users": [{ "name": "test", "user": { "token": self.token } }],
        });
        // Written aside and moved: several test programs may write the same identity's file at once.
        let aside = path.with_extension(format!("{}.new", std::process::id()));
        std::fs::write(&aside, serde_json::to_vec_pretty(&config)?)?;
        std::fs::rename(&aside, path).with_context(|| format!("write {}", path.display()))
    }
}
