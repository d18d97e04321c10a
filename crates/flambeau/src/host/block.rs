//! Blocks of values of one lane type, and the functions that run an elementwise primitive over them.

use crate::dtype::Lane;
use std::ops::Range;

/// Values of one lane type.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    Bool(Vec<bool>),
    U32(Vec<u32>),
    I32(Vec<i32>),
    I64(Vec<i64>),
    F32(Vec<f32>),
    F64(Vec<f64>),
}

/// Runs one primitive: reads a block per operand, fills the output block.
pub(crate) type BlockFn = fn(&[&Block], &mut Block);

/// Runs `$body` with every block type's vector bound to `$values`.
macro_rules! each_lane {
    ($block:expr, $values:ident => $body:expr) => {
        match $block {
            Block::Bool($values) => $body,
            Block::U32($values) => $body,
            Block::I32($values) => $body,
            Block::I64($values) => $body,
            Block::F32($values) => $body,
            Block::F64($values) => $body,
        }
    };
}
pub(crate) use each_lane;

impl Block {
    /// A block of `len` zeros.
    pub fn new(lane: Lane, len: usize) -> Block {
        match lane {
            Lane::Bool => Block::Bool(vec![false; len]),
            Lane::U32 => Block::U32(vec![0; len]),
            Lane::I32 => Block::I32(vec![0; len]),
            Lane::I64 => Block::I64(vec![0; len]),
            Lane::F32 => Block::F32(vec![0.0; len]),
            Lane::F64 => Block::F64(vec![0.0; len]),
        }
    }

    pub fn len(&self) -> usize {
        each_lane!(self, values => values.len())
    }

    /// Copies another block of the same lane type to `start` and after.
    pub fn copy_from(&mut self, start: usize, other: &Block) {
        each_lane!(self, values => {
            let from = Lanes::slice(other);
            values[start..start + from.len()].copy_from_slice(from);
        })
    }

    /// A copy of some of its values.
    pub fn part(&self, values: Range<usize>) -> Block {
        match self {
            Block::Bool(all) => Block::Bool(all[values].to_vec()),
            Block::U32(all) => Block::U32(all[values].to_vec()),
            Block::I32(all) => Block::I32(all[values].to_vec()),
            Block::I64(all) => Block::I64(all[values].to_vec()),
            Block::F32(all) => Block::F32(all[values].to_vec()),
            Block::F64(all) => Block::F64(all[values].to_vec()),
        }
    }

    /// Shortens or lengthens the block; new elements are zero.
    pub fn resize(&mut self, len: usize) {
        each_lane!(self, values => values.resize(len, Default::default()))
    }
}

/// A Rust type that is a lane.
pub(crate) trait Lanes: Copy + Default + Send + Sync + 'static {
    fn slice(block: &Block) -> &[Self];
    fn slice_mut(block: &mut Block) -> &mut [Self];
}

macro_rules! lanes {
    ($($t:ty => $lane:ident),*) => { $(
        impl Lanes for $t {
            fn slice(block: &Block) -> &[Self] {
                match block {
                    Block::$lane(values) => values,
                    other => unreachable!("expected a block of {:?}, got {other:?}", Lane::$lane),
                }
            }
            fn slice_mut(block: &mut Block) -> &mut [Self] {
                match block {
                    Block::$lane(values) => values,
                    other => unreachable!("expected a block of {:?}, got {other:?}", Lane::$lane),
                }
            }
        }
    )* };
}
lanes!(bool => Bool, u32 => U32, i32 => I32, i64 => I64, f32 => F32, f64 => F64);

/// Functions that are compiled twice for x86-64: for every processor, and for those with AVX2, whose registers are twice
/// as wide. They do the same, without merged products and sums: the results are equal to the bit.
macro_rules! widest {
    ($(#[$doc:meta])* fn $name:ident($($arg:ident: $t:ty),*) $(-> $r:ty)? $body:block) => {
        $(#[$doc])*
        fn $name($($arg: $t),*) $(-> $r)? {
            #[inline(always)]
            fn plain($($arg: $t),*) $(-> $r)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $t),*) $(-> $r)? {
                    plain($($arg),*)
                }
                if std::arch::is_x86_feature_detected!("avx2") {
                    // Safety: the processor has it.
                    return unsafe { wide($($arg),*) };
                }
            }
            plain($($arg),*)
        }
    };
}
pub(crate) use widest;

/// The block function of an expression over named operands.
macro_rules! block_fn {
    ([$($arg:ident),*] f32 => $r:ty, $body:expr) => { {
        $crate::host::widest! {
            fn run(args: &[&Block], out: &mut Block) {
                $crate::host::block_fn!(@loop args out [$($arg),*] f32 => $r, $body)
            }
        }
        run as BlockFn
    } };
    ([$($arg:ident),*] $t:ty => $r:ty, $body:expr) => { {
        fn run(args: &[&Block], out: &mut Block) {
            $crate::host::block_fn!(@loop args out [$($arg),*] $t => $r, $body)
        }
        run as BlockFn
    } };
    (@loop $args:ident $out:ident [$($arg:ident),*] $t:ty => $r:ty, $body:expr) => { {
        let out = <$r as Lanes>::slice_mut($out);
        let len = out.len();
        let mut args = $args.iter();
        $(let $arg = &<$t as Lanes>::slice(args.next().expect("arity is fixed by the table"))[..len];)*
        for i in 0..len {
            $(let $arg = $arg[i];)*
            out[i] = $body;
        }
    } };
}
pub(crate) use block_fn;
