//! How the `OTEL_*` variables are read.

#![expect(clippy::redundant_closure_for_method_calls, reason = "a method's path is tied to one lifetime of the reader")]

use opentelemetry::Key;
use rstest::rstest;

use super::*;

type Vars = [(&'static str, &'static str)];

fn read<T>(vars: &Vars, with: impl FnOnce(&mut Reader<'_>) -> T) -> (T, Vec<String>) {
    let env = |name: &str| vars.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned());
    let mut reader = Reader { env: &env, warnings: Vec::new() };
    let result = with(&mut reader);
    (result, reader.warnings)
}

const ENDPOINT: (&str, &str) = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");

#[rstest]
#[case::unset(&[])]
#[case::empty(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "")])]
#[case::disabled(&[ENDPOINT, ("OTEL_SDK_DISABLED", "TRUE")])]
#[case::none(&[ENDPOINT, ("OTEL_TRACES_EXPORTER", "none")])]
fn p34_without_an_endpoint_or_when_switched_off_nothing_is_exported(#[case] vars: &Vars) {
    let (target, warnings) = read(vars, |reader| reader.target());
    assert!(target.is_none() && warnings.is_empty());
}

#[rstest]
#[case(&[ENDPOINT], Protocol::HttpProtobuf, "http://c:4318/v1/traces")]
#[case(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc")], Protocol::Grpc, "http://c:4318/")]
#[case(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "https://t/x")], Protocol::HttpProtobuf, "https://t/x")]
#[case(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc"), ("OTEL_EXPORTER_OTLP_TRACES_PROTOCOL", "http/protobuf")], Protocol::HttpProtobuf, "http://c:4318/v1/traces")]
fn r10_7_the_endpoint_and_protocol_follow_the_specification(
    #[case] vars: &Vars,
    #[case] protocol: Protocol,
    #[case] endpoint: &str,
) {
    let (target, warnings) = read(vars, |reader| reader.target());
    let target = target.unwrap();
    assert_eq!((target.protocol, target.endpoint.to_string().as_str()), (protocol, endpoint));
    assert_eq!(target.timeout, Duration::from_secs(10));
    assert!(warnings.is_empty());
}

#[rstest]
#[case(&[("OTEL_EXPORTER_OTLP_ENDPOINT", "collector:4317")], false, "not an http:// or https:// address")]
#[case(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_PROTOCOL", "http/json")], true, "not grpc or http/protobuf")]
#[case(&[ENDPOINT, ("OTEL_EXPORTER_OTLP_TIMEOUT", "soon")], true, "not a number of milliseconds")]
fn a_variable_that_makes_no_sense_is_a_warning(#[case] vars: &Vars, #[case] exported: bool, #[case] said: &str) {
    let (target, warnings) = read(vars, |reader| reader.target());
    assert_eq!(target.is_some(), exported);
    assert!(warnings.len() == 1 && warnings[0].contains(said), "{warnings:?}");
}

#[test]
fn headers_and_attributes_are_decoded() {
    let vars = [ENDPOINT, ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Bearer%20x=, bad,X-Scope=a%2Cb,odd=100%")];
    let headers = read(&vars, |reader| reader.target()).0.unwrap().headers;
    let expected = [("authorization", "Bearer x="), ("X-Scope", "a,b"), ("odd", "100%")];
    assert_eq!(headers, expected.map(|(name, value)| (name.to_owned(), value.to_owned())));
}

#[rstest]
#[case(&[], "given")]
#[case(&[("OTEL_RESOURCE_ATTRIBUTES", "service.name=attribute,k8s.pod.name=p%201")], "attribute")]
#[case(&[("OTEL_RESOURCE_ATTRIBUTES", "service.name=attribute"), ("OTEL_SERVICE_NAME", "named")], "named")]
fn r10_7_the_service_name_has_a_default_and_two_overrides(#[case] vars: &Vars, #[case] name: &str) {
    let (resource, _) = read(vars, |reader| reader.resource("given", "9"));
    let get = |key: &'static str| resource.get(&Key::new(key)).map(|value| value.to_string());
    assert_eq!(get("service.name").as_deref(), Some(name));
    assert_eq!(get("service.version").as_deref(), Some("9"));
    assert_eq!(get("telemetry.sdk.language").as_deref(), Some("rust"));
}

#[rstest]
#[case("", "ParentBased(AlwaysOn)", 0)]
#[case("always_off", "AlwaysOff", 0)]
#[case("traceidratio", "TraceIdRatioBased(0.25)", 0)]
#[case("parentbased_traceidratio", "ParentBased(TraceIdRatioBased(0.25))", 0)]
#[case("sometimes", "AlwaysOn", 1)]
fn the_sampler_is_chosen_by_name(#[case] name: &'static str, #[case] sampler: &str, #[case] warned: usize) {
    let vars = [("OTEL_TRACES_SAMPLER", name), ("OTEL_TRACES_SAMPLER_ARG", "0.25")];
    let (found, warnings) = read(&vars, |reader| reader.sampler());
    assert_eq!((format!("{found:?}").as_str(), warnings.len()), (sampler, warned));
}
