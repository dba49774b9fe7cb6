//! Templates held against what a hypervisor has.

use api::{HypervisorClusterSpec, HypervisorMachineTemplateSpec, ProxmoxImage, Time, VmId};
use proptest::prelude::*;
use rstest::rstest;
use serde_json::{Value, json};

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;
const GIB: u64 = 1 << 30;

fn node(name: &str) -> NodeName {
    serde_json::from_value(json!(name)).unwrap()
}

fn store(name: &str) -> StorageName {
    serde_json::from_value(json!(name)).unwrap()
}

fn cluster(change: impl FnOnce(&mut Value)) -> Arc<HypervisorCluster> {
    let mut spec = json!({
        "provider": "proxmox", "endpoint": "https://pve.example.com:8006",
        "credentials": { "tokenId": { "name": "s", "key": "i" }, "tokenSecret": { "name": "s", "key": "t" } },
        "nodes": [{ "name": "a" }, { "name": "b" }], "defaultStorage": "disks", "defaultNetwork": "vmbr0",
        "proxmox": { "vmidRange": { "first": 1000, "last": 1999 }, "isoStorage": "files" },
    });
    change(&mut spec);
    let spec: HypervisorClusterSpec = serde_json::from_value(spec).unwrap();
    Arc::new(HypervisorCluster::new("pve", spec))
}

fn template(change: impl FnOnce(&mut Value)) -> Arc<HypervisorMachineTemplate> {
    let mut spec = json!({
        "hypervisorClusterRef": { "name": "pve" }, "template": { "proxmox": { "templateId": 9000 } },
        "resources": { "cpu": 4, "memory": "8Gi", "disk": "20Gi" },
    });
    change(&mut spec);
    let spec: HypervisorMachineTemplateSpec = serde_json::from_value(spec).unwrap();
    let mut template = HypervisorMachineTemplate::new("small", spec);
    template.metadata.namespace = Some("ci".to_owned());
    Arc::new(template)
}

fn place(name: &str) -> Place {
    Place {
        node: node(name),
        cpu: Some(16),
        memory: Some(64 * GIB),
        disks: vec![store("disks"), store("fast")],
        isos: vec![store("files")],
        bridges: Some(vec!["vmbr0".to_owned(), "vmbr1".to_owned()]),
    }
}

fn row(id: u32, name: &str, at: &str) -> Row {
    Row { vm_id: VmId(id), name: Some(name.to_owned()), node: node(at), is_image: true }
}

fn image() -> Image {
    Image {
        row: row(9000, "debian-12", "a"),
        is_image: true,
        linkable: true,
        nodes: vec![node("a"), node("b")],
        disk: Some(8 * GIB),
        storages: vec![store("disks")],
        has_tpm: false,
    }
}

fn observed() -> Observed {
    Observed {
        template: template(|_| {}),
        cluster: Cluster::Ready(cluster(|_| {})),
        image: Lookup::Found(image()),
        places: vec![place("a"), place("b")],
        users: Vec::new(),
        period: Duration::from_mins(5),
    }
}

fn asking(change: impl FnOnce(&mut Value)) -> Observed {
    Observed { template: template(change), ..observed() }
}

fn on(change: impl FnOnce(&mut Value)) -> Observed {
    Observed { cluster: Cluster::Ready(cluster(change)), ..observed() }
}

fn of(image: Image) -> Observed {
    Observed { image: Lookup::Found(image), ..observed() }
}

fn says(observed: &Observed) -> (String, String, String) {
    let plan = plan(observed, NOW);
    assert_eq!(audit(observed, &plan), []);
    let mut conditions = plan.status.unwrap().conditions.into_iter();
    let Condition { status, reason, message, .. } = conditions.find(|found| found.type_ == "TemplateValid").unwrap();
    (status, reason, message)
}

#[test]
fn a_template_that_fits_is_valid_and_tells_what_it_stands_for() {
    let observed = observed();
    let (status, reason, message) = says(&observed);
    assert_eq!((status.as_str(), reason.as_str()), ("True", "ValidationSucceeded"));
    assert_eq!(message, "machines are linked clones of image 9000, on a, b");
    let status = plan(&observed, NOW).status.unwrap();
    assert!(status.template_available);
    let resolved = status.image.unwrap();
    assert_eq!((resolved.vm_id, resolved.node.as_str(), resolved.linked_clone), (VmId(9000), "a", true));
}

