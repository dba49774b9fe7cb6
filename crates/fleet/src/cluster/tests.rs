//! Clusters from their first look to their end.

use api::{Condition, HypervisorClusterSpec};
use proptest::prelude::*;
use rstest::rstest;

use super::*;

const NOW: Timestamp = Timestamp::UNIX_EPOCH;

fn spec() -> HypervisorClusterSpec {
    let secret = |key: &str| serde_json::json!({ "name": "proxmox", "key": key });
    serde_json::from_value(serde_json::json!({
        "provider": "proxmox", "endpoint": "https://pve.example.com:8006",
        "credentials": { "tokenId": secret("id"), "tokenSecret": secret("secret") },
        "nodes": [{ "name": "a" }, { "name": "b" }],
        "defaultStorage": "local-lvm", "defaultNetwork": "vmbr0",
        "proxmox": { "vmidRange": { "first": 1000, "last": 1999 }, "pool": "fleet", "isoStorage": "local" },
    }))
    .unwrap()
}

fn settings(text: &str) -> Settings {
    Settings(text.to_owned())
}

fn node(name: &str) -> Node {
    let name = serde_json::from_value(serde_json::json!(name)).unwrap();
    Node { name, presence: Presence::Online, maintenance: false, cpu: Some(8), memory: Some(64 << 30) }
}

fn report() -> Report {
    Report {
        version: "9.2.11".to_owned(),
        nodes: vec![node("a"), node("b"), node("c")],
        storage: vec![space("a", false), space("b", false), space("c", false)],
        homes: vec![node("b").name],
        pool: PoolSight::There,
        lacks: Vec::new(),
    }
}

fn space(at: &str, shared: bool) -> Space {
    Space { node: node(at).name, bytes: 100 << 30, shared }
}

fn up(probe: Probe) -> Link {
    Link::Up { settings: settings("one"), probe }
}

fn answered(report: Report) -> Link {
    up(Probe { report: Some(report), trouble: None })
}

fn trouble(failures: u32, may_pass: bool) -> Trouble {
    Trouble { kind: Reason::Unreachable, message: "no answer".to_owned(), failures, may_pass }
}

fn observed(link: Link) -> Observed {
    Observed {
        cluster: Arc::new(HypervisorCluster::new("pve", spec())),
        login: Login::Complete(settings("one")),
        link,
        claims: Vec::new(),
        orphans: Outlook::Calm,
        period: Duration::from_secs(30),
    }
}

fn with(mut observed: Observed, change: impl FnOnce(&mut HypervisorCluster)) -> Observed {
    change(Arc::make_mut(&mut observed.cluster));
    observed
}

/// The same, seen again after its last plan was carried out.
fn again(before: &Observed, link: Link) -> Observed {
    let status = plan(before, NOW).status;
    with(Observed { link, ..before.clone() }, |cluster| cluster.status = status)
}

fn ready(plan: &Plan<Step, HypervisorClusterStatus>) -> Option<Condition> {
    let conditions = &plan.status.as_ref()?.conditions;
    conditions.iter().find(|condition| condition.type_ == "Ready").cloned()
}

fn says(observed: &Observed) -> (String, String, String) {
    let plan = plan(observed, NOW);
    assert_eq!(audit(observed, &plan), []);
    let Condition { status, reason, message, .. } = ready(&plan).expect("a verdict");
    (status, reason, message)
}

#[test]
fn a_cluster_that_answers_is_ready_and_tells_what_it_has() {
    let observed = observed(answered(report()));
    let (status, reason, message) = says(&observed);
    assert_eq!((status.as_str(), reason.as_str()), ("True", "ConnectionSuccessful"));
    assert_eq!(message, "connected to version 9.2.11");
    let status = plan(&observed, NOW).status.unwrap();
    assert_eq!((status.connected_nodes, status.nodes.len()), (Some(2), 2));
    let resources = status.available_resources.unwrap();
    assert_eq!(resources.cpu, Some(16));
    assert_eq!(resources.memory.unwrap().to_string(), "128Gi");
    assert_eq!(resources.storage.unwrap().to_string(), "200Gi");
}

