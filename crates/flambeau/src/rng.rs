//! Random numbers that are the same everywhere: on the CPU, on every GPU, natively and in the browser.
//!
//! The numbers are counter-based. Element `i` of a draw is a pure function of the generator's key and of
//! `counter + i` (Threefry-2x32 with 20 rounds: add, rotate and xor only), so elements can be made in any order
//! and on any number of threads. `rng.wgsl` holds the same functions for the GPU.
//!
//! Bits, uniforms and integers are bit-equal between devices. Normals agree within 4 ulp: they use only `+`, `-`
//! and `*`, so all a compiler may change is to contract `a * b + c`. That is also why there is no call of `log`
//! or `sqrt` here: WGSL leaves their accuracy open.
//!
//! This file deliberately fills no tensors: the backends do, with these functions.

use std::sync::{Arc, Mutex, MutexGuard, OnceLock};

/// The WGSL twin of this file's functions (`fl_random_bits`, `fl_uniform`, `fl_normal`, …).
pub(crate) const WGSL: &str = include_str!("rng.wgsl");

/// The seed of the process-wide generator before [`manual_seed`].
const DEFAULT_SEED: u64 = 0;

/// Mixed into the key by [`Generator::fork`], so that no stream's key is also a number that was drawn.
const FORK_TAG: u64 = u64::from_be_bytes(*b"flambeau");
/// Mixed into the key of what the samples of a batch draw, for the same reason.
const SAMPLES_TAG: u32 = u32::from_be_bytes(*b"each");

/// A source of random numbers: a seed, and a counter of how many numbers were drawn.
///
/// The same seed and counter give the same numbers on every device. A clone is another handle to the *same*
/// generator: both advance one counter. [`fork`](Generator::fork) makes an independent one.
///
/// ```
/// use flambeau::Generator;
///
/// let generator = Generator::new(42);
/// let handle = generator.clone();
/// handle.set_counter(10);
/// assert_eq!(generator.counter(), 10);
/// ```
#[derive(Clone, Debug)]
pub struct Generator {
    state: Arc<Mutex<State>>,
}

/// The key of a draw, and the counter of its element 0.
pub(crate) type Draw = ([u32; 2], [u32; 2]);

#[derive(Debug)]
struct State {
    seed: u64,
    counter: u64,
}

#[cfg(not(target_arch = "wasm32"))]
thread_local! {
    /// What this thread has instead of the process-wide generator.
    static OF_THIS_THREAD: std::cell::RefCell<Option<Generator>> = const { std::cell::RefCell::new(None) };
}

impl Generator {
    /// A generator with this seed, its counter at zero.
    ///
    /// ```
    /// let generator = flambeau::Generator::new(7);
    /// assert_eq!((generator.seed(), generator.counter()), (7, 0));
    /// ```
    pub fn new(seed: u64) -> Self {
        Generator { state: Arc::new(Mutex::new(State { seed, counter: 0 })) }
    }

    /// The process-wide generator: what is used where no generator is given. Every call returns a handle to the
    /// same one. Its seed is fixed until [`manual_seed`] sets it, so a program draws the same numbers in every
    /// run unless it asks for others.
    ///
    /// ```
    /// use flambeau::Generator;
    ///
    /// flambeau::manual_seed(1);
    /// Generator::default_generator().set_counter(5);
    /// assert_eq!(Generator::default_generator().counter(), 5);
    /// ```
    pub fn default_generator() -> Self {
        #[cfg(not(target_arch = "wasm32"))]
        if let Some(own) = OF_THIS_THREAD.with_borrow(Option::clone) {
            return own;
        }
        static DEFAULT: OnceLock<Generator> = OnceLock::new();
        DEFAULT.get_or_init(|| Generator::new(DEFAULT_SEED)).clone()
    }

    /// Gives this thread a generator of its own in place of the process-wide one, or takes it away again; returns the one it
    /// had. Several runs in one process then draw what each would draw alone. (Native only: a page has one thread.)
    ///
    /// ```
    /// use flambeau::Generator;
    ///
    /// let before = Generator::set_default_of_thread(Some(Generator::new(5)));
    /// assert_eq!(Generator::default_generator().seed(), 5);
    /// Generator::set_default_of_thread(before);
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn set_default_of_thread(generator: Option<Generator>) -> Option<Generator> {
        OF_THIS_THREAD.replace(generator)
    }

