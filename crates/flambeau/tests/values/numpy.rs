//! What NumPy has beyond networks: its values (`tools/reference/numpy_api.py`) on every device, derivatives by finite differences, and
//! what is refused.

use crate::common::recorded::{Inputs, Recorded};
use crate::common::{assert_close, devices, values};
use flambeau::autograd::{GradcheckOptions, gradcheck_blocking};
use flambeau::block_on;
use flambeau::fft::ConvolveMode;
use flambeau::func::apply_along_axis;
use flambeau::nn::Identity;
use flambeau::numeric::{Bins, CovOptions, HistogramOptions, IndexMode, PadWith, QuantileMethod, UniqueAll};
use flambeau::prelude::*;
use std::sync::OnceLock;

fn recorded() -> &'static Recorded {
    static FILE: OnceLock<Recorded> = OnceLock::new();
    FILE.get_or_init(|| Recorded::open(include_bytes!("../data/numpy.safetensors")))
}

/// Compares values on every device.
#[track_caller]
fn check(name: &str, call: impl Fn(&Inputs) -> Vec<Tensor>) {
    recorded().case(name).check(|_| Identity, |_, inputs| call(inputs));
}

#[test]
fn elements() {
    type One = fn(&Tensor) -> Tensor;
    let ones: [(&str, One); 9] = [
        ("heaviside", |x| x.heaviside(0.25)),
        ("sinc", |x| x.sinc()),
        ("cbrt", |x| x.cbrt()),
        ("isposinf", |x| x.isposinf()),
        ("isneginf", |x| x.isneginf()),
        ("signbit", |x| x.signbit()),
        ("spacing", |x| x.spacing()),
        ("bitwise_count", |x| x.bitwise_count()),
        ("nan_to_num", |x| x.nan_to_num(1.0, 2.0, 3.0)),
    ];
    for (name, function) in ones {
        check(name, |x| vec![function(x.get("x"))]);
    }
    type Two = fn(&Tensor, &Tensor) -> Tensor;
    let twos: [(&str, Two); 7] = [
        ("fmax", |x, y| x.fmax(y)),
        ("fmin", |x, y| x.fmin(y)),
        ("copysign", |x, y| x.copysign(y)),
        ("logaddexp2", |x, y| x.logaddexp2(y)),
        ("nextafter", |x, y| x.nextafter(y)),
        ("gcd", |x, y| x.gcd(y)),
        ("lcm", |x, y| x.lcm(y)),
    ];
    for (name, function) in twos {
        check(name, |x| vec![function(x.get("x"), x.get("y"))]);
    }
    check("i0", |x| vec![x.get("x").i0()]);
    check("divmod", |x| {
        let (quotient, rest) = x.get("x").divmod(x.get("y"));
        vec![quotient, rest]
    });
    check("modf", |x| {
        let (fraction, whole) = x.get("x").modf();
        vec![fraction, whole]
    });
    check("ldexp", |x| vec![x.get("x").ldexp(x.get("n"))]);
    check("frexp", |x| {
        let (mantissa, exponent) = x.get("x").frexp();
        vec![mantissa, exponent]
    });
    check("isclose", |x| {
        let (x, y) = (x.get("x"), x.get("y"));
        let close = |rtol, atol, equal_nan| x.isclose(y, rtol, atol, equal_nan);
        vec![close(1e-5, 1e-8, false), close(1e-5, 1e-8, true), close(0.1, 0.5, false)]
    });
}

/// Neighbouring numbers are exactly those of IEEE 754, and the parts of a number make it up again.
#[test]
fn neighbours_and_parts_are_exact() {
    for device in devices() {
        let given = [1.0f32, -1.0, 0.1, 2.0, 1.999_999_9, -1e-30, 3.4e38, 1e-37, 65_536.0];
        let x = Tensor::from_slice(&given, given.len(), &device);
        let up: Vec<f64> = given.iter().map(|x| f64::from(x.next_up())).collect();
        let down: Vec<f64> = given.iter().map(|x| f64::from(x.next_down())).collect();
        assert_eq!(values(&x.nextafter(f64::INFINITY)), up);
        assert_eq!(values(&x.nextafter(f64::NEG_INFINITY)), down);
        let (mantissa, exponent) = x.frexp();
        assert_eq!(values(&mantissa.ldexp(&exponent)), values(&x));
        assert!(values(&mantissa).iter().all(|m| (0.5..1.0).contains(&m.abs())));
    }
}

