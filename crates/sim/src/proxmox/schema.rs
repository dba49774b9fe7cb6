//! What Proxmox's own API schema says about a call, and the checks that follow from it.
//!
//! The rules come from files (see `schema/README.md`), not from code: the simulator refuses what the real server's
//! generic validator refuses, with the same words, whether or not our client would ever send it.

mod format;
mod property;
mod text;
mod validate;

use std::collections::BTreeMap;
use std::sync::LazyLock;

use serde::Deserialize;
use serde_json::Value;

pub(crate) use property::Composed;
pub(crate) use text::split_list;
pub(crate) use validate::{Given, Params, validate};

use super::Release;

/// Errors by parameter, as the real server reports them all at once.
pub(crate) type Errors = BTreeMap<String, String>;

type Properties = BTreeMap<String, Property>;

/// Every call of one release.
pub(crate) struct Catalogue {
    routes: Vec<Route>,
    /// Where among them the options of a VM are.
    options: usize,
}

struct Route {
    segments: Vec<Segment>,
    template: String,
    methods: BTreeMap<String, Method>,
}

enum Segment {
    Fixed(String),
    /// One path segment, bound to this parameter.
    Bound(String),
}

/// One verb on one path.
#[derive(Debug, Deserialize)]
pub(crate) struct Method {
    #[serde(default)]
    parameters: Parameters,
    #[serde(default)]
    pub(crate) permissions: Option<Permissions>,
    #[serde(default)]
    protected: u8,
    #[serde(default)]
    proxyto: Option<String>,
    #[serde(default = "allowed")]
    allowtoken: u8,
}

fn allowed() -> u8 {
    1
}

#[derive(Debug, Default, Deserialize)]
struct Parameters {
    #[serde(default)]
    properties: Properties,
}

/// Who may make a call.
#[derive(Debug, Deserialize)]
pub(crate) struct Permissions {
    /// The tree of checks, as lists.
    #[serde(default)]
    pub(crate) check: Option<Value>,
    /// `all` for any authenticated user, `world` for anybody.
    #[serde(default)]
    pub(crate) user: Option<String>,
}

/// What a value must look like.
#[derive(Debug, Default, Deserialize)]
pub(crate) struct Property {
    #[serde(default, rename = "type")]
    kind: Option<String>,
    #[serde(default)]
    optional: Value,
    #[serde(default)]
    format: Option<Format>,
    #[serde(default)]
    pattern: Option<String>,
    #[serde(default, rename = "enum")]
    allowed: Option<Vec<Value>>,
    #[serde(default)]
    minimum: Option<Value>,
    #[serde(default)]
    maximum: Option<Value>,
    #[serde(default, rename = "maxLength")]
    max_length: Option<usize>,
    #[serde(default, rename = "minLength")]
    min_length: Option<usize>,
    #[serde(default)]
    requires: Option<String>,
    #[serde(default)]
    default_key: Value,
    #[serde(default)]
    alias: Option<String>,
    #[serde(default, rename = "keyAlias")]
    key_alias: Option<String>,
    #[serde(default)]
    items: Option<Box<Property>>,
}

/// A format by name, or the keys of a composed value.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
enum Format {
    Named(String),
    Composed(Properties),
}

/// Formats of composed values that the schema only names.
static COMPOSED: LazyLock<BTreeMap<String, Properties>> = LazyLock::new(|| {
    serde_json::from_str(include_str!("../../schema/formats.json")).expect("the file is part of this crate and tested")
});

static V8: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::new(&[include_str!("../../schema/pve-8.4.json"), include_str!("../../schema/more.json")])
});
static V9: LazyLock<Catalogue> = LazyLock::new(|| {
    Catalogue::new(&[include_str!("../../schema/pve-9.1.3.json"), include_str!("../../schema/more.json")])
});

/// A call that the catalogue knows, with the parameters its path binds.
pub(crate) struct Found {
    pub(crate) template: &'static str,
    pub(crate) method: &'static Method,
    pub(crate) bound: BTreeMap<String, String>,
}

