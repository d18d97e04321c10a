//! The short-time Fourier transform: the spectra of overlapping pieces of a signal, and the signal back from them.

use super::{FFT, FftNorm, IRFFT, Named, RFFT, computed, fitted};
use crate::error::{Error, Result};
use crate::tensor::{PadMode, Tensor, twins};

/// How [`stft`](Tensor::stft) cuts a signal.
#[derive(Debug, Clone)]
pub struct StftOptions {
    /// How far apart pieces begin; a quarter of their length unless it is given.
    pub hop_length: Option<usize>,
    /// What pieces are multiplied with, in the middle of zeros where it is shorter; ones unless it is given. For
    /// [`istft`](Tensor::istft), usually a [`hann_window`](Tensor::hann_window).
    pub window: Option<Tensor>,
    /// Is piece t that around sample t · hop_length, so that the signal is continued at both ends? Otherwise it begins there.
    pub center: bool,
    /// How the signal is continued.
    pub pad_mode: PadMode,
    /// Are spectra divided by the square root of their length?
    pub normalized: bool,
    /// Are only the first n/2 + 1 numbers of a spectrum given, of which the others are the conjugates?
    pub onesided: bool,
}

impl Default for StftOptions {
    fn default() -> Self {
        StftOptions {
            hop_length: None,
            window: None,
            center: true,
            pad_mode: PadMode::Reflect,
            normalized: false,
            onesided: true,
        }
    }
}

/// How [`istft`](Tensor::istft) puts a signal together: as [`StftOptions`] say that it was cut.
#[derive(Debug, Clone)]
pub struct IstftOptions {
    /// How far apart pieces begin; a quarter of their length unless it is given.
    pub hop_length: Option<usize>,
    /// What pieces were multiplied with.
    pub window: Option<Tensor>,
    /// Was the signal continued at both ends?
    pub center: bool,
    /// Were spectra divided by the square root of their length?
    pub normalized: bool,
    /// Are only the first n/2 + 1 numbers of each spectrum there? If all are, the others are left out.
    pub onesided: bool,
    /// The length of the signal; all that the pieces tell of it unless it is given.
    pub length: Option<usize>,
}

impl Default for IstftOptions {
    fn default() -> Self {
        IstftOptions {
            hop_length: None,
            window: None,
            center: true,
            normalized: false,
            onesided: true,
            length: None,
        }
    }
}

fn hop(op: &'static str, n_fft: usize, given: Option<usize>) -> Result<usize> {
    match given.unwrap_or(n_fft / 4) {
        0 => Err(Error::argument(op, format!("hop_length must be at least 1 (n_fft is {n_fft})"))),
        hop => Ok(hop),
    }
}

/// A window of n_fft numbers.
#[track_caller]
fn whole_window(
    op: &'static str,
    n_fft: usize,
    given: Option<&Tensor>,
    x: &Tensor,
) -> Result<Option<Tensor>> {
    let Some(window) = given else { return Ok(None) };
    if window.rank() != 1 || window.shape()[0] > n_fft || window.shape()[0] == 0 {
        let message =
            format!("a window has between 1 and n_fft = {n_fft} numbers; the shape is {}", window.shape());
        return Err(Error::shape(op, message));
    }
    let missing = n_fft - window.shape()[0];
    let (left, right) = (missing / 2, missing - missing / 2);
    let window = window.try_to_dtype(x.dtype())?;
    window.try_pad(&[left as isize, right as isize], 0.0).map(Some)
}

/// Pieces (…, frames, n) added up, each `hop` after the one before: (…, (frames − 1) · hop + n).
#[track_caller]
fn overlap_add(pieces: &Tensor, hop: usize) -> Result<Tensor> {
    let (rank, n) = (pieces.rank(), pieces.size(-1));
    let (frames, parts) = (pieces.size(-2), n.div_ceil(hop));
    // Part r of every piece, one after the other, is a signal that begins r · hop later.
    let padded = fitted(pieces, rank - 1, parts * hop)?;
    let mut shape = pieces.shape()[..rank - 1].to_vec();
    shape.extend([parts, hop]);
    let cut = padded.try_reshape(&shape[..])?;
    shape.truncate(rank - 2);
    shape.push(frames * hop);
    let mut sum: Option<Tensor> = None;
    for part in 0..parts {
        let signal = cut.try_select(-2, part as isize)?.try_reshape(&shape[..])?;
        let signal = signal.try_pad(&[(part * hop) as isize, ((parts - 1 - part) * hop) as isize], 0.0)?;
        sum = Some(match sum {
            None => signal,
            Some(sum) => sum.try_add(&signal)?,
        });
    }
    let sum = sum.expect("a piece has one number at least");
    sum.try_narrow(-1, 0, (frames - 1) * hop + n)
}

