//! Requests by sockets, natively.

use crate::transport::{Reply, Request, Transport};
use std::time::Duration;

/// Sends requests by sockets. Its futures are ready at once: the thread waits meanwhile.
#[derive(Debug, Clone)]
pub struct Http {
    agent: ureq::Agent,
}

impl Default for Http {
    fn default() -> Http {
        let config = ureq::Agent::config_builder().http_status_as_error(false).max_redirects(0);
        Http { agent: config.user_agent("flambeau").build().into() }
    }
}

impl Transport for Http {
    async fn post(&self, request: Request) -> Result<Reply, String> {
        let mut call = self.agent.post(&request.url);
        for (name, value) in &request.headers {
            call = call.header(&**name, value);
        }
        let call = call.config().timeout_global(Some(request.timeout)).build();
        let words = |error: ureq::Error| match error {
            ureq::Error::TlsRequired => {
                "this program was built without TLS; build it with --features tls, or name an http:// address"
                    .into()
            }
            ureq::Error::Timeout(_) => format!("more than {:.0} s", request.timeout.as_secs_f64()),
            ureq::Error::BodyExceedsLimit(_) => format!("the answer has more than {} bytes", request.limit),
            other => other.to_string(),
        };
        let mut answer = call.send(&request.body[..]).map_err(words)?;
        let content_type = answer.headers().get("content-type").and_then(|value| value.to_str().ok());
        let content_type = content_type.unwrap_or_default().to_owned();
        let status = answer.status().as_u16();
        let body = answer.body_mut().with_config().limit(request.limit as u64).read_to_vec();
        Ok(Reply { status, content_type, body: body.map_err(words)? })
    }

    async fn wait(&self, time: Duration) -> bool {
        std::thread::sleep(time);
        true
    }
}
