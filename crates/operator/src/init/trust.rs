//! How a hypervisor's certificate is believed: as somebody said, by the system, or by a fingerprint that a person compared.

use anyhow::{Context, bail};
use providers::http::{Endpoint, TransportError, Trust};

use super::Wish;
use crate::doctor::Sight;

/// What is believed from here on. A certificate that nobody vouches for is shown, and a person has to agree to it.
pub(super) async fn settle(wish: &Wish, sight: &Sight) -> anyhow::Result<Trust> {
    let given = wish.trust.clone().unwrap_or(Trust::System);
    if wish.print_only {
        return Ok(given);
    }
    let endpoint = |trust| Endpoint::https(&wish.endpoint, trust, sight.hypervisors.clone()).context("--endpoint");
    match endpoint(given.clone())?.greet().await {
        Ok(_) => return Ok(given),
        Err(error @ TransportError::Certificate { .. }) => match given {
            Trust::Bundle(_) => bail!(
                "--ca-file: {}: {error}. Give /etc/pve/pve-root-ca.pem of that cluster; if it has run out, on that node: \
                 pvecm updatecerts --force",
                wish.endpoint
            ),
            Trust::Pinned(_) => bail!(
                "--fingerprint: {}: {error}. Compare it with what `pvenode cert info` says on that node",
                wish.endpoint
            ),
            Trust::System | Trust::Insecure => {}
        },
        Err(error) => bail!(
            "--endpoint: {} does not answer: {error}. Try: curl -k {}/api2/json",
            wish.endpoint,
            wish.endpoint.trim_end_matches('/')
        ),
    }
    let shown = endpoint(Trust::Insecure)?.greet().await?.fingerprint;
    if !wish.questions.open() {
        bail!(
            "--fingerprint: {} shows a certificate that this system does not know. Compare its fingerprint with what \
             `pvenode cert info` says on the node, then add --fingerprint {shown}; or use --ca-file with \
             /etc/pve/pve-root-ca.pem",
            wish.endpoint
        );
    }
    let question = format!(
        "{} shows a certificate that this system does not know. Its SHA-256 fingerprint:\n  {shown}\nCompare it with \
         `pvenode cert info` on the node. Is it the same? Type yes: ",
        wish.endpoint
    );
    if wish.questions.agrees(&question)? {
        return Ok(Trust::Pinned(shown));
    }
    bail!("the certificate was not agreed to; nothing was sent")
}
