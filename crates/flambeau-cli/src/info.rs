//! Which devices there are, and which one is taken.

use flambeau::{Device, Result, enumerate_adapters};
use std::process::ExitCode;

/// The device named on the command line, or the best one.
pub async fn choose(device: Option<&str>) -> Result<Device> {
    match device {
        Some(device) => Device::named(device).await,
        None => Device::try_best().await,
    }
}

/// Prints every adapter and the choice.
pub async fn print(device: Option<&str>, json: bool) -> Result<ExitCode> {
    let adapters = enumerate_adapters().await;
    let chosen = choose(device).await?;
    if json {
        let list = adapters.iter().map(|adapter| {
            format!(
                r#"{{"index":{},"name":{:?},"backend":{:?},"kind":"{:?}","driver":{:?},"software":{}}}"#,
                adapter.index,
                adapter.name,
                adapter.backend,
                adapter.device_type,
                adapter.driver,
                adapter.software
            )
        });
        let list: Vec<String> = list.collect();
        println!(r#"{{"chosen":{:?},"adapters":[{}]}}"#, chosen.name(), list.join(","));
        return Ok(ExitCode::SUCCESS);
    }
    println!("device: {} ({})", chosen, chosen.name());
    if adapters.is_empty() {
        println!(
            "adapters: none. A GPU needs its Vulkan, Metal or DX12 driver; on Debian: apt install mesa-vulkan-drivers"
        );
    }
    for adapter in &adapters {
        let software = if adapter.software { ", software: only with --device software" } else { "" };
        println!(
            "adapter {}: {} ({}, {:?}{software})",
            adapter.index, adapter.name, adapter.backend, adapter.device_type
        );
        println!("           driver {} {}", adapter.driver, adapter.driver_info);
    }
    Ok(ExitCode::SUCCESS)
}
