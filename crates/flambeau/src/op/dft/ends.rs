//! What a pass reads and writes: the WGSL of `load` and `store`, which know how numbers lie in memory and what is done with them
//! on the way. In the passes themselves every exponent is negative: for the others numbers are conjugated at both ends.

use crate::dtype::Lane;
use crate::ir::call::StructuredCall;
use crate::ir::program::{Bound, Param};
use crate::shader::{Params, Shader};

/// Numbers in memory: those of a line are `step` apart, and lines that lie side by side 1.
#[derive(Clone, Copy)]
pub(super) struct Memory {
    pub bound: Bound,
    /// How far apart blocks of lines lie.
    pub outer: usize,
    pub step: usize,
}

/// What a pass reads, as complex numbers by their positions in a line.
#[derive(Clone, Copy)]
pub(super) struct Source {
    pub memory: Memory,
    pub form: SourceForm,
    pub conjugated: bool,
    /// What is done with a number then.
    pub then: Then,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SourceForm {
    Pairs,
    /// Real numbers.
    Reals,
    /// Real numbers, the even ones as real parts and the odd ones as imaginary parts.
    EvenAndOdd,
    /// Half a spectrum of an odd number of real numbers.
    Mirrored {
        doubled: bool,
    },
    /// The spectrum of real numbers as [`EvenAndOdd`](SourceForm::EvenAndOdd), from half of theirs, which are twice as many.
    Tangled {
        doubled: bool,
    },
    /// What Bluestein's algorithm convolves with for a transform of this length; it is in no memory.
    Kernel(usize),
}

/// What Bluestein's algorithm does with a number that it reads or before it writes it.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Then {
    Nothing,
    /// It is turned by e^(−πi p²/L), and is zero from position L on.
    Chirp(usize),
    /// It is multiplied with the same one of a spectrum, and conjugated.
    Multiply(Bound),
    /// It is conjugated first, then as with [`Chirp`](Then::Chirp).
    ConjugateAndChirp(usize),
}

/// What a pass writes.
#[derive(Clone, Copy)]
pub(super) struct Sink {
    pub memory: Memory,
    pub form: SinkForm,
    pub conjugated: bool,
    pub factor: Factor,
    pub before: Then,
}

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum SinkForm {
    Pairs,
    /// The real parts.
    Reals,
    /// The real parts as even numbers, the imaginary parts as odd ones.
    EvenAndOdd,
    /// The first half of the spectrum of an odd number of real numbers.
    Half {
        doubled: bool,
    },
    /// Half the spectrum of real numbers that were read as [`EvenAndOdd`](SourceForm::EvenAndOdd).
    Untangled {
        doubled: bool,
    },
}

/// What numbers are multiplied by at the end.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Factor {
    One,
    Fixed(f32),
    /// The node's scale.
    Scale,
}

/// Products, and e^(−2πi t/n) for t < n. `unit` is π/2n. The angle is brought to an eighth of the circle in integers, so that
/// nothing is lost for large n; sine and cosine are their series there, to the last digit.
pub(super) const COMPLEX: &str = "
fn times(a: vec2<f32>, b: vec2<f32>) -> vec2<f32> {
    return vec2<f32>(a.x * b.x - a.y * b.y, a.x * b.y + a.y * b.x);
}
fn root(t: u32, n: u32, unit: f32) -> vec2<f32> {
    let lower = 2u * t > n;
    let half = 2u * select(t, n - t, lower);
    let left = half > n - half;
    let quarter = 2u * select(half, n - half, left);
    let steep = quarter > n - quarter;
    let angle = f32(select(quarter, n - quarter, steep)) * unit;
    let square = angle * angle;
    let sine = angle + angle * square * (-1.6666667e-1 + square * (8.333334e-3 + square * (-1.9841270e-4 + square * 2.7557319e-6)));
    let cosine = 1.0 + square * (-0.5 + square * (4.1666668e-2 + square * (-1.3888889e-3
        + square * (2.4801587e-5 + square * -2.7557319e-7))));
    let x = select(cosine, sine, steep);
    let y = select(sine, cosine, steep);
    return vec2<f32>(select(x, -x, left), select(-y, y, lower));
}
";

/// A root of unity as WGSL: `t` and the number n of roots.
pub(super) fn root(t: &str, n: usize) -> String {
    format!("root({t}, {n}u, {:?})", unit(n))
}

fn unit(n: usize) -> f32 {
    (std::f64::consts::FRAC_PI_2 / n as f64) as f32
}

/// The same, where the number of roots is in the uniform block.
pub(super) fn shared_root(t: &str, n: usize, params: &mut Params) -> String {
    let (n, unit) = (params.size(n), number(params, unit(n)));
    format!("root({t}, {n}, {unit})")
}

