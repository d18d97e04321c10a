//! Parameters and buffers: shared slots for values that change from step to step.
//!
//! A tensor's value never changes; a slot's does. Modules and optimizers hold the same slot: reading it gives a
//! snapshot, a step puts a new value in. Snapshots taken before keep the value they had.

use crate::autograd::HookHandle;
use crate::autograd::function::{Edge, Leaf, next_id};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result, expect};
use crate::shape::Shape;
use crate::tensor::{Meta, Tensor};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// What parameters and buffers have in common: a place for one value of fixed shape and dtype.
#[derive(Debug)]
struct Slot {
    id: u64,
    meta: Meta,
    value: Mutex<Tensor>,
    name: Mutex<Option<String>>,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Slot {
    fn new(value: &Tensor) -> Slot {
        Slot {
            id: next_id(),
            meta: value.meta().clone(),
            value: Mutex::new(value.detach()),
            name: Mutex::default(),
        }
    }

    fn value(&self) -> Tensor {
        lock(&self.value).clone()
    }

    fn device(&self) -> Device {
        lock(&self.value).device().clone()
    }

    /// Refuses what does not fit this slot.
    fn check(&self, op: &'static str, given: &Tensor) -> Result<()> {
        let name = lock(&self.name).as_ref().map_or_else(|| "the slot".into(), |name| format!("`{name}`"));
        if *given.shape() != self.meta.shape {
            let message = format!("shape {} was given, {name} has {}", given.shape(), self.meta.shape);
            return Err(Error::shape(op, message));
        }
        if given.dtype() != self.meta.dtype {
            let message = format!("{} was given, {name} is {}", given.dtype(), self.meta.dtype);
            return Err(Error::dtype(op, message));
        }
        let device = self.device();
        if *given.device() != device {
            let (left, right) = (format!("{device:?}"), format!("{:?}", given.device()));
            return Err(Error::DeviceMismatch { op, left, right });
        }
        Ok(())
    }

    fn set(&self, op: &'static str, value: &Tensor) -> Result<()> {
        self.check(op, value)?;
        *lock(&self.value) = value.detach();
        Ok(())
    }

    /// Moves the value; everyone who holds the slot finds it there.
    async fn move_to(&self, device: &Device) -> Result<()> {
        let moved = self.value().to(device).await?;
        *lock(&self.value) = moved;
        Ok(())
    }
}

/// The methods that parameters and buffers share.
macro_rules! slot_methods {
    ($type:ident) => {
        impl $type {
            /// A number that no other slot of this process has; clones have the same.
            pub fn id(&self) -> u64 {
                self.slot().id
            }

            /// The name given to it, as in a state dict.
            pub fn name(&self) -> Option<String> {
                lock(&self.slot().name).clone()
            }

            /// Gives it a name, which errors will use.
            pub fn set_name(&self, name: impl Into<String>) {
                *lock(&self.slot().name) = Some(name.into());
            }

            /// The sizes of the dimensions.
            pub fn shape(&self) -> &Shape {
                &self.slot().meta.shape
            }

            /// The number of elements.
            pub fn numel(&self) -> usize {
                self.slot().meta.numel()
            }

            /// The element type.
            pub fn dtype(&self) -> DType {
                self.slot().meta.dtype
            }

            /// The device it lives on.
            pub fn device(&self) -> Device {
                self.slot().device()
            }

            /// Puts in a new value of the same shape, dtype and device. Snapshots taken before keep the old one.
            #[track_caller]
            pub fn set(&self, value: &Tensor) {
                expect(self.try_set(value))
            }

            /// [`set`](Self::set), or the error instead of a panic.
            pub fn try_set(&self, value: &Tensor) -> Result<()> {
                self.slot().set(concat!(stringify!($type), "::set"), value)
            }
        }
    };
}

/// A value that training changes, with its gradient. Clones share it: modules, optimizers and tied layers alike.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::Parameter;
/// let w = Parameter::new(&Tensor::new([1.0, 2.0], &Device::cpu()));
/// let before = w.get();
/// (w.get() * w.get()).sum(..).backward()?;
/// assert_eq!(w.grad().unwrap().to_string(), "tensor([2., 4.])");
/// w.set(&(w.value() - w.grad().unwrap() * 0.5));
/// assert_eq!(w.value().to_string(), "tensor([0., 0.])");
/// assert_eq!(before.detach().to_string(), "tensor([1., 2.])");
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct Parameter(Arc<Trained>);

struct Trained {
    slot: Slot,
    /// Gathers the gradients of all snapshots.
    leaf: Arc<Leaf>,
    requires_grad: Mutex<bool>,
}

slot_methods!(Parameter);

impl Parameter {
    /// A parameter with this first value, which must be of a float dtype.
    #[track_caller]
    pub fn new(value: &Tensor) -> Parameter {
        expect(Parameter::try_new(value))
    }

