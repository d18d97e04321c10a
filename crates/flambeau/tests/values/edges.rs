//! Numbers at the edges, on every device: what PyTorch gives (1.13; the calls are in the comments), or the rule that
//! `docs/departures.md` states where the two differ.

use crate::common::{assert_close, assert_values, devices, values};
use flambeau::nn::functional::{InterpolateMode, InterpolateOptions};
use flambeau::nn::loss::{BceLoss, CrossEntropyLoss, Reduction};
use flambeau::prelude::*;
use flambeau::{AvgPool1dOptions, MaxPool1dOptions, block_on};

const INF: f32 = f32::INFINITY;
const NAN: f32 = f32::NAN;

/// The value and the gradients of the sum of a function's results.
fn with_gradients<const N: usize>(
    device: &Device,
    inputs: [Tensor; N],
    function: impl Fn(&[Tensor; N]) -> Tensor,
) -> (Vec<f64>, Vec<Vec<f64>>) {
    let inputs = inputs.map(|x| on(&x, device).requires_grad());
    let y = function(&inputs);
    y.sum(..).backward().unwrap();
    (values(&y), inputs.iter().map(|x| values(&x.grad().unwrap())).collect())
}

fn on(x: &Tensor, device: &Device) -> Tensor {
    block_on(x.to(device)).unwrap()
}

fn vector(values: &[f32]) -> Tensor {
    Tensor::from_slice(values, values.len(), &Device::cpu())
}

#[test]
fn cosine_similarity_along_a_dimension_of_size_one() {
    // F.cosine_similarity(torch.tensor([[1., 2., 3.]]), torch.tensor([[2.]]), dim=1)
    for device in devices() {
        let x = Tensor::new([[1.0, 2.0, 3.0]], &device);
        assert_values(&x.cosine_similarity(&Tensor::new([[2.0]], &device), 1, 1e-8), &[0.9258200526237488]);
    }
}

#[test]
fn ignored_rows_are_harmless() {
    // F.cross_entropy(logits, torch.tensor([-100, -100]), reduction=…)
    for device in devices() {
        for (reduction, smoothing, weighted) in [
            (Reduction::Mean, 0.0, false),
            (Reduction::Mean, 0.1, false),
            (Reduction::Mean, 0.0, true),
            (Reduction::Sum, 0.0, false),
        ] {
            let logits = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device).requires_grad();
            let weight = weighted.then(|| Tensor::new([1.0, 2.0], &device));
            let loss =
                CrossEntropyLoss { reduction, label_smoothing: smoothing, weight, ..Default::default() };
            let loss = loss.forward(&logits, &Tensor::new([-100, -100], &device));
            loss.backward().unwrap();
            assert_values(&loss, &[if reduction == Reduction::Mean { f64::NAN } else { 0.0 }]);
            assert_values(&logits.grad().unwrap(), &[0.0; 4]);
        }
        // An ignored row may hold anything; F.cross_entropy(logits, torch.tensor([-100, 1])) for the first.
        for row in [[1.0, -INF], [-INF, -INF], [INF, 1.0], [NAN, 1.0]] {
            for (smoothing, loss, gradient) in [
                (0.0, 0.31326165795326233, 0.2689414322376251),
                (0.1, 0.3632616400718689, 0.21894143521785736),
            ] {
                let logits = Tensor::new([row, [3.0, 4.0]], &device).requires_grad();
                let smooth = CrossEntropyLoss { label_smoothing: smoothing, ..Default::default() };
                let got = smooth.forward(&logits, &Tensor::new([-100, 1], &device));
                got.backward().unwrap();
                assert_values(&got, &[loss]);
                assert_values(&logits.grad().unwrap(), &[0.0, 0.0, gradient, -gradient]);
            }
        }
    }
}

#[test]
fn probabilities_outside_their_range_give_nan() {
    for device in devices() {
        let loss = BceLoss { reduction: Reduction::None, ..Default::default() };
        let x = Tensor::new([1.5, -0.5, 1.0, 0.0], &device);
        let y = loss.forward(&x, &Tensor::new([1.0, 0.5, 1.0, 1.0], &device));
        assert_values(&y, &[f64::NAN, f64::NAN, 0.0, 100.0]);
    }
}

#[test]
fn the_complement_of_the_error_function() {
    // torch.erfc
    let x = vector(&[4.0, 5.0, 9.0, -4.0, INF, -INF, NAN, 0.3]);
    let want = [1.5417258580896487e-08, 1.5374598295869735e-12, 4.137031708073991e-37, 2.0, 0.0, 2.0];
    let want = [&want[..], &[f64::NAN, 0.6713732481002808]].concat();
    for device in devices() {
        assert_close(&values(&on(&x, &device).erfc()), &want, 0.0, 2e-6);
    }
}

