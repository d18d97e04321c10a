//! Jacobi's rotations, one after the other: for matrices whose eigenvalues or singular values faer's iterations do not find. They always
//! come to an end, but take several times as long.

use super::qr_of;
use faer::{Col, Mat, MatRef, Par};

/// Sweeps at most; all but hostile matrices need ten.
const SWEEPS: usize = 40;

/// cos and sin of the rotation of p and q after which their product is zero, if it is not so already.
fn rotation(pp: f64, qq: f64, pq: f64, least: f64) -> Option<(f64, f64)> {
    if pq.abs() <= least {
        return None;
    }
    let zeta = (qq - pp) / (2.0 * pq);
    let tangent = (1.0 / (zeta.abs() + zeta.hypot(1.0))).copysign(zeta);
    let cosine = 1.0 / tangent.hypot(1.0);
    Some((cosine, tangent * cosine))
}

/// Rotates columns p and q.
fn rotate(x: &mut Mat<f64>, (p, q): (usize, usize), (c, s): (f64, f64)) {
    for i in 0..x.nrows() {
        let (of_p, of_q) = (x[(i, p)], x[(i, q)]);
        (x[(i, p)], x[(i, q)]) = (c * of_p - s * of_q, s * of_p + c * of_q);
    }
}

/// The numbers over the largest of them, and that one: squares stay in range.
fn scaled(a: MatRef<'_, f64>) -> (Mat<f64>, f64) {
    let most = a.norm_max();
    let most = if most > 0.0 { most } else { 1.0 };
    (Mat::from_fn(a.nrows(), a.ncols(), |i, j| a[(i, j)] / most), most)
}

/// Calls `rotated` with all pairs of n columns, until it has found nothing to rotate in a whole sweep.
fn sweep(n: usize, mut rotated: impl FnMut((usize, usize)) -> bool) {
    for _ in 0..SWEEPS {
        let pairs = (0..n).flat_map(|p| (p + 1..n).map(move |q| (p, q)));
        if pairs.fold(0, |count, pair| count + usize::from(rotated(pair))) == 0 {
            break;
        }
    }
}

/// w, increasing, and V with A = V diag(w) Vᵀ; the lower triangle of A is read.
pub(super) fn eigh(a: MatRef<'_, f64>) -> (Col<f64>, Mat<f64>) {
    let n = a.nrows();
    let (lower, most) = scaled(a);
    let mut a = Mat::from_fn(n, n, |i, j| lower[(i.max(j), i.min(j))]);
    let mut vectors = Mat::<f64>::identity(n, n);
    sweep(n, |(p, q)| {
        let Some(by) = rotation(a[(p, p)], a[(q, q)], a[(p, q)], f64::EPSILON * f64::EPSILON) else {
            return false;
        };
        rotate(&mut a, (p, q), by);
        for j in 0..n {
            let (of_p, of_q) = (a[(p, j)], a[(q, j)]);
            (a[(p, j)], a[(q, j)]) = (by.0 * of_p - by.1 * of_q, by.1 * of_p + by.0 * of_q);
        }
        rotate(&mut vectors, (p, q), by);
        true
    });
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[(i, i)].total_cmp(&a[(j, j)]));
    (Col::from_fn(n, |i| a[(order[i], order[i])] * most), Mat::from_fn(n, n, |i, j| vectors[(i, order[j])]))
}

/// U, s, decreasing, and V with A = U diag(s) Vᵀ, for A with as many rows as columns, or more: columns are rotated until they are
/// orthogonal, and are u σ then.
pub(super) fn svd(a: MatRef<'_, f64>) -> (Mat<f64>, Col<f64>, Mat<f64>) {
    let (m, n) = (a.nrows(), a.ncols());
    let (mut columns, most) = scaled(a);
    let mut vectors = Mat::<f64>::identity(n, n);
    let dot = |x: &Mat<f64>, i: usize, j: usize| (0..m).map(|r| x[(r, i)] * x[(r, j)]).sum::<f64>();
    sweep(n, |(p, q)| {
        let (pp, qq) = (dot(&columns, p, p), dot(&columns, q, q));
        let least = f64::EPSILON * pp.sqrt() * qq.sqrt();
        let Some(by) = rotation(pp, qq, dot(&columns, p, q), least) else { return false };
        rotate(&mut columns, (p, q), by);
        rotate(&mut vectors, (p, q), by);
        true
    });
    let norms: Vec<f64> = (0..n).map(|j| dot(&columns, j, j).sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| norms[j].total_cmp(&norms[i]));
    // Q is U, and orthogonal where singular values are zero, too.
    let sorted: Vec<f64> = (0..m * n).map(|e| columns[(e / n, order[e % n])]).collect();
    let (mut q, mut r) = (vec![0.0; m * n], vec![0.0; n * n]);
    qr_of(m, n, &sorted, &mut q, &mut r, Par::Seq);
    let u = Mat::from_fn(m, n, |i, j| q[i * n + j]);
    (u, Col::from_fn(n, |i| norms[order[i]] * most), Mat::from_fn(n, n, |i, j| vectors[(i, order[j])]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between −1 and 1, always the same.
    fn noise(m: usize, n: usize) -> Mat<f64> {
        let mut state = 1_u64;
        Mat::from_fn(m, n, |_, _| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        })
    }

    #[track_caller]
    fn assert_close(got: &Mat<f64>, want: &Mat<f64>) {
        let n = got.ncols().max(1) as f64;
        let error = (got - want).norm_l2() / want.norm_l2().max(f64::MIN_POSITIVE);
        assert!(error < 8.0 * n * f64::EPSILON, "{error:e}");
    }

    fn of_low_rank(m: usize, n: usize, rank: usize) -> Mat<f64> {
        noise(m, rank) * noise(rank, n)
    }

    #[test]
    fn eigenvectors_of_matrices_of_any_rank() {
        for (n, rank) in [(1, 1), (5, 5), (20, 20), (20, 3), (7, 0)] {
            let x = of_low_rank(n, n, rank);
            let a = &x + x.transpose();
            let (w, v) = eigh(a.as_ref());
            assert!((1..n).all(|i| w[i - 1] <= w[i]), "{w:?}");
            assert_close(&(v.transpose() * &v), &Mat::identity(n, n));
            assert_close(&(&v * w.as_diagonal() * v.transpose()), &a);
        }
    }

    #[test]
    fn singular_vectors_of_matrices_of_any_rank() {
        for (m, n, rank) in [(1, 1, 1), (5, 5, 5), (30, 20, 20), (30, 20, 3), (9, 4, 0)] {
            let a = of_low_rank(m, n, rank);
            let (u, s, v) = svd(a.as_ref());
            assert!((1..n).all(|i| s[i - 1] >= s[i] && s[i] >= 0.0), "{s:?}");
            assert_close(&(u.transpose() * &u), &Mat::identity(n, n));
            assert_close(&(v.transpose() * &v), &Mat::identity(n, n));
            assert_close(&(&u * s.as_diagonal() * v.transpose()), &a);
        }
    }
}
