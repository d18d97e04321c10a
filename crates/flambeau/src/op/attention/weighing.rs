//! What masks and dropout do with the scores of a block, as WGSL. A thread has 4 rows by 4 columns of them: rows are queries and
//! columns keys, or, where gradients of keys are made, the other way round. What neither masks nor drops has none of it in
//! its text.

use super::Attention;
use super::stages::each_row;
use super::wgsl::Kind;
use crate::dtype::{DType, Lane};
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Param};
use crate::rng;
use crate::shader::{Params, Shader, widen};

/// The lowest score, which queries begin with.
const LOWEST: &str = "-3.4e38";
/// The lowest f32: masks of numbers may end there, and such keys are seen if there are no others.
const LOWEST_OF_ALL: &str = "-3.40282346e38";

/// How a shader weighs scores.
pub(super) struct Weighing {
    pub kind: Kind,
    causal: bool,
    /// The number of a thread's columns at most, in all blocks.
    columns: String,
    mask: Option<Mask>,
    /// What kept weights are multiplied by, if weights are dropped.
    factor: Option<String>,
}

struct Mask {
    /// Does it say which keys are seen, or what is added?
    booleans: bool,
    /// Is it the same for all queries of a head?
    of_keys: bool,
    /// A NaN, which no shader's text can have.
    nan: String,
}

/// `row · count` and the counter of a draw added up, in 64 bits.
fn draw_of_row(counter: [String; 2], count: &str) -> String {
    format!(
        "fn draw_of_row(row: u32) -> vec2<u32> {{
    let count = {count};
    let low = (row & 0xffffu) * (count & 0xffffu);
    let left = (row >> 16u) * (count & 0xffffu);
    let right = (row & 0xffffu) * (count >> 16u);
    let middle = (low >> 16u) + (left & 0xffffu) + (right & 0xffffu);
    let below = (low & 0xffffu) | (middle << 16u);
    let above = (row >> 16u) * (count >> 16u) + (left >> 16u) + (right >> 16u) + (middle >> 16u);
    let sum = {} + below;
    return vec2<u32>(sum, {} + above + select(0u, 1u, sum < below));
}}
",
        counter[0], counter[1]
    )
}

