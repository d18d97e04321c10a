//! What a client in a browser's tab (or in Node) needs instead of sockets and threads: requests by `fetch`, and signs of life between them.

mod fetch;
mod heartbeat;
mod pause;

pub use fetch::Fetch;
pub use heartbeat::Heartbeat;
