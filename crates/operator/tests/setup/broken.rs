//! Set-ups that are broken in one way each.

use apiserver::User;
use chassis::Clock;
use futures::FutureExt as _;
use futures::future::LocalBoxFuture;
use jiff::SignedDuration;
use operator::doctor::Severity;
use serde_json::json;
use sim::github::{FaultKind, FaultRule as Upset, PERSONAL_TOKEN};
use sim::proxmox::{Authority, FaultId, FaultRule, Release};

use crate::clinic::{Clinic, HOOK, Plan, SECRET};

/// Breaks something.
type Breaks = Box<dyn for<'a> Fn(&'a Clinic) -> LocalBoxFuture<'a, ()>>;

pub(crate) struct Broken {
    pub(crate) name: &'static str,
    pub(crate) plan: Plan,
    pub(crate) breaks: Breaks,
    pub(crate) severity: Severity,
    pub(crate) what: &'static str,
    pub(crate) remedy: &'static str,
    /// What else has to be said because of it; that something was not checked may be said anyway.
    pub(crate) beside: &'static [&'static str],
    /// The flags with which `init` meets it, and what it says then; none if it never does.
    pub(crate) init: Option<Met>,
}

/// How `init` meets what is broken.
#[derive(Clone, Copy)]
pub(crate) struct Met {
    pub(crate) flags: &'static [&'static str],
    /// Whether it is asked to use the platform, too.
    pub(crate) platform: bool,
    pub(crate) what: &'static str,
    pub(crate) remedy: &'static str,
}

impl Broken {
    /// `init` meets it too, with these flags, and says the same.
    fn init(self, flags: &'static [&'static str]) -> Self {
        let (what, remedy) = (self.what, self.remedy);
        self.init_says(flags, what, remedy)
    }

    /// `init` meets it too, and says this.
    fn init_says(self, flags: &'static [&'static str], what: &'static str, remedy: &'static str) -> Self {
        Self { init: Some(Met { flags, platform: false, what, remedy }), ..self }
    }

    /// `init` meets it too where it looks at the platform with these flags, and says this.
    fn init_of_platform(self, flags: &'static [&'static str], what: &'static str, remedy: &'static str) -> Self {
        Self { init: Some(Met { flags, platform: true, what, remedy }), ..self }
    }

    fn beside(self, beside: &'static [&'static str]) -> Self {
        Self { beside, ..self }
    }
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
            beside: &[],
            init: None,
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

/// A storage is full, and the hypervisor's listing says so.
pub(crate) async fn full(clinic: &Clinic, storage: &str) {
    let rule = json!({ "id": FaultId::F19, "storage": storage, "times": 0 });
    clinic.pve.set_faults(vec![serde_json::from_value::<FaultRule>(rule).unwrap()]);
    clinic.relisted(storage).await;
}

pub(crate) async fn cloning_wholly(clinic: &Clinic) {
    template(clinic, json!({ "template": { "proxmox": { "linkedClone": false } } })).await;
}

/// All our kinds that are looked at.
pub(crate) const KINDS: &[&str] =
    &["hypervisorclusters", "hypervisormachinetemplates", "machineclaims", "runnersources", "runnerpools"];