/// A size of nothing is refused by the API server, and with it the news that no node is online.
#[test]
fn a_cluster_of_which_no_node_is_online_says_so_without_sizes() {
    let dark = |name: &str| Node { presence: Presence::Away, ..node(name) };
    let report = Report { nodes: vec![dark("a"), dark("b")], storage: Vec::new(), ..report() };
    let status = plan(&observed(answered(report)), NOW).status.unwrap();
    assert_eq!(status.connected_nodes, Some(0));
    let resources = status.available_resources.unwrap();
    assert_eq!((resources.memory, resources.storage), (None, None));
}

#[test]
fn space_that_nodes_share_is_told_once() {
    let shared = Report { storage: vec![space("a", true), space("b", true)], ..report() };
    let status = plan(&observed(answered(shared)), NOW).status.unwrap();
    assert_eq!(status.available_resources.unwrap().storage.unwrap().to_string(), "100Gi");
}

#[test]
fn a_new_cluster_is_connected_and_judged_only_when_it_has_answered() {
    let observed = observed(Link::Down);
    let plan = plan(&observed, NOW);
    assert_eq!((plan.finalizer, plan.steps.as_slice()), (Finalizer::Add, [Step::Connect].as_slice()));
    assert_eq!(ready(&plan), None);
}

#[test]
fn credentials_that_change_are_used_without_a_word_about_the_cluster() {
    let before = again(&observed(answered(report())), answered(report()));
    let after = Observed { login: Login::Complete(settings("two")), ..before.clone() };
    assert_eq!(plan(&after, NOW).steps, [Step::Connect]);
    assert_eq!(plan(&after, NOW).status, before.cluster.status);
}

#[rstest]
#[case::missing(Login::Missing(vec!["Secret x does not exist".to_owned()]), "CredentialsMissing")]
#[case::malformed(Login::Malformed(vec!["entry id of Secret x is no token id".to_owned()]), "CredentialsInvalid")]
fn credentials_that_are_not_right_close_the_gate_and_keep_the_connection(#[case] login: Login, #[case] word: &str) {
    let observed = Observed { login, ..observed(answered(report())) };
    let (status, reason, message) = says(&observed);
    assert_eq!((status.as_str(), reason.as_str()), ("False", word));
    assert!(message.contains("Secret x"), "{message}");
    assert_eq!(plan(&observed, NOW).steps, []);
}

#[test]
fn one_lost_answer_is_no_outage_and_two_are() {
    let calm = again(&observed(answered(report())), answered(report()));
    let once = Observed { link: up(Probe { report: Some(report()), trouble: Some(trouble(1, true)) }), ..calm.clone() };
    assert_eq!(says(&once).0, "True");
    let twice = Observed { link: up(Probe { report: Some(report()), trouble: Some(trouble(2, true)) }), ..calm };
    assert_eq!(says(&twice), ("False".to_owned(), "Unreachable".to_owned(), "no answer".to_owned()));
    assert_eq!(says(&again(&twice, answered(report()))).0, "True", "the first answer is enough");
}

#[test]
fn what_cannot_pass_by_itself_is_told_at_once() {
    let calm = again(&observed(answered(report())), answered(report()));
    let wrong = Observed { link: up(Probe { report: Some(report()), trouble: Some(trouble(1, false)) }), ..calm };
    assert_eq!(says(&wrong).0, "False");
}

