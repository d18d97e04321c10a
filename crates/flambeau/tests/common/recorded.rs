//! What PyTorch's modules computed, as `tools/reference/recorder.py` wrote it, and the comparison with ours: names of
//! parameters, outputs, gradients of inputs and parameters.

use super::{devices, values};
use flambeau::prelude::*;
use safetensors::{Dtype, SafeTensors};
use std::collections::{BTreeMap, BTreeSet};

/// A file of reference values.
pub struct Recorded {
    file: SafeTensors<'static>,
}

impl Recorded {
    pub fn open(bytes: &'static [u8]) -> Recorded {
        Recorded { file: SafeTensors::deserialize(bytes).expect("the reference file is whole") }
    }

    pub fn case<'a>(&'a self, name: &'a str) -> Case<'a> {
        Case { recorded: self, name, tolerance: 1e-5 }
    }

    fn names(&self, prefix: &str) -> BTreeSet<String> {
        let names = self.file.names().into_iter();
        names.filter_map(|name| name.strip_prefix(prefix)).map(str::to_owned).collect()
    }

    /// The tensor of that name, on a device.
    pub fn tensor(&self, name: &str, device: &Device) -> Tensor {
        let view = self.file.tensor(name).unwrap_or_else(|_| panic!("{name} is not in the reference file"));
        let words = view.data().chunks_exact(4).map(|word| <[u8; 4]>::try_from(word).expect("four bytes"));
        let shape = view.shape().to_vec();
        match view.dtype() {
            Dtype::F32 => Tensor::from_vec(words.map(f32::from_le_bytes).collect::<Vec<_>>(), shape, device),
            Dtype::I32 => Tensor::from_vec(words.map(i32::from_le_bytes).collect::<Vec<_>>(), shape, device),
            Dtype::BOOL => {
                let flags: Vec<bool> = view.data().iter().map(|&byte| byte != 0).collect();
                Tensor::from_vec(flags, shape, device)
            }
            other => panic!("the reference file has no {other:?}"),
        }
    }
}

/// One module with its inputs and what came of them.
pub struct Case<'a> {
    recorded: &'a Recorded,
    name: &'a str,
    tolerance: f64,
}

/// The inputs of a case by name; all floats require a gradient.
pub struct Inputs(BTreeMap<String, Tensor>);

impl Inputs {
    pub fn get(&self, name: &str) -> &Tensor {
        &self.0[name]
    }

    pub fn find(&self, name: &str) -> Option<&Tensor> {
        self.0.get(name)
    }
}

impl Case<'_> {
    /// Another tolerance than 1e-5; say why.
    pub fn within(self, tolerance: f64) -> Self {
        Case { tolerance, ..self }
    }

    /// Puts PyTorch's values into the module; both must have the same names.
    #[track_caller]
    pub fn load(&self, module: &dyn Module, device: &Device) {
        let prefix = format!("{}/state/", self.name);
        let expected = self.recorded.names(&prefix);
        let state = module.state_dict();
        assert_eq!(state.names().map(str::to_owned).collect::<BTreeSet<_>>(), expected, "{}", self.name);
        let value = |name: &str| self.recorded.tensor(&format!("{prefix}{name}"), device);
        for (name, parameter) in module.named_parameters() {
            parameter.set(&value(&name));
        }
        for (name, buffer) in module.named_buffers() {
            buffer.set(&value(&name));
        }
    }

    /// Compares outputs and gradients on every device.
    #[track_caller]
    pub fn check<M: Module>(&self, make: impl Fn(&Device) -> M, call: impl Fn(&M, &Inputs) -> Vec<Tensor>) {
        for device in devices() {
            let module = make(&device);
            self.load(&module, &device);
            let prefix = format!("{}/in/", self.name);
            let input = |name: String| {
                let tensor = self.recorded.tensor(&format!("{prefix}{name}"), &device);
                let tensor = if tensor.dtype().is_float() { tensor.requires_grad() } else { tensor };
                (name, tensor)
            };
            let inputs = Inputs(self.recorded.names(&prefix).into_iter().map(input).collect());
            let outputs = call(&module, &inputs);
            let expected = self.recorded.names(&format!("{}/out/", self.name)).len();
            assert_eq!(outputs.len(), expected, "{}: outputs", self.name);
            for (k, output) in outputs.iter().enumerate() {
                self.compare(&format!("out/{k}"), output, &device);
            }
            if self.recorded.names(&format!("{}/grad/", self.name)).is_empty() {
                continue;
            }
            let weighted = outputs.iter().enumerate().map(|(k, output)| {
                let weights = (0..output.numel()).map(|i| ((i + k) as f64).cos() as f32).collect();
                (output * Tensor::from_vec::<f32>(weights, output.shape(), &device)).sum(..)
            });
            let total = weighted.reduce(|total, part| total + part).expect("an output");
            total.backward().unwrap();
            self.compare_gradients("in", inputs.0.iter().map(|(name, x)| (name.clone(), x.grad())), &device);
            // As PyTorch, which names tied parameters once.
            let mut seen = BTreeSet::new();
            let parameters = module.named_parameters().into_iter().filter(|(_, p)| seen.insert(p.id()));
            self.compare_gradients("state", parameters.map(|(name, p)| (name, p.grad())), &device);
        }
    }

    /// Every gradient that PyTorch has, and no other.
    #[track_caller]
    fn compare_gradients(
        &self,
        kind: &str,
        gradients: impl Iterator<Item = (String, Option<Tensor>)>,
        device: &Device,
    ) {
        let expected = self.recorded.names(&format!("{}/grad/{kind}/", self.name));
        let mut found = BTreeSet::new();
        for (name, gradient) in gradients {
            if let Some(gradient) = gradient {
                self.compare(&format!("grad/{kind}/{name}"), &gradient, device);
                found.insert(name);
            }
        }
        assert_eq!(found, expected, "{}: gradients", self.name);
    }

    #[track_caller]
    pub fn compare(&self, what: &str, got: &Tensor, device: &Device) {
        let name = format!("{}/{what}", self.name);
        let want = self.recorded.tensor(&name, &Device::cpu());
        assert_eq!(got.shape(), want.shape(), "{name} on {device}");
        for (k, (got, want)) in values(got).into_iter().zip(values(&want)).enumerate() {
            let close = got == want
                || (got - want).abs() <= self.tolerance * (1.0 + want.abs())
                || (got.is_nan() && want.is_nan());
            assert!(close, "{name} on {device}, element {k}: got {got}, want {want}");
        }
    }
}
