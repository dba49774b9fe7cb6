//! What the guides tell people to type is there.

use std::path::{Path, PathBuf};

use clap::Command;

/// The pages that a new user reads.
fn pages() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let guides = std::fs::read_dir(root.join("docs/guide")).unwrap().map(|entry| entry.unwrap().path());
    let guides = guides.filter(|path| path.extension().is_some_and(|extension| extension == "md"));
    guides.chain([root.join("README.md")]).collect()
}

/// The command lines of a page that begin with a program: at the start of a line, behind a `$`, or as code in a sentence.
fn typed<'a>(text: &'a str, program: &'a str) -> impl Iterator<Item = &'a str> {
    let begins = move |(at, _): &(usize, &str)| {
        let before = text[..*at].trim_end_matches(' ');
        let starts = before.is_empty() || before.ends_with(['\n', '`', '|', '(']);
        starts && text[at + program.len()..].starts_with(' ')
    };
    text.match_indices(program).filter(begins).map(|(at, _)| {
        let rest = &text[at..];
        rest[..rest.find(['\n', '`', '#', '|', '&', ')', '…']).unwrap_or(rest.len())].trim()
    })
}

/// What clap does not know of a command line; nothing if it knows all.
fn unknown(line: &str) -> Option<String> {
    let (mut command, mut words) = (super::command(), line.split_whitespace().skip(1).peekable());
    while let Some(next) = words.peek().and_then(|word| command.find_subcommand(word).cloned()) {
        command = next;
        words.next();
    }
    if command.get_name() == "hyperfleet" {
        return words.next().map(str::to_owned);
    }
    words.find(|word| word.starts_with('-') && !has(&command, word)).map(str::to_owned)
}

fn has(command: &Command, word: &str) -> bool {
    let flag = word.split('=').next().unwrap_or_default();
    command.get_arguments().any(|argument| {
        let long = argument.get_long().is_some_and(|long| flag.strip_prefix("--") == Some(long));
        long || argument.get_short().is_some_and(|short| flag == format!("-{short}"))
    }) || ["-", "--help", "-h"].contains(&flag)
}

#[test]
fn every_command_and_flag_of_the_guides_exists() {
    let mut lines = 0;
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap().replace("\\\n", " ");
        for line in typed(&text, "hyperfleet") {
            lines += 1;
            assert_eq!(unknown(line), None, "{}: {line}", page.display());
        }
    }
    assert!(lines > 50, "{lines} command lines were found");
    assert_eq!(unknown("hyperfleet up backup --data-dir x --once").as_deref(), Some("--once"));
    assert_eq!(unknown("hyperfleet demos --keep").as_deref(), Some("demos"));
}

#[test]
fn every_target_of_make_that_the_guides_name_exists() {
    let makefile = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../Makefile");
    let makefile = std::fs::read_to_string(makefile).unwrap();
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        for line in typed(&text, "make") {
            let target = line.split_whitespace().nth(1).unwrap_or_default();
            let exists = makefile.lines().any(|rule| rule.starts_with(&format!("{target}:")));
            // A sentence may begin with the verb.
            assert!(exists || !text.contains(&format!("`{line}`")), "{}: {line}", page.display());
        }
    }
}

#[test]
fn the_operators_namespace_is_the_one_of_the_manifests() {
    for page in pages() {
        let text = std::fs::read_to_string(&page).unwrap();
        let words = text.split(|letter: char| !letter.is_ascii_alphanumeric() && letter != '-');
        for word in words.filter(|word| word.starts_with("hyperfleet-") && word.ends_with("-system")) {
            assert_eq!(word, crate::single::NAMESPACE, "{}", page.display());
        }
    }
}
