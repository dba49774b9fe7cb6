//! The page of commands and flags.

use anyhow::Result;
use clap::builder::PossibleValue;
use clap::{Arg, Command};

use crate::generated::Generated;
use crate::markdown::{Page, code, codes};

pub(in crate::codegen) fn render(generated: &mut Generated) -> Result<()> {
    let mut command = operator::cli::command();
    command.build();
    generated.add("docs/reference/cli.md", page(&command))
}

fn page(command: &Command) -> String {
    let mut page = Page::from_source("the command line of `hyperfleet`", "Command line");
    chapter(&mut page, command, command.get_name());
    page.finish()
}

fn chapter(page: &mut Page, command: &Command, path: &str) {
    page.heading(2, &code(path));
    let about = command.get_long_about().or_else(|| command.get_about());
    page.text(&about.map_or_else(String::new, |about| laid_out(&about.to_string())));
    let inherited = path.contains(' ');
    let rows = command.get_arguments().filter(|arg| is_shown(arg, inherited)).map(row);
    page.table(&["Argument", "Environment", "Default", "Meaning"], rows);
    for inner in command.get_subcommands() {
        if !inner.is_hide_set() && inner.get_name() != "help" {
            chapter(page, inner, &format!("{path} {}", inner.get_name()));
        }
    }
}

/// Global flags are shown where they are declared, and the ones every program has are not shown.
fn is_shown(arg: &Arg, inherited: bool) -> bool {
    let of_every_program = ["help", "version"].contains(&arg.get_id().as_str());
    let shown_above = inherited && arg.is_global_set();
    !(arg.is_hide_set() || of_every_program || shown_above)
}

/// Text whose lines are laid out by hand stays as it is.
fn laid_out(text: &str) -> String {
    let by_hand = text.lines().any(|line| line.starts_with(' '));
    if by_hand { format!("```text\n{}\n```", text.trim()) } else { text.to_owned() }
}

fn row(arg: &Arg) -> Vec<String> {
    let help = arg.get_long_help().or_else(|| arg.get_help()).map_or_else(String::new, ToString::to_string);
    let (help, noted_environment) = without_note(&help, "env");
    let (help, noted_default) = without_note(&help, "default");
    let environment = arg.get_env().map(|name| name.to_string_lossy().into_owned()).or(noted_environment);
    let defaults = arg.get_default_values().iter().filter(|_| takes_value(arg));
    let defaults: Vec<String> =
        defaults.map(|value| value.to_string_lossy().into_owned()).chain(noted_default).collect();
    let environment = code(&environment.unwrap_or_default());
    vec![code(&usage(arg)), environment, codes(defaults.iter().map(String::as_str)), with_choices(arg, help)]
}

/// Takes `[env: NAME]` out of a help text: settings are resolved by the runtime, so clap knows them only as text.
fn without_note(help: &str, name: &str) -> (String, Option<String>) {
    let note = help.split_once(&format!("[{name}: ")).and_then(|(before, rest)| Some((before, rest.split_once(']')?)));
    match note {
        Some((before, (value, after))) => {
            (format!("{} {}", before.trim_end(), after.trim_start()).trim().to_owned(), Some(value.to_owned()))
        }
        None => (help.to_owned(), None),
    }
}

/// `-c, --config <FILE>` or `<FILE>`.
fn usage(arg: &Arg) -> String {
    let names = arg.get_value_names().map(|names| names.iter().map(ToString::to_string).collect());
    let names: Vec<String> = names.unwrap_or_else(|| vec![arg.get_id().as_str().to_uppercase()]);
    let value = takes_value(arg).then(|| format!("<{}>", names.join("> <")));
    let flags = [arg.get_short().map(|short| format!("-{short}")), arg.get_long().map(|long| format!("--{long}"))];
    let flags = flags.into_iter().flatten().collect::<Vec<_>>().join(", ");
    let parts = [Some(flags), value].into_iter().flatten().filter(|part| !part.is_empty());
    parts.collect::<Vec<_>>().join(" ")
}

fn with_choices(arg: &Arg, help: String) -> String {
    let choices = if takes_value(arg) { arg.get_possible_values() } else { Vec::new() };
    let choices = codes(choices.iter().filter(|choice| !choice.is_hide_set()).map(PossibleValue::get_name));
    if choices.is_empty() { help } else { format!("{help}\n\nOne of {choices}.") }
}

fn takes_value(arg: &Arg) -> bool {
    arg.get_num_args().is_some_and(|range| range.takes_values())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flags_are_shown_with_their_environment_default_and_choices() {
        let level =
            Arg::new("level").long("level").short('l').value_name("LEVEL").env("LOG_LEVEL").default_value("info");
        let level =
            level.help("How much to log").value_parser([PossibleValue::new("info"), PossibleValue::new("debug")]);
        let mut command = Command::new("tool")
            .about("Does it")
            .arg(level.global(true))
            .subcommand(Command::new("run").about("Runs").arg(Arg::new("what").value_name("WHAT").required(true)))
            .subcommand(Command::new("secret").hide(true));
        command.build();
        let text = page(&command);
        for line in [
            "## `tool`\n\nDoes it\n",
            "| `-l, --level <LEVEL>` | `LOG_LEVEL` | `info` | How much to log<br>One of `info`, `debug`. |",
            "## `tool run`\n\nRuns\n",
            "| `<WHAT>` |  |  |  |",
        ] {
            assert!(text.contains(line), "{line}\n{text}");
        }
        assert!(!text.contains("secret"));
        assert_eq!(text.matches("--level").count(), 1, "{text}");
    }

    #[test]
    fn notes_in_a_help_text_become_columns() {
        let flag = Arg::new("shape").help("Shape of records [env: LOG_FORMAT] [default: auto]").required(true);
        let mut command = Command::new("tool").arg(flag).long_about("Kinds:\n  a  first\n  b  second");
        command.build();
        let text = page(&command);
        assert!(text.contains("| `<SHAPE>` | `LOG_FORMAT` | `auto` | Shape of records |"), "{text}");
        assert!(text.contains("```text\nKinds:\n  a  first\n  b  second\n```"), "{text}");
    }
}
