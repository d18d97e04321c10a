//! The gates of a step on the CPU, a row (one sequence) at a time. Each loop goes over few slices, so that the compiler
//! sees that they are apart and takes several units at once.

use super::Kind;
use crate::dtype::Element;
use crate::host::tiny::Factor;
use crate::op::elementwise::Real;
use num_traits::Num;

/// Floats that the CPU computes recurrences with.
pub(super) trait Number: Real + Factor + Element + Num + PartialOrd + Send + Sync {}
impl Number for f32 {}
impl Number for f64 {}

/// Something to be done with rows.
pub(super) trait Work {
    fn run(self);
}

/// Does it with the widest registers that the processor has; the results are equal to the bit.
pub(super) fn widely<W: Work>(work: W) {
    #[cfg(target_arch = "x86_64")]
    {
        #[target_feature(enable = "avx2")]
        fn wide<W: Work>(work: W) {
            work.run();
        }
        if std::arch::is_x86_feature_detected!("avx2") {
            // Safety: the processor has it.
            return unsafe { wide(work) };
        }
    }
    work.run();
}

#[inline(always)]
fn sigmoid<T: Number>(x: T) -> T {
    T::one() / (T::one() + Real::exp(T::zero() - x))
}

/// The derivative of the logistic function, from its value.
#[inline(always)]
fn slope<T: Number>(gate: T) -> T {
    gate * (T::one() - gate)
}

/// The derivative of the hyperbolic tangent, from its value.
#[inline(always)]
fn tanh_slope<T: Number>(y: T) -> T {
    T::one() - y * y
}

/// Replaces each number.
#[inline(always)]
fn change<T: Copy>(values: &mut [T], with: impl Fn(T) -> T) {
    values.iter_mut().for_each(|x| *x = with(*x));
}

/// Fills or changes `out` by what stands at the same place in the others.
#[inline(always)]
fn fill<T: Copy, const N: usize>(out: &mut [T], others: [&[T]; N], make: impl Fn(T, [T; N]) -> T) {
    let count = out.len();
    let others = others.map(|other| &other[..count]);
    for k in 0..count {
        out[k] = make(out[k], others.map(|other| other[k]));
    }
}

/// The gates of a row, each with all units.
#[inline(always)]
fn by_gate<T, const G: usize>(row: &[T]) -> [&[T]; G] {
    let units = row.len() / G;
    std::array::from_fn(|gate| &row[gate * units..(gate + 1) * units])
}

#[inline(always)]
fn by_gate_mut<T, const G: usize>(row: &mut [T]) -> [&mut [T]; G] {
    let units = row.len() / G;
    let mut gates = row.chunks_exact_mut(units);
    std::array::from_fn(|_| gates.next().expect("a row has its gates"))
}

/// h = tanh or relu of what is there.
pub(super) struct Plain<'a, T> {
    pub states: &'a mut [T],
    pub kind: Kind,
}

impl<T: Number> Work for Plain<'_, T> {
    #[inline(always)]
    fn run(self) {
        match self.kind {
            Kind::Relu => change(self.states, |x| if x < T::zero() { T::zero() } else { x }),
            _ => change(self.states, |x| Real::tanh(x)),
        }
    }
}

/// The gates become what their functions make of them; then c' = f c + i g and h' = o tanh c'.
pub(super) struct Lstm<'a, T> {
    pub gates: &'a mut [T],
    pub before: &'a [T],
    pub cell: &'a mut [T],
    pub hidden: &'a mut [T],
}

impl<T: Number> Work for Lstm<'_, T> {
    #[inline(always)]
    fn run(self) {
        let [i, f, g, o] = by_gate_mut(self.gates);
        change(i, sigmoid);
        change(f, sigmoid);
        change(g, |x| Real::tanh(x));
        change(o, sigmoid);
        fill(self.cell, [f, self.before, i, g], |_, [f, before, i, g]| f * before + i * g);
        fill(self.hidden, [o, self.cell], |_, [o, cell]| o * Real::tanh(cell));
    }
}

/// r, z = σ(x + s), n = tanh(x + r s), h' = n + z (h − n); r, z, n and n's s are kept.
pub(super) struct Gru<'a, T> {
    pub input: &'a [T],
    pub state: &'a [T],
    pub before: &'a [T],
    pub hidden: &'a mut [T],
    pub kept: &'a mut [T],
}