#[test]
fn whole_tensors_compared() {
    for device in devices() {
        let x = Tensor::new([1.0, f32::NAN], &device);
        assert!(!x.array_equal_blocking(&x).unwrap() && !x.allclose_blocking(&x, 1e-5, 1e-8, false).unwrap());
        assert!(x.allclose_blocking(&x, 1e-5, 1e-8, true).unwrap());
        let y = Tensor::new([[1, 2], [3, 4]], &device);
        assert!(y.array_equal_blocking(&y).unwrap() && !y.array_equal_blocking(&y.reshape(4)).unwrap());
    }
}

#[test]
fn grids() {
    for device in devices() {
        let same = |name: &str, results: &[Tensor]| {
            for (k, result) in results.iter().enumerate() {
                recorded().case(name).compare(&format!("out/{k}"), result, &device);
            }
        };
        let d = &device;
        let spaces = [(-1.0, 2.0, 7, 10.0), (0.0, 3.0, 4, 2.0), (1.0, 2.0, 1, 10.0)];
        same("logspace", &spaces.map(|(start, end, n, base)| Tensor::logspace(start, end, n, base, d)));
        let spaces = [(1.0, 1000.0, 4), (-2.0, -9.0, 5), (3.0, 4.0, 1)];
        same("geomspace", &spaces.map(|(start, end, n)| Tensor::geomspace(start, end, n, d)));
        same("indices", &[Tensor::indices([2, 3], d)]);
        same("tri", &[Tensor::tri(3, 4, 1, d), Tensor::tri(4, 3, -1, d)]);
        let ((a, b), (e, f)) = (Tensor::tril_indices(4, 3, 1, d), Tensor::tril_indices(3, 5, -1, d));
        same("tril_indices", &[a, b, e, f]);
        let ((a, b), (e, f)) = (Tensor::triu_indices(4, 3, 1, d), Tensor::triu_indices(3, 5, -1, d));
        same("triu_indices", &[a, b, e, f]);
        same("windows", &[1, 8, 9].map(|n| Tensor::bartlett_window(n, false, d)));
    }
    check("unravel_index", |x| x.get("x").unravel_index([3, 4, 5]));
    check("ravel_multi_index", |x| {
        vec![Tensor::ravel_multi_index(&[x.get("x"), x.get("y"), x.get("z")], [3, 4, 5])]
    });
    check("meshgrid", |x| {
        let vectors = [x.get("x"), x.get("y")];
        [Tensor::meshgrid_xy(&vectors), Tensor::meshgrid(&vectors)].concat()
    });
}

#[test]
fn differences() {
    check("diff", |x| [(1, -1), (2, 0), (9, 1)].map(|(n, dim)| x.get("x").diff(n, dim)).to_vec());
    check("ediff1d", |x| {
        let (a, b) = (Some(x.get("a")), Some(x.get("b")));
        vec![x.get("x").ediff1d(None, None), x.get("x").ediff1d(a, b)]
    });
    check("gradient", |x| {
        let (x, p) = (x.get("x"), x.get("p"));
        vec![
            x.gradient(1.0, 0, 1),
            x.gradient(0.5, 1, 2),
            x.gradient(p, -1, 1),
            x.gradient(p, 1, 2),
            x.narrow(0, 0, 2).gradient(1.0, 0, 1),
        ]
    });
    check("trapezoid", |x| {
        let (x, p) = (x.get("x"), x.get("p"));
        vec![x.trapezoid(1.0, -1), x.trapezoid(0.25, 0), x.trapezoid(p, 1)]
    });
    check("unwrap", |x| {
        let x = x.get("x");
        vec![x.unwrap(None, 0), x.unwrap(None, -1), x.unwrap(5.0, -1)]
    });
    check("interp", |x| {
        let (x, xp, fp) = (x.get("x"), x.get("xp"), x.get("fp"));
        vec![x.interp(xp, fp, None, None), x.interp(xp, fp, Some(-7.0), Some(9.0))]
    });
}

