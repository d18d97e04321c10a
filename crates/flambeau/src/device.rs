//! Devices: where tensors live and plans run.
//!
//! A device is chosen once, says what it is, and runs everything it is given; nothing falls back to another device
//! silently.

use crate::backend::Backend;
use crate::backend::cpu::Cpu;
use crate::dtype::DType;
use crate::engine::Engine;
use crate::error::{Error, Result, expect};
use crate::ir::Precision;
use crate::memory::{MemoryStats, MemoryStrategy};
use crate::tensor::precision;
use std::fmt;
use std::sync::{Arc, Mutex, OnceLock, PoisonError, Weak};

#[cfg(feature = "gpu")]
use crate::{
    backend::Buffer,
    backend::wgpu::Gpu,
    backend::wgpu::runtime::{AdapterDescription, GpuConfig, GpuStats, KernelTiming, Runtime},
    op::Meta,
    shader::storage_bytes,
    shape::Shape,
    tensor::Tensor,
    tensor::node::Storage,
};

/// The environment variable that overrides the choice of [`Device::best`].
const CHOICE: &str = "FLAMBEAU_DEVICE";

/// How a CPU device of one's own is run, see [`Device::cpu_with`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct CpuConfig {
    /// The most bytes that all buffers together may take, those kept for reuse included: above it an allocation is an error
    /// that names the sizes.
    pub memory_limit: Option<u64>,
    /// What becomes of buffers that nothing needs any more.
    pub memory_strategy: MemoryStrategy,
    /// The device's word for how precise products of f32 must be. The CPU computes them by f32 arithmetic at either precision: it is
    /// for programs that say the same of every device.
    pub precision: Option<Precision>,
}

/// A CPU or a GPU. Cheap to clone; two handles are equal when they are the same device.
#[derive(Clone)]
pub struct Device(Arc<Inner>);

struct Inner {
    backend: Backend,
    engine: Engine,
    /// How precise products of f32 are to be, if it was opened with a word of its own.
    precision: Option<Precision>,
}

impl Device {
    fn new(backend: Backend, precision: Option<Precision>) -> Device {
        Device(Arc::new(Inner { backend, engine: Engine::default(), precision }))
    }

    /// The CPU. There is one per process, without a limit to its memory; [`cpu_with`](Device::cpu_with) makes others.
    pub fn cpu() -> Device {
        static CPU: OnceLock<Device> = OnceLock::new();
        CPU.get_or_init(|| Device::new(Backend::Cpu(Cpu::default()), None)).clone()
    }

    /// A CPU device apart from [`cpu`](Device::cpu), with memory of its own: to hold a run within a limit, or to see what it takes.
    ///
    /// ```
    /// # use flambeau::{CpuConfig, prelude::*};
    /// let device = Device::cpu_with(&CpuConfig { memory_limit: Some(1 << 20), ..CpuConfig::default() });
    /// Tensor::ones([1000], &device).exp().eval()?;
    /// let error = Tensor::ones([1000, 1000], &device).exp().eval().unwrap_err();
    /// assert!(matches!(error, Error::OutOfMemory { requested: 4_000_000, limit: Some(1_048_576), .. }), "{error}");
    /// assert_eq!(device.memory().peak, 4000);
    /// # Ok::<(), Error>(())
    /// ```
    pub fn cpu_with(config: &CpuConfig) -> Device {
        let cpu = Cpu::new(config.memory_strategy, config.memory_limit);
        Device::new(Backend::Cpu(cpu), config.precision)
    }

    /// A CPU apart from the others, for graphs that only the interpreter looks at: nothing else evaluates them.
    pub(crate) fn for_interpreter() -> Device {
        Device::new(Backend::Cpu(Cpu::default()), None)
    }

    /// The best device of this machine: a real GPU, else the CPU. `FLAMBEAU_DEVICE` overrides: `cpu`, `gpu` (the
    /// best real GPU), `gpu:1` (by index, as [`enumerate_adapters`](crate::enumerate_adapters) counts), `software`
    /// (a software adapter such as llvmpipe).
    ///
    /// It is opened once in a process or a page: as long as something uses it, every call gives the same device. Only one that was lost is
    /// replaced.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// assert_eq!(Device::best().await, Device::best().await);
    /// # });
    /// ```
    ///
    /// # Panics
    /// When `FLAMBEAU_DEVICE` asks for a device that is not there.
    pub async fn best() -> Device {
        expect(Device::try_best().await)
    }

