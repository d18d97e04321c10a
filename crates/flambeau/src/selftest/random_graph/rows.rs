//! Draws values with what their rows reduce to, as softmax and normalisation are made of: what kernels of several
//! phases come from.

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
}
