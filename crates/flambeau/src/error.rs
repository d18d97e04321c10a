//! The errors of the library: values with names in them (op, shapes, dtype, device, bytes).
//!
//! Every fallible method `try_x` returns one of these; its twin `x` panics with the same message at the
//! caller's line. Nothing here prints or panics.

use crate::dtype::DType;
use crate::shape::Shape;

/// What went wrong, with the op, shapes, dtypes, devices or bytes concerned.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// The shapes given to an op do not fit together.
    #[error("{op}: {message}")]
    Shape {
        /// The op that refused.
        op: &'static str,
        /// What does not fit, with the shapes in it.
        message: String,
    },
    /// A dtype that the op or the device does not take.
    #[error("{op}: {message}")]
    DType {
        /// The op that refused.
        op: &'static str,
        /// What was given and what is accepted.
        message: String,
    },
    /// Two tensors of one op live on different devices.
    #[error("{op}: the operands are on different devices ({left} and {right}); move one with `to(&device)`")]
    DeviceMismatch {
        /// The op that refused.
        op: &'static str,
        /// The first operand's device.
        left: String,
        /// The other operand's device.
        right: String,
    },
    /// An argument outside what the op accepts.
    #[error("{op}: {message}")]
    Argument {
        /// The op that refused.
        op: &'static str,
        /// What was given and what is accepted.
        message: String,
    },
    /// An index read from a tensor is outside the dimension it indexes.
    #[error(
        "{op}: index {index} is out of range for a dimension of size {size} (node created at {location})"
    )]
    IndexOutOfRange {
        /// The op that indexes.
        op: &'static str,
        /// The first offending index.
        index: i64,
        /// The size of the dimension indexed.
        size: usize,
        /// The line that created the node.
        location: String,
    },
    /// A matrix that a decomposition cannot take: it is singular, or not positive definite.
    #[error("{op}: matrix {batch} of the batch is {what} (node created at {location})")]
    Matrix {
        /// The op.
        op: &'static str,
        /// The matrix's number, counted along all leading dimensions.
        batch: usize,
        /// What it is.
        what: &'static str,
        /// The line that created the node.
        location: String,
    },
    /// Debug mode found a NaN in a result.
    #[error("{op}: the result has a NaN (node created at {location})")]
    NotANumber {
        /// The op whose result it is.
        op: &'static str,
        /// The line that created the node.
        location: String,
    },
    /// An optimizer that was asked to look found a NaN or an infinity; see `Optimizer::require_finite`.
    #[error(
        "{op}: the {what} of parameter {parameter} is not finite at element {element}; nothing has moved in this step"
    )]
    NotFinite {
        /// The optimizer.
        op: &'static str,
        /// The gradient, or the new value.
        what: &'static str,
        /// The parameter's number in the optimizer's list.
        parameter: usize,
        /// The first element found.
        element: usize,
    },
    /// A value was computed in the same stretch of work as a fault, and cannot be trusted.
    #[error("this value was computed after a fault on the device and cannot be trusted; the fault was: {0}")]
    Poisoned(Box<Error>),
    /// Autograd cannot do what was asked.
    #[error("autograd: {0}")]
    Autograd(String),
    /// No adapter fits the request.
    #[error("no suitable GPU adapter found: {0}")]
    NoAdapter(String),
    /// The device cannot do this at all (a missing feature).
    #[error("{device}: {message}")]
    Unsupported {
        /// The device.
        device: String,
        /// What is missing.
        message: String,
    },
    /// The GPU went away (driver reset, unplugged, destroyed). Its tensors are gone.
    #[error("the GPU device was lost: {0}; its tensors are gone, create a new device to go on")]
    DeviceLost(String),
    /// An allocation failed.
    #[error(
        "out of memory: {requested} bytes requested with {in_use} in use{}; free tensors or use smaller batches",
        limit.map(|limit| format!(" (limit {limit})")).unwrap_or_default()
    )]
    OutOfMemory {
        /// Bytes of the failed request.
        requested: u64,
        /// Bytes in use when it failed.
        in_use: u64,
        /// The limit that was hit, where one is known.
        limit: Option<u64>,
    },
    /// No way was found to train within a limit of memory.
    #[error("a training step needs {needed} bytes, the limit is {limit}: {advice}")]
    DoesNotFit {
        /// The least bytes that any of the ways tried would need.
        needed: u64,
        /// The limit.
        limit: u64,
        /// What takes most of it, and what to change.
        advice: String,
    },
    /// A device limit would be exceeded.
    #[error("{what} is {requested}, above the device's limit {limit_name} = {limit}")]
    Limit {
        /// What is too large.
        what: String,
        /// The size asked for.
        requested: u64,
        /// The name of the limit, as WebGPU calls it.
        limit_name: &'static str,
        /// The device's value of it.
        limit: u64,
    },
    /// A shader does not compile.
    #[error("shader {label}: {message}\n--- source ---\n{source_text}")]
    Shader {
        /// The kernel's name.
        label: String,
        /// The compiler's message.
        message: String,
        /// The WGSL.
        source_text: String,
    },
    /// The driver or wgpu reported an error that is none of the above.
    #[error("gpu: {0}")]
    Gpu(String),
    /// A training run went wrong: a loss is not finite.
    #[error("training: {0}")]
    Diverged(String),
    /// A saved state does not fit what it is loaded into.
    #[error("saved state: {0}")]
    State(String),
    /// An item of a data set could not be made.
    #[error("item {index} of the data set: {error}")]
    Item {
        /// The item's number.
        index: usize,
        /// What happened.
        error: Box<Error>,
    },
    /// A member of a group is gone, late, or does something else than the others.
    #[error("{op}: member {rank} of the group {message}")]
    Group {
        /// What the group was doing.
        op: &'static str,
        /// The member's rank.
        rank: usize,
        /// What is wrong with it.
        message: String,
    },
    /// What was waited for did not come in time.
    #[error("{op}: nothing came within {waited:?}")]
    Timeout {
        /// Who waited.
        op: &'static str,
        /// For how long.
        waited: std::time::Duration,
    },
    /// A file or stream could not be read or written.
    #[error("{path}: {message}")]
    Io {
        /// The path.
        path: String,
        /// What happened.
        message: String,
    },
}

