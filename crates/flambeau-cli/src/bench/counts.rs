//! What a device has done so far: calls of the queue, plans, arithmetic. Differences of two such states are what the
//! work between them cost.

use flambeau::{Device, GpuStats, PlanStats};
use serde_json::{Value, json};

/// The counters of a device at one moment.
#[derive(Clone, Copy)]
pub struct Counts {
    gpu: Option<GpuStats>,
    plans: PlanStats,
}

/// What some runs of the same work have cost together.
pub struct Spent {
    runs: f64,
    /// None on the CPU, which has no queue.
    gpu: Option<GpuSpent>,
    kernels: u64,
    plan_hits: u64,
    plan_misses: u64,
    pub flops: u64,
    pub bytes: u64,
    temporary_bytes: u64,
    slot_bytes: u64,
}

struct GpuSpent {
    dispatches: u64,
    /// Without those that only read back.
    submits: u64,
    pipelines: u64,
    buffers: u64,
    bind_groups: u64,
}

impl Counts {
    pub fn of(device: &Device) -> Counts {
        Counts { gpu: device.gpu_stats(), plans: device.plan_stats() }
    }

    /// The pipelines made so far, and those of them that an earlier process had kept. None on the CPU.
    pub fn pipelines(device: &Device) -> (u64, u64) {
        device.gpu_stats().map_or((0, 0), |stats| (stats.pipelines_created, stats.pipelines_kept))
    }

    /// What was spent since then on `runs` runs.
    pub fn since(device: &Device, before: Counts, runs: usize) -> Spent {
        let now = Counts::of(device);
        let gpu = now.gpu.zip(before.gpu).map(|(now, before)| GpuSpent {
            dispatches: now.dispatches - before.dispatches,
            submits: (now.submits - before.submits) - (now.submits_of_copies - before.submits_of_copies),
            pipelines: now.pipelines_created - before.pipelines_created,
            buffers: now.buffers_created - before.buffers_created,
            bind_groups: now.bind_groups_created - before.bind_groups_created,
        });
        let (now, before) = (now.plans, before.plans);
        Spent {
            runs: runs as f64,
            gpu,
            kernels: now.kernels - before.kernels,
            plan_hits: now.hits - before.hits,
            plan_misses: now.misses - before.misses,
            flops: now.flops - before.flops,
            bytes: now.bytes - before.bytes,
            temporary_bytes: now.temporary_bytes - before.temporary_bytes,
            slot_bytes: now.slot_bytes - before.slot_bytes,
        }
    }
}

impl Spent {
    pub fn flops_per_run(&self) -> f64 {
        self.flops as f64 / self.runs
    }

    pub fn bytes_per_run(&self) -> f64 {
        self.bytes as f64 / self.runs
    }

    /// Kernels a run: dispatches on a GPU, kernels of plans on the CPU.
    pub fn kernels_per_run(&self) -> f64 {
        self.gpu.as_ref().map_or(self.kernels, |gpu| gpu.dispatches) as f64 / self.runs
    }

    /// Kernels of plans a run: on a GPU a kernel may be more than one dispatch.
    pub fn kernels_of_plans(&self) -> f64 {
        self.kernels as f64 / self.runs
    }

    /// Bytes of a run's temporaries, each with memory of its own, and of the memory they share.
    pub fn temporaries_per_run(&self) -> (f64, f64) {
        (self.temporary_bytes as f64 / self.runs, self.slot_bytes as f64 / self.runs)
    }

    /// For people.
    pub fn line(&self) -> String {
        let mut line = format!("{:.1} kernels", self.kernels_per_run());
        if let Some(gpu) = &self.gpu {
            line += &format!(" in {:.2} submits", gpu.submits as f64 / self.runs);
        }
        line += &format!(" a step; plan cache {} hits, {} misses", self.plan_hits, self.plan_misses);
        if let Some(gpu) = &self.gpu {
            let GpuSpent { pipelines, buffers, bind_groups, .. } = gpu;
            line += &format!("; new: {pipelines} pipelines, {buffers} buffers, {bind_groups} bind groups");
        }
        line
    }

    /// For machines.
    pub fn json(&self) -> Value {
        let mut object = json!({
            "kernels_per_step": self.kernels_per_run(),
            "submits_per_step": null,
            "plan_hits": self.plan_hits,
            "plan_misses": self.plan_misses,
            "flops_per_step": self.flops_per_run(),
            "bytes_per_step": self.bytes_per_run(),
        });
        if let Some(gpu) = &self.gpu {
            object["submits_per_step"] = json!(gpu.submits as f64 / self.runs);
            object["new_pipelines"] = json!(gpu.pipelines);
            object["new_buffers"] = json!(gpu.buffers);
            object["new_bind_groups"] = json!(gpu.bind_groups);
        }
        object
    }
}
