//! `hyperfleet crds`: the custom resource definitions, ready for `kubectl apply`.

use anyhow::Context;
use clap::Command;

use crate::{manifest, print};

pub(super) fn command() -> Command {
    Command::new("crds")
        .about("Print the custom resource definitions as YAML")
        .after_help("Install them:  hyperfleet crds | kubectl apply --server-side -f -")
}

pub(super) fn run() -> anyhow::Result<()> {
    let definitions: Result<Vec<_>, _> = api::crds().iter().map(serde_json::to_value).collect();
    let definitions = definitions.context("a definition has no JSON form")?;
    Ok(print::out(&manifest::yaml(&definitions))?)
}
