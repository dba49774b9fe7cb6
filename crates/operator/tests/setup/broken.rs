//! Set-ups that are broken in one way each.

use apiserver::User;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use jiff::SignedDuration;
use operator::doctor::Severity;
use serde_json::json;
use sim::github::PERSONAL_TOKEN;
use sim::proxmox::{Authority, FaultId, FaultRule, Release};

use crate::clinic::{Clinic, Plan, SECRET};

/// Breaks something.
type Breaks = Box<dyn for<'a> Fn(&'a Clinic) -> LocalBoxFuture<'a, ()>>;

pub(crate) struct Broken {
    pub(crate) name: &'static str,
    pub(crate) plan: Plan,
    pub(crate) breaks: Breaks,
    pub(crate) severity: Severity,
    pub(crate) what: &'static str,
    pub(crate) remedy: &'static str,
}

/// A row: how it is broken, and what has to be said of it.
macro_rules! row {
    ($name:literal, $clinic:ident $breaks:block, $severity:ident, $what:literal, $remedy:literal) => {
        row!($name, Plan::WELL, $clinic $breaks, $severity, $what, $remedy)
    };
    ($name:literal, $plan:expr, $clinic:ident $breaks:block, $severity:ident, $what:literal, $remedy:literal) => {
        Broken {
            name: $name,
            plan: $plan,
            breaks: Box::new(|$clinic| async move { $breaks }.boxed_local()),
            severity: Severity::$severity,
            what: $what,
            remedy: $remedy,
        }
    };
}

pub(crate) fn rows() -> Vec<Broken> {
    [kubernetes(), connections(), rights(), places(), images(), doors(), platforms(), hooks(), pools()]
        .into_iter()
        .flatten()
        .collect()
}

async fn cluster(clinic: &Clinic, spec: serde_json::Value) {
    clinic.change("hypervisorclusters", "pve", json!({ "spec": spec })).await;
}

async fn template(clinic: &Clinic, spec: serde_json::Value) {
    clinic.change("hypervisormachinetemplates", "small", json!({ "spec": spec })).await;
}

/// The cluster is used with a token that may do what machines and images in the usual places need, and nothing else.
pub(crate) async fn sparing(clinic: &Clinic) {
    let ca = clinic.authority.pem().to_owned();
    let entries = [("tokenId", "min@pve!tk"), ("tokenSecret", SECRET), ("ca.crt", &ca)];
    clinic.secret("proxmox-credentials", &entries).await;
    cluster(clinic, json!({ "proxmox": { "seed": "smbios" } })).await;
}

pub(crate) async fn cloning_wholly(clinic: &Clinic) {
    template(clinic, json!({ "template": { "proxmox": { "linkedClone": false } } })).await;
}

fn kubernetes() -> Vec<Broken> {
    let bare = Plan { kinds: false, ..Plan::WELL };
    vec![
        row!(
            "kinds missing",
            bare,
            _clinic {},
            Broken,
            "some are not there: hypervisorclusters",
            "hyperfleet crds | kubectl apply"
        ),
        row!("kinds of another version", clinic {
            clinic.age_definition("runnerpools.hypervisor.hyperfleet.io").await;
        }, Broken, "not those of version", "hyperfleet crds | kubectl apply"),
        row!("no rights", clinic {
            *clinic.user.lock().unwrap() = User::new("eve", &[]);
        }, Unknown, "you may not list hypervisorclusters", "create rolebinding hyperfleet-doctor"),
        row!("secret missing", clinic {
            clinic.remove("Secret", "proxmox-credentials").await;
        }, Broken, "Secret proxmox-credentials does not exist", "kubectl -n default create secret generic proxmox-credentials"),
        row!("secret without an entry", clinic {
            let ca = clinic.authority.pem().to_owned();
            clinic.secret("proxmox-credentials", &[("tokenId", "op@pve!hf"), ("ca.crt", &ca)]).await;
        }, Broken, "has no text in tokenSecret", "--from-file=tokenSecret=FILE"),
        row!("token id that is none", clinic {
            let ca = clinic.authority.pem().to_owned();
            clinic.secret("proxmox-credentials", &[("tokenId", "op"), ("tokenSecret", SECRET), ("ca.crt", &ca)]).await;
        }, Broken, "is no token id", "--from-file=tokenId=FILE"),
    ]
}

