//! Scans, sorts and what is made of them: values of PyTorch, the interpreter's on larger shapes, and gradients by
//! finite differences.

use crate::common::{assert_close, assert_values, devices, values};
use flambeau::prelude::*;
use flambeau::reference;
use pollster::block_on;

const NAN: f64 = f64::NAN;
const INF: f64 = f64::INFINITY;

#[track_caller]
fn check(tensor: &Tensor, shape: &[usize], want: &[f64]) {
    assert_eq!(tensor.shape().dims(), shape);
    assert_close(&block_on(tensor.to_f64_vec()).unwrap(), want, 0.0, 0.0);
}

/// Evaluates inputs, so that the interpreter starts from the same rounded numbers.
fn rounded(tensor: Tensor) -> Tensor {
    tensor.eval().unwrap();
    tensor
}

/// Against the interpreter, which comes first: it needs the graph unevaluated.
#[track_caller]
fn check_exact(tensors: &[&Tensor], absolute: f64, relative: f64) {
    let want = block_on(reference::evaluate(tensors)).unwrap();
    for (tensor, want) in tensors.iter().zip(want) {
        assert_close(&block_on(tensor.to_f64_vec()).unwrap(), &want, absolute, relative);
    }
}

/// The dtypes a device has.
fn dtypes(device: &Device) -> Vec<DType> {
    let x = Tensor::new([1.0], device);
    let found: Vec<_> = DType::ALL.into_iter().filter(|&dtype| x.try_to_dtype(dtype).is_ok()).collect();
    assert!(found.len() >= 5, "{found:?}");
    found
}

/// Rows that the GPU shares among workgroups, along the last dimension and across, backwards too.
#[test]
fn long_rows_are_summed_in_parts() {
    for device in devices() {
        let generator = Generator::new(5);
        let x = rounded(Tensor::rand([2, 20_011], &generator, &device));
        // Backwards is how gradients of sums come.
        let leaf = x.detach().requires_grad();
        leaf.cumsum(1).backward_with(&x).unwrap();
        check_exact(&[&x.cumsum(1), &leaf.grad().unwrap()], 1e-3, 1e-6);
        let across = rounded(Tensor::rand([9_001, 3], &generator, &device));
        check_exact(&[&across.cumsum(0)], 1e-3, 1e-6);
        let near_one = rounded(Tensor::rand([8_193], &generator, &device) * 1e-4 + 1.0);
        check_exact(&[&near_one.cumprod(0)], 0.0, 1e-4);
        let counts = rounded(Tensor::randint(-5, 6, [30_000], &generator, (DType::I32, &device)));
        check_exact(&[&counts.cumsum(0)], 0.0, 0.0);
    }
}

/// Values of torch.sort(stable=True).
#[test]
fn sort_puts_nan_last_and_keeps_the_order_of_equals() {
    for device in devices() {
        let x = Tensor::new([[2.0, NAN, -1.0, 2.0, 0.0], [-0.0, 0.0, -INF, INF, NAN]], &device);
        let (values, indices) = x.sort(1, false);
        check(&values, &[2, 5], &[-1.0, 0.0, 2.0, 2.0, NAN, -INF, 0.0, 0.0, INF, NAN]);
        check(&indices, &[2, 5], &[2.0, 4.0, 0.0, 3.0, 1.0, 2.0, 0.0, 1.0, 3.0, 4.0]);
        let (values, indices) = x.sort(-1, true);
        check(&values, &[2, 5], &[NAN, 2.0, 2.0, 0.0, -1.0, NAN, INF, 0.0, 0.0, -INF]);
        check(&indices, &[2, 5], &[1.0, 0.0, 3.0, 4.0, 2.0, 4.0, 3.0, 0.0, 1.0, 2.0]);
        let (values, indices) = x.sort(-2, false);
        check(&values, &[2, 5], &[0.0, 0.0, -INF, 2.0, 0.0, 2.0, NAN, -1.0, INF, NAN]);
        check(&indices, &[2, 5], &[1.0, 1.0, 1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0]);
        let flags = Tensor::new([true, false, true, false], &device);
        check(&flags.argsort(0, false), &[4], &[1.0, 3.0, 0.0, 2.0]);
        check(&flags.argsort(0, true), &[4], &[0.0, 2.0, 1.0, 3.0]);
        let (values, indices) = Tensor::new(3.0, &device).sort(0, false);
        check(&values, &[], &[3.0]);
        check(&indices, &[], &[0.0]);
    }
}