#[test]
fn searching() {
    check("searchsorted", |x| [false, true].map(|right| x.get("s").searchsorted(x.get("x"), right)).to_vec());
    check("searchsorted_ints", |x| vec![x.get("s").searchsorted(x.get("x"), true)]);
    check("digitize", |x| [false, true].map(|right| x.get("x").digitize(x.get("bins"), right)).to_vec());
    check("lexsort", |x| vec![Tensor::lexsort(&[x.get("a"), x.get("b")])]);
    check("take", |x| {
        let (x, i) = (x.get("x"), x.get("i"));
        vec![
            x.take(i, IndexMode::Raise),
            x.take(&(i * 5), IndexMode::Wrap),
            x.take(&(i * 5), IndexMode::Clip),
            x.take_slices(i, 1, IndexMode::Raise),
        ]
    });
    check("put", |x| {
        let (x, i, v) = (x.get("x"), x.get("i"), x.get("v"));
        vec![x.put(i, v, IndexMode::Raise), x.put(&(i * 3), v, IndexMode::Wrap)]
    });
    check("put_along_dim", |x| {
        let (x, i, v) = (x.get("x"), x.get("i"), x.get("v"));
        vec![x.put_along_dim(i, v, 1), x.put_along_dim(i, 5.0, 1)]
    });
    check("masked_scatter", |x| vec![x.get("x").masked_scatter(x.get("mask"), x.get("v"))]);
    check("choose", |x| {
        let (i, choices) = (x.get("i"), [x.get("a"), x.get("b"), x.get("c")]);
        vec![
            i.choose(&choices, IndexMode::Raise),
            (i * 2).choose(&choices, IndexMode::Wrap),
            (i * 2).choose(&choices, IndexMode::Clip),
        ]
    });
    check("select_by", |x| {
        let x = x.get("x");
        vec![Tensor::select_by(&[x.lt(-0.5), x.gt(0.5)], &[x * 10.0, -x], 7.0)]
    });
    for device in devices() {
        // Rows of their own, and one of no elements.
        let sorted = Tensor::new([[1.0, 2.0, 3.0], [10.0, 20.0, 30.0]], &device);
        let sought = Tensor::new([[2.0, 9.0], [2.0, 25.0]], &device);
        assert_eq!(values(&sorted.searchsorted(&sought, false)), [1.0, 3.0, 0.0, 2.0]);
        assert_eq!(values(&Tensor::zeros([0], &device).searchsorted(&sought, true)), [0.0; 4]);
        let x = Tensor::new([[0.0, 5.0], [7.0, 0.0]], &device);
        assert_eq!(values(&x.flatnonzero_blocking().unwrap()), [1.0, 2.0]);
        assert_eq!(
            values(&x.compress_blocking(&Tensor::new([false, true], &device), 1).unwrap()),
            [5.0, 0.0]
        );
        let error = block_on(x.take(&Tensor::new([4], &device), IndexMode::Raise).to_f64_vec()).unwrap_err();
        assert!(error.to_string().contains("out of range"), "{error}");
    }
}

#[test]
fn sets() {
    let parts = |unique: UniqueAll| vec![unique.values, unique.indices, unique.inverse, unique.counts];
    check("unique", |x| parts(x.get("x").unique_all_blocking(None).unwrap()));
    check("unique_floats", |x| parts(x.get("x").unique_all_blocking(None).unwrap()));
    check("unique_rows", |x| parts(x.get("x").unique_all_blocking(Some(0)).unwrap()));
    check("unique_columns", |x| parts(x.get("x").unique_all_blocking(Some(1)).unwrap()));
    check("isin", |x| vec![x.get("x").isin(x.get("y"))]);
    check("sets", |x| {
        let (x, y) = (x.get("x"), x.get("y"));
        let results = [
            x.intersect1d_blocking(y),
            x.union1d_blocking(y),
            x.setdiff1d_blocking(y),
            x.setxor1d_blocking(y),
        ];
        results.map(Result::unwrap).to_vec()
    });
    for device in devices() {
        let x = Tensor::new([1, 1, 2, 2, 2, 1], &device);
        let runs = x.unique_consecutive_blocking(None).unwrap();
        assert_eq!(values(&runs.values), [1.0, 2.0, 1.0]);
        assert_eq!(values(&runs.inverse), [0.0, 0.0, 1.0, 1.0, 1.0, 2.0]);
        assert_eq!(values(&runs.counts), [2.0, 3.0, 1.0]);
        assert_eq!(values(&runs.indices), [0.0, 2.0, 5.0]);
        let none = Tensor::zeros([0], &device).unique_all_blocking(None).unwrap();
        assert_eq!((none.values.numel(), none.counts.numel()), (0, 0));
        assert_eq!(
            values(&Tensor::new([0, 0, 3, 0, 4, 0], &device).trim_zeros_blocking().unwrap()),
            [3.0, 0.0, 4.0]
        );
        assert_eq!(Tensor::new([0, 0], &device).trim_zeros_blocking().unwrap().numel(), 0);
    }
}

