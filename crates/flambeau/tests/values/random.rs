//! Random distributions: means, variances and distribution functions against SciPy's (`tools/reference/distributions.py`) at fixed seeds, and the
//! same numbers on every device.

use crate::common::{devices, gpu, values};
use flambeau::prelude::*;
use std::collections::BTreeMap;

const N: usize = 1 << 16;

type Distribution = fn(&Generator, &Device) -> Tensor;

const CONTINUOUS: [(&str, Distribution); 27] = [
    ("uniform", |g, d| g.uniform(-2.0, 3.0, [N], d)),
    ("normal", |g, d| g.normal(3.0, 2.0, [N], d)),
    ("lognormal", |g, d| g.lognormal(0.25, 0.5, [N], d)),
    ("truncated_normal", |g, d| g.truncated_normal(1.0, 3.0, -0.5, 7.0, [N], d)),
    ("exponential", |g, d| g.exponential(2.5, [N], d)),
    ("laplace", |g, d| g.laplace(1.0, 2.0, [N], d)),
    ("logistic", |g, d| g.logistic(1.0, 2.0, [N], d)),
    ("gumbel", |g, d| g.gumbel(1.0, 2.0, [N], d)),
    ("cauchy", |g, d| g.cauchy(1.0, 2.0, [N], d)),
    ("rayleigh", |g, d| g.rayleigh(2.0, [N], d)),
    ("weibull", |g, d| g.weibull(1.7, [N], d)),
    ("pareto", |g, d| g.pareto(4.5, [N], d)),
    ("power", |g, d| g.power(2.5, [N], d)),
    ("triangular", |g, d| g.triangular(-3.0, 0.0, 7.0, [N], d)),
    ("gamma_small", |g, d| g.gamma(0.15, 2.0, [N], d)),
    ("gamma_one", |g, d| g.gamma(1.0, 1.0, [N], d)),
    ("gamma", |g, d| g.gamma(3.7, 0.5, [N], d)),
    ("gamma_large", |g, d| g.gamma(900.0, 1.0, [N], d)),
    ("chisquare", |g, d| g.chisquare(5.0, [N], d)),
    ("noncentral_chisquare", |g, d| g.noncentral_chisquare(3.0, 2.5, [N], d)),
    ("beta", |g, d| g.beta(2.0, 6.0, [N], d)),
    ("beta_small", |g, d| g.beta(0.3, 0.4, [N], d)),
    ("standard_t", |g, d| g.standard_t(7.0, [N], d)),
    ("f", |g, d| g.f(4.0, 14.0, [N], d)),
    ("noncentral_f", |g, d| g.noncentral_f(4.0, 14.0, 2.5, [N], d)),
    ("wald", |g, d| g.wald(2.0, 3.0, [N], d)),
    ("vonmises", |g, d| g.vonmises(0.0, 2.0, [N], d)),
];

const WHOLE: [(&str, Distribution); 10] = [
    ("poisson_small", |g, d| g.poisson(0.7, [N], d)),
    ("poisson", |g, d| g.poisson(37.5, [N], d)),
    ("poisson_large", |g, d| g.poisson(20000.0, [N], d)),
    ("binomial", |g, d| g.binomial(20, 0.3, [N], d)),
    ("binomial_large", |g, d| g.binomial(100_000, 0.8, [N], d)),
    ("negative_binomial", |g, d| g.negative_binomial(2.5, 0.2, [N], d)),
    ("geometric", |g, d| g.geometric(0.15, [N], d)),
    ("hypergeometric", |g, d| g.hypergeometric(15, 5, 7, [N], d)),
    ("logseries", |g, d| g.logseries(0.8, [N], d)),
    ("zipf", |g, d| g.zipf(4.5, [N], d)),
];

#[derive(serde::Deserialize)]
struct Expected {
    mean: Option<f64>,
    variance: Option<f64>,
    /// Numbers, and the probability of them or less.
    below: Vec<(f64, f64)>,
}