impl Weighing {
    /// `other` is the number of rows that the thread's rows meet.
    pub fn new(
        op: &Attention,
        kind: Kind,
        other: &str,
        call: &StructuredCall,
        (queries, keys): (&str, &str),
        shader: &mut Shader,
    ) -> Weighing {
        let mask = op.masked.then(|| Mask::new(op.operands(), call, (queries, keys), shader));
        let factor = op.dropout.then(|| {
            let mut number = |index: u32, lane: Lane| {
                let word = shader.params.push(Param::Data(call.data_start + index, lane));
                if lane == Lane::F32 { format!("bitcast<f32>({word})") } else { word }
            };
            let [a, b, c, d] = [1, 2, 3, 4].map(|index| number(index, Lane::U32));
            let (share, factor) = (number(5, Lane::F32), number(6, Lane::F32));
            shader.include(rng::WGSL);
            shader.add(&draw_of_row([c, d], keys));
            shader.add(&format!(
                "fn keeps(draw: vec2<u32>, key: u32) -> bool {{
    return fl_uniform(fl_random_bits(vec2<u32>({a}, {b}), draw, key)) < {share};
}}
"
            ));
            factor
        });
        Weighing { kind, causal: op.causal, columns: other.to_string(), mask, factor }
    }

    /// Are rows keys?
    fn transposed(&self) -> bool {
        self.kind == Kind::Keys
    }

    /// Which columns row `i` may see, whatever the mask says.
    fn meets(&self, i: usize) -> String {
        let inside = format!("others < vec4<u32>({})", self.columns);
        match (self.causal, self.kind) {
            (false, _) => inside,
            (true, Kind::Keys) => format!("({inside}) & (others >= vec4<u32>(row + {i}u))"),
            (true, _) => format!("({inside}) & (others <= vec4<u32>(row + {i}u))"),
        }
    }

    /// The mask for row `i`.
    fn given(&self, mask: &Mask, i: usize) -> String {
        let row = format!("vec4<u32>(row + {i}u)");
        match (mask.of_keys, self.transposed()) {
            (true, true) => format!("given{i}"),
            (true, false) => "given".into(),
            (false, true) => format!("mask_of(batch, head, others, {row})"),
            (false, false) => format!("mask_of(batch, head, {row}, others)"),
        }
    }

    /// Row `i`'s scores, scaled, with what a mask adds.
    fn scaled(&self, i: usize) -> String {
        match &self.mask {
            Some(mask) if !mask.booleans => format!("(score{i} * scale + {})", self.given(mask, i)),
            _ => format!("score{i} * scale"),
        }
    }

    /// What is the same for all blocks of a head.
    pub fn of_head(&self) -> String {
        let mut code = String::new();
        if self.mask.as_ref().is_some_and(|mask| mask.of_keys) && self.transposed() {
            let zero = "vec4<u32>()";
            code +=
                &each_row(|i| format!("let given{i} = mask_of(batch, head, {zero}, vec4<u32>(row + {i}u));"));
        }
        if self.factor.is_some() && !self.transposed() {
            let row = |i: usize| format!("((batch * heads + head) * queries + row + {i}u)");
            code += &each_row(|i| format!("let draw{i} = draw_of_row({});", row(i)));
        }
        code
    }

    /// What is the same for all of a block's rows.
    pub fn of_block(&self) -> String {
        let mut code = String::new();
        if self.mask.as_ref().is_some_and(|mask| mask.of_keys) && !self.transposed() {
            code += "        let given = mask_of(batch, head, vec4<u32>(), others);\n";
        }
        if self.factor.is_some() && self.transposed() {
            let draw = |c: &str| {
                format!(
                    "        let draw_{c} = draw_of_row((batch * heads + head) * queries + others.{c});\n"
                )
            };
            code += &["x", "y", "z", "w"].map(draw).concat();
        }
        code
    }

    /// Which of row `i`'s weights are kept.
    fn kept(&self, i: usize) -> String {
        let keeps = |c: &str| match self.transposed() {
            true => format!("keeps(draw_{c}, row + {i}u)"),
            false => format!("keeps(draw{i}, others.{c})"),
        };
        format!("vec4<bool>({})", ["x", "y", "z", "w"].map(keeps).join(", "))
    }

    /// The score that a query begins with.
    pub fn lowest(&self) -> &'static str {
        if self.mask.is_some() { LOWEST_OF_ALL } else { LOWEST }
    }

    /// Forward: scales row `i`'s scores, and puts the lowest where a key is not seen.
    pub fn masked(&self, i: usize) -> String {
        let (lowest, meets) = (self.lowest(), self.meets(i));
        let Some(mask) = &self.mask else {
            return format!("score{i} = select(vec4<f32>({lowest}), score{i} * scale, {meets});");
        };
        // −∞ is found by its bits: compilers may assume that there is none.
        let seen = match mask.booleans {
            true => self.given(mask, i),
            false => format!("(bitcast<vec4<u32>>(score{i}) != vec4<u32>(0xff800000u))"),
        };
        format!(
            "score{i} = {};
        let seen{i} = ({meets}) & {seen};
        score{i} = select(vec4<f32>({lowest}), score{i}, seen{i});",
            self.scaled(i)
        )
    }

    /// Forward: the weights of row `i`, below the largest score so far.
    pub fn exponentials(&self, i: usize) -> String {
        match self.mask {
            Some(_) => format!("select(vec4<f32>(), exp(score{i} - bound{i}), seen{i})"),
            None => format!("exp(score{i} - bound{i})"),
        }
    }

    /// Forward: drops weights of row `i`, of which the sum has been taken.
    pub fn dropped(&self, i: usize) -> String {
        match self.factor {
            Some(_) => format!("\n        score{i} = select(vec4<f32>(), score{i}, {});", self.kept(i)),
            None => String::new(),
        }
    }

    /// Forward: the sum of row `i`'s weights in the end, and its logarithm. A query that sees no key has NaNs.
    pub fn total(&self, i: usize) -> (String, String) {
        match &self.mask {
            Some(Mask { nan, .. }) => (
                format!("select(all[{i}], {nan}, all[{i}] == 0.0)"),
                format!("select(log(all[{i}]), {nan}, all[{i}] == 0.0)"),
            ),
            None => (format!("all[{i}]"), format!("log(all[{i}])")),
        }
    }

    /// Backward, rows are queries: `score{i}` becomes the gradients of row `i`'s scores.
    pub fn by_query(&self, i: usize) -> String {
        let (scaled, meets) = (self.scaled(i), self.meets(i));
        let seen = match &self.mask {
            Some(mask) if mask.booleans => format!("({meets}) & {}", self.given(mask, i)),
            _ => meets,
        };
        let change = match &self.factor {
            Some(factor) => format!("select(vec4<f32>(), change{i} * {factor}, {})", self.kept(i)),
            None => format!("change{i}"),
        };
        format!(
            "score{i} = select(vec4<f32>(), exp(({scaled} - logarithm{i}.x) - logarithm{i}.y), {seen}) * ({change} - mean{i});"
        )
    }

    /// Backward, rows are keys: `score{i}` becomes row `i`'s weights, `change{i}` the gradients of its scores.
    pub fn by_key(&self, i: usize) -> String {
        let (scaled, meets) = (self.scaled(i), self.meets(i));
        let weights = format!("exp(({scaled} - largest) - logarithm)");
        let weights = match &self.mask {
            Some(mask) if mask.booleans => format!("select(unseen, {weights}, {})", self.given(mask, i)),
            _ => weights,
        };
        let weights = format!("score{i} = select(vec4<f32>(), {weights}, {meets});");
        match &self.factor {
            Some(factor) => format!(
                "{weights}
        let kept{i} = {};
        change{i} = score{i} * (select(vec4<f32>(), change{i} * {factor}, kept{i}) - mean);
        score{i} = select(vec4<f32>(), score{i}, kept{i});",
                self.kept(i)
            ),
            None => format!("{weights}\n        change{i} = score{i} * (change{i} - mean);"),
        }
    }

    /// Backward, rows are keys: the weight of a key that is not seen, which is NaN where a query sees none.
    pub fn unseen(&self) -> String {
        match &self.mask {
            Some(mask) if mask.booleans => "        let nothing_seen = (bitcast<vec4<u32>>(logarithm) & vec4<u32>(0x7fffffffu)) > vec4<u32>(0x7f800000u);
        let unseen = select(vec4<f32>(), logarithm, nothing_seen);
".into(),
            _ => String::new(),
        }
    }

    /// What sums of kept weights are multiplied by in the end.
    pub fn of_kept(&self) -> String {
        self.factor.as_ref().map_or_else(String::new, |factor| format!(" * {factor}"))
    }
}

