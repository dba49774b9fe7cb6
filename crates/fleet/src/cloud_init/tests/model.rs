//! What cloud-init makes of user data, after `cloudinit/user_data.py`, `handlers/cloud_config.py` and `mergers/`.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value, json};

/// A machine after it read its user data.
#[derive(Debug, Default)]
pub(super) struct Boot {
    /// The merged cloud-config.
    pub(super) config: Value,
    /// Type and text of every part, in order.
    pub(super) texts: Vec<(String, String)>,
}

/// Reads user data.
pub(super) fn boot(text: &str) -> Boot {
    let mut boot = Boot { config: json!({}), texts: Vec::new() };
    let near: String = text.bytes().take(4096).map(|byte| char::from(byte).to_ascii_lowercase()).collect();
    if near.contains("mime-version:") {
        boot.walk(text);
    } else {
        assert!(text.starts_with("#cloud-config\n"), "{text}");
        boot.take("text/cloud-config", text, "");
    }
    boot
}

impl Boot {
    fn walk(&mut self, text: &str) {
        let (head, body) = text.split_once("\n\n").unwrap();
        let head = head.replace("\n ", "");
        let header = |name: &str| {
            let found = head.lines().find_map(|line| line.split_once(": ").filter(|(header, _)| *header == name));
            found.map(|(_, value)| value.to_owned())
        };
        let kind = header("Content-Type").unwrap();
        if let Some((_, boundary)) = kind.split_once("boundary=") {
            let delimiter = format!("\n--{}", boundary.trim_matches('"'));
            let body = format!("\n{body}");
            let parts: Vec<_> = body.split(&delimiter).skip(1).collect();
            let (end, parts) = parts.split_last().unwrap();
            assert!(end.starts_with("--"), "{text}");
            for part in parts {
                self.walk(part.strip_prefix('\n').unwrap());
            }
            return;
        }
        let text = match header("Content-Transfer-Encoding") {
            Some(_) => String::from_utf8(STANDARD.decode(body.replace('\n', "")).unwrap()).unwrap(),
            None => body.to_owned(),
        };
        self.take(kind.split(';').next().unwrap(), &text, &header("Merge-Type").unwrap_or_default());
    }

    fn take(&mut self, kind: &str, text: &str, how: &str) {
        self.texts.push((kind.to_owned(), text.to_owned()));
        if kind != "text/cloud-config" {
            return;
        }
        let options = serde_saphyr::options! {
            ignore_binary_tag_for_string: true,
            emit_comments: false,
            non_finite_float_policy: serde_saphyr::options::NonFiniteFloatPolicy::AsString,
        };
        let Value::Object(new) = serde_saphyr::from_str_with_options(text, options).unwrap() else { panic!("{text}") };
        let Value::Object(old) = &mut self.config else { panic!("a config is a mapping") };
        match how {
            "" | "dict(replace)+list()+str()" => old.extend(new),
            "list(append)+dict(no_replace,recurse_list)+str()" => append(old, new),
            other => panic!("{other}"),
        }
    }
}

/// What is there stays, except that lists and mappings grow. Something else in the place of a list stays as well.
fn append(old: &mut Map<String, Value>, new: Map<String, Value>) {
    for (key, value) in new {
        match (old.get_mut(&key), value) {
            (Some(Value::Array(there)), Value::Array(more)) => there.extend(more),
            (Some(Value::Object(there)), Value::Object(more)) => append(there, more),
            (Some(_), _) => {}
            (None, value) => drop(old.insert(key, value)),
        }
    }
}
