//! Linear algebra: PyTorch's values and gradients (`tools/reference/linalg.py`), residuals of matrices of many sizes on every device,
//! derivatives of derivatives, and what is refused: singular matrices, and shapes that do not fit.

use crate::common::recorded::{Inputs, Recorded};
use crate::common::{assert_close, devices, values};
use flambeau::autograd::{GradcheckOptions, gradcheck_blocking, gradgradcheck_blocking};
use flambeau::func::{grad, vmap};
use flambeau::linalg::MatrixNorm;
use flambeau::nn::Identity;
use flambeau::prelude::*;
use std::sync::OnceLock;

fn recorded() -> &'static Recorded {
    static FILE: OnceLock<Recorded> = OnceLock::new();
    FILE.get_or_init(|| Recorded::open(include_bytes!("../data/linalg.safetensors")))
}

/// Compares values and gradients on every device. Errors of gradients grow with the condition of the matrices, which are drawn.
#[track_caller]
fn check(name: &str, call: impl Fn(&Inputs) -> Vec<Tensor>) {
    recorded().case(name).within(2e-4).check(|_| Identity, |_, inputs| call(inputs));
}

fn t(x: &Tensor) -> Tensor {
    x.transpose(-2, -1)
}

fn eye(like: &Tensor) -> Tensor {
    Tensor::eye(like.size(-1), (like.dtype(), like.device()))
}

/// X Xᵀ + I.
fn positive(x: &Tensor) -> Tensor {
    x.matmul(&t(x)) + eye(x)
}

#[test]
fn cholesky_and_lu_as_pytorch() {
    check("cholesky", |x| vec![positive(x.get("x")).cholesky(false)]);
    check("cholesky_upper", |x| vec![positive(x.get("x")).cholesky(true)]);
    for shape in ["square", "tall", "wide"] {
        check(&format!("lu_{shape}"), |x| {
            let (p, l, u) = x.get("x").lu();
            vec![p, l, u]
        });
    }
    check("inv", |x| vec![x.get("x").inv()]);
    check("det", |x| vec![x.get("x").det()]);
    check("slogdet", |x| vec![x.get("x").slogdet().1]);
    for device in devices() {
        let sign = recorded().tensor("slogdet_sign/in", &device).slogdet().0;
        let want = recorded().tensor("slogdet_sign/out", &Device::cpu());
        assert_eq!(values(&sign), values(&want));
    }
}

#[test]
fn systems_as_pytorch() {
    for name in ["solve", "solve_vector", "solve_vectors", "solve_broadcast"] {
        check(name, |x| vec![x.get("x").solve(x.get("y"))]);
    }
    check("lu_solve", |x| {
        let (packed, rows) = x.get("x").lu_factor();
        vec![packed.lu_solve(&rows, x.get("y"))]
    });
    for (upper, unit) in [(false, false), (false, true), (true, false), (true, true)] {
        let name = format!("solve_triangular_{}{}", u8::from(upper), u8::from(unit));
        check(&name, |x| vec![x.get("x").solve_triangular(x.get("y"), upper, true, unit)]);
    }
    check("solve_triangular_right", |x| vec![x.get("x").solve_triangular(x.get("y"), true, false, false)]);
}

#[test]
fn orthogonal_factors_as_pytorch() {
    for shape in ["square", "tall", "wide"] {
        check(&format!("qr_{shape}"), |x| {
            let (q, r) = x.get("x").qr(false);
            vec![q, r]
        });
        check(&format!("svd_{shape}"), |x| {
            let (u, s, vt) = x.get("x").svd(false);
            let of_all = u.matmul(&s.sin().diag_embed(0)).matmul(&vt);
            vec![s, u.square(), vt.square(), of_all]
        });
    }
    check("lstsq", |x| vec![x.get("x").lstsq(x.get("y"))]);
    let symmetric = |x: &Tensor| (x + t(x)) * 0.5;
    check("eigvalsh", |x| vec![symmetric(x.get("x")).eigvalsh()]);
    check("eigh", |x| {
        let (w, v) = symmetric(x.get("x")).eigh();
        let of_all = v.matmul(&w.sin().diag_embed(0)).matmul(&t(&v));
        vec![w, v.square(), of_all]
    });
    check("svdvals", |x| vec![x.get("x").svdvals()]);
    for shape in ["tall", "wide"] {
        check(&format!("pinv_{shape}"), |x| vec![x.get("x").pinv(None)]);
    }
    for device in devices() {
        let rank = recorded().tensor("matrix_rank/in", &device).matrix_rank(None);
        assert_eq!(values(&rank), values(&recorded().tensor("matrix_rank/out", &Device::cpu())));
    }
}

