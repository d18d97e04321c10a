//! A NaN or an infinity planted in the data, in a gradient or in a parameter of a training run whose optimizer was told to
//! require finite numbers: it is found in that very step, nothing moves, and once it is gone the run goes on as one that
//! never had that step.

use crate::random::Random;
use crate::session::Session;
use flambeau::nn::Linear;
use flambeau::optim::*;
use flambeau::prelude::*;

/// Steps of a run.
const STEPS: u64 = 6;
const BATCH: usize = 8;
const WIDTHS: [usize; 3] = [6, 70, 3];

#[derive(Debug, Clone, Copy, PartialEq)]
enum Place {
    Data,
    Gradient,
    Parameter,
}

/// What is planted where; equal numbers of a case give equal plants.
#[derive(Debug, Clone, Copy)]
struct Plant {
    step: u64,
    place: Place,
    value: f32,
    /// Which parameter, and which element of it or of the data.
    parameter: usize,
    element: usize,
}

impl Plant {
    fn draw(random: &mut Random) -> Plant {
        Plant {
            step: random.below(STEPS as usize) as u64,
            place: *random.pick(&[Place::Data, Place::Gradient, Place::Parameter]),
            value: *random.pick(&[f32::NAN, f32::INFINITY, f32::NEG_INFINITY]),
            parameter: random.below(4),
            element: random.below(1 << 20),
        }
    }

    /// The values of a tensor with the plant among them.
    fn put(&self, mut values: Vec<f32>, shape: &Shape, device: &Device) -> Result<Tensor> {
        let place = self.element % values.len();
        values[place] = self.value;
        Tensor::try_from_slice(&values, shape, device)
    }
}

/// Two layers in two groups, with an optimizer drawn at random.
struct Model {
    device: Device,
    layers: [Linear; 2],
    optimizer: Box<dyn Optimizer>,
}

fn numbers(count: usize, salt: u64, number: u64) -> Vec<f32> {
    let mut random = Random::new(salt, number);
    (0..count).map(|_| random.unit() as f32 - 0.5).collect()
}

impl Model {
    fn new(kind: usize, device: &Device) -> Result<Model> {
        let layers = [Linear::new(WIDTHS[0], WIDTHS[1], device), Linear::new(WIDTHS[1], WIDTHS[2], device)];
        for (salt, parameter) in layers.iter().flat_map(Module::parameters).enumerate() {
            let values = numbers(parameter.numel(), 11, salt as u64);
            parameter.try_set(&Tensor::try_from_slice(&values, parameter.shape(), device)?)?;
        }
        fn grouped<R: Rule>(layers: &[Linear; 2], options: R) -> Result<Box<dyn Optimizer>> {
            let mut slow = options.clone();
            slow.set_learning_rate(1e-3);
            let groups = [(&layers[0], options), (&layers[1], slow)];
            let groups = groups.map(|(layer, options)| Group::new(layer.parameters(), options));
            Ok(Box::new(FirstOrder::try_with_groups(groups)?))
        }
        let mut optimizer = match kind {
            0 => grouped(&layers, SgdOptions { learning_rate: 0.1, momentum: 0.9, ..Default::default() })?,
            1 => grouped(&layers, AdamOptions::default())?,
            2 => grouped(&layers, AdamWOptions::default())?,
            3 => grouped(&layers, LionOptions::default())?,
            _ => grouped(&layers, RmsPropOptions::default())?,
        };
        optimizer.require_finite(true);
        Ok(Model { device: device.clone(), layers, optimizer })
    }

    /// A step and its loss, with the plant if it is its time.
    fn step(&mut self, step: u64, plant: Option<&Plant>) -> Result<f64> {
        let is_in = |place: Place| plant.filter(|plant| plant.place == place);
        let (input, target) = ([BATCH, WIDTHS[0]].into(), [BATCH, WIDTHS[2]].into());
        let values = |shape: &Shape, salt: u64| numbers(shape.numel(), salt, step);
        let data = match is_in(Place::Data) {
            Some(plant) => plant.put(values(&input, 21), &input, &self.device)?,
            None => Tensor::try_from_slice(&values(&input, 21), &input, &self.device)?,
        };
        let target = Tensor::try_from_slice(&values(&target, 22), &target, &self.device)?;
        self.optimizer.zero_grad();
        let hidden = self.layers[0].try_forward(&data)?.try_tanh()?;
        let loss = self.layers[1].try_forward(&hidden)?.try_mse_loss(&target)?;
        loss.backward()?;
        if let Some(plant) = is_in(Place::Gradient) {
            let parameter = &self.optimizer.parameters()[plant.parameter];
            if let Some(grad) = parameter.grad() {
                let planted = plant.put(grad.to_vec_blocking()?, parameter.shape(), &self.device)?;
                parameter.set_grad(Some(&planted))?;
            }
        }
        self.optimizer.step()?;
        loss.item_blocking()
    }

    /// The bits of all parameters and of the optimizer's state, and its step counts.
    fn bits(&self) -> Result<(Vec<Vec<u32>>, String)> {
        let bits = |tensor: Tensor| -> Result<Vec<u32>> {
            Ok(tensor.to_vec_blocking::<f32>()?.into_iter().map(f32::to_bits).collect())
        };
        let state = self.optimizer.state();
        let parameters = self.optimizer.parameters().into_iter().map(|parameter| parameter.value());
        let tensors = parameters.chain(state.tensors.iter().map(|(_, tensor)| tensor.clone()));
        Ok((tensors.map(bits).collect::<Result<_>>()?, format!("{:?}", state.values.get("steps"))))
    }
}

pub fn run(session: &mut Session) {
    let device = session.device();
    let mut found = [0; 3];
    while let Some(case) = session.next() {
        let mut random = session.random(case);
        let (kind, plant) = (random.below(5), Plant::draw(&mut random));
        match session.guard(case, "training", || train(kind, &plant, &device)) {
            None => {}
            Some(Ok(())) => found[plant.place as usize] += 1,
            Some(Err(error)) => session.fail(case, format!("{plant:?}: {error}")),
        }
    }
    let [data, gradients, parameters] = found;
    session.note(format!("found {data} in data, {gradients} in gradients, {parameters} in parameters"));
}

fn train(kind: usize, plant: &Plant, device: &Device) -> Result<()> {
    let wrong = |what: String| Error::State(what);
    let (mut model, mut undisturbed) = (Model::new(kind, device)?, Model::new(kind, device)?);
    for step in 0..STEPS {
        if step != plant.step {
            let (loss, right) = (model.step(step, None)?, undisturbed.step(step, None)?);
            if loss.to_bits() != right.to_bits() {
                return Err(wrong(format!("the loss of step {step} is {loss}, not {right}")));
            }
            continue;
        }
        let parameter = model.optimizer.parameters()[plant.parameter].clone();
        let kept = parameter.value();
        if plant.place == Place::Parameter {
            parameter.try_set(&plant.put(kept.to_vec_blocking()?, parameter.shape(), device)?)?;
        }
        let before = model.bits()?;
        match model.step(step, Some(plant)) {
            Err(Error::NotFinite { .. }) => {}
            Err(other) => return Err(other),
            Ok(loss) => return Err(wrong(format!("nothing was found; the loss is {loss}"))),
        }
        if model.bits()? != before {
            return Err(wrong("parameters or state have changed".into()));
        }
        if plant.place == Place::Parameter {
            parameter.try_set(&kept)?;
        }
    }
    match model.bits()? == undisturbed.bits()? {
        true => Ok(()),
        false => Err(wrong("the run ends elsewhere than one without that step".into())),
    }
}
