//! Matrix decompositions of f32 and f64 on the CPU, by faer: what Flambeau's `op/linalg` calls for one matrix of a batch.
//!
//! faer's code is generic, and compiled where its element types are chosen. It is chosen here, so that the library, which is
//! compiled far more often, does not contain it. Matrices are slices in row-major order; `threads` is how many cores one of
//! them may use. All outputs are written whole.
//!
//! Eigenvalues and singular values of f32 are computed in f64 and rounded: faer's divide and conquer in f32 found a positive
//! definite matrix of 1024² to 2,000 ε only (‖V w Vᵀ − A‖ / ‖A‖, where LAPACK's has 16 ε). Of large matrices only that step is (`reduced`).

mod plain;
mod reduced;

use faer::dyn_stack::{MemBuffer, MemStack};
use faer::linalg::{cholesky, evd, householder, lu, qr, svd, triangular_solve};
use faer::prelude::{Reborrow, ReborrowMut};
use faer::traits::RealField;
use faer::traits::ext::ComplexFieldExt;
use faer::{Conj, Mat, MatMut, MatRef, Par};

/// A matrix that must be positive definite is not.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct NotPositiveDefinite;

/// A number that matrices are made of.
pub trait Real: Copy + Send + Sync + 'static {
    /// A = L Lᵀ: `a` (n × n), of which the lower triangle is read, becomes L, with zeros above.
    fn cholesky(n: usize, a: &mut [Self], threads: usize) -> Result<(), NotPositiveDefinite>;

    /// P A = L U: `a` (m × n) becomes L below the diagonal and U from it on; row i of P A is row `rows[i]` of A. A column that
    /// has only zeros left gives a zero in U and zeros below it.
    fn lu(m: usize, n: usize, a: &mut [Self], rows: &mut [i32], threads: usize);

    /// X with A X = B for a triangular A (n × n); `b` (n × k) becomes X. `unit`: the diagonal counts as ones.
    fn solve_triangular(n: usize, k: usize, a: &[Self], b: &mut [Self], shape: Triangle, threads: usize);

    /// A = Q R: A (m × n), Q (m × c), R (c × n), with c between min(m, n) and m columns of Q. The diagonal of R is not
    /// negative.
    fn qr(m: usize, n: usize, a: &[Self], q: &mut [Self], r: &mut [Self], threads: usize);

    /// A V = V diag(w), w in increasing order; of A (n × n) the lower triangle is read. The numbers are finite.
    fn eigh(n: usize, a: &[Self], w: &mut [Self], v: &mut [Self], threads: usize);

    /// A = U diag(s) Vᵀ, s in decreasing order: A (m × n) with m ≥ n, U (m × n), Vᵀ (n × n). The numbers are finite.
    fn svd(m: usize, n: usize, a: &[Self], to: Svd<'_, Self>, threads: usize);
}

/// Where singular vectors and values go.
#[derive(Debug)]
pub struct Svd<'a, T> {
    /// m × n.
    pub u: &'a mut [T],
    /// n.
    pub s: &'a mut [T],
    /// n × n.
    pub vt: &'a mut [T],
}

/// Which triangle of a matrix is meant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Triangle {
    /// The upper one.
    pub upper: bool,
    /// Its diagonal counts as ones.
    pub unit: bool,
}

fn par(threads: usize) -> Par {
    #[cfg(not(target_arch = "wasm32"))]
    if threads > 1 {
        return Par::rayon(threads);
    }
    _ = threads;
    Par::Seq
}

/// A copy whose columns lie in memory one after the other.
fn columns<T: Copy, To: RealField>(a: &[T], m: usize, n: usize, convert: impl Fn(T) -> To) -> Mat<To> {
    let a = MatRef::from_row_major_slice(a, m, n);
    Mat::from_fn(m, n, |i, j| convert(a[(i, j)]))
}

fn write<T: Copy, To>(from: MatRef<'_, T>, to: &mut [To], convert: impl Fn(T) -> To) {
    let n = from.ncols();
    for (i, row) in to.chunks_exact_mut(n.max(1)).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, value)| *value = convert(from[(i, j)]));
    }
}

/// A number that decompositions in f64 are made of, and to.
trait Rounded: Copy + Into<f64> {
    fn rounded(x: f64) -> Self;

    /// Eigenvectors of a large matrix, mostly in this type; false if that is not done.
    fn eigh_reduced(_n: usize, _a: &[Self], _w: &mut [Self], _v: &mut [Self], _par: Par) -> bool {
        false
    }

    /// Singular vectors, likewise.
    fn svd_reduced(_m: usize, _n: usize, _a: &[Self], _to: &mut Svd<'_, Self>, _par: Par) -> bool {
        false
    }
}

impl Rounded for f32 {
    fn rounded(x: f64) -> f32 {
        x as f32
    }

