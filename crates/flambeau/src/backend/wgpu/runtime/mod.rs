//! The wgpu runtime: a device, its memory, its pipelines and its queue.
//!
//! It knows nothing of tensors, plans or ops. What it promises:
//! - one [`Runtime::submit`] is one compute pass, and small ones that wait together are one `queue.submit`;
//! - a steady loop creates no buffer, bind group or pipeline ([`GpuStats`] shows it);
//! - every byte is in the ledger ([`MemoryStats`]);
//! - no wgpu error panics, and after a device error (lost device, memory exhausted outside an allocation,
//!   validation) every call gives that error: bytes computed after it are never handed out.
//!
//! What differs between native and web is in three places: finding adapters (`adapter`), catching
//! errors (`device_error`) and waiting (`wait`).

mod adapter;
mod bind_group;
mod buffer_pool;
mod device_error;
#[cfg(not(target_arch = "wasm32"))]
pub(super) mod ending;
mod matrix_units;
mod outbox;
mod pipeline;
mod queue;
mod readback;
mod stats;
#[cfg(not(target_arch = "wasm32"))]
mod store;
mod trace;
mod wait;

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests;

pub use adapter::{
    AdapterDescription, AdapterKind, GpuConfig, PowerPreference, Specialise, Subgroups, enumerate_adapters,
};
pub(crate) use buffer_pool::GpuBuffer;
pub use matrix_units::MatrixUnits;
#[cfg(target_arch = "wasm32")]
pub(crate) use pipeline::Arriving;
pub(crate) use pipeline::{Binding, Pipeline, PipelineKey, Request, ShaderText};
pub(crate) use queue::{Dispatch, Uniforms, When};
pub use stats::GpuStats;
#[cfg(not(target_arch = "wasm32"))]
pub use store::PipelineStore;
pub use trace::{KernelTiming, KernelWork};

use crate::error::{Error, Result};
use crate::ir::UnitKind;
use crate::memory::{Ledger, MemoryStats, MemoryStrategy};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Storage buffers that a kernel may bind: WebGPU's guaranteed minimum, which the kernels count on.
const REQUIRED_STORAGE_BUFFERS: u32 = 8;

