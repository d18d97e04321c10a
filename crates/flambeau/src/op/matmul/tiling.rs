//! How the GPU's product is cut: chosen by shape, because a browser cannot time kernels.

use super::Sizes;
use crate::ir::call::StructuredCall;
use crate::ir::{GpuSize, UnitKind, WhyNot};
use crate::op::units;

/// Workgroups that keep a large GPU busy.
const BUSY: usize = 128;
/// What a part of K costs beside its bytes: a second kernel, in seconds.
const SECOND_KERNEL: f64 = 10e-6;
/// What an element of an epilogue costs a processor that has nothing else to do meanwhile, in seconds.
const EPILOGUE: f64 = 0.5e-9;

/// Steps of K per round of the large kernel.
pub(in crate::op) const DEPTH: usize = 16;
/// Rounds below which another part along K would cost more than it saves.
const ROUNDS_PER_PART: usize = 8;
/// Parts at most.
pub(in crate::op) const MAX_PARTS: usize = 64;
/// Multiplications from which a product gets a shader of its own.
const LARGE: f64 = (1 << 22) as f64;

/// The tile of C that a workgroup of the large kernel makes.
#[derive(Debug, PartialEq)]
pub(in crate::op) struct Tile {
    /// Threads along rows and columns.
    pub threads: [usize; 2],
    /// Rows and columns of C per thread, 4 or 8.
    pub per_thread: [usize; 2],
    /// About its TFLOP/s on one NVIDIA H200 whose multiprocessors have threads enough (the two large tiles 2026-11-16, the
    /// others 2026-11-15).
    speed: f64,
}

impl Tile {
    /// Rows and columns of C.
    pub fn size(&self) -> [usize; 2] {
        [self.threads[0] * self.per_thread[0], self.threads[1] * self.per_thread[1]]
    }

    /// The tile of the general shader of a product for which this one is best: one of two, so that few are compiled.
    pub fn general(&self) -> &'static Tile {
        let [rows, columns] = GENERAL_TILE.size();
        if self.size()[0] * self.size()[1] < rows * columns { &TILES[3] } else { GENERAL_TILE }
    }

    /// About the seconds a product takes with this tile and a number of parts.
    ///
    /// All processors wait for the one with the most workgroups, which is fastest with 256 threads or more (with 128 it
    /// was measured to lose a fifth; the half below is a guess). One with several workgroups at a time makes the epilogue
    /// of one beside the product of another; there is no room for two of 256 threads.
    fn seconds(&self, sizes: &Sizes, parts: usize, epilogue: bool, gpu: GpuSize) -> f64 {
        let Sizes { batches, m, n, k } = *sizes;
        let [rows, columns] = self.size();
        let tiles = batches * m.div_ceil(rows) * n.div_ceil(columns);
        let in_turn = (tiles * parts).div_ceil(gpu.processors());
        // The processors of all GPUs are taken to be as fast.
        let speed = match in_turn * self.threads[0] * self.threads[1] {
            ..128 => 0.5 * self.speed,
            128..256 => 0.8 * self.speed,
            _ => self.speed,
        };
        let product = |sizes: &[usize]| sizes.iter().fold(1.0, |product, &size| product * size as f64);
        let of_large = GpuSize::Large.processors();
        let operations = product(&[2, in_turn, of_large, rows, columns, part_length(k, parts)]);
        let of_parts = match parts {
            1 => 0.0,
            // Written and read.
            _ => SECOND_KERNEL + product(&[8, parts, batches, m, n]) / gpu.bandwidth(),
        };
        let waits = epilogue && parts == 1 && self.threads == [16, 16];
        let of_epilogue = if waits { EPILOGUE * product(&[in_turn, rows, columns]) } else { 0.0 };
        operations / (speed * 1e12) + of_parts + of_epilogue
    }
}

static TILES: [Tile; 4] = [
    Tile { threads: [16, 16], per_thread: [8, 8], speed: 43.0 },
    Tile { threads: [8, 16], per_thread: [8, 8], speed: 41.0 },
    Tile { threads: [8, 8], per_thread: [8, 8], speed: 35.0 },
    Tile { threads: [8, 8], per_thread: [4, 4], speed: 22.0 },
];

