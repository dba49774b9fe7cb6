//! What a source file names, and which of it is test code.

use super::tokens::{Kind, Token, tokens};

/// What a file holds: its named items and the lines that are compiled for tests only.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outline<'a> {
    pub(crate) items: Vec<Item<'a>>,
    /// First and last line of each `#[cfg(test)]` module in the file.
    pub(crate) test_lines: Vec<(usize, usize)>,
}

/// Something with a name of our choosing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Item<'a> {
    pub(crate) kind: ItemKind,
    pub(crate) name: &'a str,
    pub(crate) line: usize,
    /// The modules of this file around it, outermost first.
    pub(crate) modules: Vec<&'a str>,
    /// Whether an attribute makes it a test.
    pub(crate) is_test: bool,
}

/// The kinds of items that carry names.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ItemKind {
    Function,
    Struct,
    Enum,
    Trait,
    Module,
    Type,
    Const,
    Static,
}

impl ItemKind {
    fn of(keyword: &str) -> Option<Self> {
        Some(match keyword {
            "fn" => Self::Function,
            "struct" => Self::Struct,
            "enum" => Self::Enum,
            "trait" => Self::Trait,
            "mod" => Self::Module,
            "type" => Self::Type,
            "const" => Self::Const,
            "static" => Self::Static,
            _ => return None,
        })
    }
}

/// Attributes that make a function a test, by their last word.
const TEST_ATTRIBUTES: &[&str] = &["test", "rstest"];

/// Words that may follow `const` or `static` without being the name.
const NOT_NAMES: &[&str] = &["fn", "unsafe", "async", "extern", "mut", "move", "dyn", "ref"];

/// Finds everything a file names.
pub(crate) fn outline(text: &str) -> Outline<'_> {
    let tokens = tokens(text);
    let mut scan = Scan {
        tokens: &tokens,
        at: 0,
        depth: 0,
        modules: Vec::new(),
        attributes: Vec::new(),
        found: Outline::default(),
    };
    while scan.at < tokens.len() {
        scan.step();
    }
    scan.found
}

/// A module whose closing brace has not come yet.
struct Open<'a> {
    name: &'a str,
    depth: usize,
    test_since: Option<usize>,
}

/// An outer attribute: its words, and the line it starts on.
struct Attribute<'a> {
    words: Vec<&'a str>,
    line: usize,
}

struct Scan<'a, 't> {
    tokens: &'t [Token<'a>],
    at: usize,
    depth: usize,
    modules: Vec<Open<'a>>,
    attributes: Vec<Attribute<'a>>,
    found: Outline<'a>,
}

impl<'a> Scan<'a, '_> {
    fn step(&mut self) {
        let token = self.tokens[self.at];
        self.at += 1;
        match token.kind {
            Kind::Mark('#') if self.mark_here() == Some('[') => self.attribute(token.line),
            Kind::Mark('{') => {
                self.depth += 1;
                self.attributes.clear();
            }
            Kind::Mark('}') => self.close(token.line),
            Kind::Mark(';') => self.attributes.clear(),
            Kind::Word(word) => {
                let pointer = word == "const" && self.at > 1 && self.tokens[self.at - 2].kind == Kind::Mark('*');
                if let (Some(kind), Some(name), false) = (ItemKind::of(word), self.name_here(), pointer) {
                    self.item(kind, name, token.line);
                }
            }
            Kind::Mark(_) | Kind::Literal => {}
        }
    }

    /// Remembers an attribute for the item that follows; stands on its opening bracket.
    fn attribute(&mut self, line: usize) {
        let (mut depth, mut words) = (0_usize, Vec::new());
        while let Some(token) = self.tokens.get(self.at) {
            self.at += 1;
            match token.kind {
                Kind::Mark('[') => depth += 1,
                Kind::Mark(']') if depth == 1 => break,
                Kind::Mark(']') => depth -= 1,
                Kind::Word(word) => words.push(word),
                Kind::Mark(mark @ ('(' | '=')) if depth == 1 => words.push(if mark == '(' { "(" } else { "=" }),
                Kind::Mark(_) | Kind::Literal => {}
            }
        }
        self.attributes.push(Attribute { words, line });
    }

    fn item(&mut self, kind: ItemKind, name: &'a str, line: usize) {
        let attributes = std::mem::take(&mut self.attributes);
        let modules = self.modules.iter().map(|open| open.name).collect();
        let is_test = kind == ItemKind::Function && attributes.iter().any(Attribute::makes_a_test);
        self.found.items.push(Item { kind, name, line, modules, is_test });
        self.at += 1;
        if kind == ItemKind::Module && self.mark_here() == Some('{') {
            let test_since = attributes.iter().find(|a| a.is_cfg_test()).map(|_| attributes[0].line);
            self.modules.push(Open { name, depth: self.depth, test_since });
        }
    }

    fn close(&mut self, line: usize) {
        self.attributes.clear();
        self.depth = self.depth.saturating_sub(1);
        if let Some(open) = self.modules.pop_if(|open| open.depth == self.depth)
            && let Some(since) = open.test_since
        {
            self.found.test_lines.push((since, line));
        }
    }

    fn mark_here(&self) -> Option<char> {
        match self.tokens.get(self.at)?.kind {
            Kind::Mark(mark) => Some(mark),
            Kind::Word(_) | Kind::Literal => None,
        }
    }

    fn name_here(&self) -> Option<&'a str> {
        match self.tokens.get(self.at)?.kind {
            Kind::Word(word) => (!NOT_NAMES.contains(&word)).then_some(word),
            Kind::Mark(_) | Kind::Literal => None,
        }
    }
}