/// Whoever may do little may not read definitions either.
const UNREAD: &[&str] = &["so that their version is not checked"];

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
        }, Unknown, "you may not list hypervisorclusters", "create rolebinding hyperfleet-doctor")
        .beside(UNREAD),
        row!("rights to read no Secrets", clinic {
            clinic.asked_by_eve(KINDS, &[]).await;
        }, Unknown, "you may not read Secret default/github-credentials, default/proxmox-credentials",
            "--verb=get --resource=secrets --resource-name=github-credentials --resource-name=proxmox-credentials")
        .beside(UNREAD),
        row!("rights to read no Secret of the operator", clinic {
            clinic.asked_by_eve(KINDS, &["github-credentials", "proxmox-credentials"]).await;
        }, Unknown, "Secret hyperfleet-bootstrap-authority in namespace hyperfleet-operator-system cannot be read",
            "--resource-name=hyperfleet-bootstrap-authority")
        .beside(UNREAD),
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
        }, Broken, "cannot be reached", "curl -k https://127.0.0.1:1/api2/json")
        .init_says(&["--endpoint", "https://127.0.0.1:1"], "error: --endpoint: https://127.0.0.1:1 does not answer", "curl -k https://127.0.0.1:1/api2/json"),
        row!("wrong authority", clinic {
            let other = Authority::new(&["localhost"]).unwrap();
            let entries = [("tokenId", "op@pve!hf"), ("tokenSecret", SECRET), ("ca.crt", other.pem())];
            clinic.secret("proxmox-credentials", &entries).await;
        }, Broken, "certificate is not trusted", "/etc/pve/pve-root-ca.pem"),
        row!("certificate that ran out", clinic {
            clinic.authority.rotate_until(2020, 12, 31).unwrap();
        }, Broken, "its certificate ran out at 2020-12-31", "pvecm updatecerts")
        .init_says(&[], "error: --ca-file: ", "if it has run out, on that node: pvecm updatecerts --force")
        .beside(&["certificate is not trusted"]),
        row!("certificate that ran out and that nobody looks at", clinic {
            // The platform's server shows the same one.
            clinic.remove("RunnerPool", "linux").await;
            clinic.remove("RunnerSource", "github").await;
            clinic.authority.rotate_until(2020, 12, 31).unwrap();
            cluster(clinic, json!({ "tls": { "caCertificate": null, "insecureSkipVerify": true } })).await;
        }, Advice, "its certificate ran out at 2020-12-31", "pvecm updatecerts"),
        row!("certificate that ends soon", clinic {
            let day = (Clock::system().now().to_zoned(jiff::tz::TimeZone::UTC) + SignedDuration::from_hours(24 * 10)).date();
            let (month, day_of_it) = (day.month().unsigned_abs(), day.day().unsigned_abs());
            clinic.authority.rotate_until(day.year().into(), month, day_of_it).unwrap();
        }, Advice, "its certificate runs out in", "pvecm updatecerts")
        .init(&[]),
        row!("server that takes calls and answers none", clinic {
            let silent = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
            let endpoint = format!("https://{}", silent.local_addr().unwrap());
            // The system takes calls until the test ends.
            std::mem::forget(silent);
            cluster(clinic, json!({ "endpoint": endpoint })).await;
        }, Broken, "cannot be reached", "curl -k https://127.0.0.1:"),
        row!("wrong token secret", clinic {
            clinic.pve.renew_secret("op@pve!hf");
        }, Broken, "refused the credentials",
            "pveum user token add op@pve hf    # it prints the new secret; the rights went with the old one, so give them \
             again, with the roles of hyperfleet init --print:\npveum acl modify /nodes --roles HyperFleetNodes --users op@pve \
             --tokens 'op@pve!hf'\npveum acl modify /pool/hf --roles HyperFleetMachines --users op@pve --tokens 'op@pve!hf'")
        .init_says(&[], "refuses it as the secret of op@pve!hf; nothing is stored", "Correct it, or --user and --token-name"),
        row!(
            "clock off",
            late,
            _clinic {},
            Broken,
            "the clock of the hypervisor is 10 min",
            "timedatectl set-ntp true"
        )
        .init(&[]),
    ]
}