    /// The seed.
    ///
    /// ```
    /// assert_eq!(flambeau::Generator::new(3).seed(), 3);
    /// ```
    pub fn seed(&self) -> u64 {
        self.lock().seed
    }

    /// How many numbers were drawn: with the seed, the whole state.
    ///
    /// ```
    /// use flambeau::Generator;
    ///
    /// let generator = Generator::new(3);
    /// let saved = (generator.seed(), generator.counter());
    /// // …later, perhaps in another process:
    /// let restored = Generator::new(saved.0);
    /// restored.set_counter(saved.1);
    /// ```
    pub fn counter(&self) -> u64 {
        self.lock().counter
    }

    /// Moves the counter: the next number drawn is number `counter` of this seed's sequence.
    ///
    /// ```
    /// let generator = flambeau::Generator::new(3);
    /// generator.set_counter(1_000);
    /// assert_eq!(generator.counter(), 1_000);
    /// ```
    pub fn set_counter(&self, counter: u64) {
        self.lock().counter = counter;
    }

    /// Starts this generator, and every handle to it, over with another seed, its counter at zero.
    ///
    /// ```
    /// let generator = flambeau::Generator::new(3);
    /// generator.set_counter(9);
    /// generator.manual_seed(4);
    /// assert_eq!((generator.seed(), generator.counter()), (4, 0));
    /// ```
    pub fn manual_seed(&self, seed: u64) {
        *self.lock() = State { seed, counter: 0 };
    }

    /// An independent generator for stream number `stream`, its counter at zero: one for each worker, for
    /// example. It depends on the seed and on `stream`, not on how many numbers were drawn; this generator does
    /// not change.
    ///
    /// ```
    /// let generator = flambeau::Generator::new(3);
    /// assert_eq!(generator.fork(0).seed(), generator.fork(0).seed());
    /// assert_ne!(generator.fork(0).seed(), generator.fork(1).seed());
    /// ```
    pub fn fork(&self, stream: u64) -> Self {
        let seed = threefry(words(self.seed() ^ FORK_TAG), words(stream));
        Generator::new(u64::from(seed[1]) << 32 | u64::from(seed[0]))
    }

    /// Takes the next `n` numbers for one draw: its key, and the counter of its element 0 (low word first). While a
    /// checkpointed region is computed again, these are the ones its first computation took.
    pub(crate) fn reserve(&self, n: u64) -> Draw {
        crate::autograd::drawn(|| {
            let mut state = self.lock();
            let first = state.counter;
            state.counter = first.wrapping_add(n);
            (words(state.seed), words(first))
        })
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing panics while the lock is held, so a poisoned state is still a whole one.
        self.state.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
    }
}

/// Seeds the process-wide generator ([`Generator::default_generator`]) and sets its counter to zero.
///
/// ```
/// flambeau::manual_seed(42);
/// assert_eq!(flambeau::Generator::default_generator().seed(), 42);
/// ```
pub fn manual_seed(seed: u64) {
    Generator::default_generator().manual_seed(seed);
}

/// A 64-bit number as keys and counters hold it: low word, high word.
fn words(x: u64) -> [u32; 2] {
    [x as u32, (x >> 32) as u32]
}

/// The counter of element `index` of a draw that starts at `base`.
#[inline]
pub(crate) fn counter_at(base: [u32; 2], index: u64) -> [u32; 2] {
    words((u64::from(base[1]) << 32 | u64::from(base[0])).wrapping_add(index))
}

/// The key of the sequence that the samples of a batch draw from instead of one draw.
pub(crate) fn key_for_samples(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    threefry([key[0] ^ SAMPLES_TAG, key[1]], counter)
}

/// 32 random bits: the first word of Threefry-2x32 with 20 rounds.
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub(crate) fn random_bits(key: [u32; 2], counter: [u32; 2]) -> u32 {
    threefry(key, counter)[0]
}

/// Threefry-2x32 with 20 rounds (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
fn threefry(key: [u32; 2], counter: [u32; 2]) -> [u32; 2] {
    const ROTATIONS: [[u32; 4]; 2] = [[13, 15, 26, 6], [17, 29, 16, 24]];
    let keys = [key[0], key[1], 0x1bd1_1bda ^ key[0] ^ key[1]];
    let mut a = counter[0].wrapping_add(keys[0]);
    let mut b = counter[1].wrapping_add(keys[1]);
    for group in 0..5 {
        for by in ROTATIONS[group % 2] {
            a = a.wrapping_add(b);
            b = b.rotate_left(by) ^ a;
        }
        a = a.wrapping_add(keys[(group + 1) % 3]);
        b = b.wrapping_add(keys[(group + 2) % 3]).wrapping_add(group as u32 + 1);
    }
    [a, b]
}