#[test]
fn counting() {
    check("bincount", |x| {
        let (x, w) = (x.get("x"), x.get("w"));
        let results =
            [x.bincount_blocking(None, 0), x.bincount_blocking(Some(w), 0), x.bincount_blocking(None, 12)];
        results.map(Result::unwrap).to_vec()
    });
    let options = HistogramOptions::default;
    check("histogram", |x| {
        let (x, e, w) = (x.get("x"), x.get("e"), x.get("w"));
        let pairs = [
            x.histogram(7, &options()),
            x.histogram(5, &HistogramOptions { range: Some((-1.0, 1.5)), ..options() }),
            x.histogram(e, &options()),
            x.histogram(e, &HistogramOptions { weights: Some(w.clone()), ..options() }),
            x.histogram(e, &HistogramOptions { density: true, ..options() }),
        ];
        pairs.into_iter().flat_map(|(counts, edges)| [counts, edges]).collect()
    });
    check("histogram_equal", |x| {
        let (counts, edges) = x.get("x").histogram(4, &options());
        vec![counts, edges]
    });
    check("histogram_grid", |x| {
        let (counts, edges) =
            x.get("x").histogram(4, &HistogramOptions { range: Some((0.0, 1.0)), ..options() });
        vec![counts, edges]
    });
    check("histogramdd", |x| {
        let bins = [Bins::from(4), Bins::from(x.get("e"))];
        let (counts, edges) = x.get("x").histogramdd(&bins, &options());
        let density = x.get("x").histogramdd(&bins, &HistogramOptions { density: true, ..options() }).0;
        [vec![counts], edges, vec![density]].concat()
    });
}

const METHODS: [(&str, QuantileMethod); 13] = [
    ("linear", QuantileMethod::Linear),
    ("lower", QuantileMethod::Lower),
    ("higher", QuantileMethod::Higher),
    ("nearest", QuantileMethod::Nearest),
    ("midpoint", QuantileMethod::Midpoint),
    ("inverted_cdf", QuantileMethod::InvertedCdf),
    ("averaged_inverted_cdf", QuantileMethod::AveragedInvertedCdf),
    ("closest_observation", QuantileMethod::ClosestObservation),
    ("interpolated_inverted_cdf", QuantileMethod::InterpolatedInvertedCdf),
    ("hazen", QuantileMethod::Hazen),
    ("weibull", QuantileMethod::Weibull),
    ("median_unbiased", QuantileMethod::MedianUnbiased),
    ("normal_unbiased", QuantileMethod::NormalUnbiased),
];

#[test]
fn quantiles_by_every_method() {
    let quantiles = [0.0, 0.1, 0.25, 0.3, 0.5, 0.625, 0.8, 1.0];
    for (name, method) in METHODS {
        check(&format!("quantile_{name}"), |x| {
            vec![x.get("x").quantiles(&quantiles, 1, method), x.get("x").quantile(0.4, .., method)]
        });
        check(&format!("nanquantile_{name}"), |x| vec![x.get("x").nanquantiles(&quantiles, 1, method)]);
    }
    let linear = QuantileMethod::Linear;
    check("quantile_nan", |x| {
        let x = x.get("x");
        vec![x.quantile(0.5, 1, linear), x.percentile(30.0, 0, linear), x.quantile(0.5, .., linear)]
    });
    check("quantile_dims", |x| vec![x.get("x").quantiles(&[0.2, 0.7], [0, 2], linear)]);
}

#[test]
fn statistics() {
    check("average", |x| {
        let (x, w) = (x.get("x"), x.get("w"));
        vec![x.average(w, 1), x.average(w, ..)]
    });
    check("ptp", |x| vec![x.get("x").ptp(..), x.get("x").ptp(0)]);
    check("cov", |x| {
        let (f, w) = (Some(x.get("f").clone()), Some(x.get("w").clone()));
        let x = x.get("x");
        let plain = CovOptions::default;
        vec![
            x.cov(&plain()),
            x.cov(&CovOptions { correction: Some(0.0), ..plain() }),
            x.cov(&CovOptions { frequencies: f.clone(), ..plain() }),
            x.cov(&CovOptions { weights: w.clone(), ..plain() }),
            x.cov(&CovOptions { frequencies: f, weights: w, correction: Some(2.0) }),
            x.select(0, 0).cov(&plain()),
            x.corrcoef(),
        ]
    });
    check("nan", |x| {
        let x = x.get("x");
        vec![
            x.nansum(1),
            x.nanprod(0),
            x.nanmean(1),
            x.nanvar(1, 0),
            x.nanstd(1, 1),
            x.nanmax(1),
            x.nanmin(0),
            x.nancumsum(1),
            x.nancumprod(0),
            x.nanmean(..),
        ]
    });
    check("nanarg", |x| {
        let x = x.get("x");
        vec![x.nanargmax(1), x.nanargmin(0), x.nanargmax(..)]
    });
}