#[rstest]
#[case::no_such_nodes(
    Report { nodes: vec![node("x"), node("y")], ..report() },
    "NodesMissing",
    "spec.nodes names a, b, which the hypervisor does not know; it has: x, y"
)]
#[case::nodes_away(
    Report { nodes: vec![Node { presence: Presence::Away, ..node("a") }, Node { presence: Presence::Away, ..node("b") }, node("c")], ..report() },
    "NodesMissing",
    "none of the nodes in spec.nodes is online (a, b): start one, or name others of a, b, c"
)]
#[case::too_old(
    Report { version: "7.4-17".to_owned(), ..report() },
    "ConnectionFailed",
    "the hypervisor is version 7.4-17; 8 or newer is needed: upgrade it"
)]
#[case::privileges(
    Report { lacks: vec![Lack { message: "VM.Clone on /vms/9000, to clone: pveum acl modify".to_owned(), required: true }], ..report() },
    "InsufficientPrivileges",
    "privileges are missing: VM.Clone on /vms/9000, to clone: pveum acl modify"
)]
#[case::no_such_pool(
    Report { pool: PoolSight::Absent, ..report() },
    "PoolNotFound",
    "spec.proxmox.pool names fleet, which the hypervisor does not know, so that no machine can be made: create it (pveum \
     pool add fleet), or name another"
)]
fn a_cluster_that_cannot_be_used_says_why_and_what_to_do(
    #[case] report: Report,
    #[case] word: &str,
    #[case] text: &str,
) {
    let (status, reason, message) = says(&observed(answered(report)));
    assert_eq!((status.as_str(), reason.as_str(), message.as_str()), ("False", word, text));
}

#[test]
fn what_is_only_a_pity_is_told_beside() {
    let lacks = vec![Lack { message: "Sys.Audit on /, to see memory".to_owned(), required: false }];
    let link = answered(Report { nodes: vec![node("a")], lacks, ..report() });
    let insecure = with(observed(link), |cluster| {
        cluster.spec.tls = Some(api::Tls { insecure_skip_verify: true, ..api::Tls::default() });
    });
    let (status, reason, message) = says(&insecure);
    assert_eq!((status.as_str(), reason.as_str()), ("True", "ConnectionInsecure"));
    for part in ["names b", "Sys.Audit", "tls.fingerprint"] {
        assert!(message.contains(part), "{message}");
    }
}

#[rstest]
#[case::on_one_of_our_nodes(&["b"], true)]
#[case::on_another_node(&["c"], false)]
#[case::nowhere(&[], false)]
fn a_default_storage_that_is_on_no_node_of_ours_is_told_and_stops_nothing(#[case] homes: &[&str], #[case] fine: bool) {
    let homes = homes.iter().map(|name| node(name).name).collect();
    let (status, _, message) = says(&observed(answered(Report { homes, ..report() })));
    assert_eq!(
        (status.as_str(), message.contains("spec.defaultStorage names local-lvm")),
        ("True", !fine),
        "{message}"
    );
}

#[test]
fn a_storm_is_told_while_it_lasts_and_kept_while_nobody_knows() {
    let storm = |view: &Observed| {
        let status = plan(view, NOW).status.unwrap();
        find(&status.conditions, ConditionType::OrphanStorm).map(|storm| (storm.status.clone(), storm.message.clone()))
    };
    let calm = observed(answered(report()));
    assert_eq!(storm(&calm), None);
    let raging = crate::orphan::Storm { orphans: 5, machines: 8, claims: true, stale: false };
    let raging = Observed { orphans: Outlook::Storm(raging), ..calm };
    let (status, message) = storm(&raging).unwrap();
    assert_eq!(status, "True");
    assert!(message.contains("5 of 8") && message.contains("hyperfleet.io/confirm-orphans: \"5\""), "{message}");
    let restarted = Observed { orphans: Outlook::Unknown, ..again(&raging, raging.link.clone()) };
    assert_eq!(storm(&restarted), Some((status, message)));
    assert_eq!(storm(&Observed { orphans: Outlook::Calm, ..restarted }), None);
}

#[test]
fn a_deleted_cluster_stays_while_machines_are_on_it_and_names_them() {
    let going = |claims: &[&str]| {
        let claims = claims.iter().map(|claim| (*claim).to_owned()).collect();
        with(Observed { claims, ..observed(answered(report())) }, |cluster| {
            cluster.metadata.deletion_timestamp = Some(k8s_time());
        })
    };
    let kept = plan(&going(&["ci/a", "ci/b", "ci/c", "ci/d"]), NOW);
    assert_eq!((kept.finalizer, kept.steps.as_slice()), (Finalizer::Keep, [].as_slice()));
    let in_use = kept.status.unwrap().conditions.into_iter().find(|condition| condition.type_ == "InUse").unwrap();
    assert!(in_use.message.contains("ci/a, ci/b, ci/c and 1 more"), "{}", in_use.message);
    let gone = plan(&going(&[]), NOW);
    assert_eq!((gone.finalizer, gone.steps.as_slice()), (Finalizer::Remove, [Step::Disconnect].as_slice()));
}