/// Says that a type is `Send` and `Sync`, given all its fields. The compiler would find that out by itself, but through all of
/// wgpu's types, whenever it asks whether somebody's model is `Send`; and it would give up where that model has a few layers
/// of its own.
macro_rules! shared_by_threads {
    ($type:ident { $($(#[$meta:meta])* $field:ident),* $(,)? }) => {
        // SAFETY: every field is `Send` and `Sync`, or the function below would not compile.
        unsafe impl Send for $type {}
        // SAFETY: as above.
        unsafe impl Sync for $type {}

        const _: fn(&$type) = |all| {
            fn check<T: Send + Sync>(_: &T) {}
            let $type { $($(#[$meta])* $field),* } = all;
            $($(#[$meta])* check($field);)*
        };
    };
}
use shared_by_threads;

/// A wgpu device with its queue, memory pool and caches.
pub(crate) struct Runtime {
    device: wgpu::Device,
    queue: wgpu::Queue,
    description: AdapterDescription,
    limits: wgpu::Limits,
    config: GpuConfig,
    device_error: Arc<device_error::DeviceError>,
    ledger: Arc<Ledger>,
    counters: Arc<stats::Counters>,
    pool: buffer_pool::BufferPool,
    pipelines: pipeline::PipelineCache,
    #[cfg(not(target_arch = "wasm32"))]
    store: Option<store::Store>,
    bind_groups: Mutex<bind_group::BindGroupCache>,
    outbox: Arc<outbox::Outbox>,
    /// Started when work is first handed over.
    #[cfg(not(target_arch = "wasm32"))]
    submitter: std::sync::OnceLock<Option<outbox::Submitter>>,
    tracer: trace::Tracer,
    matrix_units: matrix_units::Found,
}

shared_by_threads!(Runtime {
    device,
    queue,
    description,
    limits,
    config,
    device_error,
    ledger,
    counters,
    pool,
    pipelines,
    #[cfg(not(target_arch = "wasm32"))]
    store,
    bind_groups,
    outbox,
    #[cfg(not(target_arch = "wasm32"))]
    submitter,
    tracer,
    matrix_units,
});

impl Runtime {
    /// Opens the adapter that `config` asks for, with the adapter's own limits.
    ///
    /// Discrete adapters come first, then integrated, virtual and other ones (`LowPower` swaps the first
    /// two); a software adapter is taken only when `config` allows it or names its index.
    pub async fn new(config: &GpuConfig) -> Result<Arc<Runtime>> {
        let (adapter, description) = adapter::select(config).await?;
        let of_units = matrix_units::features(&adapter, &description, config);
        // SAFETY: what is experimental is asked for only where `matrix_units` has found that it can be relied on.
        let experimental = || unsafe { wgpu::ExperimentalFeatures::enabled() };
        let (device, queue) = adapter
            .request_device(&wgpu::DeviceDescriptor {
                label: Some("flambeau"),
                required_features: (adapter.features() & adapter::wanted_features()) | of_units,
                required_limits: adapter.limits(),
                experimental_features: match of_units.is_empty() {
                    true => Default::default(),
                    false => experimental(),
                },
                ..Default::default()
            })
            .await
            .map_err(|error| Error::NoAdapter(format!("{description} refused a device: {error}")))?;
        Self::assemble(device, queue, description, config)
    }

    /// Runs on a device that already exists; `description` is asked from the device when it is `None`.
    ///
    /// The device's uncaptured-error and device-lost callbacks become the runtime's.
    pub fn adopt(
        device: wgpu::Device,
        queue: wgpu::Queue,
        description: Option<wgpu::AdapterInfo>,
        config: &GpuConfig,
    ) -> Result<Arc<Runtime>> {
        let info = description.unwrap_or_else(|| device.adapter_info());
        Self::assemble(device, queue, AdapterDescription::new(0, info), config)
    }

    fn assemble(
        device: wgpu::Device,
        queue: wgpu::Queue,
        description: AdapterDescription,
        config: &GpuConfig,
    ) -> Result<Arc<Runtime>> {
        let limits = device.limits();
        if limits.max_storage_buffers_per_shader_stage < REQUIRED_STORAGE_BUFFERS {
            return Err(Error::Unsupported {
                device: description.to_string(),
                message: format!(
                    "kernels need maxStorageBuffersPerShaderStage = {REQUIRED_STORAGE_BUFFERS}, it has {}",
                    limits.max_storage_buffers_per_shader_stage
                ),
            });
        }
        let largest_group =
            limits.max_compute_invocations_per_workgroup.min(limits.max_compute_workgroup_size_x);
        let config = GpuConfig {
            workgroup_size: config.workgroup_size.clamp(1, largest_group),
            specialise: config.specialise.resolved(description.software),
            subgroups: config.subgroups.resolved(
                device.features().contains(wgpu::Features::SUBGROUP),
                description.subgroup_sizes[0] == description.subgroup_sizes[1],
            ),
            gpu_size: Some(config.gpu_size.unwrap_or_else(|| description.device_type.size())),
            matrix_units: config.matrix_units.resolved(),
            memory_strategy: config.memory_strategy.resolved(),
            ..config.clone()
        };
        // Name, kind, backend and driver are what a description shows.
        log::info!("opened {description}, vendor {:#06x}", description.vendor);
        let matrix_units = matrix_units::Found::on(&device, &config);
        let ledger = Arc::new(Ledger::default());
        let device_error = device_error::DeviceError::watch(&device, ledger.clone());
        let counters = Arc::new(stats::Counters::default());
        let outbox = outbox::Outbox::new(&device, &queue, &device_error, &counters);
        #[cfg(not(target_arch = "wasm32"))]
        let store = store::Store::open(&device, &description, &config.pipeline_store);
        Ok(Arc::new(Runtime {
            device,
            queue,
            description,
            limits,
            config,
            device_error,
            ledger,
            counters,
            pool: Default::default(),
            pipelines: Default::default(),
            #[cfg(not(target_arch = "wasm32"))]
            store,
            bind_groups: Default::default(),
            outbox,
            #[cfg(not(target_arch = "wasm32"))]
            submitter: Default::default(),
            tracer: Default::default(),
            matrix_units,
        }))
    }

    /// The adapter this runs on.
    pub fn description(&self) -> &AdapterDescription {
        &self.description
    }

    /// The device's limits.
    pub fn limits(&self) -> &wgpu::Limits {
        &self.limits
    }

    /// Can shaders `enable f16`?
    pub fn has_f16(&self) -> bool {
        self.device.features().contains(wgpu::Features::SHADER_F16)
    }

    /// Do reductions use subgroups?
    pub fn has_subgroups(&self) -> bool {
        self.config.subgroups == Subgroups::Always
    }

    /// How products run on matrix units, if they do.
    pub fn matrix_units(&self) -> Option<UnitKind> {
        self.matrix_units.kind(&self.device, &self.queue)
    }

    /// What is used of matrix units, or why nothing is.
    pub fn matrix_units_described(&self) -> String {
        self.matrix_units.described(&self.device, &self.queue)
    }

    /// The optional features in use, by WebGPU's names.
    pub fn feature_names(&self) -> Vec<&'static str> {
        let known = [
            (wgpu::Features::SHADER_F16, "shader-f16"),
            (wgpu::Features::TIMESTAMP_QUERY, "timestamp-query"),
            (wgpu::Features::SUBGROUP, "subgroups"),
        ];
        let mut features = self.device.features();
        features.set(wgpu::Features::SUBGROUP, self.has_subgroups());
        known.into_iter().filter(|(flag, _)| features.contains(*flag)).map(|(_, name)| name).collect()
    }

    /// The configuration in force, with what was asked for clamped to the limits.
    pub fn config(&self) -> &GpuConfig {
        &self.config
    }

    /// The error that stopped this runtime, if there was one. It stays.
    pub fn error(&self) -> Option<Error> {
        self.device_error.get()
    }

    fn check(&self) -> Result<()> {
        self.device_error.check()
    }

    /// Destroys the device, as a driver reset would: every later call is `Err(DeviceLost)`.
    pub fn destroy(&self) {
        let turn = self.outbox.turn();
        self.device_error.set(Error::DeviceLost("destroy() was called".into()));
        self.device.destroy();
        drop(turn);
        self.run_callbacks();
    }

    /// How often the queue was called and what was created, since the start.
    pub fn stats(&self) -> GpuStats {
        drop(self.outbox.turn());
        self.counters.snapshot()
    }

    /// Counts a pipeline that was made for the sizes of a hot plan.
    pub fn count_specialised(&self) {
        self.counters.pipelines_specialised.add(1);
    }

    /// Are there pipelines that the next process would have to compile again?
    #[cfg(not(target_arch = "wasm32"))]
    pub fn has_unkept_pipelines(&self) -> bool {
        self.store.as_ref().is_some_and(|store| store.has_changed())
    }

    /// Keeps compiled pipelines for the next process.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn keep_pipelines(&self) {
        if let Some(store) = self.store.as_ref().filter(|_| self.error().is_none()) {
            store.save();
        }
    }

    /// What the buffers of this runtime take.
    pub fn memory(&self) -> MemoryStats {
        self.ledger.snapshot()
    }

    /// Lets the peak of the ledger start again from what is in use now.
    pub fn reset_peak_memory(&self) {
        self.ledger.reset_peak();
    }
}

/// Locks, whether or not another thread panicked while it held the lock: nothing guarded here is left
/// half-changed by a panic.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