#[test]
fn polynomials_and_convolutions() {
    check("polynomials", |x| {
        let (p, q, x) = (x.get("p"), x.get("q"), x.get("x"));
        let (quotient, remainder) = p.polydiv(q);
        vec![
            p.polyval(x),
            p.polyadd(q),
            q.polysub(p),
            p.polymul(q),
            quotient,
            remainder,
            p.polyder(1),
            p.polyder(2),
            p.polyint(1, &[]),
            p.polyint(2, &[3.0, -1.0]),
            q.poly(),
        ]
    });
    let modes = [ConvolveMode::Full, ConvolveMode::Same, ConvolveMode::Valid];
    for (n, k) in [(7, 3), (7, 4), (3, 6), (4, 5), (5, 5), (6, 2), (2, 7)] {
        check(&format!("convolve_{n}_{k}"), |x| {
            modes.map(|mode| x.get("x").convolve(x.get("w"), mode)).to_vec()
        });
        check(&format!("correlate_{n}_{k}"), |x| {
            modes.map(|mode| x.get("x").correlate(x.get("w"), mode)).to_vec()
        });
    }
    check("convolve_ints", |x| vec![x.get("x").convolve(x.get("w"), ConvolveMode::Full)]);
}

#[test]
fn products() {
    check("products", |x| {
        let (a, b, v) = (x.get("a"), x.get("b"), x.get("v"));
        vec![
            a.inner(b),
            a.vdot(&(a * 2.0)),
            a.flatten(0, -1).outer(v),
            a.kron(v),
            a.tensordot(b, ([1], [2])),
            b.matvec(v),
            v.vecmat(&b.matrix_transpose()),
        ]
    });
    for device in devices() {
        let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        assert_eq!(values(&x.vecdot(&Tensor::new([1.0, -1.0], &device), -1)), [-1.0, -1.0]);
    }
}

/// Every form of the string: implicit and explicit results, spaces, diagonals, ellipses, one to four operands, numbers.
#[test]
fn einsum_in_all_its_forms() {
    let equations = [
        "ij,jk",
        "ii->i",
        "ii",
        "iij->j",
        "ijk->kij",
        "i,j,k->kji",
        "...ij,...jk->...ik",
        "i...->...",
        " i j , j k -> i k ",
        "ab,bc,cd,de->ae",
        "...i->...",
        "bi,bi->b",
        "ij->",
        ",ij->ij",
        "i,i",
        "ba",
        "i...,i...->...",
        "...,...",
        "iijj->ij",
        "aab,b->a",
        "Ab,bA->A",
        "ij,kl->ijkl",
        "...ii->...i",
        "ijk,ijk,ijk->k",
    ];
    for (k, equation) in equations.iter().enumerate() {
        check(&format!("einsum_{k}"), |x| {
            let operands: Vec<&Tensor> = (0..).map_while(|n| x.find(&format!("x{n}"))).collect();
            vec![Tensor::einsum(equation, &operands)]
        });
    }
}

#[test]
fn arranging() {
    check("rot90", |x| {
        let x = x.get("x");
        let turned = [0, 1, 2, 3].map(|k| x.rot90(k, [0, 2]));
        [turned.to_vec(), vec![x.rot90(-1, [2, 1]), x.rot90(5, [0, 1])]].concat()
    });
    check("stacks", |x| {
        let both = [x.get("a"), x.get("b")];
        let [a, b] = both.map(Tensor::clone);
        let blocks = [vec![a.clone(), b.clone()], vec![b, a]];
        vec![
            Tensor::dstack(&both),
            Tensor::column_stack(&both),
            Tensor::block(&blocks),
            Tensor::hstack(&both),
            Tensor::vstack(&both),
        ]
    });
    check("split", |x| {
        let x = x.get("x");
        [x.array_split(3, 0), x.split_at(&[1, 4], 0), x.array_split(2, 1)].concat()
    });
    check("insert", |x| {
        let (x, v) = (x.get("x"), x.get("v"));
        vec![x.insert(1, v, 0), x.insert(2, 9.0, 1), x.delete(&[0, -1], 1)]
    });
    check("repeat_each", |x| vec![x.get("x").repeat_each(&[2, 0, 3], 0), x.get("x").repeat_each(&[2, 2], 1)]);
    check("resize", |x| vec![x.get("x").resize([3, 4]), x.get("x").resize([2, 2])]);
    check("diagflat", |x| vec![x.get("x").diagflat(1), x.get("x").diagflat(-2)]);
    check("fill_diagonal", |x| {
        let (x, v) = (x.get("x"), x.get("v"));
        vec![x.fill_diagonal(5.0), x.fill_diagonal(v), x.t().fill_diagonal(v)]
    });
    check("packbits", |x| vec![x.get("x").packbits(1), x.get("x").packbits(0)]);
    check("unpackbits", |x| {
        let x = x.get("x").to_dtype(DType::U8);
        vec![x.unpackbits(1), x.unpackbits(0)]
    });
    check("roll", |x| {
        let x = x.get("x");
        vec![x.roll(&[5], &[]), x.roll(&[-1], &[1]), x.roll(&[1, 2], &[0, 2])]
    });
    check("cumulative", |x| vec![x.get("x").cumsum(1), x.get("x").cumprod(2)]);
}