fn connections() -> Vec<Broken> {
    let late = Plan { ahead: SignedDuration::from_mins(10), ..Plan::WELL };
    vec![
        row!("wrong port", clinic {
            cluster(clinic, json!({ "endpoint": "https://127.0.0.1:1" })).await;
        }, Broken, "cannot be reached", "curl -k https://127.0.0.1:1/api2/json"),
        row!("wrong authority", clinic {
            let other = Authority::new(&["localhost"]).unwrap();
            let entries = [("tokenId", "op@pve!hf"), ("tokenSecret", SECRET), ("ca.crt", other.pem())];
            clinic.secret("proxmox-credentials", &entries).await;
        }, Broken, "certificate is not trusted", "/etc/pve/pve-root-ca.pem"),
        row!("certificate that ran out", clinic {
            clinic.authority.rotate_until(2020).unwrap();
        }, Broken, "its certificate ran out at 2020-12-31", "pvecm updatecerts"),
        row!("wrong token secret", clinic {
            clinic.pve.renew_secret("op@pve!hf");
        }, Broken, "refused the credentials", "pveum user token add"),
        row!(
            "clock off",
            late,
            _clinic {},
            Broken,
            "the clock of the hypervisor is 10 min",
            "timedatectl set-ntp true"
        ),
    ]
}

fn rights() -> Vec<Broken> {
    let old = Plan { release: Release::V8, ..Plan::WELL };
    vec![
        row!("privilege missing on 9", clinic {
            clinic.pve.revoke("VM.Clone");
        }, Broken, "op@pve!hf lacks VM.Clone on /vms/9000, to clone the image",
            "pveum role add HyperFleet-vms-9000 --privs 'VM.Clone' && pveum acl modify /vms/9000"),
        row!("privilege missing on 8", old, clinic {
            clinic.pve.revoke("Datastore.AllocateSpace");
        }, Broken, "op@pve!hf lacks Datastore.AllocateSpace on /storage/disks", "pveum acl modify /storage/disks"),
        row!("privilege that is good to have", clinic {
            clinic.pve.revoke("Sys.Audit");
        }, Advice, "lacks Sys.Audit on /nodes, to see how much room nodes have", "pveum role add HyperFleet-nodes"),
        row!("image on a storage of its own", clinic {
            sparing(clinic).await;
            clinic.pve.put_setting(9000, "scsi0", "tank:base-9000-disk-0,size=8G");
        }, Broken, "min@pve!tk lacks Datastore.AllocateSpace on /storage/tank, to make linked clones of an image there",
            "pveum acl modify /storage/tank --roles HyperFleet-storage-tank --users 'min@pve' --tokens 'min@pve!tk'"),
        row!("image on a bridge of its own", clinic {
            sparing(clinic).await;
            clinic.pve.put_setting(9000, "net0", "virtio=BC:24:11:16:0F:29,bridge=vmbr1");
        }, Broken, "min@pve!tk lacks SDN.Use on /sdn/zones/localnetwork/vmbr1, to clone an image that is plugged in there",
            "pveum acl modify /sdn/zones/localnetwork/vmbr1"),
        row!("token without rights of its own", clinic {
            clinic.pve.disown("op@pve!hf");
        }, Broken, "by privilege separation", "each names the user and the token"),
    ]
}

