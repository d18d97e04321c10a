//! Adapters: what there is, which one a configuration takes, and what to say when none fits.

use super::matrix_units::MatrixUnits;
use crate::error::{Error, Result};
use crate::ir::{GpuSize, Precision};
use crate::memory::MemoryStrategy;
use std::fmt;

/// How a GPU device is chosen and run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GpuConfig {
    /// Takes the adapter with this index of [`enumerate_adapters`], software ones included.
    pub adapter_index: Option<usize>,
    /// Which kind of GPU comes first when there are several.
    pub power_preference: PowerPreference,
    /// Takes a software adapter (llvmpipe, SwiftShader) when there is no GPU.
    pub allow_software: bool,
    /// Labels every dispatch for graphics debuggers, and turns on the driver's validation layers.
    pub debug: bool,
    /// The largest buffer to create, in bytes, where it should be smaller than the device's own limit.
    pub max_buffer_size: Option<u64>,
    /// The most bytes that all buffers together may take, those kept for reuse included: above it an allocation is an
    /// error that names the sizes. In a browser the device itself tells too late, and is lost to its user then.
    pub memory_limit: Option<u64>,
    /// What becomes of buffers that nothing needs any more.
    pub memory_strategy: MemoryStrategy,
    /// Threads in a workgroup of an elementwise kernel; clamped to the device's limits.
    pub workgroup_size: u32,
    /// Takes kernels without barriers where there are such. Browsers' software adapters (SwiftShader) run them many
    /// times faster.
    pub avoid_barriers: bool,
    /// Keeps compiled pipelines, so that the same source is compiled once.
    pub pipeline_cache: bool,
    /// Where they are kept from one process to the next.
    #[cfg(not(target_arch = "wasm32"))]
    pub pipeline_store: super::PipelineStore,
    /// Which kernels get pipelines with their sizes in them, beside those that hold for all sizes.
    pub specialise: Specialise,
    /// Products and convolutions begin with a short kernel that serves all sizes: it is compiled in a fraction of the time,
    /// and gives way to those with their sizes in them when a plan is hot ([`Specialise::WhenHot`]). The default in browsers,
    /// where compiling takes longest and the library can keep nothing of it; not with `avoid_barriers`.
    pub compact: bool,
    /// Whether reductions use subgroups.
    pub subgroups: Subgroups,
    /// How large the GPU is; if it is not said, what the adapter says it is made of tells it. Browsers do not tell the library,
    /// but the npm package asks.
    pub gpu_size: Option<GpuSize>,
    /// Whether products and convolutions run on matrix units.
    pub matrix_units: MatrixUnits,
    /// How precise those of f32 must be, unless a scope ([`matmul_precision`](crate::matmul_precision)) says otherwise; if it is
    /// not said here, as the process says ([`set_float32_matmul_precision`](crate::set_float32_matmul_precision)).
    pub precision: Option<Precision>,
}

/// Whether the threads of a workgroup that reduce together look at each other's registers, subgroup by subgroup, where the
/// device has such instructions. Sums are then added up in another order, so their last bits differ.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Subgroups {
    /// Where all subgroups of an adapter have one size, so that a sum has one order in all kernels; unless the environment
    /// variable `FLAMBEAU_SUBGROUPS` says `never` or `always`.
    #[default]
    Auto,
    /// Never.
    Never,
    /// Wherever there are subgroups, of whatever sizes.
    Always,
}

impl Subgroups {
    /// What `Auto` means on an adapter whose subgroups have one size, or not, and `Always` on one without subgroups.
    pub(super) fn resolved(self, available: bool, one_size: bool) -> Subgroups {
        let asked = match (self, std::env::var("FLAMBEAU_SUBGROUPS").as_deref()) {
            (Subgroups::Auto, Ok("never")) => Subgroups::Never,
            (Subgroups::Auto, Ok("always")) => Subgroups::Always,
            (Subgroups::Auto, _) if !one_size => Subgroups::Never,
            (asked, _) => asked,
        };
        if available && asked != Subgroups::Never { Subgroups::Always } else { Subgroups::Never }
    }
}

/// When kernels that gain from it are compiled for their sizes. Products, convolutions and large reductions are a few to 40 percent
/// faster then; but each of them takes the driver some tenths of a second.
///
/// Both forms do the same arithmetic in the same order. A driver may still contract a multiplication and an addition in one of
/// the two and not in the other: with `WhenHot` the last bits of a result can then depend on when the second form was ready.
/// `Never` and `AtOnce` rule that out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Specialise {
    /// `WhenHot` on GPUs and in browsers, `Never` on other adapters that play a GPU, unless the environment variable
    /// `FLAMBEAU_SPECIALISE` says `never`, `hot` or `at-once`.
    #[default]
    Auto,
    /// Every size runs at once on the kernels for all sizes. When a plan has run some times, those for its sizes are compiled
    /// on other threads and take over between two runs: no run waits for them. A browser compiles beside the page's thread:
    /// there each run asks for one, until there are no more.
    WhenHot,
    /// The kernels for all sizes only.
    Never,
    /// A new size waits for its own kernels.
    AtOnce,
}

