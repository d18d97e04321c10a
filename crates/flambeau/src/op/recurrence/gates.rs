//! The gates of a step on the GPU, as WGSL: what a unit reads while the product is made (`fetch`), and what it makes of
//! both (`finish`).

use super::{Direction, Kind, Recurrence};
use crate::op::elementwise::{RELU, SIGMOID, TANH};

/// WGSL for the numbers of a step, which the uniform block has.
pub(super) struct Numbers {
    pub time: String,
    /// The step whose states this one begins with, and 1 if there is one.
    pub before: String,
    pub has_before: String,
    /// The step that begins with this one's states, and 1 if there is one.
    pub after: String,
    pub has_after: String,
    pub batch: String,
    pub units: String,
}

/// The buffers of a shader, in the order of its call: names, and whether their elements are those of the product, which may
/// be vectors.
pub(super) struct Buffers {
    pub inputs: Vec<(&'static str, bool)>,
    pub outputs: Vec<(&'static str, bool)>,
}

impl Buffers {
    pub fn of(op: &Recurrence, inputs: usize) -> Buffers {
        let single = |name: &'static str| (name, false);
        let (of_inputs, outputs) = match (op.direction, op.kind) {
            (Direction::Forward { .. }, kind) => {
                let further = if kind == Kind::Lstm { "first_cell" } else { "bias" };
                let mut outputs = vec![("states", true)];
                outputs.extend((kind == Kind::Lstm).then_some(single("cells")));
                outputs
                    .extend((op.direction == Direction::Forward { keeps: true }).then_some(single("kept")));
                (vec![single("input"), ("weight", true), ("first", true), single(further)], outputs)
            }
            (Direction::Backward, Kind::Tanh | Kind::Relu) => {
                (vec![single("grad"), ("weight", true), single("states")], vec![("gates", true)])
            }
            (Direction::Backward, kind) => {
                let inputs = ["kept", "first", "states", "cell_grad"].map(single);
                let mut outputs = vec![("gates", true)];
                outputs.extend((kind == Kind::Gru).then_some(single("of_input")));
                outputs.push(single("past"));
                ([vec![single("grad"), ("weight", true)], inputs.to_vec()].concat(), outputs)
            }
        };
        Buffers { inputs: of_inputs[..inputs].to_vec(), outputs }
    }

    fn has(&self, name: &str) -> bool {
        self.inputs.iter().chain(&self.outputs).any(|(known, _)| *known == name)
    }
}

/// The functions that the gates call.
fn helpers() -> String {
    let mut texts: Vec<&str> = Vec::new();
    for helper in [&SIGMOID, &TANH, &RELU].into_iter().flat_map(|op| op.wgsl_helpers) {
        if !texts.contains(helper) {
            texts.push(helper);
        }
    }
    texts.concat()
}

/// What a unit fetches, and what it makes of that and of its product.
struct Text {
    /// Four numbers: the input's share of the gates, or the gates that forward kept.
    gates: String,
    /// Four more.
    others: String,
    /// Statements that end with what the next step's product is made with: the state, or the gradients of the state's share
    /// of the gates.
    finish: String,
}

/// What the texts are written from. In them TIME, BEFORE, BATCH and UNITS stand for the step's numbers; `one`, `three` and
/// `four` are a unit's places among 1, 3 and 4 numbers for each unit, `here` and `was` those in a state and in the states
/// before the step.
struct Writer<'a> {
    buffers: &'a Buffers,
    numbers: &'a Numbers,
    vectors: bool,
}

/// The gates that forward kept.
const KEPT: &str =
    "vec4<f32>(kept[four], kept[four + UNITS], kept[four + 2u * UNITS], kept[four + 3u * UNITS])";

/// `fetch` and `finish`.
pub(super) fn functions(op: &Recurrence, buffers: &Buffers, numbers: &Numbers, vectors: bool) -> String {
    let writer = Writer { buffers, numbers, vectors };
    let Text { gates, others, finish } = match (op.direction, op.kind) {
        (Direction::Forward { .. }, Kind::Lstm) => writer.lstm(),
        (Direction::Forward { .. }, Kind::Gru) => writer.gru(),
        (Direction::Forward { .. }, kind) => writer.plain(kind),
        (Direction::Backward, Kind::Lstm) => writer.lstm_backward(),
        (Direction::Backward, Kind::Gru) => writer.gru_backward(),
        (Direction::Backward, kind) => writer.plain_backward(kind),
    };
    let places = "    let one = (TIME * BATCH + row) * UNITS + unit;
    let three = (TIME * BATCH + row) * 3u * UNITS + unit;
    let four = (TIME * BATCH + row) * 4u * UNITS + unit;
    let here = row * UNITS + unit;
    let was = (BEFORE * BATCH + row) * UNITS + unit;
";
    let text = format!(
        "{}
struct Fetched {{ gates: vec4<f32>, others: vec4<f32> }}
fn fetch(row: u32, unit: u32) -> Fetched {{
{places}    return Fetched({gates}, {others});
}}
fn finish(row: u32, unit: u32, state: vec4<f32>, fetched: Fetched) -> vec4<f32> {{
{places}{finish}}}
",
        helpers()
    );
    let Numbers { time, before, batch, units, .. } = numbers;
    let numbers = [("TIME", time), ("BEFORE", before), ("BATCH", batch), ("UNITS", units)];
    numbers.into_iter().fold(text, |text, (name, number)| text.replace(name, number))
}

impl Writer<'_> {
    /// A state or cell before the step; where there is none, what is read beside is not used.
    fn earlier(&self, first: &str, states: &str) -> String {
        format!("select({first}, {states}, {} != 0u)", self.numbers.has_before)
    }

