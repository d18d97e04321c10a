//! Writing `.pt` files: an `OrderedDict` of tensors in pickle protocol 2, with a storage each.

use crate::dtype::{DType, Element};
use crate::error::Result;
use crate::io::host::{HostTensor, read_back};
use crate::io::state::StateDict;
use crate::io::zip::Builder;

/// A file that `torch.load(…)` reads, `weights_only=True` included, as an `OrderedDict` of tensors. U32, which PyTorch
/// 1.13 does not have, is written as int64.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::{PytorchOptions, StateDict, read_pytorch, write_pytorch};
/// # flambeau::block_on(async {
/// let state = StateDict::from_iter([("w".to_string(), Tensor::ones([2], &Device::cpu()))]);
/// let bytes = write_pytorch(&state).await?;
/// assert_eq!(read_pytorch(&bytes, &PytorchOptions::default(), &Device::cpu())?.tensors.len(), 1);
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub async fn write_pytorch(tensors: &StateDict) -> Result<Vec<u8>> {
    encode(read_back("write_pytorch", tensors).await?)
}

fn encode(mut tensors: Vec<HostTensor>) -> Result<Vec<u8>> {
    const ROOT: &str = "archive";
    for tensor in tensors.iter_mut().filter(|tensor| tensor.dtype == DType::U32) {
        let wide: Vec<i64> = u32::from_bytes(&tensor.bytes).into_iter().map(i64::from).collect();
        (tensor.dtype, tensor.bytes) = (DType::I64, i64::to_bytes(&wide));
    }
    let mut archive = Builder::new();
    archive.add(&format!("{ROOT}/data.pkl"), &pickle(&tensors))?;
    for (key, tensor) in tensors.iter().enumerate() {
        archive.add(&format!("{ROOT}/data/{key}"), &tensor.bytes)?;
    }
    archive.add(&format!("{ROOT}/version"), b"3\n")?;
    Ok(archive.finish())
}

fn storage_type(dtype: DType) -> &'static str {
    match dtype {
        DType::Bool => "BoolStorage",
        DType::U8 => "ByteStorage",
        DType::I32 => "IntStorage",
        DType::U32 | DType::I64 => "LongStorage",
        DType::F16 => "HalfStorage",
        DType::F32 => "FloatStorage",
        DType::F64 => "DoubleStorage",
    }
}

/// `OrderedDict([(name, _rebuild_tensor_v2(storage, 0, size, stride, False, OrderedDict())), …])`
fn pickle(tensors: &[HostTensor]) -> Vec<u8> {
    let mut out = vec![0x80, 2];
    ordered_dict(&mut out);
    out.push(b'(');
    for (key, tensor) in tensors.iter().enumerate() {
        text(&mut out, &tensor.name);
        global(&mut out, "torch._utils", "_rebuild_tensor_v2");
        out.extend(b"((");
        text(&mut out, "storage");
        global(&mut out, "torch", storage_type(tensor.dtype));
        text(&mut out, &key.to_string());
        text(&mut out, "cpu");
        integer(&mut out, tensor.bytes.len() / tensor.dtype.size());
        out.extend(b"tQ");
        integer(&mut out, 0);
        tuple(&mut out, &tensor.dims);
        tuple(&mut out, &strides(&tensor.dims));
        out.push(0x89);
        ordered_dict(&mut out);
        out.extend(b"tR");
    }
    out.extend(b"u.");
    out
}

/// Steps of a contiguous tensor, as PyTorch counts them when a size is 0.
fn strides(dims: &[usize]) -> Vec<usize> {
    let mut strides = vec![1; dims.len()];
    for d in (1..dims.len()).rev() {
        strides[d - 1] = strides[d] * dims[d].max(1);
    }
    strides
}

fn ordered_dict(out: &mut Vec<u8>) {
    global(out, "collections", "OrderedDict");
    out.extend(b")R");
}

fn global(out: &mut Vec<u8>, module: &str, name: &str) {
    out.extend(format!("c{module}\n{name}\n").as_bytes());
}

fn text(out: &mut Vec<u8>, text: &str) {
    out.push(b'X');
    out.extend((text.len() as u32).to_le_bytes());
    out.extend(text.as_bytes());
}

fn integer(out: &mut Vec<u8>, value: usize) {
    if let Ok(value) = i32::try_from(value) {
        out.push(b'J');
        out.extend(value.to_le_bytes());
    } else {
        out.extend([0x8a, 8]);
        out.extend((value as i64).to_le_bytes());
    }
}

fn tuple(out: &mut Vec<u8>, values: &[usize]) {
    out.push(b'(');
    values.iter().for_each(|&value| integer(out, value));
    out.push(b't');
}

#[cfg(not(target_arch = "wasm32"))]
pub use native::{save_pytorch, save_pytorch_blocking, write_pytorch_blocking};

#[cfg(not(target_arch = "wasm32"))]
mod native {
    use super::*;
    use crate::io::atomic::write_atomically;
    use std::io::Write;
    use std::path::Path;

    /// [`write_pytorch`] to a file, in one step (see [`write_atomically`]).
    pub async fn save_pytorch(path: impl AsRef<Path>, tensors: &StateDict) -> Result<()> {
        let bytes = encode(read_back("save_pytorch", tensors).await?)?;
        write_atomically(path, |file| file.write_all(&bytes))
    }

    /// [`save_pytorch`], blocking.
    pub fn save_pytorch_blocking(path: impl AsRef<Path>, tensors: &StateDict) -> Result<()> {
        pollster::block_on(save_pytorch(path, tensors))
    }

    /// [`write_pytorch`], blocking.
    pub fn write_pytorch_blocking(tensors: &StateDict) -> Result<Vec<u8>> {
        pollster::block_on(write_pytorch(tensors))
    }
}