#[test]
fn norms_and_functions_as_pytorch() {
    let infinity = f64::INFINITY;
    let norms = [
        ("fro", MatrixNorm::Frobenius),
        ("nuc", MatrixNorm::Nuclear),
        ("inf", infinity.into()),
        ("-inf", (-infinity).into()),
        ("1", 1.0.into()),
        ("-1", (-1.0).into()),
        ("2", 2.0.into()),
        ("-2", (-2.0).into()),
    ];
    for (name, norm) in norms {
        check(&format!("matrix_norm_{name}"), |x| vec![x.get("x").matrix_norm(norm)]);
        if matches!(name, "fro" | "1" | "inf" | "2" | "-2") {
            check(&format!("cond_{name}"), |x| vec![x.get("x").cond(norm)]);
        }
    }
    check("cond_none", |x| vec![x.get("x").cond(2.0)]);
    for (name, order) in
        [("0.0", 0.0), ("1.0", 1.0), ("2.0", 2.0), ("3.0", 3.0), ("inf", infinity), ("-inf", -infinity)]
    {
        for device in devices() {
            let x = recorded().tensor(&format!("vector_norm_{name}/in"), &device);
            let want = recorded().tensor(&format!("vector_norm_{name}/out"), &Device::cpu());
            assert_close(&values(&x.vector_norm(order, -1)), &values(&want), 1e-6, 1e-5);
        }
    }
    for power in [-2, 1, 3, 6] {
        check(&format!("matrix_power_{power}"), |x| vec![x.get("x").matrix_power(power)]);
    }
    for device in devices() {
        let ones = Tensor::ones([2, 3, 3], &device);
        assert_eq!(values(&ones.matrix_power(0)), values(&eye(&ones).broadcast_to([2, 3, 3])));
    }
    check("matrix_exp_small", |x| vec![x.get("x").matrix_exp()]);
    check("matrix_exp_middle", |x| vec![x.get("x").matrix_exp()]);
    check("cross", |x| vec![x.get("x").cross(x.get("y"), -1)]);
    check("multi_dot", |x| vec![Tensor::multi_dot(&[x.get("x"), x.get("y"), x.get("z")])]);
    check("vander", |x| vec![x.get("x").vander(None)]);
    // e^A of large matrices has large numbers: relative to the largest.
    for device in devices() {
        let got = values(&recorded().tensor("matrix_exp_large/in/x", &device).matrix_exp());
        let want = values(&recorded().tensor("matrix_exp_large/out/0", &Device::cpu()));
        let largest = want.iter().fold(0.0, |most: f64, x| most.max(x.abs()));
        assert_close(&got, &want, 1e-4 * largest, 0.0);
    }
}

/// Numbers of both sides of the borders of panels.
const SIZES: [usize; 8] = [1, 2, 3, 31, 32, 33, 100, 257];

fn noise(shape: &[usize], device: &Device) -> Tensor {
    let cpu = Tensor::randn(shape, &Generator::new(7), &Device::cpu());
    flambeau::block_on(cpu.to(device)).unwrap()
}

/// ‖got − want‖ / (‖want‖ n ε): of the order of 1 where an algorithm is as precise as it can be.
#[track_caller]
fn assert_residual(what: &str, got: &Tensor, want: &Tensor, limit: f64) {
    let (got_values, want_values) = (values(got), values(want));
    assert_eq!(got.shape(), want.shape(), "{what}");
    let norm = |x: &mut dyn Iterator<Item = f64>| x.map(|x| x * x).sum::<f64>().sqrt();
    let difference = norm(&mut got_values.iter().zip(&want_values).map(|(a, b)| a - b));
    let scale = norm(&mut want_values.iter().copied()).max(f64::MIN_POSITIVE);
    let epsilon = f64::from(f32::EPSILON) * got.size(-1).max(got.size(-2)) as f64;
    let residual = difference / scale / epsilon;
    println!("summary: {what} {} on {}: residual {residual:.2} n ε", want.shape(), want.device());
    assert!(residual < limit, "{what} {} on {}: {residual}", want.shape(), want.device());
}

