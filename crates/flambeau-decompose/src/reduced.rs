//! Large matrices of f32: what takes long, reducing them to two diagonals and multiplying the reflections together again, is done in f32;
//! what f32 is too coarse for, decomposing the diagonals by divide and conquer, in f64.
//!
//! A = Q T Qᵀ with T tridiagonal, T = W diag(w) Wᵀ, hence V = Q W. Likewise A = P B Qᵀ with B bidiagonal. The right singular vectors
//! of B are the eigenvectors of BᵀB, which is tridiagonal and computed in f64 from numbers of f32; the left ones are B v / σ. Errors of f64 are
//! larger there by (σ₁ / σₙ)², so that matrices which are nearly singular are left to others.

use super::{columns, write};
use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{evd, householder, qr, svd};
use faer::{Col, ColRef, Conj, Mat, MatRef, Par};

/// The least size for which this pays.
pub(super) const LEAST: usize = 256;

/// The least σₙ / σ₁ for which singular vectors of BᵀB do: f64 has 2⁻⁵² and f32 2⁻²³.
const LEAST_RATIO: f64 = 1e-4;

/// A power of two that brings the largest number near 1: squares stay in range, and no digit is lost. None for zeros, and for what
/// is not finite.
fn scale(a: &Mat<f32>) -> Option<f32> {
    // (`norm_max` passes over NaN.)
    let is_finite = a.col_iter().all(|column| column.iter().all(|x| x.is_finite()));
    let largest = a.norm_max();
    let exponent = (largest > 0.0 && is_finite).then(|| -largest.log2().floor())?;
    Some(exponent.clamp(-126.0, 126.0).exp2())
}

/// The eigenvectors of a symmetric tridiagonal matrix, and its eigenvalues in increasing order.
fn tridiagonal(diagonal: &Col<f64>, beside: &Col<f64>, par: Par) -> Option<(Col<f64>, Mat<f64>)> {
    let n = diagonal.nrows();
    let (mut values, mut vectors) = (Col::<f64>::zeros(n), Mat::<f64>::zeros(n, n));
    let wanted = evd::ComputeEigenvectors::Yes;
    let mut memory = MemBuffer::new(evd::self_adjoint_evd_scratch::<f64>(n, wanted, par, Default::default()));
    evd::tridiagonal_self_adjoint_evd(
        diagonal.as_ref().as_diagonal(),
        beside.as_ref().as_diagonal(),
        values.as_mut().as_diagonal_mut(),
        Some(vectors.as_mut()),
        par,
        MemStack::new(&mut memory),
        Default::default(),
    )
    .ok()?;
    Some((values, vectors))
}

/// Reflections, as faer stores them, times `to`.
fn reflect(
    reflections: MatRef<'_, f32>,
    factors: &Mat<f32>,
    mut to: Mat<f32>,
    first: usize,
    par: Par,
) -> Mat<f32> {
    let rows = to.nrows() - first;
    let (block, columns) = (factors.nrows(), to.ncols());
    let req = householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<f32>(
        reflections.nrows(),
        block,
        columns,
    );
    let mut memory = MemBuffer::new(req);
    householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
        reflections,
        factors.as_ref(),
        Conj::No,
        to.as_mut().subrows_mut(first, rows),
        par,
        MemStack::new(&mut memory),
    );
    to
}

/// A V = V diag(w), as [`Real::eigh`](super::Real::eigh); false if faer does not find it.
pub(super) fn eigh(n: usize, given: &[f32], w: &mut [f32], v: &mut [f32], par: Par) -> bool {
    let lower = |i, j| if i >= j { given[i * n + j] } else { 0.0 };
    let mut a = Mat::from_fn(n, n, lower);
    let Some(scale) = scale(&a) else { return false };
    a *= faer::Scale(scale);
    let block = qr::no_pivoting::factor::recommended_block_size::<f32>(n, n);
    let mut factors = Mat::<f32>::zeros(block, n - 1);
    let mut memory =
        MemBuffer::new(evd::tridiag::tridiag_in_place_scratch::<f32>(n, par, Default::default()));
    let stack = MemStack::new(&mut memory);
    evd::tridiag::tridiag_in_place(a.as_mut(), factors.as_mut(), par, stack, Default::default());
    let diagonal = Col::from_fn(n, |i| f64::from(a[(i, i)]));
    let beside = Col::from_fn(n, |i| if i + 1 < n { f64::from(a[(i + 1, i)]) } else { 0.0 });
    let Some((values, vectors)) = tridiagonal(&diagonal, &beside, par) else { return false };
    let vectors = Mat::from_fn(n, n, |i, j| vectors[(i, j)] as f32);
    let vectors = reflect(a.as_ref().submatrix(1, 0, n - 1, n - 1), &factors, vectors, 1, par);
    w.iter_mut().zip(values.iter()).for_each(|(to, &value)| *to = (value / f64::from(scale)) as f32);
    write(vectors.as_ref(), v, |x| x);
    true
}

