//! How a connection to a hypervisor comes about.

use std::sync::Arc;

use providers::http::{AddressPolicy, Client, ConnectError, Endpoint, EndpointError, Meter, Trust};

/// Makes the client for an endpoint: over the network, or over a simulated one.
pub type Dial = Arc<dyn Fn(&str, Trust) -> Result<Client, DialError> + Send + Sync>;

/// Why no client can be made for an endpoint.
#[derive(Debug, thiserror::Error)]
pub enum DialError {
    /// The address cannot be used.
    #[error("spec.endpoint: {0}")]
    Endpoint(#[from] EndpointError),
    /// The trust cannot be used.
    #[error("spec.tls: {0}")]
    Trust(#[from] ConnectError),
}

/// Connections over the network, to addresses that `policy` allows, each call reported to `meter`.
pub fn over_the_network(policy: AddressPolicy, meter: Arc<dyn Meter>) -> Dial {
    Arc::new(move |endpoint, trust| {
        let endpoint = Endpoint::https(endpoint, trust, policy.clone())?;
        Ok(Client::connect("proxmox", &endpoint)?.metered(Arc::clone(&meter)))
    })
}