fn number(params: &mut Params, value: f32) -> String {
    format!("bitcast<f32>({})", params.push(Param::Fixed(value.to_bits())))
}

/// `chirp(p)`: e^(−πi p²/L) for p ≤ L. p² mod 2L is found with a quotient that is off by one at most.
fn add_chirp(length: usize, shader: &mut Shader) {
    let modulus = shader.params.size(2 * length);
    let inverse = number(&mut shader.params, 1.0 / (2 * length) as f32);
    let root = shared_root("u32(rest)", 2 * length, &mut shader.params);
    shader.add(&format!(
        "fn chirp(p: u32) -> vec2<f32> {{
    let modulus = i32({modulus});
    let quotient = u32(f32(p) * (f32(p) * {inverse}));
    var rest = i32(p * p - quotient * {modulus});
    rest += select(0, modulus, rest < 0);
    rest += select(0, modulus, rest < 0);
    rest -= select(0, modulus, rest >= modulus);
    rest -= select(0, modulus, rest >= modulus);
    return {root};
}}
"
    ));
}

/// How a conjugated number differs from another.
fn sign(conjugated: bool, params: &mut Params) -> String {
    number(params, if conjugated { -1.0 } else { 1.0 })
}

impl Source {
    /// Adds `load(line, n)`. `length` is that of a line, of which the pass reads every `step`-th number; `in_place`: it writes to
    /// the same memory.
    pub fn add(&self, length: usize, step: &str, in_place: bool, shader: &mut Shader) {
        let Memory { bound, step: apart, .. } = self.memory;
        let element = match self.form {
            SourceForm::Reals | SourceForm::EvenAndOdd => "f32",
            _ => "vec2<f32>",
        };
        let kernel_of = if let SourceForm::Kernel(length) = self.form { Some(length) } else { None };
        if kernel_of.is_none() {
            shader.bind(if in_place { bound } else { read_only(bound) }, "source", element);
        }
        if let Then::Multiply(bound) = self.then {
            shader.bind(read_only(bound), "spectrum", "vec2<f32>");
        }
        let chirped = if let Then::Chirp(length) = self.then { Some(length) } else { None };
        if let Some(length) = chirped.or(kernel_of) {
            add_chirp(length, shader);
        }
        let params = &mut shader.params;
        let guard = chirped.map_or_else(String::new, |length| {
            format!("    if (p >= {}) {{ return vec2<f32>(); }}\n", params.size(length))
        });
        let apart = params.size(apart);
        let sign = match self.form {
            SourceForm::Reals | SourceForm::EvenAndOdd | SourceForm::Kernel(_) => String::new(),
            _ => sign(self.conjugated, params),
        };
        let read = match self.form {
            SourceForm::Pairs => format!(
                "    var v = source[line.source + p * {apart}];
    v.y *= {sign};
"
            ),
            SourceForm::Reals => format!("    var v = vec2<f32>(source[line.source + p * {apart}], 0.0);\n"),
            SourceForm::EvenAndOdd => format!(
                "    let at = line.source + 2u * p * {apart};
    var v = vec2<f32>(source[at], source[at + {apart}]);
"
            ),
            SourceForm::Mirrored { doubled } => {
                let length = params.size(length_of(self.then, length));
                let weight = if doubled { "" } else { " * select(0.5, 1.0, p == 0u)" };
                format!(
                    "    let mirrored = 2u * p > {length};
    var v = source[line.source + select(p, {length} - p, mirrored) * {apart}]{weight};
    v.y *= select(select({sign}, -({sign}), mirrored), 0.0, p == 0u);
"
                )
            }
            SourceForm::Tangled { doubled } => {
                let length = length_of(self.then, length);
                let root = shared_root("p", 2 * length, params);
                let length = params.size(length);
                let weight = if doubled { "" } else { " * select(0.5, 1.0, p == 0u)" };
                format!(
                    "    let sign = select({sign}, 0.0, p == 0u);
    let a = source[line.source + p * {apart}]{weight} * vec2<f32>(1.0, sign);
    let b = source[line.source + ({length} - p) * {apart}]{weight} * vec2<f32>(1.0, sign);
    let turned = times(vec2<f32>(a.x - b.x, a.y + b.y), {root});
    var v = vec2<f32>(a.x + b.x - turned.y, a.y - b.y + turned.x);
"
                )
            }
            SourceForm::Kernel(of) => {
                let (whole, end) = (params.size(length), params.size(of));
                format!(
                    "    let q = min(p, {whole} - p);
    if (q >= {end}) {{ return vec2<f32>(); }}
    let v = chirp(q) * vec2<f32>(1.0, -1.0);
"
                )
            }
        };
        let then = match self.then {
            Then::Chirp(_) => "    v = times(v, chirp(p));\n",
            Then::Multiply(_) => "    v = times(v, spectrum[p]) * vec2<f32>(1.0, -1.0);\n",
            Then::Nothing | Then::ConjugateAndChirp(_) => "",
        };
        shader.add(&format!(
            "fn load(line: Line, n: u32) -> vec2<f32> {{
    let p = line.position + n * {step};
{guard}{read}{then}    return v;
}}
"
        ));
    }
}

