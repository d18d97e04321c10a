//! Random numbers from random bits; used by `rand`, `randn` and their kin.

use super::{Elementwise, Signature};
use crate::host::{View, ViewMut};
use crate::ir::Map;
use crate::op::Autocast;
use crate::op::{Saves, not_differentiable};
use crate::rng;

macro_rules! from_bits {
    ($(#[$doc:meta])* $static:ident, $name:literal, $number:expr, $wgsl:literal) => {
        $(#[$doc])*
        pub(crate) static $static: Elementwise = Elementwise {
            map: Map {
                name: $name,
                args: &["bits"],
                cpu: |_| Some(|args, out| convert(args[0], out, $number)),
                wgsl: $wgsl,
                wgsl_int: $wgsl,
                wgsl_uint: $wgsl,
                wgsl_bool: $wgsl,
                wgsl_helpers: &[rng::WGSL],
                is_cheap: false,
            },
            signature: Signature::FromBits,
            autocast: Autocast::Widest,
            saves: Saves::NOTHING,
            vjp: not_differentiable,
            differentiable: false,
            domain: &[(0.0, 4294967295.0)],
            tolerance: None,
        };
    };
}

from_bits!(
    /// Bits to a uniform number in [0, 1).
    UNIFORM, "uniform_from_bits", rng::uniform, "fl_uniform({bits})"
);
from_bits!(
    /// Bits to a standard normal number.
    NORMAL, "normal_from_bits", rng::normal, "fl_normal({bits})"
);

pub(super) static TABLE: &[&Elementwise] = &[&UNIFORM, &NORMAL];

/// The interpreter's integers are I64 and its floats F64; the backends' are U32 and F32.
fn convert(bits: View, out: ViewMut, number: fn(u32) -> f32) {
    match (bits, out) {
        (View::U32(bits), ViewMut::F32(out)) => {
            out.iter_mut().zip(bits).for_each(|(out, &bits)| *out = number(bits));
        }
        (View::I64(bits), ViewMut::F64(out)) => {
            out.iter_mut().zip(bits).for_each(|(out, &bits)| *out = f64::from(number(bits as u32)));
        }
        (bits, out) => unreachable!("random bits of {bits:?} to {out:?}"),
    }
}