#[test]
fn padding() {
    let modes = [
        ("edge", PadWith::Edge),
        ("reflect", PadWith::Reflect),
        ("symmetric", PadWith::Symmetric),
        ("wrap", PadWith::Wrap),
        ("maximum", PadWith::Maximum),
        ("minimum", PadWith::Minimum),
        ("mean", PadWith::Mean),
        ("median", PadWith::Median),
    ];
    for (name, with) in modes {
        check(&format!("pad_{name}"), |x| {
            [[(1, 2), (0, 3)], [(7, 0), (5, 9)]].map(|widths| x.get("x").pad_dims(&widths, with)).to_vec()
        });
    }
    let widths = [(1, 2), (0, 3)];
    check("pad_constant", |x| vec![x.get("x").pad_dims(&widths, PadWith::Constant(2.5.into()))]);
    check("pad_linear_ramp", |x| vec![x.get("x").pad_dims(&widths, PadWith::LinearRamp(-4.0))]);
}

/// Derivatives against finite differences, in f64.
#[test]
fn derivatives() {
    let device = Device::cpu();
    let input = |shape: &[usize], seed: u64| {
        Tensor::randn(shape, &Generator::new(seed), &device).to_dtype(DType::F64).detach().requires_grad()
    };
    let positive = |shape: &[usize], seed: u64| (input(shape, seed).abs() + 0.5).detach().requires_grad();
    let places = || Tensor::from_slice(&[-2.0f64, -0.7, 0.1, 0.9, 2.0], 5, &device).requires_grad();
    type Function = fn(&[Tensor]) -> Result<Tensor>;
    let cases: Vec<(&str, Vec<Tensor>, Function)> = vec![
        ("sinc", vec![input(&[5], 1)], |x| x[0].try_sinc()),
        ("cbrt", vec![positive(&[5], 1)], |x| x[0].try_cbrt()),
        ("fmax", vec![input(&[5], 1), input(&[5], 2)], |x| x[0].try_fmax(&x[1])),
        ("logaddexp2", vec![input(&[5], 1), input(&[5], 2)], |x| x[0].try_logaddexp2(&x[1])),
        ("modf", vec![input(&[5], 1)], |x| Ok(x[0].try_modf()?.0)),
        ("ldexp", vec![input(&[5], 1)], |x| x[0].try_ldexp(3)),
        ("frexp", vec![positive(&[5], 1)], |x| Ok(x[0].try_frexp()?.0)),
        ("diff", vec![input(&[3, 5], 1)], |x| x[0].try_diff(2, 1)),
        ("gradient", vec![input(&[3, 5], 1), places()], |x| x[0].try_gradient(&x[1], 1, 2)),
        ("trapezoid", vec![input(&[3, 5], 1), places()], |x| x[0].try_trapezoid(&x[1], 1)),
        ("unwrap", vec![input(&[6], 1)], |x| x[0].try_mul(4.0)?.try_unwrap(None, 0)),
        ("interp", vec![input(&[7], 3), places(), input(&[5], 4)], |x| {
            x[0].try_interp(&x[1], &x[2], None, None)
        }),
        ("take", vec![input(&[2, 3], 1)], |x| {
            x[0].try_take(&Tensor::new([5, 0, -1], x[0].device()), IndexMode::Raise)
        }),
        ("put", vec![input(&[2, 3], 1), input(&[2], 2)], |x| {
            x[0].try_put(&Tensor::new([5, 0], x[0].device()), &x[1], IndexMode::Raise)
        }),
        ("masked_scatter", vec![input(&[2, 3], 1), input(&[2], 2)], |x| {
            let mask = Tensor::new([[true, false, true], [true, false, false]], x[0].device());
            x[0].try_masked_scatter(&mask, &x[1])
        }),
        ("choose", vec![input(&[3], 1), input(&[3], 2)], |x| {
            Tensor::new([0, 1, 0], x[0].device()).try_choose(x, IndexMode::Raise)
        }),
        ("quantiles", vec![input(&[3, 5], 1)], |x| {
            x[0].try_quantiles(&[0.1, 0.5, 0.85], 1, QuantileMethod::Linear)
        }),
        ("nanquantiles", vec![input(&[3, 5], 1)], |x| {
            x[0].try_nanquantiles(&[0.1, 0.6], 1, QuantileMethod::Hazen)
        }),
        ("average", vec![input(&[3, 5], 1), positive(&[5], 2)], |x| x[0].try_average(&x[1], 1)),
        ("cov", vec![input(&[3, 6], 1), positive(&[6], 2)], |x| {
            x[0].try_cov(&CovOptions { weights: Some(x[1].clone()), ..Default::default() })
        }),
        ("corrcoef", vec![input(&[3, 6], 1)], |x| x[0].try_corrcoef()),
        ("nanvar", vec![input(&[3, 5], 1)], |x| x[0].try_nanvar(1, 1)),
        ("nanmax", vec![input(&[3, 5], 1)], |x| x[0].try_nanmax(1)),
        ("polyval", vec![input(&[4], 1), input(&[5], 2)], |x| x[0].try_polyval(&x[1])),
        ("polymul", vec![input(&[4], 1), input(&[3], 2)], |x| x[0].try_polymul(&x[1])),
        ("polydiv", vec![input(&[4], 1), positive(&[2], 2)], |x| Ok(x[0].try_polydiv(&x[1])?.0)),
        ("polyint", vec![input(&[4], 1)], |x| x[0].try_polyder(1)?.try_polyint(2, &[1.0])),
        ("poly", vec![input(&[4], 1)], |x| x[0].try_poly()),
        ("correlate", vec![input(&[6], 1), input(&[3], 2)], |x| {
            x[0].try_correlate(&x[1], ConvolveMode::Same)
        }),
        ("inner", vec![input(&[2, 3], 1), input(&[3], 2)], |x| x[0].try_inner(&x[1])),
        ("rot90", vec![input(&[2, 3], 1)], |x| x[0].try_rot90(1, [0, 1])),
        ("insert", vec![input(&[2, 3], 1), input(&[3], 2)], |x| x[0].try_insert(1, &x[1], 0)),
        ("pad_dims", vec![input(&[2, 3], 1)], |x| x[0].try_pad_dims(&[(3, 1), (0, 5)], PadWith::Symmetric)),
        ("pad_mean", vec![input(&[2, 3], 1)], |x| x[0].try_pad_dims(&[(1, 1), (2, 0)], PadWith::Mean)),
        ("ramp", vec![input(&[2, 3], 1)], |x| x[0].try_pad_dims(&[(1, 1), (2, 3)], PadWith::LinearRamp(1.0))),
    ];
    for (name, inputs, function) in cases {
        gradcheck_blocking(function, &inputs, GradcheckOptions::default())
            .unwrap_or_else(|error| panic!("{name}: {error}"));
    }
}

