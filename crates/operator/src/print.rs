//! The one place that writes to the terminal.

use std::io::{self, Write};

/// Writes `text` to standard output. A reader that has gone away (`hyperfleet crds | head`) is no error.
pub(crate) fn out(text: &str) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    match stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush()) {
        Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
        result => result,
    }
}

/// Writes an error and the chain of its causes to standard error.
pub(crate) fn error(error: &anyhow::Error) {
    let mut stderr = io::stderr().lock();
    // Nothing is left to do about an error that cannot be told.
    let _ = writeln!(stderr, "error: {error}");
    for cause in error.chain().skip(1) {
        let _ = writeln!(stderr, "  because: {cause}");
    }
}
