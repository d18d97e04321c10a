//! How a shader is put together: declarations of buffers and numbers, functions, the entry point, and lines of code. All
//! kernels, fused and structured ones, are written with it.

use super::{Params, STATUS, groups_for, storage_type};
use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Checked, Param, Program, Tier, Trust};
use std::fmt::{Arguments, Write};
use std::sync::Arc;

/// A shader that is being written.
#[derive(Default)]
pub(crate) struct Shader {
    label: &'static str,
    /// The numbers its text has named so far.
    pub params: Params,
    declarations: String,
    bindings: Vec<Bound>,
    helpers: Vec<&'static str>,
    functions: String,
    half: bool,
    /// May it use what the threads of a subgroup do together? Browsers' WebGPU, as wgpu offers it, has none of that.
    pub subgroups: bool,
    /// Does it?
    uses_subgroups: bool,
    uses_matrix_units: bool,
    /// Bytes of the call's scratch buffers.
    pub scratch: Vec<u64>,
    /// See [`Program::in_turn`].
    pub in_turn: bool,
    /// What it checks, if it reports faults.
    pub checks: Option<Checked>,
    /// Is it worth a specialised text?
    pub specialise: bool,
    /// See [`Program::completes`].
    pub completes: bool,
}

impl Shader {
    /// A text of a tier.
    pub fn new(label: &'static str, tier: Tier) -> Shader {
        Shader { label, params: Params::of(tier), ..Shader::default() }
    }

    /// A text of a call's own tier, which finds its numbers where the call says.
    pub fn of(call: &StructuredCall, label: &'static str) -> Shader {
        Shader::within(call.block.as_ref(), call.tier, label)
    }

    /// A text of a tier, which finds its numbers in a block that is there already, if one is given.
    pub fn within(block: Option<&Arc<[Param]>>, tier: Tier, label: &'static str) -> Shader {
        let params = block.map_or_else(|| Params::of(tier), |block| Params::within(block, tier));
        Shader { label, params, ..Shader::default() }
    }

    /// Declares a buffer as an array of some type of WGSL.
    pub fn bind(&mut self, bound: Bound, name: &str, element: &str) {
        let binding = self.bindings.len();
        let access = match bound {
            Bound::Input(_) | Bound::ScratchRead(_) => "read",
            Bound::Output(_) | Bound::Scratch(_) | Bound::Status => "read_write",
        };
        _ = writeln!(
            self.declarations,
            "@group(0) @binding({binding}) var<storage, {access}> {name}: array<{element}>;"
        );
        self.bindings.push(bound);
    }

    /// Declares a buffer of a dtype's elements, each on its own or in vectors of four.
    pub fn bind_elements(&mut self, bound: Bound, name: &str, dtype: DType, fours: bool) {
        self.uses(dtype);
        let stored = storage_type(dtype);
        match fours {
            true => self.bind(bound, name, &format!("vec4<{stored}>")),
            false => self.bind(bound, name, stored),
        }
    }

    /// Declares the device's status words, and what kernels do with them.
    pub fn bind_status(&mut self) {
        self.bind(Bound::Status, "status", "atomic<u32>");
        self.include(STATUS);
    }

    /// Its code names a dtype's stored type.
    pub fn uses(&mut self, dtype: DType) {
        self.half |= dtype == DType::F16;
    }

    /// Adds functions that others may have added already.
    pub fn include(&mut self, helper: &'static str) {
        if !helper.is_empty() && !self.helpers.contains(&helper) {
            self.helpers.push(helper);
        }
    }

    /// Adds functions, types and workgroup memory of its own.
    pub fn add(&mut self, functions: &str) {
        self.functions += functions;
    }

    /// Declares workgroup memory.
    pub fn share(&mut self, name: &str, element: &str, count: usize) {
        _ = writeln!(self.functions, "var<workgroup> {name}: array<{element}, {count}>;");
    }

    /// Are there subgroups to be used? If so, the entry point has their numbers: `lane` of `subgroup_size`, `subgroup` of
    /// `subgroups`.
    pub fn takes_subgroups(&mut self) -> bool {
        let takes = self.subgroups && cfg!(not(target_arch = "wasm32"));
        self.uses_subgroups |= takes;
        takes
    }

    /// It multiplies small matrices as a whole. Its entry point then has the numbers of subgroups, as with `takes_subgroups`.
    pub fn takes_matrix_units(&mut self) {
        (self.half, self.uses_subgroups, self.uses_matrix_units) = (true, true, true);
    }

