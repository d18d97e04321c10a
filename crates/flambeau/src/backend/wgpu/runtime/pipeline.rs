//! Compute pipelines from WGSL, and the cache that compiles each source once.

#[cfg(target_arch = "wasm32")]
mod arriving;

#[cfg(target_arch = "wasm32")]
pub(crate) use arriving::Arriving;

use super::{Runtime, device_error, lock};
use crate::error::{Error, Result};
use crate::ir::program::Trust;
use rustc_hash::{FxHashMap, FxHasher};
use std::hash::{Hash, Hasher};
#[cfg(not(target_arch = "wasm32"))]
use std::sync::PoisonError;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::atomic::AtomicUsize;
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

/// A shader's text, which is hashed once: texts are long, and looked up for every kernel of a new plan.
#[derive(Debug, Clone, Eq)]
pub(crate) struct ShaderText {
    text: Arc<str>,
    hash: u64,
}

impl ShaderText {
    pub fn text(&self) -> &Arc<str> {
        &self.text
    }
}

impl From<Arc<str>> for ShaderText {
    fn from(text: Arc<str>) -> Self {
        let mut hasher = FxHasher::default();
        text.hash(&mut hasher);
        ShaderText { text, hash: hasher.finish() }
    }
}

impl From<String> for ShaderText {
    fn from(text: String) -> Self {
        Arc::<str>::from(text).into()
    }
}

impl PartialEq for ShaderText {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.text, &other.text) || self.hash == other.hash && self.text == other.text
    }
}

impl Hash for ShaderText {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(self.hash);
    }
}

/// What a pipeline is made from. The text and what it binds say all: two kernels that agree in these share a pipeline.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct PipelineKey {
    pub source: ShaderText,
    pub entry: String,
    pub bindings: Vec<Binding>,
    pub trust: Trust,
}

/// A pipeline that is wanted, and the name that errors call it by.
#[derive(Debug, Clone)]
pub(crate) struct Request {
    pub key: PipelineKey,
    pub label: String,
}

/// Pipelines kept in memory; above this, those that no plan holds go, the least recently asked for first.
const MAX_PIPELINES: usize = 4096;

/// Asked how far compiling is: how many pipelines of how many are there.
pub(crate) type Progress = Arc<dyn Fn(usize, usize) + Send + Sync>;

#[derive(Default)]
pub(super) struct PipelineCache {
    known: Mutex<FxHashMap<PipelineKey, Known>>,
    numbered: AtomicU64,
    asked: AtomicU64,
    progress: Mutex<Option<Progress>>,
}

struct Known {
    pipeline: Arc<Pipeline>,
    last_asked: u64,
}

impl PipelineCache {
    fn find(&self, key: &PipelineKey) -> Option<Arc<Pipeline>> {
        let asked = self.asked.fetch_add(1, Ordering::Relaxed);
        lock(&self.known).get_mut(key).map(|known| {
            known.last_asked = asked;
            known.pipeline.clone()
        })
    }

    fn insert(&self, key: PipelineKey, pipeline: &Arc<Pipeline>) {
        let last_asked = self.asked.fetch_add(1, Ordering::Relaxed);
        let mut known = lock(&self.known);
        if known.len() >= MAX_PIPELINES {
            forget_some(&mut known);
        }
        known.insert(key, Known { pipeline: pipeline.clone(), last_asked });
    }
}

/// Forgets the half that was asked for least recently, as far as no plan holds it.
#[inline(never)] // A page fetches it when there are that many.
fn forget_some(known: &mut FxHashMap<PipelineKey, Known>) {
    let mut ages: Vec<u64> = known.values().map(|known| known.last_asked).collect();
    ages.sort_unstable();
    let oldest_kept = ages[ages.len() / 2];
    known.retain(|_, known| known.last_asked >= oldest_kept || Arc::strong_count(&known.pipeline) > 1);
}

impl Runtime {
    /// The WGSL of every pipeline in the cache.
    pub fn shader_sources(&self) -> Vec<String> {
        let mut sources: Vec<String> =
            lock(&self.pipelines.known).keys().map(|key| key.source.text().to_string()).collect();
        sources.sort_unstable();
        sources.dedup();
        sources
    }

    /// Calls this when a plan's pipelines are compiled, after each of them; from several threads, natively.
    pub fn on_compile(&self, progress: Option<Progress>) {
        *lock(&self.pipelines.progress) = progress;
    }

    /// The pipeline for a request.
    ///
    /// A source that does not compile is `Error::Shader` natively, and a device error in a browser.
    pub fn pipeline(&self, request: Request) -> Result<Arc<Pipeline>> {
        self.check()?;
        if let Some(found) = self.pipelines.find(&request.key) {
            self.counters.pipeline_hits.add(1);
            return Ok(found);
        }
        self.make(request)
    }

    /// The pipelines for several requests, in their order. A browser compiles beside the page's thread by itself, once it is
    /// asked: all are asked for before the first is used. (The npm package's `compiling.ts` sees to it that they are compiled
    /// side by side.)
    #[cfg(target_arch = "wasm32")]
    pub fn pipelines(&self, requests: Vec<Request>) -> Result<Vec<Arc<Pipeline>>> {
        requests.into_iter().map(|request| self.pipeline(request)).collect()
    }

