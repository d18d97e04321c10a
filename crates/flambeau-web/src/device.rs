//! The device that new tensors live on, and what it says about itself.

use crate::handles::{self, argument};
use crate::precision::precision_of;
use crate::slab::Slab;
use flambeau::{CpuConfig, Device, GpuConfig, GpuSize, PowerPreference};
use serde_json::json;
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

thread_local! {
    static DEVICES: Slab<Device> = const { Slab::new("device") };
    static CURRENT: RefCell<Option<Device>> = const { RefCell::new(None) };
}

/// The device of new tensors.
pub fn current() -> flambeau::Result<Device> {
    CURRENT
        .with_borrow(Option::clone)
        .ok_or_else(|| argument("flambeau", "no device has been chosen yet; await init() first"))
}

/// The device with this number.
pub fn device(number: u32) -> flambeau::Result<Device> {
    DEVICES.with(|devices| devices.get(number)).map(|device| (*device).clone())
}

/// Opens a device: `cpu`, or a GPU that takes at most `memory_limit` bytes. Returns its number. Its products of f32 are of `high` or of
/// the highest precision, if that is said. `software_group` is for software adapters, whose names browsers hide from WebAssembly: the
/// threads of a workgroup, among which barriers are avoided; 0 on others.
#[wasm_bindgen]
pub async fn device_open(
    cpu: bool,
    low_power: bool,
    allow_software: bool,
    small: bool,
    software_group: u32,
    memory_limit: Option<f64>,
    high: Option<bool>,
) -> Result<u32, JsError> {
    let power_preference =
        if low_power { PowerPreference::LowPower } else { PowerPreference::HighPerformance };
    let device = match cpu {
        true => match high.map(precision_of) {
            None => Device::cpu(),
            precision => Device::cpu_with(&CpuConfig { precision, ..CpuConfig::default() }),
        },
        false => {
            let default = GpuConfig::default();
            let avoid_barriers = software_group != 0;
            let workgroup_size = if avoid_barriers { software_group } else { default.workgroup_size };
            let memory_limit = memory_limit.map(|bytes| bytes as u64);
            let config = GpuConfig {
                power_preference,
                allow_software,
                avoid_barriers,
                workgroup_size,
                memory_limit,
                precision: high.map(precision_of),
                gpu_size: small.then_some(GpuSize::Small),
                ..default
            };
            Device::gpu(&config).await?
        }
    };
    Ok(DEVICES.with(|devices| devices.add(device)))
}

/// Makes a device the one of new tensors.
#[wasm_bindgen]
pub fn device_use(number: u32) -> Result<(), JsError> {
    CURRENT.set(Some(device(number)?));
    Ok(())
}

/// What is known of a device, as JSON.
#[wasm_bindgen]
pub fn device_info(number: u32) -> Result<String, JsError> {
    let device = device(number)?;
    let adapter = device.adapter();
    let text = |of: fn(&flambeau::AdapterDescription) -> &str| adapter.map(of).unwrap_or_default();
    let limits = device.limits().map(|limits| {
        json!({
            "maxBufferSize": limits.max_buffer_size,
            "maxStorageBufferBindingSize": limits.max_storage_buffer_binding_size,
            "maxComputeWorkgroupStorageSize": limits.max_compute_workgroup_storage_size,
            "maxComputeInvocationsPerWorkgroup": limits.max_compute_invocations_per_workgroup,
        })
    });
    Ok(json!({
        "type": if device.is_cpu() { "cpu" } else { "gpu" },
        "name": device.name(),
        "backend": adapter.map_or("cpu", |adapter| &adapter.backend),
        "driver": text(|adapter| &adapter.driver),
        "description": text(|adapter| &adapter.driver_info),
        "software": adapter.is_some_and(|adapter| adapter.software),
        "features": device.features(),
        "matmulPrecision": device.matmul_precision().to_string(),
        "limits": limits,
    })
    .to_string())
}

/// The ledger of a device's memory, with the handles that JavaScript holds, as JSON.
#[wasm_bindgen]
pub fn device_memory(number: u32) -> Result<String, JsError> {
    let memory = device(number)?.memory();
    Ok(json!({
        "inUse": memory.in_use,
        "peak": memory.peak,
        "pooled": memory.pooled,
        "tensors": handles::live(),
    })
    .to_string())
}

/// What a device has done so far, as JSON.
#[wasm_bindgen]
pub fn device_stats(number: u32) -> Result<String, JsError> {
    let device = device(number)?;
    let plans = device.plan_stats();
    let gpu = device.gpu_stats().unwrap_or_default();
    Ok(json!({
        "runs": plans.runs,
        "planHits": plans.hits,
        "planMisses": plans.misses,
        "kernels": plans.kernels,
        "submissions": gpu.submits,
        "dispatches": gpu.dispatches,
        "pipelines": gpu.pipelines_created,
        "bindGroups": gpu.bind_groups_created,
        "buffers": gpu.buffers_created,
        "bytesUploaded": gpu.upload_bytes,
        "readbacks": gpu.readbacks,
    })
    .to_string())
}

/// Returns when at most two evaluations are under way.
#[wasm_bindgen]
pub async fn device_throttle(number: u32) -> Result<(), JsError> {
    let device = device(number)?;
    Ok(device.throttle().await?)
}

/// Has the drivers of all devices look for work that is done.
#[wasm_bindgen]
pub fn devices_nudge() {
    DEVICES.with(|devices| devices.all().iter().for_each(|device| device.nudge()));
}

/// The error that ended the device, if one has.
#[wasm_bindgen]
pub fn device_error(number: u32) -> Result<Option<String>, JsError> {
    Ok(device(number)?.error().map(|error| error.to_string()))
}

/// Goes on after an index out of range.
#[wasm_bindgen]
pub fn device_clear_fault(number: u32) -> Result<(), JsError> {
    Ok(device(number)?.clear_fault()?)
}

/// Gives pooled memory back to the driver.
#[wasm_bindgen]
pub fn device_trim(number: u32) -> Result<(), JsError> {
    device(number)?.trim();
    Ok(())
}

/// Ends the device, as if it had been lost.
#[wasm_bindgen]
pub fn device_destroy(number: u32) -> Result<(), JsError> {
    device(number)?.destroy();
    Ok(())
}
