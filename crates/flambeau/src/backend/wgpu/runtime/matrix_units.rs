//! Matrix units: whether a device has some that can be relied on.
//!
//! They are an experimental feature of wgpu, and the SPIR-V that it writes for them leaves out flags that the memory model asks for
//! (gfx-rs/wgpu issue 8805). So three things must hold: the adapter lists what the kernels use, its driver is on the list of
//! those that were tried, and a product of whole numbers comes out exactly. That one is made when matrix units are first needed: what
//! needs none does not wait for it.

use super::adapter::{AdapterDescription, GpuConfig};
use crate::ir::UnitKind;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::OnceLock;

/// Whether products and convolutions run on matrix units: tensor cores and their like.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum MatrixUnits {
    /// What the environment variable `FLAMBEAU_MATRIX_UNITS` says: `never`, `auto`, `always` or `played`; without it, `auto`.
    #[default]
    AsAsked,
    /// Where they can be relied on and should be faster.
    Auto,
    /// Where they can be relied on, faster or not: for tests.
    Always,
    /// Never.
    Never,
    /// The same kernels with threads that play matrix units, slowly: for tests on adapters without.
    Played,
}

impl MatrixUnits {
    /// With what the environment says.
    pub(super) fn resolved(self) -> MatrixUnits {
        match (self, std::env::var("FLAMBEAU_MATRIX_UNITS").as_deref()) {
            (MatrixUnits::AsAsked, Ok("never")) => MatrixUnits::Never,
            (MatrixUnits::AsAsked, Ok("always")) => MatrixUnits::Always,
            (MatrixUnits::AsAsked, Ok("played")) => MatrixUnits::Played,
            (MatrixUnits::AsAsked, _) => MatrixUnits::Auto,
            (asked, _) => asked,
        }
    }
}

/// What is known of a device's matrix units.
pub(super) struct Found {
    kind: Option<UnitKind>,
    /// Why there are none, if there are none.
    why_not: String,
    /// What the check has shown, once it was made.
    #[cfg(not(target_arch = "wasm32"))]
    is_exact: OnceLock<bool>,
}

impl Found {
    /// None, for a reason.
    fn none(why_not: &str) -> Found {
        Found {
            kind: None,
            why_not: why_not.into(),
            #[cfg(not(target_arch = "wasm32"))]
            is_exact: OnceLock::new(),
        }
    }

    /// Those of a device.
    pub fn on(device: &wgpu::Device, config: &GpuConfig) -> Found {
        if cfg!(target_arch = "wasm32") {
            return Found::none("browsers have none");
        }
        let has_f16 = device.features().contains(wgpu::Features::SHADER_F16);
        match config.matrix_units {
            MatrixUnits::Never | MatrixUnits::AsAsked => Found::none("they are turned off"),
            _ if config.avoid_barriers => Found::none("kernels with barriers are avoided"),
            MatrixUnits::Played if has_f16 => Found { kind: Some(UnitKind::Played), ..Found::none("") },
            MatrixUnits::Played => Found::none("playing them needs shader-f16"),
            MatrixUnits::Auto => Found::cooperative(device, false),
            MatrixUnits::Always => Found::cooperative(device, true),
        }
    }

    /// Those that are in use. The first who asks makes the check.
    #[cfg_attr(target_arch = "wasm32", allow(unused_variables))]
    pub fn kind(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> Option<UnitKind> {
        #[cfg(not(target_arch = "wasm32"))]
        if matches!(self.kind, Some(UnitKind::Cooperative { .. }))
            && !*self.is_exact.get_or_init(|| check::is_exact(device, queue))
        {
            return None;
        }
        self.kind
    }

    /// In words.
    pub fn described(&self, device: &wgpu::Device, queue: &wgpu::Queue) -> String {
        match (self.kind(device, queue), self.kind) {
            (Some(UnitKind::Cooperative { .. }), _) => {
                "cooperative matrices of 16 × 16, f16 with f32 sums".into()
            }
            (Some(UnitKind::Played), _) => "played by threads".into(),
            (None, Some(_)) => "not used: a product of whole numbers was wrong".into(),
            (None, None) => format!("not used: {}", self.why_not),
        }
    }

    fn cooperative(device: &wgpu::Device, always: bool) -> Found {
        match device.features().contains(wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX) {
            true => Found { kind: Some(UnitKind::Cooperative { always }), ..Found::none("") },
            false => Found::none("the adapter has none, or its driver has not been tried"),
        }
    }
}

/// The features that matrix units need of an adapter, if it and its driver are among those that were tried.
#[cfg(not(target_arch = "wasm32"))]
pub(super) fn features(
    adapter: &wgpu::Adapter,
    description: &AdapterDescription,
    config: &GpuConfig,
) -> wgpu::Features {
    const NVIDIA: u32 = 0x10de;
    let was_tried =
        description.vendor == NVIDIA && description.backend == "vulkan" && description.driver == "NVIDIA";
    let is_listed = || {
        adapter.cooperative_matrix_properties().iter().any(|listed| {
            [listed.m_size, listed.n_size, listed.k_size] == [16; 3]
                && listed.ab_type == wgpu::CooperativeScalarType::F16
                && listed.cr_type == wgpu::CooperativeScalarType::F32
        })
    };
    let needed = wgpu::Features::EXPERIMENTAL_COOPERATIVE_MATRIX
        | wgpu::Features::SUBGROUP
        | wgpu::Features::SHADER_F16;
    let fits = matches!(config.matrix_units.resolved(), MatrixUnits::Auto | MatrixUnits::Always)
        && was_tried
        && description.subgroup_sizes == [32; 2]
        && adapter.features().contains(needed);
    if fits && is_listed() { needed } else { wgpu::Features::empty() }
}

#[cfg(target_arch = "wasm32")]
pub(super) fn features(_: &wgpu::Adapter, _: &AdapterDescription, _: &GpuConfig) -> wgpu::Features {
    wgpu::Features::empty()
}

#[cfg(not(target_arch = "wasm32"))]
mod check {
    use wgpu::util::DeviceExt;

