//! The page of settings.

use anyhow::Result;
use chassis::settings::{REFUSED, RUNTIME, Refused, Setting};

use crate::generated::Generated;
use crate::markdown::{Page, code};

const INTRODUCTION: &str = "\
A flag wins over the environment variable, that over the settings file (a mounted ConfigMap), that over the default.
Keys with dots are nested in the file: `log.level` is `log: {level: …}`. Unknown keys and wrong values are errors that
name the key. *Live* settings take effect without a restart when the file changes.";

const REFUSED_INTRODUCTION: &str = "\
Flags of other operators that would do nothing here are refused, with what replaces them.";

pub(in crate::codegen) fn render(generated: &mut Generated) -> Result<()> {
    let source = "`operator::SETTINGS` and `chassis::settings::RUNTIME`";
    let mut page = Page::from_source(source, "Settings");
    page.text(INTRODUCTION);
    let all = operator::SETTINGS.iter().chain(RUNTIME);
    page.table(&["Key", "Flag", "Environment", "Default", "Live", "Value", "Meaning"], all.map(row));
    page.heading(2, "Refused flags");
    page.text(REFUSED_INTRODUCTION);
    let refused = |flag: &Refused| vec![code(&format!("--{}", flag.flag)), flag.instead.to_owned()];
    page.table(&["Flag", "Instead"], REFUSED.iter().map(refused));
    generated.add("docs/reference/settings.md", page.finish())
}

fn row(setting: &Setting) -> Vec<String> {
    let live = if setting.reload { "live" } else { "" };
    vec![
        code(setting.key),
        code(&format!("--{}", setting.flag)),
        code(setting.env),
        code(setting.default),
        live.to_owned(),
        setting.kind.expected(),
        setting.help.to_owned(),
    ]
}