#[test]
fn interpolation_ends_at_its_end() {
    // torch.lerp(x, y, weight): exactly y for 1, and x for 0.
    let (x, y) = (vector(&[1.0, 1e8, 0.1]), vector(&[3.0, 1.0, 0.7]));
    for device in devices() {
        let (x, y) = (on(&x, &device), on(&y, &device));
        assert_eq!(values(&x.lerp(&y, 1.0)), values(&y));
        assert_eq!(values(&x.lerp(&y, x.ones_like())), values(&y));
        assert_eq!(values(&x.lerp(&y, 0.0)), values(&x));
        assert_values(&x.lerp(&y, 0.5), &[2.0, 5e7, 0.4000000059604645]);
        let (_, grads) = with_gradients(
            &device,
            [vector(&[1.0, 2.0]), vector(&[3.0, 5.0]), vector(&[0.3, 1.0])],
            |[x, y, w]| x.lerp(y, w),
        );
        for (got, want) in grads.iter().zip([[0.7, 0.0], [0.3, 1.0], [2.0, 3.0]]) {
            assert_close(got, &want, 1e-6, 1e-6);
        }
    }
}

#[test]
fn bounds_that_are_nan() {
    // torch.clamp(x, min=torch.tensor([nan, 1.])); numbers likewise.
    let nan = f64::NAN;
    for device in devices() {
        let (x, bound) = (Tensor::new([1.0, 2.0], &device), Tensor::new([NAN, 1.0], &device));
        assert_values(&x.clamp_min(&bound), &[nan, 2.0]);
        assert_values(&x.clamp_max(&bound), &[nan, 1.0]);
        assert_values(&x.clamp(NAN, 5.0), &[nan; 2]);
        assert_values(&x.clamp(0.0, NAN), &[nan; 2]);
        assert_values(&Tensor::new([NAN, 7.0], &device).clamp(0.0, 5.0), &[nan, 5.0]);
        // torch.clamp(x, 2, 1): the upper bound, and no gradient.
        let (y, grads) = with_gradients(&device, [vector(&[0.0, 1.5, 3.0])], |[x]| x.clamp(2.0, 1.0));
        assert_eq!((y, &grads[0][..]), (vec![1.0; 3], &[0.0; 3][..]));
    }
}

#[test]
fn windows_beyond_the_input() {
    // F.max_pool1d(torch.arange(3.)…, kernel, stride, padding, ceil_mode=True), and F.avg_pool1d.
    for device in devices() {
        for (size, kernel, stride, padding, max, mean) in [
            (3, 4, 2, 0, vec![2.0], vec![1.0]),
            (3, 4, 3, 1, vec![2.0, 2.0], vec![0.75, 1.0]),
            (2, 3, 3, 1, vec![1.0], vec![1.0 / 3.0]),
            (1, 2, 2, 0, vec![0.0], vec![0.0]),
        ] {
            let x = Tensor::arange(0.0, f64::from(size), 1.0, &device).reshape([1, 1, size as usize]);
            let options =
                MaxPool1dOptions::default().with_stride(stride).with_padding(padding).with_ceil_mode(true);
            assert_values(&x.max_pool1d(kernel, &options), &max);
            let options =
                AvgPool1dOptions::default().with_stride(stride).with_padding(padding).with_ceil_mode(true);
            assert_values(&x.avg_pool1d(kernel, &options), &mean);
        }
        // The output would have no element: refused, as by PyTorch.
        let x = Tensor::zeros([1, 1, 3], &device);
        let options = MaxPool1dOptions::default().with_stride(1).with_ceil_mode(true);
        assert!(x.try_max_pool1d(5, &options).is_err());
    }
}

#[test]
fn softmax_of_a_single_number() {
    // F.softmax(torch.tensor(3.), 0) and F.log_softmax
    for device in devices() {
        let x = Tensor::scalar(3.0, &device);
        assert_values(&x.softmax(0), &[1.0]);
        assert_values(&x.softmax(-1), &[1.0]);
        assert_values(&x.log_softmax(0), &[0.0]);
        assert_eq!(x.softmax(0).rank(), 0);
        assert!(x.try_softmax(1).is_err());
    }
}

