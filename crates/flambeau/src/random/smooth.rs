//! The gamma distribution and its kin: smooth functions of a normal number, tabulated on the host.
//!
//! With Φ the distribution function of normal numbers and F that of another distribution, F⁻¹(Φ(z)) has that distribution if z is normal, and
//! as a function of z it is smooth, tails and all. The host finds it at 512 places in f64; devices interpolate by cubics through four
//! neighbours. Of positive numbers it is the logarithm that is tabulated.

use super::{Draw, draws};
use crate::error::Result;
use crate::op::elementwise::Operand;
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::{Tensor, TensorOptions};
use libm::{erfc, lgamma};
use std::f64::consts::{PI, SQRT_2};

const PLACES: usize = 512;
/// Normal numbers from 24 bits end at ±5.42.
const END: f64 = 5.6;
const STEP: f64 = 2.0 * END / (PLACES - 1) as f64;

/// The smaller of the probabilities below and above a normal number, and whether it is that above.
#[derive(Clone, Copy)]
struct Tail {
    probability: f64,
    above: bool,
}

impl Tail {
    fn at(z: f64) -> Tail {
        Tail { probability: 0.5 * erfc(z.abs() / SQRT_2), above: z > 0.0 }
    }
}

/// F⁻¹(Φ(z)) at every place of the table.
fn table(value: impl Fn(Tail) -> f64) -> Vec<f32> {
    (0..PLACES).map(|k| value(Tail::at(k as f64 * STEP - END)) as f32).collect()
}

/// Interpolates tables (N, 512) at normal numbers: those of table n where `number` (of as many elements) is n.
#[track_caller]
fn interpolated(tables: &[f32], z: &Tensor, number: Option<&Tensor>) -> Result<Tensor> {
    let table = Tensor::try_from_slice(tables, tables.len(), z.device())?;
    let flat = z.try_reshape(z.numel())?;
    let place = flat.try_add(END)?.try_mul(1.0 / STEP)?;
    let below = place.try_floor()?.try_clamp(1.0, PLACES as f64 - 3.0)?;
    let way = place.try_sub(&below)?;
    let mut first = below.try_to_dtype(crate::DType::I32)?.try_sub(1)?;
    if let Some(number) = number {
        first = first.try_add(number.try_reshape(z.numel())?.try_mul(PLACES as i64)?)?;
    }
    // Lagrange's cubic through the places −1, 0, 1 and 2.
    let at = |k: i64| table.try_gather(0, &first.try_add(k)?);
    let (a, b, c, d) = (at(0)?, at(1)?, at(2)?, at(3)?);
    let slope = c.try_sub(&b)?;
    let bend =
        |left: &Tensor, middle: &Tensor, right: &Tensor| left.try_add(right)?.try_sub(middle.try_mul(2.0)?);
    let (left, right) = (bend(&a, &b, &c)?, bend(&b, &c, &d)?);
    // b + t (c − b) + t (t − 1) / 6 · ((2 − t) left + (1 + t) right).
    let curve = way.try_rsub(2.0)?.try_mul(&left)?.try_add(way.try_add(1.0)?.try_mul(&right)?)?;
    let curve = way.try_mul(way.try_sub(1.0)?)?.try_mul(1.0 / 6.0)?.try_mul(&curve)?;
    b.try_add(way.try_mul(&slope)?)?.try_add(&curve)?.try_reshape(z.shape())
}

/// The root of a rising function, by halving.
fn root(mut low: f64, mut high: f64, is_below: impl Fn(f64) -> bool) -> f64 {
    for _ in 0..80 {
        let middle = 0.5 * (low + high);
        if middle == low || middle == high {
            break;
        }
        (low, high) = if is_below(middle) { (middle, high) } else { (low, middle) };
    }
    0.5 * (low + high)
}

/// The incomplete gamma function: the probability of a gamma number below x, or above it.
fn gamma_tail(a: f64, x: f64, above: bool) -> f64 {
    let front = (a * x.ln() - x - lgamma(a)).exp();
    if x < a + 1.0 {
        let (mut term, mut sum, mut k) = (1.0 / a, 1.0 / a, a);
        while term > sum * 1e-16 {
            k += 1.0;
            term *= x / k;
            sum += term;
        }
        let below = front * sum;
        return if above { 1.0 - below } else { below };
    }
    // The continued fraction 1/(x + 1 − a − 1(1 − a)/(x + 3 − a − …)), by Lentz's method.
    let mut b = x + 1.0 - a;
    let mut c = f64::INFINITY;
    let mut d = 1.0 / b;
    let mut fraction = d;
    for k in 1..100_000 {
        let k = f64::from(k);
        let coefficient = -k * (k - a);
        b += 2.0;
        d = 1.0 / (coefficient * d + b);
        c = b + coefficient / c;
        let factor = c * d;
        fraction *= factor;
        if (factor - 1.0).abs() < 1e-16 {
            break;
        }
    }
    let over = front * fraction;
    if above { over } else { 1.0 - over }
}

