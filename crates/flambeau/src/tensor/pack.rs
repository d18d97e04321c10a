//! Many tensors as parts of one flat tensor: how optimizers hold a model.

use super::Tensor;
use super::node::{Node, State, Storage, Value};
use crate::error::{Error, Result};
use crate::op::pack::Pack;
use crate::op::{Meta, Op, StructuredOp};
use crate::shape::Shape;
use smallvec::smallvec;
use std::panic::Location;
use std::sync::Arc;

impl Tensor {
    /// A flat tensor of `len` elements with the elements of each tensor from its start on. What lies between is not
    /// to be looked at: on the GPU it holds anything.
    #[track_caller]
    pub(crate) fn pack(tensors: &[Tensor], starts: &[usize], len: usize) -> Result<Tensor> {
        let flat = tensors.iter().map(|tensor| tensor.try_reshape([tensor.numel()]));
        let flat = flat.collect::<Result<Vec<Tensor>>>()?;
        let op = Op::Structured(StructuredOp::Pack(Pack { starts: starts.to_vec() }));
        Tensor::from_op(op, &flat, Meta::new([len], tensors[0].dtype()))
    }

    /// The part of this flat, evaluated tensor that starts at `start`, in that shape, as a value of its own: on the
    /// GPU it shares the memory. Starts must be multiples of 64.
    #[track_caller]
    pub(crate) fn evaluated_part(&self, start: usize, shape: &Shape) -> Result<Tensor> {
        let unevaluated = || Error::argument("evaluated_part", "the tensor has not been evaluated");
        let whole = self.value().storage().ok_or_else(unevaluated)?;
        let meta = Meta::new(shape, self.dtype());
        let buffer = whole.buffer.part(self.dtype(), start, meta.numel());
        let storage = Storage { buffer, run: whole.run, guarded: whole.guarded };
        let state = State::Ready(smallvec![Arc::new(storage)]);
        let node = Node::new(self.device().clone(), smallvec![meta], Location::caller(), state);
        Ok(Tensor::from_parts(Value { node, output: 0 }, None))
    }
}
