//! How parameters and paths are written for Proxmox's own decoder.
//!
//! It splits pairs at `&` and `;`, keys from values at every `=`, and reads `+` as a blank: everything but letters,
//! digits and `-._~` is percent-encoded. Booleans are `0` and `1`, which every version takes.

use std::borrow::Cow;
use std::fmt::Display;

use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};

const VALUE: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// In a path the marks of task and volume ids may stay as they are.
const PATH: &AsciiSet = &VALUE.remove(b':').remove(b'@').remove(b'!').remove(b'/');

/// Parameters in the order they were put.
#[derive(Clone, Default, PartialEq, Eq)]
pub(super) struct Form(Vec<(Cow<'static, str>, String)>);

impl Form {
    pub(super) const fn new() -> Self {
        Self(Vec::new())
    }

    pub(super) fn put(mut self, name: impl Into<Cow<'static, str>>, value: impl Display) -> Self {
        self.0.push((name.into(), value.to_string()));
        self
    }

    pub(super) fn flag(self, name: &'static str, value: bool) -> Self {
        self.put(name, u8::from(value))
    }

    pub(super) fn maybe(self, name: &'static str, value: Option<impl Display>) -> Self {
        match value {
            Some(value) => self.put(name, value),
            None => self,
        }
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn encode(&self) -> String {
        let pair = |(name, value): &(Cow<'_, str>, String)| format!("{}={}", value_of(name), value_of(value));
        self.0.iter().map(pair).collect::<Vec<_>>().join("&")
    }
}

/// One value, percent-encoded; `sshkeys` and the login cookie want it done to the text itself.
pub(super) fn value_of(text: &str) -> impl Display + '_ {
    utf8_percent_encode(text, VALUE)
}

/// A route with its placeholders (`{node}`) filled in order.
pub(super) fn path_of(route: &str, arguments: &[&(dyn Display + Sync)]) -> String {
    let mut path = String::new();
    let mut arguments = arguments.iter();
    for part in route.split('/').skip(1) {
        path.push('/');
        match part.strip_prefix('{') {
            Some(_) => {
                let argument = arguments.next().expect("every placeholder has its argument").to_string();
                path.extend(utf8_percent_encode(&argument, PATH));
            }
            None => path.push_str(part),
        }
    }
    path
}

#[cfg(test)]
mod tests {
    use super::*;
    use percent_encoding::percent_decode_str;
    use proptest::prelude::*;

    /// Proxmox's decoder, by its rules: pairs at `&` and `;`, key from value at every `=`, `+` is a blank.
    fn decode(text: &str) -> Vec<(String, String)> {
        let plain = |part: &str| percent_decode_str(&part.replace('+', " ")).decode_utf8_lossy().into_owned();
        let pair = |pair: &str| {
            let mut parts = pair.split('=');
            (plain(parts.next().unwrap_or_default()), plain(parts.next().unwrap_or_default()))
        };
        text.split(['&', ';']).map(pair).collect()
    }

    proptest! {
        #[test]
        fn whatever_is_put_comes_out_of_the_servers_decoder(values in prop::collection::vec("(?s).{0,80}", 1..6)) {
            let mut form = Form::new();
            for (at, value) in values.iter().enumerate() {
                form = form.put(format!("net{at}"), value);
            }
            let expected: Vec<(String, String)> =
                values.into_iter().enumerate().map(|(at, value)| (format!("net{at}"), value)).collect();
            let encoded = form.encode();
            prop_assert!(encoded.is_ascii());
            prop_assert_eq!(decode(&encoded), expected);
        }

        #[test]
        fn an_argument_never_adds_a_query_or_leaves_its_place(argument in "(?s).{1,40}") {
            let path = path_of("/nodes/{node}/status", &[&argument]);
            prop_assert!(path.starts_with("/nodes/") && path.ends_with("/status"));
            prop_assert!(!path.contains(['?', '#', ' ', '%']) || path.contains('%'));
            prop_assert!(http::uri::PathAndQuery::try_from(path).unwrap().query().is_none());
        }
    }

    #[test]
    fn the_marks_that_bite_are_encoded() {
        let form = Form::new().put("description", "a=b;c=d&e+f %").flag("full", false).maybe("pool", None::<&str>);
        assert_eq!(form.encode(), "description=a%3Db%3Bc%3Dd%26e%2Bf%20%25&full=0");
    }

    #[test]
    fn task_and_volume_ids_stay_readable_in_paths() {
        let upid = "UPID:vm:0000622C:00025911:6AFA0058:qmclone:9000:op@pve!hf:";
        assert_eq!(path_of("/nodes/{node}/tasks/{upid}/log", &[&"vm", &upid]), format!("/nodes/vm/tasks/{upid}/log"));
        let volume = "store:101/vm-101-cloudinit.qcow2";
        let route = "/nodes/{node}/storage/{storage}/content/{volume}";
        assert_eq!(path_of(route, &[&"vm", &"store", &volume]), format!("/nodes/vm/storage/store/content/{volume}"));
    }
}
