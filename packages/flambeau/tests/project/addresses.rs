//! What a program in a page fetches by itself: a data set and weights from addresses.

use flambeau::data::{Dataset, Mnist};
use flambeau::io::{Matching, fetch, load_url};
use flambeau::nn::Linear;
use flambeau::prelude::*;
use wasm_bindgen::prelude::*;

/// Digits of MNIST, and the first labels of the training set.
#[wasm_bindgen]
pub async fn digits(folder: String) -> std::result::Result<String, JsError> {
    let mnist = Mnist::from_url(&folder).await?;
    let first = &mnist.train.labels()[..5];
    Ok(format!("{} {} {first:?}", mnist.train.len(), mnist.test.len()))
}

/// What a layer with these weights makes of ones.
#[wasm_bindgen]
pub async fn answer(weights: String) -> std::result::Result<String, JsError> {
    let device = Device::cpu();
    let layer = Linear::new(3, 2, &device);
    let loaded = load_url(&weights, &device).await?;
    layer.load_state_dict(&loaded.tensors, Matching::Strict)?;
    let answer = layer.try_forward(&Tensor::ones([1, 3], &device))?.to_vec::<f32>().await?;
    Ok(format!("{answer:?}"))
}

/// Why the bytes at an address cannot be had.
#[wasm_bindgen]
pub async fn refusal(address: String, limit: u32) -> String {
    fetch(&address, limit.into()).await.map_or_else(|error| error.to_string(), |bytes| format!("{} bytes", bytes.len()))
}
