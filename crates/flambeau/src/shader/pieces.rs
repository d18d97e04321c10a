//! Small pieces of WGSL that fused and structured kernels share: types, conversions, uniform parameters.

use crate::dtype::{DType, Lane};
use crate::error::{Error, Result};
use crate::ir::program::{Param, Tier};
use std::sync::Arc;

/// The type a dtype is stored as in GPU memory. Small types are widened to 32 bits.
pub(crate) fn storage_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool | DType::U8 | DType::U32 => "u32",
        DType::I32 => "i32",
        DType::F16 => "f16",
        DType::F32 => "f32",
        DType::I64 | DType::F64 => unreachable!("the GPU has no {dtype}"),
    }
}

/// Bytes of one element in GPU memory.
pub(crate) fn storage_bytes(dtype: DType) -> u64 {
    if dtype == DType::F16 { 2 } else { 4 }
}

/// The type a dtype is computed in.
pub(crate) fn lane_type(dtype: DType) -> &'static str {
    match dtype.lane() {
        Lane::Bool => "bool",
        Lane::U32 => "u32",
        Lane::I32 => "i32",
        Lane::F32 => "f32",
        Lane::I64 | Lane::F64 => unreachable!("the GPU has no {dtype}"),
    }
}

/// A stored element as the type it is computed in.
pub(crate) fn widen(dtype: DType, stored: &str) -> String {
    match dtype {
        DType::Bool => format!("({stored} != 0u)"),
        DType::F16 => format!("f32({stored})"),
        _ => stored.to_string(),
    }
}

/// A computed value as the type it is stored in.
pub(crate) fn narrow(dtype: DType, value: &str) -> String {
    match dtype {
        DType::Bool => format!("select(0u, 1u, {value})"),
        DType::U8 => format!("({value} & 0xffu)"),
        DType::F16 => format!("f16({value})"),
        _ => value.to_string(),
    }
}

/// Zero in the type a dtype is computed in.
pub(crate) fn zero(dtype: DType) -> &'static str {
    match dtype.lane() {
        Lane::Bool => "false",
        Lane::U32 => "0u",
        Lane::I32 | Lane::I64 => "0i",
        Lane::F32 | Lane::F64 => "0.0",
    }
}

