//! The paths of printer columns: `.spec.size`, `.items[0].name`, `.metadata.labels.app\.kubernetes\.io/name`,
//! `.status.conditions[?(@.type=="Ready")].status`.
//!
//! Steps are names, quoted names, indices, slices, `*` and one comparison in a filter. Unions and `..` are not read:
//! a column with such a path stays empty.

use serde_json::Value;

/// One step of a path.
enum Step {
    Name(String),
    All,
    Slice(Option<i64>, Option<i64>, usize),
    Only(Filter),
}

/// What the entries of a list are chosen by.
struct Filter {
    left: Vec<Step>,
    compared: Option<(Comparison, Value)>,
}

#[derive(Clone, Copy)]
enum Comparison {
    Equal,
    Unequal,
    Less,
    AtMost,
    More,
    AtLeast,
}

/// Everything at a path; none if the path cannot be read or leads through something that is no list where one is asked.
pub(super) fn find<'a>(path: &str, object: &'a Value) -> Option<Vec<&'a Value>> {
    follow(&read(path)?, object)
}

fn follow<'a>(steps: &[Step], object: &'a Value) -> Option<Vec<&'a Value>> {
    let mut found = vec![object];
    for step in steps {
        let mut next = Vec::new();
        for value in found {
            next.extend(take(step, value)?);
        }
        found = next;
    }
    Some(found)
}

fn take<'a>(step: &Step, value: &'a Value) -> Option<Vec<&'a Value>> {
    match (step, value) {
        (Step::Name(name), Value::Object(fields)) => Some(fields.get(name).into_iter().collect()),
        (Step::All, Value::Object(fields)) => Some(fields.values().collect()),
        (Step::All, Value::Array(items)) => Some(items.iter().collect()),
        (Step::Slice(from, to, by), Value::Array(items)) => slice(items, *from, *to, *by),
        (Step::Only(filter), Value::Array(items)) => Some(items.iter().filter(|item| filter.holds(item)).collect()),
        (Step::Name(_) | Step::All, _) | (Step::Slice(..), Value::Null) => Some(Vec::new()),
        (Step::Slice(..) | Step::Only(_), _) => None,
    }
}

fn slice(items: &[Value], from: Option<i64>, to: Option<i64>, by: usize) -> Option<Vec<&Value>> {
    let length = i64::try_from(items.len()).ok()?;
    let from_end = |index: i64| if index < 0 { index + length } else { index };
    let (from, to) = (from_end(from.unwrap_or(0)), to.map_or(length, from_end));
    let (from, to) = (usize::try_from(from).ok()?, usize::try_from(to).ok()?);
    Some(items.get(from..to)?.iter().step_by(by).collect())
}

impl Filter {
    fn holds(&self, item: &Value) -> bool {
        let found = follow(&self.left, item).unwrap_or_default();
        match (&self.compared, found.as_slice()) {
            (None, found) => !found.is_empty(),
            (Some((comparison, right)), [left]) => comparison.holds(left, right),
            (Some(_), _) => false,
        }
    }
}

impl Comparison {
    fn holds(self, left: &Value, right: &Value) -> bool {
        let ordering = match (left, right) {
            (Value::String(left), Value::String(right)) => Some(left.cmp(right)),
            (Value::Number(left), Value::Number(right)) => left.as_f64().partial_cmp(&right.as_f64()),
            (Value::Bool(left), Value::Bool(right)) => Some(left.cmp(right)),
            _ => None,
        };
        let Some(ordering) = ordering else { return false };
        match self {
            Self::Equal => ordering.is_eq(),
            Self::Unequal => ordering.is_ne(),
            Self::Less => ordering.is_lt(),
            Self::AtMost => ordering.is_le(),
            Self::More => ordering.is_gt(),
            Self::AtLeast => ordering.is_ge(),
        }
    }
}