/// The logarithms of gamma numbers, as a table.
fn ln_gamma_table(a: f64) -> Vec<f32> {
    table(|tail| {
        let is_below = |ln_x: f64| match tail.above {
            true => gamma_tail(a, ln_x.exp(), true) > tail.probability,
            false => gamma_tail(a, ln_x.exp(), false) < tail.probability,
        };
        // Below, F is at most xᵃ / Γ(a + 1); above, x is not much larger than a.
        let least = ((tail.probability.ln() + lgamma(a + 1.0)) / a).min(a.ln()) - 1.0;
        if tail.above || gamma_tail(a, 1e-290, false) < tail.probability {
            root(least.max(-660.0), (a + 12.0 * a.sqrt() + 40.0).ln(), is_below)
        } else {
            // So close to zero that the series is its first term.
            (tail.probability.ln() + lgamma(a + 1.0)) / a
        }
    })
}

/// Shape parameters that tables are made for.
fn shape_parameter(draw: &Draw, name: &str, a: f64) -> Result<f64> {
    match a <= 1e6 {
        true => draw.positive(name, a),
        false => draw.refuse(format!("{name} = {a} is above 10⁶, where the distribution is a normal one")),
    }
}

/// Logarithms of gamma numbers of scale 1.
#[track_caller]
fn ln_gamma(draw: &Draw, a: f64) -> Result<Tensor> {
    interpolated(&ln_gamma_table(a), &draw.normal()?, None)
}