    /// Four subgroups, each of which multiplies 16 × 16 whole numbers that went through workgroup memory.
    const SHADER: &str = "
enable f16;
enable wgpu_cooperative_matrix;
@group(0) @binding(0) var<storage, read_write> numbers: array<f32, 1024>;
var<workgroup> lines: array<vec4<f16>, 256>;
@compute @workgroup_size(128)
fn main(@builtin(local_invocation_index) thread: u32, @builtin(subgroup_id) subgroup: u32) {
    for (var i = thread; i < 256u; i += 128u) {
        lines[i] = vec4<f16>(vec4<f32>(numbers[4u * i], numbers[4u * i + 1u], numbers[4u * i + 2u], numbers[4u * i + 3u]));
    }
    workgroupBarrier();
    let a = coopLoadT<coop_mat16x16<f16, A>>(&lines[subgroup * 64u], 4u);
    let b = coopLoad<coop_mat16x16<f16, B>>(&lines[(subgroup + 1u) % 4u * 64u], 4u);
    var c = coopMultiplyAdd(a, b, coop_mat16x16<f32, C>());
    c = c + coopMultiplyAdd(a, b, c);
    coopStoreT(c, &numbers[subgroup * 256u], 16u);
}
";

    /// Is a product of whole numbers what it must be? C = A·Bᵀ + (A·Bᵀ + A·Bᵀ), A and B being neighbouring blocks of the numbers.
    pub fn is_exact(device: &wgpu::Device, queue: &wgpu::Queue) -> bool {
        let numbers: Vec<f32> = (0..1024u32).map(|i| (i * 7919 % 61) as f32 - 30.0).collect();
        let expected: Vec<f32> = (0..1024)
            .map(|i| {
                let (block, row, column) = (i / 256, i / 16 % 16, i % 16);
                let a = &numbers[block * 256 + row * 16..][..16];
                let b = &numbers[(block + 1) % 4 * 256 + column * 16..][..16];
                3.0 * a.iter().zip(b).map(|(a, b)| a * b).sum::<f32>()
            })
            .collect();
        product(device, queue, &numbers).is_some_and(|product| product == expected)
    }

    fn product(device: &wgpu::Device, queue: &wgpu::Queue, numbers: &[f32]) -> Option<Vec<f32>> {
        let scope = device.push_error_scope(wgpu::ErrorFilter::Validation);
        let label = Some("flambeau matrix units");
        let module = device.create_shader_module(wgpu::ShaderModuleDescriptor {
            label,
            source: wgpu::ShaderSource::Wgsl(SHADER.into()),
        });
        let pipeline = device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: None,
            module: &module,
            entry_point: Some("main"),
            compilation_options: Default::default(),
            cache: None,
        });
        let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC;
        let contents = bytemuck::cast_slice(numbers);
        let buffer = device.create_buffer_init(&wgpu::util::BufferInitDescriptor { label, contents, usage });
        let staging = device.create_buffer(&wgpu::BufferDescriptor {
            label,
            size: buffer.size(),
            usage: wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        let bound = device.create_bind_group(&wgpu::BindGroupDescriptor {
            label,
            layout: &pipeline.get_bind_group_layout(0),
            entries: &[wgpu::BindGroupEntry { binding: 0, resource: buffer.as_entire_binding() }],
        });
        let mut encoder = device.create_command_encoder(&wgpu::CommandEncoderDescriptor { label });
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(&pipeline);
        pass.set_bind_group(0, &bound, &[]);
        pass.dispatch_workgroups(1, 1, 1);
        drop(pass);
        encoder.copy_buffer_to_buffer(&buffer, 0, &staging, 0, buffer.size());
        let submission = queue.submit([encoder.finish()]);
        if pollster::block_on(scope.pop()).is_some() {
            return None;
        }
        staging.slice(..).map_async(wgpu::MapMode::Read, |_| ());
        device.poll(wgpu::PollType::Wait { submission_index: Some(submission), timeout: None }).ok()?;
        let bytes = staging.slice(..).get_mapped_range().ok()?;
        Some(bytemuck::pod_collect_to_vec(&bytes))
    }
}
