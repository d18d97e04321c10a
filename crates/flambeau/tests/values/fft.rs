//! Fourier transforms: PyTorch's values and gradients (`tools/reference/fft.py`, where NumPy's are the same), long lines against the
//! CPU's F64, and what has no reference: what is refused, what is F16, that transforms undo each other.

use crate::common::recorded::{Inputs, Recorded};
use crate::common::{assert_close, devices, gpu, new_gpu, values};
use flambeau::autograd::{GradcheckOptions, gradcheck_blocking, gradgradcheck_blocking};
use flambeau::fft::{ConvolveMode, FftNorm, IstftOptions, StftOptions};
use flambeau::nn::Identity;
use flambeau::prelude::*;
use flambeau::{GpuConfig, Specialise};
use std::sync::OnceLock;

fn recorded() -> &'static Recorded {
    static FILE: OnceLock<Recorded> = OnceLock::new();
    FILE.get_or_init(|| Recorded::open(include_bytes!("../data/fft.safetensors")))
}

/// Compares values and gradients on every device.
#[track_caller]
fn check(name: &str, call: impl Fn(&Inputs) -> Vec<Tensor>) {
    recorded().case(name).check(|_| Identity, |_, inputs| call(inputs));
}

type Along = fn(&Tensor, Option<usize>, isize, FftNorm) -> Tensor;

const ALONG: [(&str, Along); 6] = [
    ("fft", |x, n, dim, norm| x.fft(n, dim, norm)),
    ("ifft", |x, n, dim, norm| x.ifft(n, dim, norm)),
    ("rfft", |x, n, dim, norm| x.rfft(n, dim, norm)),
    ("irfft", |x, n, dim, norm| x.irfft(n, dim, norm)),
    ("hfft", |x, n, dim, norm| x.hfft(n, dim, norm)),
    ("ihfft", |x, n, dim, norm| x.ihfft(n, dim, norm)),
];

const NORMS: [(&str, FftNorm); 3] =
    [("backward", FftNorm::Backward), ("ortho", FftNorm::Ortho), ("forward", FftNorm::Forward)];

#[test]
fn along_one_dimension_as_pytorch_and_numpy() {
    let plain = FftNorm::default();
    for (name, transform) in ALONG {
        for (word, norm) in NORMS {
            check(&format!("{name}_{word}"), |x| vec![transform(x.get("x"), None, -1, norm)]);
        }
        check(&format!("{name}_cut"), |x| vec![transform(x.get("x"), Some(4), 1, plain)]);
        check(&format!("{name}_padded"), |x| vec![transform(x.get("x"), Some(9), -1, plain)]);
        check(&format!("{name}_prime"), |x| vec![transform(x.get("x"), Some(19), 0, plain)]);
    }
}

#[test]
fn along_several_dimensions_as_pytorch_and_numpy() {
    type Two = fn(&Tensor, Option<[usize; 2]>, [isize; 2], FftNorm) -> Tensor;
    type Several = fn(&Tensor, Option<&[usize]>, Dims, FftNorm) -> Tensor;
    let two: [(&str, Two); 4] = [
        ("fft2", |x, s, dims, norm| x.fft2(s, dims, norm)),
        ("ifft2", |x, s, dims, norm| x.ifft2(s, dims, norm)),
        ("rfft2", |x, s, dims, norm| x.rfft2(s, dims, norm)),
        ("irfft2", |x, s, dims, norm| x.irfft2(s, dims, norm)),
    ];
    let plain = FftNorm::default();
    for (name, transform) in two {
        check(name, |x| vec![transform(x.get("x"), None, [-2, -1], plain)]);
        check(&format!("{name}_sizes"), |x| vec![transform(x.get("x"), Some([4, 5]), [0, 2], plain)]);
    }
    let several: [(&str, Several); 4] = [
        ("fftn", |x, s, dims, norm| x.fftn(s, dims, norm)),
        ("ifftn", |x, s, dims, norm| x.ifftn(s, dims, norm)),
        ("rfftn", |x, s, dims, norm| x.rfftn(s, dims, norm)),
        ("irfftn", |x, s, dims, norm| x.irfftn(s, dims, norm)),
    ];
    for (name, transform) in several {
        check(name, |x| vec![transform(x.get("x"), None, Dims::All, plain)]);
        check(&format!("{name}_sizes"), |x| vec![transform(x.get("x"), Some(&[4, 3]), Dims::All, plain)]);
        check(&format!("{name}_order"), |x| vec![transform(x.get("x"), None, [2, 0].into(), plain)]);
    }
    for (word, norm) in NORMS {
        check(&format!("irfftn_{word}"), |x| vec![x.get("x").irfftn(None, .., norm)]);
    }
}

