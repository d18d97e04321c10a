//! Signs of life from a task of its own: training may take longer than a server waits for one.

use super::pause::{Bell, sleep, unless};
use crate::client::Fleet;
use crate::error::Result;
use crate::transport::Transport;

/// Gives signs of life for as long as it lives.
pub struct Heartbeat {
    end: Bell,
}

impl Heartbeat {
    /// Begins with it, for the client that the server knows by this number.
    pub fn start<T: Transport + 'static>(fleet: Fleet<T>, node: u64) -> Result<Heartbeat> {
        let end = Bell::default();
        let ended = end.clone();
        let pause = fleet.heartbeat_pause();
        wasm_bindgen_futures::spawn_local(async move {
            let beats = async {
                loop {
                    sleep(pause).await;
                    // Whoever waits for messages gets the same error, and says what is to be done.
                    if let Err(error) = fleet.heartbeat(node).await {
                        log::warn!("{error}");
                    }
                }
            };
            unless(ended.heard(), beats).await;
        });
        Ok(Heartbeat { end })
    }
}

impl Drop for Heartbeat {
    fn drop(&mut self) {
        self.end.ring();
    }
}
