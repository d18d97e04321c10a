//! Traces: when each kernel began and ended on the GPU, by its own timestamps.

use crate::device::device;
use serde_json::json;
use wasm_bindgen::prelude::*;

/// Times every kernel from now on.
#[wasm_bindgen]
pub fn device_start_trace(number: u32) -> Result<(), JsError> {
    Ok(device(number)?.start_trace()?)
}

/// Ends the trace: its kernels in the order they were submitted, as JSON, times in nanoseconds.
#[wasm_bindgen]
pub async fn device_take_trace(number: u32) -> Result<String, JsError> {
    let device = device(number)?;
    let kernels = device.take_trace().await?;
    let kernels = kernels.iter().map(|kernel| {
        json!({
            "name": kernel.name,
            "submission": kernel.submission,
            "start": kernel.start,
            "duration": kernel.duration,
            "workgroups": kernel.groups,
            "elements": kernel.work.elements,
            "flops": kernel.work.flops,
            "bytes": kernel.work.bytes,
        })
    });
    Ok(kernels.collect::<serde_json::Value>().to_string())
}