    fn eigh_reduced(n: usize, a: &[f32], w: &mut [f32], v: &mut [f32], par: Par) -> bool {
        n >= reduced::LEAST && reduced::eigh(n, a, w, v, par)
    }

    fn svd_reduced(m: usize, n: usize, a: &[f32], to: &mut Svd<'_, f32>, par: Par) -> bool {
        n >= reduced::LEAST && reduced::svd(m, n, a, to, par)
    }
}

impl Rounded for f64 {
    fn rounded(x: f64) -> f64 {
        x
    }
}

fn zero<T: RealField>() -> T {
    faer::traits::math_utils::zero()
}

fn cholesky_of<T: RealField + Copy>(n: usize, a: &mut [T], par: Par) -> Result<(), NotPositiveDefinite> {
    if n == 0 {
        return Ok(());
    }
    let mut l = columns(a, n, n, |x| x);
    let mut memory =
        MemBuffer::new(cholesky::llt::factor::cholesky_in_place_scratch::<T>(n, par, Default::default()));
    let stack = MemStack::new(&mut memory);
    cholesky::llt::factor::cholesky_in_place(l.as_mut(), Default::default(), par, stack, Default::default())
        .map_err(|_| NotPositiveDefinite)?;
    for (i, row) in a.chunks_exact_mut(n.max(1)).enumerate() {
        row.iter_mut().enumerate().for_each(|(j, value)| *value = if j <= i { l[(i, j)] } else { zero() });
    }
    // A NaN is no negative pivot.
    Ok(())
}

fn lu_of<T: RealField + Copy>(m: usize, n: usize, a: &mut [T], rows: &mut [i32], par: Par) {
    if m.min(n) == 0 {
        return plain_lu(m, n, a, rows);
    }
    let mut packed = columns(a, m, n, |x| x);
    let (mut forth, mut back) = (vec![0_usize; m], vec![0_usize; m]);
    let req = lu::partial_pivoting::factor::lu_in_place_scratch::<usize, T>(m, n, par, Default::default());
    let mut memory = MemBuffer::new(req);
    let stack = MemStack::new(&mut memory);
    lu::partial_pivoting::factor::lu_in_place(
        packed.as_mut(),
        &mut forth,
        &mut back,
        par,
        stack,
        Default::default(),
    );
    // faer divides by a zero pivot.
    let regular = (0..m.min(n)).all(|i| packed[(i, i)] != zero() && packed[(i, i)].is_finite());
    if !regular {
        return plain_lu(m, n, a, rows);
    }
    write(packed.as_ref(), a, |x| x);
    rows.iter_mut().zip(&forth).for_each(|(to, &from)| *to = from as i32);
}

/// The same column by column, for matrices with a pivot that is zero.
fn plain_lu<T: RealField + Copy>(m: usize, n: usize, a: &mut [T], rows: &mut [i32]) {
    rows.iter_mut().enumerate().for_each(|(i, row)| *row = i as i32);
    for k in 0..m.min(n) {
        let mut pivot = k;
        for i in k + 1..m {
            if a[i * n + k].abs() > a[pivot * n + k].abs() {
                pivot = i;
            }
        }
        rows.swap(k, pivot);
        (0..n).for_each(|j| a.swap(k * n + j, pivot * n + j));
        if a[k * n + k] == zero() {
            continue;
        }
        for i in k + 1..m {
            let factor = a[i * n + k] / a[k * n + k];
            a[i * n + k] = factor;
            (k + 1..n).for_each(|j| a[i * n + j] -= factor * a[k * n + j]);
        }
    }
}

fn solve_of<T: RealField + Copy>(n: usize, k: usize, a: &[T], b: &mut [T], shape: Triangle, par: Par) {
    let a = MatRef::from_row_major_slice(a, n, n);
    let b = MatMut::from_row_major_slice_mut(b, n, k);
    match (shape.upper, shape.unit) {
        (false, false) => triangular_solve::solve_lower_triangular_in_place(a, b, par),
        (false, true) => triangular_solve::solve_unit_lower_triangular_in_place(a, b, par),
        (true, false) => triangular_solve::solve_upper_triangular_in_place(a, b, par),
        (true, true) => triangular_solve::solve_unit_upper_triangular_in_place(a, b, par),
    }
}

/// Reflections that QR applies at once, at least: faer's 4 for matrices of 32² take 1.4 times as long.
const LEAST_BLOCK: usize = 16;

