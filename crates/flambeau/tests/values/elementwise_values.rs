//! Values, first and second derivatives of every elementwise op against PyTorch's, which
//! tools/reference/elementwise.py has written to tests/data: in F64 on the CPU, in F32 on every device.

use crate::common::devices;
use flambeau::autograd::{BackwardOptions, grad};
use flambeau::{DType, Device, Tensor, block_on};
use safetensors::SafeTensors;

/// How far a value may be from PyTorch's: absolute, relative.
const EXACT: (f64, f64) = (1e-12, 1e-12);
const SINGLE: (f64, f64) = (1e-5, 1.3e-6);

struct Reference<'a>(SafeTensors<'a>);

impl Reference<'_> {
    /// The stored columns `op/kind0`, `op/kind1`, …
    fn columns(&self, op: &str, kind: &str) -> Vec<Vec<f64>> {
        (0..).map_while(|index| self.column(&format!("{op}/{kind}{index}"))).collect()
    }

    fn column(&self, name: &str) -> Option<Vec<f64>> {
        let view = self.0.tensor(name).ok()?;
        Some(match view.dtype() {
            safetensors::Dtype::F64 => {
                view.data().chunks_exact(8).map(|b| f64::from_le_bytes(b.try_into().unwrap())).collect()
            }
            safetensors::Dtype::I32 => view
                .data()
                .chunks_exact(4)
                .map(|b| i32::from_le_bytes(b.try_into().unwrap()).into())
                .collect(),
            other => panic!("{name} is {other:?}"),
        })
    }

    /// The ops that have a column of this kind.
    fn ops(&self, kind: &str) -> Vec<String> {
        let mut ops: Vec<String> = self
            .0
            .names()
            .iter()
            .filter_map(|name| name.strip_suffix(kind)?.strip_suffix('/'))
            .map(Into::into)
            .collect();
        ops.sort();
        assert!(!ops.is_empty(), "no op has {kind}");
        ops
    }
}

