//! Questions to the person at the terminal whose answers are not shown.

use std::io::{self, IsTerminal, Read, Write};

use rustix::termios::{LocalModes, OptionalActions, Termios, tcgetattr, tcsetattr};
use secrecy::SecretString;

/// The terminal as it was; it is so again when this goes.
struct Hidden(Termios);

impl Hidden {
    /// Keys come one by one, unseen, and Ctrl-C is one of them: whoever ends the program here gets his terminal back.
    fn begin() -> io::Result<Self> {
        let before = tcgetattr(io::stdin())?;
        let mut quiet = before.clone();
        quiet.local_modes.remove(LocalModes::ECHO | LocalModes::ICANON | LocalModes::ISIG);
        tcsetattr(io::stdin(), OptionalActions::Flush, &quiet)?;
        Ok(Self(before))
    }
}

impl Drop for Hidden {
    fn drop(&mut self) {
        // Nothing is left to do about a terminal that is gone.
        let _ = tcsetattr(io::stdin(), OptionalActions::Now, &self.0);
        let _ = writeln!(io::stderr().lock());
    }
}

/// Asks for something secret; `None` if nobody is at the terminal.
pub(crate) fn ask_hidden(question: &str) -> io::Result<Option<SecretString>> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    let hidden = Hidden::begin()?;
    let mut stderr = io::stderr().lock();
    write!(stderr, "{question}")?;
    stderr.flush()?;
    drop(stderr);
    let typed = typed(&mut io::stdin().lock());
    drop(hidden);
    typed.map(|typed| Some(typed.into()))
}

/// What is typed until the end of the line.
fn typed(keys: &mut impl Read) -> io::Result<String> {
    let (mut line, mut key) = (Vec::new(), [0]);
    loop {
        if keys.read(&mut key)? == 0 {
            break;
        }
        match key[0] {
            b'\r' | b'\n' | 0x04 => break,
            0x03 => return Err(io::Error::new(io::ErrorKind::Interrupted, "interrupted")),
            // A whole letter goes, however many bytes it has.
            0x08 | 0x7f => while line.pop().is_some_and(|byte: u8| byte & 0xc0 == 0x80) {},
            0x15 => line.clear(),
            other => line.push(other),
        }
    }
    String::from_utf8(line).map_err(|_| io::Error::new(io::ErrorKind::InvalidData, "what was typed is no text"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_edited_unseen() {
        for (keys, line) in [
            (&b"secret\r"[..], "secret"),
            (b"secrex\x7ft\n", "secret"),
            (b"wrong\x15right\n", "right"),
            ("gr\u{fc}\u{7f}un\n".as_bytes(), "grun"),
        ] {
            assert_eq!(typed(&mut &*keys).unwrap(), line);
        }
        assert_eq!(typed(&mut &b"sec\x03"[..]).unwrap_err().kind(), io::ErrorKind::Interrupted);
    }
}
