//! How large a GPU is: by it products and convolutions are cut into workgroups. What fills a small GPU leaves a large one
//! idle, and the parts that a large one needs are work for nothing on a small one.

/// How large a GPU is, as far as kernels are cut for it. A sum's parts, hence its last bits, depend on it: on the adapter, never on
/// a measurement.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum GpuSize {
    /// A card of its own, with memory of its own.
    #[default]
    Large,
    /// A part of a processor, as in laptops and phones; and a CPU that plays a GPU.
    Small,
}

impl GpuSize {
    /// Multiprocessors: workgroups come to them in turns. (Large: an NVIDIA H200. Small: an Apple M2 or an Intel Xe has 8 to 12.)
    pub(crate) fn processors(self) -> usize {
        match self {
            GpuSize::Large => 132,
            GpuSize::Small => 12,
        }
    }

    /// Bytes per second from and to memory.
    pub(crate) fn bandwidth(self) -> f64 {
        match self {
            GpuSize::Large => 2.5e12,
            GpuSize::Small => 8e10,
        }
    }

    /// Workgroups that keep it busy, where those of a large GPU do so with `large`.
    pub(crate) fn busy(self, large: usize) -> usize {
        (large * self.processors()).div_ceil(GpuSize::Large.processors())
    }
}
