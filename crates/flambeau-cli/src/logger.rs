//! What the library has to say reaches people: its log goes to stderr, from the level in `FLAMBEAU_LOG` on.

use log::{Level, LevelFilter, Log, Metadata, Record};
use std::io::Write;

/// The variable that sets the level: off, error, warn (the default), info, debug or trace.
const VARIABLE: &str = "FLAMBEAU_LOG";

/// Writes to stderr. Other libraries' messages, which are about drivers mostly, are shown only to those who set a level.
struct Stderr {
    everyone: bool,
}

impl Log for Stderr {
    fn enabled(&self, metadata: &Metadata) -> bool {
        self.everyone || metadata.target().starts_with("flambeau") || metadata.level() == Level::Error
    }

    fn log(&self, record: &Record) {
        if self.enabled(record.metadata()) {
            let level = match record.level() {
                Level::Error => "error",
                Level::Warn => "warning",
                Level::Info => "info",
                Level::Debug => "debug",
                Level::Trace => "trace",
            };
            // A reader that has gone away is no error.
            _ = writeln!(std::io::stderr(), "{level}: {}", record.args());
        }
    }

    fn flush(&self) {}
}

static OURS: Stderr = Stderr { everyone: false };
static EVERYONES: Stderr = Stderr { everyone: true };

/// Starts logging.
pub fn start() {
    let chosen = std::env::var(VARIABLE).ok();
    let level: Option<LevelFilter> = chosen.as_deref().and_then(|level| level.parse().ok());
    // It fails only where there is a logger already.
    _ = log::set_logger(if level.is_some() { &EVERYONES } else { &OURS });
    log::set_max_level(level.unwrap_or(LevelFilter::Warn));
    if let (None, Some(chosen)) = (level, chosen) {
        log::warn!("{VARIABLE} is `{chosen}`: off, error, warn, info, debug or trace was expected");
    }
}
