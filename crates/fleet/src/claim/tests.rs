//! Claims through their lives.