impl Tensor {
    twins! {
        /// The spectra of pieces of n_fft samples of a signal, as PyTorch's `torch.stft`: (…, T) → (…, n_fft/2 + 1, frames, 2),
        /// complex numbers by frequency and time, where frames = 1 + T / hop_length (with `center`). See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::StftOptions;
        /// let signal = Tensor::ones([2, 64], &Device::cpu());
        /// let window = Tensor::hann_window(16, true, &Device::cpu());
        /// let spectra = signal.stft(16, &StftOptions { window: Some(window), ..Default::default() });
        /// assert_eq!(spectra.shape().dims(), [2, 9, 17, 2]);
        /// ```
        stft / try_stft(&self, n_fft: usize, options: &StftOptions) -> Tensor {
            const OP: &str = "stft";
            let hop = hop(OP, n_fft, options.hop_length)?;
            if self.rank() == 0 {
                return Err(Error::shape(OP, "a signal has one dimension at least"));
            }
            let norm = if options.normalized { FftNorm::Ortho } else { FftNorm::Backward };
            computed(self, |x| {
                let window = whole_window(OP, n_fft, options.window.as_ref(), x)?;
                let around = (n_fft / 2) as isize;
                let continued = match options.center {
                    true => x.try_pad(&[around, around], options.pad_mode)?,
                    false => x.clone(),
                };
                if continued.size(-1) < n_fft {
                    let message = format!("a signal of shape {} has no piece of {n_fft} samples", self.shape());
                    return Err(Error::shape(OP, message));
                }
                let pieces = continued.try_unfold(-1, n_fft, hop)?;
                let pieces = match &window {
                    Some(window) => pieces.try_mul(window)?,
                    None => pieces,
                };
                let along = pieces.rank() - 1;
                let spectra = match options.onesided {
                    true => Named { name: OP, ..RFFT }.along(&pieces, None, along, norm)?,
                    false => {
                        let pairs = pieces.try_complex(&pieces.zeros_like())?;
                        Named { name: OP, ..FFT }.along(&pairs, None, along, norm)?
                    }
                };
                spectra.try_transpose(-3, -2)
            })
        }

        /// The signal whose pieces have these spectra, [`stft`](Tensor::stft) back, as PyTorch's `torch.istft`:
        /// (…, n_fft/2 + 1, frames, 2) → (…, T). Where spectra fit no signal, it is the one that fits best. The squares of the
        /// windows must add up to something everywhere: where they do not, the result is not a number. See [`fft`](crate::fft).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// use flambeau::fft::{IstftOptions, StftOptions};
        /// let signal = Tensor::arange(0, 64, 1, (DType::F32, &Device::cpu()));
        /// let window = Some(Tensor::hann_window(16, true, &Device::cpu()));
        /// let spectra = signal.stft(16, &StftOptions { window: window.clone(), ..Default::default() });
        /// let back = spectra.istft(16, &IstftOptions { window, ..Default::default() });
        /// assert!((back - signal).abs().max(..).item_blocking()? < 1e-4);
        /// # Ok::<(), flambeau::Error>(())
        /// ```
        istft / try_istft(&self, n_fft: usize, options: &IstftOptions) -> Tensor {
            const OP: &str = "istft";
            let hop = hop(OP, n_fft, options.hop_length)?;
            self.require_pairs(OP)?;
            let frequencies = if options.onesided { n_fft / 2 + 1 } else { n_fft };
            if self.rank() < 3 || self.size(-3) != frequencies || self.size(-2) == 0 {
                let message = format!("spectra for n_fft = {n_fft} are (…, {frequencies}, frames, 2), not {}", self.shape());
                return Err(Error::shape(OP, message));
            }
            let norm = if options.normalized { FftNorm::Ortho } else { FftNorm::Backward };
            computed(self, |x| {
                let spectra = x.try_transpose(-3, -2)?;
                let along = spectra.rank() - 2;
                // Of a whole spectrum, too, the first half tells of a real signal; `along` leaves the rest out.
                let pieces = Named { name: OP, ..IRFFT }.along(&spectra, Some(n_fft), along, norm)?;
                let frames = pieces.size(-2);
                let window = whole_window(OP, n_fft, options.window.as_ref(), x)?;
                let window = match window {
                    Some(window) => window,
                    None => Tensor::try_full([n_fft], 1.0, (x.dtype(), x.device()))?,
                };
                let squares = window.try_square()?.try_expand([frames, n_fft])?;
                let (sums, weights) = (overlap_add(&pieces.try_mul(&window)?, hop)?, overlap_add(&squares, hop)?);
                // What lies before the signal and after it may have no weight at all.
                let start = if options.center { n_fft / 2 } else { 0 };
                let told = sums.size(-1).saturating_sub(2 * start);
                let length = options.length.unwrap_or(told);
                let there = length.min(sums.size(-1).saturating_sub(start));
                let cut = |x: &Tensor| x.try_narrow(-1, start, there);
                let signal = cut(&sums)?.try_div(&cut(&weights)?)?;
                fitted(&signal, signal.rank() - 1, length)
            })
        }
    }
}
