//! Optimizers, averages, clipping, packed sequences, samplers, loaders and augmentation.

use super::{Arguments, Call, calls};
use flambeau::data::augment::{self, Augment};
use flambeau::data::{
    ArrayDataset, DataLoader, HostArray, Sampler, TensorDataset, pad_sequences, random_split,
};
use flambeau::nn::Parameter;
use flambeau::nn::utils::{self, SequenceLayout};
use flambeau::optim::{
    Adadelta, AdadeltaOptions, Adagrad, AdagradOptions, Adam, AdamOptions, AdamW, AdamWOptions, Adamax,
    AdamaxOptions, Ema, Lbfgs, LbfgsOptions, Lion, LionOptions, Muon, MuonOptions, NAdam, NAdamOptions,
    Optimizer, RAdam, RAdamOptions, RmsProp, RmsPropOptions, Sgd, SgdOptions,
};
use flambeau::{Result, Tensor, block_on};

fn parameters(a: &mut Arguments) -> Result<Vec<Parameter>> {
    (0..a.random.below(4)).map(|_| Parameter::try_new(&a.float().detach())).collect()
}

/// A step of an optimizer that was perhaps refused.
fn stepped(
    parameters: &[Parameter],
    optimizer: Result<impl Optimizer>,
    a: &mut Arguments,
) -> Result<Vec<Tensor>> {
    let mut optimizer = optimizer?;
    for parameter in parameters {
        if a.flag() {
            parameter.set_grad(Some(&a.like(&parameter.value())))?;
        }
    }
    optimizer.step()?;
    Ok(parameters.iter().map(Parameter::value).collect())
}

fn layout(a: &mut Arguments) -> SequenceLayout {
    if a.flag() { SequenceLayout::BatchFirst } else { SequenceLayout::StepsFirst }
}

fn rows(a: &mut Arguments) -> Result<ArrayDataset> {
    let x = HostArray::new(&[1.0f32, 2.0, 3.0, 4.0], [4, 1])?;
    let y = HostArray::new(&[a.random.below(3) as i32; 4], [4])?;
    ArrayDataset::new([x, y])
}

fn sampler(a: &mut Arguments) -> Sampler {
    match a.random.below(4) {
        0 => Sampler::Random,
        1 => Sampler::Weighted { weights: (0..4).map(|_| a.number()).collect(), count: a.width() },
        2 => Sampler::Subset(a.size_list()),
        _ => Sampler::SubsetRandom(a.size_list()),
    }
}

