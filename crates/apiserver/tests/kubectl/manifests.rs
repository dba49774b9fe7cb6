//! What kubectl is given.

pub const WIDGET: &str = "\
apiVersion: conformance.hyperfleet.io/v1
kind: Widget
metadata:
  name: one
  labels: { color: red, tier: a }
spec:
  color: red
  size: 3
  replicas: 2
  tags: [a, b]
  parts:
  - { name: first, value: 1 }
  - { name: first, protocol: UDP, value: 2 }
";

pub const WIDGET_CHANGED: &str = "\
apiVersion: conformance.hyperfleet.io/v1
kind: Widget
metadata:
  name: one
  labels: { color: green }
  annotations: { note: changed }
spec:
  color: green
  replicas: 2
  tags: [b, c]
  parts:
  - { name: first, protocol: UDP, value: 5 }
  extra: { free: [1, { x: y }] }
";

pub const WIDGET_TWO: &str = "\
apiVersion: conformance.hyperfleet.io/v1
kind: Widget
metadata: { name: two, labels: { color: blue } }
spec: { color: blue, size: 9, \"on\": true, nested: { level: high } }
";

pub const WIDGET_BAD: &str = "\
apiVersion: conformance.hyperfleet.io/v1
kind: Widget
metadata: { name: bad }
spec: { color: pink, size: 101, bogus: 1 }
";

pub const WIDGET_WRONG: &str = "\
apiVersion: conformance.hyperfleet.io/v1
kind: Widget
metadata: { name: wrong }
spec: { color: pink, size: 101 }
";

pub const GADGET: &str = "\
apiVersion: conformance.hyperfleet.io/v1
kind: Gadget
metadata: { name: «ns»-gadget }
spec: { color: red }
";

pub const SEVERAL: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: { name: first, labels: { app: several } }
data: { a: \"1\", b: two }
---
apiVersion: v1
kind: Secret
metadata: { name: second, labels: { app: several } }
stringData: { password: example }
---
apiVersion: coordination.k8s.io/v1
kind: Lease
metadata: { name: third, labels: { app: several } }
spec: { holderIdentity: me, leaseDurationSeconds: 15, renewTime: \"2020-01-02T03:04:05.000006Z\" }
---
apiVersion: v1
kind: ServiceAccount
metadata: { name: fourth, labels: { app: several } }
";

pub const SEVERAL_CHANGED: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: { name: first, labels: { app: several, more: \"yes\" } }
data: { a: \"2\", c: three }
---
apiVersion: v1
kind: Secret
metadata: { name: second, labels: { app: several } }
stringData: { password: example }
";

pub const CONFIG_REPLACED: &str = "\
apiVersion: v1
kind: ConfigMap
metadata: { name: first }
data: { z: \"26\" }
";

pub const EVENTS: &str = "\
apiVersion: v1
kind: Event
metadata: { name: first.1 }
involvedObject: { kind: Widget, name: one, namespace: «ns», apiVersion: conformance.hyperfleet.io/v1 }
reason: Tested
message: it was tested
type: Normal
count: 3
firstTimestamp: \"2020-01-02T03:04:05Z\"
lastTimestamp: \"2020-01-02T03:04:06Z\"
source: { component: tester }
---
apiVersion: events.k8s.io/v1
kind: Event
metadata: { name: second.1 }
eventTime: \"2020-01-02T03:05:05.000006Z\"
reportingController: conformance.hyperfleet.io/tester
reportingInstance: tester-0
action: Testing
reason: Warned
type: Warning
note: it was warned
regarding: { kind: ConfigMap, name: first, namespace: «ns», apiVersion: v1 }
";

pub const CONDITION: &str = r#"{"status":{"phase":"Running","replicas":1,"conditions":[{"type":"Ready","status":"True","reason":"Fine","message":"all is well","lastTransitionTime":"2020-01-02T03:04:05Z"}]}}"#;
