//! Get, list and watch.

use http::Method;

use super::super::kinds::Kind;
use super::super::sequence::Call;
use super::{Draft, LABEL};

/// Ways to ask for another shape of the answer.
const ACCEPT: &[&str] = &[
    "application/json;as=Table;v=v1;g=meta.k8s.io,application/json",
    "application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1",
    "application/json;as=PartialObjectMetadataList;g=meta.k8s.io;v=v1",
    "application/yaml",
    "*/*",
    "application/json;as=Table;v=v1beta1;g=meta.k8s.io",
    "application/json;as=Bogus;v=v1;g=meta.k8s.io",
    "text/html",
    "application/json, */*",
];

const LABEL_SELECTORS: &[&str] = &[
    "color=red",
    "color==red",
    "color!=green",
    "color in (red,blue)",
    "tier notin (b)",
    "tier",
    "!absent",
    "color=red,tier=a",
];

const BAD_SELECTORS: &[&str] =
    &["=", "a in", "color=not valid!", "a in (b", "x y", "bad/key/x=1", "color in ()", ",", "color>5", "!"];

const BAD_FIELDS: &[&str] =
    &["spec.nothing=1", "metadata.name", "metadata.name=one,", "metadata.uid=x", "a=b=c", "metadata.name in (a)"];

impl Draft {
    /// The label selector that limits a look to this sequence, with another if there is one.
    fn labels(kind: &Kind, other: Option<&str>) -> Option<String> {
        let own = kind.needs_label().then(|| format!("{LABEL}=«ns»"));
        let parts: Vec<String> = own.into_iter().chain(other.map(str::to_owned)).collect();
        (!parts.is_empty()).then(|| parts.join(","))
    }

    pub fn list_call(kind: &Kind, other: Option<&str>) -> Call {
        let call = Call::new(Method::GET, kind.collection());
        match Self::labels(kind, other) {
            Some(labels) => call.query("labelSelector", labels),
            None => call,
        }
    }

    pub fn get(&mut self) {
        let (kind, name) = self.existing();
        let mut call = Call::new(Method::GET, kind.path(&name));
        if self.rng.chance(20) {
            let accept = *self.rng.pick(ACCEPT);
            call = call.header("accept", accept);
        } else if self.rng.chance(5) {
            let name = self.odd_name(kind).replace(' ', "%20");
            call = Call::new(Method::GET, kind.path(&name));
        } else if self.rng.chance(5) {
            call = call.query("resourceVersion", "abc");
        }
        self.send_about(kind, &name, call);
    }

    pub fn list(&mut self) {
        let (kind, _) = self.subject();
        match self.rng.below(12) {
            0..=2 => {
                let selector = *self.rng.pick(LABEL_SELECTORS);
                self.send(Self::list_call(kind, Some(selector)));
            }
            3 | 4 => {
                let odd = self.rng.chance(25).then(|| *self.rng.pick(BAD_FIELDS));
                let field = odd.map_or_else(|| self.field_selector(kind), str::to_owned);
                self.send(Self::list_call(kind, None).query("fieldSelector", field));
            }
            // Pages of a collection that others fill too end where others make them end.
            5 | 6 if !kind.needs_label() => self.pages(kind),
            7 => {
                let accept = *self.rng.pick(ACCEPT);
                let mut call = Self::list_call(kind, None).header("accept", accept);
                if self.rng.chance(40) {
                    call = call.query("includeObject", *self.rng.pick(&["None", "Object", "Metadata", "Bogus"]));
                }
                self.send(call);
            }
            8 | 9 => self.list_at_version(kind),
            10 => {
                let bad = *self.rng.pick(BAD_SELECTORS);
                self.send(Call::new(Method::GET, kind.collection()).query("labelSelector", bad));
            }
            _ => {
                self.send(Self::list_call(kind, None));
            }
        }
    }

    fn pages(&mut self, kind: &'static Kind) {
        let limit = *self.rng.pick(&["1", "1", "2", "500", "-1", "x", "0"]);
        let other = self.rng.chance(20).then_some("color=red");
        let first = self.send(Self::list_call(kind, other).query("limit", limit));
        if self.rng.chance(30) {
            // What happens meanwhile is not seen by the rest of the pages.
            self.create();
        }
        let token = format!("«continue:{first}»");
        let mut next = Self::list_call(kind, other).query("limit", limit).query("continue", token.clone());
        if self.rng.chance(10) {
            next = next.query("resourceVersion", format!("«rv:{first}»"));
        }
        self.send(next);
        if self.rng.chance(10) {
            let bad = *self.rng.pick(&[
                "garbage",
                "e30",
                "eyJ2IjoibWV0YS5rOHMuaW8vdjEifQ",
                "eyJ2IjoibWV0YS5rOHMuaW8vdjEiLCJydiI6MSwic3RhcnQiOiJhIn0",
            ]);
            self.send(Self::list_call(kind, None).query("limit", "1").query("continue", bad));
        }
    }

