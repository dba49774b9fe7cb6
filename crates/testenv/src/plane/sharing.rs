//! One control plane for many tests, within one test program and across all of them.

use std::path::Path;

use anyhow::{Context, Result};
use tokio::sync::OnceCell;

use super::home::Home;
use super::{ControlPlane, Options};
use crate::assets::variable;
use crate::demand::demand;

/// The environment variable that names the directory of a running control plane.
pub const CONTROL_PLANE_VARIABLE: &str = "HYPERFLEET_TEST_CONTROL_PLANE";

/// The control plane that tests share: the one the environment names, else one for this test program.
///
/// It has the controllers of [`Options::with_controller_manager`]. Give every test its own [`ControlPlane::namespace`].
pub async fn shared() -> &'static ControlPlane {
    // Never dropped: the programs notice by themselves that the test program is gone (see `guard`).
    static SHARED: OnceCell<ControlPlane> = OnceCell::const_new();
    demand("a control plane for the tests", SHARED.get_or_try_init(find_or_start).await)
}

async fn find_or_start() -> Result<ControlPlane> {
    match variable(CONTROL_PLANE_VARIABLE) {
        Some(directory) => ControlPlane::connect(Path::new(&directory)).await,
        None => ControlPlane::try_start(Options::default().with_controller_manager()).await,
    }
}

impl ControlPlane {
    /// Connects to a control plane that another program started, by its directory.
    async fn connect(directory: &Path) -> Result<Self> {
        let home = Home::existing(directory);
        let access = home.access().with_context(|| format!("{CONTROL_PLANE_VARIABLE} names no control plane"))?;
        access
            .client()?
            .apiserver_version()
            .await
            .with_context(|| format!("ask the control plane at {}", access.url))?;
        Ok(Self { home, access, owned: None })
    }
}
