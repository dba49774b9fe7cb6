//! What people do when a fleet was exported or has moved: they delete what is left, apply the file, export again.

use super::there as there_is;
use super::*;

const KEY: &str = "hyperfleet-ownership";

/// A fleet that has moved, while both operators are there.
async fn moved(world: &World) -> (Yard, Simulator, BTreeSet<Option<String>>, Value, Export) {
    let (yard, pve, machines, before) = fleet(world, 40_000).await;
    let file = File::default();
    let done = mover(world, &file, true);
    watch(&yard, &pve, 30, &machines).await;
    assert!(done.load(Ordering::Relaxed), "{}", world.text());
    let export = file.lock().unwrap().clone().unwrap();
    (yard, pve, machines, before, export)
}

#[test]
fn the_key_is_deleted_where_the_fleet_was_and_nothing_is_destroyed() {
    World::run(10, async |world: World| {
        let (yard, pve, machines, ..) = moved(&world).await;
        let hand = world.person("hand", "there");
        let at_work = async |said: &str| {
            for _ in 0..20 {
                watch(&yard, &pve, 60, &machines).await;
                assert_eq!(ours(&pve).len(), 2, "{said}\n{}", world.text());
            }
            assert_eq!(phases(&hand).await, ["Busy", "Busy"], "{said}\n{}", world.text());
        };
        // `kubectl delete -f fleet.yaml`, too early: the key goes first, and machines still ask the old operator.
        for path in [
            &*format!("{SECRETS}/{KEY}"),
            &format!("{TEMPLATES}/small"),
            &format!("{CLAIMS}/a"),
            &format!("{CLAIMS}/b"),
        ] {
            yard.person.delete(path).await.unwrap();
        }
        at_work("the fleet was deleted where it came from").await;
        // A claim is wrenched away, so that there is a machine which nobody there claims.
        yard.guests.close("operator");
        let none = json!({ "metadata": { "finalizers": null } });
        yard.person.merge(&format!("{CLAIMS}/a"), &none).await.unwrap();
        assert!(yard.claimed("a").await.is_null());
        at_work("a claim is gone where it came from").await;
    });
}

#[test]
fn a_process_that_starts_without_the_key_of_a_fleet_that_moved_knows_none_of_its_machines() {
    World::run(11, async |world: World| {
        let (yard, pve, machines, ..) = moved(&world).await;
        yard.guests.close("operator");
        yard.person.delete(&format!("{SECRETS}/{KEY}")).await.unwrap();
        world.crash("operator");
        for name in ["a", "b"] {
            yard.person.delete(&format!("{CLAIMS}/{name}")).await.unwrap();
        }
        world.restart("operator");
        yard.guests.close("operator");
        for _ in 0..20 {
            watch(&yard, &pve, 60, &machines).await;
            assert_eq!(ours(&pve).len(), 2, "{}", world.text());
        }
    });
}

/// A person applies a file where its objects are, or were.
async fn reapply(hand: &Person, file: &Export) {
    for (path, document) in documents(file) {
        if hand.create(path, &document).await.is_err() {
            let name = document["metadata"]["name"].as_str().unwrap();
            let notes = json!({ "metadata": { "annotations": document["metadata"]["annotations"] } });
            hand.merge(&format!("{path}/{name}"), &notes).await.unwrap();
        }
    }
}

/// What is on hold, of clusters, templates and claims.
async fn held(hand: &Person) -> Vec<String> {
    let mut held = Vec::new();
    for path in [CLUSTERS, TEMPLATES, CLAIMS] {
        let list = hand.get(path).await.unwrap();
        let marked = list["items"].as_array().unwrap().iter().filter(|object| {
            let notes = &object["metadata"]["annotations"];
            ["hold", "owner", "deleting"].iter().any(|mark| !notes[format!("hyperfleet.io/{mark}")].is_null())
        });
        held.extend(marked.map(|object| object["metadata"]["name"].as_str().unwrap().to_owned()));
    }
    held
}

#[test]
fn a_thaw_frees_what_was_applied_by_hand() {
    // Where the fleet has gone.
    World::run(12, async |world: World| {
        let (yard, pve, machines, before, export) = moved(&world).await;
        leave(&yard);
        let (there, hand) = (client_of(&world, "there"), world.person("hand", "there"));
        hand.delete(&format!("{CLAIMS}/a")).await.unwrap();
        watch(&yard, &pve, 120, &machines).await;
        reapply(&hand, &export).await;
        let error = import(&there, &export).await.unwrap_err().to_string();
        assert!(error.contains("was applied by hand since") && error.contains("--thaw"), "{error}");
        watch(&yard, &pve, 120, &machines).await;
        let thawed = thaw(&there, "default").await.unwrap();
        assert_eq!((thawed.ended, thawed.freed, &*thawed.left), (true, 3, &["MachineClaim default/a".to_owned()][..]));
        assert_eq!(held(&hand).await, ["a"], "it had ended here");
        watch(&yard, &pve, 120, &machines).await;
        assert_eq!(ours(&pve).len(), 1, "nothing is made for it\n{}", world.text());
        import(&there, &export).await.unwrap();
        for name in ["a", "b"] {
            hand.delete(&format!("{CLAIMS}/{name}")).await.unwrap();
        }
        yard.pass(120).await;
        assert_eq!(there_is(&pve), before, "nothing is left");
    });
    // Where it is still.
    World::run(13, async |world: World| {
        let (yard, export) = exported(&world).await;
        let home = client_of(&world, "kube");
        reapply(&yard.person, &export).await;
        let error = import(&home, &export).await.unwrap_err().to_string();
        assert!(error.contains("this is where the fleet was exported from"), "{error}");
        assert_eq!(held(&yard.person).await, ["pve", "small", "a", "b"]);
        let thawed = thaw(&home, "default").await.unwrap();
        assert_eq!((thawed.ended, thawed.freed, thawed.left), (true, 4, Vec::new()));
        assert!(held(&yard.person).await.is_empty());
        yard.pass(60).await;
        assert_eq!(phases(&yard.person).await, ["Busy", "Busy"], "{}", world.text());
        yard.person.delete(&format!("{CLAIMS}/a")).await.unwrap();
        yard.pass(120).await;
        assert_eq!(phases(&yard.person).await, ["Busy"], "it is looked after again");
        assert_eq!(thaw(&home, "default").await.unwrap().freed, 0);
    });
}