fn rights() -> Vec<Broken> {
    let old = Plan { release: Release::V8, ..Plan::WELL };
    vec![
        row!("privilege missing on 9", clinic {
            clinic.pve.revoke("VM.Clone");
        }, Broken, "op@pve!hf lacks VM.Clone on /vms/9000, to clone the image",
            "pveum role add HyperFleet-vms-9000 --privs 'VM.Clone' && pveum acl modify /vms/9000")
        .init(&[]),
        row!("privilege missing on 8", old, clinic {
            clinic.pve.revoke("Datastore.AllocateSpace");
        }, Broken, "op@pve!hf lacks Datastore.AllocateSpace on /storage/disks", "pveum acl modify /storage/disks")
        .init(&[]),
        row!("privilege that is good to have", clinic {
            clinic.pve.revoke("Sys.Audit");
        }, Advice, "lacks Sys.Audit on /nodes, to see how much room nodes have", "pveum role add HyperFleet-nodes")
        .init(&[]),
        row!("image on a storage of its own", clinic {
            sparing(clinic).await;
            clinic.pve.put_setting(9000, "scsi0", "tank:base-9000-disk-0,size=8G");
        }, Broken, "min@pve!tk lacks Datastore.AllocateSpace on /storage/tank, to make linked clones of an image there",
            "pveum acl modify /storage/tank --roles HyperFleet-storage-tank --users 'min@pve' --tokens 'min@pve!tk'"),
        row!("image on a storage of its own, by name", clinic {
            sparing(clinic).await;
            clinic.pve.put_setting(9000, "scsi0", "tank:base-9000-disk-0,size=8G");
            template(clinic, json!({ "template": { "proxmox": { "templateId": null, "templateName": "debian-12" } } })).await;
        }, Broken, "min@pve!tk lacks Datastore.AllocateSpace on /storage/tank, to make linked clones of an image there",
            "pveum acl modify /storage/tank"),
        row!("image on a bridge of its own", clinic {
            sparing(clinic).await;
            clinic.pve.put_setting(9000, "net0", "virtio=BC:24:11:16:0F:29,bridge=vmbr1");
        }, Broken, "min@pve!tk lacks SDN.Use on /sdn/zones/localnetwork/vmbr1, to clone an image that is plugged in there",
            "pveum acl modify /sdn/zones/localnetwork/vmbr1"),
        row!("token without rights of its own", clinic {
            clinic.pve.disown("op@pve!hf");
        }, Broken, "by privilege separation", "each names the user and the token")
        .init(&[]),
    ]
}

fn places() -> Vec<Broken> {
    vec![
        row!("pool missing", clinic {
            cluster(clinic, json!({ "proxmox": { "pool": "nope" } })).await;
        }, Broken, "spec.proxmox.pool names nope", "pveum pool add nope")
        .init(&["--pool", "nope"]),
        row!("node missing", clinic {
            cluster(clinic, json!({ "nodes": [{ "name": "pve9" }] })).await;
        }, Broken, "spec.nodes names pve9", "kubectl -n default edit hypervisorcluster pve    # spec.nodes")
        .init(&["--node", "pve9"]),
        row!("storage missing", clinic {
            template(clinic, json!({ "storage": "nope", "template": { "proxmox": { "linkedClone": false } } })).await;
        }, Broken, "storage nope takes no disks", "pvesm status --content images"),
        row!("storage of other content", clinic {
            template(clinic, json!({ "storage": "local", "template": { "proxmox": { "linkedClone": false } } })).await;
        }, Broken, "storage local takes no disks", "pvesm status --content images"),
        row!("seed storage of other content", clinic {
            cluster(clinic, json!({ "proxmox": { "isoStorage": "disks" } })).await;
        }, Broken, "isoStorage of the cluster disks takes no ISO images", "pvesm status")
        .init(&["--iso-storage", "disks"]),
        row!("storage full", clinic {
            full(clinic, "disks").await;
        }, Broken, "storage disks is full", "pvesm list disks")
        .init(&[]),
        row!("storage of the image full", clinic {
            clinic.pve.put_setting(9000, "scsi0", "tank:base-9000-disk-0,size=8G");
            full(clinic, "tank").await;
        }, Broken, "storage tank is full", "pvesm list tank")
        .init(&[]),
        row!("node that is down", clinic {
            cluster(clinic, json!({ "nodes": [{ "name": "pve1" }, { "name": "pve2" }] })).await;
            let rule = json!({ "id": FaultId::F09, "node": "pve2", "times": 0 });
            clinic.pve.set_faults(vec![serde_json::from_value::<FaultRule>(rule).unwrap()]);
        }, Advice, "node pve2 is not online", "take it out of spec.nodes")
        .init(&["--node", "pve1", "--node", "pve2"]),
        row!("range taken by VMs that the token does not see", clinic {
            sparing(clinic).await;
            cluster(clinic, json!({ "proxmox": { "vmidRange": { "first": 6000, "last": 6001 } } })).await;
            clinic.pve.crowd([6000, 6001], "pve1");
        }, Broken, "every VMID from 6000 to 6001 is taken", "spec.proxmox.vmidRange"),
        row!("strangers in the range that the token does not see", clinic {
            sparing(clinic).await;
            clinic.pve.crowd(6000..=6098, "pve1");
        }, Advice, "belong to VMs that no MachineClaim here has, such as 600", "a range for HyperFleet alone"),
        row!("bridge missing", clinic {
            template(clinic, json!({ "network": { "bridge": "vmbr9" } })).await;
        }, Broken, "network.bridge vmbr9 is on no node", "spec.network.bridge")
        .init_says(
            &["--bridge", "vmbr9"],
            "defaultNetwork of the cluster vmbr9 is on no node",
            "spec.defaultNetwork of the cluster",
        ),
        row!("range taken", clinic {
            cluster(clinic, json!({ "proxmox": { "vmidRange": { "first": 6000, "last": 6001 } } })).await;
            clinic.pve.crowd([6000, 6001], "pve1");
        }, Broken, "every VMID from 6000 to 6001 is taken", "spec.proxmox.vmidRange")
        .init(&["--vmid-range", "6000-6001"]),
        row!("strangers in the range", clinic {
            clinic.pve.crowd([6050], "pve1");
        }, Advice, "belong to VMs that no MachineClaim here has, such as 6050", "a range for HyperFleet alone")
        .init(&["--vmid-range", "6000-6099"]),
    ]
}

