//! A small training run that attacks disturb: a table of rows, picked by index, a linear layer and cross entropy, so that it
//! has products, rows, gathers that can fault, and an optimizer with state. Every step depends on its number alone.

use crate::random::Random;
use flambeau::io::{State, Stateful, read_states, write_states};
use flambeau::nn::{Linear, Parameter};
use flambeau::optim::{Adam, Optimizer};
use flambeau::prelude::*;

/// Rows of the table, their width, classes, items of a batch.
const ROWS: usize = 32;
const WIDTH: usize = 16;
const CLASSES: usize = 8;
const BATCH: usize = 12;

pub struct Work {
    device: Device,
    table: Parameter,
    layer: Linear,
    pub optimizer: Adam,
}

impl Work {
    pub fn new(device: &Device) -> Result<Work> {
        let values = |count: usize, salt: u64| -> Vec<f32> {
            let mut random = Random::new(salt, 0);
            (0..count).map(|_| random.unit() as f32 - 0.5).collect()
        };
        let given = |salt: u64, shape: [usize; 2]| {
            Tensor::try_from_slice(&values(shape[0] * shape[1], salt), shape, device)
        };
        let table = Parameter::try_new(&given(1, [ROWS, WIDTH])?)?;
        let layer = Linear::new(WIDTH, CLASSES, device);
        layer.weight.set(&given(2, [CLASSES, WIDTH])?);
        if let Some(bias) = &layer.bias {
            bias.set(&Tensor::zeros([CLASSES], device));
        }
        let mut parameters = layer.parameters();
        parameters.push(table.clone());
        Ok(Work { device: device.clone(), table, layer, optimizer: Adam::new(parameters, 0.01) })
    }

    /// The loss of a step, with its gradients; the update has not been made.
    pub fn loss(&self, step: u64) -> Result<Tensor> {
        let mut random = Random::new(7, step);
        let mut numbers =
            |below: usize| -> Vec<i32> { (0..BATCH).map(|_| random.below(below) as i32).collect() };
        let rows = Tensor::try_from_slice(&numbers(ROWS), [BATCH], &self.device)?;
        let classes = Tensor::try_from_slice(&numbers(CLASSES), [BATCH], &self.device)?;
        let picked = self.table.get().try_index_select(0, &rows)?;
        let loss = self.layer.try_forward(&picked)?.try_cross_entropy(&classes)?;
        self.optimizer.zero_grad();
        loss.backward()?;
        Ok(loss)
    }

    /// A whole step.
    pub fn step(&mut self, step: u64) -> Result<Tensor> {
        let loss = self.loss(step)?;
        self.optimizer.step()?;
        Ok(loss)
    }

    /// The bits of all parameters.
    pub fn parameters(&self) -> Result<Vec<Vec<u32>>> {
        let bits = |parameter: Parameter| -> Result<Vec<u32>> {
            Ok(parameter.value().to_vec_blocking::<f32>()?.into_iter().map(f32::to_bits).collect())
        };
        self.optimizer.parameters().into_iter().map(bits).collect()
    }

    /// All that is needed to go on.
    pub fn save(&self) -> Result<Vec<u8>> {
        let tensors = self.optimizer.parameters().into_iter().enumerate();
        let tensors = tensors.map(|(number, parameter)| (format!("p{number}"), parameter.value())).collect();
        let parameters = State { tensors, ..State::default() };
        flambeau::block_on(write_states(&[
            ("parameters", &parameters),
            ("optimizer", &self.optimizer.state()),
        ]))
    }

    /// Goes on from there, on another device.
    pub fn load(bytes: &[u8], device: &Device) -> Result<Work> {
        let mut work = Work::new(device)?;
        let states = read_states(bytes, device)?;
        for (number, parameter) in work.optimizer.parameters().into_iter().enumerate() {
            if let Some(value) = states["parameters"].tensors.get(&format!("p{number}")) {
                parameter.set(value);
            }
        }
        work.optimizer.load_state(&states["optimizer"])?;
        Ok(work)
    }
}
