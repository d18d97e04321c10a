//! How the GPU's product is cut: chosen by shape, because a browser cannot time kernels.

use super::Sizes;

/// The sizes of the tiled kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tiling {
    /// Rows and columns of C per workgroup.
    pub tile: [usize; 2],
    /// Rows and columns of C per thread, 4 or 8.
    pub per_thread: [usize; 2],
    /// Groups of threads in a workgroup that share the work along K and add up at the end.
    pub slices: usize,
    /// Steps of K per round, all slices together.
    pub depth: usize,
    /// Workgroups that share the work along K; a second kernel adds up their results in order.
    pub parts: usize,
}

/// Workgroups that keep a large GPU busy.
const BUSY: usize = 128;
/// Rounds below which another part along K would cost more than it saves.
const ROUNDS_PER_PART: usize = 8;
/// Rounds one workgroup may take: some software adapters end a shader's loops after 65,535 rounds.
const MAX_ROUNDS: usize = 4096;

const LARGE: Tiling = Tiling { tile: [128, 128], per_thread: [8, 8], slices: 1, depth: 16, parts: 1 };
const WIDE: Tiling = Tiling { tile: [64, 128], per_thread: [8, 8], slices: 1, depth: 16, parts: 1 };
const MEDIUM: Tiling = Tiling { tile: [64, 64], per_thread: [4, 4], slices: 1, depth: 32, parts: 1 };
const SMALL: Tiling = Tiling { tile: [32, 32], per_thread: [4, 4], slices: 4, depth: 64, parts: 1 };

impl Tiling {
    /// The largest tiles that keep the GPU busy; where even the smallest do not, K is shared out too.
    pub fn fitting(sizes: &Sizes) -> Tiling {
        let fits = |tiling: &&Tiling| {
            let filled = 2 * sizes.m > tiling.tile[0] && 2 * sizes.n > tiling.tile[1];
            filled && tiling.workgroups(sizes) >= BUSY
        };
        let mut tiling = *[LARGE, WIDE, MEDIUM].iter().find(fits).unwrap_or(&SMALL);
        let rounds = sizes.k.div_ceil(tiling.depth);
        let wanted = BUSY.div_ceil(tiling.workgroups(sizes).max(1));
        let worth_it = (rounds / ROUNDS_PER_PART).max(1);
        tiling.parts = wanted.min(worth_it).max(rounds.div_ceil(MAX_ROUNDS)).max(1);
        tiling
    }

    /// Workgroups without parts.
    fn workgroups(&self, sizes: &Sizes) -> usize {
        sizes.batches * sizes.m.div_ceil(self.tile[0]) * sizes.n.div_ceil(self.tile[1])
    }

    /// Threads of one slice along rows and columns.
    pub fn threads(&self) -> [usize; 2] {
        [self.tile[0] / self.per_thread[0], self.tile[1] / self.per_thread[1]]
    }

    /// Steps of K per part.
    pub fn part_length(&self, k: usize) -> usize {
        k.div_ceil(self.parts).next_multiple_of(self.depth).max(self.depth)
    }
}