impl Mask {
    /// Binds the mask, and adds the function that reads it: for four queries and keys, the last ones beyond the last.
    fn new(input: usize, call: &StructuredCall, (queries, keys): (&str, &str), shader: &mut Shader) -> Mask {
        let operand = &call.inputs[input];
        let (level, dtype) = (&operand.access.levels[0], operand.meta.dtype);
        let offset = shader.params.push(Param::Offset(level.offset.clone()));
        let size = |axis: usize| operand.meta.shape[axis];
        let stride = |axis: usize, params: &mut Params| {
            params.stride(if size(axis) == 1 { 0 } else { level.axes[axis].stride })
        };
        let [batch, head, query, key] = [0, 1, 2, 3].map(|axis| stride(axis, &mut shader.params));
        let nan = format!("bitcast<f32>({})", shader.params.push(Param::Opaque(f32::NAN.to_bits())));
        shader.bind_elements(Bound::Input(input), "mask", dtype, false);
        let element = if dtype == DType::Bool { "bool" } else { "f32" };
        let four = ["x", "y", "z", "w"].map(|c| widen(dtype, &format!("mask[at.{c}]"))).join(", ");
        shader.add(&format!(
            "fn mask_of(batch: u32, head: u32, query: vec4<u32>, key: vec4<u32>) -> vec4<{element}> {{
    let base = {offset} + batch * {batch} + head * {head};
    let at = base + min(query, vec4<u32>({queries} - 1u)) * {query} + min(key, vec4<u32>({keys} - 1u)) * {key};
    return vec4<{element}>({four});
}}
"
        ));
        Mask { booleans: dtype == DType::Bool, of_keys: size(2) == 1, nan }
    }
}
