//! The checks that the schema states for a call: trees of `and`, `or` and `perm`.

use std::collections::BTreeMap;

use serde_json::Value;

use super::{Access, Who, normal};
use crate::proxmox::model::Pool;

/// Why a call is not permitted: the words in brackets, if there are any.
pub(crate) type Denied = Option<String>;

/// Whether `who` passes the check of a call with these parameters.
pub(crate) fn permitted(
    check: &Value,
    who: &Who,
    params: &BTreeMap<String, String>,
    access: &Access,
    pools: &BTreeMap<String, Pool>,
) -> Result<(), Denied> {
    let Some(parts) = check.as_array() else { return Ok(()) };
    let below = |part: &Value| permitted(part, who, params, access, pools);
    match parts.first().and_then(Value::as_str) {
        Some("and") => parts[1..].iter().try_for_each(below),
        Some("or") => {
            if parts[1..].iter().any(|part| below(part).is_ok()) {
                Ok(())
            } else {
                Err(None)
            }
        }
        Some("perm") => perm(&parts[1..], who, params, access, pools),
        Some("perm-modify") => {
            let path = filled(parts.get(1).and_then(Value::as_str).unwrap_or_default(), params);
            let held = access.privileges(who, &path, pools).contains_key("Permissions.Modify");
            if held { Ok(()) } else { Err(Some(format!("{}, Permissions.Modify", normal(&path)))) }
        }
        Some("userid-param") => {
            let own = params.get("userid").is_some_and(|user| *user == who.user) && who.token.is_none();
            if own { Ok(()) } else { Err(None) }
        }
        // The others are about groups, which nothing here manages.
        Some(_) | None => Ok(()),
    }
}

fn perm(
    parts: &[Value],
    who: &Who,
    params: &BTreeMap<String, String>,
    access: &Access,
    pools: &BTreeMap<String, Pool>,
) -> Result<(), Denied> {
    let [path, privileges, options @ ..] = parts else { return Ok(()) };
    let option = |name: &str| {
        let at = options.iter().position(|option| option.as_str() == Some(name))?;
        options.get(at + 1)
    };
    if let Some(needed) = option("require_param").and_then(Value::as_str)
        && !params.contains_key(needed)
    {
        return Err(None);
    }
    let path = normal(&filled(path.as_str().unwrap_or_default(), params));
    let wanted: Vec<&str> = privileges.as_array().into_iter().flatten().filter_map(Value::as_str).collect();
    let held = access.privileges(who, &path, pools);
    let any = option("any").is_some();
    if any && !wanted.iter().any(|privilege| held.contains_key(*privilege)) {
        return Err(Some(format!("{path}, {}", wanted.join("|"))));
    }
    let lacking = wanted.iter().find(|privilege| !held.contains_key(**privilege)).filter(|_| !any);
    lacking.map_or(Ok(()), |privilege| Err(Some(format!("{path}, {privilege}"))))
}

/// A path with its parameters in place; what is not given leaves nothing.
fn filled(template: &str, params: &BTreeMap<String, String>) -> String {
    let mut parts = Vec::new();
    for part in template.split('/') {
        match part.strip_prefix('{').and_then(|rest| rest.strip_suffix('}')) {
            Some(name) => parts.push(params.get(name).map_or("", String::as_str)),
            None => parts.push(part),
        }
    }
    parts.join("/")
}
