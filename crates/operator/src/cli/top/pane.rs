//! A table: its columns, its rows, and how they fit a width.

use ratatui::text::Span;

/// A table with a title.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Pane {
    pub(crate) title: String,
    pub(crate) columns: &'static [Column],
    pub(crate) rows: Vec<Row>,
}

/// A column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Column {
    pub(crate) head: &'static str,
    /// Its width; none for the one that takes what is left.
    pub(crate) width: Option<u16>,
    /// The least width of the whole at which it is shown.
    pub(crate) from: u16,
    /// Whether it stands on the right, as numbers do.
    pub(crate) right: bool,
}

/// A row.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Row {
    pub(crate) cells: Vec<String>,
    pub(crate) tone: Tone,
}

/// How a row stands out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Tone {
    /// It does what it should.
    Calm,
    /// It is at work.
    Good,
    /// It waits.
    Odd,
    /// It failed.
    Bad,
}

impl Column {
    /// A column of words.
    pub(crate) const fn words(head: &'static str, width: u16, from: u16) -> Self {
        Self { head, width: Some(width), from, right: false }
    }

    /// A column of numbers.
    pub(crate) const fn number(head: &'static str, width: u16, from: u16) -> Self {
        Self { head, width: Some(width), from, right: true }
    }

    /// The column that takes what is left.
    pub(crate) const fn rest(head: &'static str) -> Self {
        Self { head, width: None, from: 0, right: false }
    }
}

/// One line of cells, as wide as the whole at most.
pub(crate) fn line(columns: &[Column], cells: &[&str], whole: u16) -> String {
    let shown: Vec<(&Column, &str)> =
        columns.iter().zip(cells.iter().copied()).filter(|(column, _)| column.from <= whole).collect();
    let gaps = u16::try_from(shown.len().saturating_sub(1)).unwrap_or(u16::MAX);
    let fixed: u16 = shown.iter().filter_map(|(column, _)| column.width).sum();
    let rest = whole.saturating_sub(fixed).saturating_sub(gaps);
    let fitted = shown.iter().map(|(column, cell)| fit(cell, column.width.unwrap_or(rest), column.right));
    cut(fitted.collect::<Vec<_>>().join(" ").trim_end(), whole)
}

/// A text in exactly this width.
fn fit(text: &str, width: u16, right: bool) -> String {
    let text = cut(text, width);
    let blank = " ".repeat(usize::from(width).saturating_sub(wide(&text)));
    if right { format!("{blank}{text}") } else { format!("{text}{blank}") }
}

/// A text in this width at most; one that was longer says so.
pub(crate) fn cut(text: &str, width: u16) -> String {
    let most = usize::from(width);
    if wide(text) <= most {
        return text.to_owned();
    }
    let mut cut = String::new();
    for letter in text.chars() {
        cut.push(letter);
        if wide(&cut) >= most {
            cut.pop();
            break;
        }
    }
    if most > 0 {
        cut.push('…');
    }
    cut
}

fn wide(text: &str) -> usize {
    Span::raw(text).width()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const COLUMNS: &[Column] = &[Column::rest("NAME"), Column::number("MAX", 4, 20), Column::words("REASON", 9, 0)];

    #[test]
    fn what_is_too_long_is_cut_and_says_so() {
        for (text, width, shown) in [("small", 5, "small"), ("small", 4, "sma…"), ("small", 1, "…"), ("small", 0, "")]
        {
            assert_eq!(cut(text, width), shown);
        }
    }

    #[test]
    fn numbers_stand_on_the_right_and_columns_go_where_there_is_no_room() {
        assert_eq!(line(COLUMNS, &["small", "10", "AtMaximum"], 24), "small       10 AtMaximum");
        assert_eq!(line(COLUMNS, &["a-long-name", "10", "AtMaximum"], 16), "a-lon… AtMaximum");
    }

    proptest! {
        #[test]
        fn no_line_is_wider_than_the_whole(
            cells in proptest::array::uniform3("[a-z\u{e4}\u{4e16}\u{1f600} -]{0,40}"),
            whole in 0_u16..60,
        ) {
            let cells = cells.each_ref().map(String::as_str);
            prop_assert!(wide(&line(COLUMNS, &cells, whole)) <= usize::from(whole));
        }
    }
}