fn images() -> Vec<Broken> {
    vec![
        row!("image missing", clinic {
            template(clinic, json!({ "template": { "proxmox": { "templateId": 9999 } } })).await;
        }, Broken, "the hypervisor shows no image with VMID 9999", "qm list")
        .init(&["--image", "9999"]),
        row!("image with TPM state", clinic {
            clinic.pve.put_setting(9000, "tpmstate0", "disks:vm-9000-disk-9,size=4M,version=v2.0");
        }, Broken, "image 9000 has TPM state", "qm set 9000 --delete tpmstate0")
        .init(&[]),
        row!("image that is a VM", clinic {
            clinic.pve.crowd([700], "pve1");
            template(clinic, json!({ "template": { "proxmox": { "templateId": 700 } } })).await;
        }, Broken, "700 is a VM, not a template", "qm template 700")
        .init(&["--image", "700"]),
        row!("disk smaller than the image's", clinic {
            template(clinic, json!({ "resources": { "disk": "4Gi" } })).await;
        }, Broken, "resources.disk is 4Gi, but the image has 8Gi", "ask for 8Gi or more")
        .init(&["--disk", "4Gi"]),
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
        }, Unknown, "does not answer this machine, which need not be where VMs are", "openssl s_client -connect"),
        row!("somebody else's certificate at the machines' address", clinic {
            clinic.remove_authority().await;
        }, Broken, "shows a certificate that our authority does not vouch for", "let TLS pass through"),
    ]
}

