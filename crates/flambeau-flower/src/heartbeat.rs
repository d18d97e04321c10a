//! Signs of life from a thread of its own, natively: training may take longer than a server waits for one.

use crate::client::Fleet;
use crate::error::{FlowerError, Result};
use crate::transport::Transport;
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;

/// Gives signs of life for as long as it lives.
pub struct Heartbeat {
    stop: Option<Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl Heartbeat {
    /// Begins with it, for the client that the server knows by this number.
    pub fn start<T: Transport + Send + 'static>(fleet: Fleet<T>, node: u64) -> Result<Heartbeat> {
        let (stop, stopped) = channel();
        let pause = fleet.heartbeat_pause();
        let beat = move || {
            while stopped.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                // Whoever waits for messages gets the same error, and says what is to be done.
                if let Err(error) = flambeau::block_on(fleet.heartbeat(node)) {
                    log::warn!("{error}");
                }
            }
        };
        let thread = std::thread::Builder::new().name("heartbeat".into()).spawn(beat);
        let thread = thread.map_err(|error| FlowerError::Argument {
            what: "heartbeat",
            message: format!("no thread: {error}"),
        })?;
        Ok(Heartbeat { stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.stop.take();
        if let Some(thread) = self.thread.take() {
            // It does not panic.
            _ = thread.join();
        }
    }
}
