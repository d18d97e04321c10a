//! Draws random graphs whose values stay tame and whose jumps are never near a computed value.
//!
//! Every value is known to be smooth (any float within a bound), on a grid (a float that is a multiple of a power of
//! two, small enough that f32 arithmetic on it is exact), an integer, or a boolean. Comparisons, roundings, extremes
//! and casts to integers, whose results jump, only see values that are exact.

use super::kind::Kind;
use super::recipe::Step;
use crate::dtype::DType;
use crate::op::elementwise::{SELECT, Signature, table};
use crate::op::{Elementwise, ReduceKind};
use crate::rng;
use crate::selftest::Input;
use crate::shape::Shape;

/// Elements of the largest value.
const MAX_NUMEL: usize = 120;
/// Smooth values beyond this are pressed together before they are used again.
const TAME: f64 = 4.0;
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub shape: Shape,
    pub kind: Kind,
}

pub(super) struct Generator {
    key: [u32; 2],
    drawn: u32,
    pub steps: Vec<Step>,
    pub known: Vec<Known>,
    /// Nodes the steps will make.
    nodes: usize,
    smooth_ops: Vec<&'static Elementwise>,
}

pub(super) fn entry(name: &str) -> &'static Elementwise {
    table().find(|op| op.name == name).expect("the table has this op")
}

impl Generator {
    pub fn new(seed: u64) -> Generator {
        let is_smooth = |op: &&Elementwise| {
            op.differentiable && matches!(op.signature, Signature::Float | Signature::Number)
        };
        Generator {
            key: [seed as u32, (seed >> 32) as u32 ^ 0x9e37],
            drawn: 0,
            steps: Vec::new(),
            known: Vec::new(),
            nodes: 0,
            smooth_ops: table().filter(is_smooth).collect(),
        }
    }

    /// A number below `count`.
    pub fn below(&mut self, count: usize) -> usize {
        self.drawn += 1;
        ((u64::from(rng::random_bits(self.key, [self.drawn, 1])) * count as u64) >> 32) as usize
    }

    fn between(&mut self, low: usize, high: usize) -> usize {
        low + self.below(high - low + 1)
    }

    fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub fn push(&mut self, step: Step, shape: Shape, kind: Kind) -> usize {
        self.nodes += match &step {
            Step::Leaf { .. } => 0,
            Step::Squeeze { .. } => 9,
            Step::Scale { .. } => 2,
            _ => 1,
        };
        self.steps.push(step);
        self.known.push(Known { shape, kind });
        self.steps.len() - 1
    }

    pub fn shape(&self, at: usize) -> Shape {
        self.known[at].shape.clone()
    }

    pub fn kind(&self, at: usize) -> Kind {
        self.known[at].kind
    }

    /// Fills the list: mostly small graphs, sometimes up to 200 nodes. A software GPU takes milliseconds per op to
    /// compile a kernel, which sets what a thousand graphs may hold.
    pub fn run(&mut self) {
        let limit = match self.below(100) {
            0..75 => self.between(4, 16),
            75..95 => self.between(16, 40),
            _ => self.between(40, 190),
        };
        for leaf in 0..self.between(2, 4) {
            self.leaf(leaf);
        }
        while self.nodes < limit {
            match self.below(100) {
                0..42 => self.map(),
                42..65 => self.view(),
                65..73 => self.reduce(),
                73..78 => self.rows(),
                78..80 => self.used_twice(),
                80..86 => self.gather(),
                86..91 => self.matmul(),
                _ => self.discrete(),
            }
        }
    }

    fn random_shape(&mut self) -> Shape {
        let rank = self.below(5);
        let mut numel = 1;
        let mut size = || {
            // Sizes of one are where views, rows and broadcasts look alike.
            let size = [1, 1, 2, 2, 3, 4, 5][self.below(7)];
            let size = if numel * size <= MAX_NUMEL { size } else { 1 };
            numel *= size;
            size
        };
        (0..rank).map(|_| size()).collect()
    }