impl Catalogue {
    /// The calls of a release.
    pub(crate) fn of(release: Release) -> &'static Self {
        match release {
            Release::V8 => &V8,
            Release::V9 => &V9,
        }
    }

    fn new(files: &[&str]) -> Self {
        let mut routes = Vec::new();
        for file in files {
            let paths: BTreeMap<String, BTreeMap<String, Method>> =
                serde_json::from_str(file).expect("the file is part of this crate and tested");
            routes.extend(paths.into_iter().map(|(template, methods)| Route {
                segments: segments(&template).map(Segment::new).collect(),
                template,
                methods,
            }));
        }
        // A fixed word wins over a bound one: `/nodes/{node}/qemu/{vmid}/status/current`.
        routes.sort_by_key(|route| route.segments.iter().filter(|part| matches!(part, Segment::Bound(_))).count());
        let options = routes.iter().position(|route| route.template == "/nodes/{node}/qemu/{vmid}/config");
        Self { routes, options: options.expect("every release can configure a VM") }
    }

    /// The call that `verb` on `path` means.
    pub(crate) fn find(&'static self, verb: &str, path: &str) -> Option<Found> {
        let parts: Vec<&str> = segments(path).collect();
        self.routes.iter().find_map(|route| {
            let method = route.fits(&parts).then(|| route.methods.get(verb))??;
            Some(Found { template: &route.template, method, bound: route.bind(&parts) })
        })
    }

    /// Every call, for tests that go through all of them.
    #[cfg(test)]
    pub(crate) fn calls(&'static self) -> impl Iterator<Item = (&'static str, &'static str, &'static Method)> {
        self.routes.iter().flat_map(|route| {
            route.methods.iter().map(|(verb, method)| (verb.as_str(), route.template.as_str(), method))
        })
    }

    /// Whether a VM has an option of this name.
    pub(crate) fn is_option(&'static self, name: &str) -> bool {
        self.option(name).is_some()
    }

    /// The rules of a VM's option.
    pub(crate) fn option(&'static self, name: &str) -> Option<&'static Property> {
        const NOT_OPTIONS: &[&str] =
            &["node", "vmid", "delete", "revert", "force", "digest", "skiplock", "background_delay"];
        if NOT_OPTIONS.contains(&name) {
            return None;
        }
        let found = self.routes[self.options].methods.get("PUT").and_then(|method| method.property(name));
        // Not settable through this call, but an option of a VM all the same.
        found.or_else(|| (name.starts_with("unused") || name == "parent").then(|| &*UNTYPED))
    }
}

static UNTYPED: LazyLock<Property> = LazyLock::new(Property::default);

impl Route {
    fn fits(&self, parts: &[&str]) -> bool {
        let length =
            if self.ends_in_volume() { parts.len() >= self.segments.len() } else { parts.len() == self.segments.len() };
        length && self.segments.iter().zip(parts).all(|(segment, part)| segment.fits(part))
    }

    /// What the path binds that fits.
    fn bind(&self, parts: &[&str]) -> BTreeMap<String, String> {
        let mut bound: BTreeMap<String, String> = (self.segments.iter().zip(parts))
            .filter_map(|(segment, part)| Some((segment.name()?.to_owned(), (*part).to_owned())))
            .collect();
        if self.ends_in_volume() {
            bound.insert(VOLUME.to_owned(), parts[self.segments.len() - 1..].join("/"));
        }
        bound
    }

    /// Volume names have slashes in them, and only ever come last.
    fn ends_in_volume(&self) -> bool {
        self.segments.last().and_then(Segment::name) == Some(VOLUME)
    }
}

/// The one parameter of a path that takes more than one segment.
const VOLUME: &str = "volume";

impl Segment {
    fn new(text: &str) -> Self {
        match text.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(name) => Self::Bound(name.to_owned()),
            None => Self::Fixed(text.to_owned()),
        }
    }

    fn fits(&self, part: &str) -> bool {
        match self {
            Self::Fixed(word) => word == part,
            Self::Bound(_) => true,
        }
    }

    fn name(&self) -> Option<&str> {
        match self {
            Self::Fixed(_) => None,
            Self::Bound(name) => Some(name),
        }
    }
}

fn segments(path: &str) -> impl Iterator<Item = &str> {
    path.split('/').filter(|part| !part.is_empty())
}

impl Method {
    /// Whether the call is made by the root daemon, of which there are few.
    pub(crate) const fn is_protected(&self) -> bool {
        self.protected == 1
    }

    /// Whether the call is carried out on the node it names.
    pub(crate) fn goes_to_node(&self) -> bool {
        self.proxyto.as_deref() == Some("node")
    }

    /// Whether an API token may make it.
    pub(crate) const fn allows_token(&self) -> bool {
        self.allowtoken == 1
    }

    fn property(&self, name: &str) -> Option<&Property> {
        self.parameters.properties.get(name).or_else(|| {
            let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
            let (stem, number) = name.split_at(name.len() - digits);
            let plain = number == "0" || !number.starts_with('0');
            let index: u16 = number.parse().ok().filter(|_| plain)?;
            (index < count_of(stem)).then_some(())?;
            self.parameters.properties.get(&format!("{stem}[n]"))
        })
    }
}

/// How many numbered options of a kind a VM can have.
fn count_of(stem: &str) -> u16 {
    match stem {
        "scsi" => 31,
        "virtio" | "hostpci" => 16,
        "sata" => 6,
        "ide" | "serial" => 4,
        "usb" => 14,
        "parallel" => 3,
        "numa" => 8,
        "virtiofs" => 10,
        "unused" => 256,
        // net, ipconfig, link
        _ => 32,
    }
}

impl Property {
    fn is_optional(&self) -> bool {
        truthy(&self.optional)
    }

    /// Whether a VM's option of this kind reads back as a number.
    pub(crate) fn is_whole(&self) -> bool {
        matches!(self.kind.as_deref(), Some("integer" | "boolean"))
    }

    fn composed(&self) -> Option<&Properties> {
        match self.format.as_ref()? {
            Format::Composed(properties) => Some(properties),
            Format::Named(name) => COMPOSED.get(name),
        }
    }
}

fn truthy(value: &Value) -> bool {
    match value {
        Value::Bool(flag) => *flag,
        Value::Number(number) => number.as_u64() == Some(1),
        Value::String(text) => text == "1",
        Value::Null | Value::Array(_) | Value::Object(_) => false,
    }
}

#[cfg(test)]
mod tests;
