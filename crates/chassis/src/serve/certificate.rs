//! A serving certificate that is read again when its files change.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use rustls::ServerConfig;
use rustls::pki_types::pem::{self, PemObject};
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tokio::time::Instant;

use super::provider;

/// The files are looked at when a client connects, at most this often.
const PAUSE: Duration = Duration::from_secs(1);

/// Why a certificate cannot be served.
#[derive(Debug, thiserror::Error)]
pub enum CertificateError {
    /// A file cannot be read.
    #[error("cannot read {}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the system said.
        source: std::io::Error,
    },
    /// A file is not PEM, or lacks what it should hold.
    #[error("no PEM certificate and key")]
    Pem(#[from] pem::Error),
    /// Certificate and key do not belong together or are of a kind we cannot use.
    #[error("unusable certificate")]
    Unusable(#[from] rustls::Error),
    /// No certificate could be made.
    #[error("cannot make a certificate")]
    Make(#[from] rcgen::Error),
}

/// What a server shows its clients.
pub struct Certificate(Mutex<Served>);

struct Served {
    config: Arc<ServerConfig>,
    files: Option<Files>,
}

#[derive(Clone)]
struct Files {
    chain: PathBuf,
    key: PathBuf,
    seen: (Vec<u8>, Vec<u8>),
    looked: Instant,
}

impl Certificate {
    /// One made now, trusted by nobody: encryption for installations that brought none.
    pub fn self_signed() -> Result<Self, CertificateError> {
        let made = rcgen::generate_simple_self_signed(["localhost".to_owned()])?;
        let key = PrivateKeyDer::try_from(made.signing_key.serialize_der()).expect("a key that rcgen made is readable");
        let config = config(vec![made.cert.der().clone()], key)?;
        Ok(Self(Mutex::new(Served { config, files: None })))
    }

    /// The one in these PEM files, now and whenever they change.
    pub async fn from_files(chain: &Path, key: &Path) -> Result<Self, CertificateError> {
        let seen = (read(chain).await?, read(key).await?);
        let files = Files { chain: chain.into(), key: key.into(), seen, looked: Instant::now() };
        let config = files.config()?;
        Ok(Self(Mutex::new(Served { config, files: Some(files) })))
    }

    /// The configuration for a client that connects now. A bad new pair is said once and the old one kept.
    pub(super) async fn config(&self) -> Arc<ServerConfig> {
        if let Some(mut files) = self.due() {
            let seen = match (read(&files.chain).await, read(&files.key).await) {
                (Ok(chain), Ok(key)) => (chain, key),
                (Err(error), _) | (_, Err(error)) => (error.to_string().into_bytes(), Vec::new()),
            };
            if seen != files.seen {
                files.seen = seen;
                let renewed = files.config();
                let mut served = self.served();
                match renewed {
                    Ok(config) => {
                        tracing::info!(file = %files.chain.display(), "serving the new certificate");
                        served.config = config;
                    }
                    Err(error) => tracing::warn!(
                        error = &error as &dyn std::error::Error,
                        "the new certificate is not served; the old one stays"
                    ),
                }
                served.files = Some(files);
            }
        }
        Arc::clone(&self.served().config)
    }

    /// The files, if it is time to look at them; everybody else has the pause to wait.
    fn due(&self) -> Option<Files> {
        let mut served = self.served();
        let files = served.files.as_mut().filter(|files| files.looked.elapsed() >= PAUSE)?;
        files.looked = Instant::now();
        Some(files.clone())
    }

    fn served(&self) -> std::sync::MutexGuard<'_, Served> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Files {
    fn config(&self) -> Result<Arc<ServerConfig>, CertificateError> {
        let chain = CertificateDer::pem_slice_iter(&self.seen.0).collect::<Result<_, _>>()?;
        config(chain, PrivateKeyDer::from_pem_slice(&self.seen.1)?)
    }
}

async fn read(path: &Path) -> Result<Vec<u8>, CertificateError> {
    tokio::fs::read(path).await.map_err(|source| CertificateError::Read { path: path.into(), source })
}

fn config(
    chain: Vec<CertificateDer<'static>>,
    key: PrivateKeyDer<'static>,
) -> Result<Arc<ServerConfig>, CertificateError> {
    let builder = ServerConfig::builder_with_provider(Arc::new(provider())).with_safe_default_protocol_versions()?;
    let mut config = builder.with_no_client_auth().with_single_cert(chain, key)?;
    config.alpn_protocols = vec![b"http/1.1".to_vec()];
    Ok(Arc::new(config))
}