#[test]
fn sort_of_nothing() {
    for device in devices() {
        for (shape, dim) in [([0, 3], 0), ([3, 0], 1), ([0, 3], 1)] {
            let (values, indices) = Tensor::zeros(shape, &device).sort(dim, false);
            check(&values, &shape, &[]);
            check(&indices, &shape, &[]);
        }
    }
}

/// Rows shorter and longer than what a workgroup sorts in its memory, with many equal elements.
#[test]
fn argsort_is_the_stable_order_for_all_sizes_and_dtypes() {
    for device in devices() {
        let generator = Generator::new(5);
        for shape in [vec![1], vec![300, 7], vec![2, 1024], vec![3, 1025], vec![9000], vec![5, 2, 600]] {
            for dtype in dtypes(&device) {
                let x = rounded((Tensor::rand(&shape, &generator, &device) * 50.0).to_dtype(dtype));
                for descending in [false, true] {
                    check_exact(&[&x.argsort(-1, descending)], 0.0, 0.0);
                }
                check_exact(&[&x.argsort(0, false)], 0.0, 0.0);
            }
            let signed = rounded(Tensor::rand(&shape, &generator, &device) * 4.0 - 2.0);
            let whole = rounded((&signed * 1e9).to_dtype(DType::I32));
            check_exact(&[&signed.argsort(-1, false), &whole.argsort(-1, true)], 0.0, 0.0);
        }
    }
}

