//! Jacobi's rotations, one after the other: for matrices whose eigenvalues or singular values faer's iterations do not find. They always
//! come to an end, but take several times as long.

use super::{Svd, qr_of};
use faer::Par;
use faer::traits::RealField;
use faer::traits::ext::ComplexFieldExt;
use faer::traits::math_utils::{eps, one, zero};
use std::cmp::Ordering;

/// Sweeps at most; all but hostile matrices need ten.
const SWEEPS: usize = 40;

/// cos and sin of the rotation of p and q after which their product is zero, if it is not so already.
fn rotation<T: RealField + Copy>(pp: T, qq: T, pq: T, least: T) -> Option<(T, T)> {
    if pq.abs() <= least {
        return None;
    }
    let zeta = (qq - pp) / (pq + pq);
    let tangent = one::<T>() / (zeta.abs() + (one::<T>() + zeta * zeta).sqrt());
    let tangent = if zeta < zero() { -tangent } else { tangent };
    let cosine = one::<T>() / (one::<T>() + tangent * tangent).sqrt();
    Some((cosine, tangent * cosine))
}

/// Rotates columns p and q of a matrix with n columns.
fn rotate<T: RealField + Copy>(x: &mut [T], n: usize, (p, q): (usize, usize), (c, s): (T, T)) {
    for row in x.chunks_exact_mut(n) {
        (row[p], row[q]) = (c * row[p] - s * row[q], s * row[p] + c * row[q]);
    }
}

fn identity<T: RealField + Copy>(n: usize) -> Vec<T> {
    (0..n * n).map(|e| if e / n == e % n { one() } else { zero() }).collect()
}

/// The numbers over the largest of them, and that one.
fn scaled<T: RealField + Copy>(numbers: impl Iterator<Item = T> + Clone) -> (Vec<T>, T) {
    let most = numbers.clone().fold(zero::<T>(), |most, x| if x.abs() > most { x.abs() } else { most });
    let most = if most > zero() { most } else { one() };
    (numbers.map(|x| x / most).collect(), most)
}

fn pairs(n: usize) -> impl Iterator<Item = (usize, usize)> {
    (0..n).flat_map(move |p| (p + 1..n).map(move |q| (p, q)))
}

pub(super) fn eigh<T: RealField + Copy>(n: usize, a: &[T], w: &mut [T], v: &mut [T]) {
    let (mut a, most) = scaled((0..n * n).map(|e| a[(e / n).max(e % n) * n + (e / n).min(e % n)]));
    let mut vectors = identity::<T>(n);
    for _ in 0..SWEEPS {
        let mut is_done = true;
        for (p, q) in pairs(n) {
            let Some(by) = rotation(a[p * n + p], a[q * n + q], a[p * n + q], eps::<T>() * eps::<T>()) else {
                continue;
            };
            is_done = false;
            rotate(&mut a, n, (p, q), by);
            for j in 0..n {
                let (of_p, of_q) = (a[p * n + j], a[q * n + j]);
                (a[p * n + j], a[q * n + j]) = (by.0 * of_p - by.1 * of_q, by.1 * of_p + by.0 * of_q);
            }
            rotate(&mut vectors, n, (p, q), by);
        }
        if is_done {
            break;
        }
    }
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| a[i * n + i].partial_cmp(&a[j * n + j]).unwrap_or(Ordering::Equal));
    w.iter_mut().zip(&order).for_each(|(w, &i)| *w = a[i * n + i] * most);
    v.iter_mut().enumerate().for_each(|(e, v)| *v = vectors[e / n * n + order[e % n]]);
}

/// Rotates columns until they are orthogonal: they are u σ then.
pub(super) fn svd<T: RealField + Copy>(m: usize, n: usize, a: &[T], to: Svd<'_, T>) {
    let (mut columns, most) = scaled(a.iter().copied());
    let mut vectors = identity::<T>(n);
    let dot =
        |x: &[T], i: usize, j: usize| (0..m).fold(zero::<T>(), |sum, r| sum + x[r * n + i] * x[r * n + j]);
    for _ in 0..SWEEPS {
        let mut is_done = true;
        for (p, q) in pairs(n) {
            let (pp, qq) = (dot(&columns, p, p), dot(&columns, q, q));
            let least = eps::<T>() * pp.sqrt() * qq.sqrt();
            let Some(by) = rotation(pp, qq, dot(&columns, p, q), least) else { continue };
            is_done = false;
            rotate(&mut columns, n, (p, q), by);
            rotate(&mut vectors, n, (p, q), by);
        }
        if is_done {
            break;
        }
    }
    let norms: Vec<T> = (0..n).map(|j| dot(&columns, j, j).sqrt()).collect();
    let mut order: Vec<usize> = (0..n).collect();
    order.sort_by(|&i, &j| norms[j].partial_cmp(&norms[i]).unwrap_or(Ordering::Equal));
    let sorted: Vec<T> = (0..m * n).map(|e| columns[e / n * n + order[e % n]]).collect();
    // Q is U, and orthogonal where singular values are zero, too.
    let mut r = vec![zero::<T>(); n * n];
    qr_of(m, n, &sorted, to.u, &mut r, Par::Seq);
    to.s.iter_mut().zip(&order).for_each(|(s, &i)| *s = norms[i] * most);
    to.vt.iter_mut().enumerate().for_each(|(e, v)| *v = vectors[e % n * n + order[e / n]]);
}
