//! What the generator knows about a value: how large it can be, and whether f32 arithmetic on it is exact.

/// Values on a grid stay below this many steps of it: f32 holds them exactly, and sums of some more.
const MAX_GRID_STEPS: f64 = 65536.0;

/// What is known about a value.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Kind {
    /// A float up to about this size.
    Smooth(f64),
    /// A multiple of 2^−bits up to this size.
    Grid {
        bits: i32,
        bound: f64,
    },
    /// An I32 in a range.
    Int {
        low: i64,
        high: i64,
    },
    Bool,
}

impl Kind {
    pub fn is_float(self) -> bool {
        matches!(self, Kind::Smooth(_) | Kind::Grid { .. })
    }

    pub fn bound(self) -> f64 {
        match self {
            Kind::Smooth(bound) | Kind::Grid { bound, .. } => bound,
            Kind::Int { low, high } => low.abs().max(high.abs()) as f64,
            Kind::Bool => 1.0,
        }
    }

    /// The kind of values that are zero or of this kind.
    pub fn or_zero(self) -> Kind {
        match self {
            Kind::Int { low, high } => Kind::Int { low: low.min(0), high: high.max(0) },
            other => other,
        }
    }
}

impl Kind {
    /// Is it small enough to go on with: exact in f32 if it is meant to be?
    pub fn is_exact_or_tame(self) -> bool {
        match self {
            Kind::Grid { bits, bound } => {
                bits <= 12 && bound * f64::from(1u32 << bits.clamp(0, 31)) <= MAX_GRID_STEPS
            }
            Kind::Int { low, high } => low > -60000 && high < 60000,
            Kind::Smooth(bound) => bound < 1e4,
            Kind::Bool => true,
        }
    }
}
