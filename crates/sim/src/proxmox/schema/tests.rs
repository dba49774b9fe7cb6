//! What the validator refuses, and in which words.

use std::collections::BTreeMap;

use rstest::rstest;

use super::*;

fn check(release: Release, verb: &str, path: &str, given: &[(&str, &str)]) -> Result<Params, Errors> {
    let found = Catalogue::of(release).find(verb, path).unwrap();
    let bound = found.bound.iter().map(|(name, value)| (name.clone(), Given::One(value.clone())));
    let given = given.iter().map(|(name, value)| ((*name).to_owned(), Given::One((*value).to_owned())));
    let given: BTreeMap<String, Given> = bound.chain(given).collect();
    validate(found.method, &given, release)
}

const CONFIG: (&str, &str) = ("PUT", "/nodes/vm/qemu/101/config");

fn complaint(release: Release, name: &str, value: &str) -> String {
    let errors = check(release, CONFIG.0, CONFIG.1, &[(name, value)]).unwrap_err();
    errors[name].clone()
}

#[test]
fn every_pattern_of_both_releases_compiles() {
    for release in [Release::V8, Release::V9] {
        for (_, _, method) in Catalogue::of(release).calls() {
            method.parameters.properties.values().for_each(validate::compiles);
        }
    }
    COMPOSED.values().flatten().for_each(|(_, rule)| validate::compiles(rule));
}

#[rstest]
#[case("tags", "bad:tag", "invalid format - invalid characters in tag\n")]
#[case("cores", "0", "value must have a minimum value of 1")]
#[case("cores", "two", "type check ('integer') failed - got 'two'")]
#[case("onboot", "yes", "type check ('boolean') failed - got 'yes'")]
#[case("memory", "8", "invalid format - format error\nmemory.current: value must have a minimum value of 16\n")]
#[case(
    "ostype",
    "dos",
    "value 'dos' does not have a value in the enumeration 'other, wxp, w2k, w2k3, w2k8, wvista, win7, win8, win10, win11, l24, l26, solaris'"
)]
#[case(
    "net0",
    "virtio,bridge=vmbr0,tag=0",
    "invalid format - format error\nnet0.tag: value must have a minimum value of 1\n"
)]
#[case(
    "net0",
    "bridge=vmbr0",
    "invalid format - format error\nnet0.model: property is missing and it is not optional\n"
)]
#[case(
    "net0",
    "virtio=01:00:00:00:00:01,bridge=vmbr0",
    "invalid format - format error\nnet0.macaddr: invalid format - value does not look like a valid unicast MAC address\n\n"
)]
#[case("net0", "virtio,colour=red", "invalid format - invalid key in comma-separated list property: colour\n")]
#[case(
    "scsi0",
    "nothing",
    "invalid format - format error\nscsi0.file: invalid format - unable to parse volume ID 'nothing'\n\n"
)]
#[case("cpu", "z80", "invalid format - Built-in cputype 'z80' is not defined (missing 'custom-' prefix?)\n")]
#[case(
    "boot",
    "order=tpmstate0",
    "invalid format - format error\nboot.order: invalid format - invalid boot device 'tpmstate0'\n\n"
)]
#[case("sshkeys", "a b", "invalid format - invalid urlencoded string: a b\n")]
#[case("digest", "00000000000000000000000000000000000000000", "value may only be 40 characters long")]
fn a_wrong_option_is_named_in_the_servers_words(#[case] name: &str, #[case] value: &str, #[case] says: &str) {
    assert_eq!(complaint(Release::V9, name, value), says);
}

#[test]
fn the_two_releases_differ_in_one_text() {
    let gateway = |release| complaint(release, "ipconfig0", "gw=10.0.0.1");
    assert!(gateway(Release::V8).contains("ipconfig0.ip: missing property - 'ipconfig0.gw' requires this property\n"));
    assert!(gateway(Release::V9).contains("ipconfig0.ip: missing property required by 'ipconfig0.gw'\n"));
}

