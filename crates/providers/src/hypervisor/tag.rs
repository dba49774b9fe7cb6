//! Tags: for people who look at the hypervisor, never for decisions.

use std::collections::BTreeSet;
use std::fmt;

use sha2::{Digest, Sha256};

use crate::hex;

/// One tag: lower-case letters, digits, '_', '-', '+' and '.', beginning with a letter, digit or '_'.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Tag(String);

/// The longest tag we make; longer names are cut and told apart by a hash.
const LONGEST: usize = 40;
const HASH: usize = 8;

impl Tag {
    /// What every VM of ours carries.
    pub fn ours() -> Self {
        Self("hyperfleet".into())
    }

    /// A tag that names something (`hf-pool-linux`): what a tag cannot hold becomes '-', what is too long is cut and
    /// told apart by a hash. Equal names give equal tags; different names give different tags, but for case.
    pub fn named(kind: &str, name: &str) -> Self {
        let wanted = format!("hf-{kind}-{name}").to_ascii_lowercase();
        let plain: String = wanted.chars().map(|c| if is_inner(c) { c } else { '-' }).collect();
        if plain == wanted && plain.len() <= LONGEST {
            return Self(plain);
        }
        let hash = hex::encode(&Sha256::digest(wanted.as_bytes())[..HASH / 2]);
        let kept: String = plain.chars().take(LONGEST - HASH - 1).collect();
        Self(format!("{kept}-{hash}"))
    }

    /// Reads one tag, in lower case as hypervisors compare them.
    pub fn parse(text: &str) -> Option<Self> {
        let text = text.to_ascii_lowercase();
        let starts = text.starts_with(|c: char| c.is_ascii_alphanumeric() || c == '_');
        (starts && text.chars().all(is_inner)).then_some(Self(text))
    }

    /// Reads a list separated by ';', ',' or blanks; what is no tag is left out.
    pub fn list(text: &str) -> BTreeSet<Self> {
        text.split([';', ',', ' ']).filter_map(Self::parse).collect()
    }

    /// The text.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Tag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

fn is_inner(c: char) -> bool {
    c.is_ascii_lowercase() || c.is_ascii_digit() || matches!(c, '_' | '-' | '+' | '.')
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn p20_every_name_makes_a_valid_tag_that_reads_back(kind in "[a-z]{1,8}", name in ".{0,200}") {
            let tag = Tag::named(&kind, &name);
            prop_assert!(tag.as_str().len() <= LONGEST);
            prop_assert_eq!(Tag::parse(tag.as_str()), Some(tag.clone()));
            prop_assert_eq!(Tag::list(&format!("zed;{tag},HyperFleet")).contains(&tag), true);
        }

        #[test]
        fn p20_different_names_make_different_tags(one in "[a-z./ -]{1,80}", other in "[a-z./ -]{1,80}") {
            prop_assume!(one != other);
            prop_assert_ne!(Tag::named("pool", &one), Tag::named("pool", &other));
        }
    }

    #[test]
    fn a_plain_name_is_kept() {
        assert_eq!(Tag::named("pool", "linux-large").as_str(), "hf-pool-linux-large");
    }

    #[test]
    fn a_recorded_list_reads_as_a_set() {
        let read: Vec<String> =
            Tag::list("HyperFleet;Owner-abc;zed,aaa HYPERFLEET").iter().map(Tag::to_string).collect();
        assert_eq!(read, ["aaa", "hyperfleet", "owner-abc", "zed"]);
        assert!(Tag::list(" ").is_empty());
    }
}
