//! What a kernel knows of an elementwise function: how each backend computes one element.

use crate::dtype::{DType, Lane};
use crate::host::BlockFn;
use std::hash::{Hash, Hasher};

/// An elementwise function.
pub(crate) struct Map {
    pub name: &'static str,
    /// The operands' names, as the WGSL templates use them.
    pub args: &'static [&'static str],
    /// The block function of a lane type, where the function has one.
    pub cpu: fn(Lane) -> Option<BlockFn>,
    /// The WGSL expression over `{name}` operands, for float lanes and for the others; see [`Map::wgsl_of`].
    pub wgsl: &'static str,
    pub wgsl_int: &'static str,
    pub wgsl_uint: &'static str,
    pub wgsl_bool: &'static str,
    /// Sources of the functions the expressions call. A function that several share is the same text in each, and goes
    /// into a shader once.
    pub wgsl_helpers: &'static [&'static str],
    /// Do few instructions compute it, so that every kernel that uses it may compute it again?
    pub is_cheap: bool,
}

impl Map {
    /// The WGSL expression for a lane type.
    pub fn wgsl_of(&self, lane: Lane) -> &'static str {
        match lane {
            Lane::F32 => self.wgsl,
            Lane::I32 => self.wgsl_int,
            Lane::U32 => self.wgsl_uint,
            Lane::Bool => self.wgsl_bool,
            Lane::I64 | Lane::F64 => unreachable!("the GPU has no {lane:?}"),
        }
    }

    /// The lane type the expression is evaluated in, given its operands' dtypes.
    pub fn lane(&self, args: &[DType]) -> Lane {
        args[args.len() - 1].lane()
    }
}

impl PartialEq for Map {
    fn eq(&self, other: &Self) -> bool {
        std::ptr::eq(self, other)
    }
}
impl Eq for Map {}
impl Hash for Map {
    fn hash<H: Hasher>(&self, state: &mut H) {
        std::ptr::from_ref(self).hash(state);
    }
}
impl std::fmt::Debug for Map {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(self.name)
    }
}