    /// [`best`](Device::best), or the error instead of a panic.
    pub async fn try_best() -> Result<Device> {
        Device::shared(std::env::var(CHOICE).ok()).await
    }

    /// The one device of the process for this choice, or for none.
    async fn shared(choice: Option<String>) -> Result<Device> {
        // Not held here: a device that lived until the process ends could not end before what it needs does.
        type Opened = Vec<(Option<String>, Weak<Inner>)>;
        static OPENED: Mutex<Opened> = Mutex::new(Vec::new());
        let opened = || OPENED.lock().unwrap_or_else(PoisonError::into_inner);
        let find = |opened: &Opened| {
            let same = opened.iter().find(|(known, _)| *known == choice);
            same.and_then(|(_, device)| device.upgrade()).map(Device).filter(|device| !device.is_lost())
        };
        let known = find(&opened());
        if let Some(device) = known {
            return Ok(device);
        }
        let device = match &choice {
            Some(name) => Device::named(name).await?,
            None => Device::first_gpu().await.unwrap_or_else(|error| {
                log::info!("no GPU is used: {error}");
                Device::cpu()
            }),
        };
        let mut opened = opened();
        // Another task may have opened one meanwhile.
        if let Some(first) = find(&opened) {
            return Ok(first);
        }
        opened.retain(|(known, _)| *known != choice);
        opened.push((choice, Arc::downgrade(&device.0)));
        Ok(device)
    }

    /// Has an error ended it?
    fn is_lost(&self) -> bool {
        match &self.0.backend {
            Backend::Cpu(_) => false,
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().error().is_some(),
        }
    }

    /// The device with this name: `cpu`, `gpu`, `gpu:<index>` or `software`.
    pub async fn named(name: &str) -> Result<Device> {
        Device::named_within(name, None).await
    }

    /// The device with this name, or the one that [`best`](Device::best) would give, opened anew with a limit to its memory: an
    /// allocation above it is an error that names the bytes.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let device = Device::within(Some("cpu"), 1000).await?;
    /// assert_eq!(device.memory_limit(), Some(1000));
    /// assert!(Tensor::zeros([1000], &device).exp().eval().is_err());
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn within(name: Option<&str>, memory_limit: u64) -> Result<Device> {
        let asked = name.map(str::to_owned).or_else(|| std::env::var(CHOICE).ok());
        if let Some(name) = asked {
            return Device::named_within(&name, Some(memory_limit)).await;
        }
        let gpu = Device::named_within("gpu", Some(memory_limit)).await;
        Ok(gpu.unwrap_or_else(|error| {
            log::info!("no GPU is used: {error}");
            Device::cpu_with(&CpuConfig { memory_limit: Some(memory_limit), ..CpuConfig::default() })
        }))
    }

    async fn named_within(name: &str, memory_limit: Option<u64>) -> Result<Device> {
        #[cfg(feature = "gpu")]
        let config = GpuConfig { memory_limit, ..GpuConfig::default() };
        let index = name.strip_prefix("gpu:").and_then(|index| index.parse::<usize>().ok());
        match (name, index) {
            ("cpu", _) => Ok(match memory_limit {
                None => Device::cpu(),
                Some(_) => Device::cpu_with(&CpuConfig { memory_limit, ..CpuConfig::default() }),
            }),
            #[cfg(feature = "gpu")]
            ("gpu", _) => Device::gpu(&config).await,
            #[cfg(feature = "gpu")]
            ("software", _) => Device::gpu(&GpuConfig { allow_software: true, ..config }).await,
            #[cfg(feature = "gpu")]
            (_, Some(index)) => Device::gpu(&GpuConfig { adapter_index: Some(index), ..config }).await,
            _ => Err(Error::argument("device", format!("{name} is none of cpu, gpu, gpu:<index>, software"))),
        }
    }

    async fn first_gpu() -> Result<Device> {
        #[cfg(feature = "gpu")]
        return Device::gpu(&GpuConfig::default()).await;
        #[cfg(not(feature = "gpu"))]
        return Err(Error::NoAdapter("this build has no GPU backend (feature `gpu`)".into()));
    }