/// Numbers of a distribution are as SciPy says, within five standard errors.
fn judge(name: &str, drawn: &[f64], expected: &Expected) {
    let n = drawn.len() as f64;
    assert!(drawn.iter().all(|x| x.is_finite()), "{name}: not finite");
    for &(x, p) in &expected.below {
        let share = drawn.iter().filter(|drawn| **drawn <= x).count() as f64 / n;
        let error = (p * (1.0 - p) / n).sqrt();
        assert!(
            (share - p).abs() <= 5.0 * error,
            "{name}: {share} of the numbers are up to {x}, not {p} ± {error}"
        );
    }
    let (Some(mean), Some(variance)) = (expected.mean, expected.variance) else { return };
    let found = drawn.iter().sum::<f64>() / n;
    assert!((found - mean).abs() <= 5.0 * (variance / n).sqrt(), "{name}: mean {found}, not {mean}");
    let squares: Vec<f64> = drawn.iter().map(|x| (x - mean).powi(2)).collect();
    let spread = squares.iter().sum::<f64>() / n;
    let error = (squares.iter().map(|s| (s - spread).powi(2)).sum::<f64>() / n / n).sqrt();
    assert!((spread - variance).abs() <= 6.0 * error, "{name}: variance {spread} ± {error}, not {variance}");
}

#[test]
fn distributions_are_scipys() {
    let table: BTreeMap<String, Expected> =
        serde_json::from_str(include_str!("../data/random.json")).unwrap();
    let device = Device::cpu();
    let all = CONTINUOUS.iter().chain(&WHOLE);
    assert_eq!(all.clone().count(), table.len());
    for (k, (name, draw)) in all.enumerate() {
        judge(name, &values(&draw(&Generator::new(k as u64), &device)), &table[*name]);
    }
}

#[test]
fn every_device_draws_the_same() {
    let (cpu, gpu) = (Device::cpu(), gpu());
    for (name, draw) in CONTINUOUS {
        let (here, there) = (Generator::new(9), Generator::new(9));
        let (x, y) = (values(&draw(&here, &cpu)), values(&draw(&there, &gpu)));
        assert_eq!(here.counter(), there.counter(), "{name}");
        // Near zero the difference of two numbers is compared with their size: with the deviation.
        let size =
            if name == "cauchy" { 1.0 } else { (x.iter().map(|x| x * x).sum::<f64>() / N as f64).sqrt() };
        for (x, y) in x.iter().zip(&y) {
            assert!((x - y).abs() <= 4e-6 * x.abs() + 4e-7 * size, "{name}: {x} and {y}");
        }
    }
    for (name, draw) in WHOLE {
        assert_eq!(
            values(&draw(&Generator::new(9), &cpu)),
            values(&draw(&Generator::new(9), &gpu)),
            "{name}"
        );
    }
    let orders: [(&str, Distribution); 5] = [
        ("permuted", |g, d| g.permuted(&Tensor::arange(0, 500, 1, d).reshape([5, 100]), 1)),
        ("choice", |g, d| g.choice(1000, [300], false, d)),
        ("choice_with", |g, d| g.choice_with(&[0.1, 0.2, 0.3, 0.4], [300], true, d)),
        ("multinomial", |g, d| g.multinomial(30, &[0.1, 0.2, 0.3, 0.4], [20], d)),
        ("multivariate_hypergeometric", |g, d| g.multivariate_hypergeometric(&[5, 9, 4], 6, [20], d)),
    ];
    for (name, draw) in orders {
        assert_eq!(
            values(&draw(&Generator::new(9), &cpu)),
            values(&draw(&Generator::new(9), &gpu)),
            "{name}"
        );
    }
}

