//! Where traces go, by the standard `OTEL_*` variables.
//!
//! A variable that makes no sense costs the traces, never the operator: it becomes a warning.

use std::path::PathBuf;
use std::time::Duration;

use http::Uri;
use opentelemetry::KeyValue;
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::resource::{ResourceDetector, TelemetryResourceDetector};
use opentelemetry_sdk::trace::Sampler;
use percent_encoding::percent_decode_str;

/// Reads one environment variable.
pub type Env<'a> = &'a (dyn Fn(&str) -> Option<String> + Sync);

/// Where and how to export. Not `Debug`: headers carry credentials.
pub(super) struct Otlp {
    pub(super) endpoint: Uri,
    pub(super) protocol: Protocol,
    pub(super) headers: Vec<(String, String)>,
    pub(super) timeout: Duration,
    pub(super) certificate: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Protocol {
    Grpc,
    HttpProtobuf,
}

/// Reads the variables and collects what is wrong with them.
pub(super) struct Reader<'a> {
    pub(super) env: Env<'a>,
    pub(super) warnings: Vec<String>,
}

impl Reader<'_> {
    /// An empty variable counts as unset, as the specification wants.
    fn get(&self, name: &str) -> Option<String> {
        (self.env)(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty())
    }

    /// The variable for traces, or else the one for all signals.
    fn otlp(&self, name: &str) -> Option<String> {
        self.get(&format!("OTEL_EXPORTER_OTLP_TRACES_{name}"))
            .or_else(|| self.get(&format!("OTEL_EXPORTER_OTLP_{name}")))
    }

    /// What `parse` makes of the value; a default, and a warning, if nothing.
    fn read<T>(&mut self, name: &str, value: &str, expected: &str, parse: impl Fn(&str) -> Option<T>) -> Option<T> {
        let parsed = parse(value);
        if parsed.is_none() {
            self.warnings.push(format!("{name}: {value:?} is not {expected}"));
        }
        parsed
    }

    /// Where to export, or `None` when nobody asked for it.
    pub(super) fn target(&mut self) -> Option<Otlp> {
        let says = |name: &str, word: &str| self.get(name).is_some_and(|value| value.eq_ignore_ascii_case(word));
        if says("OTEL_SDK_DISABLED", "true") || says("OTEL_TRACES_EXPORTER", "none") {
            return None;
        }
        let (exact, general) =
            (self.get("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT"), self.get("OTEL_EXPORTER_OTLP_ENDPOINT"));
        let protocol = self.otlp("PROTOCOL").unwrap_or_else(|| "http/protobuf".into());
        let protocol = self.read("OTEL_EXPORTER_OTLP_PROTOCOL", &protocol, "grpc or http/protobuf", Protocol::parse);
        let protocol = protocol.unwrap_or(Protocol::HttpProtobuf);
        let endpoint = exact.or_else(|| general.map(|endpoint| protocol.traces_at(&endpoint)))?;
        let expected = "an http:// or https:// address; no traces are exported";
        let endpoint = self.read("OTEL_EXPORTER_OTLP_ENDPOINT", &endpoint, expected, address)?;
        let timeout = self.otlp("TIMEOUT").unwrap_or_else(|| "10000".into());
        let timeout =
            self.read("OTEL_EXPORTER_OTLP_TIMEOUT", &timeout, "a number of milliseconds", |ms| ms.parse().ok());
        Some(Otlp {
            endpoint,
            protocol,
            headers: pairs(&self.otlp("HEADERS").unwrap_or_default()),
            timeout: Duration::from_millis(timeout.unwrap_or(10_000)),
            certificate: self.otlp("CERTIFICATE").map(PathBuf::from),
        })
    }

    /// Who we are: the given service unless the variables say otherwise.
    pub(super) fn resource(&self, service: &str, version: &str) -> Resource {
        let given = pairs(&self.get("OTEL_RESOURCE_ATTRIBUTES").unwrap_or_default());
        let builder = Resource::builder_empty()
            .with_attributes(
                TelemetryResourceDetector.detect().iter().map(|(key, value)| KeyValue::new(key.clone(), value.clone())),
            )
            .with_service_name(service.to_owned())
            .with_attribute(KeyValue::new("service.version", version.to_owned()))
            .with_attributes(given.into_iter().map(|(key, value)| KeyValue::new(key, value)));
        match self.get("OTEL_SERVICE_NAME") {
            Some(name) => builder.with_service_name(name).build(),
            None => builder.build(),
        }
    }

    /// Which traces are exported: all unless the variables say otherwise.
    pub(super) fn sampler(&mut self) -> Sampler {
        let word = self.get("OTEL_TRACES_SAMPLER").unwrap_or_else(|| "parentbased_always_on".into());
        let ratio = self.get("OTEL_TRACES_SAMPLER_ARG").unwrap_or_else(|| "1".into());
        let within = |text: &str| text.parse().ok().filter(|ratio| (0.0..=1.0).contains(ratio));
        let ratio = self.read("OTEL_TRACES_SAMPLER_ARG", &ratio, "a number from 0 to 1", within).unwrap_or(1.0);
        let rule = |word: &str| match word.strip_prefix("parentbased_").unwrap_or(word) {
            "always_on" => Some(Sampler::AlwaysOn),
            "always_off" => Some(Sampler::AlwaysOff),
            "traceidratio" => Some(Sampler::TraceIdRatioBased(ratio)),
            _ => None,
        };
        let sampler = self.read("OTEL_TRACES_SAMPLER", &word, "a known sampler; all traces are sampled", rule);
        let sampler = sampler.unwrap_or(Sampler::AlwaysOn);
        if word.starts_with("parentbased_") { Sampler::ParentBased(Box::new(sampler)) } else { sampler }
    }
}

impl Protocol {
    fn parse(word: &str) -> Option<Self> {
        match word {
            "grpc" => Some(Self::Grpc),
            "http/protobuf" => Some(Self::HttpProtobuf),
            _ => None,
        }
    }

    /// Where traces go at a collector for all signals.
    fn traces_at(self, endpoint: &str) -> String {
        match self {
            Self::Grpc => endpoint.to_owned(),
            Self::HttpProtobuf => format!("{}/v1/traces", endpoint.trim_end_matches('/')),
        }
    }
}

fn address(text: &str) -> Option<Uri> {
    let uri: Uri = text.parse().ok()?;
    (matches!(uri.scheme_str(), Some("http" | "https")) && uri.authority().is_some()).then_some(uri)
}

/// Reads `key=value,key=value`, values percent-encoded; what is not of that form is left out.
fn pairs(list: &str) -> Vec<(String, String)> {
    let pair = |item: &str| {
        let (key, value) = item.split_once('=')?;
        Some((key.trim().to_owned(), percent_decode_str(value.trim()).decode_utf8_lossy().into_owned()))
    };
    list.split(',').filter_map(pair).filter(|(key, _)| !key.is_empty()).collect()
}

#[cfg(test)]
mod tests;
