//! What a person does with kubectl, in order.

use super::manifests::{
    CONDITION, CONFIG_REPLACED, EVENTS, GADGET, SEVERAL, SEVERAL_CHANGED, WIDGET, WIDGET_BAD, WIDGET_CHANGED,
    WIDGET_TWO, WIDGET_WRONG,
};

/// How the outputs of a command are compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Word for word.
    Exactly,
    /// The same JSON, whatever order it is written in.
    Document,
    /// How it ended; the words depend on the moment.
    Ending,
    /// Rows that ours prints are rows that the real one prints, and not none: the real one has more kinds.
    Subset,
    /// The same lines, in any order: kubectl walks a Go map, or owners of fields stand in the order of their times.
    AnyOrder,
}

/// A command. `«ns»` is the namespace of the run, which every command gets by `--namespace`.
#[derive(Clone, Debug)]
pub struct Command {
    pub line: String,
    pub input: &'static str,
    pub how: How,
}

fn run(line: &str) -> Command {
    Command { line: line.to_owned(), input: "", how: How::Exactly }
}

fn fed(line: &str, input: &'static str) -> Command {
    Command { line: line.to_owned(), input, how: How::Exactly }
}

fn how(how: How, line: &str) -> Command {
    Command { line: line.to_owned(), input: "", how }
}

/// Everything, in order.
pub fn script() -> Vec<Command> {
    [apply(), read(), discover(), change(), status(), create(), access(), events(), wrong(), delete()].concat()
}

fn apply() -> Vec<Command> {
    vec![
        fed("diff -f -", WIDGET),
        fed("apply --dry-run=server -f -", WIDGET),
        fed("apply --dry-run=client -f -", WIDGET),
        fed("apply -f -", WIDGET),
        fed("apply -f -", WIDGET),
        fed("diff -f -", WIDGET),
        fed("diff -f -", WIDGET_CHANGED),
        fed("apply -f -", WIDGET_CHANGED),
        run("apply view-last-applied widget/one -o yaml"),
        fed("apply -f - -o yaml", WIDGET),
        fed("apply --server-side -f -", WIDGET_TWO),
        fed("apply --server-side -f -", WIDGET_TWO),
        fed("diff --server-side -f -", WIDGET_TWO),
        fed(
            "apply --server-side --field-manager=other -f -",
            "apiVersion: conformance.hyperfleet.io/v1\nkind: Widget\nmetadata: { name: two }\nspec: { color: red }\n",
        ),
        fed(
            "apply --server-side --field-manager=other --force-conflicts -f - -o yaml --show-managed-fields",
            "apiVersion: conformance.hyperfleet.io/v1\nkind: Widget\nmetadata: { name: two }\nspec: { color: red }\n",
        ),
        fed("apply --server-side --dry-run=server -f - -o json --show-managed-fields", WIDGET),
        fed("apply -f -", GADGET),
        fed("apply -f -", SEVERAL),
        fed("apply -f -", SEVERAL),
        fed("diff -f -", SEVERAL_CHANGED),
        fed("apply -f -", SEVERAL_CHANGED),
        fed("apply --server-side --force-conflicts -f -", SEVERAL),
        fed("apply --validate=strict -f -", WIDGET_BAD),
        fed("apply --validate=warn -f -", WIDGET_BAD),
        fed("apply --validate=ignore -f -", WIDGET_BAD),
        fed("apply -f -", WIDGET_WRONG),
    ]
}