    /// [`new`](Parameter::new), or the error instead of a panic.
    pub fn try_new(value: &Tensor) -> Result<Parameter> {
        if !value.dtype().is_float() {
            return Err(Error::dtype_not_accepted("Parameter::new", value.dtype(), "a float dtype"));
        }
        let (slot, leaf) = (Slot::new(value), Arc::default());
        Ok(Parameter(Arc::new(Trained { slot, leaf, requires_grad: Mutex::new(true) })))
    }

    fn slot(&self) -> &Slot {
        &self.0.slot
    }

    /// A snapshot through which gradients flow into the parameter; an untracked one when it is frozen.
    pub fn get(&self) -> Tensor {
        let value = self.value();
        match self.requires_grad() {
            true => Tensor::from_parts(value.value().clone(), Some(Edge::Leaf(self.0.leaf.clone()))),
            false => value,
        }
    }

    /// A snapshot without history.
    pub fn value(&self) -> Tensor {
        self.slot().value()
    }

    /// Puts back a value that it had, wherever that lies.
    pub(crate) fn restore(&self, value: &Tensor) {
        *lock(&self.slot().value) = value.clone();
    }

    /// Is its present value this very tensor?
    pub(crate) fn holds(&self, value: &Tensor) -> bool {
        lock(&self.slot().value).is_same(value)
    }

    /// Was its value taken in lower precision since the last copy of it was made?
    pub(crate) fn wants_lower_copy(&self) -> bool {
        self.0.leaf.wants_lower_copy()
    }

    /// What mixed precision takes instead of casting the present value, as long as that is `of`.
    pub(crate) fn set_lower_copy(&self, of: &Tensor, copy: Tensor) {
        self.0.leaf.set_lower_copy(of.value(), copy);
    }

    /// The gradient that backward passes have gathered.
    pub fn grad(&self) -> Option<Tensor> {
        self.0.leaf.grad()
    }

    /// Replaces the gradient, as clipping does; it must fit the parameter.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let w = flambeau::nn::Parameter::new(&Tensor::ones([2], &Device::cpu()));
    /// (w.get() * 5.0).sum(..).backward()?;
    /// w.set_grad(Some(&(w.grad().unwrap() * 0.5)))?;
    /// assert_eq!(w.grad().unwrap().to_string(), "tensor([2.5000, 2.5000])");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn set_grad(&self, grad: Option<&Tensor>) -> Result<()> {
        if let Some(grad) = grad {
            self.slot().check("Parameter::set_grad", grad)?;
        }
        self.0.leaf.set_grad(grad.cloned());
        Ok(())
    }

    /// Forgets the gradient.
    pub fn zero_grad(&self) {
        self.0.leaf.set_grad(None);
    }

    /// Does it gather gradients?
    pub fn requires_grad(&self) -> bool {
        *lock(&self.0.requires_grad)
    }

    /// Freezes the parameter (`false`) or lets it learn again. Optimizers leave a frozen one alone.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let w = flambeau::nn::Parameter::new(&Tensor::ones([2], &Device::cpu()));
    /// w.set_requires_grad(false);
    /// assert!(!w.get().is_tracked());
    /// ```
    pub fn set_requires_grad(&self, requires_grad: bool) {
        *lock(&self.0.requires_grad) = requires_grad;
    }