/// 2^-24 and 2^-46.
const UNIT: f32 = 5.9604645e-8;
const UNIT_SQUARED_TIMES_4: f32 = 1.4210855e-14;

/// A number in [0, 1): a multiple of 2^-24.
#[inline]
pub(crate) fn uniform(bits: u32) -> f32 {
    (bits >> 8) as f32 * UNIT
}

/// A number in (0, 1): an odd multiple of 2^-24, symmetric about one half.
#[inline]
#[cfg(test)]
pub(crate) fn uniform_open(bits: u32) -> f32 {
    ((bits >> 9) << 1 | 1) as f32 * UNIT
}

/// A standard normal number: the inverse of the normal distribution function at the bits' number in (0, 1).
#[cfg_attr(not(target_arch = "wasm32"), inline(always))]
pub(crate) fn normal(bits: u32) -> f32 {
    normal_with(bits, |a, b, c| a * b + c)
}

// The polynomials below were fitted for this file (weighted least squares, reweighted until the relative error
// is level), highest power first.

/// (ln(1 + f) - f) / f^2 for 1 + f between sqrt(1/2) and sqrt(2): it makes ln(1 + f) good to 3e-08.
const LOG: [f32; 8] =
    [0.08734843, -0.14307521, 0.14917974, -0.16570508, 0.19962072, -0.25001755, 0.3333395, -0.4999999];
const LN_2: f32 = std::f32::consts::LN_2;

/// x / (u - 1/2) as a function of w below 5: relative error 6e-9.
const BODY: [f32; 10] = [
    -2.4864747e-8,
    6.251686e-7,
    -5.5902756e-6,
    1.1266292e-5,
    0.00012604949,
    -0.0003605726,
    -0.0066023865,
    0.032664526,
    0.6562342,
    2.5066283,
];

/// The same as a function of w - 7 for w from 5 to 15.25, where u ends: relative error 2e-8.
const TAIL: [f32; 10] = [
    -1.3752309e-10,
    5.6247167e-9,
    -1.01013214e-7,
    1.0335133e-6,
    -5.7752636e-6,
    -8.7519165e-6,
    0.0007700708,
    -0.016512223,
    0.529586,
    7.013855,
];

