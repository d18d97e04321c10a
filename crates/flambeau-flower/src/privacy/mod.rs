//! What a server may learn of a client's data from its updates: updates are clipped and get noise before they leave
//! ([`Privacy`]), and [`Accountant`] says what that is worth.
//!
//! This is here and not in the library's `train`: it works on the difference of two sets of arrays on the host, after training and
//! whatever trained, and needs no device.

mod accountant;
mod update;

pub use accountant::{Accountant, ORDERS};
pub use update::{Noise, Privacy, Protected};