/// A = U diag(s) Vᵀ, as [`Real::svd`](super::Real::svd); false if A is nearly singular, or faer does not find it.
pub(super) fn svd(m: usize, n: usize, given: &[f32], to: &mut super::Svd<'_, f32>, par: Par) -> bool {
    let mut a = columns(given, m, n, |x| x);
    let Some(scale) = scale(&a) else { return false };
    a *= faer::Scale(scale);
    let block = qr::no_pivoting::factor::recommended_block_size::<f32>(m, n);
    let (mut left, mut right) = (Mat::<f32>::zeros(block, n), Mat::<f32>::zeros(block, n - 1));
    let mut memory =
        MemBuffer::new(svd::bidiag::bidiag_in_place_scratch::<f32>(m, n, par, Default::default()));
    let stack = MemStack::new(&mut memory);
    svd::bidiag::bidiag_in_place(a.as_mut(), left.as_mut(), right.as_mut(), par, stack, Default::default());
    // B has d on its diagonal and e above it: BᵀB has d² + e² of the column before on its diagonal, and d e beside it.
    let d = |i: usize| f64::from(a[(i, i)]);
    let e = |i: usize| if i + 1 < n { f64::from(a[(i, i + 1)]) } else { 0.0 };
    let diagonal = Col::from_fn(n, |i| d(i) * d(i) + if i > 0 { e(i - 1) * e(i - 1) } else { 0.0 });
    let beside = Col::from_fn(n, |i| d(i) * e(i));
    let Some((values, vectors)) = tridiagonal(&diagonal, &beside, par) else { return false };
    let singular = |j: usize| values[n - 1 - j].max(0.0).sqrt();
    let ratio = singular(n - 1) / singular(0);
    if ratio.is_nan() || ratio < LEAST_RATIO {
        return false;
    }
    let of = |j: usize| -> ColRef<'_, f64> { vectors.col(n - 1 - j) };
    let v = Mat::from_fn(n, n, |i, j| of(j)[i] as f32);
    let u = Mat::from_fn(m, n, |i, j| match i {
        _ if i >= n => 0.0,
        _ if i + 1 < n => ((d(i) * of(j)[i] + e(i) * of(j)[i + 1]) / singular(j)) as f32,
        _ => (d(i) * of(j)[i] / singular(j)) as f32,
    });
    let u = reflect(a.as_ref(), &left, u, 0, par);
    // Those of V lie along rows.
    let rows = Mat::from_fn(n - 1, n - 1, |i, j| if j <= i { a[(j, i + 1)] } else { 0.0 });
    let v = reflect(rows.as_ref(), &right, v, 1, par);
    to.s.iter_mut().enumerate().for_each(|(j, to)| *to = (singular(j) / f64::from(scale)) as f32);
    write(u.as_ref(), to.u, |x| x);
    write(v.as_ref().transpose(), to.vt, |x| x);
    true
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers between −1 and 1, always the same.
    fn noise(count: usize, seed: u64) -> Col<f64> {
        let mut state = seed;
        Col::from_fn(count, |_| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (state >> 11) as f64 / (1_u64 << 52) as f64 - 1.0
        })
    }

    /// X with the first columns of I − 2 x xᵀ / xᵀx for X: they are orthonormal.
    fn reflection(m: usize, n: usize, seed: u64) -> Mat<f64> {
        let x = noise(m, seed);
        let squares = x.squared_norm_l2();
        Mat::from_fn(m, n, |i, j| f64::from(i == j) - 2.0 * x[i] * x[j] / squares)
    }

    fn rows(a: &Mat<f64>) -> Vec<f32> {
        (0..a.nrows()).flat_map(|i| (0..a.ncols()).map(move |j| a[(i, j)] as f32)).collect()
    }

    fn of_rows(m: usize, n: usize, a: &[f32]) -> Mat<f64> {
        columns(a, m, n, f64::from)
    }

    /// What rounding leaves of n × n numbers in f32, for numbers near 1: errors of reflections add up as √n.
    fn rounding(n: usize) -> f64 {
        f64::from(f32::EPSILON) * (n as f64).sqrt()
    }

    /// Is the error within n ε, for numbers as large as `size`? (LAPACK's own tests allow 30 times as much.)
    #[track_caller]
    fn assert_close(got: &Mat<f64>, want: &Mat<f64>, size: f64) {
        let error = (got - want).norm_l2() / size;
        assert!(error < f64::from(f32::EPSILON) * got.ncols() as f64, "{error:e}");
    }

    /// Spectra that are spread, close together, mixed in sign, tiny and large.
    fn spectra(n: usize) -> Vec<Vec<f64>> {
        let of = |value: &dyn Fn(f64) -> f64| (0..n).map(|i| value(i as f64 / n as f64)).collect();
        vec![
            of(&|t| t + 0.1),
            of(&|t| if t < 0.5 { 1.0 } else { 2.0 + t * 1e-6 }),
            of(&|t| 3.0 * t - 1.0),
            of(&|t| 1e-30 * (t + 0.5)),
            of(&|t| 1e30 * (t + 0.5)),
        ]
    }

    #[test]
    fn eigenvectors_of_known_spectra() {
        let n = LEAST + 3;
        for spectrum in spectra(n) {
            let size = spectrum.iter().map(|w| w * w).sum::<f64>().sqrt();
            let (q, known) = (reflection(n, n, 1), Col::from_fn(n, |i| spectrum[i]));
            let a = &q * known.as_diagonal() * q.transpose();
            let (mut w, mut v) = (vec![0.0; n], vec![0.0; n * n]);
            assert!(eigh(n, &rows(&a), &mut w, &mut v, Par::Seq));
            let largest = spectrum.iter().fold(0.0_f64, |most, w| most.max(w.abs()));
            for (got, want) in w.iter().zip(&spectrum) {
                let error = (f64::from(*got) - want).abs() / largest;
                assert!(error < rounding(n), "{got} for {want}");
            }
            let (w, v) = (Col::from_fn(n, |i| f64::from(w[i])), of_rows(n, n, &v));
            assert_close(&(v.transpose() * &v), &Mat::identity(n, n), 1.0);
            assert_close(&(&v * w.as_diagonal() * v.transpose()), &a, size);
        }
    }

    #[test]
    fn the_upper_triangle_is_not_looked_at() {
        let n = LEAST;
        let q = reflection(n, n, 2);
        let given = rows(&(&q * Col::from_fn(n, |i| i as f64).as_diagonal() * q.transpose()));
        let lower = |i: usize, j: usize| if j > i { f32::NAN } else { given[i * n + j] };
        let half: Vec<f32> = (0..n * n).map(|at| lower(at / n, at % n)).collect();
        let of = |a: &[f32]| {
            let (mut w, mut v) = (vec![0.0; n], vec![0.0; n * n]);
            assert!(eigh(n, a, &mut w, &mut v, Par::Seq));
            (w, v)
        };
        assert_eq!(of(&given), of(&half));
    }

    #[test]
    fn singular_vectors_of_known_spectra() {
        let (m, n) = (LEAST + 70, LEAST + 3);
        for mut spectrum in spectra(n) {
            spectrum.iter_mut().for_each(|s| *s = s.abs().max(1e-32));
            spectrum.sort_by(|a, b| b.total_cmp(a));
            let size = spectrum.iter().map(|s| s * s).sum::<f64>().sqrt();
            let known = Col::from_fn(n, |i| spectrum[i]);
            let a = reflection(m, n, 3) * known.as_diagonal() * reflection(n, n, 4).transpose();
            let (mut u, mut s, mut vt) = (vec![0.0; m * n], vec![0.0; n], vec![0.0; n * n]);
            let mut to = crate::Svd { u: &mut u, s: &mut s, vt: &mut vt };
            assert!(svd(m, n, &rows(&a), &mut to, Par::Seq));
            for (got, want) in s.iter().zip(&spectrum) {
                let error = (f64::from(*got) - want).abs() / spectrum[0];
                assert!(error < rounding(n), "{got} for {want}");
            }
            let (u, s) = (of_rows(m, n, &u), Col::from_fn(n, |i| f64::from(s[i])));
            let vt = of_rows(n, n, &vt);
            assert_close(&(u.transpose() * &u), &Mat::identity(n, n), 1.0);
            assert_close(&(&vt * vt.transpose()), &Mat::identity(n, n), 1.0);
            assert_close(&(&u * s.as_diagonal() * &vt), &a, size);
        }
    }

    #[test]
    fn what_is_left_to_others() {
        let n = LEAST;
        let (mut u, mut s, mut vt) = (vec![0.0; n * n], vec![0.0; n], vec![0.0; n * n]);
        let mut is_done =
            |a: &[f32]| svd(n, n, a, &mut crate::Svd { u: &mut u, s: &mut s, vt: &mut vt }, Par::Seq);
        let nearly_singular = Col::from_fn(n, |i| if i == 0 { 1e-6 } else { 1.0 });
        let q = reflection(n, n, 5);
        assert!(!is_done(&rows(&(&q * nearly_singular.as_diagonal() * q.transpose()))));
        assert!(!is_done(&vec![0.0; n * n]));
        for number in [f32::NAN, f32::INFINITY] {
            let mut a = rows(&q);
            a[5 * n + 3] = number;
            assert!(!is_done(&a));
            assert!(!eigh(n, &a, &mut vec![0.0; n], &mut vec![0.0; n * n], Par::Seq));
        }
    }
}