/// Values of torch.topk, torch.kthvalue, torch.median.
#[test]
fn topk_kthvalue_and_median() {
    for device in devices() {
        let x = Tensor::new([[5.0, 1.0, 4.0], [2.0, 9.0, 3.0]], &device);
        let (values, indices) = x.topk(2, 0, true, true);
        check(&values, &[2, 3], &[5.0, 9.0, 4.0, 2.0, 1.0, 3.0]);
        check(&indices, &[2, 3], &[0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        let (values, indices) = x.topk(2, -1, false, true);
        check(&values, &[2, 2], &[1.0, 4.0, 2.0, 3.0]);
        check(&indices, &[2, 2], &[1.0, 2.0, 0.0, 2.0]);
        check(&x.topk(0, 1, true, false).0, &[2, 0], &[]);
        check(&Tensor::new(3.0, &device).topk(1, 0, true, true).0, &[], &[3.0]);
        let message = x.try_topk(4, 1, true, true).unwrap_err().to_string();
        assert!(message.contains("topk") && message.contains("[2, 3]"), "{message}");
        assert!(x.try_sort(2, false).unwrap_err().to_string().contains("out of range"));

        let x = Tensor::new([[3.0, 1.0, 2.0, 4.0], [NAN, 1.0, NAN, 2.0]], &device);
        let (values, indices) = x.median(1);
        check(&values, &[2], &[2.0, NAN]);
        check(&indices, &[2], &[2.0, 0.0]);
        let (values, indices) = x.kthvalue(2, 1);
        check(&values, &[2], &[2.0, 2.0]);
        check(&indices, &[2], &[2.0, 3.0]);
        let (values, indices) = Tensor::new([[1.0, 3.0], [2.0, 0.0], [5.0, 4.0]], &device).median(0);
        check(&values, &[2], &[2.0, 3.0]);
        check(&indices, &[2], &[1.0, 0.0]);
        check(&Tensor::new(3.0, &device).median(0).0, &[], &[3.0]);
        assert!(x.try_kthvalue(0, 1).is_err() && x.try_kthvalue(5, 1).is_err());
    }
}

/// Values of torch.unique; for NaN, torch's values with counts and inverse that fit them.
#[test]
fn unique_values_inverse_and_counts() {
    for device in devices() {
        for (x, values, inverse, counts) in [
            (vec![1.0, 2.0, 2.0, 0.0], vec![0.0, 1.0, 2.0], vec![1.0, 2.0, 2.0, 0.0], vec![1.0, 1.0, 2.0]),
            (vec![NAN, 1.0, NAN], vec![1.0, NAN, NAN], vec![1.0, 0.0, 2.0], vec![1.0, 1.0, 1.0]),
            (vec![7.0], vec![7.0], vec![0.0], vec![1.0]),
            (vec![4.0, 4.0], vec![4.0], vec![0.0, 0.0], vec![2.0]),
            (vec![], vec![], vec![], vec![]),
        ] {
            let n = x.len();
            let unique = block_on(Tensor::new(x, &device).unique()).unwrap();
            check(&unique.values, &[values.len()], &values);
            check(&unique.inverse, &[n], &inverse);
            check(&unique.counts, &[values.len()], &counts);
        }
        let unique = block_on(Tensor::new([[3, 1], [1, 3]], &device).unique()).unwrap();
        check(&unique.inverse, &[2, 2], &[1.0, 0.0, 0.0, 1.0]);
    }
}

/// Values of torch.cumsum and torch.cumprod.
#[test]
fn running_sums_and_products() {
    for device in devices() {
        let x = Tensor::new([[1, 2, 3], [4, 5, 6]], &device);
        check(&x.cumsum(0), &[2, 3], &[1.0, 2.0, 3.0, 5.0, 7.0, 9.0]);
        let flags = Tensor::new([[true, true], [false, true]], &device).cumsum(1);
        assert_eq!(flags.dtype(), DType::I32);
        check(&flags, &[2, 2], &[1.0, 2.0, 0.0, 1.0]);
        let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        check(&x.cumprod(-2), &[2, 2], &[1.0, 2.0, 3.0, 8.0]);
        check(&Tensor::new(5.0, &device).cumsum(0), &[], &[5.0]);
        check(&Tensor::zeros([0, 3], &device).cumsum(0), &[0, 3], &[]);
        check(&Tensor::zeros([3, 0], &device).cumprod(0), &[3, 0], &[]);
        check(&Tensor::new([1.0, INF, -INF, 1.0], &device).cumsum(0), &[4], &[1.0, INF, NAN, NAN]);
        assert!(x.try_cumsum(2).unwrap_err().to_string().contains("cumsum"));
    }
}

/// Rows of one chunk and of several, along every dimension, also through a transposed view.
#[test]
fn scans_of_all_sizes() {
    for device in devices() {
        let generator = Generator::new(6);
        for shape in [vec![1], vec![5, 3000], vec![3, 1025, 2], vec![1030, 3], vec![70_000, 2]] {
            let x = rounded(Tensor::rand(&shape, &generator, &device));
            let near_one = rounded(&x * 0.02 + 0.99);
            for dim in 0..shape.len() as isize {
                check_exact(&[&x.cumsum(dim)], 1e-5, 1e-5);
                check_exact(&[&near_one.cumprod(dim)], 1e-5, 1e-4);
            }
            for dtype in dtypes(&device).into_iter().filter(|dtype| dtype.is_int()) {
                let numbers = rounded((&x * 100.0).to_dtype(dtype));
                check_exact(&[&numbers.cumsum(-1), &numbers.cumprod(0)], 0.0, 0.0);
            }
            if dtypes(&device).contains(&DType::F16) {
                check_exact(&[&rounded(near_one.to_dtype(DType::F16)).cumprod(-1)], 1e-2, 1e-2);
            }
            let whole = rounded((&x * 100.0).to_dtype(DType::I32));
            check_exact(&[&whole.cumsum(0), &whole.cumprod(-1), &whole.transpose(0, -1).cumsum(0)], 0.0, 0.0);
        }
    }
}

/// The same plan run twice gives the same bits.
#[test]
fn scans_are_deterministic() {
    for device in devices() {
        let x = Tensor::randn([3, 5000], &Generator::new(7), &device);
        x.eval().unwrap();
        let once = x.cumsum(1).to_vec_blocking::<f32>().unwrap();
        assert_eq!(once, x.cumsum(1).to_vec_blocking::<f32>().unwrap());
    }
}

/// Gradients of sums of squares of a function's result, first order, by central differences in f64; then of the
/// gradient's own sum of squares.
fn gradcheck(x: &Tensor, f: impl Fn(&Tensor) -> Tensor) {
    let loss = |x: &Tensor| {
        let y = f(x);
        let weights = (Tensor::rand(y.shape(), &Generator::new(3), (DType::F64, y.device())) + 0.5).detach();
        (&y * &y * weights).sum(..)
    };
    let create = BackwardOptions { create_graph: true, ..Default::default() };
    let gradient = |x: &Tensor| grad(&[loss(x)], std::slice::from_ref(x), create).unwrap().remove(0).unwrap();
    let slope = |x: &Tensor| (gradient(x) * gradient(x)).sum(..);
    let leaf = x.detach().requires_grad();
    compare(x, &gradient(&leaf), |x| loss(x));
    let second = grad(&[slope(&leaf)], std::slice::from_ref(&leaf), BackwardOptions::default()).unwrap();
    compare(x, second[0].as_ref().unwrap(), |x| slope(&x.requires_grad()));
}

fn compare(x: &Tensor, gradient: &Tensor, f: impl Fn(&Tensor) -> Tensor) {
    let values = x.to_vec_blocking::<f64>().unwrap();
    let moved = |k: usize, by: f64| {
        let mut values = values.clone();
        values[k] += by;
        f(&Tensor::from_slice(&values, x.shape(), x.device())).item_blocking().unwrap()
    };
    let eps = 1e-5;
    let want: Vec<f64> = (0..values.len()).map(|k| (moved(k, eps) - moved(k, -eps)) / (2.0 * eps)).collect();
    assert_close(&gradient.to_vec_blocking::<f64>().unwrap(), &want, 1e-5, 1e-5);
}

#[test]
fn gradients_of_any_order() {
    let device = Device::cpu();
    let x = Tensor::from_slice(
        &[0.5, -1.5, 2.0, 0.25, 1.25, -0.75, 0.0, 3.0, 1.0, 0.0, 2.5, 0.0],
        [2, 3, 2],
        &device,
    );
    for dim in [0, 1, -1] {
        gradcheck(&x, |x| x.cumsum(dim));
        gradcheck(&x, |x| x.cumprod(dim));
    }
    let distinct = Tensor::from_slice(&[0.5, -1.5, 2.0, 0.25, 1.25, -0.75], [2, 3], &device);
    for dim in [0, 1] {
        gradcheck(&distinct, |x| x.sort(dim, true).0.cumsum(dim));
        gradcheck(&distinct, |x| x.topk(2, dim, true, true).0);
        gradcheck(&distinct, |x| x.median(dim).0);
    }
}

/// Gradients of torch.cumprod with zeros, first and second order.
#[test]
fn cumprod_gradient_with_zeros() {
    for device in devices() {
        let x = Tensor::new([[1.0, 0.0, 3.0, 0.0, 2.0], [2.0, 3.0, -1.0, 0.5, 4.0]], &device).requires_grad();
        let weights = Tensor::new([[1.0, 2.0, 3.0, 4.0, 5.0], [-1.0, 0.5, 2.0, 1.0, 3.0]], &device);
        let create = BackwardOptions { create_graph: true, ..Default::default() };
        let loss = (x.cumprod(1) * weights).sum(..);
        let first = grad(&[loss], std::slice::from_ref(&x), create).unwrap().remove(0).unwrap();
        check(&first, &[2, 5], &[1.0, 11.0, 0.0, 0.0, 0.0, -25.0, -16.0, 51.0, -78.0, -9.0]);
        let second = grad(&[(&first * &first).sum(..)], &[x], BackwardOptions::default()).unwrap();
        let want = [242.0, 22.0, 66.0, 924.0, 0.0, 9022.0, 6244.0, -14149.0, 11062.0, 4047.0];
        check(second[0].as_ref().unwrap(), &[2, 5], &want);
    }
}

#[test]
fn positions_have_no_gradient() {
    let x = Tensor::new([2.0, 1.0], &Device::cpu()).requires_grad();
    assert!(!x.argsort(0, false).is_tracked());
}

/// What PyTorch 2.2 gives.
#[test]
fn running_extremes_log_sums_and_modes() {
    for device in devices() {
        let x = Tensor::new([[1.0, 3.0, 2.0, 3.0, 0.0], [2.0, -1.0, 5.0, 4.0, 5.0]], &device);
        let (largest, at) = x.cummax(1);
        assert_values(&largest, &[1.0, 3.0, 3.0, 3.0, 3.0, 2.0, 2.0, 5.0, 5.0, 5.0]);
        assert_eq!(values(&at), [0.0, 1.0, 1.0, 3.0, 3.0, 0.0, 0.0, 2.0, 2.0, 4.0]);
        let (smallest, at) = x.cummin(-1);
        assert_values(&smallest, &[1.0, 1.0, 1.0, 1.0, 0.0, 2.0, -1.0, -1.0, -1.0, -1.0]);
        assert_eq!(values(&at), [0.0, 0.0, 0.0, 0.0, 4.0, 0.0, 1.0, 1.0, 1.0, 1.0]);
        let sums = [
            1.0,
            3.126_928_01,
            3.407_605_96,
            3.917_575_8,
            3.937_269_84,
            2.0,
            2.048_587_35,
            5.050_945_76,
            5.350_759_16,
            5.883_827_56,
        ];
        assert_values(&x.logcumsumexp(1), &sums);
        let (value, at) =
            Tensor::new([[5.0, 1.0, 2.0, 1.0, 5.0], [3.0, 3.0, 2.0, 2.0, 2.0]], &device).mode(1);
        assert_eq!((values(&value), values(&at)), (vec![1.0, 2.0], vec![3.0, 4.0]));
        // A NaN stays; integers and the first dimension are taken, too.
        let nan = values(&Tensor::new([1.0, f32::NAN, 5.0], &device).cummax(0).0);
        assert!(nan[0] == 1.0 && nan[1].is_nan() && nan[2].is_nan(), "{nan:?}");
        assert_eq!(values(&Tensor::new([[1, 5], [3, 2]], &device).cummax(0).0), [1.0, 5.0, 3.0, 5.0]);
        let leaf = x.requires_grad();
        leaf.cummax(1).0.sum(..).backward().unwrap();
        assert_values(&leaf.grad().unwrap(), &[1.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 2.0, 0.0, 1.0]);
    }
}

/// What PyTorch 2.2 gives.
#[test]
fn scatter_reductions() {
    use flambeau::ScatterReduction::{Largest, Mean, Smallest, Sum};
    let third = 1.0 / 3.0;
    let cases = [
        (Sum, true, [7.0, 2.0, 12.5, 5.0, 12.0, 6.0]),
        (Sum, false, [6.0, 2.0, 9.5, 1.0, 7.0, 6.0]),
        (Mean, true, [2.0 + third, 2.0, 4.0 + third / 2.0, 2.5, 3.0, 6.0]),
        (Mean, false, [3.0, 2.0, 4.75, 1.0, 2.0 + third, 6.0]),
        (Largest, true, [7.0, 2.0, 9.0, 4.0, 8.0, 6.0]),
        (Largest, false, [7.0, 2.0, 9.0, 1.0, 8.0, 6.0]),
        (Smallest, true, [-1.0, 2.0, 0.5, 1.0, -3.0, 6.0]),
        (Smallest, false, [-1.0, 2.0, 0.5, 1.0, -3.0, 6.0]),
    ];
    for device in devices() {
        let base = Tensor::new([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]], &device);
        let index = Tensor::new([[0, 0, 2, 2], [1, 1, 1, 0]], &device);
        let source = Tensor::new([[7.0, -1.0, 0.5, 9.0], [2.0, 8.0, -3.0, 1.0]], &device);
        for (reduction, include_self, wanted) in cases {
            assert_values(&base.scatter_reduce(1, &index, &source, reduction, include_self), &wanted);
        }
    }
}
