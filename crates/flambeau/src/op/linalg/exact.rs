//! The definitions, in f64, one matrix at a time in row-major order. Nothing here is blocked or shared with the backends.

/// L of A = L Lᵀ, if A is positive definite.
pub(super) fn cholesky(n: usize, a: &[f64]) -> Option<Vec<f64>> {
    let mut l = vec![0.0; n * n];
    for j in 0..n {
        for i in j..n {
            let sum: f64 = (0..j).map(|k| l[i * n + k] * l[j * n + k]).sum();
            let rest = a[i * n + j] - sum;
            if i > j {
                l[i * n + j] = rest / l[j * n + j];
            } else if rest <= 0.0 {
                return None;
            } else {
                l[j * n + j] = rest.sqrt();
            }
        }
    }
    Some(l)
}

/// L and U in one, and the rows of P A.
pub(super) fn lu(m: usize, n: usize, a: &[f64]) -> (Vec<f64>, Vec<usize>) {
    let (mut a, mut rows) = (a.to_vec(), (0..m).collect::<Vec<_>>());
    for k in 0..m.min(n) {
        let mut pivot = k;
        for i in k + 1..m {
            if a[i * n + k].abs() > a[pivot * n + k].abs() {
                pivot = i;
            }
        }
        rows.swap(k, pivot);
        (0..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
        for i in k + 1..m {
            if a[k * n + k] != 0.0 {
                a[i * n + k] /= a[k * n + k];
            }
            (k + 1..n).for_each(|j| a[i * n + j] -= a[i * n + k] * a[k * n + j]);
        }
    }
    (a, rows)
}

/// X with T X = B.
pub(super) fn solve_triangular(
    n: usize,
    k: usize,
    t: &[f64],
    b: &[f64],
    upper: bool,
    unit: bool,
) -> Vec<f64> {
    let mut x = b.to_vec();
    for step in 0..n {
        let i = if upper { n - 1 - step } else { step };
        let known = if upper { i + 1..n } else { 0..i };
        for c in 0..k {
            let sum: f64 = known.clone().map(|j| t[i * n + j] * x[j * k + c]).sum();
            let rest = x[i * k + c] - sum;
            x[i * k + c] = if unit { rest } else { rest / t[i * n + i] };
        }
    }
    x
}

/// Q (m × c) and R (c × n) by Householder's reflections, with a diagonal of R that is not negative.
pub(super) fn qr(m: usize, n: usize, a: &[f64], c: usize) -> (Vec<f64>, Vec<f64>) {
    let mut r = a.to_vec();
    let mut q: Vec<f64> = (0..m * m).map(|e| if e / m == e % m { 1.0 } else { 0.0 }).collect();
    for j in 0..m.min(n) {
        let mut v: Vec<f64> = (0..m).map(|i| if i < j { 0.0 } else { r[i * n + j] }).collect();
        let norm = v.iter().map(|x| x * x).sum::<f64>().sqrt();
        v[j] += if v[j] < 0.0 { -norm } else { norm };
        let square: f64 = v.iter().map(|x| x * x).sum();
        if square == 0.0 {
            continue;
        }
        for column in 0..n {
            let dot: f64 = (j..m).map(|i| v[i] * r[i * n + column]).sum();
            (j..m).for_each(|i| r[i * n + column] -= 2.0 * v[i] * dot / square);
        }
        for row in 0..m {
            let dot: f64 = (j..m).map(|i| q[row * m + i] * v[i]).sum();
            (j..m).for_each(|i| q[row * m + i] -= 2.0 * dot * v[i] / square);
        }
    }
    let sign = |i: usize| if i < n && r[i * n + i] < 0.0 { -1.0 } else { 1.0 };
    let upper = (0..c * n).map(|e| if e % n >= e / n { sign(e / n) * r[e] } else { 0.0 });
    ((0..m * c).map(|e| q[e / c * m + e % c] * sign(e % c)).collect(), upper.collect())
}

/// Sweeps of Jacobi's rotations in f64 until nothing is left to rotate.
const SWEEPS: usize = 60;

/// cos and sin of the rotation of p and q after which their product is zero, if it is not so already.
fn rotation(pp: f64, qq: f64, pq: f64, least: f64) -> Option<(f64, f64)> {
    if pq.abs() <= least {
        return None;
    }
    let zeta = (qq - pp) / (2.0 * pq);
    let tangent = zeta.signum() / (zeta.abs() + zeta.hypot(1.0));
    let cosine = 1.0 / tangent.hypot(1.0);
    Some((cosine, tangent * cosine))
}

/// Rotates columns p and q of a matrix with n columns.
fn rotate(x: &mut [f64], n: usize, (p, q): (usize, usize), (c, s): (f64, f64)) {
    for row in x.chunks_exact_mut(n) {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
}

fn identity(n: usize) -> Vec<f64> {
    (0..n * n).map(|e| if e / n == e % n { 1.0 } else { 0.0 }).collect()
}

fn column_pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |p| (p + 1..n).map(move |q| (p, q)))
}

