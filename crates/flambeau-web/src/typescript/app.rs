//! The web app's lists: the optimizers and the activations that can be chosen there. The page itself does not load the
//! package; its workers do, and call what is named here.

use super::{camel, layers};
use crate::layers::Layer;
use crate::layers::catalogue::make;
use flambeau::bindings::optimizers::{by_name, entries};
use flambeau::nn::{Forward, Module, Parameter};
use flambeau::{Device, Tensor};
use serde_json::json;

/// Optimizers of any parameter, vectors too: the app's models have biases.
fn optimizers() -> String {
    let takes_vectors = |name: &str| {
        let vector = Parameter::new(&Tensor::ones([2], &Device::cpu()));
        by_name(name, vec![(vec![vector], json!({}))]).is_ok()
    };
    let entries = entries().into_iter().filter(|entry| takes_vectors(entry.name));
    entries
        .map(|entry| format!("  {}: [\"{}\", \"{}\"],\n", entry.name, entry.title, camel(entry.name)))
        .collect()
}

/// Does a layer give what has the shape of what it is given, whether rows or pictures?
fn keeps_shapes(layer: &dyn Forward) -> bool {
    let inputs = [Tensor::ones([2, 6], &Device::cpu()), Tensor::ones([2, 6, 4, 4], &Device::cpu())];
    inputs.iter().all(|input| layer.try_forward(input).is_ok_and(|output| output.shape() == input.shape()))
}

/// Layers that need no argument, have no weight, act in training as later, keep shapes, and do something.
fn activations() -> String {
    let mut text = String::new();
    for entry in layers::entries() {
        let Ok(Layer::Plain(layer)) = make(entry.name, "{}", &Device::cpu()) else { continue };
        let mut has_parts = false;
        layer.parts(&mut |_, _| has_parts = true);
        if !has_parts && keeps_shapes(&*layer) && entry.name != "identity" {
            let title = layer.type_name().unwrap_or(entry.of);
            text += &format!("  {}: \"{title}\",\n", camel(entry.name));
        }
    }
    text
}

/// The file's text.
pub fn generate() -> String {
    format!(
        "\
// The optimizers and activations of the catalogue, as written by `cargo test -p flambeau-web`: do not edit by hand.

/** The optimizers: what they are called, and the package's function. */
export const OPTIMIZERS = {{
{}}} as const;

/** The activations: the package's function, and what they are called. */
export const ACTIVATIONS = {{
{}}} as const;
",
        optimizers(),
        activations(),
    )
}
