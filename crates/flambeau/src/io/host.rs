//! Tensors in host memory, on their way into a file.

use super::StateDict;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use crate::tensor::read::read_bytes;
use std::collections::HashSet;

/// A named tensor whose bytes (little-endian, row-major) are here.
pub(super) struct HostTensor {
    pub name: String,
    pub dtype: DType,
    pub dims: Vec<usize>,
    pub bytes: Vec<u8>,
}

/// All tensors of a state, in order, with one wait for each device they are on.
pub(super) async fn read_back(op: &'static str, tensors: &StateDict) -> Result<Vec<HostTensor>> {
    let mut names = HashSet::new();
    if let Some(twice) = tensors.names().find(|&name| !names.insert(name)) {
        return Err(Error::State(format!("{op}: two tensors are named `{twice}`")));
    }
    let mut bytes: Vec<Vec<u8>> = vec![Vec::new(); tensors.len()];
    for device in devices_of(tensors) {
        let here: Vec<(usize, &Tensor)> = tensors
            .iter()
            .map(|(_, tensor)| tensor)
            .enumerate()
            .filter(|(_, tensor)| *tensor.device() == device)
            .collect();
        let handles: Vec<&Tensor> = here.iter().map(|&(_, tensor)| tensor).collect();
        for ((place, _), read) in here.iter().zip(read_bytes(op, &handles).await?) {
            bytes[*place] = read;
        }
    }
    let host = |((name, tensor), bytes): ((&str, &Tensor), Vec<u8>)| HostTensor {
        name: name.to_owned(),
        dtype: tensor.dtype(),
        dims: tensor.shape().dims().to_vec(),
        bytes,
    };
    Ok(tensors.iter().zip(bytes).map(host).collect())
}

fn devices_of(tensors: &StateDict) -> Vec<Device> {
    let mut devices: Vec<Device> = Vec::new();
    for (_, tensor) in tensors.iter() {
        if !devices.contains(tensor.device()) {
            devices.push(tensor.device().clone());
        }
    }
    devices
}
