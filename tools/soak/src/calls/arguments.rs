//! What calls are made with: tensors that are small and ordinary but for their variety, and numbers that are mostly
//! small and now and then absurd.

use super::is_cpu;
use crate::random::Random;
use flambeau::{DType, Device, Dims, Generator, Operand, Scalar, Shape, Tensor, TensorOptions};

/// Sizes that no tensor has, next to bounds where arithmetic turns.
const SIZES: &[usize] = &[
    usize::MAX,
    usize::MAX - 1,
    usize::MAX / 2,
    usize::MAX / 2 + 1,
    usize::MAX / 3,
    (1 << 62) + 1,
    1 << 62,
    1 << 61,
    1 << 60,
    (1 << 60) - 1,
    1 << 59,
    1 << 40,
    1 << 33,
    1 << 32,
    (1 << 32) - 1,
    1 << 31,
    (1 << 31) - 1,
    1 << 28,
    1 << 20,
    65_536,
    1000,
    0,
];

const NUMBERS: &[f64] = &[
    f64::NAN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::MAX,
    f64::MIN,
    f64::MIN_POSITIVE,
    1e300,
    -1e300,
    1e18,
    -1e18,
    4e9,
    1e-300,
    0.0,
    -0.0,
    -1.0,
    2.0,
];

/// Shapes of the tensors: few, so that plans and shaders are met again.
const SHAPES: &[&[usize]] = &[
    &[],
    &[0],
    &[1],
    &[3],
    &[4],
    &[2, 3],
    &[3, 3],
    &[3, 0],
    &[1, 4],
    &[2, 3, 4],
    &[1, 2, 4],
    &[0, 2, 3],
    &[2, 4, 4, 4],
    &[1, 2, 5, 5],
    &[4, 2, 3, 3],
    &[1, 2, 3, 4, 4],
    &[1, 1, 1, 1, 1, 1, 2],
];

const DTYPES: &[DType] =
    &[DType::F32, DType::I32, DType::Bool, DType::U8, DType::U32, DType::F16, DType::F64, DType::I64];

/// The tensors of a run, which depend on its seed alone.
pub struct Pool {
    all: Vec<Tensor>,
    floats: Vec<Tensor>,
    integers: Vec<Tensor>,
    masks: Vec<Tensor>,
    /// Floats that a gradient can be found for.
    leaves: Vec<Tensor>,
}

impl Pool {
    pub fn new(seed: u64, device: &Device) -> Pool {
        let mut random = Random::new(seed, u64::MAX);
        let mut pool = Pool {
            all: Vec::new(),
            floats: Vec::new(),
            integers: Vec::new(),
            masks: Vec::new(),
            leaves: Vec::new(),
        };
        let dtypes: &[DType] = if is_cpu(device) { DTYPES } else { &DTYPES[..5] };
        for &shape in SHAPES {
            for &dtype in dtypes {
                let tensor = ordinary(&mut random, shape, device).to_dtype(dtype);
                tensor.eval().expect("an ordinary tensor");
                pool.add(tensor.clone());
                pool.add(viewed(&mut random, &tensor));
                if dtype == DType::F32 {
                    pool.leaves.push(tensor.requires_grad());
                }
            }
        }
        pool
    }

    fn add(&mut self, tensor: Tensor) {
        match tensor.dtype() {
            DType::Bool => self.masks.push(tensor.clone()),
            dtype if dtype.is_float() => self.floats.push(tensor.clone()),
            _ => self.integers.push(tensor.clone()),
        }
        self.all.push(tensor);
    }
}

/// Small whole numbers and halves, some of them negative.
fn ordinary(random: &mut Random, shape: &[usize], device: &Device) -> Tensor {
    let count: usize = shape.iter().product();
    let values: Vec<f32> = (0..count).map(|_| random.below(9) as f32 / 2.0 - 1.0).collect();
    Tensor::from_slice(&values, shape, device)
}

/// The same tensor through a view, where there is one.
fn viewed(random: &mut Random, tensor: &Tensor) -> Tensor {
    let rank = tensor.rank() as isize;
    match random.below(4) {
        0 if rank > 1 => tensor.transpose(0, -1),
        1 if rank > 0 => tensor.flip(0),
        2 if rank > 0 && tensor.size(-1) > 1 => tensor.slice(-1, 1.., 2),
        3 => tensor.unsqueeze(0).expand([&[2][..], tensor.shape()].concat()),
        _ => tensor.clone(),
    }
}

/// The arguments of one case.
pub struct Arguments<'a> {
    pub random: Random,
    pub device: &'a Device,
    pool: &'a Pool,
    /// Arguments of a hundred that are absurd.
    absurd: usize,
    /// Are floats leaves of the autograd graph?
    tracks: bool,
}

impl<'a> Arguments<'a> {
    pub fn new(mut random: Random, pool: &'a Pool, device: &'a Device) -> Self {
        let absurd = if is_cpu(device) { *random.pick(&[0, 5, 15, 40]) } else { *random.pick(&[0, 30, 60]) };
        let tracks = random.chance(20);
        Arguments { random, device, pool, absurd, tracks }
    }

    pub fn tracks(&self) -> bool {
        self.tracks
    }

