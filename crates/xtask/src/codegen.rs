//! Renders everything that is generated.
//!
//! Each chapter turns one source into files; the set of files is complete, so whatever else lies in a generated folder
//! is left over and goes.

mod crds;
mod examples;
mod reference;
mod roles;

use anyhow::Result;

use crate::deps::deny_toml;
use crate::generated::Generated;
use crate::trace;
use crate::tree::Tree;

/// The chapters that need nothing but their own source.
const CHAPTERS: &[fn(&mut Generated) -> Result<()>] = &[
    crds::render,
    examples::render,
    roles::render,
    reference::api::render,
    reference::cli::render,
    reference::metrics::render,
    reference::settings::render,
    |generated| generated.add("deny.toml", deny_toml()),
    reference::index::render,
];

/// Every generated file, in memory.
pub fn render(tree: &Tree) -> Result<Generated> {
    let mut generated = trace::render(tree)?;
    reference::conditions::render(tree, &mut generated)?;
    for chapter in CHAPTERS {
        chapter(&mut generated)?;
    }
    Ok(generated)
}