#[test]
fn what_is_refused_says_why() {
    let device = Device::cpu();
    let x = Tensor::zeros([2, 3], &device);
    let errors: Vec<(Result<Tensor>, &str)> = vec![
        (
            x.try_searchsorted(&Tensor::zeros([3], &device), true),
            "searchsorted: values of shape [3] in sorted rows",
        ),
        (x.try_digitize(&x, true), "digitize: bins of shape [2, 3]"),
        (x.try_interp(&x, &x, None, None), "interp: places of shape [2, 3]"),
        (x.try_quantile(1.5, .., QuantileMethod::Linear), "1.5 is not between 0 and 1"),
        (Tensor::zeros([0], &device).try_quantile(0.5, .., QuantileMethod::Linear), "quantiles"),
        (x.try_gradient(1.0, 0, 2), "gradient: differences of order 2"),
        (x.try_gradient(1.0, 5, 1), "gradient: dimension 5"),
        (x.try_polyval(&x), "polyval: shape [2, 3]"),
        (x.try_take(&x, IndexMode::Raise), "take: dtype f32"),
        (
            x.try_put_along_dim(&Tensor::new([[0], [0]], &device), &x, 1),
            "put_along_dim: shapes [2, 3] and [2, 1]",
        ),
        (
            x.try_put(&Tensor::new([0], &device), &Tensor::zeros([0], &device), IndexMode::Raise),
            "put: no values",
        ),
        (x.try_bincount_of(3, None), "bincount_of: dtype f32"),
        (x.try_histogram_bin_edges(0, None), "histogram: at least one bin"),
        (x.try_histogram_bin_edges(3, Some((2.0, 1.0))), "histogram: the range (2.0, 1.0)"),
        (Tensor::try_geomspace(-1.0, 1.0, 3, &device), "geomspace: -1 and 1"),
        (x.try_pad_dims(&[(1, 1)], PadWith::Edge), "pad_dims: 1 widths"),
        (Tensor::zeros([0], &device).try_pad_dims(&[(1, 1)], PadWith::Wrap), "pad_dims: dimension 0"),
        (x.try_rot90(1, [0, -2]), "rot90"),
        (x.try_insert(9, 1.0, 0), "insert: place 9"),
        (x.try_delete(&[2], 0), "delete: position 2"),
        (x.try_repeat_each(&[1], 0), "repeat_each: 1 counts"),
        (x.try_unpackbits(0), "unpackbits: dtype f32"),
        (
            x.try_nextafter(1.0).and_then(|x| x.to_dtype(DType::F16).try_nextafter(1.0)),
            "nextafter: dtype f16",
        ),
        (x.try_inner(&Tensor::zeros([2], &device)), "inner: shapes [2, 3] and [2]"),
        (Tensor::zeros([2, 2, 2], &device).try_cov(&CovOptions::default()), "cov: shape [2, 2, 2]"),
        (x.try_gcd(2.0), "gcd"),
    ];
    for (result, expected) in errors {
        let error = result.err().unwrap_or_else(|| panic!("accepted: {expected}")).to_string();
        assert!(error.contains(expected), "{error:?} does not say {expected:?}");
    }
}