#[test]
fn residuals_of_cholesky_and_lu() {
    for device in devices() {
        for n in SIZES {
            let x = noise(&[2, n, n], &device);
            let a = positive(&x);
            let l = a.cholesky(false);
            assert_eq!(values(&l), values(&l.tril(0)), "zeros above the diagonal");
            assert_residual("L Lᵀ", &l.matmul(&t(&l)), &a, 4.0);
            let (p, l, u) = x.lu();
            assert_residual("P L U", &p.matmul(&l).matmul(&u), &x, 4.0);
            let most = values(&l.abs()).into_iter().fold(0.0, f64::max);
            assert!(most <= 1.0, "pivots are the largest: {most}");
            let b = noise(&[2, n, 3], &device);
            assert_residual("A (A⁻¹ B)", &a.matmul(&a.solve(&b)), &b, 64.0 * n as f64);
            let y = a.cholesky(false).solve_triangular(&b, false, true, false);
            assert_residual("L (L⁻¹ B)", &a.cholesky(false).matmul(&y), &b, 16.0);
        }
        // The last are higher than what a workgroup holds in its memory, and than what it holds in registers.
        for shape in [&[300, 40][..], &[40, 300], &[1, 50], &[50, 1], &[3, 33, 100], &[1100, 20], &[2100, 40]]
        {
            let x = noise(shape, &device);
            let (p, l, u) = x.lu();
            assert_residual("P L U", &p.matmul(&l).matmul(&u), &x, 4.0);
            let most = values(&l.abs()).into_iter().fold(0.0, f64::max);
            assert!(most <= 1.0, "pivots are the largest: {most}");
        }
    }
}

#[test]
fn residuals_of_qr() {
    for device in devices() {
        let square = SIZES.map(|n| vec![2, n, n]);
        // The last are higher than what a workgroup holds in its memory, and than what it holds in registers.
        let others = [vec![300, 40], vec![40, 100], vec![1, 50], vec![50, 1], vec![3, 100, 33]];
        let others = others.into_iter().chain([vec![1100, 20], vec![2100, 40]]);
        for shape in square.into_iter().chain(others) {
            let x = noise(&shape, &device);
            let (q, r) = x.qr(false);
            assert_residual("Q R", &q.matmul(&r), &x, 4.0);
            assert_residual(
                "Qᵀ Q",
                &t(&q).matmul(&q),
                &eye(&r.matmul(&t(&r))).broadcast_to(r.matmul(&t(&r)).shape()),
                4.0,
            );
            assert_eq!(values(&r), values(&r.triu(0)), "zeros below the diagonal");
            assert!(values(&r.diagonal(0, -2, -1)).into_iter().all(|x| x >= 0.0));
        }
        let x = noise(&[2, 40, 3], &device);
        let (q, r) = x.qr(true);
        assert_eq!((q.shape().dims(), r.shape().dims()), (&[2, 40, 40][..], &[2, 40, 3][..]));
        assert_residual("Q R", &q.matmul(&r), &x, 4.0);
        assert_residual("Qᵀ Q", &t(&q).matmul(&q), &eye(&q).broadcast_to(q.shape()), 4.0);
    }
}

/// How precise eigenvectors and singular vectors have to be, in n ε. The CPU computes them in f64 and rounds them. The GPU's rotations leave
/// 0.2 (llvmpipe, 2026-11-18, 32² to 256²); LAPACK's own tests allow 30.
fn vectors_limit(device: &Device) -> f64 {
    if *device == Device::cpu() { 1.0 } else { 2.0 }
}

/// A = V diag(w) Vᵀ, w in increasing order.
#[track_caller]
fn assert_eigenvectors(a: &Tensor, limit: f64) {
    let (w, v) = a.eigh();
    assert_residual("V w Vᵀ", &(&v * w.unsqueeze(-2)).matmul(&t(&v)), a, limit);
    assert_residual("Vᵀ V", &t(&v).matmul(&v), &eye(a).broadcast_to(a.shape()), limit);
    assert!(values(&w).chunks(a.size(-1)).all(|w| w.is_sorted()), "eigenvalues increase");
}

