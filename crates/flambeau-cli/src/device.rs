//! Which device is taken.

use crate::output::Output;
use flambeau::{Device, Result};

/// The device named on the command line, or the best one.
pub async fn choose(choice: Option<&str>) -> Result<Device> {
    match choice {
        Some(name) => Device::named(name).await,
        None => Device::try_best().await,
    }
}

/// The same, opened with a limit to its memory, if there is one.
pub async fn choose_within(choice: Option<&str>, memory_limit: Option<u64>) -> Result<Device> {
    match memory_limit {
        Some(limit) => Device::within(choice, limit).await,
        None => choose(choice).await,
    }
}

/// Says that the CPU is used because there is no GPU, if nobody asked for the CPU.
pub fn mention_cpu(device: &Device, choice: Option<&str>, output: Output) {
    if device.is_cpu() && choice.is_none() && std::env::var_os("FLAMBEAU_DEVICE").is_none() {
        output.say("no GPU was found, so this runs on the CPU (`flambeau info` lists the adapters)");
    }
}