    fn leaf(&mut self, number: usize) {
        let shape = self.random_shape();
        let (dtype, kind) = match (number, self.below(4)) {
            (0, _) => (DType::F32, Kind::Smooth(2.0)),
            (1, _) => (DType::F32, Kind::Grid { bits: 3, bound: 2.0 }),
            (_, 0) => (DType::I32, Kind::Int { low: -3, high: 3 }),
            (_, 1) => (DType::Bool, Kind::Bool),
            _ => (DType::F32, Kind::Smooth(2.0)),
        };
        let bound = kind.bound();
        let grid = matches!(kind, Kind::Grid { .. });
        let requires_grad = kind.is_float() && (number == 0 || self.chance(60));
        let input = Input::new(shape.clone(), dtype, (-bound, bound));
        self.push(Step::Leaf { input, grid, requires_grad }, shape, kind);
    }

    /// A value that fits a test; recent ones more often, so that graphs grow deep.
    pub fn find(&mut self, fits: impl Fn(&Known) -> bool) -> Option<usize> {
        let candidates: Vec<usize> = (0..self.known.len()).filter(|&at| fits(&self.known[at])).collect();
        let count = candidates.len();
        if count == 0 {
            return None;
        }
        let recent = self.chance(60);
        let pick = if recent { count - 1 - self.below(count.min(3)) } else { self.below(count) };
        Some(candidates[pick])
    }

    fn find_float(&mut self) -> usize {
        self.find(|known| known.kind.is_float()).unwrap_or(0)
    }

    fn find_exact_float(&mut self) -> Option<usize> {
        self.find(|known| matches!(known.kind, Kind::Grid { .. }))
    }

    /// A value that broadcasts with a shape to something not too large, and fits a test.
    pub fn find_beside(&mut self, shape: &Shape, fits: impl Fn(&Known) -> bool) -> Option<usize> {
        self.find(|known| {
            fits(known) && shape.broadcast(&known.shape).is_some_and(|shape| shape.numel() <= MAX_NUMEL)
        })
    }

    /// The value, pressed into a range unless it is known to lie there.
    fn pressed(&mut self, at: usize, (low, high): (f64, f64)) -> usize {
        let bound = self.kind(at).bound();
        if -bound >= low && bound <= high {
            return at;
        }
        let kind = Kind::Smooth(low.abs().max(high.abs()));
        self.push(Step::Squeeze { from: at, low, high }, self.shape(at), kind)
    }

    pub fn tame(&mut self, at: usize) -> usize {
        self.pressed(at, (-TAME, TAME))
    }

    pub fn push_map(&mut self, op: &'static Elementwise, args: Vec<usize>, kind: Kind) -> usize {
        let shapes = args.iter().map(|&at| self.shape(at));
        let shape = shapes.reduce(|a, b| a.broadcast(&b).unwrap_or(a)).unwrap_or_default();
        self.push(Step::Map { op, args }, shape, kind)
    }

    fn map(&mut self) {
        if self.chance(25) && self.exact_map().is_some() {
            return;
        }
        // Mostly arithmetic; the long helper functions of the others now and then.
        let op = match self.chance(75) {
            true => entry(["add", "sub", "mul", "div", "neg", "relu", "sqrt", "maximum"][self.below(8)]),
            false => {
                let choice = self.below(self.smooth_ops.len());
                self.smooth_ops[choice]
            }
        };
        let first = self.find_float();
        let mut args = vec![first];
        let mut shape = self.shape(first);
        for _ in 1..op.args.len() {
            let other = self.find_beside(&shape, |known| known.kind.is_float()).unwrap_or(first);
            shape = shape.broadcast(&self.shape(other)).unwrap_or(shape);
            args.push(other);
        }
        let mut pressed = Vec::new();
        for (position, at) in args.into_iter().enumerate() {
            pressed.push(self.pressed(at, op.domain[position]));
        }
        let bound = |k: usize| self.kind(pressed[k]).bound();
        let kind = Kind::Smooth(match op.name {
            "add" | "sub" => bound(0) + bound(1),
            "mul" => bound(0) * bound(1),
            "neg" | "relu" => bound(0),
            "sin" | "cos" | "tanh" => 1.0,
            _ => 8.0,
        });
        self.push_map(op, pressed, kind);
    }