#[test]
fn a_fleet_that_has_not_come_whole_is_not_thawed_and_not_exported() {
    World::run(14, async |world: World| {
        let (_yard, export) = exported(&world).await;
        let (there, hand) = (client_of(&world, "there"), world.person("hand", "there"));
        apply(&hand, &export, |_| true).await;
        let error = thaw(&there, "default").await.unwrap_err().to_string();
        assert!(error.contains("not all of it has come") && error.contains("hyperfleet import"), "{error}");
        let error = freeze(&there, "default", &chance()).await.unwrap_err().to_string();
        assert!(error.contains("hyperfleet import"), "{error}");
        assert_eq!(held(&hand).await, ["pve", "small", "a", "b"]);
    });
}

#[test]
fn a_second_export_of_the_same_hold_is_not_taken_for_the_first() {
    World::run(15, async |world: World| {
        let (yard, first) = exported(&world).await;
        let (home, there, hand) =
            (client_of(&world, "kube"), client_of(&world, "there"), world.person("hand", "there"));
        yard.person.create(TEMPLATES, &template("late")).await.unwrap();
        let (id, is_new) = freeze(&home, "default", &chance()).await.unwrap();
        assert!(!is_new && id == first.header.id);
        let (second, _) = gather(&home, "default", &id, None, world.clock()).await.unwrap();
        import(&there, &first).await.unwrap();
        let error = import(&there, &second).await.unwrap_err().to_string();
        assert!(error.contains("another file of export") && error.contains("does not come any more"), "{error}");
        assert_eq!(hand.get(&format!("{TEMPLATES}/late")).await.unwrap_err().code, 404);
        import(&there, &first).await.unwrap();
    });
}

/// A fleet whose cluster is granted to the namespace `team` by a label, where a template uses it.
async fn granted(world: &World) -> (Yard, Export) {
    let yard = Yard::movable(world);
    yard.furnish().await;
    let grant = json!({ "spec": { "allowedNamespaces": { "matchLabels": { "team": "a" } } } });
    yard.person.merge(&format!("{CLUSTERS}/pve"), &grant).await.unwrap();
    let team = json!({
        "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": "team", "labels": { "team": "a" } },
    });
    yard.person.create("/api/v1/namespaces", &team).await.unwrap();
    let mut theirs = template("theirs");
    theirs["spec"]["hypervisorClusterRef"]["namespace"] = json!("default");
    yard.person.create(&TEMPLATES.replace("/default/", "/team/"), &theirs).await.unwrap();
    yard.pass(60).await;
    assert_eq!(valid(&yard.person).await, "True");
    let home = client_of(world, "kube");
    let (id, _) = freeze(&home, "default", &chance()).await.unwrap();
    tokio::time::sleep(NOTICED).await;
    let (export, _) = gather(&home, "default", &id, None, world.clock()).await.unwrap();
    (yard, Export::parse(&export.text()).unwrap())
}

/// Whether the template of `team` can be used.
async fn valid(person: &Person) -> String {
    let template = person.get(&format!("{}/theirs", TEMPLATES.replace("/default/", "/team/"))).await.unwrap();
    let conditions = template["status"]["conditions"].as_array().cloned().unwrap_or_default();
    let found = conditions.into_iter().find(|condition| condition["type"] == "TemplateValid").unwrap_or_default();
    found["status"].as_str().unwrap_or_default().to_owned()
}

#[test]
fn a_namespace_that_is_made_has_the_labels_that_grants_ask_for() {
    World::run(16, async |world: World| {
        let (yard, export) = granted(&world).await;
        let (there, hand) = (client_of(&world, "there"), world.person("hand", "there"));
        let import = Import::new(&there, &export, None, true);
        assert_eq!(import.check().await.unwrap(), Verdict::New);
        assert_eq!(import.lapsed().await.unwrap(), Vec::<String>::new());
        import.run().await.unwrap();
        leave(&yard);
        yard.pass(120).await;
        assert_eq!(hand.get("/api/v1/namespaces/team").await.unwrap()["metadata"]["labels"]["team"], "a");
        assert_eq!(valid(&hand).await, "True", "{}", world.text());
    });
}

#[test]
fn a_namespace_that_lacks_the_label_of_a_grant_is_told() {
    World::run(17, async |world: World| {
        let (_yard, export) = granted(&world).await;
        let (there, hand) = (client_of(&world, "there"), world.person("hand", "there"));
        namespace(&hand, "team").await;
        let said = Import::new(&there, &export, None, true).lapsed().await.unwrap();
        assert_eq!(said.len(), 1, "{said:?}");
        assert!(said[0].contains("Namespace team has other labels here") && said[0].contains("team=a"), "{said:?}");
        assert!(said[0].contains("HypervisorCluster default/pve"), "{said:?}");
    });
}
