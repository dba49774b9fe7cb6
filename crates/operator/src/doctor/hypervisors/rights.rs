//! What we may not do on a hypervisor.

use providers::hypervisor::Missing;

use super::super::chart::{About, Chart, Check, Severity};
use super::super::judge::matter;
use crate::site::Survey;

/// Each privilege with the command that grants it.
pub(super) fn missing(survey: &Survey, about: &About, chart: &mut Chart) {
    let identity = &survey.identity;
    let nothing = survey.inventory.as_ref().is_some_and(|found| found.vms.is_empty() && found.storages.is_empty());
    if identity.contains('!') && nothing && survey.missing.iter().any(|missing| missing.required) {
        let user = identity.split('!').next().unwrap_or_default();
        let what = format!(
            "the token {identity} sees nothing at all: by privilege separation it has only the rights that it and its \
             user {user} were both given"
        );
        let remedy = "run the pveum lines below: each names the user and the token";
        chart.find(Severity::Broken, Check::Privileges, about, what, remedy);
    }
    for Missing { path, privileges, purpose, required, remedy } in &survey.missing {
        let severity = if *required { Severity::Broken } else { Severity::Advice };
        let names: Vec<&str> = privileges.iter().map(String::as_str).collect();
        let what = format!("{identity} lacks {} on {path}, to {purpose}", names.join(", "));
        chart.find(severity, Check::Privileges, about, what, remedy.clone());
    }
}

/// The hypervisor refused even the look that would have shown what is missing.
pub(super) fn denied(identity: &str, message: &str, about: &About, chart: &mut Chart) {
    let user = identity.split('!').next().unwrap_or_default();
    let token = if identity.contains('!') { format!(" --tokens '{identity}'") } else { String::new() };
    let what = format!("{identity} may not even look: {}", matter(message));
    let remedy = format!(
        "pveum user permissions '{user}'    # what it may; then grant what is missing: pveum acl modify PATH --roles ROLE \
         --users '{user}'{token}"
    );
    chart.find(Severity::Broken, Check::Privileges, about, what, remedy);
}