/// A = U diag(s) Vᵀ, s in decreasing order, for square matrices.
#[track_caller]
fn assert_singular_vectors(a: &Tensor, limit: f64) {
    let (u, s, vt) = a.svd(false);
    let ones = eye(a).broadcast_to(a.shape());
    assert_residual("U s Vᵀ", &(&u * s.unsqueeze(-2)).matmul(&vt), a, limit);
    assert_residual("Uᵀ U", &t(&u).matmul(&u), &ones, limit);
    assert_residual("V Vᵀ", &vt.matmul(&t(&vt)), &ones, limit);
    assert!(values(&s).chunks(a.size(-1)).all(|s| s.is_sorted_by(|a, b| a >= b)), "singular values decrease");
}

/// Matrices whose eigenvalues are all far from zero, as a benchmark's are. The CPU is held to what rounding leaves: faer's own f32 missed
/// it 5 times over at 257², and 40 times at 1024². The GPU's V lost 1 n ε of its orthogonality when cosines were rounded.
#[test]
fn vectors_of_large_positive_matrices_are_as_precise() {
    for device in devices() {
        let (n, limit) = if device == Device::cpu() { (257, 0.05) } else { (160, 0.5) };
        let x = noise(&[n, n], &device);
        let a = x.matmul(&t(&x)) + eye(&x) * n as f64;
        assert_eigenvectors(&a, limit);
        assert_singular_vectors(&a, limit);
    }
}

/// A sample's matrices are taken with all others, not one after the other.
#[test]
fn decompositions_of_one_matrix_are_mapped_over_a_batch() {
    for device in devices() {
        let x = noise(&[5, 4, 4], &device);
        let decompose = |x: &Tensor| {
            let (_, l, u) = x.lu();
            let (q, r) = x.qr(false);
            let (w, v) = (x + t(x)).eigh();
            let (_, s, _) = x.svd(false);
            let solved = positive(x).cholesky(false).solve_triangular(x, false, true, false);
            vec![l, u, q, r, w, v.square(), s, solved]
        };
        let (mapped, batched) = (vmap(decompose)(&x), decompose(&x));
        assert_eq!(mapped.len(), batched.len());
        for (mapped, batched) in mapped.iter().zip(&batched) {
            assert_close(&values(mapped), &values(batched), 1e-5, 1e-5);
        }
        // A gradient through it: of the sum of all singular values, U Vᵀ.
        let (u, _, vt) = x.svd(false);
        let nuclear = grad(|x: &Tensor| x.svd(false).1.sum(..));
        assert_close(&values(&vmap(nuclear)(&x)), &values(&u.matmul(&vt)), 1e-4, 1e-4);
    }
}

#[test]
fn residuals_of_eigenvectors_and_singular_vectors() {
    for device in devices() {
        let limit = vectors_limit(&device);
        for n in SIZES.into_iter().filter(|&n| n < 257 || device == Device::cpu()) {
            let x = noise(&[2, n, n], &device);
            assert_eigenvectors(&(&x + t(&x)), limit);
            assert_singular_vectors(&x, limit);
        }
        // Of rank 3, with a zero and a repeated column; and nothing but zeros.
        let thin = noise(&[40, 3], &device);
        let low = thin.matmul(&t(&noise(&[36, 3], &device)));
        for x in [low, Tensor::zeros([5, 4], &device), Tensor::ones([40, 34], &device)] {
            let (u, s, vt) = x.svd(true);
            let (m, n) = (x.size(0), x.size(1));
            assert_eq!((u.shape().dims(), vt.shape().dims()), (&[m, m][..], &[n, n][..]));
            assert_residual("U s Vᵀ", &(&u.narrow(-1, 0, n) * s.unsqueeze(-2)).matmul(&vt), &x, limit);
            assert_residual("Uᵀ U", &t(&u).matmul(&u), &eye(&u), limit);
            let square = t(&x).matmul(&x);
            let (w, v) = square.eigh();
            assert_residual("V w Vᵀ", &(&v * w.unsqueeze(-2)).matmul(&t(&v)), &square, limit);
            assert_residual("Vᵀ V", &t(&v).matmul(&v), &eye(&v), limit);
            assert_residual("V Vᵀ", &vt.matmul(&t(&vt)), &eye(&vt), limit);
        }
        // Numbers whose squares are out of range.
        let far = noise(&[2, 20, 20], &device) * 1e25;
        let (u, s, vt) = far.svd(false);
        assert_residual("U s Vᵀ", &(&u * s.unsqueeze(-2)).matmul(&vt), &far, limit);
    }
}

/// F64 numbers that a gradient is wanted of.
fn leaf(shape: &[usize]) -> Tensor {
    let x = Tensor::randn(shape, &Generator::new(3), &Device::cpu());
    x.to_dtype(DType::F64).detach().requires_grad()
}