#[test]
fn interpolation_in_double_precision() {
    // F.interpolate(torch.linspace(-1, 1, 5, dtype=torch.float64).reshape(1, 1, 5), size=7, mode="linear")
    let x = Tensor::from_slice(&[-1.0f64, -0.5, 0.0, 0.5, 1.0], [1, 1, 5], &Device::cpu());
    let y = x.interpolate(&InterpolateOptions::size(&[7]).with_mode(InterpolateMode::Linear));
    let want = [-1.0, -5.0 / 7.0, -2.5 / 7.0, 0.0, 2.5 / 7.0, 5.0 / 7.0, 1.0];
    assert_close(&values(&y), &want, 1e-15, 1e-15);
}

#[test]
fn derivatives_where_powers_and_norms_end() {
    let inf = f64::INFINITY;
    for device in devices() {
        // (x ** -2) at 0; y.backward()
        let (y, grads) = with_gradients(&device, [vector(&[0.0, 1.0])], |[x]| x.pow(-2.0));
        assert_eq!((y, &grads[0][..]), (vec![inf, 1.0], &[-inf, -2.0][..]));
        // torch.norm(x, p): any zero makes it zero and flat.
        for p in [-1.0, -2.0, -3.0] {
            let (y, grads) = with_gradients(&device, [vector(&[0.0, 2.0, 3.0])], |[x]| x.norm(p, ..));
            assert_eq!((y, &grads[0][..]), (vec![0.0], &[0.0; 3][..]));
        }
        let (y, grads) = with_gradients(&device, [vector(&[1.0, 2.0, -3.0])], |[x]| x.norm(-2.0, ..));
        assert_close(&y, &[0.8571428656578064], 0.0, 1e-6);
        assert_close(&grads[0], &[0.6297376155853271, 0.0787172019481659, -0.02332361601293087], 0.0, 3e-6);
    }
}

#[test]
fn slopes_of_exponential_units_far_below_zero() {
    // F.elu(x, 1.), F.celu(x, 2.), F.selu(x)
    for device in devices() {
        let (_, grads) = with_gradients(&device, [vector(&[-20.0, -30.0, 0.0, 200.0])], |[x]| x.elu(1.0));
        assert_close(&grads[0], &[2.06115369216775e-09, 9.357622912219837e-14, 1.0, 1.0], 0.0, 2e-6);
        let (_, grads) = with_gradients(&device, [vector(&[-20.0, -60.0])], |[x]| x.celu(2.0));
        assert_close(&grads[0], &[4.539993096841499e-05, 9.357622912219837e-14], 0.0, 2e-6);
        let (_, grads) = with_gradients(&device, [vector(&[-20.0, -60.0])], |[x]| x.selu());
        assert_close(&grads[0], &[3.6237128853144895e-09, 1.5394816239870395e-26], 0.0, 2e-6);
    }
}

#[test]
fn inverse_hyperbolic_functions_of_large_numbers() {
    // torch.asinh, torch.acosh
    for device in devices() {
        let y = Tensor::new([3e38, -3e38, 1e30], &device).asinh();
        assert_close(&values(&y), &[89.28999328613281, -89.28999328613281, 69.77069854736328], 0.0, 2e-7);
        let y = Tensor::new([3e38, 1e30, 1.0], &device).acosh();
        assert_close(&values(&y), &[89.28999328613281, 69.77069854736328, 0.0], 0.0, 2e-7);
    }
    let y = Tensor::from_slice(&[1e308f64, -1e308], 2, &Device::cpu()).asinh();
    assert_close(&values(&y), &[709.889355822726, -709.889355822726], 0.0, 1e-14);
}

#[test]
fn the_inverse_hyperbolic_tangent_is_odd() {
    // torch.atanh(torch.tensor([-0.999652386, 0.999652386, -1., 1.5], dtype=torch.float64)), of the nearest float
    for device in devices() {
        let y = Tensor::new([-0.9996524f32, 0.9996524, -1.0, 1.5], &device).atanh();
        let want = [-4.328695209029881, 4.328695209029881, f64::NEG_INFINITY, f64::NAN];
        assert_close(&values(&y), &want, 0.0, 1e-6);
    }
}