fn k8s_time() -> api::Time {
    api::Time(NOW)
}

#[test]
fn letting_go_of_a_cluster_in_use_would_be_noticed() {
    let observed = Observed { claims: vec!["ci/a".to_owned()], ..observed(answered(report())) };
    let wrong = Plan { finalizer: Finalizer::Remove, steps: vec![Step::Disconnect], ..Plan::rest() };
    assert_eq!(audit(&observed, &wrong).len(), 2);
}

fn any_trouble() -> impl Strategy<Value = Trouble> {
    (1_u32..5, any::<bool>()).prop_map(|(failures, may_pass)| trouble(failures, may_pass))
}

fn any_report() -> impl Strategy<Value = Report> {
    let lacks = prop::collection::vec(any::<bool>(), 0..3);
    let nodes = prop::collection::vec((prop::sample::select(vec!["a", "b", "x"]), any::<bool>()), 0..3);
    let pools = prop::sample::select(vec![PoolSight::Unused, PoolSight::There, PoolSight::Absent, PoolSight::Hidden]);
    let versions = prop::sample::select(vec!["7.4", "8.4.1", "9.2.11", "?"]);
    (versions, nodes, lacks, pools).prop_map(|(version, nodes, lacks, pool)| Report {
        version: version.to_owned(),
        nodes: nodes
            .into_iter()
            .map(|(name, online)| Node {
                presence: if online { Presence::Online } else { Presence::Away },
                ..node(name)
            })
            .collect(),
        lacks: lacks.into_iter().map(|required| Lack { message: "some".to_owned(), required }).collect(),
        pool,
        ..Report::default()
    })
}

fn any_link() -> impl Strategy<Value = Link> {
    let probe = (prop::option::of(any_report()), prop::option::of(any_trouble()));
    prop_oneof![
        Just(Link::Down),
        (probe, prop::sample::select(vec!["one", "two"])).prop_map(|((report, trouble), from)| Link::Up {
            settings: settings(from),
            probe: Probe { report, trouble },
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(512))]

    /// The oracle says the same in other words: usable is what answered, is new enough, has a node of ours and lets us.
    #[test]
    fn p1_ready_is_true_exactly_when_the_hypervisor_can_be_used(links in prop::collection::vec(any_link(), 1..8)) {
        let mut view = observed(Link::Down);
        for link in links {
            view = again(&view, link.clone());
            let plan = plan(&view, NOW);
            prop_assert_eq!(audit(&view, &plan), []);
            let was_ready = is_ready(view.cluster.status.as_ref());
            let now_ready = is_ready(plan.status.as_ref());
            let Link::Up { probe: Probe { report, trouble }, .. } = link else {
                prop_assert_eq!(now_ready, was_ready);
                continue;
            };
            let usable = report.as_ref().is_some_and(|report| {
                let ours = report.nodes.iter().any(|node| node.name.as_str() != "x" && node.presence == Presence::Online);
                let lets = !report.lacks.iter().any(|lack| lack.required) && report.pool != PoolSight::Absent;
                report.version != "7.4" && ours && lets
            });
            let quiet = trouble.as_ref().is_none_or(|trouble| trouble.may_pass && trouble.failures < 2 && was_ready);
            match (report, quiet) {
                (Some(_), true) => prop_assert_eq!(now_ready, usable),
                (None, true) => prop_assert_eq!(now_ready, was_ready),
                (_, false) => prop_assert!(!now_ready),
            }
        }
    }

    #[test]
    fn p16_a_plan_that_was_carried_out_leaves_nothing_to_do(link in any_link()) {
        let first = observed(link.clone());
        let connected = match link {
            Link::Up { probe, .. } => up(probe),
            Link::Down => return Ok(()),
        };
        let second = again(&first, connected);
        let third = again(&second, second.link.clone());
        prop_assert_eq!(plan(&third, NOW).steps, []);
        prop_assert_eq!(plan(&third, NOW).status, third.cluster.status.clone());
    }
}