fn read(path: &str) -> Option<Vec<Step>> {
    let mut steps = Vec::new();
    let mut rest = path.trim_start_matches('$');
    while !rest.is_empty() {
        if let Some(inside) = rest.strip_prefix('[') {
            let end = closing(inside)?;
            steps.push(bracket(&inside[..end])?);
            rest = &inside[end + 1..];
            continue;
        }
        let (name, after) = name(rest.strip_prefix('.')?);
        match name.as_str() {
            // The end of `.`, or a bracket after a dot; nothing else may follow a dot, least of all another one.
            "" if after.is_empty() || after.starts_with('[') => {}
            "" => return None,
            "*" => steps.push(Step::All),
            _ => steps.push(Step::Name(name)),
        }
        rest = after;
    }
    Some(steps)
}

/// A plain name and what follows it; a backslash keeps a dot in the name.
fn name(text: &str) -> (String, &str) {
    let mut name = String::new();
    let mut letters = text.char_indices();
    while let Some((at, letter)) = letters.next() {
        match letter {
            '\\' => name.extend(letters.next().map(|(_, letter)| letter)),
            '.' | '[' => return (name, &text[at..]),
            other => name.push(other),
        }
    }
    (name, "")
}

/// Where the bracket closes, quotes and inner brackets left alone.
fn closing(text: &str) -> Option<usize> {
    let (mut depth, mut quote) = (0, None);
    for (at, letter) in text.char_indices() {
        match (quote, letter) {
            (Some(open), letter) if open == letter => quote = None,
            (None, '\'' | '"') => quote = Some(letter),
            (None, '[') => depth += 1,
            (None, ']') if depth == 0 => return Some(at),
            (None, ']') => depth -= 1,
            (Some(_) | None, _) => {}
        }
    }
    None
}

fn bracket(inside: &str) -> Option<Step> {
    let inside = inside.trim();
    if inside == "*" {
        return Some(Step::All);
    }
    if let Some(text) = unquoted(inside) {
        return Some(Step::Name(text));
    }
    if let Some(filter) = inside.strip_prefix("?(").and_then(|filter| filter.strip_suffix(')')) {
        return filter_of(filter).map(Step::Only);
    }
    let parts: Vec<&str> = inside.split(':').collect();
    let number = |text: &str| text.trim().parse::<i64>().ok();
    match parts.as_slice() {
        [index] => {
            let index = number(index)?;
            // The last entry ends where the list does.
            Some(Step::Slice(Some(index), (index != -1).then_some(index + 1), 1))
        }
        [from, to] => Some(Step::Slice(number(from), number(to), 1)),
        [from, to, by] => Some(Step::Slice(number(from), number(to), by.trim().parse().ok().filter(|by| *by > 0)?)),
        _ => None,
    }
}

fn unquoted(text: &str) -> Option<String> {
    ['\'', '"'].into_iter().find_map(|quote| {
        let inner = text.strip_prefix(quote)?.strip_suffix(quote)?;
        Some(inner.replace('\\', ""))
    })
}

fn filter_of(text: &str) -> Option<Filter> {
    const OPERATORS: [(&str, Comparison); 6] = [
        ("==", Comparison::Equal),
        ("!=", Comparison::Unequal),
        ("<=", Comparison::AtMost),
        (">=", Comparison::AtLeast),
        ("<", Comparison::Less),
        (">", Comparison::More),
    ];
    let left = |text: &str| read(text.trim().strip_prefix('@')?);
    let found = OPERATORS.iter().find_map(|(sign, comparison)| Some((text.split_once(sign)?, *comparison)));
    match found {
        Some(((path, value), comparison)) => {
            let value = value.trim();
            let literal = unquoted(value).map(Value::from).or_else(|| serde_json::from_str(value).ok())?;
            Some(Filter { left: left(path)?, compared: Some((comparison, literal)) })
        }
        None => Some(Filter { left: left(text)?, compared: None }),
    }
}
