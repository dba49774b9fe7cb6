//! `deploy/crds`: one file per kind, named as Kubernetes' own generator names them.

use anyhow::Result;

use crate::generated::Generated;
use crate::yaml;

pub(super) fn render(generated: &mut Generated) -> Result<()> {
    for crd in api::crds() {
        let path = format!("deploy/crds/{}_{}.yaml", crd.spec.group, crd.spec.names.plural);
        generated.add(path, yaml::manifest("crates/api", &[serde_json::to_value(&crd)?]))?;
    }
    Ok(())
}