    /// Moves value to another device, for everyone who holds it. The gradient is forgotten.
    pub(crate) async fn move_to(&self, device: &Device) -> Result<()> {
        self.zero_grad();
        self.0.leaf.forget_lower_copy();
        self.slot().move_to(device).await
    }

    /// Calls `hook` with the gradient of every backward pass; see [`Tensor::register_hook`].
    pub fn register_hook(
        &self,
        hook: impl Fn(&Tensor) -> Option<Tensor> + Send + Sync + 'static,
    ) -> HookHandle {
        let edge = Edge::Leaf(self.0.leaf.clone());
        HookHandle { id: edge.add_hook(Arc::new(hook)), edge: edge.downgrade() }
    }
}

impl std::fmt::Debug for Parameter {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let name = self.name().unwrap_or_default();
        write!(f, "Parameter({name} {} {} on {})", self.dtype(), self.shape(), self.device())
    }
}

/// A value that a module keeps without a gradient, such as running statistics. Clones share it.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::nn::Buffer;
/// let mean = Buffer::new(&Tensor::zeros([2], &Device::cpu()));
/// mean.set(&(mean.get() * 0.9 + 0.1));
/// assert_eq!(mean.get().to_string(), "tensor([0.1000, 0.1000])");
/// ```
#[derive(Clone, Debug)]
pub struct Buffer(Arc<Slot>);

/// Another value in a slot, with its history, until it is dropped: then the slot has the value from before.
pub(crate) enum Substitute {
    Parameter(Parameter, Tensor, bool),
    Buffer(Buffer, Tensor),
}

impl Substitute {
    /// `op` is what errors name.
    pub fn of_parameter(op: &'static str, parameter: &Parameter, value: &Tensor) -> Result<Substitute> {
        parameter.slot().check(op, value)?;
        let before = std::mem::replace(&mut *lock(&parameter.slot().value), value.clone());
        // The slot's own leaf would take the place of the value's history.
        let required = parameter.requires_grad();
        parameter.set_requires_grad(false);
        Ok(Substitute::Parameter(parameter.clone(), before, required))
    }

    /// A value that may lie on another device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn of_parameter_elsewhere(parameter: &Parameter, value: &Tensor) -> Substitute {
        let before = std::mem::replace(&mut *lock(&parameter.slot().value), value.clone());
        let required = parameter.requires_grad();
        parameter.set_requires_grad(false);
        Substitute::Parameter(parameter.clone(), before, required)
    }

    /// A value that may lie on another device.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn of_buffer_elsewhere(buffer: &Buffer, value: &Tensor) -> Substitute {
        let before = std::mem::replace(&mut *lock(&buffer.slot().value), value.clone());
        Substitute::Buffer(buffer.clone(), before)
    }

    pub fn of_buffer(op: &'static str, buffer: &Buffer, value: &Tensor) -> Result<Substitute> {
        buffer.slot().check(op, value)?;
        let before = std::mem::replace(&mut *lock(&buffer.slot().value), value.clone());
        Ok(Substitute::Buffer(buffer.clone(), before))
    }
}

impl Drop for Substitute {
    fn drop(&mut self) {
        match self {
            Substitute::Parameter(parameter, before, required) => {
                *lock(&parameter.slot().value) = before.clone();
                parameter.set_requires_grad(*required);
            }
            Substitute::Buffer(buffer, before) => *lock(&buffer.slot().value) = before.clone(),
        }
    }
}

slot_methods!(Buffer);

impl Buffer {
    /// A buffer with this first value.
    pub fn new(value: &Tensor) -> Buffer {
        Buffer(Arc::new(Slot::new(value)))
    }

    fn slot(&self) -> &Slot {
        &self.0
    }

    /// A snapshot, without history.
    pub fn get(&self) -> Tensor {
        self.slot().value()
    }

    /// Puts back a value that it had, wherever that lies.
    pub(crate) fn restore(&self, value: &Tensor) {
        *lock(&self.slot().value) = value.clone();
    }

    /// Moves the value to another device, for everyone who holds it.
    pub(crate) async fn move_to(&self, device: &Device) -> Result<()> {
        self.slot().move_to(device).await
    }
}