/// A buffer as one that is not written.
pub(super) fn read_only(bound: Bound) -> Bound {
    match bound {
        Bound::Scratch(number) => Bound::ScratchRead(number),
        other => other,
    }
}

/// The length of what is transformed, where a convolution is longer.
fn length_of(then: Then, length: usize) -> usize {
    match then {
        Then::Chirp(length) | Then::ConjugateAndChirp(length) => length,
        Then::Nothing | Then::Multiply(_) => length,
    }
}

impl Sink {
    /// Adds `store(line, k, v)`, for a line of `length` numbers of which the pass writes every `step`-th to the buffer `name`.
    pub fn add(&self, name: &str, length: usize, step: &str, call: &StructuredCall, shader: &mut Shader) {
        if let Then::ConjugateAndChirp(length) = self.before {
            add_chirp(length, shader);
        }
        let write = self.write(name, length_of(self.before, length), call, shader);
        let before = match self.before {
            Then::ConjugateAndChirp(length) => {
                let end = shader.params.size(length);
                format!(
                    "    if (p >= {end}) {{ return; }}
    let v = times(vec2<f32>(value.x, -value.y), chirp(p));
"
                )
            }
            _ => "    let v = value;\n".to_string(),
        };
        shader.add(&format!(
            "fn store(line: Line, k: u32, value: vec2<f32>) {{
    let p = line.result + k * {step};
{before}{write}}}
"
        ));
    }

    /// Adds `untangle(a, b, k)`: number k of half the spectrum of real numbers, of which the even and the odd ones were transformed
    /// as one line of `length`, from its numbers k and length − k.
    pub fn add_untangle(length: usize, shader: &mut Shader) {
        let root = shared_root("k", 2 * length, &mut shader.params);
        shader.add(&format!(
            "fn untangle(a: vec2<f32>, b: vec2<f32>, k: u32) -> vec2<f32> {{
    let even = vec2<f32>(a.x + b.x, a.y - b.y);
    let odd = vec2<f32>(a.y + b.y, b.x - a.x);
    return (even + times(odd, {root})) * 0.5;
}}
"
        ));
    }

    /// What is done with number `p` of a line, `v`. `length` is that of the transform.
    fn write(&self, name: &str, length: usize, call: &StructuredCall, shader: &mut Shader) -> String {
        let Memory { step: apart, .. } = self.memory;
        let params = &mut shader.params;
        let apart = params.size(apart);
        let factor = match self.factor {
            Factor::One => "1.0".to_string(),
            Factor::Fixed(value) => number(params, value),
            Factor::Scale => {
                let scale = params.push(Param::Data(call.data_start, Lane::F32));
                format!("bitcast<f32>({scale})")
            }
        };
        match self.form {
            SinkForm::Pairs => {
                let sign = sign(self.conjugated, params);
                format!("    {name}[line.output + p * {apart}] = v * {factor} * vec2<f32>(1.0, {sign});\n")
            }
            SinkForm::Reals => format!("    {name}[line.output + p * {apart}] = v.x * {factor};\n"),
            SinkForm::EvenAndOdd => format!(
                "    let at = line.output + 2u * p * {apart};
    {name}[at] = v.x * {factor};
    {name}[at + {apart}] = v.y * {factor};
"
            ),
            SinkForm::Half { doubled } | SinkForm::Untangled { doubled } => {
                let sign = sign(self.conjugated, params);
                let stored = if let SinkForm::Half { .. } = self.form { length / 2 } else { length } + 1;
                // The last number of an even spectrum stands for itself alone; an odd one is not among these.
                let (last, stored) = (params.size(length), params.size(stored));
                let weight = if doubled {
                    format!(" * select(2.0, 1.0, p == 0u || p == {last})")
                } else {
                    String::new()
                };
                format!(
                    "    if (p >= {stored}) {{ return; }}
    {name}[line.output + p * {apart}] = v{weight} * {factor} * vec2<f32>(1.0, {sign});
"
                )
            }
        }
    }

    /// The type of its elements.
    pub fn element(&self) -> &'static str {
        match self.form {
            SinkForm::Reals | SinkForm::EvenAndOdd => "f32",
            SinkForm::Pairs | SinkForm::Half { .. } | SinkForm::Untangled { .. } => "vec2<f32>",
        }
    }
}