    /// Arithmetic that keeps values on their grid.
    fn exact_map(&mut self) -> Option<usize> {
        let a = self.find_exact_float()?;
        let b = self.find_beside(&self.shape(a), |known| matches!(known.kind, Kind::Grid { .. }))?;
        let (Kind::Grid { bits, bound }, Kind::Grid { bits: other, bound: more }) =
            (self.kind(a), self.kind(b))
        else {
            return None;
        };
        let (op, args, kind) = match self.below(6) {
            0 => (entry("add"), vec![a, b], Kind::Grid { bits: bits.max(other), bound: bound + more }),
            1 => (entry("sub"), vec![a, b], Kind::Grid { bits: bits.max(other), bound: bound + more }),
            2 => (entry("mul"), vec![a, b], Kind::Grid { bits: bits + other, bound: bound * more }),
            3 => (entry("neg"), vec![a], self.kind(a)),
            4 => (entry("relu"), vec![a], self.kind(a)),
            _ => (entry("floor"), vec![a], Kind::Grid { bits: 0, bound: bound.ceil() }),
        };
        kind.is_exact_or_tame().then(|| self.push_map(op, args, kind))
    }

    fn view(&mut self) {
        let from = self.find(|_| true).unwrap_or(0);
        let (shape, kind) = (self.shape(from), self.kind(from));
        let rank = shape.rank();
        match self.below(7) {
            0 => self.reshape(from),
            1 if rank > 1 => {
                let mut order: Vec<isize> = (0..rank as isize).collect();
                for k in (1..rank).rev() {
                    let other = self.below(k + 1);
                    order.swap(k, other);
                }
                let permuted = order.iter().map(|&dim| shape[dim as usize]).collect();
                self.push(Step::Permute { from, order }, permuted, kind);
            }
            2 => {
                let size = self.between(2, 4);
                let ones: Vec<usize> = (0..rank).filter(|&dim| shape[dim] == 1).collect();
                let expanded = match ones.first() {
                    Some(&dim) if self.chance(70) => shape.with(dim, size),
                    _ if rank < 5 => shape.inserted(0, size),
                    _ => return,
                };
                if expanded.numel() <= MAX_NUMEL {
                    self.push(Step::Expand { from, shape: expanded.clone() }, expanded, kind);
                }
            }
            3 | 4 if rank > 0 => {
                let dim = self.below(rank);
                let step = self.between(1, 3);
                let length = self.between(1, (shape[dim] - 1) / step + 1);
                let spare = shape[dim] - 1 - (length - 1) * step;
                let first = self.between(0, spare);
                let (start, step) = match self.chance(40) {
                    true => (first + (length - 1) * step, -(step as isize)),
                    false => (first, step as isize),
                };
                let start = start as i64;
                self.push(Step::Slice { from, dim, start, step, length }, shape.with(dim, length), kind);
            }
            5 if rank > 0 => {
                let dim = self.below(rank);
                let step = self.between(1, 2);
                let start = self.below(3);
                let size = start + (shape[dim] - 1) * step + 1 + self.below(3);
                let padded = shape.with(dim, size);
                if padded.numel() <= MAX_NUMEL {
                    let start = start as i64;
                    self.push(Step::Embed { from, dim, size, start, step }, padded, kind.or_zero());
                }
            }
            6 if rank > 0 && rank < 5 => {
                let dim = self.below(rank);
                let size = self.between(1, shape[dim].min(3));
                let step = self.between(1, 2);
                let count = (shape[dim] - size) / step + 1;
                let windows = shape.with(dim, count).inserted(rank, size);
                if windows.numel() <= MAX_NUMEL {
                    self.push(Step::Window { from, dim, size, step }, windows, kind);
                }
            }
            _ => {}
        }
    }

    /// Flattened, two dimensions joined, one split, or a dimension of size 1 put in.
    fn reshape(&mut self, from: usize) {
        let shape = self.shape(from);
        let rank = shape.rank();
        let reshaped = match self.below(4) {
            0 => Shape::from(shape.numel()),
            1 if rank > 1 => {
                let dim = self.below(rank - 1);
                shape.with(dim, shape[dim] * shape[dim + 1]).removed(dim + 1)
            }
            2 if rank > 0 && rank < 5 => {
                let dim = self.below(rank);
                let divisors: Vec<usize> =
                    (1..=shape[dim]).filter(|n| shape[dim].is_multiple_of(*n)).collect();
                let inner = divisors[self.below(divisors.len())];
                shape.with(dim, shape[dim] / inner).inserted(dim + 1, inner)
            }
            _ if rank < 5 => shape.inserted(self.below(rank + 1), 1),
            _ => return,
        };
        let kind = self.kind(from);
        self.push(Step::Reshape { from, shape: reshaped.clone() }, reshaped, kind);
    }