#[test]
fn choices_have_their_probabilities() {
    for device in devices() {
        let generator = Generator::new(3);
        let shares = |numbers: &[f64], count: usize| -> Vec<f64> {
            let share = |k| numbers.iter().filter(|x| **x == k as f64).count() as f64 / numbers.len() as f64;
            (0..count).map(share).collect()
        };
        let p = [0.5, 0.0, 0.2, 0.3];
        let near = |found: &[f64], wanted: &[f64], n: usize| {
            for (found, wanted) in found.iter().zip(wanted) {
                let error = (wanted * (1.0 - wanted) / n as f64).sqrt();
                assert!((found - wanted).abs() <= 5.0 * error, "{found} is not {wanted} ± {error}");
            }
        };
        near(&shares(&values(&generator.choice_with(&p, [20_000], true, &device)), 4), &p, 20_000);
        let counts = values(&generator.multinomial(5, &p, [4000], &device).to_dtype(DType::F32).sum(0));
        near(&counts.iter().map(|count| count / 20_000.0).collect::<Vec<_>>(), &p, 20_000);
        let kinds = generator.multivariate_hypergeometric(&[6, 3, 1], 5, [4000], &device);
        assert!(values(&kinds.sum(1)).iter().all(|sum| *sum == 5.0));
        near(
            &values(&kinds.to_dtype(DType::F32).mean(0)).iter().map(|m| m / 5.0).collect::<Vec<_>>(),
            &[0.6, 0.3, 0.1],
            20_000,
        );
        // Without replacement: the first is as likely as it says, and none comes twice.
        let firsts: Vec<f64> = (0..600)
            .map(|_| values(&generator.choice_with(&p, [3], false, &device)))
            .inspect(|x| {
                let mut sorted = x.clone();
                sorted.sort_by(f64::total_cmp);
                assert_eq!(sorted, [0.0, 2.0, 3.0]);
            })
            .map(|x| x[0])
            .collect();
        near(&shares(&firsts, 4), &p, 600);
        let x = Tensor::arange(0, 12, 1, &device).reshape([3, 4]);
        let rows = values(&generator.permutation(&x, 0).select(1, 0));
        let mut sorted = rows.clone();
        sorted.sort_by(f64::total_cmp);
        assert_eq!(sorted, [0.0, 4.0, 8.0]);
        let sums = generator.dirichlet(&[0.2, 1.0, 4.0], [4000], &device);
        assert!(values(&sums.sum(1)).iter().all(|sum| (sum - 1.0).abs() < 1e-6));
        // The mean of component k is aₖ / Σ a, its variance mean (1 − mean) / (Σ a + 1).
        for (mean, a) in values(&sums.mean(0)).iter().zip([0.2, 1.0, 4.0]) {
            let wanted = a / 5.2;
            assert!(
                (mean - wanted).abs() < 5.0 * (wanted * (1.0 - wanted) / 6.2 / 4000.0f64).sqrt(),
                "{mean} {wanted}"
            );
        }
    }
}

#[test]
fn parameters_may_be_tensors_and_wrong_ones_are_refused() {
    let device = Device::cpu();
    let generator = Generator::new(1);
    let scales = Tensor::new([[1.0], [100.0]], &device);
    let x = generator.exponential(&scales, [2, 1000], &device).mean(1);
    let means = values(&x);
    assert!((means[0] - 1.0).abs() < 0.2 && (means[1] - 100.0).abs() < 20.0, "{means:?}");
    assert_eq!(generator.normal(0.0, 1.0, [2], (DType::F64, &device)).dtype(), DType::F64);
    assert_eq!(generator.poisson(1.0, [2], (DType::F32, &device)).dtype(), DType::F32);
    let errors: Vec<(Result<Tensor>, &str)> = vec![
        (generator.try_exponential(-1.0, [2], &device), "exponential: scale = -1 is not above 0"),
        (
            generator.try_exponential(Tensor::ones([3], &device), [2], &device),
            "exponential: shapes [3] and [2]",
        ),
        (generator.try_gamma(0.0, 1.0, [2], &device), "gamma: a = 0"),
        (generator.try_gamma(1e9, 1.0, [2], &device), "gamma: a = 1000000000"),
        (generator.try_poisson(f64::NAN, [2], &device), "poisson: a rate of NaN"),
        (generator.try_binomial(3, 1.5, [2], &device), "binomial: 1.5 is not a probability"),
        (generator.try_geometric(1e-9, [2], &device), "geometric: more than"),
        (generator.try_zipf(1.5, [2], &device), "zipf: with a = 1.5"),
        (generator.try_hypergeometric(1, 1, 3, [2], &device), "hypergeometric: 3 of 1 and 1"),
        (generator.try_truncated_normal(0.0, 1.0, 9.0, 10.0, [2], &device), "truncated_normal: too little"),
        (generator.try_choice(3, [4], false, &device), "choice: 4 of 3"),
        (generator.try_choice_with(&[0.5, 0.4], [1], true, &device), "choice_with: 2 probabilities"),
        (generator.try_triangular(1.0, 0.0, 2.0, [1], &device), "triangular: 1, 0 and 2"),
        (generator.try_normal(0.0, 1.0, [1], (DType::I32, &device)), "normal: dtype i32"),
        (generator.try_dirichlet(&[], [1], &device), "dirichlet"),
    ];
    for (result, expected) in errors {
        let error = result.err().unwrap_or_else(|| panic!("accepted: {expected}")).to_string();
        assert!(error.contains(expected), "{error:?} does not say {expected:?}");
    }
    // At the ends of the parameters there is nothing to draw.
    assert_eq!(values(&generator.binomial(5, 1.0, [3], &device)), [5.0; 3]);
    assert_eq!(values(&generator.binomial(0, 0.5, [3], &device)), [0.0; 3]);
    assert_eq!(values(&generator.poisson(0.0, [3], &device)), [0.0; 3]);
    assert_eq!(values(&generator.geometric(1.0, [3], &device)), [1.0; 3]);
}