/// [`normal`] with its `a * b + c` given, so that the tests can contract it.
///
/// With u in (0, 1), the quotient x / (u - 1/2) is a smooth function of w = -ln(4 u (1 - u)) that grows from 2.5
/// to 10.6: two polynomials cover it, neither cancels anything, and near u = 1/2 the relative error stays small
/// because u - 1/2 is exact.
#[inline(always)]
fn normal_with(bits: u32, mul_add: impl Fn(f32, f32, f32) -> f32) -> f32 {
    let polynomial = |c: &[f32], t: f32| c[1..].iter().fold(c[0], |p, &c| mul_add(p, t, c));
    // u - 1/2 in units of 2^-24: an odd number below 2^23 in size, exact.
    let n = (((bits >> 9) << 1 | 1) as i32 - (1 << 23)) as f32;
    // y = 4 u (1 - u): both factors are exact, so y is rounded once.
    let y = ((8388608.0 - n) * (8388608.0 + n)) * UNIT_SQUARED_TIMES_4;
    // y = 2^e (1 + f) with 1 + f between sqrt(1/2), whose bits are 0x3f3504f3, and sqrt(2).
    let raw = y.to_bits() as i32;
    let e = (raw - 0x3f35_04f3) >> 23;
    let f = f32::from_bits((raw - (e << 23)) as u32) - 1.0;
    let w = -mul_add(e as f32, LN_2, mul_add(f * f, polynomial(&LOG, f), f));
    let p = if w < 5.0 { polynomial(&BODY, w) } else { polynomial(&TAIL, w - 7.0) };
    n * UNIT * p
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::cell::Cell;

    /// Distance in units in the last place.
    fn ulps(a: f32, b: f32) -> u32 {
        let order = |x: f32| {
            let bits = x.to_bits() as i32;
            if bits < 0 { i32::MIN.wrapping_sub(bits) } else { bits }
        };
        order(a).abs_diff(order(b))
    }

    #[test]
    fn threefry_gives_the_known_answers() {
        assert_eq!(threefry([0; 2], [0; 2]), [0x6b20_0159, 0x99ba_4efe]);
        assert_eq!(threefry([u32::MAX; 2], [u32::MAX; 2]), [0x1cb9_96fc, 0xbb00_2be7]);
    }

    #[test]
    fn counters_carry() {
        assert_eq!(counter_at([u32::MAX, 7], 1), [0, 8]);
        assert_eq!(counter_at([5, 0], 1 << 32), [5, 1]);
        assert_eq!(counter_at([u32::MAX; 2], 2), [1, 0]);
    }

    #[test]
    fn uniforms_stay_in_their_intervals() {
        assert_eq!((UNIT, UNIT_SQUARED_TIMES_4), (2f32.powi(-24), 2f32.powi(-46)));
        assert_eq!((uniform(0), uniform(u32::MAX)), (0.0, 1.0 - 2f32.powi(-24)));
        assert_eq!((uniform_open(0), uniform_open(u32::MAX)), (2f32.powi(-24), 1.0 - 2f32.powi(-24)));
        for bits in [0, 511, 512, 0x7fff_ffff, 0x8000_0000, u32::MAX] {
            assert_eq!(uniform_open(bits), ((bits >> 9) as f32 + 0.5) * 2f32.powi(-23));
        }
    }

    /// The probability between 0 and x >= 0, and the density at x, in f64: all terms are positive.
    fn half_cdf(x: f64) -> (f64, f64) {
        let density = (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let (mut term, mut sum, mut n) = (x, x, 1.0);
        while term > sum * 1e-17 {
            n += 2.0;
            term *= x * x / n;
            sum += term;
        }
        (density * sum, density)
    }

    #[test]
    fn normals_match_the_inverse_cdf_for_every_input() {
        let mut worst: f64 = 0.0;
        for m in 1u32 << 22..1 << 23 {
            let x = normal(m << 9);
            assert_eq!(x, -normal(!(m << 9)), "odd about one half");
            // One Newton step from x gives the exact value to f64's accuracy.
            let (area, density) = half_cdf(f64::from(x));
            let error = (area - (f64::from(uniform_open(m << 9)) - 0.5)) / density;
            worst = worst.max(error.abs() / f64::from(x).max(1.0));
        }
        println!("worst error of normal(): {worst:e}");
        assert!(worst < 5e-7, "{worst:e}");
    }

    #[test]
    fn normals_hardly_change_when_multiply_add_is_contracted() {
        let mut worst = 0;
        let mut previous = f32::NEG_INFINITY;
        for m in 0..1u32 << 23 {
            let bits = m << 9;
            let fma = f32::mul_add;
            let plain = normal(bits);
            // Every third, or all but every third, contracted: a compiler need not be consistent.
            let count = Cell::new(m);
            let next = || count.replace(count.get() + 1) % 3 == 0;
            let third = |a, b, c| if next() { fma(a, b, c) } else { a * b + c };
            let two_thirds = |a, b, c| if next() { a * b + c } else { fma(a, b, c) };
            for other in [normal_with(bits, fma), normal_with(bits, third), normal_with(bits, two_thirds)] {
                worst = worst.max(ulps(plain, other));
            }
            assert!(plain >= previous - 4e-7 * plain.abs(), "rises with its input: {previous} {plain}");
            previous = plain;
        }
        println!("worst difference by contraction: {worst} ulp");
        assert!(worst <= 4, "{worst} ulp");
    }

    #[test]
    fn the_shader_is_valid_and_has_the_same_constants() {
        let module =
            naga::front::wgsl::parse_str(WGSL).unwrap_or_else(|e| panic!("{}", e.emit_to_string(WGSL)));
        naga::valid::Validator::new(naga::valid::ValidationFlags::all(), naga::valid::Capabilities::empty())
            .validate(&module)
            .unwrap();
        let mut rest = WGSL.split_once("fn fl_normal").unwrap().1;
        let scale = [UNIT_SQUARED_TIMES_4];
        for c in scale.iter().chain(&LOG).chain(&[LN_2]).chain(&BODY).chain(&TAIL).chain(&[UNIT]) {
            let text = format!(" {c:?};");
            let product = format!(" {c:?} ");
            let at = rest.find(&text).or_else(|| rest.find(&product)).unwrap_or_else(|| panic!("{c:?}"));
            rest = &rest[at + text.len()..];
        }
    }

    #[test]
    fn clones_share_state_and_forks_do_not() {
        let generator = Generator::new(0x1234_5678_9abc_def0);
        let handle = generator.clone();
        assert_eq!(generator.reserve(10), ([0x9abc_def0, 0x1234_5678], [0, 0]));
        assert_eq!(handle.reserve(1), ([0x9abc_def0, 0x1234_5678], [10, 0]));
        assert_eq!(generator.counter(), 11);
        let fork = generator.fork(1);
        fork.reserve(5);
        assert_eq!((generator.counter(), fork.counter()), (11, 5));
        assert_ne!(fork.seed(), generator.seed());
        generator.set_counter(u64::from(u32::MAX));
        assert_eq!(generator.reserve(1).1, [u32::MAX, 0]);
        assert_eq!(generator.reserve(1).1, [0, 1]);
    }

    #[test]
    fn no_number_is_reserved_twice() {
        let generator = Generator::new(1);
        let mut starts: Vec<u32> = std::thread::scope(|scope| {
            let draw = || (0..1000).map(|_| generator.reserve(3).1[0]).collect::<Vec<_>>();
            let threads: Vec<_> = (0..4).map(|_| scope.spawn(draw)).collect();
            threads.into_iter().flat_map(|t| t.join().unwrap()).collect()
        });
        starts.sort_unstable();
        assert!(starts.iter().enumerate().all(|(i, &s)| s == 3 * i as u32));
    }

    /// Mean, variance and fourth central moment of n numbers.
    fn moments(n: u64, draw: impl Fn(u64) -> f64) -> [f64; 3] {
        let mean = (0..n).map(&draw).sum::<f64>() / n as f64;
        let central = |power| (0..n).map(|i| (draw(i) - mean).powi(power)).sum::<f64>() / n as f64;
        [mean, central(2), central(4)]
    }

    #[test]
    fn draws_have_the_moments_of_their_distribution() {
        let n = 1u64 << 18;
        let (key, base) = Generator::new(2024).reserve(n);
        let bits = |i| random_bits(key, counter_at(base, i));
        // Tolerances are five standard errors.
        let near = |what: &str, got: f64, want: f64, variance: f64| {
            let limit = 5.0 * (variance / n as f64).sqrt();
            assert!((got - want).abs() < limit, "{what}: {got} is not {want} ± {limit}");
        };
        let [mean, variance, _] = moments(n, |i| f64::from(uniform(bits(i))));
        near("uniform mean", mean, 0.5, 1.0 / 12.0);
        near("uniform variance", variance, 1.0 / 12.0, 1.0 / 180.0);
        let [mean, variance, fourth] = moments(n, |i| f64::from(normal(bits(i))));
        near("normal mean", mean, 0.0, 1.0);
        near("normal variance", variance, 1.0, 2.0);
        near("normal fourth moment", fourth, 3.0, 96.0);
        let pairs = (0..n).map(|i| f64::from(normal(bits(i))) * f64::from(normal(bits(i + 1)))).sum::<f64>();
        near("correlation of neighbours", pairs / n as f64, 0.0, 1.0);
    }

    #[test]
    fn bytes_are_equally_likely() {
        let n = 1u64 << 18;
        let generator = Generator::new(2024);
        for (name, (key, base)) in [("seed", generator.reserve(n)), ("fork", generator.fork(0).reserve(n))] {
            let mut counts = [[0u32; 256]; 4];
            for i in 0..n {
                let bytes = random_bits(key, counter_at(base, i)).to_le_bytes();
                (0..4).for_each(|b| counts[b][usize::from(bytes[b])] += 1);
            }
            let expected = n as f64 / 256.0;
            for (byte, counts) in counts.iter().enumerate() {
                let chi: f64 = counts.iter().map(|&c| (f64::from(c) - expected).powi(2) / expected).sum();
                // 255 degrees of freedom: mean 255, standard deviation 22.6.
                assert!((165.0..345.0).contains(&chi), "{name}, byte {byte}: chi-square {chi}");
            }
        }
    }
}