/// Floats to integers, towards zero: those beyond the range its nearest end, NaN 0. WGSL's own conversions leave NaN
/// open and end at the last float within the range.
pub(crate) const TO_INTEGER: &str = "
fn fl_to_i32(x: f32) -> i32 {
    if ((bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u) { return 0; }
    return select(i32(clamp(x, -2147483648.0, 2147483520.0)), 2147483647, x >= 2147483648.0);
}
fn fl_to_u32(x: f32) -> u32 {
    if ((bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u) { return 0u; }
    return select(u32(clamp(x, 0.0, 4294967040.0)), 0xffffffffu, x >= 4294967296.0);
}
";

/// A number rounded to f16, in f32. `zero` is WGSL of a 0 that the driver does not know: NVIDIA's takes `f32(f16(x))` for x, and would
/// take the two halves of this for each other's inverse.
pub(crate) fn rounded_to_half(value: &str, zero: &str) -> String {
    format!("unpack2x16float(pack2x16float(vec2<f32>({value}, 0.0)) | {zero}).x")
}

/// A computed value of one dtype as another's lane type; floats to integers need [`TO_INTEGER`], and F16 is still to be rounded to
/// ([`rounded_to_half`]).
pub(crate) fn convert(value: &str, from: DType, to: DType) -> String {
    let converted = match (from.lane(), to.lane()) {
        (Lane::Bool, Lane::Bool) => value.to_string(),
        (Lane::Bool, Lane::F32) => format!("select(0.0, 1.0, {value})"),
        (Lane::Bool, Lane::U32) => format!("select(0u, 1u, {value})"),
        (Lane::Bool, Lane::I32) => format!("select(0i, 1i, {value})"),
        // By its bits, because NaN is true and compilers may assume there are none.
        (Lane::F32, Lane::Bool) => format!("((bitcast<u32>({value}) & 0x7fffffffu) != 0u)"),
        (_, Lane::Bool) => format!("({value} != {})", zero(from)),
        (a, b) if a == b => value.to_string(),
        (_, Lane::F32) => format!("f32({value})"),
        (Lane::F32, Lane::U32) if to == DType::U8 => format!("min(fl_to_u32({value}), 255u)"),
        (Lane::F32, Lane::U32) => format!("fl_to_u32({value})"),
        (Lane::F32, Lane::I32) => format!("fl_to_i32({value})"),
        (_, Lane::U32) => format!("u32({value})"),
        (_, Lane::I32) => format!("i32({value})"),
        (_, Lane::I64 | Lane::F64) => unreachable!("the GPU has no {to}"),
    };
    match to {
        DType::U8 => format!("({converted} & 0xffu)"),
        _ => converted,
    }
}

/// WGSL of a word of the uniform block.
fn word_at(at: usize) -> String {
    format!("params[{}].{}", at / 4, ["x", "y", "z", "w"][at % 4])
}

/// The numbers of a kernel's uniform block, `params: array<vec4<u32>, N>`. Equal numbers have places of their own, so that
/// the shader's text does not depend on which are equal.
#[derive(Debug, Default)]
pub(crate) struct Params {
    pub list: Vec<Param>,
    tier: Tier,
    /// The block that the numbers are found in, if it is another shader's.
    block: Option<Arc<[Param]>>,
}

impl Params {
    /// Numbers of a text of a tier.
    pub fn of(tier: Tier) -> Params {
        Params { tier, ..Params::default() }
    }

    /// Numbers of a text that finds them in another shader's block.
    pub fn within(block: &Arc<[Param]>, tier: Tier) -> Params {
        Params { tier, block: Some(block.clone()), ..Params::default() }
    }

    /// Are the numbers found in another shader's block?
    pub fn finds_numbers(&self) -> bool {
        self.block.is_some()
    }

    pub fn tier(&self) -> Tier {
        self.tier
    }

    /// Adds a number; returns the WGSL that stands for it: in a specialised text the number itself, if it never changes.
    pub fn push(&mut self, param: Param) -> String {
        if let Some(word) = param.constant().filter(|_| self.tier.is_specialised()) {
            self.list.push(param);
            return format!("{word}u");
        }
        let place = match &self.block {
            // What is not there is found out by who wants to use the block.
            Some(block) => block.iter().position(|known| *known == param).unwrap_or(0),
            None => self.list.len(),
        };
        self.list.push(param);
        word_at(place)
    }

    /// Adds a number that belongs to the run, not to one kernel's sizes: it is there once.
    pub fn shared(&mut self, param: Param) -> String {
        match self.list.iter().position(|known| *known == param) {
            Some(at) if self.block.is_none() => word_at(at),
            _ => self.push(param),
        }
    }

    pub fn size(&mut self, size: usize) -> String {
        self.push(Param::Fixed(size as u32))
    }

    /// A stride; index arithmetic wraps, so a negative one works too.
    pub fn stride(&mut self, stride: i64) -> String {
        self.push(Param::Fixed(stride as u32))
    }

    /// The length of the array; at least one, as WGSL has no empty arrays.
    pub fn vectors(&self) -> usize {
        self.block.as_ref().map_or(self.list.len(), |block| block.len()).div_ceil(4).max(1)
    }
}

/// What kernels do with the device's status words. A slot is four words: the run that had a fault, the node, the run in which it
/// began, and a value (see `wgpu::fault`).
pub(super) const STATUS: &str = "
fn fl_fault(slot: u32, run: u32, node: u32, value: u32) {
    if (atomicExchange(&status[slot], run) != run) {
        atomicStore(&status[slot + 1u], node);
        atomicStore(&status[slot + 2u], run);
        atomicStore(&status[slot + 3u], value);
    }
}
fn fl_take_over(slot: u32, run: u32, other: u32, its_run: u32, after: u32) -> bool {
    if (other == 0u) { return false; }
    if (atomicLoad(&status[other]) != its_run || atomicLoad(&status[other + 2u]) <= after) { return false; }
    if (atomicExchange(&status[slot], run) != run) {
        for (var k = 1u; k < 4u; k++) { atomicStore(&status[slot + k], atomicLoad(&status[other + k])); }
    }
    return true;
}
// 0: not known to this thread yet. All threads ask the same words, which are far away.
var<private> fl_health: u32;
fn fl_healthy(slot: u32, run: u32, first: vec3<u32>, second: vec3<u32>) -> bool {
    if (fl_health == 0u) {
        let sound = atomicLoad(&status[slot]) != run && !fl_take_over(slot, run, first.x, first.y, first.z)
            && !fl_take_over(slot, run, second.x, second.y, second.z);
        fl_health = select(2u, 1u, sound);
    }
    return fl_health == 1u;
}
";

/// WGSL that reports a fault of a node with a value.
pub(crate) fn fault(params: &mut Params, node: u32, value: &str) -> String {
    let (slot, run) = (params.shared(Param::Status(0)), params.shared(Param::Run));
    format!("fl_fault({slot}, {run}, {}, {value});", params.push(Param::Node(node)))
}

/// A WGSL expression: has the run had no fault, and none of those whose faults it takes over?
pub(crate) fn healthy(params: &mut Params) -> String {
    let run = params.shared(Param::Run);
    let words: Vec<String> = (0..7).map(|k| params.shared(Param::Status(k))).collect();
    let other = |k: usize| format!("vec3<u32>({})", words[k..k + 3].join(", "));
    format!("fl_healthy({}, {run}, {}, {})", words[0], other(1), other(4))
}

/// Refuses a number that a shader reckons with and that its 32 bits, one of them for the sign, do not hold.
pub(crate) fn fits_shader(op: &'static str, what: &str, number: usize) -> Result<()> {
    if i32::try_from(number).is_ok() {
        return Ok(());
    }
    let (what, limit) = (format!("{op}: {what}"), i32::MAX as u64);
    Err(Error::Limit { what, requested: number as u64, limit_name: "i32 of WGSL", limit })
}

/// `fl_is_nan`: compilers may assume that there are none, but not about bits.
pub(crate) const IS_NAN: &str = "
fn fl_is_nan(x: f32) -> bool { return (bitcast<u32>(x) & 0x7fffffffu) > 0x7f800000u; }
";

/// A zero that no compiler knows: the third coordinate of a grid of two. Loops whose bounds are uniforms start from it.
/// Where uniforms and constants alone say how often a loop runs, lavapipe (Mesa 22.3) writes the uniforms' values into a copy
/// of the shader and compiles that, at every dispatch and for good: half a megabyte each (2026-11-16).
pub(crate) const ZERO: &str = "group.z";

/// A grid of workgroups for `count` threads: a kernel finds its number as
/// `(group.x + group.y * groups.x) * size + thread`.
pub(crate) fn groups_for(count: usize, size: usize) -> [u32; 3] {
    let groups = count.div_ceil(size).max(1);
    let rows = groups.div_ceil(65_535);
    [groups.div_ceil(rows) as u32, rows as u32, 1]
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::access::DataOffset;

    #[test]
    fn both_tiers_have_one_uniform_block() {
        let all = |tier: Tier| {
            let mut params = Params::of(tier);
            let text = [
                params.size(3),
                params.push(Param::Run),
                params.push(Param::Opaque(5)),
                params.push(Param::Offset(DataOffset { constant: 7, ..DataOffset::default() })),
                params.stride(11),
            ];
            (text.join(" "), params.list)
        };
        let (general, block) = all(Tier::General);
        let (specialised, same) = all(Tier::Specialised);
        assert_eq!(general, "params[0].x params[0].y params[0].z params[0].w params[1].x");
        assert_eq!(specialised, "3u params[0].y params[0].z 7u 11u");
        assert_eq!(block, same);
    }
}
