//! What bindings for other languages need beyond the public API: the op table and the optimizers as lists, and handles
//! that do not count. How ops are called is in `calls`.

pub use crate::op::{METHODS, SIGNATURES};
pub use crate::optim::catalogue as optimizers;
pub use crate::tensor::QuietTensor;

use crate::error::{Error, Result};
use crate::op::Meta;
use crate::op::elementwise::{Elementwise, Operand, Signature, apply, table};
use crate::shape::Shape;
use crate::{DType, Device, Tensor};
use std::sync::OnceLock;

/// The table's entries that scripts may call: all but the sources of random numbers and those that have a method of
/// their own with another form (`pow`, `where_cond`).
fn callable() -> &'static [&'static Elementwise] {
    static CALLABLE: OnceLock<Vec<&'static Elementwise>> = OnceLock::new();
    let has_form = |op: &&Elementwise| {
        op.name != "pow" && !matches!(op.signature, Signature::Select | Signature::FromBits)
    };
    CALLABLE.get_or_init(|| table().filter(has_form).collect())
}

/// Names of the elementwise ops and of their operands, in a fixed order.
pub fn elementwise_ops() -> Vec<(&'static str, &'static [&'static str])> {
    callable().iter().map(|op| (op.name, op.args)).collect()
}

/// The number of elementwise ops.
pub fn elementwise_count() -> usize {
    callable().len()
}

/// The number of operands of an elementwise op.
pub fn elementwise_arity(index: usize) -> usize {
    callable()[index].args.len()
}

/// Applies the elementwise op with this place in [`elementwise_ops`].
pub fn elementwise(index: usize, first: &Tensor, others: Vec<Operand>) -> Result<Tensor> {
    let op = callable().get(index).ok_or_else(|| Error::argument("elementwise", format!("no op {index}")))?;
    let others: Vec<Tensor> = others.into_iter().map(|other| other.beside(first)).collect();
    let operands: Vec<&Tensor> = std::iter::once(first).chain(&others).collect();
    apply(op, &operands)
}

/// A tensor of these bytes, little-endian, in row-major order.
pub fn from_bytes(bytes: &[u8], shape: &[usize], dtype: DType, device: &Device) -> Result<Tensor> {
    let meta = Meta::new(Shape::from(shape), dtype);
    let needed = meta.bytes();
    if bytes.len() as u64 != needed {
        let message =
            format!("{} bytes are given, {dtype} of shape {} has {needed}", bytes.len(), meta.shape);
        return Err(Error::shape("tensor", message));
    }
    Tensor::from_bytes(bytes, meta, device)
}
