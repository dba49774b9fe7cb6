//! A trial run of the conformance kit on a real hypervisor that a person names.
//!
//! ```text
//!   flags ─▶ Request ─▶ checks (only reads) ─▶ plan ─▶ a person agrees ─▶ kit ─▶ report
//!                          │                              Ctrl-C ─▶ progress ─┘
//!                          └────────── every call ─▶ redact ─▶ transcript ◀───┘
//! ```
//!
//! Nothing is changed before the plan was shown and agreed to. The key that marks VMs as this run's is made for the run
//! and forgotten with it, so no later run can touch what an earlier one left.

mod checks;
mod interrupt;
mod plan;
mod progress;
mod redact;
mod report;
mod request;
mod row;
mod run;
mod transcript;

use std::process::ExitCode;
use std::sync::Arc;

use providers::http::Recorder;
use providers::hypervisor::kit::{Kit, NoFaults};
use providers::hypervisor::proxmox::{Limits, Proxmox, Settings};

use self::interrupt::Interrupts;
use self::progress::Progress;
pub(crate) use self::request::Request;
use self::request::Wrong;
use self::run::Run;
use self::transcript::Transcript;
use crate::print::{self, Paint};

/// How a trial run ends, as the shell sees it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Code {
    /// Everything that could be tried passed.
    Passed = 0,
    /// Something did not pass, or a check beforehand.
    Failed = 1,
    /// The command line is wrong.
    Usage = 2,
    /// Nobody agreed.
    Unconfirmed = 3,
    /// Somebody ended it; the number is what shells use for it.
    Interrupted = 130,
}

impl From<Code> for ExitCode {
    fn from(code: Code) -> Self {
        Self::from(code as u8)
    }
}

/// Does what was asked for, from the checks to the report.
pub(crate) async fn run(request: Request) -> anyhow::Result<Code> {
    let (run, paint) = (Run::new(), Paint::detect());
    let progress = Arc::new(Progress::default());
    let transcript = match request.record.as_deref().map(|path| Transcript::create(path, &request, &progress)) {
        Some(Err(error)) => {
            print::error(&anyhow::Error::new(Wrong::new("--record", error)));
            return Ok(Code::Usage);
        }
        Some(Ok(transcript)) => Some(Arc::new(transcript)),
        None => None,
    };
    let client = match &transcript {
        Some(transcript) => request.client.clone().recorded(Arc::clone(transcript) as Arc<dyn Recorder>),
        None => request.client.clone(),
    };
    let settings = Settings { owner: run.keyring(), seeds: request.iso_storage.clone(), limits: Limits::default() };
    let proxmox = Proxmox::new(client, request.credentials.clone(), settings);
    let code = trial(&proxmox, &request, &run, &progress, paint).await?;
    match transcript {
        Some(transcript) => Ok(code.max_with(recorded(&transcript)?)),
        None => Ok(code),
    }
}

async fn trial(
    proxmox: &Proxmox,
    request: &Request,
    run: &Run,
    progress: &Progress,
    paint: Paint,
) -> anyhow::Result<Code> {
    print::out(&format!("Checking {}; this only reads.\n", request.url))?;
    let findings = checks::check(proxmox, request).await;
    print::out(&findings.text(paint))?;
    let Some(ready) = findings.ready() else {
        print::out("\nNothing was changed. Put this right, then try again.\n")?;
        return Ok(Code::Failed);
    };
    let (tried, helped) = request.cases();
    let kit = Kit::new(proxmox, &NoFaults, run.bench(request, &ready)).only(&tried).watched(progress);
    print::out(&plan::text(&kit.intentions(), &helped, request, run, &ready))?;
    if let Some(refusal) = plan::confirm(request.yes)? {
        print::out(&format!("Nothing was changed: {refusal}.\n"))?;
        return Ok(Code::Unconfirmed);
    }
    progress.expect(tried.len());
    let Some(mut report) = Interrupts::new()?.watch(kit.run(), progress).await else {
        print::out(&report::abandoned(&progress.remaining(), run))?;
        return Ok(Code::Interrupted);
    };
    report.entries.extend(helped.iter().map(|case| report::untried(*case)));
    print::out(&report::text(&report, request, run, &ready, paint))?;
    if progress.is_interrupted() {
        print::out("It was interrupted: the rest was not tried.\n")?;
        return Ok(Code::Interrupted);
    }
    Ok(if report.is_good() { Code::Passed } else { Code::Failed })
}

/// Says where the transcript is, or that it is not whole.
fn recorded(transcript: &Transcript) -> anyhow::Result<Code> {
    match transcript.finish() {
        Ok(calls) => {
            let path = transcript.path().display();
            print::out(&format!(
                "{calls} calls are written to {path}, without secrets. Read it before you pass it on.\n"
            ))?;
            Ok(Code::Passed)
        }
        Err(error) => {
            print::error(&anyhow::Error::new(Wrong::new("--record", format!("{error}; the file is not complete"))));
            Ok(Code::Failed)
        }
    }
}

impl Code {
    /// This code, unless all is well but for the other.
    fn max_with(self, other: Self) -> Self {
        if self == Self::Passed { other } else { self }
    }
}