#[test]
fn frequencies_and_windows_as_pytorch_and_numpy() {
    type Window = fn(usize, bool, &Device) -> Tensor;
    let windows: [(&str, Window); 4] = [
        ("hann", |n, periodic, device| Tensor::hann_window(n, periodic, device)),
        ("hamming", |n, periodic, device| Tensor::hamming_window(n, periodic, device)),
        ("blackman", |n, periodic, device| Tensor::blackman_window(n, periodic, device)),
        ("kaiser", |n, periodic, device| Tensor::kaiser_window(n, periodic, 12.0, device)),
    ];
    for device in devices() {
        let same = |tensor: &Tensor, name: &str| {
            let want = recorded().tensor(name, &device);
            assert_eq!(tensor.shape(), want.shape(), "{name}");
            assert_close(&values(tensor), &values(&want), 1e-7, 1e-6);
        };
        for n in [1, 6, 7] {
            same(&Tensor::fftfreq(n, 0.5, &device), &format!("fftfreq_{n}"));
            same(&Tensor::rfftfreq(n, 0.5, &device), &format!("rfftfreq_{n}"));
        }
        let x = recorded().tensor("shift/in", &device);
        same(&x.fftshift(..), "shift/all");
        same(&x.fftshift(1), "shift/last");
        same(&x.ifftshift(..), "shift/back");
        for (name, window) in windows {
            for (periodic, word) in [(true, "periodic"), (false, "symmetric")] {
                for n in [1, 8, 9] {
                    same(&window(n, periodic, &device), &format!("{name}_{n}_{word}"));
                }
            }
        }
        assert_eq!(Tensor::hann_window(0, true, &device).numel(), 0);
    }
}

#[test]
fn complex_numbers_as_pytorchs() {
    check("complex_mul", |x| vec![x.get("x").complex_mul(x.get("y0"))]);
    check("complex_abs", |x| vec![x.get("x").complex_abs()]);
    check("angle", |x| vec![x.get("x").angle()]);
    check("conj", |x| vec![x.get("x").conj()]);
    check("polar", |x| vec![x.get("x").polar(x.get("y"))]);
    for device in devices() {
        let zero = Tensor::new([[0.0, 0.0], [0.0, 2.0]], &device).requires_grad();
        (zero.complex_abs() + zero.angle()).sum(..).backward().unwrap();
        assert_close(&values(&zero.grad().unwrap()), &[0.0, 0.0, -0.5, 1.0], 1e-6, 0.0);
    }
}

#[test]
fn spectra_of_signals_as_pytorch() {
    let window = |x: &Inputs| x.find("window").cloned();
    check("stft", |x| vec![x.get("x").stft(8, &StftOptions { window: window(x), ..Default::default() })]);
    check("stft_plain", |x| {
        let options = StftOptions { hop_length: Some(4), center: false, ..Default::default() };
        vec![x.get("x").stft(9, &options)]
    });
    check("stft_short_window", |x| {
        let options = StftOptions {
            window: window(x),
            hop_length: Some(5),
            normalized: true,
            pad_mode: PadMode::from(0.0),
            ..Default::default()
        };
        vec![x.get("x").stft(12, &options)]
    });
    check("stft_both_sides", |x| {
        vec![x.get("x").stft(8, &StftOptions { window: window(x), onesided: false, ..Default::default() })]
    });
    check("istft", |x| vec![x.get("x").istft(8, &IstftOptions { window: window(x), ..Default::default() })]);
    check("istft_length", |x| {
        let (hop_length, length) = (Some(3), Some(30));
        let options =
            IstftOptions { window: window(x), hop_length, length, normalized: true, ..Default::default() };
        vec![x.get("x").istft(8, &options)]
    });
    check("istft_plain", |x| {
        let options = IstftOptions { hop_length: Some(4), center: false, ..Default::default() };
        vec![x.get("x").istft(9, &options)]
    });
    check("istft_both_sides", |x| {
        vec![x.get("x").istft(8, &IstftOptions { window: window(x), onesided: false, ..Default::default() })]
    });
}

#[test]
fn convolutions_as_numpy() {
    check("convolve", |x| {
        let modes = [ConvolveMode::Full, ConvolveMode::Same, ConvolveMode::Valid];
        modes.map(|mode| x.get("x").fft_convolve(x.get("w"), mode)).to_vec()
    });
}