    /// The shader with this body of its entry point. There `group` is the workgroup's place in the grid of `groups`, and
    /// `thread` the thread's number in its workgroup.
    pub fn finish(self, entry: &Entry, body: &str) -> Program {
        let Shader { label, params, declarations, bindings, helpers, functions, half, .. } = self;
        let finds_numbers = params.finds_numbers();
        let mut source = String::from(if half { "enable f16;\n" } else { "" });
        source += if self.uses_matrix_units { "enable wgpu_cooperative_matrix;\n" } else { "" };
        source += &declarations;
        if !params.list.is_empty() {
            let (binding, vectors) = (bindings.len(), params.vectors());
            _ = writeln!(
                source,
                "@group(0) @binding({binding}) var<uniform> params: array<vec4<u32>, {vectors}>;"
            );
        }
        helpers.iter().for_each(|helper| source += helper);
        source += &functions;
        let subgroups = if self.uses_subgroups { SUBGROUP_NUMBERS } else { "" };
        _ = write!(
            source,
            "
@compute @workgroup_size({})
fn main(@builtin(workgroup_id) group: vec3<u32>, @builtin(num_workgroups) groups: vec3<u32>,
        @builtin(local_invocation_index) thread: u32{subgroups}) {{
{}{body}}}
",
            entry.size, entry.start
        );
        Program {
            label,
            source: source.into(),
            entry: "main".into(),
            bindings,
            params: params.list,
            groups: entry.groups,
            scratch: self.scratch,
            in_turn: self.in_turn,
            trust: Trust::OURS,
            checks: self.checks,
            specialise: self.specialise,
            completes: self.completes,
            finds_numbers,
        }
    }
}

/// What an entry point is given of subgroups.
const SUBGROUP_NUMBERS: &str = ",
        @builtin(subgroup_invocation_id) lane: u32, @builtin(subgroup_size) subgroup_size: u32,
        @builtin(subgroup_id) subgroup: u32, @builtin(num_subgroups) subgroups: u32";

/// How many workgroups of how many threads run a shader, and how these find their numbers.
pub(crate) struct Entry {
    groups: [u32; 3],
    size: usize,
    start: String,
}

impl Entry {
    /// A thread for each of `count`, which the shader knows as `limit`; it finds its own as `number`.
    pub fn threads(number: &str, count: usize, limit: &str, size: usize) -> Entry {
        let start = format!(
            "    let {number} = {};\n    if ({number} >= {limit}) {{ return; }}\n",
            Entry::thread_number(size)
        );
        Entry { groups: groups_for(count, size), size, start }
    }

    /// A workgroup for each of `count`.
    pub fn workgroups(number: &str, count: usize, limit: &str, size: usize) -> Entry {
        let start =
            format!("    let {number} = {GROUP_NUMBER};\n    if ({number} >= {limit}) {{ return; }}\n");
        Entry { groups: groups_for(count, 1), size, start }
    }

    /// A grid whose workgroups find out themselves what is theirs.
    pub fn grid(groups: [u32; 3], size: usize) -> Entry {
        Entry { groups, size, start: String::new() }
    }

    /// WGSL of a thread's number in a grid of `groups_for`.
    pub fn thread_number(size: usize) -> String {
        format!("({GROUP_NUMBER}) * {size}u + thread")
    }
}

/// WGSL of a workgroup's number in a grid of `groups_for`.
pub(crate) const GROUP_NUMBER: &str = "group.x + group.y * groups.x";

/// Lines of code, indented by the blocks they lie in.
pub(crate) struct Code {
    text: String,
    depth: usize,
}

impl Code {
    /// Lines of a function's body.
    pub fn new() -> Code {
        Code { text: String::new(), depth: 1 }
    }

    /// Adds a line: see [`line!`].
    pub fn line(&mut self, line: Arguments) {
        for _ in 0..self.depth {
            self.text += "    ";
        }
        _ = writeln!(self.text, "{line}");
    }

    /// Begins a block, after what stands before its brace: see [`open!`].
    pub fn open(&mut self, head: Arguments) {
        self.line(format_args!("{head}{{"));
        self.depth += 1;
    }

    /// Ends a block.
    pub fn close(&mut self) {
        self.depth -= 1;
        self.line(format_args!("}}"));
    }

    /// What has been written.
    pub fn text(&self) -> &str {
        &self.text
    }
}

/// Adds a formatted line of code.
macro_rules! line {
    ($code:expr, $($text:tt)*) => { $code.line(format_args!($($text)*)) };
}

/// Begins a block of code, after what stands before its brace.
macro_rules! open {
    ($code:expr, $($head:tt)*) => { $code.open(format_args!($($head)*)) };
}

pub(super) use {line, open};