impl Specialise {
    /// What `Auto` means on an adapter.
    pub(super) fn resolved(self, software: bool) -> Specialise {
        match (self, std::env::var("FLAMBEAU_SPECIALISE").as_deref()) {
            (Specialise::Auto, Ok("never")) => Specialise::Never,
            (Specialise::Auto, Ok("hot")) => Specialise::WhenHot,
            (Specialise::Auto, Ok("at-once")) => Specialise::AtOnce,
            (Specialise::Auto, _) if software && !cfg!(target_arch = "wasm32") => Specialise::Never,
            (Specialise::Auto, _) => Specialise::WhenHot,
            (asked, _) => asked,
        }
    }
}

impl Default for GpuConfig {
    fn default() -> Self {
        GpuConfig {
            adapter_index: None,
            power_preference: PowerPreference::HighPerformance,
            allow_software: false,
            debug: false,
            max_buffer_size: None,
            memory_limit: None,
            memory_strategy: MemoryStrategy::default(),
            workgroup_size: 256,
            avoid_barriers: false,
            pipeline_cache: true,
            #[cfg(not(target_arch = "wasm32"))]
            pipeline_store: super::PipelineStore::default(),
            specialise: Specialise::default(),
            compact: cfg!(target_arch = "wasm32"),
            subgroups: Subgroups::default(),
            gpu_size: None,
            matrix_units: MatrixUnits::default(),
            precision: None,
        }
    }
}

/// Which kind of GPU comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum PowerPreference {
    /// Discrete before integrated.
    #[default]
    HighPerformance,
    /// Integrated before discrete.
    LowPower,
}

/// What an adapter is made of. Browsers do not tell: there every GPU is `Other`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum AdapterKind {
    /// A GPU with memory of its own.
    Discrete,
    /// A GPU that shares the memory of the CPU.
    Integrated,
    /// A GPU shared by virtual machines.
    Virtual,
    /// Unknown.
    Other,
    /// A CPU that plays a GPU.
    Software,
}

impl AdapterKind {
    /// How large such an adapter is, as a rule.
    pub(super) fn size(self) -> GpuSize {
        match self {
            AdapterKind::Discrete | AdapterKind::Virtual | AdapterKind::Other => GpuSize::Large,
            AdapterKind::Integrated | AdapterKind::Software => GpuSize::Small,
        }
    }
}

impl fmt::Display for AdapterKind {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str(match self {
            AdapterKind::Discrete => "discrete GPU",
            AdapterKind::Integrated => "integrated GPU",
            AdapterKind::Virtual => "virtual GPU",
            AdapterKind::Other => "GPU",
            AdapterKind::Software => "software",
        })
    }
}

/// What is known of an adapter.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AdapterDescription {
    /// Its place in [`enumerate_adapters`]; 0 for an adopted device.
    pub index: usize,
    /// The model. Browsers may leave it empty.
    pub name: String,
    /// The vendor's number, mostly its PCI one; 0 in browsers.
    pub vendor: u32,
    /// The model's number, mostly its PCI one; 0 in browsers.
    pub device: u32,
    /// The API under wgpu: `vulkan`, `metal`, `dx12` or `webgpu`.
    pub backend: String,
    /// What it is made of.
    pub device_type: AdapterKind,
    /// The driver.
    pub driver: String,
    /// The driver's version.
    pub driver_info: String,
    /// Is it a CPU that plays a GPU?
    pub software: bool,
    /// The threads of its smallest and of its largest subgroups; what the API allows where the adapter does not tell.
    pub subgroup_sizes: [u32; 2],
}

impl AdapterDescription {
    pub(super) fn new(index: usize, info: wgpu::AdapterInfo) -> Self {
        // Not every driver and browser marks its software adapter as one.
        let named_software =
            ["llvmpipe", "swiftshader"].iter().any(|name| info.name.to_ascii_lowercase().contains(name));
        let device_type = match info.device_type {
            _ if named_software => AdapterKind::Software,
            wgpu::DeviceType::DiscreteGpu => AdapterKind::Discrete,
            wgpu::DeviceType::IntegratedGpu => AdapterKind::Integrated,
            wgpu::DeviceType::VirtualGpu => AdapterKind::Virtual,
            wgpu::DeviceType::Other => AdapterKind::Other,
            wgpu::DeviceType::Cpu => AdapterKind::Software,
        };
        AdapterDescription {
            index,
            name: info.name,
            vendor: info.vendor,
            device: info.device,
            backend: info.backend.to_string(),
            device_type,
            driver: info.driver,
            driver_info: info.driver_info,
            software: device_type == AdapterKind::Software,
            subgroup_sizes: [info.subgroup_min_size, info.subgroup_max_size],
        }
    }

