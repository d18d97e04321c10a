//! Transforms of up to 16 numbers in a thread's registers, as WGSL.
//!
//! A radix that is a product a · b is a transforms of b numbers and b of a, with constant turns between them; an odd prime is
//! computed by its definition, of sums and differences of the numbers that lie opposite.

use std::f64::consts::TAU;
use std::fmt::Write;

/// A function `dft{radix}`, which transforms an array in place.
pub(super) fn function(radix: usize) -> String {
    let mut writer = Writer::default();
    let names = (0..radix).map(|n| writer.name(&format!("(*v)[{n}]"))).collect();
    let results = writer.transform(names);
    let stores = results.iter().enumerate().map(|(k, name)| format!("    (*v)[{k}] = {name};\n"));
    let stores: String = stores.collect();
    format!("fn dft{radix}(v: ptr<function, array<vec2<f32>, {radix}>>) {{\n{}{stores}}}\n", writer.code)
}

/// Lines of code, each of which names a complex number.
#[derive(Default)]
struct Writer {
    code: String,
    names: usize,
}

impl Writer {
    fn name(&mut self, value: &str) -> String {
        let name = format!("x{}", self.names);
        self.names += 1;
        _ = writeln!(self.code, "    let {name} = {value};");
        name
    }

    fn transform(&mut self, x: Vec<String>) -> Vec<String> {
        let radix = x.len();
        match (2..radix).rev().find(|&a| radix.is_multiple_of(a) && a * a <= radix) {
            Some(a) => self.product(x, a),
            None if radix == 2 => {
                vec![self.name(&format!("{} + {}", x[0], x[1])), self.name(&format!("{} - {}", x[0], x[1]))]
            }
            None if radix == 1 => x,
            None => self.prime(&x),
        }
    }

    /// y\[k₁ + a k₂\] = Σ_{n₂} e^(−2πi n₂ k₁ / ab) (Σ_{n₁} x\[b n₁ + n₂\] e^(−2πi n₁ k₁ / a)) e^(−2πi n₂ k₂ / b).
    fn product(&mut self, x: Vec<String>, a: usize) -> Vec<String> {
        let (radix, b) = (x.len(), x.len() / a);
        let mut rows = vec![Vec::new(); a];
        for n2 in 0..b {
            let column = self.transform((0..a).map(|n1| x[b * n1 + n2].clone()).collect());
            for (k1, value) in column.iter().enumerate() {
                let turned = self.turned(value, n2 * k1, radix);
                rows[k1].push(turned);
            }
        }
        let mut results = vec![String::new(); radix];
        for (k1, row) in rows.into_iter().enumerate() {
            for (k2, value) in self.transform(row).into_iter().enumerate() {
                results[k1 + a * k2] = value;
            }
        }
        results
    }

    /// With the sums s\[j\] and differences d\[j\] of x\[j\] and x\[p − j\], A = x\[0\] + Σ s\[j\] cos(2πjk/p) and
    /// B = Σ d\[j\] sin(2πjk/p): y\[k\] = A − iB and y\[p − k\] = A + iB.
    fn prime(&mut self, x: &[String]) -> Vec<String> {
        let (prime, half) = (x.len(), x.len() / 2);
        let opposite = |sign: &str, j: usize| format!("{} {sign} {}", x[j], x[prime - j]);
        let sums: Vec<String> = (1..=half).map(|j| self.name(&opposite("+", j))).collect();
        let differences: Vec<String> = (1..=half).map(|j| self.name(&opposite("-", j))).collect();
        let mut results = vec![self.name(&format!("{} + {}", x[0], sums.join(" + "))); prime];
        for k in 1..=half {
            let angle = |j: usize| TAU * ((j * k) % prime) as f64 / prime as f64;
            let weighted = |terms: &[String], weight: fn(f64) -> f64| {
                let terms = terms.iter().enumerate();
                let terms = terms.map(|(j, term)| format!("{term} * ({:?})", weight(angle(j + 1)) as f32));
                terms.collect::<Vec<_>>().join(" + ")
            };
            let a = self.name(&format!("{} + {}", x[0], weighted(&sums, f64::cos)));
            let b = self.name(&weighted(&differences, f64::sin));
            results[k] = self.name(&format!("{a} + vec2<f32>({b}.y, -{b}.x)"));
            results[prime - k] = self.name(&format!("{a} - vec2<f32>({b}.y, -{b}.x)"));
        }
        results
    }

    /// x e^(−2πi t / radix).
    fn turned(&mut self, x: &str, t: usize, radix: usize) -> String {
        let half = format!("{:?}", std::f32::consts::FRAC_1_SQRT_2);
        let eighths = (8 * t).is_multiple_of(radix).then(|| 8 * t / radix % 8);
        let value = match eighths {
            Some(0) => return x.to_string(),
            Some(1) => format!("vec2<f32>({x}.x + {x}.y, {x}.y - {x}.x) * {half}"),
            Some(2) => format!("vec2<f32>({x}.y, -{x}.x)"),
            Some(3) => format!("vec2<f32>({x}.y - {x}.x, -{x}.x - {x}.y) * {half}"),
            Some(4) => format!("-{x}"),
            _ => {
                let (sin, cos) = (TAU * t as f64 / radix as f64).sin_cos();
                let (sin, cos) = (sin as f32, cos as f32);
                format!("{x} * ({cos:?}) + vec2<f32>({x}.y, -{x}.x) * ({sin:?})")
            }
        };
        self.name(&value)
    }
}