    /// What the step after has left for this one; nothing at first.
    fn carried(&self) -> String {
        format!("select(0.0, past[here], {} != 0u)", self.numbers.has_after)
    }

    /// Keeps the gates, if they are wanted.
    fn keep(&self, values: [&str; 4]) -> String {
        match self.buffers.has("kept") {
            true => (0..4).map(|k| format!("    kept[four + {k}u * UNITS] = {};\n", values[k])).collect(),
            false => String::new(),
        }
    }

    fn plain(&self, kind: Kind) -> Text {
        let shown = match kind {
            Kind::Relu => "select(max(sum, 0.0), sum, fl_is_nan(sum))",
            _ => "fl_tanh(sum)",
        };
        let finish = format!(
            "    let sum = fetched.gates.x + state.x;
    return vec4<f32>({shown}, 0.0, 0.0, 0.0);
"
        );
        let gates = "vec4<f32>(input[one], 0.0, 0.0, 0.0)".into();
        Text { gates, others: "vec4<f32>()".into(), finish }
    }

    fn gru(&self) -> Text {
        let bias = match self.buffers.has("bias") {
            true => "vec3<f32>(bias[unit], bias[unit + UNITS], bias[unit + 2u * UNITS])",
            false => "vec3<f32>()",
        };
        let hidden = match self.vectors {
            true => self.earlier("first[here / 4u][here % 4u]", "states[was / 4u][was % 4u]"),
            false => self.earlier("first[here]", "states[was]"),
        };
        let finish = format!(
            "    let share = state.xyz + fetched.others.xyz;
    let r = fl_sigmoid(fetched.gates.x + share.x);
    let z = fl_sigmoid(fetched.gates.y + share.y);
    let n = fl_tanh(fetched.gates.z + r * share.z);
{}    return vec4<f32>(n + z * (fetched.others.w - n), 0.0, 0.0, 0.0);
",
            self.keep(["r", "z", "n", "share.z"])
        );
        let gates = "vec4<f32>(input[three], input[three + UNITS], input[three + 2u * UNITS], 0.0)".into();
        Text { gates, others: format!("vec4<f32>({bias}, {hidden})"), finish }
    }

    fn lstm(&self) -> Text {
        let finish = format!(
            "    let sum = fetched.gates + state;
    let i = fl_sigmoid(sum.x);
    let f = fl_sigmoid(sum.y);
    let g = fl_tanh(sum.z);
    let o = fl_sigmoid(sum.w);
    let cell = f * fetched.others.x + i * g;
    cells[one] = cell;
{}    return vec4<f32>(o * fl_tanh(cell), 0.0, 0.0, 0.0);
",
            self.keep(["i", "f", "g", "o"])
        );
        let others = format!("vec4<f32>({}, 0.0, 0.0, 0.0)", self.earlier("first_cell[here]", "cells[was]"));
        Text { gates: KEPT.replace("kept", "input"), others, finish }
    }

    fn plain_backward(&self, kind: Kind) -> Text {
        let gradient = match kind {
            Kind::Relu => "select(0.0, total, shown > 0.0)",
            _ => "total * (1.0 - shown * shown)",
        };
        let finish = format!(
            "    let total = fetched.others.x + state.x;
    let shown = fetched.others.y;
    return vec4<f32>({gradient}, 0.0, 0.0, 0.0);
"
        );
        let others = "vec4<f32>(grad[one], states[one], 0.0, 0.0)".into();
        Text { gates: "vec4<f32>()".into(), others, finish }
    }

    fn gru_backward(&self) -> Text {
        let finish = "    let total = fetched.others.x + state.x + fetched.others.z;
    let r = fetched.gates.x;
    let z = fetched.gates.y;
    let n = fetched.gates.z;
    let to_n = total * (1.0 - z) * (1.0 - n * n);
    let to_z = total * (fetched.others.y - n) * (z * (1.0 - z));
    let to_r = to_n * fetched.gates.w * (r * (1.0 - r));
    of_input[three] = to_r;
    of_input[three + UNITS] = to_z;
    of_input[three + 2u * UNITS] = to_n;
    past[here] = total * z;
    return vec4<f32>(to_r, to_z, to_n * r, 0.0);
";
        let hidden = self.earlier("first[here]", "states[was]");
        let others = format!("vec4<f32>(grad[one], {hidden}, {}, 0.0)", self.carried());
        Text { gates: KEPT.into(), others, finish: finish.into() }
    }

    fn lstm_backward(&self) -> Text {
        let finish = "    let total = fetched.others.x + state.x;
    let i = fetched.gates.x;
    let f = fetched.gates.y;
    let g = fetched.gates.z;
    let o = fetched.gates.w;
    let shown = fl_tanh(fetched.others.z);
    let cell = fetched.others.w + total * o * (1.0 - shown * shown);
    past[here] = cell * f;
    return vec4<f32>(cell * g * (i * (1.0 - i)), cell * fetched.others.y * (f * (1.0 - f)),
                     cell * i * (1.0 - g * g), total * shown * (o * (1.0 - o)));
";
        let given = if self.buffers.has("cell_grad") { " + cell_grad[one]" } else { "" };
        let cell = self.earlier("first[here]", "states[was]");
        let others = format!("vec4<f32>(grad[one], {cell}, states[one], {}{given})", self.carried());
        Text { gates: KEPT.into(), others, finish: finish.into() }
    }
}
