//! A few canned answers of a Proxmox VE with one VM to make, and a note of every request.
//!
//! Not a simulator: it says yes to everything and keeps just enough to be asked again.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::header::CONTENT_TYPE;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use hyper::body::Bytes;
use percent_encoding::percent_decode_str;
use providers::http::{Client, TransportError};
use serde_json::{Value, json};
use tower::service_fn;

/// One request as the server saw it.
#[derive(Clone, Debug)]
pub(crate) struct Seen {
    pub(crate) method: Method,
    /// Below `/api2/json`.
    pub(crate) path: String,
    pub(crate) parameters: Vec<(String, String)>,
}

/// What the server does instead of its canned answer.
pub(crate) enum Instead {
    Answer(u16, &'static str, Value),
    Break,
}

type Rule = Box<dyn FnMut(&Seen) -> Option<Instead> + Send>;

#[derive(Clone)]
pub(crate) struct Server(Arc<Mutex<State>>);

struct State {
    seen: Vec<Seen>,
    image: BTreeMap<String, Value>,
    config: Option<BTreeMap<String, Value>>,
    revision: u32,
    tasks: u32,
    rules: Vec<Rule>,
}

impl Server {
    pub(crate) fn new() -> Self {
        let image: BTreeMap<String, Value> = [
            ("boot", json!("order=scsi0;ide2;net0")),
            ("cores", json!(2)),
            ("digest", json!("c92d4276deb52d06609264614eb6ee5c991effda")),
            ("ide2", json!("store:9000/vm-9000-cloudinit.qcow2,media=cdrom")),
            ("memory", json!("2048")),
            ("name", json!("tmpl")),
            ("net0", json!("virtio=BC:24:11:69:63:FF,bridge=vmbr0")),
            ("protection", json!(1)),
            ("scsi0", json!("store:9000/base-9000-disk-0.qcow2,size=1G")),
            ("smbios1", json!("uuid=088efdb9-7d45-4a68-8e3d-e8613abc006b")),
            ("template", json!(1)),
        ]
        .map(|(name, value)| (name.to_owned(), value))
        .into();
        let state = State { seen: Vec::new(), image, config: None, revision: 0, tasks: 0, rules: Vec::new() };
        Self(Arc::new(Mutex::new(state)))
    }

    /// From now on, where the rule has something to say, that.
    pub(crate) fn rule(&self, rule: impl FnMut(&Seen) -> Option<Instead> + Send + 'static) {
        self.state().rules.push(Box::new(rule));
    }

    pub(crate) fn client(&self) -> Client {
        let server = self.clone();
        Client::over("proxmox", service_fn(move |request| server.clone().answer(request)))
    }

    /// Every request so far.
    pub(crate) fn seen(&self) -> Vec<Seen> {
        self.state().seen.clone()
    }

