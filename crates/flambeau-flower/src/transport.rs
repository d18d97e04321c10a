//! How requests get to a server: one trait, so that the protocol knows neither sockets nor threads nor a browser's `fetch`.

use std::borrow::Cow;
use std::future::Future;
use std::time::Duration;

/// A request: always a POST.
#[derive(Debug, Clone)]
pub struct Request {
    /// The whole address.
    pub url: String,
    /// Headers by name.
    pub headers: Vec<(Cow<'static, str>, String)>,
    /// The body.
    pub body: Vec<u8>,
    /// The time within which the whole answer must be there.
    pub timeout: Duration,
    /// The most bytes that the answer's body may have. More is an error, and is not read.
    pub limit: usize,
}

/// An answer, whatever its status.
#[derive(Debug, Clone)]
pub struct Reply {
    /// The status of HTTP.
    pub status: u16,
    /// What the body is, as the server says.
    pub content_type: String,
    /// The body.
    pub body: Vec<u8>,
}

/// Sends requests, and waits. Implementations follow no redirections: a signed request is for one server.
pub trait Transport {
    /// Sends a request; what prevents an answer is an error in words.
    fn post(&self, request: Request) -> impl Future<Output = Result<Reply, String>>;

    /// Lets time go by. False where the client has been asked to leave: then it may be less.
    fn wait(&self, time: Duration) -> impl Future<Output = bool>;
}

impl<T: Transport> Transport for &T {
    fn post(&self, request: Request) -> impl Future<Output = Result<Reply, String>> {
        (**self).post(request)
    }

    fn wait(&self, time: Duration) -> impl Future<Output = bool> {
        (**self).wait(time)
    }
}
