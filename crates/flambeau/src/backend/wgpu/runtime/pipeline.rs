//! Compute pipelines from WGSL, and the cache that compiles each source once.

use super::{Runtime, fault, lock};
use crate::error::{Error, Result};
use crate::ir::program::Trust;
use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};

/// How a kernel uses one of its bindings. All are in group 0, in order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Binding {
    /// `var<storage, read>`.
    Read,
    /// `var<storage, read_write>`.
    ReadWrite,
    /// `var<uniform>`; at most one, and the last.
    Uniform,
}

/// A compiled kernel.
#[derive(Debug)]
pub(crate) struct Pipeline {
    id: u64,
    raw: wgpu::ComputePipeline,
    layout: wgpu::BindGroupLayout,
    buffers: usize,
    has_uniform: bool,
}

impl Pipeline {
    pub(super) fn id(&self) -> u64 {
        self.id
    }

    pub(super) fn raw(&self) -> &wgpu::ComputePipeline {
        &self.raw
    }

    pub(super) fn layout(&self) -> &wgpu::BindGroupLayout {
        &self.layout
    }

    /// How many storage buffers it binds.
    pub(super) fn buffers(&self) -> usize {
        self.buffers
    }

    pub(super) fn has_uniform(&self) -> bool {
        self.has_uniform
    }
}

#[derive(Default)]
pub(super) struct PipelineCache {
    by_source: Mutex<HashMap<String, Vec<Compiled>>>,
    pipelines_numbered: AtomicU64,
}

/// One way in which a source was compiled.
struct Compiled {
    entry: String,
    bindings: Vec<Binding>,
    trust: Trust,
    pipeline: Arc<Pipeline>,
}

impl Runtime {
    /// The WGSL of every pipeline in the cache.
    pub fn shader_sources(&self) -> Vec<String> {
        lock(&self.pipelines.by_source).keys().cloned().collect()
    }

    /// The pipeline for the function `entry` of the WGSL `source`.
    ///
    /// A source that does not compile is `Error::Shader` natively, and a fault in a browser.
    pub fn pipeline(
        &self,
        label: &str,
        source: &str,
        entry: &str,
        bindings: &[Binding],
        trust: Trust,
    ) -> Result<Arc<Pipeline>> {
        self.check()?;
        let same = |compiled: &&Compiled| {
            compiled.entry == entry && compiled.bindings == bindings && compiled.trust == trust
        };
        if let Some(found) =
            lock(&self.pipelines.by_source).get(source).and_then(|compiled| compiled.iter().find(same))
        {
            self.counters.pipeline_hits.add(1);
            return Ok(found.pipeline.clone());
        }
        let pipeline = Arc::new(self.compile(label, source, entry, bindings, trust)?);
        self.counters.pipelines_created.add(1);
        if self.config.pipeline_cache {
            let (entry, bindings) = (entry.to_string(), bindings.to_vec());
            let compiled = Compiled { entry, bindings, trust, pipeline: pipeline.clone() };
            lock(&self.pipelines.by_source).entry(source.to_string()).or_default().push(compiled);
        }
        Ok(pipeline)
    }

    fn compile(
        &self,
        label: &str,
        source: &str,
        entry: &str,
        bindings: &[Binding],
        trust: Trust,
    ) -> Result<Pipeline> {
        let storage_bindings = bindings.iter().filter(|binding| **binding != Binding::Uniform).count();
        let uniforms = bindings.len() - storage_bindings;
        if uniforms > 1 || (uniforms == 1 && bindings.last() != Some(&Binding::Uniform)) {
            return Err(Error::Gpu(format!("{label}: a kernel has at most one uniform binding, the last")));
        }
        let limit = self.limits.max_storage_buffers_per_shader_stage;
        if storage_bindings > limit as usize {
            return Err(Error::Limit {
                what: format!("the number of buffers of kernel {label}"),
                requested: storage_bindings as u64,
                limit_name: "maxStorageBuffersPerShaderStage",
                limit: limit.into(),
            });
        }
        let kinds = [wgpu::ErrorFilter::Internal, wgpu::ErrorFilter::Validation];
        let created =
            fault::catch(&self.device, kinds, || self.create_pipeline(label, source, entry, bindings, trust));
        self.check()?;
        let (layout, raw) = created.map_err(|error| Error::Shader {
            label: label.into(),
            message: error.to_string(),
            source_text: source.into(),
        })?;
        let id = self.pipelines.pipelines_numbered.fetch_add(1, Ordering::Relaxed);
        Ok(Pipeline { id, raw, layout, buffers: storage_bindings, has_uniform: uniforms == 1 })
    }

    fn create_pipeline(
        &self,
        label: &str,
        source: &str,
        entry: &str,
        bindings: &[Binding],
        trust: Trust,
    ) -> (wgpu::BindGroupLayout, wgpu::ComputePipeline) {
        let label = Some(label);
        let shader = wgpu::ShaderModuleDescriptor { label, source: wgpu::ShaderSource::Wgsl(source.into()) };
        let module = if trust.is_unchecked() {
            // SAFETY: whoever made this `Trust` has vouched for the kernel.
            unsafe {
                self.device.create_shader_module_trusted(shader, wgpu::ShaderRuntimeChecks::unchecked())
            }
        } else {
            self.device.create_shader_module(shader)
        };
        let entries: Vec<_> =
            bindings.iter().zip(0..).map(|(binding, index)| layout_entry(*binding, index)).collect();
        let layout = self
            .device
            .create_bind_group_layout(&wgpu::BindGroupLayoutDescriptor { label, entries: &entries });
        let pipeline_layout = self.device.create_pipeline_layout(&wgpu::PipelineLayoutDescriptor {
            label,
            bind_group_layouts: &[Some(&layout)],
            immediate_size: 0,
        });
        let pipeline = self.device.create_compute_pipeline(&wgpu::ComputePipelineDescriptor {
            label,
            layout: Some(&pipeline_layout),
            module: &module,
            entry_point: Some(entry),
            compilation_options: wgpu::PipelineCompilationOptions {
                constants: &[],
                zero_initialize_workgroup_memory: !trust.is_unchecked(),
            },
            cache: None,
        });
        (layout, pipeline)
    }
}

fn layout_entry(binding: Binding, index: u32) -> wgpu::BindGroupLayoutEntry {
    let ty = match binding {
        Binding::Read => wgpu::BufferBindingType::Storage { read_only: true },
        Binding::ReadWrite => wgpu::BufferBindingType::Storage { read_only: false },
        Binding::Uniform => wgpu::BufferBindingType::Uniform,
    };
    wgpu::BindGroupLayoutEntry {
        binding: index,
        visibility: wgpu::ShaderStages::COMPUTE,
        ty: wgpu::BindingType::Buffer { ty, has_dynamic_offset: false, min_binding_size: None },
        count: None,
    }
}