    /// The requests so far, without those about tasks.
    pub(crate) fn calls(&self) -> Vec<String> {
        let seen = self.seen().into_iter().filter(|seen| !seen.path.contains("/tasks/"));
        seen.map(|seen| format!("{} {}", seen.method, seen.path)).collect()
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    async fn answer(self, request: Request<Full<Bytes>>) -> Result<Response<Full<Bytes>>, TransportError> {
        let (head, body) = request.into_parts();
        let body = body.collect().await.map_or_else(|never| match never {}, http_body_util::Collected::to_bytes);
        let is_upload = head.headers.get(CONTENT_TYPE).is_some_and(|kind| kind.as_bytes().starts_with(b"multipart/"));
        let mut parameters = form(head.uri.query().unwrap_or_default());
        parameters.extend(if is_upload { parts(&body) } else { form(&String::from_utf8_lossy(&body)) });
        let path = head.uri.path().strip_prefix("/api2/json").expect("every path is below the root").to_owned();
        let path = percent_decode_str(&path).decode_utf8_lossy().into_owned();
        let seen = Seen { method: head.method, path, parameters };
        let mut state = self.state();
        state.seen.push(seen.clone());
        let mut rules = std::mem::take(&mut state.rules);
        let instead = rules.iter_mut().find_map(|rule| rule(&seen));
        state.rules = rules;
        match instead {
            None => Ok(response(200, "OK", &json!({"data": state.canned(&seen)}))),
            Some(Instead::Answer(status, reason, body)) => Ok(response(status, reason, &body)),
            Some(Instead::Break) => Err(TransportError::Interrupted { detail: "connection reset".into() }),
        }
    }
}

impl State {
    fn canned(&mut self, seen: &Seen) -> Value {
        let parts: Vec<&str> = seen.path.split('/').skip(1).collect();
        match (seen.method.as_str(), &parts[..]) {
            ("GET", ["version"]) => json!({"version": "9.2.11", "release": "9.2"}),
            ("GET", ["access", "permissions"]) => json!({"/": {"Sys.Audit": 1}}),
            ("GET", ["cluster", "nextid"]) => json!(seen.parameters[0].1),
            ("GET", ["nodes", _, "network"]) => json!([{ "iface": "vmbr0", "type": "bridge" }]),
            ("GET", ["cluster", "resources"]) => json!([
                {"type": "qemu", "vmid": 9000, "node": "vm", "status": "stopped", "template": 1, "name": "tmpl"},
                {"type": "qemu", "vmid": 101, "node": "vm", "status": "unknown"},
            ]),
            ("GET", ["nodes", _, "qemu", "9000", "config"]) => json!(self.image),
            ("GET", ["nodes", _, "qemu", _, "feature"]) => json!({"hasFeature": 1, "nodes": ["vm"]}),
            ("GET", ["nodes", _, "qemu", _, "config"]) => json!(self.config),
            ("GET", ["nodes", _, "qemu", _, "status", "current"]) => {
                json!({"status": "running", "qmpstatus": "running"})
            }
            ("PUT", ["nodes", _, "qemu", _, "config"]) => self.update(&seen.parameters),
            ("POST", ["nodes", _, "qemu", _, "clone"]) => self.make(&seen.parameters),
            ("DELETE", ["nodes", _, "qemu", _]) => {
                self.config = None;
                self.task("qmdestroy")
            }
            ("GET", ["nodes", _, "tasks", _, "status"]) => json!({"status": "stopped", "exitstatus": "OK"}),
            ("GET", ["nodes", _, "tasks", _, "log"]) => json!([{"n": 1, "t": "TASK OK"}]),
            ("GET", ["nodes", _, "storage", _, "content"]) => json!([]),
            (_, _) => self.task("imgcopy"),
        }
    }

    fn make(&mut self, parameters: &[(String, String)]) -> Value {
        let mut config = self.image.clone();
        config.remove("template");
        config.insert("ide2".into(), json!("store:101/vm-101-cloudinit.qcow2,media=cdrom,size=4M"));
        config.insert("scsi0".into(), json!("store:9000/base-9000-disk-0.qcow2/101/vm-101-disk-0.qcow2,size=1G"));
        for (name, value) in parameters.iter().filter(|(name, _)| name == "description" || name == "name") {
            config.insert(name.clone(), json!(value));
        }
        self.config = Some(config);
        self.task("qmclone")
    }

    fn update(&mut self, parameters: &[(String, String)]) -> Value {
        self.revision += 1;
        let digest = format!("{:040x}", self.revision);
        let config = self.config.as_mut().expect("only a VM that is there is changed");
        for (name, value) in parameters {
            match name.as_str() {
                "delete" => drop(value.split(',').map(|name| config.remove(name)).collect::<Vec<_>>()),
                _ => drop(config.insert(name.clone(), json!(value))),
            }
        }
        config.insert("digest".into(), json!(digest));
        Value::Null
    }

    fn task(&mut self, kind: &str) -> Value {
        self.tasks += 1;
        json!(format!("UPID:vm:{:08X}:00025911:6AFA0058:{kind}:101:op@pve!hf:", self.tasks))
    }
}

fn response(status: u16, reason: &'static str, body: &Value) -> Response<Full<Bytes>> {
    let mut response = Response::new(Full::new(Bytes::from(body.to_string())));
    *response.status_mut() = StatusCode::from_u16(status).expect("a valid status");
    response.extensions_mut().insert(hyper::ext::ReasonPhrase::from_static(reason.as_bytes()));
    response
}

fn form(text: &str) -> Vec<(String, String)> {
    let plain = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
    let pairs = text.split('&').filter(|pair| !pair.is_empty());
    pairs.map(|pair| pair.split_once('=').expect("a pair")).map(|(name, value)| (plain(name), plain(value))).collect()
}

/// The fields of an upload; the file stands for its name.
fn parts(body: &[u8]) -> Vec<(String, String)> {
    let text = String::from_utf8_lossy(body);
    let mut found = Vec::new();
    for part in text.split("Content-Disposition: form-data; name=\"").skip(1) {
        let (name, rest) = part.split_once('"').expect("a name");
        let file = rest.strip_prefix("; filename=\"").and_then(|rest| rest.split_once('"'));
        let value = file.map_or_else(|| rest.split("\r\n").nth(2).unwrap_or_default(), |(file, _)| file);
        found.push((name.to_owned(), value.to_owned()));
    }
    found
}
