//! What a terminal shows after everything that was written to it: enough of one for the programs that draw with ratatui.

use std::time::Duration;

use testenv::eventually;

use crate::terminal::Terminal;

/// Columns and rows of the terminal that everything must fit.
pub(crate) const SIZE: (u16, u16) = (80, 24);

/// The lines on the screen.
pub(crate) fn shown(written: &str) -> Vec<String> {
    let (width, height) = (usize::from(SIZE.0), usize::from(SIZE.1));
    let mut cells = vec![vec![' '; width]; height];
    let (mut row, mut column) = (0, 0);
    let mut letters = written.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\u{1b}' if letters.peek() == Some(&'[') => {
                letters.next();
                let mut order = String::new();
                let last = letters.by_ref().find(|letter| {
                    order.push(*letter);
                    letter.is_ascii_alphabetic()
                });
                match last {
                    Some('H') => {
                        let mut numbers =
                            order.trim_end_matches('H').split(';').map(|number| number.parse().unwrap_or(1));
                        row = numbers.next().unwrap_or(1_usize) - 1;
                        column = numbers.next().unwrap_or(1_usize) - 1;
                    }
                    Some('J') => cells.iter_mut().for_each(|row| row.fill(' ')),
                    _ => {}
                }
            }
            '\r' => column = 0,
            '\n' => row = (row + 1).min(height - 1),
            _ if row < height && column < width => {
                cells[row][column] = letter;
                column += 1;
            }
            _ => {}
        }
    }
    cells.into_iter().map(|row| row.into_iter().collect::<String>().trim_end().to_owned()).collect()
}

/// Waits until the screen shows these words; all of it then.
pub(crate) async fn wait_for(terminal: &Terminal, words: &str, within: Duration) -> String {
    let look = async || Some(shown(&terminal.seen()).join("\n")).filter(|screen| screen.contains(words));
    eventually(&format!("the screen shows {words:?}"), within, look).await
}