pub const CALLS: &[Call] = calls! {
    "Sgd": a => {
        let parameters = parameters(a)?;
        let (learning_rate, momentum, dampening) = (a.number(), a.number(), a.number());
        let options = SgdOptions {
            learning_rate, momentum, dampening, nesterov: a.flag(), weight_decay: a.number(), maximize: a.flag(),
        };
        stepped(&parameters, Sgd::try_with_options(parameters.clone(), options), a)
    };
    "Adam": a => {
        let parameters = parameters(a)?;
        let (learning_rate, betas, eps) = (a.number(), (a.number(), a.number()), a.number());
        let options = AdamOptions { learning_rate, betas, eps, amsgrad: a.flag(), ..Default::default() };
        stepped(&parameters, Adam::try_with_options(parameters.clone(), options), a)
    };
    "AdamW": a => {
        let parameters = parameters(a)?;
        let options = AdamWOptions { learning_rate: a.number(), weight_decay: a.number(), ..Default::default() };
        stepped(&parameters, AdamW::try_with_options(parameters.clone(), options), a)
    };
    "RmsProp": a => {
        let parameters = parameters(a)?;
        let options = RmsPropOptions { alpha: a.number(), eps: a.number(), momentum: a.number(), ..Default::default() };
        stepped(&parameters, RmsProp::try_with_options(parameters.clone(), options), a)
    };
    "Lion": a => {
        let parameters = parameters(a)?;
        let options = LionOptions { betas: (a.number(), a.number()), ..Default::default() };
        stepped(&parameters, Lion::try_with_options(parameters.clone(), options), a)
    };
    "Muon": a => {
        let parameters = parameters(a)?;
        let options = MuonOptions { momentum: a.number(), iterations: a.size(), eps: a.number(), ..Default::default() };
        stepped(&parameters, Muon::try_with_options(parameters.clone(), options), a)
    };
    "Adagrad": a => {
        let parameters = parameters(a)?;
        let (initial_accumulator, learning_rate_decay) = (a.number(), a.number());
        let options = AdagradOptions { initial_accumulator, learning_rate_decay, ..Default::default() };
        stepped(&parameters, Adagrad::try_with_options(parameters.clone(), options), a)
    };
    "Adadelta": a => {
        let parameters = parameters(a)?;
        let options = AdadeltaOptions { rho: a.number(), eps: a.number(), ..Default::default() };
        stepped(&parameters, Adadelta::try_with_options(parameters.clone(), options), a)
    };
    "Adamax": a => {
        let parameters = parameters(a)?;
        let options = AdamaxOptions { betas: (a.number(), a.number()), eps: a.number(), ..Default::default() };
        stepped(&parameters, Adamax::try_with_options(parameters.clone(), options), a)
    };
    "NAdam": a => {
        let parameters = parameters(a)?;
        let options = NAdamOptions { momentum_decay: a.number(), eps: a.number(), ..Default::default() };
        stepped(&parameters, NAdam::try_with_options(parameters.clone(), options), a)
    };
    "RAdam": a => {
        let parameters = parameters(a)?;
        let options = RAdamOptions { betas: (a.number(), a.number()), ..Default::default() };
        stepped(&parameters, RAdam::try_with_options(parameters.clone(), options), a)
    };
    "Lbfgs": a => {
        let (parameters, history) = (parameters(a)?, a.size());
        let options = LbfgsOptions { learning_rate: a.number(), history, ..Default::default() };
        Lbfgs::try_with_options(parameters, options).map(|_| ())
    };
    "Parameter": a => Parameter::try_new(&a.x())?.try_set(&a.x());
    "requires_grad": a => a.x().try_requires_grad();
    "retain_grad": a => a.x().try_retain_grad();
    "Ema": a => {
        let mut ema = Ema::try_new(parameters(a)?, a.number())?;
        ema.update()?;
        ema.averages()
    };
    "clip_grad_norm": a => {
        let parameters = parameters(a)?;
        for parameter in &parameters {
            parameter.set_grad(Some(&a.like(&parameter.value())))?;
        }
        utils::clip_grad_norm(&parameters, a.number(), a.number())
    };
    "parameters_to_vector": a => utils::parameters_to_vector(&parameters(a)?);
    "vector_to_parameters": a => utils::vector_to_parameters(&a.ranked(1), &parameters(a)?);
    "pad_sequence": a => utils::pad_sequence(&a.list(), layout(a), a.number());
    "pack_sequence": a => utils::pack_sequence(&a.list()).map(|packed| packed.data);
    "pack_padded_sequence": a => {
        let packed = utils::pack_padded_sequence(&a.ranked(3), &a.size_list(), layout(a))?;
        utils::pad_packed_sequence(&packed, layout(a), a.number()).map(|(padded, _)| padded)
    };
    "pad_packed_sequence": a => {
        let (batch_sizes, sorted_indices) = (a.size_list(), a.size_list());
        let (data, unsorted_indices) = (a.float(), a.size_list());
        let packed = utils::PackedSequence { data, batch_sizes, sorted_indices, unsorted_indices };
        utils::pad_packed_sequence(&packed, layout(a), a.number()).map(|(padded, _)| padded)
    };

    "HostArray": a => HostArray::new(&[1u8; 6], a.shape())?.to_tensor(a.device);
    "HostArray of rows": a => HostArray::new(&[1i64; 6], [2, 3])?.row(a.size()).map(|_| ());
    "TensorDataset": a => TensorDataset::new(a.list())?.rows(&a.index());
    "DataLoader": a => {
        let loader = DataLoader::<Vec<Tensor>>::of(rows(a)?, a.device);
        let loader = loader.with_batch_size(a.size()).with_prefetch(a.size());
        let mut loader = if a.flag() { loader.with_sampler(sampler(a)) } else { loader };
        block_on(loader.next()).map(Option::unwrap_or_default)
    };
    "DataLoader with workers": a => {
        let count = if a.random.chance(2) { a.size() } else { 0 };
        let loader = DataLoader::<Vec<Tensor>>::of(rows(a)?, a.device).with_workers(count).with_prefetch(a.size());
        let mut loader = loader.with_batch_size(a.size());
        block_on(loader.next()).map(Option::unwrap_or_default)
    };
    "pad_sequences": a => {
        let item = vec![HostArray::new(&[1, 2], [2])?];
        pad_sequences(a.width())(vec![item]).map(|_| ())
    };
    "random_split": a => random_split(a.width(), &[a.number(), a.number()], &a.generator()).map(|_| ());

    "crop": a => augment::crop(&a.ranked(4), &a.index(), &a.index(), (a.size(), a.size()), a.size());
    "RandomCrop": a => {
        let crop = augment::RandomCrop::new(a.size(), a.size()).with_padding(a.size());
        crop.apply(&a.ranked(4), &a.generator())
    };
    "flip pictures": a => augment::flip(&a.ranked(4), &a.mask(), a.dim());
    "erase": a => augment::erase(&a.ranked(4), &a.index(), &a.index(), (a.size(), a.size()));
    "affine": a => augment::affine(&a.ranked(4), &a.ranked(3));
    "brightness": a => augment::brightness(&a.ranked(4), &a.float());
    "Normalize": a => {
        let numbers: Vec<f64> = (0..a.random.below(4)).map(|_| a.number()).collect();
        augment::Normalize::new(&numbers, &numbers, a.device)?.apply(&a.ranked(4), &a.generator())
    };
};