#[rstest]
#[case::no_cluster(Observed { cluster: Cluster::Missing, ..observed() }, "ClusterNotFound", "HypervisorCluster pve does not exist")]
#[case::not_granted(
    Observed { cluster: Cluster::NotGranted, template: template(|spec| spec["hypervisorClusterRef"]["namespace"] = json!("infra")), ..observed() },
    "NotGranted",
    "in namespace infra does not allow namespace ci"
)]
#[case::not_ready(Observed { cluster: Cluster::NotReady("no answer".to_owned()), ..observed() }, "ClusterNotReady", "no answer")]
#[case::no_image(Observed { image: Lookup::Missing, ..observed() }, "TemplateNotFound", "no image with VMID 9000")]
#[case::no_such_name(
    Observed { image: Lookup::Missing, template: template(|spec| spec["template"]["proxmox"] = json!({ "templateName": "debian" })), ..observed() },
    "TemplateNotFound",
    "no image named debian"
)]
#[case::two_of_that_name(
    Observed { image: Lookup::Ambiguous(vec![row(9000, "x", "a"), row(9001, "x", "b")]), ..observed() },
    "AmbiguousTemplateName",
    "(9000 on a, 9001 on b)"
)]
#[case::a_vm(of(Image { is_image: false, ..image() }), "NotATemplate", "qm template 9000")]
#[case::tpm(of(Image { has_tpm: true, ..image() }), "SharedTPMState", "--delete tpmstate0")]
#[case::plain_lvm(of(Image { linkable: false, ..image() }), "LinkedCloneUnsupported", "set fallbackToFullClone")]
#[case::small_disk(asking(|spec| spec["resources"]["disk"] = json!("4Gi")), "DiskTooSmall", "ask for 8Gi or more")]
#[case::too_many_cores(asking(|spec| spec["resources"]["cpu"] = json!(32)), "InsufficientCapacity", "no node has more than 16")]
#[case::too_much_memory(asking(|spec| spec["resources"]["memory"] = json!("1Ti")), "InsufficientCapacity", "no node has more than 64Gi")]
#[case::image_elsewhere(of(Image { nodes: vec![node("c")], ..image() }), "InsufficientCapacity", "can be cloned on c only")]
#[case::unknown_node(asking(|spec| spec["placement"] = json!({ "nodes": ["a", "z"] })), "ValidationFailed", "placement.nodes names z")]
#[case::no_storage(
    asking(|spec| { spec["storage"] = json!("gone"); spec["template"]["proxmox"]["linkedClone"] = json!(false); }),
    "StorageNotFound",
    "storage gone takes no disks"
)]
#[case::no_seed_storage(on(|spec| spec["proxmox"]["isoStorage"] = json!("disks")), "StorageNotFound", "isoStorage of the cluster disks takes no ISO images")]
#[case::no_bridge(asking(|spec| spec["network"] = json!({ "bridge": "vmbr9" })), "NetworkNotFound", "network.bridge vmbr9 is on no node that machines may go to; there are: vmbr0, vmbr1")]
#[case::native_seed(
    Observed {
        cluster: Cluster::Ready(cluster(|spec| spec["proxmox"]["seed"] = json!("native"))),
        template: template(|spec| spec["cloudInit"] = json!({ "userData": "#cloud-config\npackages: [git]\n" })),
        ..observed()
    },
    "ValidationFailed",
    "its seed is native"
)]
#[case::bad_cloud_init(asking(|spec| spec["cloudInit"] = json!({ "userData": "#cloud-config\n- a list\n" })), "ValidationFailed", "cloudInit.userData")]
fn a_template_that_does_not_fit_says_why_and_what_to_do(
    #[case] observed: Observed,
    #[case] word: &str,
    #[case] text: &str,
) {
    let (status, reason, message) = says(&observed);
    assert_eq!((status.as_str(), reason.as_str()), ("False", word), "{message}");
    assert!(message.contains(text), "{message}");
}

#[test]
fn full_clones_need_no_linkable_storage() {
    let full = Observed {
        template: template(|spec| spec["template"]["proxmox"]["fallbackToFullClone"] = json!(true)),
        ..of(Image { linkable: false, ..image() })
    };
    assert_eq!(says(&full).2, "machines are full clones of image 9000, on a, b");
}

#[test]
fn what_we_may_not_see_is_no_obstacle() {
    let blind = Place { cpu: None, memory: None, bridges: None, ..place("a") };
    let observed = Observed { places: vec![blind], ..asking(|spec| spec["network"] = json!({ "bridge": "vnet7" })) };
    assert_eq!(says(&observed).0, "True");
}

#[test]
fn a_hypervisor_that_cannot_be_asked_changes_nothing_of_what_is_known() {
    let known = plan(&observed(), NOW).status;
    let mut later = Observed { image: Lookup::Unknown("not asked yet".to_owned()), ..observed() };
    Arc::make_mut(&mut later.template).status.clone_from(&known);
    let waiting = plan(&later, NOW);
    assert_eq!((&waiting.status, &waiting.next), (&None, &Next::After(SOON, Why::Recheck)));
    // A spec that nobody has judged yet is a different matter.
    Arc::make_mut(&mut later.template).metadata.generation = Some(2);
    let status = plan(&later, NOW).status.unwrap();
    assert_eq!((status.template_available, &status.image), (true, &known.unwrap().image));
    assert_eq!(says(&later).0, "Unknown");
}