#[track_caller]
fn check_derivatives(function: impl Fn(&[Tensor]) -> Vec<Tensor>, inputs: &[Tensor]) {
    let options = GradcheckOptions::default();
    gradcheck_blocking(&function, inputs, options).unwrap();
    gradgradcheck_blocking(&function, inputs, options).unwrap();
}

#[test]
fn derivatives_of_derivatives() {
    check_derivatives(|x| vec![positive(&x[0]).cholesky(false)], &[leaf(&[2, 3, 3])]);
    for shape in [&[2, 3, 3][..], &[4, 3], &[3, 4]] {
        check_derivatives(
            |x| {
                let (_, l, u) = x[0].lu();
                vec![l, u]
            },
            &[leaf(shape)],
        );
    }
    check_derivatives(|x| vec![x[0].solve(&x[1])], &[leaf(&[2, 3, 3]), leaf(&[2, 3, 2])]);
    check_derivatives(|x| vec![x[0].inv(), x[0].det(), x[0].slogdet().1], &[leaf(&[3, 3])]);
    for (upper, unit) in [(false, true), (true, false)] {
        let solve = |x: &[Tensor]| vec![x[0].solve_triangular(&x[1], upper, false, unit)];
        check_derivatives(solve, &[leaf(&[3, 3]), leaf(&[2, 3])]);
    }
}

#[test]
fn derivatives_of_derivatives_of_orthogonal_factors() {
    for shape in [&[2, 3, 3][..], &[4, 3], &[3, 4]] {
        check_derivatives(
            |x| {
                let (q, r) = x[0].qr(false);
                vec![q, r]
            },
            &[leaf(shape)],
        );
        check_derivatives(
            |x| {
                let (u, s, vt) = x[0].svd(false);
                let of_all = (&u * s.sin().unsqueeze(-2)).matmul(&vt);
                vec![s, u.square(), vt.square(), of_all]
            },
            &[leaf(shape)],
        );
    }
    check_derivatives(
        |x| {
            let (w, v) = (&x[0] + t(&x[0])).eigh();
            let of_all = (&v * w.sin().unsqueeze(-2)).matmul(&t(&v));
            vec![w, v.square(), of_all]
        },
        &[leaf(&[2, 3, 3])],
    );
    check_derivatives(|x| vec![x[0].lstsq(&x[1])], &[leaf(&[4, 3]), leaf(&[4, 2])]);
    check_derivatives(|x| vec![x[0].lstsq(&x[1])], &[leaf(&[3, 4]), leaf(&[3, 2])]);
    check_derivatives(|x| vec![x[0].pinv(None), x[0].matrix_norm(2.0)], &[leaf(&[4, 3])]);
    check_derivatives(|x| vec![x[0].matrix_exp(), x[0].matrix_power(-2), x[0].cond(1.0)], &[leaf(&[3, 3])]);
    // What PyTorch refuses, too.
    let x = leaf(&[4, 3]);
    let error = x.qr(true).0.sum(..).backward().unwrap_err().to_string();
    assert!(error.contains("qr: the complete Q of matrices 4 × 3"), "{error}");
}

/// The error of reading a value.
fn error_of(x: &Tensor) -> Error {
    flambeau::block_on(x.to_f64_vec()).unwrap_err()
}

