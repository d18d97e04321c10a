//! Which device is taken, and what replaces one that is lost.

use crate::output::Output;
use flambeau::{Device, Error, Result};

/// How often a lost GPU is asked for again before the CPU takes over.
const ATTEMPTS: usize = 3;

/// The device named on the command line, or the best one.
pub async fn choose(choice: Option<&str>) -> Result<Device> {
    match choice {
        Some(name) => Device::named(name).await,
        None => Device::try_best().await,
    }
}

/// Says that the CPU is used because there is no GPU, if nobody asked for the CPU.
pub fn mention_cpu(device: &Device, choice: Option<&str>, output: Output) {
    if device.is_cpu() && choice.is_none() && std::env::var_os("FLAMBEAU_DEVICE").is_none() {
        output.say("no GPU was found, so this runs on the CPU (`flambeau info` lists the adapters)");
    }
}

/// Does the error mean that the device is gone?
pub fn is_lost(error: &Error) -> bool {
    match error {
        Error::DeviceLost(_) => true,
        Error::Poisoned(cause) => is_lost(cause),
        Error::Item { error, .. } => is_lost(error),
        _ => false,
    }
}

/// The device that takes the place of a lost one: the same choice again, the CPU after too many losses.
pub async fn replace(losses: usize, choice: Option<&str>, output: Output) -> Result<Device> {
    if losses <= ATTEMPTS {
        match choose(choice).await {
            Ok(device) => {
                output.say(format!("the GPU was lost; going on with a new device: {}", device.name()));
                return Ok(device);
            }
            Err(error) => output.say(format!("the GPU was lost and cannot be had again: {error}")),
        }
    }
    output.say(format!("the GPU was lost {losses} times; going on with the CPU"));
    Ok(Device::cpu())
}
