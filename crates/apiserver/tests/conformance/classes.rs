//! Messages in which the insides of a Go program show: what they mean is compared, not their words.

use std::sync::OnceLock;

use regex::Regex;

/// A pattern, and the words that stand for it.
const CLASSES: &[(&str, &str)] = &[
    // The patched object, quoted in the order in which a Go struct has its fields.
    (r#"(?s)^Invalid value: "\{\\?".*\}\\?": "#, "Invalid value: «object»: "),
    (r#"(?s)^Invalid value: "map\[.*\]": "#, "Invalid value: «object»: "),
    // Which of several wrong fields is met first is up to a Go map.
    (r"(cannot convert \w+ to \w+|unrecognized type: \w+)", "«a value of the wrong type»"),
    (
        r"(?s)«object»: (json: cannot unmarshal|parsing time|cannot restore|unable to).*",
        "«object»: «a value of the wrong type»",
    ),
    (r"(?s)^error decoding patch: .*", "«parser»"),
    (
        r"(continue key is not valid): (invalid character|illegal base64|expected|Invalid|EOF|invalid type|key must|missing).*",
        "$1: «parser»",
    ),
    (r"(?s)error parsing regexp: .*", "error parsing regexp: «parser»"),
    (r"^json: cannot unmarshal \w+ into Go value of type [\w.]+$", "«parser»"),
    // An empty list that Go took for none.
    (
        r"Invalid value: (null|\[\]): must have exactly one version",
        "Invalid value: «none»: must have exactly one version",
    ),
    // Two parsers never say the same about a text that is no JSON, and quote it or not.
    (r"(?s)(json parse error|error decoding patch|error decoding YAML|strict decoding error: json):.*", "$1: «parser»"),
    (r"(?s)(the object provided is unrecognized \(must be of type \w+\)): yaml:.*", "$1: «parser»"),
    (r"(?s)\(must be of type (\w+)\): error decoding YAML: «parser»", "(must be of type $1): «parser»"),
    (r"(?s)(\w+Review in version .* cannot be handled as a \w+): .*", "$1: «parser»"),
    (r"^(unexpected end of JSON input|invalid character .*|EOF while parsing .*|expected .* at line .*)$", "«parser»"),
    (r"(?s)(failed to convert new object .*: unable to convert unstructured object to [^:]+): .*", "$1: «converter»"),
];

/// The message, or its class.
pub fn class(text: &str) -> String {
    static COMPILED: OnceLock<Vec<(Regex, &str)>> = OnceLock::new();
    let classes = COMPILED.get_or_init(|| {
        CLASSES.iter().map(|(pattern, words)| (Regex::new(pattern).expect("a pattern"), *words)).collect()
    });
    classes.iter().fold(text.to_owned(), |text, (pattern, words)| pattern.replace_all(&text, *words).into_owned())
}