/// The largest difference from F64, relative to the root of the mean square.
fn error(got: &Tensor, want: &Tensor) -> f64 {
    let (got, want) = (values(got), values(want));
    assert_eq!(got.len(), want.len());
    let square = want.iter().map(|x| x * x).sum::<f64>() / want.len() as f64;
    let largest = got.iter().zip(&want).map(|(x, y)| (x - y).abs()).fold(0.0, f64::max);
    largest / square.sqrt()
}

/// The same numbers on a device, and in F64 on the CPU.
fn noise(shape: &[usize], device: &Device) -> (Tensor, Tensor) {
    let cpu = Tensor::randn(shape, &Generator::new(7), &Device::cpu());
    (flambeau::block_on(cpu.to(device)).unwrap(), cpu.to_dtype(DType::F64))
}

/// Every way through the GPU's kernels: one pass, several, Bluestein's algorithm in one and in several; lines one after the other
/// and side by side; with 16 KiB of workgroup memory and with more.
#[test]
fn long_lines_are_precise() {
    let norm = FftNorm::default();
    let device = gpu();
    for (shape, dim) in [
        (&[3, 2048, 2][..], -1),
        (&[5, 4096, 2], -1),
        (&[2, 6000, 2], -1),
        (&[2048, 3, 2], 0),
        (&[1 << 14, 3, 2], 0),
        (&[1 << 20, 2], -1),
        // Primes, whose convolutions take one pass and several.
        (&[3, 1009, 2], -1),
        (&[1009, 3, 2], 0),
        (&[2, 10_007, 2], -1),
        (&[100_003, 2], -1),
    ] {
        let (x, exact) = noise(shape, &device);
        let forth = error(&x.fft(None, dim, norm), &exact.fft(None, dim, norm));
        let back = error(&x.ifft(None, dim, norm), &exact.ifft(None, dim, norm));
        println!(
            "summary: fft {shape:?} along {dim}: largest error {forth:.1e} and {back:.1e} of the root mean square"
        );
        assert!(forth < 4e-6 && back < 4e-6, "{shape:?}: {forth:e} and {back:e}");
    }
    for (shape, dim) in [
        (&[3, 8192][..], -1),
        (&[2, 1 << 15], -1),
        // Half of it is odd: its lines do not pair up.
        (&[2, 12_250], -1),
        (&[2, 1 << 15, 3], 1),
        (&[2 * 1009, 2], 0),
        (&[3, 2 * 10_007], -1),
        (&[1000, 17], 0),
        (&[3, 4095], -1),
        (&[2, 10_007], -1),
        (&[1 << 15, 2], 0),
    ] {
        let (x, exact) = noise(shape, &device);
        let n = x.size(dim);
        let (half, exact) = (x.rfft(None, dim, norm), exact.rfft(None, dim, norm));
        let forth = error(&half, &exact);
        let back = error(&half.irfft(n, dim, norm), &exact.irfft(n, dim, norm));
        println!(
            "summary: rfft {shape:?} along {dim}: largest error {forth:.1e} and {back:.1e} of the root mean square"
        );
        assert!(forth < 4e-6 && back < 4e-6, "{shape:?}: {forth:e} and {back:e}");
    }
}

#[test]
fn derivatives_of_derivatives() {
    let device = Device::cpu();
    let (norm, options) = (FftNorm::Ortho, GradcheckOptions::default());
    let input = |shape: &[usize]| {
        let x = Tensor::randn(shape, &Generator::new(3), &device);
        vec![x.to_dtype(DType::F64).detach().requires_grad()]
    };
    // Not linear, so that second derivatives are not zero.
    let power = |z: &Tensor| z.square() * z;
    let spectrum = move |x: &[Tensor]| power(&x[0].rfft(None, -1, norm));
    let signal = move |x: &[Tensor]| power(&x[0].irfft(5, 0, norm));
    let complex = move |x: &[Tensor]| power(&x[0].fft(None, 0, norm));
    let window = Tensor::hann_window(4, true, (DType::F64, &device));
    let pieces = move |x: &[Tensor]| {
        let options = StftOptions { window: Some(window.clone()), ..Default::default() };
        x[0].stft(4, &options).complex_abs()
    };
    gradcheck_blocking(spectrum, &input(&[2, 6]), options).unwrap();
    gradgradcheck_blocking(spectrum, &input(&[2, 6]), options).unwrap();
    gradgradcheck_blocking(signal, &input(&[3, 2, 2]), options).unwrap();
    gradgradcheck_blocking(complex, &input(&[5, 2, 2]), options).unwrap();
    gradgradcheck_blocking(pieces, &input(&[9]), options).unwrap();
}