/// The library's result type.
pub type Result<T> = std::result::Result<T, Error>;

impl Error {
    pub(crate) fn shape(op: &'static str, message: impl Into<String>) -> Self {
        Error::Shape { op, message: message.into() }
    }

    pub(crate) fn argument(op: &'static str, message: impl Into<String>) -> Self {
        Error::Argument { op, message: message.into() }
    }

    pub(crate) fn dtype(op: &'static str, message: impl Into<String>) -> Self {
        Error::DType { op, message: message.into() }
    }

    pub(crate) fn dtype_not_accepted(op: &'static str, given: DType, accepted: &str) -> Self {
        Error::dtype(op, format!("dtype {given} is not accepted; use {accepted}"))
    }

    /// Does it mean that the device is gone?
    ///
    /// ```
    /// use flambeau::Error;
    /// assert!(Error::Poisoned(Box::new(Error::DeviceLost("a driver reset".into()))).is_device_lost());
    /// assert!(!Error::Gpu("a driver's own words".into()).is_device_lost());
    /// ```
    pub fn is_device_lost(&self) -> bool {
        match self {
            Error::DeviceLost(_) => true,
            Error::Poisoned(cause) => cause.is_device_lost(),
            Error::Item { error, .. } => error.is_device_lost(),
            _ => false,
        }
    }

    /// The same error, naming the line that created the node.
    pub(crate) fn at(mut self, line: &std::panic::Location) -> Self {
        if let Error::IndexOutOfRange { location, .. }
        | Error::NotANumber { location, .. }
        | Error::Matrix { location, .. } = &mut self
        {
            *location = line.to_string();
        }
        self
    }

    /// What reading a value that stands for every sample of a batch gives.
    pub(crate) fn read_in_vmap() -> Self {
        let message = "a value that depends on the samples was read: inside of the function that is batched, or after it has left it; \
                       there it stands for all samples and has no numbers of its own. Return it from the function, and choose by \
                       `where_cond` instead of `if`";
        Error::argument("vmap", message)
    }

    pub(crate) fn broadcast(op: &'static str, left: &Shape, right: &Shape) -> Self {
        Error::shape(op, format!("shapes {left} and {right} cannot be broadcast together"))
    }
}

/// Returns the value, or panics with the error's message at the caller's line.
#[track_caller]
pub(crate) fn expect<T>(result: Result<T>) -> T {
    match result {
        Ok(value) => value,
        Err(error) => panic!("{error}"),
    }
}
