//! What a person does next, once everything runs.

use anyhow::Context;
use chassis::serve::Bind;
use chassis::settings::Effective;
use runtime::host;

use super::folder::Folder;
use crate::cli::VERSION;
use crate::cli::operator::Prepared;
use crate::single::Single;

/// Tells machines the name that this one is reached at, if nothing else does.
pub(super) async fn fill(prepared: &mut Prepared, name: Option<&String>) -> anyhow::Result<()> {
    let Some(name) = name.filter(|_| prepared.effective.text("bootstrap.advertise").is_empty()) else { return Ok(()) };
    let Some(port) = prepared.effective.bind("bootstrap.listen").port().filter(|port| *port > 0) else { return Ok(()) };
    let name = if name.contains(':') { format!("[{name}]") } else { name.clone() };
    prepared.launch.flags.push(("bootstrap-advertise".to_owned(), format!("https://{name}:{port}")));
    (_, prepared.effective, _) = host::resolve(&prepared.launch).await.context("--advertise")?;
    Ok(())
}

/// The first words of a cluster of one.
pub(super) fn steps(single: &Single, folder: &Folder, effective: &Effective, renewed: bool) -> String {
    let (path, url) = (folder.path.display(), single.url());
    let machines = match effective.text("bootstrap.advertise") {
        "" => "cannot call yet: start with --advertise and the address that they reach this machine at".to_owned(),
        advertised => format!("call {advertised}"),
    };
    let reach = if single.address().ip().is_loopback() {
        let port = single.address().port();
        format!("kubectl     from this machine only; --listen 0.0.0.0:{port} --advertise NAME opens it to others\n")
    } else {
        String::new()
    };
    let warning = if renewed {
        "The authority of the API would have ended within a year and was made anew: copies of the old kubeconfig do not work any more.\n\n"
    } else {
        ""
    };
    format!(
        "HyperFleet {VERSION} is up at {url}; everything it knows is in {path}\n\n\
         {warning}  export KUBECONFIG={}\n  kubectl get runnerpools,runnerjobs,machineclaims -A\n\n\
         {reach}VMs         {machines}\n\
         webhooks    {}\n\
         console     {}\n\
         backup      hyperfleet up backup --data-dir {path} FILE\n\n",
        folder.kubeconfig().display(),
        webhooks(effective),
        console(effective),
    )
}

fn console(effective: &Effective) -> String {
    let secure = effective.text("metrics.secure") != "false";
    let scheme = if secure { "https" } else { "http" };
    match effective.bind("metrics.bindAddress") {
        Bind::Off => "off; --metrics-bind-address :8443 shows it".to_owned(),
        Bind::Any(port) => {
            format!("{scheme}://<this machine>:{port}/console/ (docs/guide/console.md says who may look)")
        }
        Bind::At(address) => format!("{scheme}://{address}/console/ (docs/guide/console.md says who may look)"),
    }
}

fn webhooks(effective: &Effective) -> String {
    let scheme = if effective.text("ingress.certDir").is_empty() { "http" } else { "https" };
    match effective.bind("ingress.listen") {
        Bind::Off => "off; --ingress-listen :8080 takes them (sources with sessions or polling need none)".to_owned(),
        Bind::Any(port) => format!("{scheme}://<this machine>:{port}/webhooks/<uid of the RunnerSource>"),
        Bind::At(address) => format!("{scheme}://{address}/webhooks/<uid of the RunnerSource>"),
    }
}
