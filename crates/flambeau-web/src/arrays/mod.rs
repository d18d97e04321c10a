//! What few pages need, and fetch when they first do: Fourier transforms, linear algebra, NumPy's functions, distributions and
//! transforms of functions. Each is a part of the module by itself (`packages/flambeau/parts`), and nothing here is
//! mentioned elsewhere but through [`call`].
//!
//! Groups of functions have tables like the methods of tensors (`methods`), one entry each; from these their TypeScript is
//! generated (`typescript/arrays`).

mod fft;
mod func;
mod linalg;
mod numeric;
mod random;

use crate::device::current;
use flambeau::calls::Call;
#[cfg(test)]
use flambeau::calls::Methods;
#[cfg(test)]
use flambeau::calls::Signature;
use flambeau::{DType, Result, TensorOptions};

/// Where the numbers of a group begin: those of group 1 at once, of group 2 at twice that, and so on. Methods of tensors have
/// those below.
pub const GROUP: usize = 1 << 16;

/// The function with this number, of those from [`GROUP`] on.
pub fn call(number: usize) -> Option<Call> {
    let place = number % GROUP;
    match number / GROUP {
        1 => fft::call(place),
        2 => linalg::call(place),
        3 => numeric::call(place),
        4 => random::call(place),
        _ => None,
    }
}

/// A group as TypeScript sees it.
#[cfg(test)]
pub struct Group {
    /// The package's sub-path.
    pub name: &'static str,
    /// The name of its part of the module.
    pub part: &'static str,
    /// What it is, for the docs.
    pub about: &'static str,
    /// The folders and files of the library that document its functions.
    pub sources: &'static [&'static str],
    /// The functions, in the order of their numbers.
    pub signatures: fn() -> Vec<Signature>,
}

/// All groups, in the order of their numbers.
#[cfg(test)]
pub const GROUPS: [Group; 4] = [
    Group {
        name: "fft",
        part: "fft",
        about: "Fourier transforms along any dimensions, windows, spectra of signals, and complex numbers, which are pairs in a last dimension of 2.",
        sources: &["complex.rs", "fft"],
        signatures: fft::Fft::signatures,
    },
    Group {
        name: "linalg",
        part: "linalg",
        about: "Decompositions of matrices, equations, norms. Leading dimensions are batches.",
        sources: &["linalg"],
        signatures: linalg::Linalg::signatures,
    },
    Group {
        name: "numeric",
        part: "numeric",
        about: "What NumPy has beyond networks: statistics, quantiles, histograms, searching, arranging, polynomials.",
        sources: &["numeric"],
        signatures: numeric::Numeric::signatures,
    },
    Group {
        name: "random",
        part: "numeric",
        about: "Random tensors of many distributions, with NumPy's names. The same seed gives the same numbers on every device.",
        sources: &["random"],
        signatures: random::Random::signatures,
    },
];

/// Where a new tensor goes, and its dtype if one is asked for.
fn options(dtype: Option<DType>) -> Result<TensorOptions> {
    let device = current()?;
    Ok(dtype.map_or_else(|| TensorOptions::from(&device), |dtype| TensorOptions::from((dtype, &device))))
}