/// What needs decompositions of matrices; NumPy 1.24's numbers.
#[test]
fn by_decompositions() {
    for device in devices() {
        let numbers = |x: &[f32]| Tensor::from_vec(x.to_vec(), [x.len()], &device);
        let close = |got: &Tensor, want: &[f64]| assert_close(&values(got), want, 2e-5, 2e-5);
        let (x, y) = (numbers(&[0.0, 1.0, 2.0, 3.0, 4.0, 5.0]), numbers(&[1.0, 2.0, 0.0, 5.0, 9.0, 20.0]));
        close(&x.polyfit(&y, 2), &[1.32142857, -3.15, 1.92857143]);
        let both = Tensor::stack(&[y.clone(), y.flip(0)], 1);
        close(&x.polyfit(&both, 1), &[3.45714286, -3.45714286, -2.47619048, 14.80952381]);
        assert!(x.try_polyfit(&numbers(&[1.0]), 1).is_err());

        let squares: Vec<f32> = (0..36).map(|k| (k * k % 7) as f32).collect();
        let squares = Tensor::from_vec(squares, [6, 6], &device);
        let inverse = (Tensor::eye(6, &device) + &squares).reshape([2, 3, 3, 2]).tensorinv(2);
        assert_eq!(inverse.shape().dims(), [3, 2, 2, 3]);
        let want = [-0.36245037, 0.27056154, -0.04254112, 0.21327283, 0.3635848, -0.22291548];
        close(&inverse.narrow(0, 0, 1).narrow(1, 1, 1), &want);
        let system = (Tensor::eye(6, &device) * 5.0 + &squares).reshape([2, 3, 6]);
        let solved = system.tensorsolve(&x.reshape([2, 3]));
        close(&solved, &[3.18518519, -4.22222222, -5.0, 5.0, 4.77777778, -2.81481481]);
        assert!(system.try_tensorsolve(&x).is_err() && system.try_tensorinv(1).is_err());

        let mean = numbers(&[1.0, -2.0]);
        let covariance = Tensor::from_vec(vec![2.0f32, 0.6, 0.6, 0.5], [2, 2], &device);
        let draws = Generator::new(3).multivariate_normal(&mean, &covariance, [20_000], &device);
        assert_close(&values(&draws.mean(0)), &[1.0, -2.0], 0.05, 0.0);
        assert_close(
            &values(&draws.transpose(0, 1).cov(&CovOptions::default())),
            &[2.0, 0.6, 0.6, 0.5],
            0.06,
            0.0,
        );

        // Of lines along the middle dimension: two numbers each, in its place.
        let cube =
            Tensor::from_vec((0..24).map(|k| k as f32).collect::<Vec<_>>(), [24], &device).reshape([2, 3, 4]);
        let ends = |line: &Tensor| Tensor::stack(&[line.max(..), line.sum(..)], 0);
        let applied = apply_along_axis(ends, 1, &cube);
        let want = Tensor::stack(&[cube.amax(1), cube.sum(1)], 1);
        assert_eq!((applied.shape().dims(), values(&applied)), (&[2, 2, 4][..], values(&want)));
    }
}