fn platforms() -> Vec<Broken> {
    let late = Plan { platform_ahead: SignedDuration::from_mins(10), ..Plan::WELL };
    vec![
        row!(
            "clock of the platform off",
            late,
            _clinic {},
            Broken,
            "the clock of the platform is 10 min",
            "timedatectl set-ntp true"
        )
        .init_of_platform(&[], "the clock of the platform is 10 min", "timedatectl set-ntp true"),
        row!("token that ran out", clinic {
            clinic.github.revoke(PERSONAL_TOKEN);
        }, Broken, "the platform refused the credential", "create secret generic github-credentials --from-file=pat=FILE")
        .init_of_platform(&[], "error: --ci-token-file: the platform refused the credential", "Nothing is stored; correct it, and run this again"),
        row!("token without a scope", clinic {
            clinic.github.revoke(PERSONAL_TOKEN);
            clinic.github.add_token(PERSONAL_TOKEN, "octocat", &["repo"]);
        }, Broken, "the permission admin:org is missing", "admin:org")
        .init_of_platform(&[], "the permission admin:org is missing", "give the token the scope admin:org"),
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
        }, Broken, "the platform did not answer", "curl -I https://127.0.0.1:1")
        .init_of_platform(&["--ci", "https://127.0.0.1:1/acme"], "the platform did not answer", "curl -I https://127.0.0.1:1"),
        row!("wrong authority of the platform", clinic {
            let other = Authority::new(&["localhost"]).unwrap();
            let entries = [("pat", PERSONAL_TOKEN), ("webhook", HOOK), ("ca.crt", other.pem())];
            clinic.secret("github-credentials", &entries).await;
        }, Broken, "certificate", "put the certificate of the platform's authority into the Secret"),
        row!("requests used up", clinic {
            clinic.github.set_faults(vec![Upset { times: Some(0), ..Upset::new(FaultKind::PrimaryLimit) }]);
        }, Unknown, "the limit of requests is used up", "run it again in")
        .init_of_platform(&[], "the limit of requests is used up", "run it again in"),
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
        row!("webhooks that cannot be looked at", clinic {
            let refused = Upset { times: Some(0), status: Some(502), ..Upset::new(FaultKind::Answer) };
            clinic.github.set_faults(vec![refused.on("GET", "/hooks")]);
        }, Unknown, "its webhooks cannot be looked at", "let the credential read webhooks"),
        row!("App that does not see the organization's webhook", clinic {
            clinic.as_app().await;
        }, Unknown, "whether another one leads here cannot be seen as an App", "in the App's settings, Webhook: payload URL"),
        row!("queue that does not answer", clinic {
            clinic.change("runnersources", "github", json!({ "spec": { "demand": { "mode": "session" }, "webhook": null } })).await;
            let refused = Upset { times: Some(0), status: Some(502), ..Upset::new(FaultKind::Answer) };
            clinic.github.set_faults(vec![refused.on("GET", "runnerscalesets")]);
        }, Broken, "the queue of jobs cannot be listened to", "set spec.demand.mode to webhook or poll"),
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
        row!("pool with a template that is nowhere in another namespace", clinic {
            clinic.template_of_others("infra", "small").await;
            clinic.pool_of("second", &["other"], json!({ "namespace": "infra", "name": "nope" })).await;
        }, Broken, "spec.templateRef names HypervisorMachineTemplate infra/nope, which does not exist", "# spec.templateRef"),
        row!("pool with a template that is not for its namespace", clinic {
            clinic.template_of_others("infra", "small").await;
            clinic.pool_of("second", &["other"], json!({ "namespace": "infra", "name": "small" })).await;
        }, Broken, "HypervisorMachineTemplate infra/small does not allow namespace default",
            "kubectl -n infra edit hypervisormachinetemplate small    # spec.allowedNamespaces"),
        row!("pool with a template that may not be looked at", clinic {
            clinic.template_of_others("infra", "small").await;
            clinic.pool_of("second", &["other"], json!({ "namespace": "infra", "name": "small" })).await;
            clinic.asked_by_eve(KINDS, &["github-credentials", "proxmox-credentials"]).await;
        }, Unknown, "not checked: HypervisorMachineTemplate infra/small of spec.templateRef", "kubectl -n infra get")
        .beside(UNREAD),
        row!("labels served twice", clinic {
            clinic.pool("second", &["LINUX"]).await;
        }, Advice, "it serves the same labels as RunnerPool linux", "give spec.labels one that the other has not"),
        row!("no cluster at all", clinic {
            clinic.remove("HypervisorCluster", "pve").await;
        }, Broken, "there is no HypervisorCluster in namespace default", "hyperfleet init")
        .beside(&["HypervisorCluster pve does not exist"]),
    ]
}