fn places() -> Vec<Broken> {
    vec![
        row!("pool missing", clinic {
            cluster(clinic, json!({ "proxmox": { "pool": "nope" } })).await;
        }, Broken, "spec.proxmox.pool names nope", "pveum pool add nope"),
        row!("node missing", clinic {
            cluster(clinic, json!({ "nodes": [{ "name": "pve9" }] })).await;
        }, Broken, "spec.nodes names pve9", "kubectl -n default edit hypervisorcluster pve    # spec.nodes"),
        row!("storage missing", clinic {
            template(clinic, json!({ "storage": "nope", "template": { "proxmox": { "linkedClone": false } } })).await;
        }, Broken, "storage nope takes no disks", "pvesm status --content images"),
        row!("storage of other content", clinic {
            template(clinic, json!({ "storage": "local", "template": { "proxmox": { "linkedClone": false } } })).await;
        }, Broken, "storage local takes no disks", "pvesm status --content images"),
        row!("seed storage of other content", clinic {
            cluster(clinic, json!({ "proxmox": { "isoStorage": "disks" } })).await;
        }, Broken, "isoStorage of the cluster disks takes no ISO images", "pvesm status"),
        row!("storage full", clinic {
            let rule = json!({ "id": FaultId::F19, "storage": "disks", "times": 0 });
            clinic.pve.set_faults(vec![serde_json::from_value::<FaultRule>(rule).unwrap()]);
            clinic.relisted("disks").await;
        }, Broken, "storage disks is full", "pvesm list disks"),
        row!("bridge missing", clinic {
            template(clinic, json!({ "network": { "bridge": "vmbr9" } })).await;
        }, Broken, "network.bridge vmbr9 is on no node", "spec.network.bridge"),
        row!("range taken", clinic {
            cluster(clinic, json!({ "proxmox": { "vmidRange": { "first": 6000, "last": 6001 } } })).await;
            clinic.pve.crowd([6000, 6001], "pve1");
        }, Broken, "every VMID from 6000 to 6001 is taken", "spec.proxmox.vmidRange"),
        row!("strangers in the range", clinic {
            clinic.pve.crowd([6050], "pve1");
        }, Advice, "belong to VMs that no MachineClaim here has, such as 6050", "a range for HyperFleet alone"),
    ]
}

fn images() -> Vec<Broken> {
    vec![
        row!("image missing", clinic {
            template(clinic, json!({ "template": { "proxmox": { "templateId": 9999 } } })).await;
        }, Broken, "the hypervisor shows no image with VMID 9999", "qm list"),
        row!("image with TPM state", clinic {
            clinic.pve.put_setting(9000, "tpmstate0", "disks:vm-9000-disk-9,size=4M,version=v2.0");
        }, Broken, "image 9000 has TPM state", "qm set 9000 --delete tpmstate0"),
        row!("image that is a VM", clinic {
            clinic.pve.crowd([700], "pve1");
            template(clinic, json!({ "template": { "proxmox": { "templateId": 700 } } })).await;
        }, Broken, "700 is a VM, not a template", "qm template 700"),
        row!("disk smaller than the image's", clinic {
            template(clinic, json!({ "resources": { "disk": "4Gi" } })).await;
        }, Broken, "resources.disk is 4Gi, but the image has 8Gi", "ask for 8Gi or more"),
        row!("template of no cluster", clinic {
            clinic.template("lost", "other").await;
        }, Broken, "HypervisorCluster other does not exist", "create it, or name another"),
    ]
}

fn doors() -> Vec<Broken> {
    vec![
        row!("no address for machines", clinic {
            *clinic.advertise.lock().unwrap() = Some(String::new());
        }, Broken, "not set: machines are told no address", "--bootstrap-advertise=https://ADDRESS:8444"),
        row!("address that nobody said", clinic {
            *clinic.advertise.lock().unwrap() = None;
        }, Unknown, "not known here", "hyperfleet doctor --bootstrap-advertise=URL"),
        row!("loopback as the machines' address", clinic {
            *clinic.advertise.lock().unwrap() = Some("https://127.0.0.1:8444".to_owned());
        }, Broken, "a VM that calls it calls itself", "--bootstrap-advertise=https://ADDRESS:8444"),
        row!("address that does not answer", clinic {
            let mut advertise = clinic.advertise.lock().unwrap();
            let place = advertise.as_deref().and_then(|url| url.rsplit_once(':')).map(|(host, _)| format!("{host}:1"));
            *advertise = place;
        }, Broken, "does not answer from here", "openssl s_client -connect"),
        row!("somebody else's certificate at the machines' address", clinic {
            clinic.remove_authority().await;
        }, Broken, "shows a certificate that our authority does not vouch for", "let TLS pass through"),
    ]
}

