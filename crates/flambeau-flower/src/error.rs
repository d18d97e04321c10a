//! What can go wrong: each error names the call, the object or the record concerned, and says what to do where that is known.

/// An error of the client.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum FlowerError {
    /// No answer came: the server cannot be reached, or was too slow.
    #[error("{call}: no answer from {server}: {message}")]
    NoAnswer {
        /// The call of the Fleet API, such as `pull-messages`.
        call: &'static str,
        /// The server's address.
        server: String,
        /// What happened.
        message: String,
    },
    /// The server has refused a call.
    #[error("{call}: the server answered {status}: {detail}")]
    Refused {
        /// The call of the Fleet API.
        call: &'static str,
        /// The status of HTTP.
        status: u16,
        /// Flower's own number for the error, where it gives one.
        code: Option<i64>,
        /// What the server says.
        detail: String,
    },
    /// The server's answer is not what the Fleet API promises.
    #[error("{call}: the server's answer cannot be used: {message}")]
    Answer {
        /// The call of the Fleet API.
        call: &'static str,
        /// What is wrong with it.
        message: String,
    },
    /// A message of the server's asks for what this client does not do, or lacks what is needed for it.
    #[error("{kind} message: {message}")]
    Message {
        /// The kind of message, such as `train`.
        kind: String,
        /// What is wrong with it.
        message: String,
    },
    /// An argument outside what is accepted.
    #[error("{what}: {message}")]
    Argument {
        /// What was given.
        what: &'static str,
        /// What is wrong with it, and what is accepted.
        message: String,
    },
    /// The system's randomness, of which keys and noise are made, is not to be had.
    #[error("randomness of the system: {0}")]
    Randomness(String),
    /// A tensor could not be made or read.
    #[error(transparent)]
    Tensor(#[from] flambeau::Error),
}

/// What calls give.
pub type Result<T> = std::result::Result<T, FlowerError>;

impl FlowerError {
    /// The run that the call is about is over: the server forbids calls for it (code 2007).
    pub fn is_run_over(&self) -> bool {
        matches!(self, FlowerError::Refused { status: 403, code: Some(RUN_STATUS_NOT_ALLOWED), .. })
    }

    /// The same call may succeed a little later.
    pub(crate) fn is_passing(&self) -> bool {
        match self {
            FlowerError::NoAnswer { .. } => true,
            FlowerError::Refused { status, .. } => matches!(status, 502..=504),
            _ => false,
        }
    }
}

/// Flower's number for calls about a run that does not run.
const RUN_STATUS_NOT_ALLOWED: i64 = 2007;