#[test]
fn a_deleted_template_stays_while_something_refers_to_it() {
    let mut going = Observed { users: vec!["RunnerPool ci/linux".to_owned()], ..observed() };
    Arc::make_mut(&mut going.template).metadata.deletion_timestamp = Some(Time(NOW));
    let kept = plan(&going, NOW);
    assert_eq!(kept.finalizer, Finalizer::Keep);
    let in_use = kept.status.unwrap().conditions.into_iter().find(|found| found.type_ == "InUse").unwrap();
    assert!(in_use.message.contains("RunnerPool ci/linux"), "{}", in_use.message);
    going.users.clear();
    assert_eq!(plan(&going, NOW).finalizer, Finalizer::Remove);
    let wrong = Plan { finalizer: Finalizer::Remove, ..Plan::rest() };
    assert_eq!(audit(&Observed { users: vec!["x".to_owned()], ..going }, &wrong).len(), 1);
}

fn any_rows() -> impl Strategy<Value = Vec<Row>> {
    let name = prop::sample::select(vec!["debian", "ubuntu", "fedora"]);
    let home = prop::sample::select(vec!["a", "b", "c"]);
    let rows = prop::collection::btree_map(100_u32..120, (name, home, any::<bool>()), 0..8);
    rows.prop_map(|rows| {
        rows.into_iter().map(|(id, (name, home, is_image))| Row { is_image, ..row(id, name, home) }).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    #[test]
    fn p4_r2_2_a_unique_name_and_its_number_mean_the_same_image(rows in any_rows(), name in prop::sample::select(vec!["debian", "ubuntu"])) {
        let nodes = [node("a"), node("b")];
        let asked: ProxmoxImage = serde_json::from_value(json!({ "templateName": name })).unwrap();
        let named: Vec<&Row> = rows.iter()
            .filter(|row| row.is_image && row.name.as_deref() == Some(name) && row.node.as_str() != "c").collect();
        match (find(&Wish::of(&asked).unwrap(), &rows, &nodes), named.as_slice()) {
            (Ok(found), [only]) => {
                prop_assert_eq!(found, *only);
                prop_assert_eq!(find(&Wish::Id(found.vm_id), &rows, &nodes), Ok(found));
            }
            (Err(NotFound::Missing), []) => {}
            (Err(NotFound::Ambiguous(all)), [_, _, ..]) => prop_assert_eq!(all.len(), named.len()),
            (other, _) => prop_assert!(false, "{:?} for {:?}", other, named),
        }
    }

    /// The oracle adds up in its own words what must be there.
    #[test]
    fn p3_r2_4_a_template_is_valid_exactly_when_machines_can_be_made(
        cpu in 1_u16..24, memory in 1_u64..96, disk in 1_u64..16, linkable: bool, linked: bool, fallback: bool,
        has_tpm: bool, is_image: bool, on_a: bool, bridge in prop::sample::select(vec!["vmbr0", "vmbr7"]),
        storage in prop::sample::select(vec!["disks", "nowhere"]), ready: bool,
    ) {
        let fallback = fallback && linked;
        let template = template(|spec| {
            spec["resources"] = json!({ "cpu": cpu, "memory": format!("{memory}Gi"), "disk": format!("{disk}Gi") });
            spec["template"]["proxmox"] = json!({ "templateId": 9000, "linkedClone": linked, "fallbackToFullClone": fallback });
            spec["network"] = json!({ "bridge": bridge });
            spec["storage"] = json!(storage);
        });
        let nodes = if on_a { vec![node("a")] } else { vec![node("z")] };
        let image = Image { is_image, linkable, nodes, has_tpm, ..image() };
        let cluster = if ready { Cluster::Ready(cluster(|_| {})) } else { Cluster::NotReady("down".to_owned()) };
        let observed = Observed { template, cluster, image: Lookup::Found(image), ..observed() };
        let clone = if linked && linkable { true } else { (!linked || fallback) && storage == "disks" };
        let fits = cpu <= 16 && memory <= 64 && disk >= 8 && bridge == "vmbr0" && on_a;
        let expected = ready && is_image && !has_tpm && clone && fits;
        prop_assert_eq!(says(&observed).0 == "True", expected, "{:?}", says(&observed));
        prop_assert_eq!(plan(&observed, NOW).status.unwrap().template_available, is_image);
    }
}
