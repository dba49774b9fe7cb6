//! What a machine is told before it has said anything: the only thing on its seed medium that is not public.

use std::fmt;

use secrecy::SecretString;
use serde::{Deserialize, Serialize};

/// The name of the seed on a `NoCloud` medium, beside cloud-init's own files, which leaves it alone.
pub const FILE: &str = "hyperfleet.json";

/// The version of the seed's form.
pub const VERSION: u32 = 1;

/// Who a machine is, and whom it has to convince of that.
#[derive(Clone, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub struct Seed {
    /// [`VERSION`]; a seed of another one is refused.
    pub version: u32,
    /// Where the bootstrap service is, as `https://host:port`.
    pub url: String,
    /// The certificates that the service's must be signed by, in PEM, or the [`crate::PIN`] of one that the service
    /// shows; no others are trusted.
    pub authority: String,
    /// The public id of the machine's bootstrap record.
    pub id: String,
    /// Works once.
    #[serde(serialize_with = "crate::exposed")]
    pub token: SecretString,
    /// The UUID in the machine's firmware. On any other machine the agent does nothing, least of all power off.
    pub machine: String,
    /// SHA-256 of the agent's program, in small hexadecimal digits: any other program does not use the seed. None: any
    /// program does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent: Option<String>,
}

impl fmt::Debug for Seed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { version, url, authority: _, id, token: _, machine, agent } = self;
        let mut shown = f.debug_struct("Seed");
        shown.field("version", version).field("url", url).field("id", id).field("machine", machine);
        shown.field("agent", agent);
        shown.finish_non_exhaustive()
    }
}
