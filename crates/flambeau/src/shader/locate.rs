//! WGSL that finds elements: the coordinates of a kernel's space from a number, and from them, through views, the
//! place in a buffer.

use super::codegen::Generator;
use super::fours::looks_at;
use super::{Code, line};
use crate::ir::access::{Access, Hole};
use crate::ir::program::Param;

/// An offset and, where some coordinates have no element, whether this one has.
pub(super) struct Located {
    pub at: String,
    pub exists: Option<String>,
}

impl Generator<'_> {
    /// Does any access look at a coordinate?
    pub fn is_looked_at(&self, dim: usize) -> bool {
        let mut read = self.insts().filter(|inst| self.given(&inst.kind).is_none());
        read.any(|inst| inst.kind.access().is_some_and(|access| looks_at(access, dim)))
            || self.kernel.outputs.iter().any(|output| output.per_element && looks_at(&output.access, dim))
    }

    /// Declares c{d} for these dimensions, unravelled from a linear number; only those some access looks at.
    pub fn coordinates(&mut self, code: &mut Code, from: &str, dims: std::ops::Range<usize>) {
        let kernel = self.kernel;
        let mut rest = from.to_string();
        for d in dims.clone().rev() {
            let first = d == dims.start;
            if self.is_looked_at(d) {
                if first {
                    line!(code, "let c{d} = {rest};");
                } else {
                    let size = self.size(0, d, kernel.space[d]);
                    line!(code, "let c{d} = {rest} % {size};");
                }
            }
            if !first {
                let size = self.size(0, d, kernel.space[d]);
                let name = format!("{from}_{d}");
                line!(code, "let {name} = {rest} / {size};");
                rest = name;
            }
        }
    }

    /// A number of the uniform block that belongs to something of the kernel's (0: its space), by an order of its own. The
    /// same one is there once, however often the text names it.
    pub fn number(&mut self, of: usize, order: usize, param: Param) -> String {
        if let Some((_, known)) = self.numbers.iter().find(|(key, _)| *key == (of, order)) {
            return known.clone();
        }
        let text = self.shader.params.push(param);
        self.numbers.push(((of, order), text.clone()));
        text
    }

    fn size(&mut self, of: usize, order: usize, size: usize) -> String {
        self.number(of, order, Param::Fixed(size as u32))
    }

    pub fn name(&mut self, prefix: &str) -> String {
        self.names += 1;
        format!("{prefix}{}", self.names)
    }

    /// Code that finds the element of the current coordinates.
    pub fn locate(&mut self, access: &Access, code: &mut Code) -> Located {
        let mut exists: Vec<String> = Vec::new();
        let mut number = String::new();
        // Its address stands for an access: it lies still while a shader is written.
        let of = std::ptr::from_ref(access) as usize;
        for (depth, level) in access.levels.iter().enumerate() {
            let mut terms: Vec<String> = Vec::new();
            let order = |d: usize, which: usize| (depth * 64 + d) * 8 + which;
            if !level.offset.is_zero() {
                terms.push(self.number(of, order(0, 0), Param::Offset(level.offset.clone())));
            }
            let mut rest = number.clone();
            for (d, axis) in level.axes.iter().enumerate().rev() {
                let mut c = format!("c{d}");
                if depth > 0 {
                    // Not "u": the 32nd name would be a type's.
                    c = self.name("part");
                    let size = self.size(of, order(d, 1), axis.size);
                    let next = self.name("rest");
                    line!(code, "let {c} = {rest} % {size};");
                    line!(code, "let {next} = {rest} / {size};");
                    rest = next;
                }
                if let Some(Hole { start, step, len }) = axis.hole.as_deref() {
                    let from = self.name("e");
                    let start = self.number(of, order(d, 2), Param::Offset(start.clone()));
                    line!(code, "let {from} = {c} - {start};");
                    let limit = self.size(of, order(d, 3), len * step);
                    exists.push(format!("{from} < {limit}"));
                    c = from;
                    if *step != 1 {
                        let step = self.size(of, order(d, 4), *step);
                        exists.push(format!("{c} % {step} == 0u"));
                        c = format!("({c} / {step})");
                    }
                }
                match axis.stride {
                    0 => {}
                    1 => terms.push(c),
                    stride => {
                        let stride = self.number(of, order(d, 5), Param::Fixed(stride as u32));
                        terms.push(format!("{c} * {stride}"));
                    }
                }
            }
            number = self.name("at");
            // `index` is 0 in a kernel with one result; a constant instead sends llvmpipe's compiler into a fit of
            // folding when random numbers are made from it.
            let nothing = if self.kernel.space.is_empty() { "index" } else { "0u" };
            let sum = if terms.is_empty() { nothing.to_string() } else { terms.join(" + ") };
            line!(code, "let {number} = {sum};");
        }
        if exists.is_empty() {
            return Located { at: number, exists: None };
        }
        let flag = self.name("has");
        line!(code, "let {flag} = {};", exists.join(" && "));
        Located { at: format!("select(0u, {number}, {flag})"), exists: Some(flag) }
    }
}
