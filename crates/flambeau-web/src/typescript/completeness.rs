//! Every public layer, loss, optimizer and schedule of the library has an entry, or a reason for having none.

use super::{layers, root};
use crate::methods::LOSSES;
use crate::schedules;
use flambeau::bindings::optimizers;
use std::fs;

/// Why what few programs need is not in the package.
const RARE: &str = "rare: pages would fetch it before their first step";

/// The types that a module of the library makes public by `pub use`.
fn public(module: &str) -> Vec<String> {
    let text = fs::read_to_string(root().join("crates/flambeau/src").join(module)).expect("a module");
    let uses = text.split("pub use ").skip(1).map(|rest| rest.split(';').next().unwrap_or_default());
    let words = uses.flat_map(|text| text.split(|letter: char| !letter.is_alphanumeric() && letter != '_'));
    let types = words.filter(|word| word.starts_with(char::is_uppercase)).map(str::to_string);
    types.collect()
}

/// Complains about types that are neither in the catalogue nor excused, and about excuses that are not needed.
fn check(module: &str, listed: &[&str], excused: &[(&str, &str)]) {
    let types = public(module);
    assert!(types.len() >= listed.len(), "{module} could not be read: {types:?}");
    for name in &types {
        let is_settings = name.ends_with("Options");
        let is_excused = excused.iter().any(|(known, _)| known == name);
        assert!(
            is_settings || is_excused != listed.contains(&name.as_str()),
            "{module}: {name} must be in the catalogue, or be excused, and not both"
        );
    }
    for (name, _) in excused {
        assert!(types.iter().any(|known| known == name), "{module}: there is no {name} to be excused");
    }
}

#[test]
fn every_layer_is_in_the_catalogue() {
    let generic = "the layer of N dimensions; those of 1, 2 and 3 have entries";
    let part = "no layer: a setting or a part of one";
    let excused = [
        ("AdaptiveAvgPool", generic),
        ("AdaptiveMaxPool", generic),
        ("AvgPool", generic),
        ("BatchNorm", generic),
        ("Conv", generic),
        ("ConvTranspose", generic),
        ("InstanceNorm", generic),
        ("MaxPool", generic),
        ("AttentionMasks", part),
        ("AttentionWeights", part),
        ("GeluApproximation", part),
        ("OutputSizes", part),
        ("PaddingMode", part),
        ("RnnNonlinearity", part),
        ("RunningStatistics", part),
        ("Sides", part),
        ("TransformerActivation", part),
        ("TransformerMasks", part),
        ("AdaptiveLogSoftmaxWithLoss", RARE),
        ("CrossMapLrn2d", RARE),
        ("Fold", RARE),
        ("Unfold", RARE),
        ("FractionalMaxPool", RARE),
        ("FractionalMaxPool2d", RARE),
        ("FractionalMaxPool3d", RARE),
        ("FractionalOutput", part),
        ("LpPool", RARE),
        ("LpPool1d", RARE),
        ("LpPool2d", RARE),
        ("LpPool3d", RARE),
        ("MaxUnpool", RARE),
        ("MaxUnpool1d", RARE),
        ("MaxUnpool2d", RARE),
        ("MaxUnpool3d", RARE),
    ];
    let entries = layers::entries();
    let listed: Vec<&str> = entries.iter().map(|entry| entry.of).collect();
    check("nn/layers/mod.rs", &listed, &excused);
}

#[test]
fn every_loss_is_in_the_catalogue() {
    let excused = [
        ("KlDivReduction", "no loss: a setting of one"),
        ("Distance", "no loss: what one of them measures with"),
        ("TripletMarginWithDistanceLoss", "it takes a function, which Rust alone can give it"),
    ];
    check("nn/loss/mod.rs", LOSSES, &excused);
}

#[test]
fn every_optimizer_is_in_the_catalogue() {
    let part = "what optimizers are made of";
    let excused = [
        ("Ema", "an average of weights, no optimizer"),
        ("Lbfgs", "its step takes a closure and is waited for: it has functions of its own"),
        ("LineSearch", "no optimizer: a setting of one"),
        ("FirstOrder", part),
        ("Group", part),
        ("GradScaler", "a scale for losses in mixed precision, no optimizer: the package's class"),
        ("ScaledStep", part),
        ("Given", part),
        ("Rule", part),
        ("Update", part),
        ("LrScheduler", "a schedule at work: the package's class"),
        ("Scheduler", "a trait"),
        ("Asgd", RARE),
        ("Rprop", RARE),
        ("SparseAdam", RARE),
    ];
    let entries = optimizers::entries();
    let listed: Vec<&str> = entries.iter().map(|entry| entry.optimizer).collect();
    check("optim/mod.rs", &listed, &excused);
}

#[test]
fn every_schedule_is_in_the_catalogue() {
    let part = "no schedule: a setting of one";
    let excused = [
        ("Annealing", part),
        ("Goal", part),
        ("Threshold", part),
        ("Cycles", part),
        ("CyclicLr", RARE),
        ("LambdaLr", "a function: the package's scheduler takes JavaScript's own"),
        ("ReduceLrOnPlateau", "it looks at a metric: it has functions of its own"),
    ];
    let entries = schedules::entries();
    let listed: Vec<&str> = entries.iter().map(|entry| entry.of).collect();
    check("optim/scheduler/mod.rs", &listed, &excused);
}
