//! Draws values with what their rows reduce to, as softmax, normalisation and gradients of broadcasts are made of: what
//! kernels of several phases come from.

use super::generate::{Generator, entry};
use super::kind::Kind;
use super::recipe::Step;
use crate::op::ReduceKind;

impl Generator {
    /// A value less or times a sum over its rows, up to three times over the same dimension.
    pub fn rows(&mut self) {
        let Some(mut at) = self.find(|known| known.kind.is_float() && known.shape.rank() > 0) else { return };
        let dim = self.below(self.shape(at).rank());
        for _ in 0..1 + self.below(3) {
            at = self.tame(at);
            let (shape, kind) = (self.shape(at), self.kind(at));
            let count = shape[dim] as f64;
            let reduced = shape.with(dim, 1);
            let reduce = Step::Reduce { from: at, kind: ReduceKind::Sum, dims: vec![dim as isize] };
            let sum = self.push(reduce, reduced.clone(), Kind::Smooth(kind.bound() * count));
            let mean = Step::Scale { from: sum, by: 1.0 / count };
            let mean = self.push(mean, reduced, Kind::Smooth(kind.bound()));
            let op = entry(["sub", "mul"][self.below(2)]);
            let bound = match op.name {
                "sub" => 2.0 * kind.bound(),
                _ => kind.bound() * kind.bound(),
            };
            at = self.push_map(op, vec![at, mean], Kind::Smooth(bound));
        }
    }

    /// Σ over some dimensions of (a ∘ b), combined with a again: a is used inside the sum and after it, as in the
    /// gradient of a broadcast.
    pub fn used_twice(&mut self) {
        let Some(a) = self.find(|known| known.kind.is_float() && known.shape.rank() > 0) else { return };
        let Some(b) = self.find_beside(&self.shape(a), |known| known.kind.is_float()) else { return };
        let (a, b) = (self.tame(a), self.tame(b));
        let op = entry(["sub", "mul"][self.below(2)]);
        let inner = self.push_map(op, vec![a, b], Kind::Smooth(self.kind(a).bound() * 4.0));
        let inner = self.tame(inner);
        let shape = self.shape(inner);
        let mut dims: Vec<isize> = (0..shape.rank() as isize).filter(|_| self.below(2) == 0).collect();
        if dims.is_empty() {
            dims.push(self.below(shape.rank()) as isize);
        }
        let reduced = dims.iter().fold(shape.clone(), |shape, &dim| shape.with(dim as usize, 1));
        let count = (shape.numel() / reduced.numel()) as f64;
        let bound = Kind::Smooth(self.kind(inner).bound() * count);
        let sum = self.push(Step::Reduce { from: inner, kind: ReduceKind::Sum, dims }, reduced, bound);
        let sum = self.tame(sum);
        self.push_map(entry("mul"), vec![sum, a], Kind::Smooth(16.0));
    }
}