draws! {
    /// The gamma distribution with density xᵃ⁻¹ e^(−x/scale) / (Γ(a) scaleᵃ).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).gamma(2.0, 3.0, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 6.0).abs() < 0.2);
    /// # Ok::<(), Error>(())
    /// ```
    gamma / try_gamma(&self, a: f64, scale: impl Into<Operand>, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("gamma", self, shape, options)?;
        let a = shape_parameter(&draw, "a", a)?;
        let x = ln_gamma(&draw, a)?.try_exp()?;
        draw.placed(x, 0.0, scale)
    }

    /// The sum of the squares of `freedom` normal numbers, which need not be a whole number of them.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).chisquare(3.0, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 3.0).abs() < 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    chisquare / try_chisquare(&self, freedom: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("chisquare", self, shape, options)?;
        let a = shape_parameter(&draw, "freedom", freedom)? / 2.0;
        let x = ln_gamma(&draw, a)?.try_exp()?;
        draw.placed(x, 0.0, 2.0)
    }

    /// The sum of the squares of `freedom` > 1 normal numbers, one of which has the mean √`noncentrality`.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).noncentral_chisquare(3.0, 2.0, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 5.0).abs() < 0.2);
    /// # Ok::<(), Error>(())
    /// ```
    noncentral_chisquare / try_noncentral_chisquare(&self,
        freedom: f64, noncentrality: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("noncentral_chisquare", self, shape, options)?;
        if !(noncentrality >= 0.0 && noncentrality.is_finite()) {
            return draw.refuse(format!("a noncentrality of {noncentrality} is not 0 or more"));
        }
        let others = shape_parameter(&draw, "freedom − 1", freedom - 1.0)? / 2.0;
        let one = draw.normal()?.try_add(noncentrality.sqrt())?.try_square()?;
        draw.finished(ln_gamma(&draw, others)?.try_exp()?.try_mul(2.0)?.try_add(&one)?)
    }

    /// Numbers in (0, 1) with density in proportion to xᵃ⁻¹ (1 − x)ᵇ⁻¹.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).beta(2.0, 6.0, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 0.25).abs() < 0.01);
    /// # Ok::<(), Error>(())
    /// ```
    beta / try_beta(&self, a: f64, b: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("beta", self, shape, options)?;
        let (a, b) = (shape_parameter(&draw, "a", a)?, shape_parameter(&draw, "b", b)?);
        // x / (x + y) of two gamma numbers, by their logarithms.
        let (x, y) = (ln_gamma(&draw, a)?, ln_gamma(&draw, b)?);
        draw.finished(x.try_sub(&y)?.try_sigmoid()?)
    }

    /// Student's t: a normal number over the root of a chi-square's mean of `freedom`.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).standard_t(8.0, [10000], &Device::cpu());
    /// assert!(x.mean(..).item_blocking()?.abs() < 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    standard_t / try_standard_t(&self, freedom: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("standard_t", self, shape, options)?;
        let a = shape_parameter(&draw, "freedom", freedom)? / 2.0;
        let z = draw.normal()?;
        let factor = ln_gamma(&draw, a)?.try_sub(a.ln())?.try_mul(-0.5)?.try_exp()?;
        draw.finished(z.try_mul(&factor)?)
    }

    /// Fisher's F: the quotient of the means of two chi-squares.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).f(4.0, 12.0, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 1.2).abs() < 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    f / try_f(&self, freedom: f64, other_freedom: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("f", self, shape, options)?;
        let (a, b) = (shape_parameter(&draw, "freedom", freedom)? / 2.0, shape_parameter(&draw, "other_freedom", other_freedom)? / 2.0);
        let (x, y) = (ln_gamma(&draw, a)?, ln_gamma(&draw, b)?);
        draw.finished(x.try_sub(&y)?.try_add((b / a).ln())?.try_exp()?)
    }

    /// Fisher's F of a [noncentral](Generator::noncentral_chisquare) chi-square over another.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// assert_eq!(Generator::new(1).noncentral_f(3.0, 12.0, 2.0, [3], &Device::cpu()).numel(), 3);
    /// ```
    noncentral_f / try_noncentral_f(&self,
        freedom: f64, other_freedom: f64, noncentrality: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>,
    ) {
        let draw = Draw::new("noncentral_f", self, shape, options)?;
        let b = shape_parameter(&draw, "other_freedom", other_freedom)? / 2.0;
        let upper = self.try_noncentral_chisquare(freedom, noncentrality, &draw.shape, draw.options.device())?;
        let lower = ln_gamma(&draw, b)?.try_sub(b.ln())?.try_exp()?;
        draw.finished(upper.try_mul(1.0 / freedom)?.try_div(&lower)?)
    }

    /// Numbers that add up to 1 along a last dimension of as many as there are parameters: (…shape, K).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).dirichlet(&[1.0, 2.0, 5.0], [4], &Device::cpu());
    /// assert_eq!(x.shape().dims(), [4, 3]);
    /// assert_eq!(x.sum(-1).round().to_string(), "tensor([1., 1., 1., 1.])");
    /// ```
    dirichlet / try_dirichlet(&self, parameters: &[f64], shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let shape = shape.into();
        let whole = shape.iter().copied().chain([parameters.len()]).collect::<Shape>();
        let draw = Draw::new("dirichlet", self, whole, options)?;
        let mut tables = Vec::with_capacity(parameters.len() * PLACES);
        for &a in parameters {
            tables.extend(ln_gamma_table(shape_parameter(&draw, "a parameter", a)?));
        }
        if parameters.is_empty() {
            return draw.refuse("at least one parameter is needed");
        }
        let number = Tensor::try_arange(0, parameters.len() as i64, 1, draw.options.device())?;
        let number = number.broadcast_as("dirichlet", &draw.shape)?;
        draw.finished(interpolated(&tables, &draw.normal()?, Some(&number))?.try_softmax(-1)?)
    }

    /// Wald's distribution (the inverse Gaussian one): how long a drifting particle takes to a place.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).wald(2.0, 3.0, [10000], &Device::cpu());
    /// assert!((x.mean(..).item_blocking()? - 2.0).abs() < 0.1);
    /// # Ok::<(), Error>(())
    /// ```
    wald / try_wald(&self, mean: f64, scale: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("wald", self, shape, options)?;
        let (mean, scale) = (draw.positive("mean", mean)?, draw.positive("scale", scale)?);
        // Of mean 1: with r = √(k/x), Φ(r (x − 1)) + e^2k Φ(−r (x + 1)) lies below x.
        let k = scale / mean;
        let normal = |z: f64| 0.5 * erfc(-z / SQRT_2);
        // e^2k Φ(−y), where both may not fit.
        let second = |y: f64| match y < 25.0 {
            true => (2.0 * k).exp() * normal(-y),
            false => (2.0 * k - y * y / 2.0).exp() / (y * (2.0 * PI).sqrt()) * (1.0 - 1.0 / (y * y)),
        };
        if k > 300.0 {
            return draw.refuse(format!("scale / mean = {k} is above 300, where the distribution is a normal one"));
        }
        let ln_x = table(|tail| {
            let is_below = |ln_x: f64| {
                let x = ln_x.exp();
                let r = (k / x).sqrt();
                match tail.above {
                    true => normal(-r * (x - 1.0)) - second(r * (x + 1.0)) > tail.probability,
                    false => normal(r * (x - 1.0)) + second(r * (x + 1.0)) < tail.probability,
                }
            };
            root(-(60.0 + k.ln().abs()), (60.0 / k + 60.0).ln(), is_below)
        });
        let x = interpolated(&ln_x, &draw.normal()?, None)?.try_exp()?;
        draw.placed(x, 0.0, mean)
    }

    /// Von Mises' distribution of angles in [−π, π], with density in proportion to e^(kappa cos(x − mean)).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let x = Generator::new(1).vonmises(0.0, 4.0, [10000], &Device::cpu());
    /// assert!(x.abs().amax(..).item_blocking()? <= 3.1416);
    /// # Ok::<(), Error>(())
    /// ```
    vonmises / try_vonmises(&self, mean: f64, kappa: f64, shape: impl Into<Shape>, options: impl Into<TensorOptions>) {
        let draw = Draw::new("vonmises", self, shape, options)?;
        if !(0.0..=1e4).contains(&kappa) {
            return draw.refuse(format!("kappa = {kappa} is not from 0 to 10⁴"));
        }
        // The density's integral from π down, by trapezoids; between them it is as good as a line.
        const CELLS: usize = 1 << 14;
        let width = PI / CELLS as f64;
        let density = |cell: usize| (kappa * ((PI - cell as f64 * width).cos() - 1.0)).exp();
        let mut sums = vec![0.0];
        for cell in 0..CELLS {
            sums.push(sums[cell] + 0.5 * width * (density(cell) + density(cell + 1)));
        }
        let total = 2.0 * sums[CELLS];
        let angles = table(|tail| {
            let wanted = tail.probability * total;
            let cell = sums.partition_point(|&sum| sum < wanted).clamp(1, CELLS);
            let way = (wanted - sums[cell - 1]) / (sums[cell] - sums[cell - 1]).max(f64::MIN_POSITIVE);
            let angle = PI - (cell as f64 - 1.0 + way.clamp(0.0, 1.0)) * width;
            if tail.above { angle } else { -angle }
        });
        let angle = interpolated(&angles, &draw.normal()?, None)?.try_add(mean)?;
        // Back into [−π, π].
        let turned = angle.try_add(PI)?.try_remainder(2.0 * PI)?.try_sub(PI)?;
        draw.finished(turned)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_gamma_functions_are_right() {
        // P(1, x) = 1 − e^−x, P(½, x) = erf √x.
        for x in [1e-3, 0.4, 1.0, 2.5, 20.0] {
            assert!((gamma_tail(1.0, x, true) / (-x).exp() - 1.0).abs() < 1e-13, "{x}");
            assert!((gamma_tail(0.5, x, true) / erfc(x.sqrt()) - 1.0).abs() < 1e-12, "{x}");
            let both = gamma_tail(37.0, 10.0 * x, true) + gamma_tail(37.0, 10.0 * x, false);
            assert!((both - 1.0).abs() < 1e-13, "{x}");
        }
    }

    #[test]
    fn tables_invert_the_distribution() {
        for a in [0.02, 0.5, 1.0, 3.7, 400.0, 1e5] {
            let table = ln_gamma_table(a);
            assert!(table.windows(2).all(|pair| pair[0] <= pair[1]), "{a}");
            for k in [60usize, 200, 256, 400, 500] {
                let tail = Tail::at(k as f64 * STEP - END);
                let x = f64::from(table[k]).exp();
                if x > 1e-280 {
                    let found = gamma_tail(a, x, tail.above);
                    // The table is f32: what is relatively 10⁻⁷ there moves the probability by a·10⁻⁷ and more.
                    assert!((found / tail.probability - 1.0).abs() < 3e-6 * (1.0 + a), "{a} {k}: {found}");
                }
            }
        }
    }
}
