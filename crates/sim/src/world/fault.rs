//! What can go wrong, by name.

/// One thing that went wrong on purpose.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fault {
    /// The request never arrived.
    RequestLost,
    /// The far side acted; its answer never arrived.
    AnswerLost,
    /// The request arrived twice.
    Duplicated,
    /// The connection broke before the request arrived.
    Reset,
    /// The connection broke after the far side acted.
    ResetLate,
    /// The connection stands, and nothing comes back.
    HalfOpen,
    /// The network was cut between the two.
    Partitioned,
    /// The sender was gone before the request arrived.
    Orphaned,
    /// 409, although nothing conflicted.
    Conflict,
    /// 429.
    Throttled,
    /// 500 without acting.
    ServerError,
    /// 503 without acting.
    Unavailable,
    /// 504 after acting.
    GatewayTimeout,
    /// An answer from the past.
    Stale,
    /// A stream broke.
    WatchCut,
    /// A stream ended in good order.
    WatchClosed,
    /// A stream ended with 410.
    WatchExpired,
    /// Events about different objects came in another order.
    Reordered,
    /// A process stood still.
    Pause,
    /// A process died.
    Crash,
    /// A clock was set.
    ClockJump,
    /// A destination forgot its past.
    Compaction,
}

impl Fault {
    /// The words for it in transcripts.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::RequestLost => "request lost",
            Self::AnswerLost => "answer lost",
            Self::Duplicated => "request doubled",
            Self::Reset => "connection reset",
            Self::ResetLate => "connection reset after acting",
            Self::HalfOpen => "half-open",
            Self::Partitioned => "partitioned",
            Self::Orphaned => "sender gone",
            Self::Conflict => "409 made up",
            Self::Throttled => "429 made up",
            Self::ServerError => "500 made up",
            Self::Unavailable => "503 made up",
            Self::GatewayTimeout => "504 after acting",
            Self::Stale => "answer from the past",
            Self::WatchCut => "stream cut",
            Self::WatchClosed => "stream closed",
            Self::WatchExpired => "stream expired",
            Self::Reordered => "events reordered",
            Self::Pause => "pause",
            Self::Crash => "crash",
            Self::ClockJump => "clock jump",
            Self::Compaction => "compaction",
        }
    }
}