fn qr_of<T: RealField + Copy>(m: usize, n: usize, a: &[T], q: &mut [T], r: &mut [T], par: Par) {
    let mut a = columns(a, m, n, |x| x);
    let c = q.len().checked_div(m).unwrap_or(0);
    let k = m.min(n);
    let block = qr::no_pivoting::factor::recommended_block_size::<T>(m, n).max(LEAST_BLOCK).min(k.max(1));
    let mut factor = Mat::<T>::zeros(block, k);
    let req = qr::no_pivoting::factor::qr_in_place_scratch::<T>(m, n, block, par, Default::default());
    let more = householder::apply_block_householder_sequence_on_the_left_in_place_scratch::<T>(m, block, c);
    let mut memory = MemBuffer::new(req.or(more));
    let stack = MemStack::new(&mut memory);
    qr::no_pivoting::factor::qr_in_place(a.as_mut(), factor.as_mut(), par, stack, Default::default());
    let one = faer::traits::math_utils::one::<T>();
    // The sign of each row of R, and of each column of Q.
    let sign = |i: usize| if i < k && a[(i, i)] < zero() { -one } else { one };
    for (i, row) in r.chunks_exact_mut(n.max(1)).enumerate() {
        let sign = sign(i);
        row.iter_mut()
            .enumerate()
            .for_each(|(j, value)| *value = if j >= i { sign * a[(i, j)] } else { zero() });
    }
    let mut basis = Mat::<T>::from_fn(m, c, |i, j| if i == j { sign(j) } else { zero() });
    householder::apply_block_householder_sequence_on_the_left_in_place_with_conj(
        a.as_ref().get(.., ..k),
        factor.as_ref(),
        Conj::No,
        basis.as_mut(),
        par,
        stack,
    );
    write(basis.as_ref(), q, |x| x);
}

fn eigh_of<T: Rounded>(n: usize, given: &[T], w: &mut [T], v: &mut [T], par: Par) {
    if n == 0 || T::eigh_reduced(n, given, w, v, par) {
        return;
    }
    let a = columns(given, n, n, T::into);
    let mut vectors = Mat::<f64>::zeros(n, n);
    let mut values = faer::Col::<f64>::zeros(n);
    let wanted = evd::ComputeEigenvectors::Yes;
    let mut memory = MemBuffer::new(evd::self_adjoint_evd_scratch::<f64>(n, wanted, par, Default::default()));
    let stack = MemStack::new(&mut memory);
    let (values_mut, vectors_mut) = (values.as_mut().as_diagonal_mut(), Some(vectors.as_mut()));
    let done = evd::self_adjoint_evd(a.as_ref(), values_mut, vectors_mut, par, stack, Default::default());
    if done.is_err() {
        (values, vectors) = plain::eigh(a.as_ref());
    }
    w.iter_mut().enumerate().for_each(|(i, value)| *value = T::rounded(values[i]));
    write(vectors.as_ref(), v, T::rounded);
}

fn svd_of<T: Rounded>(m: usize, n: usize, given: &[T], mut to: Svd<'_, T>, par: Par) {
    if n == 0 || T::svd_reduced(m, n, given, &mut to, par) {
        return;
    }
    let a = columns(given, m, n, T::into);
    let (mut u, mut v) = (Mat::<f64>::zeros(m, n), Mat::<f64>::zeros(n, n));
    let mut values = faer::Col::<f64>::zeros(n);
    let thin = svd::ComputeSvdVectors::Thin;
    let mut memory = MemBuffer::new(svd::svd_scratch::<f64>(m, n, thin, thin, par, Default::default()));
    let stack = MemStack::new(&mut memory);
    let values_mut = values.as_mut().as_diagonal_mut();
    let done =
        svd::svd(a.as_ref(), values_mut, Some(u.rb_mut()), Some(v.rb_mut()), par, stack, Default::default());
    // It does not find all of low rank.
    if done.is_err() {
        (u, values, v) = plain::svd(a.as_ref());
    }
    to.s.iter_mut().enumerate().for_each(|(i, value)| *value = T::rounded(values[i]));
    write(u.rb(), to.u, T::rounded);
    write(v.rb().transpose(), to.vt, T::rounded);
}

macro_rules! real {
    ($($real:ty),*) => {$(
        impl Real for $real {
            fn cholesky(n: usize, a: &mut [$real], threads: usize) -> Result<(), NotPositiveDefinite> {
                cholesky_of(n, a, par(threads))
            }

            fn lu(m: usize, n: usize, a: &mut [$real], rows: &mut [i32], threads: usize) {
                lu_of(m, n, a, rows, par(threads))
            }

            fn solve_triangular(
                n: usize, k: usize, a: &[$real], b: &mut [$real], shape: Triangle, threads: usize,
            ) {
                solve_of(n, k, a, b, shape, par(threads))
            }

            fn qr(m: usize, n: usize, a: &[$real], q: &mut [$real], r: &mut [$real], threads: usize) {
                qr_of(m, n, a, q, r, par(threads))
            }

            fn eigh(n: usize, a: &[$real], w: &mut [$real], v: &mut [$real], threads: usize) {
                eigh_of(n, a, w, v, par(threads))
            }

            fn svd(m: usize, n: usize, a: &[$real], to: Svd<'_, $real>, threads: usize) {
                svd_of(m, n, a, to, par(threads))
            }
        }
    )*};
}
real!(f32, f64);