fn with_reference(body: impl Fn(&Reference)) {
    let bytes =
        std::fs::read(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/elementwise.safetensors")).unwrap();
    body(&Reference(SafeTensors::deserialize(&bytes).unwrap()));
}

fn tensor(values: &[f64], dtype: DType, device: &Device) -> Tensor {
    let shape = [values.len()];
    match dtype {
        DType::F64 => Tensor::from_slice(values, shape, device),
        DType::F32 => {
            Tensor::from_slice(&values.iter().map(|&x| x as f32).collect::<Vec<_>>(), shape, device)
        }
        DType::I32 => {
            Tensor::from_slice(&values.iter().map(|&x| x as i32).collect::<Vec<_>>(), shape, device)
        }
        other => panic!("no samples in {other}"),
    }
}

fn values(tensor: &Tensor) -> Vec<f64> {
    block_on(tensor.to_f64_vec()).unwrap()
}

/// The op of a name in the reference file.
fn apply(op: &str, args: &[Tensor]) -> Tensor {
    let x = &args[0];
    let y = || &args[1];
    match op {
        "abs" => x.abs(),
        "acos" => x.acos(),
        "acosh" => x.acosh(),
        "add" => x.add(y()),
        "asin" => x.asin(),
        "asinh" => x.asinh(),
        "atan" => x.atan(),
        "atan2" => x.atan2(y()),
        "atanh" => x.atanh(),
        "bitand" => x & y(),
        "bitnot" => !x,
        "bitor" => x | y(),
        "bitxor" => x ^ y(),
        "ceil" => x.ceil(),
        "clamp" => x.clamp(-0.7, 0.9),
        "clamp_tensors" => x.clamp(y(), y() + 1.0),
        "cos" => x.cos(),
        "cosh" => x.cosh(),
        "deg2rad" => x.deg2rad(),
        "div" => x.div(y()),
        "eq" => x.eq(y()),
        "erf" => x.erf(),
        "erfc" => x.erfc(),
        "exp" => x.exp(),
        "exp2" => x.exp2(),
        "expm1" => x.expm1(),
        "floor" => x.floor(),
        "floor_divide" => x.floor_divide(y()),
        "fmod" => x.fmod(y()),
        "frac" => x.frac(),
        "ge" => x.ge(y()),
        "gt" => x.gt(y()),
        "hypot" => x.hypot(y()),
        "isfinite" => x.isfinite(),
        "isinf" => x.isinf(),
        "isnan" => x.isnan(),
        "le" => x.le(y()),
        "lerp" => x.lerp(y(), 0.3),
        "log" => x.log(),
        "log10" => x.log10(),
        "log1p" => x.log1p(),
        "log2" => x.log2(),
        "log_sigmoid" => x.log_sigmoid(),
        "logaddexp" => x.logaddexp(y()),
        "logical_and" => x.logical_and(y()),
        "logical_not" => x.logical_not(),
        "logical_or" => x.logical_or(y()),
        "logical_xor" => x.logical_xor(y()),
        "logit" => x.logit(None),
        "logit_eps" => x.logit(0.1),
        "lt" => x.lt(y()),
        "maximum" => x.maximum(y()),
        "minimum" => x.minimum(y()),
        "mul" => x.mul(y()),
        "nan_to_num" => x.nan_to_num(0.5, 2.0, -2.0),
        "ne" => x.ne(y()),
        "neg" => -x,
        "pow" => x.pow(y()),
        "pow_0" => x.pow(0),
        "pow_1" => x.pow(1),
        "pow_2" => x.pow(2),
        "pow_3" => x.pow(3),
        "pow_4" => x.pow(4),
        "pow_half" => x.pow(0.5),
        "pow_minus_1" => x.pow(-1),
        "pow_minus_2" => x.pow(-2),
        "pow_minus_half" => x.pow(-0.5),
        "rad2deg" => x.rad2deg(),
        "reciprocal" => x.reciprocal(),
        "relu" => x.relu(),
        "remainder" => x % y(),
        "round" => x.round(),
        "rsqrt" => x.rsqrt(),
        "rsub" => x.rsub(y()),
        "shift_left" => x << y(),
        "shift_right" => x >> y(),
        "sigmoid" => x.sigmoid(),
        "sign" => x.sign(),
        "sin" => x.sin(),
        "sinh" => x.sinh(),
        "softplus" => x.softplus(),
        "softplus_with" => x.softplus_with(2.0, 1.5),
        "sqrt" => x.sqrt(),
        "square" => x.square(),
        "sub" => x.sub(y()),
        "tan" => x.tan(),
        "tanh" => x.tanh(),
        "trunc" => x.trunc(),
        other => panic!("the reference file has an op that this test does not know: {other}"),
    }
}

/// What differs beyond the tolerance, described.
fn differences(
    what: &str,
    args: &[Vec<f64>],
    got: &[f64],
    want: &[f64],
    (absolute, relative): (f64, f64),
) -> Vec<String> {
    assert_eq!(got.len(), want.len(), "{what}");
    let differs = |k: &usize| {
        let (got, want) = (got[*k], want[*k]);
        let close = (got - want).abs() <= absolute + relative * want.abs();
        !(close || got == want || (got.is_nan() && want.is_nan()))
    };
    let describe = |k: usize| {
        let at: Vec<f64> = args.iter().map(|column| column[k]).collect();
        format!("{what} at {at:?}: got {}, PyTorch has {}", got[k], want[k])
    };
    (0..got.len()).filter(differs).map(describe).collect()
}

fn assert_none(differences: Vec<String>) {
    assert!(differences.is_empty(), "{} differences\n{}", differences.len(), differences.join("\n"));
}

/// The sum of 1 + i/8 times element i.
fn weighted_sum(tensor: &Tensor) -> Tensor {
    let weights: Vec<f64> = (0..tensor.numel()).map(|i| 1.0 + i as f64 / 8.0).collect();
    (tensor * self::tensor(&weights, tensor.dtype(), tensor.device())).sum(..)
}

/// The gradients of a number, zero where an input takes no part in it.
fn gradients(of: &Tensor, inputs: &[Tensor], create_graph: bool) -> Vec<Tensor> {
    if !of.is_tracked() {
        return inputs.iter().map(Tensor::zeros_like).collect();
    }
    let options = BackwardOptions { create_graph, ..BackwardOptions::default() };
    let found = grad(std::slice::from_ref(of), inputs, options).unwrap();
    found.into_iter().zip(inputs).map(|(found, input)| found.unwrap_or_else(|| input.zeros_like())).collect()
}

fn check_derivatives(dtype: DType, device: &Device, tolerance: (f64, f64)) {
    with_reference(|reference| {
        let mut wrong = Vec::new();
        for op in reference.ops("out") {
            let samples = reference.columns(&op, "in");
            let args: Vec<Tensor> =
                samples.iter().map(|x| tensor(x, dtype, device).requires_grad()).collect();
            let out = apply(&op, &args);
            assert_eq!(out.dtype(), dtype, "{op}");
            let first = gradients(&weighted_sum(&out), &args, true);
            let total = first.iter().map(weighted_sum).reduce(|a, b| a + b).unwrap();
            let mut check = |what: &str, got: &Tensor, want: &[f64]| {
                wrong.extend(differences(&format!("{op} {what}"), &samples, &values(got), want, tolerance));
            };
            check("value", &out, &reference.column(&format!("{op}/out")).unwrap());
            let wanted = reference.columns(&op, "grad");
            assert_eq!(wanted.len(), args.len(), "{op}");
            for (k, (got, want)) in first.iter().zip(&wanted).enumerate() {
                check(&format!("gradient {k}"), got, want);
            }
            let wanted = reference.columns(&op, "second");
            for (k, (got, want)) in gradients(&total, &args, false).iter().zip(&wanted).enumerate() {
                check(&format!("second derivative {k}"), got, want);
            }
        }
        assert_none(wrong);
    });
}

#[test]
fn values_and_derivatives_in_double_precision() {
    check_derivatives(DType::F64, &Device::cpu(), EXACT);
}

#[test]
fn values_and_derivatives_on_every_device() {
    devices().iter().for_each(|device| check_derivatives(DType::F32, device, SINGLE));
}

/// Zeros, infinities, NaN, numbers near the ends of the range.
fn check_special(dtype: DType, device: &Device, tolerance: (f64, f64)) {
    with_reference(|reference| {
        let mut wrong = Vec::new();
        for op in reference.ops("special_out") {
            let samples = reference.columns(&op, "special_in");
            let args: Vec<Tensor> = samples.iter().map(|x| tensor(x, dtype, device)).collect();
            let got = values(&apply(&op, &args));
            let mut want = reference.column(&format!("{op}/special_out")).unwrap();
            if dtype == DType::F32 {
                // What is beyond single precision is infinite or zero there.
                want.iter_mut().for_each(|x| *x = f64::from(*x as f32));
            }
            wrong.extend(differences(&format!("{op} on {device}"), &samples, &got, &want, tolerance));
        }
        assert_none(wrong);
    });
}

#[test]
fn special_values_in_double_precision() {
    check_special(DType::F64, &Device::cpu(), EXACT);
}

#[test]
fn special_values_on_every_device() {
    devices().iter().for_each(|device| check_special(DType::F32, device, SINGLE));
}

#[test]
fn integers_on_every_device() {
    with_reference(|reference| {
        let mut wrong = Vec::new();
        for (device, op) in devices()
            .iter()
            .flat_map(|device| reference.ops("int_out").into_iter().map(move |op| (device, op)))
        {
            let samples = reference.columns(&op, "int_in");
            let args: Vec<Tensor> = samples.iter().map(|x| tensor(x, DType::I32, device)).collect();
            let got = values(&apply(&op, &args));
            let want = reference.column(&format!("{op}/int_out")).unwrap();
            wrong.extend(differences(&format!("{op} on {device}"), &samples, &got, &want, (0.0, 0.0)));
        }
        assert_none(wrong);
    });
}

/// What PyTorch leaves undefined or refuses: the same everywhere, as the docs say.
#[test]
fn integers_at_the_edges() {
    for device in devices() {
        let x = Tensor::new([5, -5, i32::MIN], &device);
        assert_eq!(values(&x.floor_divide(0)), [5.0, -5.0, f64::from(i32::MIN)]);
        assert_eq!(values(&(&x % 0)), [0.0; 3]);
        assert_eq!(values(&x.fmod(0)), [0.0; 3]);
        assert_eq!(values(&x.shift_left(32)), [0.0; 3]);
        assert_eq!(values(&x.shift_right(40)), [0.0, -1.0, -1.0]);
        assert_eq!(values(&x.shift_left(-1)), [0.0; 3]);
        assert_eq!(values(&Tensor::new([2, 1, -1, 0], &device).pow(-3)), [0.0, 1.0, -1.0, 0.0]);
        let bytes = Tensor::new([200u8, 3], &device);
        assert_eq!(values(&(!&bytes)), [55.0, 252.0]);
        assert_eq!(values(&(&bytes << 1)), [144.0, 6.0]);
        assert_eq!(values(&bytes.sign()), [1.0, 1.0]);
        let flags = Tensor::new([true, false], &device);
        assert_eq!(values(&(!&flags)), [0.0, 1.0]);
        assert_eq!(values(&(&flags ^ true)), [0.0, 1.0]);
        assert!(flags.try_shift_left(&flags).is_err());
        assert!(Tensor::new([1.0], &device).try_bitnot().is_err());
    }
}

/// torch.pow's gradients at a zero base: of the exponent 0, of the base 0 for an exponent of 0.
#[test]
fn powers_of_zero_have_finite_gradients() {
    for device in devices() {
        let x = Tensor::new([0.0, 0.0, 2.0], &device).requires_grad();
        let y = Tensor::new([0.0, 2.0, 0.0], &device).requires_grad();
        let found = gradients(&x.pow(&y).sum(..), &[x, y], true);
        assert_eq!(values(&found[0]), [0.0, 0.0, 0.0]);
        assert_eq!(values(&found[1]), [0.0, 0.0, f64::from(2.0f32.ln())]);
        let x = Tensor::new([-2.0, 3.0], &device).requires_grad();
        let cube = x.pow(Tensor::new([3.0, 3.0], &device));
        assert_eq!(values(&gradients(&cube.sum(..), &[x], false)[0]), [12.0, 27.0]);
    }
}

#[test]
fn assigning_operators_rebind_one_handle() {
    let device = Device::cpu();
    let mut x = Tensor::new([5.0, 7.0], &device);
    let before = x.clone();
    x += 1.0;
    x *= &before;
    x -= 2;
    x /= 4.0;
    x %= 3.0;
    assert_eq!(values(&x), [1.0, 1.5]);
    assert_eq!(values(&before), [5.0, 7.0]);
    let mut leaf = Tensor::new([1.0], &device).requires_grad();
    flambeau::autograd::no_grad(|| leaf += 1.0);
    assert_eq!(values(&leaf), [2.0]);
}

#[test]
#[should_panic(expected = "add_assign on a leaf that requires a gradient")]
fn a_leaf_that_requires_a_gradient_is_not_rebound() {
    let mut leaf = Tensor::new([1.0], &Device::cpu()).requires_grad();
    leaf += 1.0;
}