#[test]
fn numbered_options_end_where_the_hardware_does() {
    let unknown = "property is not defined in schema and the schema does not allow additional properties";
    for (known, beyond) in
        [("net31", "net32"), ("scsi30", "scsi31"), ("ide3", "ide4"), ("sata5", "sata6"), ("net1", "net01")]
    {
        let value = if known.starts_with("net") { "virtio" } else { "none,media=cdrom" };
        assert!(check(Release::V9, CONFIG.0, CONFIG.1, &[(known, value)]).is_ok(), "{known}");
        assert_eq!(complaint(Release::V9, beyond, value), unknown, "{beyond}");
    }
}

#[test]
fn all_mistakes_are_reported_at_once() {
    let errors =
        check(Release::V9, "POST", "/nodes/vm/qemu/9000/clone", &[("full", "true"), ("foo", "1")]).unwrap_err();
    assert_eq!(errors.keys().collect::<Vec<_>>(), ["foo", "full", "newid"]);
}

/// For each parameter of each call: something unknown, something of the wrong type, something beyond its range, something
/// outside its enumeration. Each must be refused for the reason that the schema states.
#[test]
fn cases_made_from_the_schema_are_refused_for_the_reason_it_states() {
    let mut cases = 0;
    for release in [Release::V8, Release::V9] {
        for (verb, template, method) in Catalogue::of(release).calls() {
            for (name, rule) in &method.parameters.properties {
                let name = name.replace("[n]", "0");
                for (value, says) in wrong_values(rule) {
                    let given = BTreeMap::from([(name.clone(), Given::One(value.clone()))]);
                    let errors = validate(method, &given, release).unwrap_err();
                    let told = errors.get(&name).map_or("", String::as_str);
                    assert!(told.contains(&says), "{verb} {template} {name}={value}: {told:?}, not {says:?}");
                    cases += 1;
                }
            }
            let given = BTreeMap::from([("no-such-parameter".to_owned(), Given::One("1".to_owned()))]);
            let errors = validate(method, &given, release).unwrap_err();
            assert!(errors["no-such-parameter"].contains("not defined in schema"), "{verb} {template}");
            cases += 1;
        }
    }
    assert!(cases > 900, "only {cases} cases");
}

fn wrong_values(rule: &Property) -> Vec<(String, String)> {
    let mut wrong = Vec::new();
    let plain = rule.format.is_none();
    match rule.kind.as_deref() {
        Some("integer") => wrong.push(("1.5".to_owned(), "type check ('integer') failed - got '1.5'".to_owned())),
        Some("number") => wrong.push(("x".to_owned(), "type check ('number') failed - got 'x'".to_owned())),
        Some("boolean") => wrong.push(("2".to_owned(), "type check ('boolean') failed - got '2'".to_owned())),
        Some(_) | None => {}
    }
    let number = |value: &Value| value.as_f64().or_else(|| value.as_str()?.parse().ok());
    if let Some(most) =
        rule.maximum.as_ref().and_then(number).filter(|_| plain && rule.kind.as_deref() == Some("integer"))
    {
        wrong.push((format!("{:.0}", most + 1.0), format!("value must have a maximum value of {most:.0}")));
    }
    if let Some(least) =
        rule.minimum.as_ref().and_then(number).filter(|_| plain && rule.kind.as_deref() == Some("integer"))
    {
        wrong.push((format!("{:.0}", least - 1.0), format!("value must have a minimum value of {least:.0}")));
    }
    if rule.allowed.is_some() && plain && rule.pattern.is_none() && rule.kind.as_deref() == Some("string") {
        wrong.push(("no-such-word".to_owned(), "does not have a value in the enumeration".to_owned()));
    }
    if let Some(most) = rule.max_length.filter(|_| plain && rule.pattern.is_none() && rule.allowed.is_none()) {
        wrong.push(("x".repeat(most + 1), format!("value may only be {most} characters long")));
    }
    wrong
}