impl<T: Number> Work for Gru<'_, T> {
    #[inline(always)]
    fn run(self) {
        let ([x_r, x_z, x_n], [s_r, s_z, s_n]) = (by_gate(self.input), by_gate(self.state));
        let [r, z, n, share] = by_gate_mut(self.kept);
        fill(r, [x_r, s_r], |_, [x, s]| sigmoid(x + s));
        fill(z, [x_z, s_z], |_, [x, s]| sigmoid(x + s));
        share.copy_from_slice(s_n);
        fill(n, [x_n, r, s_n], |_, [x, r, s]| Real::tanh(x + r * s));
        fill(self.hidden, [n, z, self.before], |_, [n, z, before]| n + z * (before - n));
    }
}

/// The gates' gradients of a simple layer, from those of its states.
pub(super) struct PlainBackward<'a, T> {
    pub totals: &'a [T],
    pub states: &'a [T],
    pub gates: &'a mut [T],
    pub kind: Kind,
}

impl<T: Number> Work for PlainBackward<'_, T> {
    #[inline(always)]
    fn run(self) {
        let given = [self.totals, self.states];
        match self.kind {
            Kind::Relu => fill(self.gates, given, |_, [g, y]| if y > T::zero() { g } else { T::zero() }),
            _ => fill(self.gates, given, |_, [g, y]| g * tanh_slope(y)),
        }
    }
}

/// The gates' gradients of an LSTM, from that of its state; `carried` is what the step after gives the cell, and becomes
/// what the step before gets.
pub(super) struct LstmBackward<'a, T> {
    pub total: &'a [T],
    pub kept: &'a [T],
    pub before: &'a [T],
    pub cell: &'a [T],
    /// The cell's own gradient.
    pub grad: Option<&'a [T]>,
    pub carried: &'a mut [T],
    pub gates: &'a mut [T],
}

impl<T: Number> Work for LstmBackward<'_, T> {
    #[inline(always)]
    fn run(self) {
        let [i, f, g, o] = by_gate(self.kept);
        let [to_i, to_f, to_g, to_o] = by_gate_mut(self.gates);
        let cell = self.carried;
        if let Some(grad) = self.grad {
            fill(cell, [grad], |sum, [grad]| sum + grad);
        }
        // The cell as the state shows it has its place in the last gate's gradient meanwhile.
        fill(to_o, [self.cell], |_, [cell]| Real::tanh(cell));
        fill(cell, [self.total, o, to_o], |sum, [total, o, shown]| sum + total * o * tanh_slope(shown));
        fill(to_o, [self.total, o], |shown, [total, o]| total * shown * slope(o));
        fill(to_i, [cell, g, i], |_, [cell, g, i]| cell * g * slope(i));
        fill(to_f, [cell, self.before, f], |_, [cell, before, f]| cell * before * slope(f));
        fill(to_g, [cell, i, g], |_, [cell, i, g]| cell * i * tanh_slope(g));
        fill(cell, [f], |cell, [f]| cell * f);
    }
}

/// The gradients of both shares of a GRU's gates; `carried` is what the step after gives the state past its gates.
pub(super) struct GruBackward<'a, T> {
    pub total: &'a mut [T],
    pub kept: &'a [T],
    pub before: &'a [T],
    pub carried: &'a mut [T],
    pub input: &'a mut [T],
    pub state: &'a mut [T],
}

impl<T: Number> Work for GruBackward<'_, T> {
    #[inline(always)]
    fn run(self) {
        let [r, z, n, share] = by_gate(self.kept);
        let ([x_r, x_z, x_n], [s_r, s_z, s_n]) = (by_gate_mut(self.input), by_gate_mut(self.state));
        fill(self.total, [self.carried], |total, [carried]| total + carried);
        let total = &*self.total;
        fill(x_n, [total, z, n], |_, [total, z, n]| total * (T::one() - z) * tanh_slope(n));
        fill(x_z, [total, self.before, n, z], |_, [total, before, n, z]| total * (before - n) * slope(z));
        fill(x_r, [x_n, share, r], |_, [new, share, r]| new * share * slope(r));
        fill(s_n, [x_n, r], |_, [new, r]| new * r);
        s_r.copy_from_slice(x_r);
        s_z.copy_from_slice(x_z);
        fill(self.carried, [total, z], |_, [total, z]| total * z);
    }
}