    /// The pipelines for several requests, in their order. Those that are not there are compiled side by side, on all
    /// cores: a driver takes some tenths of a second for a large one.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn pipelines(&self, requests: Vec<Request>) -> Result<Vec<Arc<Pipeline>>> {
        self.check()?;
        let mut found: Vec<Option<Arc<Pipeline>>> =
            requests.iter().map(|request| self.pipelines.find(&request.key)).collect();
        let hits = found.iter().flatten().count();
        let mut missing: FxHashMap<&PipelineKey, &Request> = FxHashMap::default();
        for (request, _) in requests.iter().zip(&found).filter(|(_, found)| found.is_none()) {
            missing.entry(&request.key).or_insert(request);
        }
        let mut missing: Vec<&Request> = missing.into_values().collect();
        let shared = requests.len() - hits - missing.len();
        self.counters.pipeline_hits.add((hits + shared) as u64);
        if missing.is_empty() {
            return Ok(found.into_iter().flatten().collect());
        }
        // The longest first, so that no thread ends with one while the others wait; by text, so that runs are alike.
        missing.sort_unstable_by(|a, b| {
            let text = |request: &Request| request.key.source.text().clone();
            let (a, b) = (text(a), text(b));
            (b.len(), b).cmp(&(a.len(), a))
        });
        let made = self.make_all(&missing)?;
        for (request, found) in requests.iter().zip(&mut found).filter(|(_, found)| found.is_none()) {
            *found = made.get(&request.key).cloned();
        }
        Ok(found.into_iter().flatten().collect())
    }

    #[cfg(not(target_arch = "wasm32"))]
    fn make_all(&self, missing: &[&Request]) -> Result<FxHashMap<PipelineKey, Arc<Pipeline>>> {
        let threads = std::thread::available_parallelism().map_or(1, |count| count.get());
        let next = AtomicUsize::new(0);
        let (done, results) = (AtomicUsize::new(0), Mutex::new(Vec::with_capacity(missing.len())));
        let progress = lock(&self.pipelines.progress).clone();
        let work = || {
            while let Some(request) = missing.get(next.fetch_add(1, Ordering::Relaxed)) {
                let result = self.make((*request).clone());
                lock(&results).push((request.key.clone(), result));
                let done = done.fetch_add(1, Ordering::Relaxed) + 1;
                if let Some(progress) = &progress {
                    progress(done, missing.len());
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 1..threads.min(missing.len()) {
                scope.spawn(work);
            }
            work();
        });
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results.into_iter().map(|(key, result)| result.map(|pipeline| (key, pipeline))).collect()
    }

    /// Compiles, counts and keeps a pipeline.
    fn make(&self, request: Request) -> Result<Arc<Pipeline>> {
        let pipeline = Arc::new(self.compile(&request)?);
        self.counters.pipelines_created.add(1);
        self.note_made(&request.key);
        if self.config.pipeline_cache {
            self.pipelines.insert(request.key, &pipeline);
        }
        Ok(pipeline)
    }

    /// Counts the pipeline among those that an earlier process has kept, or remembers it for later ones.
    #[cfg(not(target_arch = "wasm32"))]
    fn note_made(&self, key: &PipelineKey) {
        if self.store.as_ref().is_some_and(|store| store.note(key)) {
            self.counters.pipelines_kept.add(1);
        }
    }

    #[cfg(target_arch = "wasm32")]
    fn note_made(&self, _: &PipelineKey) {}

    fn compile(&self, request: &Request) -> Result<Pipeline> {
        let Request { key, label } = request;
        let storage_bindings = key.bindings.iter().filter(|binding| **binding != Binding::Uniform).count();
        let uniforms = key.bindings.len() - storage_bindings;
        if uniforms > 1 || (uniforms == 1 && key.bindings.last() != Some(&Binding::Uniform)) {
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
        let created = device_error::catch(&self.device, kinds, || self.create_pipeline(label, key));
        self.check()?;
        let (layout, raw) = created.map_err(|error| Error::Shader {
            label: label.clone(),
            message: error.to_string(),
            source_text: key.source.text().to_string(),
        })?;
        let id = self.pipelines.numbered.fetch_add(1, Ordering::Relaxed);
        Ok(Pipeline { id, raw, layout, buffers: storage_bindings, has_uniform: uniforms == 1 })
    }

    fn create_pipeline(
        &self,
        label: &str,
        key: &PipelineKey,
    ) -> (wgpu::BindGroupLayout, wgpu::ComputePipeline) {
        let PipelineKey { source, entry, bindings, trust } = key;
        let label = Some(label);
        let source = wgpu::ShaderSource::Wgsl((&**source.text()).into());
        let shader = wgpu::ShaderModuleDescriptor { label, source };
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
            cache: self.kept_pipelines(),
        });
        (layout, pipeline)
    }
}

impl Runtime {
    #[cfg(not(target_arch = "wasm32"))]
    fn kept_pipelines(&self) -> Option<&wgpu::PipelineCache> {
        self.store.as_ref().map(|store| store.raw())
    }

    #[cfg(target_arch = "wasm32")]
    fn kept_pipelines(&self) -> Option<&wgpu::PipelineCache> {
        None
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
