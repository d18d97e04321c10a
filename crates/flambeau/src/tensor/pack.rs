//! Many tensors as parts of one flat tensor: how optimizers hold a model.

use super::Tensor;
use super::node::Storage;
use crate::dtype::DType;
use crate::error::Result;
use crate::ir::program::FiniteCheck;
use crate::op::pack::Pack;
use crate::op::{Meta, Op, StructuredOp};
use crate::shape::Shape;
use std::sync::Arc;

impl Tensor {
    /// A flat tensor of `len` elements with the elements of each tensor from its start on. What lies between is not
    /// to be looked at: on the GPU it holds anything.
    #[track_caller]
    pub(crate) fn pack(tensors: &[Tensor], starts: &[usize], len: usize) -> Result<Tensor> {
        let flat = tensors.iter().map(|tensor| tensor.try_reshape([tensor.numel()]));
        let flat = flat.collect::<Result<Vec<Tensor>>>()?;
        let op = Op::Structured(StructuredOp::Pack(Pack { starts: starts.to_vec(), fills_gaps: true }));
        Tensor::from_op(op, &flat, Meta::new([len], tensors[0].dtype()))
    }

    /// Are the numbers in the windows that the check names finite? If it faults, one that is not is a fault.
    #[track_caller]
    pub(crate) fn all_finite(&self, check: FiniteCheck) -> Result<Tensor> {
        let op = Op::Structured(StructuredOp::RequireFinite(check));
        Tensor::from_op(op, &[self.detach()], Meta::new([], DType::Bool))
    }

    /// The flat tensor of `len` elements whose [`evaluated_part`](Tensor::evaluated_part)s from these starts on these
    /// tensors are, if they are that.
    pub(crate) fn whole_of(parts: &[Tensor], starts: &[usize], len: usize) -> Option<Tensor> {
        let first = parts.first()?;
        let (dtype, storage) = (first.dtype(), first.value().storage()?);
        let whole = storage.buffer.whole(dtype, starts[0], len)?;
        for (part, &start) in parts.iter().zip(starts) {
            let other = part.value().storage()?.buffer.whole(part.dtype(), start, len)?;
            if part.dtype() != dtype || !other.is(&whole) {
                return None;
            }
        }
        let storage = Storage { buffer: whole, ..(*storage).clone() };
        first.evaluated(storage, [len].into())
    }

    /// The part of this flat, evaluated tensor that starts at `start`, in that shape, as a value of its own: on the
    /// GPU it shares the memory. Starts must be multiples of 256 bytes. None if the tensor has not been evaluated.
    #[track_caller]
    pub(crate) fn evaluated_part(&self, start: usize, shape: &Shape) -> Option<Tensor> {
        let whole = self.value().storage()?;
        let buffer = whole.buffer.part(self.device().backend(), self.dtype(), start, shape.numel());
        let storage = Storage { buffer, ..(*whole).clone() };
        self.evaluated(storage, shape.clone())
    }

    /// A value that is there already, of this tensor's dtype and on its device.
    #[track_caller]
    fn evaluated(&self, storage: Storage, shape: Shape) -> Option<Tensor> {
        Tensor::from_storage(Arc::new(storage), Meta::new(shape, self.dtype()), self.device()).ok()
    }
}