    pub fn leaves(&self) -> &'a [Tensor] {
        &self.pool.leaves
    }

    fn is_absurd(&mut self) -> bool {
        let percent = self.absurd;
        self.random.chance(percent)
    }

    /// Any tensor.
    pub fn x(&mut self) -> Tensor {
        self.random.pick(&self.pool.all).clone()
    }

    fn mostly(&mut self, from: &'a [Tensor]) -> Tensor {
        if self.is_absurd() { self.x() } else { self.random.pick(from).clone() }
    }

    /// A tensor of floats, mostly.
    pub fn float(&mut self) -> Tensor {
        let pool = self.pool;
        if self.tracks { self.mostly(&pool.leaves) } else { self.mostly(&pool.floats) }
    }

    /// A tensor of floats of this rank, mostly.
    pub fn ranked(&mut self, rank: usize) -> Tensor {
        for _ in 0..8 {
            let tensor = self.float();
            if tensor.rank() == rank {
                return tensor;
            }
        }
        self.float()
    }

    /// A tensor of integers, mostly.
    pub fn index(&mut self) -> Tensor {
        let pool = self.pool;
        self.mostly(&pool.integers)
    }

    /// A tensor of booleans, mostly.
    pub fn mask(&mut self) -> Tensor {
        let pool = self.pool;
        self.mostly(&pool.masks)
    }

    /// A tensor of the shape of another, mostly.
    pub fn like(&mut self, other: &Tensor) -> Tensor {
        if self.is_absurd() { self.float() } else { other.rand_like_or_self(&mut self.random) }
    }

    /// Up to eight tensors, of one shape or of several.
    pub fn list(&mut self) -> Vec<Tensor> {
        let (count, first) = (self.random.below(9), self.x());
        (0..count).map(|_| if self.is_absurd() { self.x() } else { first.clone() }).collect()
    }

    pub fn maybe<T>(&mut self, make: impl FnOnce(&mut Self) -> T) -> Option<T> {
        if self.random.chance(50) { Some(make(self)) } else { None }
    }

    pub fn flag(&mut self) -> bool {
        self.random.chance(50)
    }

    pub fn size(&mut self) -> usize {
        if self.is_absurd() { *self.random.pick(SIZES) } else { self.random.below(5) }
    }

    /// A size that is small or far too large: what has a size in between would be evaluated, and take its time.
    pub fn width(&mut self) -> usize {
        match self.size() {
            size @ 0..=1000 => size,
            size => size.max(1 << 40),
        }
    }

    /// A number of layers: few, or far too many.
    pub fn layers(&mut self) -> usize {
        match self.size() {
            size @ 0..=4 => size,
            size => size.max(1 << 20),
        }
    }

    pub fn integer(&mut self) -> isize {
        match self.is_absurd() {
            true => {
                *self.random.pick(&[isize::MIN, isize::MIN + 1, isize::MAX, -(1 << 40), 1 << 40, 1 << 31])
            }
            false => self.random.below(7) as isize - 3,
        }
    }

    /// A dimension.
    pub fn dim(&mut self) -> isize {
        if self.is_absurd() { self.integer() } else { self.random.below(6) as isize - 3 }
    }

    pub fn dim_list(&mut self) -> Vec<isize> {
        (0..self.random.below(4)).map(|_| self.dim()).collect()
    }

    pub fn dims(&mut self) -> Dims {
        if self.flag() { Dims::All } else { Dims::from(self.dim_list()) }
    }

    pub fn number(&mut self) -> f64 {
        if self.is_absurd() { *self.random.pick(NUMBERS) } else { self.random.unit() }
    }

    pub fn scalar(&mut self) -> Scalar {
        match self.random.below(3) {
            0 => Scalar::from(self.number()),
            1 => Scalar::from(self.integer() as i64),
            _ => Scalar::from(self.flag()),
        }
    }

    pub fn operand(&mut self) -> Operand {
        if self.flag() { Operand::from(self.x()) } else { Operand::from(self.scalar()) }
    }

    pub fn size_list(&mut self) -> Vec<usize> {
        (0..self.random.below(5)).map(|_| self.size()).collect()
    }

    pub fn shape(&mut self) -> Shape {
        Shape::from(self.size_list())
    }

    /// Sizes where -1 has a meaning.
    pub fn signed_sizes(&mut self) -> Vec<isize> {
        (0..self.random.below(5))
            .map(|_| if self.random.chance(20) { self.integer() } else { self.size() as isize })
            .collect()
    }

    pub fn spatial<const N: usize>(&mut self) -> [usize; N] {
        std::array::from_fn(|_| self.size())
    }

    /// Numbers for N dimensions that are mostly not zero.
    pub fn positive<const N: usize>(&mut self) -> [usize; N] {
        std::array::from_fn(|_| if self.is_absurd() { self.size() } else { 1 + self.random.below(3) })
    }

    pub fn dtype(&mut self) -> DType {
        *self.random.pick(DTYPES)
    }

    pub fn options(&mut self) -> TensorOptions {
        if self.flag() { TensorOptions::from(self.device) } else { (self.dtype(), self.device).into() }
    }

    pub fn generator(&mut self) -> Generator {
        Generator::new(self.random.bits())
    }
}

/// Another tensor of the same shape, so that operands are not always one and the same.
trait Another {
    fn rand_like_or_self(&self, random: &mut Random) -> Tensor;
}

impl Another for Tensor {
    fn rand_like_or_self(&self, random: &mut Random) -> Tensor {
        match self.dtype().is_float() && random.chance(50) {
            true => self.detach().try_neg().unwrap_or_else(|_| self.clone()),
            false => self.clone(),
        }
    }
}
