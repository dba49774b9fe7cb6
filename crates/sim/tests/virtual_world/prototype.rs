//! Worlds that begin with the same definitions and have nothing else in common.

use serde_json::{Value, json};
use sim::world::{Prototype, World};

const LAMPS: &str = "/apis/example.com/v1/namespaces/default/lamps";

fn lamps() -> Prototype {
    let schema = json!({ "type": "object", "properties": { "spec": {
        "type": "object", "properties": { "watts": { "type": "integer", "maximum": 100 } },
    } } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } });
    let crd = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": "lamps.example.com" },
        "spec": {
            "group": "example.com", "scope": "Namespaced", "versions": [version],
            "names": { "plural": "lamps", "singular": "lamp", "kind": "Lamp", "listKind": "LampList" },
        },
    });
    Prototype::new(&[crd]).unwrap()
}

fn lamp(watts: u32) -> Value {
    json!({
        "apiVersion": "example.com/v1", "kind": "Lamp", "metadata": { "name": "desk" }, "spec": { "watts": watts },
    })
}

#[test]
fn worlds_of_one_prototype_judge_alike_and_share_nothing() {
    let prototype = lamps();
    let uid = |seed: u64| {
        World::run(seed, async |world: World| {
            world.kubernetes_like("kube", &prototype);
            let person = world.person("person", "kube");
            assert_eq!(person.get(LAMPS).await.unwrap()["items"], json!([]), "nobody else's lamps");
            let refused = person.create(LAMPS, &lamp(101)).await.unwrap_err();
            assert!(refused.to_string().contains("spec.watts"), "{refused}");
            let made = person.create(LAMPS, &lamp(60)).await.unwrap();
            let home = person.get("/api/v1/namespaces/default").await.unwrap();
            assert_ne!(made["metadata"]["uid"], home["metadata"]["uid"]);
            made["metadata"]["uid"].as_str().unwrap().to_owned()
        })
    };
    assert_eq!(uid(0), uid(0), "a seed tells the same story again");
    assert_ne!(uid(0), uid(1));
}

#[test]
fn a_definition_that_is_refused_makes_no_prototype() {
    let wrong = json!({ "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition", "spec": {} });
    assert!(Prototype::new(&[wrong]).is_err());
}