#[test]
fn other_dtypes() {
    let norm = FftNorm::default();
    for device in devices() {
        let whole = Tensor::new([1, 2, 3, 4], &device).rfft(None, 0, norm);
        assert_eq!(whole.dtype(), DType::F32);
        assert_close(&values(&whole), &[10.0, 0.0, -2.0, 2.0, -2.0, 0.0], 1e-6, 0.0);
    }
    let half = Tensor::new([1.0, 2.0, 3.0, 4.0], &Device::cpu()).to_dtype(DType::F16);
    let spectrum = half.rfft(None, 0, norm);
    assert_eq!(spectrum.dtype(), DType::F16);
    assert_close(&values(&spectrum), &[10.0, 0.0, -2.0, 2.0, -2.0, 0.0], 1e-6, 0.0);
}

#[test]
fn what_cannot_be_transformed_is_refused_by_name() {
    let device = Device::cpu();
    let x = Tensor::zeros([3, 4], &device);
    let norm = FftNorm::default();
    let refused = |result: Result<Tensor>, words: &[&str]| {
        let error = result.unwrap_err().to_string();
        assert!(words.iter().all(|word| error.contains(word)), "{error}: {words:?}");
    };
    refused(x.try_fft(None, -1, norm), &["fft: ", "last dimension of 2", "[3, 4]"]);
    refused(x.try_rfft(None, 2, norm), &["rfft: ", "dimension 2", "[3, 4]"]);
    refused(x.try_rfft(0, 1, norm), &["rfft: ", "length 0"]);
    refused(Tensor::zeros([3, 0], &device).try_rfft(None, 1, norm), &["rfft: ", "[3, 0]"]);
    refused(Tensor::zeros([1, 2], &device).try_irfft(None, 0, norm), &["irfft: ", "length 0"]);
    refused(Tensor::zeros([1, 2], &device).to_dtype(DType::I32).try_ifft(None, 0, norm), &["ifft: ", "i32"]);
    refused(x.try_rfftn(Some(&[1, 2, 3]), .., norm), &["rfftn: ", "[1, 2, 3]", "[3, 4]"]);
    refused(x.try_rfftn(None, [0, -2], norm), &["rfftn: ", "twice"]);
    refused(x.try_rfft2(None, [0, 5], norm), &["rfft2: ", "5"]);
    refused(
        x.try_stft(16, &StftOptions { center: false, ..Default::default() }),
        &["stft: ", "[3, 4]", "16"],
    );
    refused(
        x.try_stft(4, &StftOptions { hop_length: Some(0), ..Default::default() }),
        &["stft: ", "hop_length"],
    );
    let long = Some(Tensor::ones([5], &device));
    refused(x.try_stft(4, &StftOptions { window: long, ..Default::default() }), &["stft: ", "[5]"]);
    refused(
        Tensor::zeros([4, 7, 2], &device).try_istft(8, &IstftOptions::default()),
        &["istft: ", "[4, 7, 2]"],
    );
    refused(x.try_fft_convolve(&Tensor::zeros([0], &device), ConvolveMode::Full), &["fft_convolve: ", "[0]"]);
    refused(x.try_complex_abs(), &["complex_abs: ", "[3, 4]"]);
    refused(
        Tensor::zeros([3, 2], &device).try_complex_mul(&Tensor::zeros([4, 2], &device)),
        &["complex_mul: "],
    );
    refused(Tensor::try_fftfreq(0, 1.0, &device), &["fftfreq: "]);
    refused(Tensor::try_hann_window(4, true, (DType::I32, &device)), &["hann_window: ", "i32"]);
}

/// A length has its kernels; batches, directions and derivatives of it need no others.
#[test]
fn batches_and_directions_share_kernels() {
    let device = new_gpu(GpuConfig { specialise: Specialise::Never, ..Default::default() });
    let norm = FftNorm::default();
    let run = |batch: usize| {
        let x = Tensor::ones([batch, 48, 2], &device).requires_grad();
        let y = x.fft(None, 1, norm).ifft(None, 1, norm);
        y.square().sum(..).backward().unwrap();
        values(&x.grad().unwrap());
        let sources = device.shader_sources();
        sources.iter().filter(|text| text.contains("fn dft")).count()
    };
    assert_eq!(run(300), 1);
    assert_eq!(run(500), 1);
}