#[test]
fn matrices_that_cannot_be_taken_are_named() {
    for device in devices() {
        // The third of four is the one.
        let mut diagonal = vec![1.0_f32; 4 * 40];
        diagonal[2 * 40 + 37] = 0.0;
        let singular = Tensor::from_vec(diagonal, [2, 2, 40], &device).diag_embed(0);
        for (op, result) in [
            ("inv", singular.inv()),
            ("solve", singular.solve(&Tensor::ones([2, 2, 40, 1], &device))),
            ("cholesky", singular.cholesky(false)),
        ] {
            let error = error_of(&result);
            let what = if op == "cholesky" { "not positive definite" } else { "singular" };
            let Error::Matrix { op: named, batch, what: told, location } = &error else { panic!("{error}") };
            assert_eq!((*named, *batch, *told), (op, 2, what), "{error}");
            assert!(location.contains("linalg.rs"), "{location}");
            device.clear_fault().unwrap();
        }
        let infinite = Tensor::full([2, 3, 3], f32::INFINITY, &device);
        for (op, result) in [("eigh", infinite.eigvalsh()), ("svd", infinite.svdvals())] {
            let error = error_of(&result).to_string();
            assert!(error.contains(op) && error.contains("not finite"), "{error}");
            device.clear_fault().unwrap();
        }
        // What is defined for singular matrices.
        assert_close(&values(&singular.det()), &[1.0, 1.0, 0.0, 1.0], 0.0, 0.0);
        let (sign, log) = singular.slogdet();
        assert_eq!(values(&sign), [1.0, 1.0, 0.0, 1.0]);
        assert_eq!(values(&log), [0.0, 0.0, f64::NEG_INFINITY, 0.0]);
        let (p, l, u) = singular.lu();
        assert_residual("P L U", &p.matmul(&l).matmul(&u), &singular, 1.0);
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let device = Device::cpu();
    let (a, vector) = (Tensor::ones([3, 4], &device), Tensor::ones([3], &device));
    let square = Tensor::ones([2, 3, 3], &device);
    let refused = |result: Result<Tensor>, words: &[&str]| {
        let error = result.unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}: {words:?}");
    };
    refused(a.try_cholesky(false), &["cholesky: ", "[3, 4]", "square"]);
    refused(a.try_inv(), &["inv: ", "[3, 4]"]);
    refused(a.try_det(), &["det: ", "[3, 4]"]);
    refused(vector.try_inv(), &["inv: ", "[3]", "two dimensions"]);
    refused(a.try_slogdet().map(|both| both.0), &["slogdet: ", "[3, 4]"]);
    refused(vector.try_qr(false).map(|both| both.0), &["qr: ", "[3]"]);
    refused(a.try_eigvalsh(), &["eigvalsh: ", "[3, 4]"]);
    refused(vector.try_svdvals(), &["svdvals: ", "[3]"]);
    refused(a.try_lstsq(&a.t()), &["lstsq: ", "[3, 4]", "[4, 3]"]);
    refused(a.try_matrix_norm(3.0), &["matrix_norm: ", "order 3"]);
    refused(a.try_cond(1.0), &["cond: ", "[3, 4]"]);
    refused(a.try_matrix_power(2), &["matrix_power: ", "[3, 4]"]);
    refused(a.try_cross(&a, -1), &["cross: ", "[3, 4]"]);
    refused(Tensor::try_multi_dot(&[&a]), &["multi_dot: "]);
    refused(Tensor::try_multi_dot(&[&a, &a]), &["multi_dot: ", "[3, 4]"]);
    refused(vector.try_lu().map(|all| all.0), &["lu: ", "[3]"]);
    refused(square.try_solve(&Tensor::ones([2, 4, 1], &device)), &["solve: ", "[2, 3, 3]", "[2, 4, 1]"]);
    refused(square.try_solve(&Tensor::ones([5, 3, 1], &device)), &["solve: ", "[2, 3, 3]", "[5, 3, 1]"]);
    refused(square.try_solve(&Tensor::ones([3, 1], (DType::F64, &device))), &["solve: ", "f32", "f64"]);
    refused(square.try_solve_triangular(&a.t(), true, true, false), &["solve_triangular: ", "[4, 3]"]);
    refused(Tensor::ones([2, 2], (DType::I32, &device)).try_inv(), &["inv: ", "i32", "F32 or F64"]);
    let (packed, rows) = square.lu_factor();
    refused(packed.try_lu_solve(&rows.narrow(-1, 0, 2), &square), &["lu_solve: ", "[2, 2]", "[2, 3, 3]"]);
}

#[test]
fn nothing_at_all() {
    for device in devices() {
        let none = Tensor::ones([2, 0, 0], &device);
        assert_eq!(values(&none.det()), [1.0, 1.0]);
        assert_eq!(values(&none.slogdet().1), [0.0, 0.0]);
        assert_eq!(none.inv().shape().dims(), [2, 0, 0]);
        assert_eq!(none.solve(&Tensor::ones([2, 0, 3], &device)).shape().dims(), [2, 0, 3]);
        let (p, l, u) = Tensor::ones([2, 3, 0], &device).lu();
        assert_eq!(values(&p), values(&eye(&p).broadcast_to([2, 3, 3])));
        assert_eq!((l.shape().dims(), u.shape().dims()), (&[2, 3, 0][..], &[2, 0, 0][..]));
    }
}
