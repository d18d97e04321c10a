//! Two interleaved spirals: a classic that no straight line can solve.

use super::data::Feeding;
use flambeau::data::{DataLoader, TensorDataset};
use flambeau::prelude::*;
use std::f64::consts::PI;

/// Points in all, in training as in the test.
const POINTS: usize = 1000;
const NOISE: f64 = 0.01;
/// The spirals lie in the square [−SIDE, SIDE]².
pub const SIDE: f64 = 1.1;

/// Points (n, 2) and their classes (n), drawn from a stream of the seed.
pub fn points(seed: u64, stream: u64, device: &Device) -> Result<TensorDataset> {
    let generator = Generator::new(seed).fork(stream);
    let class = Tensor::arange(0, POINTS as i64, 1, (DType::F32, device)).try_remainder(2.0)?;
    let turn = class.try_reshape([POINTS, 1])?.try_mul(PI)?;
    let along = Tensor::rand([POINTS, 1], &generator, device).try_sqrt()?;
    let angle = along.try_mul(3.0 * PI)?.try_add(&turn)?;
    let x = Tensor::try_cat(&[&along.try_mul(angle.try_cos()?)?, &along.try_mul(angle.try_sin()?)?], 1)?;
    let noise = Tensor::randn([POINTS, 2], &generator, device).try_mul(NOISE)?;
    TensorDataset::new([x.try_add(&noise)?, class.try_to_dtype(DType::I32)?])
}

/// Points to train with, and others to test with.
pub fn loaders(feeding: Feeding, device: &Device) -> Result<(DataLoader, DataLoader)> {
    let train = DataLoader::new(points(feeding.seed, 0, device)?, device).with_batch_size(feeding.batch);
    let test = DataLoader::new(points(feeding.seed, 1, device)?, device).with_batch_size(POINTS);
    Ok((train, test))
}