impl Attribute<'_> {
    /// `#[test]`, `#[tokio::test(…)]`, `#[rstest]`: the last word of the attribute's own path decides.
    fn makes_a_test(&self) -> bool {
        let path = self.words.iter().take_while(|word| !["(", "="].contains(word));
        path.last().is_some_and(|last| TEST_ATTRIBUTES.contains(last))
    }

    fn is_cfg_test(&self) -> bool {
        self.words.first() == Some(&"cfg") && self.words.contains(&"test") && !self.words.contains(&"not")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tests_in(text: &str) -> Vec<String> {
        let path = |item: &Item<'_>| item.modules.iter().copied().chain([item.name]).collect::<Vec<_>>().join("::");
        outline(text).items.iter().filter(|item| item.is_test).map(path).collect()
    }

    #[test]
    fn every_kind_of_item_is_named() {
        let text =
            "pub struct A; enum B {} trait C { type D; const E: u8; fn f(); } static G: u8 = 1; mod h; type I = u8;";
        let names: Vec<(ItemKind, &str)> = outline(text).items.iter().map(|item| (item.kind, item.name)).collect();
        assert_eq!(
            names,
            [
                (ItemKind::Struct, "A"),
                (ItemKind::Enum, "B"),
                (ItemKind::Trait, "C"),
                (ItemKind::Type, "D"),
                (ItemKind::Const, "E"),
                (ItemKind::Function, "f"),
                (ItemKind::Static, "G"),
                (ItemKind::Module, "h"),
                (ItemKind::Type, "I"),
            ]
        );
    }

    #[test]
    fn keywords_that_name_nothing_are_passed_over() {
        let text = "const fn a(b: fn(u8), c: *const u8) {} const _: () = (); const unsafe fn d() {}";
        let names: Vec<&str> = outline(text).items.iter().map(|item| item.name).collect();
        assert_eq!(names, ["a", "_", "d"]);
    }

    #[test]
    fn tests_are_found_by_their_attribute() {
        let text = "
            #[test] fn plain() {}
            #[tokio::test(start_paused = true)] async fn slow() {}
            #[rstest] #[case(1)] fn table(#[case] n: u8) {}
            #[cfg(test)] fn no_test() {}
            #[expect(clippy::unwrap_used, reason = \"test\")] fn neither() {}
            proptest! { #[test] fn p22_law(a in 0..3_u8) {} }
            mod outer { mod inner { #[test] #[ignore] fn deep() {} } #[test] fn shallow() {} }
            fn after() {}
        ";
        assert_eq!(tests_in(text), ["plain", "slow", "table", "p22_law", "outer::inner::deep", "outer::shallow"]);
    }

    #[test]
    fn test_modules_are_known_by_their_lines() {
        let text = "fn a() {}\n\n#[cfg(test)]\n#[allow(dead_code)]\nmod tests {\n    fn b() { {} }\n}\nfn c() {}\n#[cfg(not(test))]\nmod d {\n}\n";
        assert_eq!(outline(text).test_lines, [(3, 7)]);
    }

    #[test]
    fn an_attribute_belongs_to_the_next_item_only() {
        assert_eq!(tests_in("#[test] fn a() { let x = 1; } fn b() {} #[derive(Debug)] struct C; fn d() {}"), ["a"]);
    }
}