    /// Lists that name a version. A consistent one goes before, so that caches have caught up.
    fn list_at_version(&mut self, kind: &'static Kind) {
        let fresh = self.send(Self::list_call(kind, None));
        let call = Self::list_call(kind, None);
        let fresh = format!("«rv:{fresh}»");
        let draw = if kind.needs_label() { self.rng.below(5) } else { self.rng.below(11) };
        let call = match draw {
            0 | 1 => call.query("resourceVersion", "0"),
            2 => call.query("resourceVersion", fresh),
            3 => call.query("resourceVersion", fresh).query("resourceVersionMatch", "NotOlderThan"),
            4 => call.query("resourceVersion", fresh).query("resourceVersionMatch", "Exact"),
            5 => call.query("resourceVersion", fresh).query("resourceVersionMatch", "Exact").query("limit", "1"),
            6 => call.query("resourceVersion", "0").query("resourceVersionMatch", "Exact"),
            7 => call.query("resourceVersionMatch", "Exact"),
            8 => call.query("resourceVersion", fresh).query("resourceVersionMatch", "Bogus"),
            9 => call.query("resourceVersion", "abc"),
            _ => call.query("resourceVersion", "0").query("limit", "1"),
        };
        self.send(call);
    }

    fn field_selector(&mut self, kind: &Kind) -> String {
        if kind.selectors.is_empty() || self.rng.chance(40) {
            return format!("metadata.name={}", kind.name("one"));
        }
        self.rng.pick(&kind.selectors).clone()
    }

    /// Opens a watch on a kind; `start` says that nothing has happened yet and which step listed it.
    pub fn open_watch(&mut self, kind: &'static Kind, listed: usize) {
        let other = self.rng.chance(30).then(|| *self.rng.pick(LABEL_SELECTORS));
        let mut call = Self::list_call(kind, other).query("watch", *self.rng.pick(&["true", "1", "true"]));
        let mut mark = kind.name("zz-end");
        if other.is_none() && self.rng.chance(30) {
            let field = self.field_selector(kind);
            if field == format!("metadata.name={}", kind.name("one")) {
                mark = kind.name("one");
            }
            call = call.query("fieldSelector", field);
        }
        // Events are not cached: where a watch of theirs without a version begins depends on the moment.
        let draw = if kind.kind == "Event" { 0 } else { self.rng.below(10) };
        call = match draw {
            0..=4 => call.query("resourceVersion", format!("«rv:{listed}»")),
            5 => call,
            6 => call.query("resourceVersion", "0"),
            _ => call
                .query("sendInitialEvents", "true")
                .query("resourceVersionMatch", "NotOlderThan")
                .query("allowWatchBookmarks", "true"),
        };
        if self.rng.chance(15) {
            let accept = *self.rng.pick(&ACCEPT[..2]);
            call = call.header("accept", accept);
        }
        self.watch(kind, call, &mark);
    }

    /// A watch in the middle: from something that an answer said, or one that is refused.
    pub fn late_watch(&mut self) {
        let (kind, name) = self.subject();
        let call = Self::list_call(kind, None).query("watch", "true");
        if let Some(step) = self.answers(kind, &name).first().copied()
            && self.rng.chance(50)
        {
            self.watch(kind, call.query("resourceVersion", format!("«rv:{step}»")), &kind.name("zz-end"));
            return;
        }
        if self.rng.chance(50) {
            let listed = self.send(Self::list_call(kind, None));
            self.open_watch(kind, listed);
            return;
        }
        let odd = match self.rng.below(7) {
            // Events have no cache that could be too young: their history is as old as the store.
            0 if kind.kind != "Event" => call.query("resourceVersion", "1"),
            0 | 1 => call.query("resourceVersion", "abc"),
            2 => call.query("sendInitialEvents", "true"),
            3 => call.query("sendInitialEvents", "true").query("resourceVersionMatch", "Exact"),
            4 => call.query("resourceVersionMatch", "NotOlderThan"),
            5 => call.query("labelSelector", "=bad="),
            _ => call.query("fieldSelector", "spec.nothing=1"),
        };
        self.watch(kind, odd, &kind.name("zz-end"));
    }
}