fn read() -> Vec<Command> {
    let several = "configmap/first secret/second lease/third serviceaccount/fourth";
    vec![
        run("get widgets"),
        run("get wdg -o wide"),
        run("get widget one -o yaml"),
        how(How::AnyOrder, "get widget one -o yaml --show-managed-fields"),
        run("get widget one -o json"),
        run("get widgets -o name"),
        run("get widgets -o yaml"),
        run("get widgets -o jsonpath={.items[*].spec.color}"),
        run("get widgets -o custom-columns=NAME:.metadata.name,SIZE:.spec.size,NONE:.spec.nothing"),
        run("get widgets -o 'go-template={{range .items}}{{.metadata.name}}={{.spec.size}} {{end}}'"),
        run("get widgets --show-labels"),
        run("get widgets -L color,tier"),
        run("get widgets --sort-by=.spec.size"),
        run("get widgets --sort-by=.metadata.name --no-headers"),
        run("get widgets -l color=green"),
        run("get widgets -l 'color in (green,red),tier!=a'"),
        run("get widgets --field-selector metadata.name=one"),
        run("get widgets --field-selector spec.color=red"),
        run("get widgets --field-selector spec.nothing=red"),
        run("get widgets --chunk-size=1"),
        run("get widgets --ignore-not-found"),
        run("get widgets one two"),
        run("get widgets one missing"),
        run("get widget missing --ignore-not-found"),
        run("get conformance -l color"),
        run("get gadget «ns»-gadget"),
        run("get gadgets -A -l conformance=none"),
        run("get widgets -A --field-selector metadata.namespace=«ns»"),
        run(&format!("get {several}")),
        run(&format!("get {several} -o wide")),
        run(&format!("get {several} -o yaml")),
        run("get configmaps,secrets,leases -l app=several"),
        run("get secret second -o jsonpath={.data.password}"),
        run("get namespace «ns»"),
        run("get namespace «ns» -o jsonpath={.status.phase}"),
        how(How::Document, "get --raw /apis/conformance.hyperfleet.io/v1"),
        how(How::Document, "get --raw /apis/conformance.hyperfleet.io"),
        how(How::Document, "get --raw /api/v1/namespaces/«ns»/configmaps/first"),
        run("get --raw /bogus"),
        how(How::AnyOrder, "get widgets --watch --request-timeout=1s"),
        how(How::AnyOrder, "get configmap first --watch-only --request-timeout=1s"),
        run("get widgets --output-watch-events --watch --request-timeout=1s --field-selector metadata.name=one"),
        run("describe widget one"),
        run("describe widgets -l color=red"),
        run(&format!("describe {several}")),
        run("describe gadget «ns»-gadget"),
        how(How::Subset, "describe namespace «ns»"),
    ]
}

fn discover() -> Vec<Command> {
    vec![
        how(How::Subset, "api-resources"),
        how(How::Subset, "api-resources -o wide"),
        run("api-resources --api-group=conformance.hyperfleet.io"),
        run("api-resources --api-group=hypervisor.hyperfleet.io -o wide"),
        run("api-resources --api-group=coordination.k8s.io"),
        how(How::Subset, "api-resources --namespaced=false"),
        how(How::Subset, "api-versions"),
        how(How::Ending, "version"),
        run("explain widget"),
        run("explain widget.spec"),
        run("explain widget.spec.parts.options"),
        run("explain widget --recursive"),
        run("explain widget.spec.nothing"),
        run("explain gadgets --recursive"),
        run("explain machineclaim"),
        run("explain machineclaim.spec"),
        run("explain runnerpool --recursive"),
        run("explain configmap"),
        run("explain configmap.data"),
        run("explain lease.spec --recursive"),
        run("explain secret --recursive"),
        run("explain bogus"),
    ]
}

