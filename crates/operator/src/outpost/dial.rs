//! How a connection to a CI platform comes about.

use std::sync::Arc;

use providers::http::{AddressPolicy, Client, ConnectError, Endpoint, EndpointError, Meter, Trust};

/// Makes the client for a host that is believed by this, named for spans and metrics: over the network, or over a simulated
/// one.
pub type Dial = Arc<dyn Fn(&'static str, &str, &Trust) -> Result<Client, DialError> + Send + Sync>;

/// Why no client can be made for a host.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The address cannot be used.
    #[error("spec.url: {0}")]
    Endpoint(#[from] EndpointError),
    /// Nothing can be sent there.
    #[error("spec.url: {0}")]
    Connect(#[from] ConnectError),
}

/// Connections over the network, to addresses that `policy` allows, each call reported to `meter`.
pub fn over_the_network(policy: AddressPolicy, meter: Arc<dyn Meter>) -> Dial {
    Arc::new(move |provider, url, trust| {
        let endpoint = Endpoint::https(url, trust.clone(), policy.clone())?;
        Ok(Client::connect(provider, &endpoint)?.metered(Arc::clone(&meter)))
    })
}