#[test]
fn attention_to_large_scores() {
    // Scores 1024 and 1024.5, exactly: the gradient of the values is their softmax, with every digit.
    for device in devices() {
        let q = Tensor::new([[[[512.0]]]], &device).requires_grad();
        let k = Tensor::new([[[[2.0], [2.0 + 1.0 / 1024.0]]]], &device).requires_grad();
        let v = Tensor::new([[[[1.0], [3.0]]]], &device).requires_grad();
        let y = q.scaled_dot_product_attention(&k, &v, &Default::default());
        y.sum(..).backward().unwrap();
        let weights = [0.3775406687981454, 0.6224593312018546];
        let slope = 2.0 * weights[0] * weights[1];
        assert_values(&y, &[1.0 * weights[0] + 3.0 * weights[1]]);
        assert_close(&values(&v.grad().unwrap()), &weights, 0.0, 1e-6);
        assert_close(&values(&k.grad().unwrap()), &[-512.0 * slope, 512.0 * slope], 0.0, 1e-6);
        assert_close(&values(&q.grad().unwrap()), &[slope / 1024.0], 0.0, 1e-3);
    }
}

#[test]
fn floats_become_integers_the_same_way_everywhere() {
    let x = vector(&[NAN, INF, -INF, 3e9, -3e9, 5e9, -5.7, 300.5, 2147483520.0]);
    let (least, most) = (f64::from(i32::MIN), f64::from(i32::MAX));
    for device in devices() {
        let x = on(&x, &device);
        let signed = [0.0, most, least, most, least, most, -5.0, 300.0, 2147483520.0];
        assert_eq!(values(&x.to_dtype(DType::I32)), signed);
        let most = f64::from(u32::MAX);
        assert_eq!(
            values(&x.to_dtype(DType::U32)),
            [0.0, most, 0.0, 3e9, 0.0, most, 0.0, 300.0, 2147483520.0]
        );
        assert_eq!(values(&x.to_dtype(DType::U8)), [0.0, 255.0, 0.0, 255.0, 0.0, 255.0, 0.0, 255.0, 255.0]);
        // Integers wrap, as PyTorch's.
        assert_eq!(values(&Tensor::new([300, -1], &device).to_dtype(DType::U8)), [44.0, 255.0]);
    }
}

#[test]
fn angles_of_any_size() {
    // Of the float nearest to each, in double precision.
    let x =
        vector(&[1e5, 1e8, 1e15, -3e22, 1e30, f32::MAX, 16367173.0 * 2f32.powi(72), 11.0 * 355.0 / 226.0]);
    for device in devices() {
        let x = on(&x, &device);
        let exact: Vec<f64> = values(&x);
        assert_close(&values(&x.sin()), &exact.iter().map(|x| x.sin()).collect::<Vec<_>>(), 1e-30, 1e-6);
        assert_close(&values(&x.cos()), &exact.iter().map(|x| x.cos()).collect::<Vec<_>>(), 1e-30, 1e-6);
        assert_close(&values(&x.tan()), &exact.iter().map(|x| x.tan()).collect::<Vec<_>>(), 1e-30, 2e-6);
    }
}

#[test]
fn powers_are_accurate_over_the_whole_range() {
    let mut points = Vec::new();
    let mut bits = 0x9e37_79b9_u32;
    let mut draw = || {
        bits = bits.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        f64::from(bits >> 8) / f64::from(1 << 24)
    };
    for _ in 0..20_000 {
        // Results all over the range of floats, from bases near 1, and from all others.
        let wanted = draw() * 250.0 - 125.0;
        let log = if draw() < 0.5 {
            (draw() - 0.5) * 2.0f64.powi(-(20.0 * draw()) as i32)
        } else {
            draw() * 252.0 - 126.0
        };
        points.push((log.exp2() as f32, (wanted / log) as f32));
    }
    let of = |choose: fn(&(f32, f32)) -> f32| points.iter().map(choose).collect::<Vec<f32>>();
    let (bases, exponents) = (vector(&of(|p| p.0)), vector(&of(|p| p.1)));
    for device in devices() {
        let y = values(&on(&bases, &device).pow(on(&exponents, &device)));
        let mut worst: f64 = 0.0;
        for (&(x, exponent), y) in points.iter().zip(y) {
            let exact = f64::from(x).powf(f64::from(exponent));
            if exact > f64::from(f32::MIN_POSITIVE) && exact < f64::from(f32::MAX) {
                let unit = 2.0f64.powi(exact.log2().floor() as i32 - 23);
                worst = worst.max((y - exact).abs() / unit);
            }
        }
        assert!(worst <= 5.0, "wrong by {worst} units in the last place on {device:?}");
    }
}

#[test]
fn hardswish_ends_at_zero() {
    for device in devices() {
        let x = Tensor::new([-INF, -3.0, 0.0, 3.0, INF, NAN], &device);
        assert_values(&x.hardswish(), &[0.0, 0.0, 0.0, 3.0, f64::INFINITY, f64::NAN]);
    }
}
