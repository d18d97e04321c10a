//! Checks cases against PyTorch's values, which a script of `tools/reference` wrote: results, gradients, and where the
//! file has them gradients of gradients, on every device.

use super::{assert_close, devices, values};
use flambeau::prelude::*;
use safetensors::{Dtype, SafeTensors};

/// PyTorch's inputs and results.
pub struct Reference {
    file: SafeTensors<'static>,
}

/// How far results may be off, absolutely and relatively.
const TOLERANCE: f64 = 1e-5;

/// The inputs of a case, on a device.
pub struct Inputs<'a> {
    reference: &'a Reference,
    pub device: &'a Device,
}

impl Inputs<'_> {
    /// An input, in the dtype Flambeau would have it.
    pub fn get(&self, name: &str) -> Tensor {
        let (shape, dtype, values) =
            self.reference.find(&format!("in.{name}")).expect("an input of that name");
        let floats: Vec<f32> = values.iter().map(|&value| value as f32).collect();
        Tensor::from_slice(&floats, shape, self.device).to_dtype(dtype_here(dtype))
    }
}

fn dtype_here(dtype: Dtype) -> DType {
    match dtype {
        Dtype::F64 => DType::F32,
        Dtype::I64 => DType::I32,
        Dtype::BOOL => DType::Bool,
        other => panic!("the reference file has no {other:?}"),
    }
}

fn weights(like: &Tensor, function: impl Fn(f64) -> f64) -> Tensor {
    let values: Vec<f32> = (0..like.numel()).map(|k| function(k as f64) as f32).collect();
    Tensor::from_slice(&values, like.shape(), like.device())
}

fn grads(loss: Tensor, leaves: &[Tensor]) -> Vec<Option<Tensor>> {
    let create = BackwardOptions { create_graph: true, ..Default::default() };
    grad(&[loss], leaves, create).unwrap()
}

impl Reference {
    pub fn open(bytes: &'static [u8]) -> Reference {
        let file = SafeTensors::deserialize(bytes).expect("the reference file is whole");
        Reference { file }
    }

    fn find(&self, name: &str) -> Option<(Vec<usize>, Dtype, Vec<f64>)> {
        let view = self.file.tensor(name).ok()?;
        let words = view.data().chunks_exact(8).map(|word| <[u8; 8]>::try_from(word).expect("eight bytes"));
        let values = match view.dtype() {
            Dtype::F64 => words.map(f64::from_le_bytes).collect(),
            Dtype::I64 => words.map(|word| i64::from_le_bytes(word) as f64).collect(),
            Dtype::BOOL => view.data().iter().map(|&byte| f64::from(byte)).collect(),
            other => panic!("the reference file has no {other:?}"),
        };
        Some((view.shape().to_vec(), view.dtype(), values))
    }

    /// Checks a case whose gradients are taken with respect to the named inputs.
    pub fn case(&self, name: &str, names: &[&str], run: impl Fn(&[Tensor], &Inputs) -> Tensor) {
        for device in devices() {
            let inputs = Inputs { reference: self, device: &device };
            let leaves: Vec<Tensor> = names.iter().map(|input| inputs.get(input).requires_grad()).collect();
            let out = run(&leaves, &inputs);
            let mut results = vec![(format!("{name}.out"), out.detach())];
            if !names.is_empty() {
                let first = grads((&out * weights(&out, f64::cos)).sum(..), &leaves);
                let first: Vec<Tensor> = first.into_iter().map(|grad| grad.unwrap()).collect();
                for (input, grad) in names.iter().zip(&first) {
                    results.push((format!("{name}.grad.{input}"), grad.detach()));
                }
                if self.find(&format!("{name}.grad2.{}", names[0])).is_some() {
                    results.extend(self.second(name, names, &leaves, &first));
                }
            }
            // All in one plan.
            eval(&results.iter().map(|(_, tensor)| tensor).collect::<Vec<_>>()).unwrap();
            results.iter().for_each(|(name, tensor)| self.compare(name, tensor));
        }
    }

    /// The gradients of the gradients; a result that is linear in an input has none there, which PyTorch's file has as
    /// zeros.
    fn second(
        &self,
        name: &str,
        names: &[&str],
        leaves: &[Tensor],
        first: &[Tensor],
    ) -> Vec<(String, Tensor)> {
        let terms = first.iter().map(|grad| (grad * weights(grad, |k| (1.0 + k).sin())).sum(..));
        let loss = terms.reduce(|sum, term| sum + term).unwrap();
        let seconds = match loss.is_tracked() {
            true => grads(loss, leaves),
            false => vec![None; leaves.len()],
        };
        let named = names.iter().zip(leaves).zip(seconds).map(|((input, leaf), second)| {
            let second = second.unwrap_or_else(|| leaf.detach().zeros_like());
            (format!("{name}.grad2.{input}"), second.detach())
        });
        named.collect()
    }

    fn compare(&self, name: &str, got: &Tensor) {
        let (shape, dtype, expected) = self.find(name).unwrap_or_else(|| panic!("no reference for {name}"));
        assert_eq!(got.shape().dims(), shape, "shape of {name}");
        assert_eq!(got.dtype(), dtype_here(dtype), "dtype of {name}");
        println!("{name} on {}", got.device());
        assert_close(&values(got), &expected, TOLERANCE, TOLERANCE);
    }

    /// Panics if a case of the file is not named in the test's source, which may leave out an ending after `_`.
    pub fn all_named_in(&self, source: &str, endings: &[&str]) {
        for name in self.file.names().iter().filter_map(|name| name.strip_suffix(".out")) {
            let stem = endings.iter().find_map(|ending| name.strip_suffix(ending)).unwrap_or(name);
            let named = [name, stem].iter().any(|name| source.contains(&format!("\"{name}\"")));
            assert!(named, "{name} is in the reference file but not in the test");
        }
    }
}
