//! Blocks of values of one lane type, and the functions that run an elementwise primitive over them.

use super::Aligned;
use crate::dtype::Lane;
use std::ops::Range;

/// Values of one lane type.
#[derive(Debug, Clone)]
pub(crate) enum Block {
    Bool(Aligned<bool>),
    U32(Aligned<u32>),
    I32(Aligned<i32>),
    I64(Aligned<i64>),
    F32(Aligned<f32>),
    F64(Aligned<f64>),
}

/// Values of one lane type in somebody else's memory: a block's, or what a kernel reads.
#[derive(Debug, Clone, Copy)]
pub(crate) enum View<'a> {
    Bool(&'a [bool]),
    U32(&'a [u32]),
    I32(&'a [i32]),
    I64(&'a [i64]),
    F32(&'a [f32]),
    F64(&'a [f64]),
}

/// Places for values of one lane type: a block's, or what a kernel writes.
#[derive(Debug)]
pub(crate) enum ViewMut<'a> {
    Bool(&'a mut [bool]),
    U32(&'a mut [u32]),
    I32(&'a mut [i32]),
    I64(&'a mut [i64]),
    F32(&'a mut [f32]),
    F64(&'a mut [f64]),
}

/// Runs one primitive: reads the values of each operand, fills the places of the result. An operand has a value for every
/// place, or one for all of them.
pub(crate) type BlockFn = fn(&[View], ViewMut);

/// The most operands that a primitive has.
pub(crate) const MOST_OPERANDS: usize = 3;

macro_rules! each_view {
    ($view:expr, $variant:ident, $values:ident => $body:expr) => {
        match $view {
            $variant::Bool($values) => $variant::Bool($body),
            $variant::U32($values) => $variant::U32($body),
            $variant::I32($values) => $variant::I32($body),
            $variant::I64($values) => $variant::I64($body),
            $variant::F32($values) => $variant::F32($body),
            $variant::F64($values) => $variant::F64($body),
        }
    };
}

impl<'a> View<'a> {
    pub fn len(self) -> usize {
        match self {
            View::Bool(values) => values.len(),
            View::U32(values) => values.len(),
            View::I32(values) => values.len(),
            View::I64(values) => values.len(),
            View::F32(values) => values.len(),
            View::F64(values) => values.len(),
        }
    }

    /// Some of the values.
    pub fn part(self, values: Range<usize>) -> View<'a> {
        each_view!(self, View, all => &all[values])
    }
}

impl<'a> ViewMut<'a> {
    pub fn len(&self) -> usize {
        match self {
            ViewMut::Bool(places) => places.len(),
            ViewMut::U32(places) => places.len(),
            ViewMut::I32(places) => places.len(),
            ViewMut::I64(places) => places.len(),
            ViewMut::F32(places) => places.len(),
            ViewMut::F64(places) => places.len(),
        }
    }

    /// Some of the places.
    pub fn part(&mut self, places: Range<usize>) -> ViewMut<'_> {
        each_view!(self, ViewMut, all => &mut all[places])
    }
}

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
            Lane::Bool => Block::Bool(Aligned::zeroed(len)),
            Lane::U32 => Block::U32(Aligned::zeroed(len)),
            Lane::I32 => Block::I32(Aligned::zeroed(len)),
            Lane::I64 => Block::I64(Aligned::zeroed(len)),
            Lane::F32 => Block::F32(Aligned::zeroed(len)),
            Lane::F64 => Block::F64(Aligned::zeroed(len)),
        }
    }

    pub fn len(&self) -> usize {
        each_lane!(self, values => values.len())
    }

    pub fn view(&self) -> View<'_> {
        match self {
            Block::Bool(values) => View::Bool(values),
            Block::U32(values) => View::U32(values),
            Block::I32(values) => View::I32(values),
            Block::I64(values) => View::I64(values),
            Block::F32(values) => View::F32(values),
            Block::F64(values) => View::F64(values),
        }
    }

    pub fn view_mut(&mut self) -> ViewMut<'_> {
        match self {
            Block::Bool(values) => ViewMut::Bool(values),
            Block::U32(values) => ViewMut::U32(values),
            Block::I32(values) => ViewMut::I32(values),
            Block::I64(values) => ViewMut::I64(values),
            Block::F32(values) => ViewMut::F32(values),
            Block::F64(values) => ViewMut::F64(values),
        }
    }

    /// Copies values of the same lane type to `start` and after.
    pub fn copy_from(&mut self, start: usize, other: View) {
        each_lane!(self, values => {
            let from = Lanes::slice(other);
            values[start..start + from.len()].copy_from_slice(from);
        })
    }

    /// A copy of some of its values.
    pub fn part(&self, values: Range<usize>) -> Block {
        match self {
            Block::Bool(all) => Block::Bool(all[values].to_vec().into()),
            Block::U32(all) => Block::U32(all[values].to_vec().into()),
            Block::I32(all) => Block::I32(all[values].to_vec().into()),
            Block::I64(all) => Block::I64(all[values].to_vec().into()),
            Block::F32(all) => Block::F32(all[values].to_vec().into()),
            Block::F64(all) => Block::F64(all[values].to_vec().into()),
        }
    }

    /// Shortens or lengthens the block; new elements are anything.
    pub fn resize(&mut self, len: usize) {
        each_lane!(self, values => values.resize(len))
    }
}

/// A Rust type that is a lane.
pub(crate) trait Lanes: Copy + Default + Send + Sync + 'static {
    fn slice(view: View<'_>) -> &[Self];
    fn slice_mut(view: ViewMut<'_>) -> &mut [Self];
}

macro_rules! lanes {
    ($($t:ty => $lane:ident),*) => { $(
        impl Lanes for $t {
            fn slice(view: View<'_>) -> &[Self] {
                match view {
                    View::$lane(values) => values,
                    other => unreachable!("expected values of {:?}, got {other:?}", Lane::$lane),
                }
            }
            fn slice_mut(view: ViewMut<'_>) -> &mut [Self] {
                match view {
                    ViewMut::$lane(values) => values,
                    other => unreachable!("expected places of {:?}, got {other:?}", Lane::$lane),
                }
            }
        }
    )* };
}
lanes!(bool => Bool, u32 => U32, i32 => I32, i64 => I64, f32 => F32, f64 => F64);

/// Functions that are compiled three times for x86-64: for every processor, and for those with AVX2 and AVX-512, whose
/// registers are twice and four times as wide. They do the same, without merged products and sums: the results are equal
/// to the bit.
macro_rules! widest {
    ($(#[$doc:meta])* $vis:vis fn $name:ident($($arg:ident: $t:ty),*) $(-> $r:ty)? $body:block) => {
        $(#[$doc])*
        $vis fn $name($($arg: $t),*) $(-> $r)? {
            #[inline(always)]
            fn plain($($arg: $t),*) $(-> $r)? $body
            #[cfg(target_arch = "x86_64")]
            {
                #[target_feature(enable = "avx2")]
                fn wide($($arg: $t),*) $(-> $r)? {
                    plain($($arg),*)
                }
                #[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl")]
                fn widest($($arg: $t),*) $(-> $r)? {
                    plain($($arg),*)
                }
                use std::arch::is_x86_feature_detected;
                if is_x86_feature_detected!("avx512f")
                    && is_x86_feature_detected!("avx512bw")
                    && is_x86_feature_detected!("avx512dq")
                    && is_x86_feature_detected!("avx512vl")
                {
                    // Safety: the processor has it.
                    return unsafe { widest($($arg),*) };
                }
                if is_x86_feature_detected!("avx2") {
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
            fn run(args: &[View], out: ViewMut) {
                $crate::host::block_fn!(@loop args out [$($arg),*] f32 => $r, $body)
            }
        }
        run as BlockFn
    } };
    // Numbers from random bits.
    ([$arg:ident] u32 => f32, $body:expr) => { {
        $crate::host::widest! {
            fn run(args: &[View], out: ViewMut) {
                $crate::host::block_fn!(@loop args out [$arg] u32 => f32, $body)
            }
        }
        run as BlockFn
    } };
    ([$($arg:ident),*] $t:ty => $r:ty, $body:expr) => { {
        fn run(args: &[View], out: ViewMut) {
            $crate::host::block_fn!(@loop args out [$($arg),*] $t => $r, $body)
        }
        run as BlockFn
    } };
    // Of two operands one may be a number for all places: it stays in a register then. A page, which has to fetch all that, has it for
    // floats alone.
    (@loop $args:ident $out:ident [$x:ident, $y:ident] f32 => $r:ty, $body:expr) => {
        $crate::host::block_fn!(@two $args $out [$x, $y] f32 => $r, $body)
    };
    (@loop $args:ident $out:ident [$x:ident, $y:ident] $t:ty => $r:ty, $body:expr) => { {
        #[cfg(not(target_arch = "wasm32"))]
        $crate::host::block_fn!(@two $args $out [$x, $y] $t => $r, $body);
        #[cfg(target_arch = "wasm32")]
        $crate::host::block_fn!(@any $args $out [$x, $y] $t => $r, $body);
    } };
    // Of three operands the last two are often numbers for all places.
    (@loop $args:ident $out:ident [$x:ident, $y:ident, $z:ident] $t:ty => $r:ty, $body:expr) => { {
        let [x, y, z] = [0, 1, 2].map(|number| <$t as Lanes>::slice($args[number]));
        if y.len() == 1 && z.len() == 1 && x.len() > 1 {
            let out = <$r as Lanes>::slice_mut($out);
            let ($y, $z, x) = (y[0], z[0], &x[..out.len()]);
            for i in 0..x.len() {
                let $x = x[i];
                out[i] = $body;
            }
        } else {
            $crate::host::block_fn!(@any $args $out [$x, $y, $z] $t => $r, $body)
        }
    } };
    (@loop $args:ident $out:ident [$($arg:ident),*] $t:ty => $r:ty, $body:expr) => {
        $crate::host::block_fn!(@any $args $out [$($arg),*] $t => $r, $body)
    };
    (@two $args:ident $out:ident [$x:ident, $y:ident] $t:ty => $r:ty, $body:expr) => { {
        let out = <$r as Lanes>::slice_mut($out);
        let len = out.len();
        let ($x, $y) = (<$t as Lanes>::slice($args[0]), <$t as Lanes>::slice($args[1]));
        match ($x.len() >= len, $y.len() >= len) {
            (true, true) => {
                let ($x, $y) = (&$x[..len], &$y[..len]);
                for i in 0..len {
                    let ($x, $y) = ($x[i], $y[i]);
                    out[i] = $body;
                }
            }
            (true, false) => {
                let ($x, $y) = (&$x[..len], $y[0]);
                for i in 0..len {
                    let $x = $x[i];
                    out[i] = $body;
                }
            }
            (false, true) => {
                let ($x, $y) = ($x[0], &$y[..len]);
                for i in 0..len {
                    let $y = $y[i];
                    out[i] = $body;
                }
            }
            (false, false) => {
                let ($x, $y) = ($x[0], $y[0]);
                out.fill($body);
            }
        }
    } };
    (@any $args:ident $out:ident [$($arg:ident),*] $t:ty => $r:ty, $body:expr) => { {
        let out = <$r as Lanes>::slice_mut($out);
        let len = out.len();
        let mut args = $args.iter();
        $(let $arg = <$t as Lanes>::slice(*args.next().expect("arity is fixed by the table"));)*
        if [$($arg.len()),*].iter().all(|&values| values >= len) {
            $(let $arg = &$arg[..len];)*
            for i in 0..len {
                $(let $arg = $arg[i];)*
                out[i] = $body;
            }
        } else {
            for i in 0..len {
                $(let $arg = $arg[if $arg.len() >= len { i } else { 0 }];)*
                out[i] = $body;
            }
        }
    } };
}
pub(crate) use block_fn;
