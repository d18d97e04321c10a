//! Keys and values that a transformer has computed for the tokens so far.

use crate::error::{Error, Result};
use crate::tensor::Tensor;

/// The keys and values of all layers for the tokens so far, so that a new token costs one step and not a whole context.
///
/// Its size is fixed: a new token fills a place, and the place is a number of the graph's nodes, not part of its
/// structure. Every new token therefore runs the same plan.
///
/// ```
/// use flambeau::{nn::models::{Gpt, GptConfig}, prelude::*};
/// let config = GptConfig { vocabulary: 9, context: 8, layers: 1, heads: 2, width: 4, ..Default::default() };
/// let cache = Gpt::new(config, &Device::cpu()).cache(1);
/// assert_eq!((cache.len(), cache.context()), (0, 8));
/// ```
#[derive(Debug, Clone)]
pub struct KvCache {
    /// Keys and values of each layer, (B, heads, context, d); zeros in the places to come.
    layers: Vec<(Tensor, Tensor)>,
    context: usize,
    length: usize,
}

impl KvCache {
    /// Nothing yet, for `layers` layers and keys and values of this shape, (B, heads, context, d).
    pub(super) fn new(layers: usize, zeros: &Tensor) -> KvCache {
        let layers = vec![(zeros.clone(), zeros.clone()); layers];
        KvCache { layers, context: zeros.size(2), length: 0 }
    }

    /// Tokens so far.
    pub fn len(&self) -> usize {
        self.length
    }

    /// Is there no token yet?
    pub fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Tokens that it can hold.
    pub fn context(&self) -> usize {
        self.context
    }

    /// Refuses what does not fit.
    pub(super) fn check(&self, layers: usize, batch: usize, tokens: usize) -> Result<()> {
        let fits =
            self.layers.len() == layers && self.layers.first().is_none_or(|(keys, _)| keys.size(0) == batch);
        if !fits {
            let message = format!("the cache was not made for {layers} layers and a batch of {batch}");
            return Err(Error::shape("KvCache", message));
        }
        if tokens == 0 || self.length + tokens > self.context {
            let KvCache { length, context, .. } = self;
            let message = format!("{tokens} tokens after {length} do not fit a context of {context}");
            return Err(Error::argument("KvCache", message));
        }
        Ok(())
    }

    /// Puts new keys and values (B, heads, T, d) of a layer after those so far; gives all, with zeros at the end.
    pub(super) fn extend(&mut self, layer: usize, key: &Tensor, value: &Tensor) -> Result<(Tensor, Tensor)> {
        let place = |new: &Tensor, all: &Tensor| {
            // Zeros plus the new ones: nothing is there yet.
            all.try_add(new.embed(2, self.context, self.length as i64, 1)?)
        };
        let (keys, values) = &self.layers[layer];
        let extended = (place(key, keys)?, place(value, values)?);
        self.layers[layer] = extended.clone();
        Ok(extended)
    }

    /// Counts tokens whose keys and values all layers have taken.
    pub(super) fn advance(&mut self, tokens: usize) {
        self.length += tokens;
    }

    pub(super) fn tensors(&self) -> impl Iterator<Item = &Tensor> {
        self.layers.iter().flat_map(|(keys, values)| [keys, values])
    }
}