    fn reduce(&mut self) {
        let Some(from) = self.find(|known| known.kind != Kind::Bool && known.shape.rank() > 0) else {
            return;
        };
        let (shape, kind) = (self.shape(from), self.kind(from));
        let exact = !matches!(kind, Kind::Smooth(_));
        let reduction = match self.below(8) {
            0 if exact => ReduceKind::Max,
            1 if exact => ReduceKind::Min,
            2 if exact => ReduceKind::ArgMax,
            3 if exact => ReduceKind::ArgMin,
            4 if !exact => ReduceKind::Prod,
            _ => ReduceKind::Sum,
        };
        let mut dims = vec![self.below(shape.rank()) as isize];
        if matches!(reduction, ReduceKind::Sum | ReduceKind::Max | ReduceKind::Min) && self.chance(50) {
            let more = self.below(shape.rank()) as isize;
            if !dims.contains(&more) {
                dims.push(more);
            }
        }
        let reduced = dims.iter().fold(shape.clone(), |shape, &dim| shape.with(dim as usize, 1));
        let count = (shape.numel() / reduced.numel()) as f64;
        let from = if reduction == ReduceKind::Prod { self.pressed(from, (0.5, 1.5)) } else { from };
        let kind = match (reduction, kind) {
            (ReduceKind::ArgMax | ReduceKind::ArgMin, _) => {
                Kind::Int { low: 0, high: shape[dims[0] as usize] as i64 - 1 }
            }
            (ReduceKind::Prod, _) => Kind::Smooth(8.0),
            (ReduceKind::Sum, Kind::Smooth(bound)) => Kind::Smooth(bound * count),
            (ReduceKind::Sum, Kind::Grid { bits, bound }) => Kind::Grid { bits, bound: bound * count },
            (ReduceKind::Sum, Kind::Int { low, high }) => {
                Kind::Int { low: low.min(0) * count as i64, high: high.max(0) * count as i64 }
            }
            (_, kind) => kind,
        };
        if !kind.is_exact_or_tame() {
            return;
        }
        let at = self.push(Step::Reduce { from, kind: reduction, dims }, reduced.clone(), kind);
        if let Kind::Smooth(bound) = kind
            && bound > TAME
        {
            let by = 1.0 / count.sqrt();
            self.push(Step::Scale { from: at, by }, reduced, Kind::Smooth(bound * by));
        }
    }

    fn gather(&mut self) {
        let Some(from) = self.find(|known| known.shape.rank() > 0) else { return };
        let shape = self.shape(from);
        let dim = self.below(shape.rank());
        let size = shape[dim];
        let usable = |known: &Known| {
            let fits = known.shape.rank() == shape.rank()
                && (0..shape.rank()).all(|d| d == dim || known.shape[d] <= shape[d]);
            fits && matches!(known.kind, Kind::Int { low, high } if low >= 0 && high < size as i64)
        };
        let index = match self.find(usable) {
            Some(index) if self.chance(60) => index,
            _ => {
                let index_shape = shape.with(dim, self.between(1, 4));
                if index_shape.numel() > MAX_NUMEL {
                    return;
                }
                let values: Vec<f64> = (0..index_shape.numel()).map(|_| self.below(size) as f64).collect();
                let input = Input::given(index_shape.clone(), DType::I32, &values);
                let kind = Kind::Int { low: 0, high: size as i64 - 1 };
                self.push(Step::Leaf { input, grid: false, requires_grad: false }, index_shape, kind)
            }
        };
        let (shape, kind) = (self.shape(index), self.kind(from));
        self.push(Step::Gather { from, dim, index }, shape, kind);
    }

