//! How the GPU's product is cut: chosen by shape, because a browser cannot time kernels.

use super::Sizes;

/// Workgroups that keep a large GPU busy.
const BUSY: usize = 128;
/// Workgroups that K is shared out to reach: parts have a price, so they should fill the GPU well.
const BUSY_WITH_PARTS: usize = 256;

/// Steps of K per round of the large kernel.
pub(in crate::op) const DEPTH: usize = 16;
/// Rounds below which another part along K would cost more than it saves.
const ROUNDS_PER_PART: usize = 8;
/// Parts at most: each is written and read once more.
const MAX_PARTS: usize = 16;
/// Multiplications from which a product gets a shader of its own.
const LARGE: usize = 1 << 22;

/// The tile of C that a workgroup of the large kernel makes.
#[derive(Debug, PartialEq)]
pub(in crate::op) struct Tile {
    /// Threads along rows and columns.
    pub threads: [usize; 2],
    /// Rows and columns of C per thread, 4 or 8.
    pub per_thread: [usize; 2],
    /// About its TFLOP/s on one NVIDIA H200 when all workgroups are busy (2026-11-15): only how tiles compare counts.
    speed: f64,
}

impl Tile {
    /// Rows and columns of C.
    pub fn size(&self) -> [usize; 2] {
        [self.threads[0] * self.per_thread[0], self.threads[1] * self.per_thread[1]]
    }
}

static TILES: [Tile; 4] = [
    Tile { threads: [16, 16], per_thread: [8, 8], speed: 44.0 },
    Tile { threads: [8, 16], per_thread: [8, 8], speed: 38.0 },
    Tile { threads: [8, 8], per_thread: [8, 8], speed: 35.0 },
    Tile { threads: [8, 8], per_thread: [4, 4], speed: 22.0 },
];

/// The kernel for a product.
#[derive(Debug, PartialEq)]
pub(super) enum Choice {
    /// `large`, with a tile and a number of parts along K.
    Large(&'static Tile, usize),
    /// `tiled`.
    Small(Tiling),
}

impl Choice {
    /// The large kernel where it keeps the GPU busy, with the tile that should be the fastest.
    pub fn of(sizes: &Sizes) -> Choice {
        match large(sizes, MAX_PARTS) {
            Some((tile, parts)) => Choice::Large(tile, parts),
            None => Choice::Small(Tiling::fitting(sizes)),
        }
    }
}

/// The tile and the number of parts, up to a number, with which the large kernel keeps the GPU busy; None where it does
/// not.
pub(in crate::op) fn large(sizes: &Sizes, max_parts: usize) -> Option<(&'static Tile, usize)> {
    let Sizes { batches, m, n, k } = *sizes;
    let choices = TILES.iter().filter_map(|tile| {
        let [rows, columns] = tile.size();
        let tiles = batches * m.div_ceil(rows) * n.div_ceil(columns);
        let most = (k.div_ceil(DEPTH) / ROUNDS_PER_PART).clamp(1, max_parts);
        let parts = if tiles >= BUSY { 1 } else { (BUSY_WITH_PARTS / tiles).clamp(1, most) };
        let filled = (m * n * batches) as f64 / (tiles * rows * columns) as f64;
        let (wanted, cost_of_parts) = match parts {
            1 => (BUSY, 1.0),
            _ => (BUSY_WITH_PARTS, 1.15 + 0.01 * parts as f64),
        };
        let busy = ((tiles * parts) as f64 / wanted as f64).min(1.0);
        let pays = tiles * parts >= BUSY && batches * parts <= 65_535;
        pays.then_some((tile.speed * filled * busy / cost_of_parts, tile, parts))
    });
    let best = choices.max_by(|a, b| a.0.total_cmp(&b.0));
    best.filter(|_| batches * m * n * k >= LARGE).map(|(_, tile, parts)| (tile, parts))
}

/// The sizes of the small kernel.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Tiling {
    /// Rows and columns of C per workgroup.
    pub tile: [usize; 2],
    /// Rows and columns of C per thread.
    pub per_thread: [usize; 2],
    /// Groups of threads in a workgroup that share the work along K and add up at the end.
    pub slices: usize,
    /// Steps of K per round, all slices together.
    pub depth: usize,
    /// Workgroups that share the work along K; a second kernel adds up their results in order.
    pub parts: usize,
}

/// Rounds one workgroup may take: some software adapters end a shader's loops after 65,535 rounds.
const MAX_ROUNDS: usize = 4096;

const SMALL: Tiling = Tiling { tile: [32, 32], per_thread: [4, 4], slices: 4, depth: 64, parts: 1 };

impl Tiling {
    /// The smallest tiles; where they do not keep the GPU busy, K is shared out too.
    fn fitting(sizes: &Sizes) -> Tiling {
        let mut tiling = SMALL;
        let workgroups = sizes.batches * sizes.m.div_ceil(tiling.tile[0]) * sizes.n.div_ceil(tiling.tile[1]);
        let rounds = sizes.k.div_ceil(tiling.depth);
        let wanted = BUSY.div_ceil(workgroups.max(1));
        let worth_it = (rounds / ROUNDS_PER_PART).max(1);
        tiling.parts = wanted.min(worth_it).max(rounds.div_ceil(MAX_ROUNDS)).max(1);
        tiling
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