    /// The name of the device, as its driver gives it.
    pub fn name(&self) -> String {
        match &self.0.backend {
            Backend::Cpu(cpu) => cpu.name(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.name(),
        }
    }

    /// Is it the CPU?
    pub fn is_cpu(&self) -> bool {
        matches!(&self.0.backend, Backend::Cpu(_))
    }

    /// Returns when at most two evaluations are under way: what a training loop awaits once per step, so that the
    /// device is never flooded and never idle.
    pub async fn throttle(&self) -> Result<()> {
        match &self.0.backend {
            Backend::Cpu(_) => Ok(()),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().throttle().await,
        }
    }

    /// Returns when the device has done all that was submitted to it: what one waits for before the time is taken. Tensors that nothing
    /// has asked for stay unevaluated (see [`eval`](crate::eval)). On the CPU nothing is ever under way.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let device = Device::cpu();
    /// let x = Tensor::ones([1000], &device).exp();
    /// x.eval()?;
    /// device.synchronize().await?;
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn synchronize(&self) -> Result<()> {
        match &self.0.backend {
            Backend::Cpu(_) => Ok(()),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().synchronize().await,
        }
    }

    /// Goes on after a fault (an index out of range, a NaN in debug mode), as reading a value that tells of it does too.
    /// Parameters are as they were before the faulty step; values computed from those of the faulty run stay unreadable.
    pub fn clear_fault(&self) -> Result<()> {
        match &self.0.backend {
            Backend::Cpu(_) => Ok(()),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => {
                gpu.clear_fault();
                Ok(())
            }
        }
    }

    /// The ledger of the device's memory: every byte of its buffers.
    ///
    /// ```
    /// # use flambeau::{CpuConfig, prelude::*};
    /// let device = Device::cpu_with(&CpuConfig::default());
    /// let x = Tensor::new([1.0, 2.0], &device);
    /// assert_eq!(device.memory().in_use, 8);
    /// drop(x);
    /// assert_eq!((device.memory().in_use, device.memory().peak), (0, 8));
    /// ```
    pub fn memory(&self) -> MemoryStats {
        match &self.0.backend {
            Backend::Cpu(cpu) => cpu.memory(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().memory(),
        }
    }

    /// Lets [`MemoryStats::peak`] start again from what is in use now.
    pub fn reset_peak_memory(&self) {
        match &self.0.backend {
            Backend::Cpu(cpu) => cpu.reset_peak_memory(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().reset_peak_memory(),
        }
    }

    /// The most bytes that its buffers may take, if it was opened with a limit.
    pub fn memory_limit(&self) -> Option<u64> {
        match &self.0.backend {
            Backend::Cpu(cpu) => cpu.memory_limit(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().config().memory_limit,
        }
    }

    /// What becomes of buffers that nothing needs any more: `Pooled` or `Exact`.
    pub fn memory_strategy(&self) -> MemoryStrategy {
        match &self.0.backend {
            Backend::Cpu(cpu) => cpu.memory_strategy(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().config().memory_strategy,
        }
    }

    /// Gives the memory that is kept for reuse back to the system.
    pub fn trim(&self) {
        match &self.0.backend {
            Backend::Cpu(cpu) => cpu.trim(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().trim(),
        }
    }

    /// The WGSL of every shader compiled so far, for tests that validate it; none on the CPU.
    #[doc(hidden)]
    pub fn shader_sources(&self) -> Vec<String> {
        match &self.0.backend {
            Backend::Cpu(_) => Vec::new(),
            #[cfg(feature = "gpu")]
            Backend::Gpu(gpu) => gpu.runtime().shader_sources(),
        }
    }

    /// Bytes of an element in its memory.
    pub(crate) fn element_bytes(&self, dtype: DType) -> u64 {
        self.0.backend.element_bytes(dtype)
    }

    pub(crate) fn backend(&self) -> &Backend {
        &self.0.backend
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.0.engine
    }
}

impl Device {
    /// How precise products of f32 are to be in what is recorded now: the word of the scope that this thread is in
    /// ([`matmul_precision`](crate::matmul_precision)), else the device's own, else that of the process
    /// ([`set_float32_matmul_precision`](crate::set_float32_matmul_precision)).
    ///
    /// ```
    /// use flambeau::{Device, Precision};
    /// assert_eq!(Device::cpu().matmul_precision(), Precision::Highest);
    /// ```
    pub fn matmul_precision(&self) -> Precision {
        precision::said(self)
    }

    /// Its own word.
    pub(crate) fn own_precision(&self) -> Option<Precision> {
        self.0.precision
    }

    /// How products of f32 that are recorded now are made, in words; [`Tensor::explain`](crate::Tensor::explain) says it of each
    /// kernel.
    ///
    /// ```
    /// let said = flambeau::Device::cpu().products_of_f32();
    /// assert_eq!(said, "by f32 arithmetic, at highest and at high: matrix units are not used");
    /// ```
    pub fn products_of_f32(&self) -> &'static str {
        match (self.backend().heeds_precision(), self.matmul_precision()) {
            (false, _) => "by f32 arithmetic, at highest and at high: matrix units are not used",
            (true, Precision::Highest) => {
                "at highest: where matrix units are faster, three products of f16 for one of f32; else f32 arithmetic"
            }
            (true, Precision::High) => {
                "at high: where matrix units are faster, operands rounded to 11 bits; else f32 arithmetic"
            }
        }
    }
}

#[cfg(feature = "gpu")]
impl Device {
    /// A GPU, as configured.
    pub async fn gpu(config: &GpuConfig) -> Result<Device> {
        Ok(Device::new(Backend::Gpu(Box::new(Gpu::new(config).await?)), config.precision))
    }

    /// Runs on a wgpu device that already exists. Its error and lost callbacks become this device's.
    pub fn from_wgpu(device: wgpu::Device, queue: wgpu::Queue, config: &GpuConfig) -> Result<Device> {
        let gpu = Gpu::adopt(device, queue, config)?;
        Ok(Device::new(Backend::Gpu(Box::new(gpu)), config.precision))
    }

    pub(crate) fn as_gpu(&self) -> Option<&Gpu> {
        match &self.0.backend {
            Backend::Gpu(gpu) => Some(gpu),
            Backend::Cpu(_) => None,
        }
    }

    /// The adapter a GPU device runs on.
    pub fn adapter(&self) -> Option<&AdapterDescription> {
        self.as_gpu().map(|gpu| gpu.runtime().description())
    }

    /// The GPU's limits, as asked from its adapter.
    pub fn limits(&self) -> Option<&wgpu::Limits> {
        self.as_gpu().map(|gpu| gpu.runtime().limits())
    }

    /// WebGPU's optional features that the library uses and the device has, by WebGPU's names; none on the CPU.
    ///
    /// ```
    /// assert!(flambeau::Device::cpu().features().is_empty());
    /// ```
    pub fn features(&self) -> Vec<&'static str> {
        self.as_gpu().map(|gpu| gpu.runtime().feature_names()).unwrap_or_default()
    }

    /// What products use of the GPU's matrix units, or why they use none; on the CPU, None. The first call makes a small
    /// product to check them.
    ///
    /// ```
    /// assert_eq!(flambeau::Device::cpu().matrix_units(), None);
    /// ```
    pub fn matrix_units(&self) -> Option<String> {
        self.as_gpu().map(|gpu| gpu.runtime().matrix_units_described())
    }

    /// Submissions, kernels, pipelines, buffers and transfers so far, counted where the queue is called.
    pub fn gpu_stats(&self) -> Option<GpuStats> {
        self.as_gpu().map(|gpu| gpu.runtime().stats())
    }

    /// Times every kernel on the GPU from now on, until [`take_trace`](Device::take_trace). An error on the CPU and on
    /// adapters without timestamps. A trace that is off costs nothing.
    ///
    /// ```
    /// assert!(flambeau::Device::cpu().start_trace().is_err());
    /// ```
    pub fn start_trace(&self) -> Result<()> {
        self.traceable()?.start_trace()
    }

    /// Ends the trace, waits for its kernels, and gives their times in the order they were submitted.
    ///
    /// ```no_run
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let device = Device::best().await;
    /// device.start_trace()?;
    /// Tensor::ones([1000], &device).exp().eval()?;
    /// for kernel in device.take_trace().await? {
    ///     println!("{}: {:.1} µs", kernel.name, kernel.duration / 1e3);
    /// }
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn take_trace(&self) -> Result<Vec<KernelTiming>> {
        self.traceable()?.take_trace().await
    }

    fn traceable(&self) -> Result<&Arc<Runtime>> {
        let message = "a trace reads the timestamps of a GPU; profile the CPU with the system's tools";
        let unsupported = || Error::Unsupported { device: self.name(), message: message.into() };
        Ok(self.as_gpu().ok_or_else(unsupported)?.runtime())
    }

    /// Has the GPU's driver look for work that is done. Firefox looks only every 100 ms, unless something is
    /// submitted: a page that waits for a value there calls this now and then.
    pub fn nudge(&self) {
        if let Some(gpu) = self.as_gpu() {
            gpu.runtime().nudge();
        }
    }

    /// Lets the `nth` allocation on a GPU from now on fail, as if there were no memory, for tests; 0: none.
    #[doc(hidden)]
    pub fn refuse_allocation(&self, nth: u64) {
        if let Some(gpu) = self.as_gpu() {
            gpu.runtime().refuse_allocation(nth);
        }
    }

    /// The error that ended the GPU device (lost, out of memory outside an allocation), if one has. It stays.
    pub fn error(&self) -> Option<Error> {
        self.as_gpu().and_then(|gpu| gpu.runtime().error())
    }

    /// A tensor over a buffer made with the same wgpu device (see [`Device::from_wgpu`]), which must have the usages
    /// STORAGE, COPY_SRC and COPY_DST. Booleans and bytes are expected as 32-bit words.
    pub fn tensor_from_buffer(
        &self,
        buffer: wgpu::Buffer,
        shape: impl Into<Shape>,
        dtype: DType,
    ) -> Result<Tensor> {
        let gpu = self.as_gpu().ok_or_else(|| Error::Unsupported {
            device: self.name(),
            message: "GPU buffers live on GPU devices".into(),
        })?;
        gpu.accepts(dtype)?;
        let meta = Meta::new(shape, dtype);
        let needed = (meta.numel() as u64).saturating_mul(storage_bytes(dtype));
        if buffer.size() < needed {
            let message =
                format!("a buffer of {} bytes cannot hold {dtype} of shape {}", buffer.size(), meta.shape);
            return Err(Error::shape("tensor_from_buffer", message));
        }
        let buffer = Buffer::Gpu(gpu.runtime().adopt_buffer(buffer)?);
        Tensor::from_storage(Arc::new(Storage { buffer, witness: None, guarded: true }), meta, self)
    }

    /// Calls this after each pipeline that is compiled for a new plan, with how many of how many are there; from several
    /// threads, natively. `None` ends that. Nothing happens on the CPU.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # let device = Device::cpu();
    /// device.on_compile(Some(Box::new(|done, all| eprintln!("compiling {done} of {all}"))));
    /// device.on_compile(None);
    /// ```
    pub fn on_compile(&self, progress: Option<Box<dyn Fn(usize, usize) + Send + Sync>>) {
        if let Some(gpu) = self.as_gpu() {
            gpu.runtime().on_compile(progress.map(Into::into));
        }
    }

    /// Waits until no kernel is being compiled for the sizes of a hot plan (see [`Specialise`](crate::Specialise)): what runs
    /// afterwards is as fast as it gets. Nobody needs this but who measures. It returns at once on the CPU and in browsers.
    pub fn wait_for_compilation(&self) {
        if let Some(gpu) = self.as_gpu() {
            gpu.wait_for_compilation();
        }
    }

    /// Ends the GPU device, as if it had been lost: everything after this is [`Error::DeviceLost`].
    pub fn destroy(&self) {
        if let Some(gpu) = self.as_gpu() {
            gpu.runtime().destroy();
        }
    }
}

impl PartialEq for Device {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}
impl Eq for Device {}

impl fmt::Display for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(if self.is_cpu() { "cpu" } else { "gpu" })
    }
}

impl fmt::Debug for Device {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Device({self}, {})", self.name())
    }
}

#[cfg(all(test, feature = "gpu", not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use crate::tensor::Tensor;

    /// Work given to one handle is counted by the other: there is one queue behind both. A lost device is replaced.
    #[test]
    fn a_choice_is_opened_once() {
        let shared =
            || pollster::block_on(Device::shared(Some("software".into()))).expect("a software adapter");
        let (first, second) = (shared(), shared());
        assert_eq!(first, second);
        let submissions = |device: &Device| device.gpu_stats().expect("a GPU").submits;
        let before = submissions(&second);
        Tensor::ones([4], &first).exp().eval().expect("it runs");
        assert!(submissions(&second) > before);
        assert_ne!(first, pollster::block_on(Device::named("software")).expect("another one"));
        let cpu = || pollster::block_on(Device::shared(Some("cpu".into()))).expect("the CPU");
        assert_eq!((cpu(), cpu()), (Device::cpu(), Device::cpu()));
        assert_eq!(first, shared(), "another choice does not take its place");
        first.destroy();
        let third = shared();
        assert_ne!(third, first);
        assert_eq!(third, shared());
    }
}
