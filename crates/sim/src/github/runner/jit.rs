//! The blob that configures a runner: an object of files, each in base64.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

use crate::github::model::Runner;
use crate::github::world::Addresses;

/// What a runner needs of its blob.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) server: String,
    pub(crate) secret: String,
    pub(crate) name: String,
    /// Every file, for who writes them down.
    pub(crate) files: Vec<(String, Vec<u8>)>,
}

/// The blob for a registration. Where the real one has an RSA key, this has a secret in a key's place.
pub(crate) fn encode(runner: &Runner, addresses: &Addresses) -> String {
    let settings = json!({
        "AgentId": runner.id.to_string(), "AgentName": runner.name, "DisableUpdate": "True", "Ephemeral": "True",
        "PoolId": runner.group.to_string(), "PoolName": "Default", "ServerUrl": addresses.service,
        "GitHubUrl": format!("{}{}", addresses.web, runner.scope.page()), "WorkFolder": runner.work_folder,
    });
    let credentials = json!({
        "Scheme": "OAuth",
        "Data": {
            "ClientId": format!("runner-{}", runner.id),
            "AuthorizationUrl": format!("{}_apis/oauth2/token", addresses.service),
            "RequireFipsCryptography": "True",
        },
    });
    let parameters = json!({ "d": runner.secret, "modulus": STANDARD.encode(&runner.name), "exponent": "AQAB" });
    let file = |value: &Value| Value::String(STANDARD.encode(value.to_string()));
    let files = json!({
        ".runner": file(&settings), ".credentials": file(&credentials), ".credentials_rsaparams": file(&parameters),
    });
    STANDARD.encode(files.to_string())
}

/// Reads a blob.
pub(crate) fn decode(blob: &str) -> Option<Credentials> {
    let object: Map<String, Value> = serde_json::from_slice(&STANDARD.decode(blob.trim()).ok()?).ok()?;
    let mut files = Vec::new();
    for (name, content) in &object {
        files.push((name.clone(), STANDARD.decode(content.as_str()?).ok()?));
    }
    let read = |wanted: &str| -> Option<Value> {
        let (_, content) = files.iter().find(|(name, _)| name == wanted)?;
        serde_json::from_slice(content).ok()
    };
    let (settings, parameters) = (read(".runner")?, read(".credentials_rsaparams")?);
    Some(Credentials {
        server: settings["ServerUrl"].as_str()?.to_owned(),
        secret: parameters["d"].as_str()?.to_owned(),
        name: settings["AgentName"].as_str()?.to_owned(),
        files,
    })
}
