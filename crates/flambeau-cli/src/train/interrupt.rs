//! Ctrl-C: the first asks the run to save and stop, the second ends the program at once.

use std::ffi::OsString;
use std::sync::Once;
use std::sync::atomic::{AtomicBool, Ordering};

/// What shells expect of a program that was interrupted.
pub const EXIT_CODE: u8 = 130;

static ASKED: AtomicBool = AtomicBool::new(false);

/// Listens from now on; several members of a group in one process need it once.
pub fn listen() {
    static ONCE: Once = Once::new();
    ONCE.call_once(listen_once);
}

fn listen_once() {
    let listening = ctrlc::set_handler(|| {
        if ASKED.swap(true, Ordering::SeqCst) {
            std::process::exit(EXIT_CODE.into());
        }
        eprintln!("\nstopping after this step, with a checkpoint (Ctrl-C again: at once, without)");
    });
    if let Err(error) = listening {
        eprintln!("Ctrl-C will end the run without a checkpoint: {error}");
    }
}

/// Was Ctrl-C pressed?
pub fn is_asked() -> bool {
    ASKED.load(Ordering::SeqCst)
}

/// The command that goes on with this run: the one that started it, with `--resume`.
pub fn resume_command() -> String {
    let mut words: Vec<OsString> = std::env::args_os().collect();
    if words.len() < 2 || !words.iter().any(|word| word == "train") {
        words.push("train".into());
    }
    if !words.iter().any(|word| word == "--resume") {
        words.push("--resume".into());
    }
    words.iter().map(|word| quoted(&word.to_string_lossy())).collect::<Vec<_>>().join(" ")
}

/// The word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./:=,+@%".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_owned();
    }
    format!("'{}'", word.replace('\'', r"'\''"))
}