/// w, increasing, and V, by rotations of rows and columns.
pub(super) fn eigh(n: usize, a: &[f64]) -> (Vec<f64>, Vec<f64>) {
    let mut a: Vec<f64> = (0..n * n).map(|e| a[(e / n).max(e % n) * n + (e / n).min(e % n)]).collect();
    let mut v = identity(n);
    let least = 1e-18 * a.iter().map(|x| x * x).sum::<f64>().sqrt();
    for _ in 0..SWEEPS {
        let mut is_done = true;
        for (p, q) in column_pairs(n) {
            let Some(by) = rotation(a[p * n + p], a[q * n + q], a[p * n + q], least) else { continue };
            is_done = false;
            rotate(&mut a, n, (p, q), by);
            for j in 0..n {
                let (of_p, of_q) = (a[p * n + j], a[q * n + j]);
                (a[p * n + j], a[q * n + j]) = (by.0 * of_p - by.1 * of_q, by.1 * of_p + by.0 * of_q);
            }
            rotate(&mut v, n, (p, q), by);
        }
        if is_done {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].total_cmp(&a[j * n + j]));
    let vectors = (0..n * n).map(|e| v[e / n * n + order[e % n]]).collect();
    (order.iter().map(|&i| a[i * n + i]).collect(), vectors)
}

/// U, s, decreasing, and Vᵀ, by rotations of columns until they are orthogonal; m ≥ n.
pub(super) fn svd(m: usize, n: usize, a: &[f64]) -> (Vec<f64>, Vec<f64>, Vec<f64>) {
    let (mut w, mut v) = (a.to_vec(), identity(n));
    for _ in 0..SWEEPS {
        let mut is_done = true;
        for (p, q) in column_pairs(n) {
            let dot = |i: usize, j: usize| (0..m).map(|r| w[r * n + i] * w[r * n + j]).sum::<f64>();
            let (pp, qq) = (dot(p, p), dot(q, q));
            let Some(by) = rotation(pp, qq, dot(p, q), 1e-16 * (pp * qq).sqrt()) else { continue };
            is_done = false;
            rotate(&mut w, n, (p, q), by);
            rotate(&mut v, n, (p, q), by);
        }
        if is_done {
            break;
        }
    }
    let norms: Vec<f64> = (0..n).map(|j| (0..m).map(|r| w[r * n + j].powi(2)).sum::<f64>().sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| norms[j].total_cmp(&norms[i]));
    let sorted: Vec<f64> = (0..m * n).map(|e| w[e / n * n + order[e % n]]).collect();
    // Q is U, and orthogonal where singular values are zero, too.
    let (u, _) = qr(m, n, &sorted, n);
    let vt = (0..n * n).map(|e| v[e % n * n + order[e / n]]).collect();
    (u, order.iter().map(|&i| norms[i]).collect(), vt)
}