    fn matmul(&mut self) {
        let Some(a) = self.find(|known| known.kind.is_float() && known.shape.rank() >= 2) else { return };
        let shape = self.shape(a);
        let (rank, k) = (shape.rank(), shape[shape.rank() - 1]);
        let product_shape = |b: &Shape| -> Option<Shape> {
            let split = |s: &Shape| Shape::new(&s[..s.rank() - 2]);
            let fits = b.rank() >= 2 && b[b.rank() - 2] == k;
            let batches = fits.then(|| split(&shape).broadcast(&split(b)))??;
            let product: Shape = batches.iter().copied().chain([shape[rank - 2], b[b.rank() - 1]]).collect();
            (product.numel() <= MAX_NUMEL).then_some(product)
        };
        let other = self.find(|known| known.kind.is_float() && product_shape(&known.shape).is_some());
        let b = match other {
            Some(b) if self.chance(50) => b,
            _ => {
                let mut order: Vec<isize> = (0..rank as isize).collect();
                order.swap(rank - 1, rank - 2);
                let transposed: Shape = order.iter().map(|&dim| shape[dim as usize]).collect();
                let kind = self.kind(a);
                self.push(Step::Permute { from: a, order }, transposed, kind)
            }
        };
        let Some(product) = product_shape(&self.shape(b)) else { return };
        let (a, b) = (self.tame(a), self.tame(b));
        let bound = self.kind(a).bound() * self.kind(b).bound() * k as f64;
        let at = self.push(Step::MatMul { a, b }, product.clone(), Kind::Smooth(bound));
        let by = 1.0 / (k as f64 * TAME);
        self.push(Step::Scale { from: at, by }, product, Kind::Smooth(bound * by));
    }

    /// Comparisons, choices, casts and integer arithmetic, on exact values only.
    fn discrete(&mut self) {
        match self.below(6) {
            0 | 1 => {
                let Some(a) = self.find_exact_float() else { return };
                let exact = |known: &Known| matches!(known.kind, Kind::Grid { .. });
                let b = self.find_beside(&self.shape(a), exact).unwrap_or(a);
                let op = if self.chance(70) { entry("gt") } else { entry("eq") };
                self.push_map(op, vec![a, b], Kind::Bool);
            }
            2 | 3 => {
                let Some(condition) = self.find(|known| known.kind == Kind::Bool) else { return };
                let float = |known: &Known| known.kind.is_float();
                let Some(a) = self.find_beside(&self.shape(condition), float) else { return };
                let shape = self.shape(condition).broadcast(&self.shape(a)).unwrap_or_default();
                let b = self.find_beside(&shape, float).unwrap_or(a);
                let bound = self.kind(a).bound().max(self.kind(b).bound());
                let kind = match (self.kind(a), self.kind(b)) {
                    (Kind::Grid { bits, .. }, Kind::Grid { bits: other, .. }) => {
                        Kind::Grid { bits: bits.max(other), bound }
                    }
                    _ => Kind::Smooth(bound),
                };
                if kind.is_exact_or_tame() {
                    self.push_map(&SELECT, vec![condition, a, b], kind);
                }
            }
            4 => self.cast(),
            _ => {
                let integer = |known: &Known| matches!(known.kind, Kind::Int { low, high } if low > -4096 && high < 4096);
                let Some(a) = self.find(integer) else { return };
                let b = self.find_beside(&self.shape(a), integer).unwrap_or(a);
                let bound = 2 * self.kind(a).bound().max(self.kind(b).bound()) as i64 + 1;
                let kind = Kind::Int { low: -2 * bound, high: 2 * bound };
                let op = ["add", "sub", "bitand", "bitor", "bitxor"][self.below(5)];
                self.push_map(entry(op), vec![a, b], kind);
            }
        }
    }

    fn cast(&mut self) {
        let Some(from) = self.find(|known| !matches!(known.kind, Kind::Smooth(_))) else { return };
        let shape = self.shape(from);
        let (dtype, kind) = match (self.kind(from), self.below(3)) {
            (Kind::Grid { .. }, 0) | (Kind::Int { .. }, 0) => (DType::Bool, Kind::Bool),
            (Kind::Grid { bound, .. }, _) => {
                let bound = bound.ceil() as i64;
                (DType::I32, Kind::Int { low: -bound, high: bound })
            }
            (Kind::Int { .. } | Kind::Bool, _) => {
                (DType::F32, Kind::Grid { bits: 0, bound: self.kind(from).bound() })
            }
            (Kind::Smooth(_), _) => return,
        };
        if kind.is_exact_or_tame() {
            self.push(Step::Cast { from, dtype }, shape, kind);
        }
    }
}
