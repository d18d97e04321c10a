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

/// `fetch` and `finish`; the latter gives what the next step's product is made with: the state, or the gradients of the
/// state's share of the gates.
pub(super) fn functions(op: &Recurrence, buffers: &Buffers, n: &Numbers, vectors: bool) -> String {
    let Numbers { time, before, has_before, has_after, batch, units, .. } = n;
    let element = |name: &str, at: &str| match vectors {
        true => format!("{name}[({at}) / 4u][({at}) % 4u]"),
        false => format!("{name}[{at}]"),
    };
    // A state or cell before the step; where there is none, what is read beside is not used.
    let earlier = |first: String, states: String| format!("select({first}, {states}, {has_before} != 0u)");
    let (single, was) = ("row * UNITS + unit", "(BEFORE * BATCH + row) * UNITS + unit");
    let keep = |values: [&str; 4]| match buffers.has("kept") {
        true => (0..4).map(|k| format!("    kept[four + {k}u * UNITS] = {};\n", values[k])).collect(),
        false => String::new(),
    };
    let carried = format!("select(0.0, past[row * UNITS + unit], {has_after} != 0u)");
    let four_kept =
        "vec4<f32>(kept[four], kept[four + UNITS], kept[four + 2u * UNITS], kept[four + 3u * UNITS])";
    let (gates, others, finish) = match (op.direction, op.kind) {
        (Direction::Forward { .. }, Kind::Tanh) => (
            "vec4<f32>(input[one], 0.0, 0.0, 0.0)".into(),
            "vec4<f32>()".into(),
            "    return vec4<f32>(fl_tanh(fetched.gates.x + state.x), 0.0, 0.0, 0.0);\n".into(),
        ),
        (Direction::Forward { .. }, Kind::Relu) => (
            "vec4<f32>(input[one], 0.0, 0.0, 0.0)".into(),
            "vec4<f32>()".into(),
            "    let sum = fetched.gates.x + state.x;
    return vec4<f32>(select(max(sum, 0.0), sum, fl_is_nan(sum)), 0.0, 0.0, 0.0);\n"
                .into(),
        ),
        (Direction::Forward { .. }, Kind::Gru) => {
            let bias = match buffers.has("bias") {
                true => "vec3<f32>(bias[unit], bias[unit + UNITS], bias[unit + 2u * UNITS])",
                false => "vec3<f32>()",
            };
            let hidden = earlier(element("first", single), element("states", was));
            (
                "vec4<f32>(input[three], input[three + UNITS], input[three + 2u * UNITS], 0.0)".into(),
                format!("vec4<f32>({bias}, {hidden})"),
                format!(
                    "    let share = state.xyz + fetched.others.xyz;
    let r = fl_sigmoid(fetched.gates.x + share.x);
    let z = fl_sigmoid(fetched.gates.y + share.y);
    let n = fl_tanh(fetched.gates.z + r * share.z);
{}    return vec4<f32>(n + z * (fetched.others.w - n), 0.0, 0.0, 0.0);\n",
                    keep(["r", "z", "n", "share.z"])
                ),
            )
        }
        (Direction::Forward { .. }, Kind::Lstm) => (
            "vec4<f32>(input[four], input[four + UNITS], input[four + 2u * UNITS], input[four + 3u * UNITS])"
                .into(),
            format!(
                "vec4<f32>({}, 0.0, 0.0, 0.0)",
                earlier(format!("first_cell[{single}]"), format!("cells[{was}]"))
            ),
            format!(
                "    let sum = fetched.gates + state;
    let i = fl_sigmoid(sum.x);
    let f = fl_sigmoid(sum.y);
    let g = fl_tanh(sum.z);
    let o = fl_sigmoid(sum.w);
    let cell = f * fetched.others.x + i * g;
    cells[one] = cell;
{}    return vec4<f32>(o * fl_tanh(cell), 0.0, 0.0, 0.0);\n",
                keep(["i", "f", "g", "o"])
            ),
        ),
        (Direction::Backward, kind @ (Kind::Tanh | Kind::Relu)) => {
            let factor = match kind {
                Kind::Relu => "select(0.0, total, fetched.others.y > 0.0)",
                _ => "total * (1.0 - fetched.others.y * fetched.others.y)",
            };
            (
                "vec4<f32>()".into(),
                "vec4<f32>(grad[one], states[one], 0.0, 0.0)".into(),
                format!(
                    "    let total = fetched.others.x + state.x;
    return vec4<f32>({factor}, 0.0, 0.0, 0.0);\n"
                ),
            )
        }
        (Direction::Backward, Kind::Gru) => (
            four_kept.into(),
            format!(
                "vec4<f32>(grad[one], {}, {carried}, 0.0)",
                earlier(format!("first[{single}]"), format!("states[{was}]"))
            ),
            "    let total = fetched.others.x + state.x + fetched.others.z;
    let r = fetched.gates.x;
    let z = fetched.gates.y;
    let n = fetched.gates.z;
    let to_n = total * (1.0 - z) * (1.0 - n * n);
    let to_z = total * (fetched.others.y - n) * (z * (1.0 - z));
    let to_r = to_n * fetched.gates.w * (r * (1.0 - r));
    of_input[three] = to_r;
    of_input[three + UNITS] = to_z;
    of_input[three + 2u * UNITS] = to_n;
    past[row * UNITS + unit] = total * z;
    return vec4<f32>(to_r, to_z, to_n * r, 0.0);\n"
                .into(),
        ),
        (Direction::Backward, Kind::Lstm) => {
            let given =
                if buffers.has("cell_grad") { format!("{carried} + cell_grad[one]") } else { carried };
            (
                four_kept.into(),
                format!(
                    "vec4<f32>(grad[one], {}, states[one], {given})",
                    earlier(format!("first[{single}]"), format!("states[{was}]"))
                ),
                "    let total = fetched.others.x + state.x;
    let i = fetched.gates.x;
    let f = fetched.gates.y;
    let g = fetched.gates.z;
    let o = fetched.gates.w;
    let shown = fl_tanh(fetched.others.z);
    let cell = fetched.others.w + total * o * (1.0 - shown * shown);
    past[row * UNITS + unit] = cell * f;
    return vec4<f32>(cell * g * (i * (1.0 - i)), cell * fetched.others.y * (f * (1.0 - f)),
                     cell * i * (1.0 - g * g), total * shown * (o * (1.0 - o)));\n"
                    .into(),
            )
        }
    };
    let places = "    let one = (TIME * BATCH + row) * UNITS + unit;
    let three = (TIME * BATCH + row) * 3u * UNITS + unit;
    let four = (TIME * BATCH + row) * 4u * UNITS + unit;\n";
    let (gates, others, finish): (String, String, String) = (gates, others, finish);
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
    let numbers = [("TIME", time), ("BEFORE", before), ("BATCH", batch), ("UNITS", units)];
    numbers.into_iter().fold(text, |text, (name, number)| text.replace(name, number))
}