fn platforms() -> Vec<Broken> {
    vec![
        row!("token that ran out", clinic {
            clinic.github.revoke(PERSONAL_TOKEN);
        }, Broken, "the platform refused the credential", "create secret generic github-credentials --from-file=pat=FILE"),
        row!("token without a scope", clinic {
            clinic.github.revoke(PERSONAL_TOKEN);
            clinic.github.add_token(PERSONAL_TOKEN, "octocat", &["repo"]);
        }, Broken, "the permission admin:org is missing", "admin:org"),
        row!("App that is not installed", clinic {
            clinic.as_app().await;
            clinic.github.uninstall();
        }, Broken, "the App has no such installation", "install it, or correct the id"),
        row!("App without a permission", clinic {
            clinic.as_app().await;
            clinic.github.set_permission("organization_self_hosted_runners", None);
        }, Broken, "the permission organization_self_hosted_runners: write is missing", "grant it in the App's settings"),
        row!("platform at a wrong port", clinic {
            clinic.change("runnersources", "github", json!({ "spec": { "url": "https://127.0.0.1:1" } })).await;
        }, Broken, "the platform did not answer", "curl -I https://127.0.0.1:1"),
        row!("runner group missing", clinic {
            clinic.change("runnersources", "github", json!({ "spec": { "github": { "runnerGroup": "nope" } } })).await;
        }, Broken, "has no runner group nope", "make it, or correct the name"),
    ]
}

fn hooks() -> Vec<Broken> {
    vec![
        row!("webhook missing", clinic {
            clinic.github.remove_hooks();
        }, Broken, "no webhook leads here", "payload URL https://YOUR-INGRESS/webhooks/"),
        row!("webhook with another secret", clinic {
            clinic.github.remove_hooks();
            let uid = clinic.source().await;
            clinic.hook(&uid, Some(401)).await;
        }, Broken, "they were refused (401), so the secret differs", "entry webhook of Secret github-credentials the same"),
        row!("webhook whose deliveries fail", clinic {
            clinic.github.remove_hooks();
            let uid = clinic.source().await;
            clinic.hook(&uid, None).await;
        }, Broken, "nobody answered", "curl -X POST https://hooks.example.com/webhooks/"),
        row!("webhook secret missing", clinic {
            let ca = clinic.authority.pem().to_owned();
            clinic.secret("github-credentials", &[("pat", PERSONAL_TOKEN), ("ca.crt", &ca)]).await;
        }, Broken, "has no text in webhook", "--from-file=webhook=FILE"),
    ]
}

fn pools() -> Vec<Broken> {
    vec![
        row!("pool without a source", clinic {
            clinic.remove("RunnerSource", "github").await;
        }, Broken, "spec.sourceRef names RunnerSource default/github, which does not exist", "kubectl -n default get runnersources"),
        row!("pool without a template", clinic {
            clinic.remove("HypervisorMachineTemplate", "small").await;
        }, Broken, "which does not exist", "# spec.templateRef"),
        row!("labels served twice", clinic {
            clinic.pool("second", &["LINUX"]).await;
        }, Advice, "it serves the same labels as RunnerPool linux", "give spec.labels one that the other has not"),
        row!("no cluster at all", clinic {
            clinic.remove("HypervisorCluster", "pve").await;
        }, Broken, "there is no HypervisorCluster in namespace default", "hyperfleet init"),
    ]
}
