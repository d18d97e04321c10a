//! `flambeau info`: which devices there are, which one is taken, and what it can do.

use crate::device;
use crate::output::{Output, megabytes};
use flambeau::{Device, MemoryStrategy, Result, enumerate_adapters};
use serde_json::{Value, json};
use std::process::ExitCode;

/// The limits that matter for tensors, by WebGPU's names.
fn limits(device: &Device) -> Vec<(&'static str, u64)> {
    device.limits().map_or_else(Vec::new, |limits| {
        vec![
            ("maxBufferSize", limits.max_buffer_size),
            ("maxStorageBufferBindingSize", limits.max_storage_buffer_binding_size),
            ("maxStorageBuffersPerShaderStage", limits.max_storage_buffers_per_shader_stage.into()),
            ("maxComputeWorkgroupStorageSize", limits.max_compute_workgroup_storage_size.into()),
            ("maxComputeInvocationsPerWorkgroup", limits.max_compute_invocations_per_workgroup.into()),
            ("maxComputeWorkgroupsPerDimension", limits.max_compute_workgroups_per_dimension.into()),
        ]
    })
}

/// Prints every adapter, the choice, and what the chosen device can do.
pub async fn run(choice: Option<&str>, output: Output) -> Result<ExitCode> {
    let adapters = enumerate_adapters().await;
    let chosen = device::choose(choice).await?;
    let (limits, memory) = (limits(&chosen), chosen.memory());
    let list: Vec<Value> = adapters
        .iter()
        .map(|adapter| {
            json!({
                "index": adapter.index, "name": adapter.name, "backend": adapter.backend,
                "kind": format!("{:?}", adapter.device_type), "driver": adapter.driver,
                "driver_info": adapter.driver_info, "software": adapter.software,
            })
        })
        .collect();
    let result = json!({
        "chosen": chosen.name(), "device": chosen.to_string(), "adapters": list,
        "threads": std::thread::available_parallelism().map_or(1, usize::from),
        "features": chosen.features(),
        "matrix_units": chosen.matrix_units(),
        "precision": chosen.matmul_precision().to_string(), "products_of_f32": chosen.products_of_f32(),
        "limits": limits.iter().map(|&(name, value)| (name.to_owned(), value.into())).collect::<serde_json::Map<_, _>>(),
        "memory": {
            "in_use": memory.in_use, "peak": memory.peak, "pooled": memory.pooled,
            "strategy": chosen.memory_strategy().to_string(), "limit": chosen.memory_limit(),
        },
    });
    let mut lines = vec![format!("device: {} ({})", chosen, chosen.name())];
    if !chosen.is_cpu() {
        let features = chosen.features();
        let features = if features.is_empty() { "none".to_owned() } else { features.join(", ") };
        lines.push(format!("  features: {features}"));
        lines.extend(chosen.matrix_units().map(|units| format!("  matrix units: {units}")));
    }
    lines.push(format!("  products of f32: {}", chosen.products_of_f32()));
    lines.extend(limits.iter().map(|(name, value)| format!("  {name}: {value}")));
    lines.push(format!(
        "  memory: {} in use, {} pooled; buffers are {}{}",
        megabytes(memory.in_use),
        megabytes(memory.pooled),
        match chosen.memory_strategy() {
            MemoryStrategy::Exact => "given back at once (exact)",
            _ => "kept for reuse (pooled)",
        },
        chosen.memory_limit().map(|limit| format!(", at most {}", megabytes(limit))).unwrap_or_default()
    ));
    if adapters.is_empty() {
        let advice =
            "A GPU needs its Vulkan, Metal or DX12 driver; on Debian: apt install mesa-vulkan-drivers";
        lines.push(format!("adapters: none. {advice}"));
    }
    for adapter in &adapters {
        let software = if adapter.software { ", software: only with --device software" } else { "" };
        lines.push(format!(
            "adapter {}: {} ({}, {:?}{software})",
            adapter.index, adapter.name, adapter.backend, adapter.device_type
        ));
        lines.push(format!("           driver {} {}", adapter.driver, adapter.driver_info));
    }
    output.result(&result, &lines);
    Ok(ExitCode::SUCCESS)
}