fn change() -> Vec<Command> {
    vec![
        run(r#"patch widget one --type=merge -p '{"spec":{"size":4}}'"#),
        run(r#"patch widget one --type=merge -p '{"spec":{"size":4}}'"#),
        run(r#"patch widget one --type=json -p '[{"op":"replace","path":"/spec/size","value":5}]' -o yaml"#),
        run(r#"patch widget one --type=strategic -p '{"spec":{"size":6}}'"#),
        run(r#"patch configmap first -p '{"data":{"a":"patched"}}'"#),
        run(r#"patch configmap first --type=json -p '[{"op":"remove","path":"/data/nothing"}]'"#),
        run(r#"patch widget one --type=merge -p '{"spec":{"size":1000}}'"#),
        run(r#"patch widget one --type=merge -p '{"spec":' "#),
        run("scale widget one --replicas=3"),
        run("scale widget one --replicas=4 --current-replicas=9"),
        run("scale widget one --replicas=4 --current-replicas=3"),
        run("scale configmap first --replicas=1"),
        run("get widget one --subresource=scale -o yaml"),
        run("label widget one tier=b"),
        run("label widget one tier=c"),
        run("label widget one tier=c --overwrite"),
        run("label widgets --all seen=yes"),
        run("label widget one tier- missing-"),
        run("label widget one 'bad=not valid!'"),
        how(How::AnyOrder, "label --list widget one"),
        run("annotate widget one note=hello --overwrite"),
        run("annotate configmaps,secrets,leases -l app=several note=all"),
        run("annotate widget one note-"),
        run("edit widget one"),
        run("edit widget two"),
        run("get widgets -o jsonpath={.items[*].spec.color}"),
        fed("replace -f -", CONFIG_REPLACED),
        run("get configmap first -o yaml"),
        fed("replace --force -f -", CONFIG_REPLACED),
        fed("replace -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: missing }\n"),
        fed("replace -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: first, resourceVersion: \"1\" }\n"),
    ]
}

fn status() -> Vec<Command> {
    vec![
        run("wait widget one --for=condition=Ready --timeout=1s"),
        run(&format!("patch widget one --subresource=status --type=merge -p '{CONDITION}'")),
        run("get widget one --subresource=status"),
        how(How::AnyOrder, "get widget one -o yaml --show-managed-fields"),
        run("wait widget one --for=condition=Ready --timeout=10s"),
        run("wait widget one --for=condition=Ready=false --timeout=1s"),
        run("wait widget one --for=jsonpath={.status.phase}=Running --timeout=10s"),
        run("wait widget one --for=jsonpath={.status.phase} --timeout=10s"),
        run("wait widget missing --for=create --timeout=1s"),
        run("describe widget one"),
    ]
}

fn create() -> Vec<Command> {
    vec![
        run("create configmap made --from-literal=a=1 --from-literal=b=2"),
        run("create configmap made --from-literal=a=1"),
        run("create configmap drawn --from-literal=a=1 --dry-run=server -o yaml"),
        run("create secret generic hidden --from-literal=password=example"),
        run("create serviceaccount reader"),
        run("create role reader --verb=get,list --resource=configmaps,widgets.conformance.hyperfleet.io"),
        run("create rolebinding reader --role=reader --serviceaccount=«ns»:reader"),
        run("create clusterrole «ns»-reader --verb=get --non-resource-url=/healthz"),
        run("create clusterrolebinding «ns»-reader --clusterrole=«ns»-reader --user=«ns»"),
        run("create token reader"),
        run("create token missing"),
        run("create namespace «ns»-more"),
        run("create namespace «ns»-more"),
        run("create namespace Bad_Name"),
        fed("create -f -", WIDGET),
        fed("create -f - -o name", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: plain }\n"),
        run("get role,rolebinding reader"),
        run("get role,rolebinding reader -o wide"),
        run("get role reader -o yaml"),
        run("describe role reader"),
        run("describe rolebinding reader"),
        run("describe clusterrole «ns»-reader"),
        run("describe serviceaccount reader"),
        run("get serviceaccount reader"),
        run("get secret hidden"),
        run("describe secret hidden"),
        run("get clusterrole «ns»-reader"),
        run("get clusterrolebinding «ns»-reader -o wide"),
    ]
}

fn access() -> Vec<Command> {
    let reader = "--as=system:serviceaccount:«ns»:reader";
    vec![
        run("auth whoami"),
        run("auth can-i get configmaps"),
        run("auth can-i '*' '*'"),
        run(&format!("auth whoami {reader}")),
        run(&format!("auth can-i get configmaps {reader}")),
        run(&format!("auth can-i delete configmaps {reader}")),
        run(&format!("auth can-i list widgets {reader}")),
        run(&format!("auth can-i get /healthz {reader}")),
        run(&format!("auth can-i get configmaps -A {reader}")),
        how(How::AnyOrder, &format!("auth can-i --list {reader}")),
        run(&format!("get configmaps {reader}")),
        run(&format!("get secrets {reader}")),
        run(&format!("delete configmap first {reader}")),
        run(&format!("create configmap no {reader}")),
        run(&format!("patch widget one --type=merge -p '{{}}' {reader}")),
        run(&format!("get namespaces {reader}")),
        run(&format!("create role more --verb=get --resource=secrets {reader}")),
        run("get configmaps --as=nobody"),
        run("get configmaps --token=wrong"),
    ]
}

fn events() -> Vec<Command> {
    vec![
        fed("apply -f -", EVENTS),
        run("get events"),
        run("get events -o wide"),
        run("get events.events.k8s.io"),
        run("get events --field-selector reason=Tested"),
        run("get events --sort-by=.lastTimestamp"),
        run("events"),
        run("events --for=widget/one"),
        run("events --types=Warning"),
        run("describe widget one"),
        run("describe configmap first"),
        run("get event first.1 -o yaml"),
        run("describe event second.1"),
    ]
}

fn wrong() -> Vec<Command> {
    vec![
        run("get bogus"),
        run("get widgets.v9.conformance.hyperfleet.io"),
        run("get widget missing"),
        run("get configmap missing -o yaml"),
        run("describe widget missing"),
        run("delete widget missing"),
        run("delete widget missing --ignore-not-found"),
        run("label widget missing a=b"),
        run("scale widget missing --replicas=1"),
        fed("apply -f -", "apiVersion: bogus.example.com/v1\nkind: Thing\nmetadata: { name: x }\n"),
        fed("apply -f -", "kind: ConfigMap\nmetadata: { name: x }\n"),
        fed("apply -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x }\ndata: { a: 1 }\n"),
        fed("create -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: Bad_Name }\n"),
        fed("create -f -", "apiVersion: v1\nkind: ConfigMap\nmetadata: { name: x, namespace: elsewhere }\n"),
        run("get configmaps --namespace missing"),
        run("create configmap x --namespace missing-namespace"),
    ]
}

fn delete() -> Vec<Command> {
    let dependent = |name: &str| {
        format!(
            r#"patch configmap {name} --type=json -p '[{{"op":"add","path":"/metadata/ownerReferences","value":[{{"apiVersion":"v1","kind":"ConfigMap","name":"owner","uid":"«uid»","blockOwnerDeletion":true}}]}}]'"#
        )
    };
    let family = |policy: &str| {
        vec![
            run("create configmap owner"),
            run("create configmap child"),
            run("get configmap owner -o jsonpath={.metadata.uid}"),
            run(&dependent("child")),
            run("get configmap child -o jsonpath={.metadata.ownerReferences[*].name}"),
            run(&format!("delete configmap owner --cascade={policy}")),
        ]
    };
    let mut commands = vec![
        run("delete widget two --dry-run=server"),
        run("delete widget two"),
        run("delete widget two"),
        run(r#"patch widget one --type=merge -p '{"metadata":{"finalizers":["example.com/hold"]}}'"#),
        run("delete widget one --wait=false"),
        run("delete widget one --timeout=1s"),
        run("get widget one -o jsonpath={.metadata.finalizers}"),
        run("wait widget one --for=delete --timeout=1s"),
        run(r#"patch widget one --type=merge -p '{"metadata":{"finalizers":null}}'"#),
        run("get widget one"),
        run("delete configmaps,secrets -l app=several"),
        run("delete leases --all"),
        run("delete serviceaccount fourth --now"),
        run("delete configmap made plain -o name"),
        run("delete clusterrole «ns»-reader"),
        run("delete clusterrolebinding «ns»-reader"),
        run("delete gadget «ns»-gadget --cascade=background"),
        run("delete role reader --grace-period=0"),
        run("delete configmap first --cascade=bogus"),
    ];
    commands.extend(family("background"));
    commands.push(how(How::Ending, "wait configmap/child --for=delete --timeout=60s"));
    commands.push(run("get configmap child"));
    commands.extend(family("foreground"));
    commands.push(run("get configmap child"));
    commands.extend(family("orphan"));
    commands.push(run("get configmap child -o jsonpath={.metadata.ownerReferences}"));
    commands.push(run("delete namespace «ns»-more --timeout=60s"));
    commands.push(run("get namespace «ns»-more"));
    commands
}