/// The tile of general shaders: near the pace of the largest, and enough workgroups for medium products.
pub(in crate::op) static GENERAL_TILE: &Tile = &TILES[1];

/// The kernel for a product.
#[derive(Debug, PartialEq)]
pub(super) enum Choice {
    /// `large`, with a tile and a number of parts along K.
    Large(&'static Tile, usize),
    /// `tiled`.
    Small(Tiling),
}

impl Choice {
    /// Parts along K.
    pub fn parts(&self) -> usize {
        match self {
            Choice::Large(_, parts) => *parts,
            Choice::Small(tiling) => tiling.parts,
        }
    }

    /// The large kernel where it keeps the GPU busy, with the tile that should be the fastest.
    pub fn of(sizes: &Sizes, epilogue: bool, gpu: GpuSize) -> Choice {
        match large(sizes, MAX_PARTS, epilogue, gpu) {
            Some((tile, parts)) => Choice::Large(tile, parts),
            None => Choice::Small(Tiling::fitting(sizes, gpu)),
        }
    }
}

/// The tile and the number of parts, up to a number, with which the large kernel keeps the GPU busy; None where it does
/// not.
pub(in crate::op) fn large(
    sizes: &Sizes,
    max_parts: usize,
    epilogue: bool,
    gpu: GpuSize,
) -> Option<(&'static Tile, usize)> {
    let Sizes { batches, m, n, k } = *sizes;
    let most = (k.div_ceil(DEPTH) / ROUNDS_PER_PART).clamp(1, max_parts);
    let choices = TILES.iter().flat_map(|tile| {
        let [rows, columns] = tile.size();
        let tiles = batches * m.div_ceil(rows) * n.div_ceil(columns);
        let none_is_empty = move |parts: usize| (parts - 1) * part_length(k, parts) < k;
        let parts = (1..=most).filter(move |&parts| {
            tiles * parts >= gpu.busy(BUSY) && batches * parts <= 65_535 && none_is_empty(parts)
        });
        parts.map(move |parts| (tile.seconds(sizes, parts, epilogue, gpu), tile, parts))
    });
    let best = choices.min_by(|a, b| a.0.total_cmp(&b.0));
    let multiplications = (batches * m * n) as f64 * k as f64;
    best.filter(|_| multiplications >= LARGE).map(|(_, tile, parts)| (tile, parts))
}

/// How a product is made on matrix units.
#[derive(Debug, PartialEq)]
pub(in crate::op) struct OnUnits {
    pub units: UnitKind,
    pub tile: &'static units::Tile,
    pub parts: usize,
    /// Should operands that lie in memory as lines be read there, and not be packed?
    pub in_place: bool,
}

/// Rows, columns and steps of K from which a product may be worth matrix units.
const LEAST: usize = 32;
/// Rounds of a part on matrix units, at least.
const LEAST_PART: usize = 8;
/// The share of its time that a product takes longer if its lines lie anywhere.
const IN_PLACE: f64 = 0.12;
/// How much longer a plain product takes than estimated if it computes what follows (4096 × 1536 over K = 384 with GELU: 167 µs).
const EPILOGUE_OF_PLAIN: f64 = 1.35;
/// What a kernel that goes before a product on matrix units costs beside its bytes, in seconds.
const KERNEL_BEFORE: f64 = 5e-6;
/// Bytes at most of packed operands.
const MOST_BYTES: u64 = 1 << 30;

/// What is known of a tile on an NVIDIA H200 (2026-11-17).
struct Pace {
    tile: &'static units::Tile,
    /// Operations a second of products that fill the GPU, and the share of it that is left where a processor has one tile.
    speed: f64,
    alone: f64,
    /// Rounds that a tile's beginning and end take as long as.
    ends: usize,
}

/// Of f32 as two halves, and of one half.
static SPLIT: [Pace; 1] = [Pace { tile: &units::SMALL, speed: 80e12, alone: 0.5, ends: 2 }];
static HALF: [Pace; 4] = [
    Pace { tile: &units::SMALL, speed: 165e12, alone: 0.4, ends: 3 },
    Pace { tile: &units::MEDIUM, speed: 205e12, alone: 0.55, ends: 3 },
    Pace { tile: &units::WIDE, speed: 200e12, alone: 0.55, ends: 3 },
    Pace { tile: &units::LARGE, speed: 265e12, alone: 0.4, ends: 8 },
];

/// How a product is made on matrix units, where there are any and they are faster than the plain product of these sizes. So many
/// elements are packed for it, and it may be made in so many parts.
pub(in crate::op) fn on_units(
    sizes: &Sizes,
    plain: &Sizes,
    packed: usize,
    most_parts: usize,
    call: &StructuredCall,
) -> Result<OnUnits, WhyNot> {
    let units = units::units_of(call)?;
    let Sizes { batches, m, n, k } = *sizes;
    if m.min(n).min(k) < LEAST {
        return Err(WhyNot::Small);
    }
    if units::bytes_of_lines(call, packed / units::LINE) > MOST_BYTES {
        return Err(WhyNot::Packed);
    }
    let (epilogue, gpu) = (call.epilogue.is_some(), call.gpu);
    let fits = |tile: &units::Tile, parts: usize| {
        let grid = [m.div_ceil(tile.size[0]), n.div_ceil(tile.size[1]), batches * parts];
        let none_is_empty = (parts - 1) * units::rounds_of_part(k, parts) < k.div_ceil(units::LINE);
        grid.iter().all(|&count| count <= 65_535) && none_is_empty
    };
    let most = (k.div_ceil(units::LINE) / LEAST_PART).clamp(1, most_parts);
    let paces: &'static [Pace] = if units::halves(call) == 2 { &SPLIT } else { &HALF };
    let choices = paces.iter().flat_map(|pace| {
        let fitting = (1..=most).filter(move |&parts| fits(pace.tile, parts));
        fitting.map(move |parts| {
            (
                pace.seconds(sizes, parts, epilogue, gpu),
                OnUnits { units, tile: pace.tile, parts, in_place: false },
            )
        })
    });
    let best = choices.min_by(|a, b| a.0.total_cmp(&b.0));
    let (seconds, mut choice) = best.ok_or(WhyNot::Tiles)?;
    let plain =
        large(plain, MAX_PARTS, epilogue, gpu).map(|(tile, parts)| tile.seconds(plain, parts, epilogue, gpu));
    let before = seconds_before(packed, call, gpu);
    choice.in_place = IN_PLACE * seconds < before;
    let pays = match units {
        UnitKind::Cooperative { always: false } => {
            let slower = if epilogue { EPILOGUE_OF_PLAIN } else { 1.0 };
            plain.is_some_and(|plain| before + seconds < slower * plain)
        }
        // For tests.
        UnitKind::Cooperative { always: true } | UnitKind::Played => true,
    };
    if pays { Ok(choice) } else { Err(WhyNot::Slower) }
}

/// About the seconds that finding exponents and packing take, of so many elements.
fn seconds_before(packed: usize, call: &StructuredCall, gpu: GpuSize) -> f64 {
    let size = call.inputs[0].meta.dtype.size();
    let (kernels, bytes) = match units::is_scaled(call) {
        true => (2.0, 2 * size + 2 * units::halves(call)),
        false => (1.0, size + 2 * units::halves(call)),
    };
    kernels * KERNEL_BEFORE + (packed * bytes) as f64 / gpu.bandwidth()
}

impl Pace {
    /// About the seconds a product takes on matrix units.
    fn seconds(&self, sizes: &Sizes, parts: usize, epilogue: bool, gpu: GpuSize) -> f64 {
        let Sizes { batches, m, n, k } = *sizes;
        let [rows, columns] = self.tile.size;
        let tiles = batches * m.div_ceil(rows) * n.div_ceil(columns) * parts;
        let in_turn = tiles.div_ceil(gpu.processors());
        let busy = match in_turn {
            1 => self.alone,
            2 | 3 => 0.85,
            _ => 0.95,
        };
        let product = |sizes: &[usize]| sizes.iter().fold(1.0, |product, &size| product * size as f64);
        let steps = (units::rounds_of_part(k, parts) + self.ends) * units::LINE;
        let operations = product(&[2, in_turn, GpuSize::Large.processors(), rows, columns, steps]);
        let of_parts = match parts {
            1 if !epilogue => 0.0,
            _ => SECOND_KERNEL + product(&[8, parts, batches, m, n]) / gpu.bandwidth(),
        };
        operations / (busy * self.speed) + of_parts
    }
}

/// Steps of K of each of a number of parts: whole rounds.
pub(in crate::op) fn part_length(k: usize, parts: usize) -> usize {
    k.div_ceil(parts).next_multiple_of(DEPTH)
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

/// Slices of a workgroup at most.
pub(super) const MOST_SLICES: usize = 4;

const SMALL: Tiling = Tiling { tile: [32, 32], per_thread: [4, 4], slices: MOST_SLICES, depth: 64, parts: 1 };

impl Tiling {
    /// The smallest tiles; where they do not keep the GPU busy, K is shared out too.
    fn fitting(sizes: &Sizes, gpu: GpuSize) -> Tiling {
        let mut tiling = SMALL;
        let workgroups = sizes.batches * sizes.m.div_ceil(tiling.tile[0]) * sizes.n.div_ceil(tiling.tile[1]);
        let rounds = sizes.k.div_ceil(tiling.depth);
        let wanted = gpu.busy(BUSY).div_ceil(workgroups.max(1));
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

#[cfg(test)]
mod tests {
    use super::*;

    /// The rows and columns of the tile, and the parts.
    fn choice(m: usize, n: usize, k: usize, epilogue: bool) -> Option<([usize; 2], usize)> {
        let chosen = large(&Sizes { batches: 1, m, n, k }, MAX_PARTS, epilogue, GpuSize::Large);
        chosen.map(|(tile, parts)| (tile.size(), parts))
    }

    /// Choices that were measured on an H200, in TFLOP/s (2026-11-16), each the best of its row or within 5 % of it.
    #[test]
    fn choices_are_the_fast_ones() {
        // 46 with this tile, 42 with 64 × 128.
        assert_eq!(choice(4096, 4096, 4096, false), Some(([128, 128], 1)));
        // 33 with this tile, 21 with 128 × 128 (64 workgroups), 30 with that in two parts.
        assert_eq!(choice(1024, 1024, 1024, false), Some(([64, 128], 1)));
        // 38 with this tile, 24 in two parts.
        assert_eq!(choice(4096, 1536, 384, false), Some(([128, 128], 1)));
        // With an epilogue 29, and 27 with 128 × 128.
        assert_eq!(choice(4096, 1536, 384, true), Some(([64, 128], 1)));
        // 33 in two parts, 29 in one, 31 with 128 × 128.
        assert_eq!(choice(4096, 384, 1536, false), Some(([64, 128], 2)));
        // 34 in 7 parts, 12 in one.
        assert_eq!(choice(1536, 384, 4096, false), Some(([128, 128], 7)));
    }

    #[test]
    fn parts_have_work_and_small_products_are_left_alone() {
        for (m, n, k) in [(64, 576, 131_072), (512, 4608, 2048), (384, 384, 4096), (100, 70, 999_983)] {
            let (_, parts) = choice(m, n, k, false).unwrap();
            assert!(parts > 1 && (parts - 1) * part_length(k, parts) < k, "{m} × {n} × {k}: {parts} parts");
        }
        assert_eq!(choice(128, 128, 128, false), None);
        // On a small GPU too, if fewer.
        let of_small =
            large(&Sizes { batches: 1, m: 512, n: 4608, k: 2048 }, MAX_PARTS, false, GpuSize::Small);
        assert_eq!(of_small.map(|(tile, parts)| (tile.size(), parts)), Some(([128, 128], 1)));
        let fitting =
            |gpu: GpuSize| Tiling::fitting(&Sizes { batches: 1, m: 64, n: 64, k: 100_000 }, gpu).parts;
        assert_eq!((fitting(GpuSize::Large), fitting(GpuSize::Small)), (32, 3));
        // Sizes whose product does not fit 32 bits.
        assert!(choice(4096, 4096, 65_536, false).is_some());
    }
}