    /// The lower, the sooner it is taken.
    fn rank(&self, preference: PowerPreference) -> u32 {
        match (self.device_type, preference) {
            (AdapterKind::Discrete, PowerPreference::HighPerformance) => 0,
            (AdapterKind::Integrated, PowerPreference::LowPower) => 0,
            (AdapterKind::Discrete | AdapterKind::Integrated, _) => 1,
            (AdapterKind::Virtual, _) => 2,
            (AdapterKind::Other, _) => 3,
            (AdapterKind::Software, _) => 4,
        }
    }
}

impl fmt::Display for AdapterDescription {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = if self.name.is_empty() { "unnamed adapter" } else { &self.name };
        write!(formatter, "{name} ({}, {}", self.device_type, self.backend)?;
        if !self.driver.is_empty() {
            write!(formatter, ", {} {}", self.driver, self.driver_info)?;
        }
        formatter.write_str(")")
    }
}

/// The adapters of this machine, software ones included; in a browser, the one it offers.
pub async fn enumerate_adapters() -> Vec<AdapterDescription> {
    let adapters = find(&GpuConfig::default()).await;
    adapters.into_iter().map(|(_, description)| description).collect()
}

/// What shaders and measurements use where it is there. wgpu's web backend has no subgroups.
pub(super) fn wanted_features() -> wgpu::Features {
    let everywhere = wgpu::Features::SHADER_F16 | wgpu::Features::TIMESTAMP_QUERY;
    let native = wgpu::Features::SUBGROUP | wgpu::Features::PIPELINE_CACHE;
    if cfg!(target_arch = "wasm32") { everywhere } else { everywhere | native }
}

/// The adapter that `config` asks for.
pub(super) async fn select(config: &GpuConfig) -> Result<(wgpu::Adapter, AdapterDescription)> {
    let adapters = find(config).await;
    let seen: Vec<AdapterDescription> = adapters.iter().map(|(_, description)| description.clone()).collect();
    let wanted = |description: &AdapterDescription| match config.adapter_index {
        Some(index) => description.index == index,
        None => config.allow_software || !description.software,
    };
    adapters
        .into_iter()
        .filter(|(_, description)| wanted(description))
        .min_by_key(|(_, description)| description.rank(config.power_preference))
        .ok_or_else(|| Error::NoAdapter(explain_absence(config, &seen)))
}

async fn find(config: &GpuConfig) -> Vec<(wgpu::Adapter, AdapterDescription)> {
    let flags =
        if config.debug { wgpu::InstanceFlags::debugging() } else { wgpu::InstanceFlags::DISCARD_HAL_LABELS };
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor {
        flags,
        ..wgpu::InstanceDescriptor::new_without_display_handle()
    });
    let adapters = list(&instance, config.power_preference).await.into_iter().enumerate();
    adapters
        .map(|(index, adapter)| {
            let description = AdapterDescription::new(index, adapter.get_info());
            (adapter, description)
        })
        .collect()
}

#[cfg(not(target_arch = "wasm32"))]
async fn list(instance: &wgpu::Instance, _: PowerPreference) -> Vec<wgpu::Adapter> {
    instance.enumerate_adapters(wgpu::Backends::all()).await
}

#[cfg(target_arch = "wasm32")]
async fn list(instance: &wgpu::Instance, preference: PowerPreference) -> Vec<wgpu::Adapter> {
    let power_preference = match preference {
        PowerPreference::HighPerformance => wgpu::PowerPreference::HighPerformance,
        PowerPreference::LowPower => wgpu::PowerPreference::LowPower,
    };
    let options = wgpu::RequestAdapterOptions { power_preference, ..Default::default() };
    instance.request_adapter(&options).await.into_iter().collect()
}

fn explain_absence(config: &GpuConfig, seen: &[AdapterDescription]) -> String {
    let mut message = match config.adapter_index {
        Some(index) => format!("there is no adapter {index}"),
        None => "there is no GPU".to_string(),
    };
    if seen.is_empty() {
        message.push_str("; no adapter was seen at all");
    } else {
        message.push_str("; adapters seen:");
        for adapter in seen {
            message.push_str(&format!("\n  {}: {adapter}", adapter.index));
        }
        message.push('\n');
    }
    if config.adapter_index.is_none() && seen.iter().any(|adapter| adapter.software) {
        message.push_str("a software adapter is taken only with `allow_software` or by its index");
    }
    message.push_str(if cfg!(target_arch = "wasm32") {
        "; a browser with WebGPU on a secure page (https or localhost) is needed: see chrome://gpu or \
         about:support; or take the CPU device"
    } else {
        "; a GPU with a Vulkan, Metal or DirectX 12 driver is needed (on Linux `vulkaninfo --summary` lists \
         what the drivers offer); or set FLAMBEAU_DEVICE=cpu to run on the CPU"
    });
    message
}
