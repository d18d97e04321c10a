//! The calls of Flower's Fleet API: protobuf over HTTP, signed. What a server answers is not trusted: sizes, names and sums are
//! checked, every call has an end, and every error names its call.

use crate::error::{FlowerError, Result};
use crate::message::Message;
use crate::objects;
use crate::sign::{NodeKey, now};
use crate::transport::{Reply, Request, Transport};
use crate::wire;
use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

/// The version of Flower whose API this is.
pub const FLOWER_VERSION: &str = "1.41.0";
/// What bodies are.
const PROTOBUF: &str = "application/protobuf";
/// The most that is told of an answer in words.
const TOLD: usize = 300;
/// The shortest and the longest pause before something is tried again.
const PAUSES: (Duration, Duration) = (Duration::from_millis(250), Duration::from_secs(10));
/// Seconds between two signs of life; servers wait twice as long. Browsers let timers of pages that nobody looks at go once a minute.
const HEARTBEAT: Duration = Duration::from_secs(if cfg!(target_arch = "wasm32") { 60 } else { 30 });

/// How long a client waits, and how much it takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Limits {
    /// The longest that a call may take.
    pub call: Duration,
    /// How long a call is repeated while the server is away or an object is still on its way to it.
    pub patience: Duration,
    /// The most seconds between two signs of life, which servers want to be 10 to 1800.
    pub heartbeat: Duration,
    /// The most bytes of one answer.
    pub answer: usize,
    /// The most bytes of one message.
    pub message: usize,
    /// The most objects of one message.
    pub objects: usize,
}

impl Default for Limits {
    fn default() -> Limits {
        Limits {
            call: Duration::from_secs(30),
            patience: Duration::from_secs(120),
            heartbeat: HEARTBEAT,
            answer: 64 << 20,
            message: 1 << 30,
            objects: 100_000,
        }
    }
}

/// A server's Fleet API, as a client with a key sees it. Clones share the key.
#[derive(Debug, Clone)]
pub struct Fleet<T> {
    transport: T,
    server: String,
    key: Arc<NodeKey>,
    limits: Limits,
}

impl<T: Transport> Fleet<T> {
    /// The server at an address such as `http://127.0.0.1:8000`.
    pub fn new(transport: T, server: &str, key: NodeKey, limits: Limits) -> Result<Fleet<T>> {
        let host = server.strip_prefix("http://").or_else(|| server.strip_prefix("https://"));
        if host.is_none_or(|host| host.trim_end_matches('/').is_empty() || host.contains(['?', '#', ' '])) {
            let message =
                format!("`{server}` is no address of a server; take one such as http://127.0.0.1:8000");
            return Err(FlowerError::Argument { what: "server", message });
        }
        let server = server.trim_end_matches('/').to_owned();
        Ok(Fleet { transport, server, key: Arc::new(key), limits })
    }

    /// The limits that were set.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// The transport.
    pub fn transport(&self) -> &T {
        &self.transport
    }

    /// Makes the key known to the server.
    pub async fn register(&self) -> Result<()> {
        let request = wire::RegisterNodeRequest { public_key: self.public_key() };
        let _: wire::NodeIdResponse = self.patiently("register-node", &request).await?;
        Ok(())
    }

    /// Goes online; gives the number by which the server knows this client.
    pub async fn activate(&self) -> Result<u64> {
        let heartbeat_interval = self.limits.heartbeat.as_secs_f64();
        let request = wire::ActivateNodeRequest { public_key: self.public_key(), heartbeat_interval };
        let answer: wire::NodeIdResponse = self.patiently("activate-node", &request).await?;
        match answer.node_id {
            0 => {
                Err(FlowerError::Answer { call: "activate-node", message: "the client's number is 0".into() })
            }
            id => Ok(id),
        }
    }

    /// Goes offline. It is tried once.
    pub async fn deactivate(&self, node: u64) -> Result<()> {
        let _: wire::Empty = self.call("deactivate-node", &wire::NodeIdRequest { node_id: node }).await?;
        Ok(())
    }

    /// Lets the server forget the key. It is tried once.
    pub async fn unregister(&self, node: u64) -> Result<()> {
        let _: wire::Empty = self.call("unregister-node", &wire::NodeIdRequest { node_id: node }).await?;
        Ok(())
    }

    /// Gives a sign of life. It is tried once.
    pub async fn heartbeat(&self, node: u64) -> Result<()> {
        const CALL: &str = "send-node-heartbeat";
        let heartbeat_interval = self.limits.heartbeat.as_secs_f64();
        let request = wire::HeartbeatRequest { node: of(node), heartbeat_interval };
        let answer: wire::HeartbeatResponse = self.call(CALL, &request).await?;
        match answer.success {
            true => Ok(()),
            false => Err(FlowerError::Answer {
                call: CALL,
                message: "the server does not know this client".into(),
            }),
        }
    }

    /// The pause between two signs of life: shorter than the server is told.
    pub(crate) fn heartbeat_pause(&self) -> Duration {
        const SHARE: f64 = 0.8;
        self.limits.heartbeat.mul_f64(SHARE)
    }

    /// Is this run still going on?
    pub async fn is_running(&self, node: u64, run_id: u64) -> Result<bool> {
        let request = wire::GetRunRequest { node: of(node), run_id };
        match self.patiently::<_, wire::Empty>("get-run", &request).await {
            Ok(_) => Ok(true),
            Err(error) if error.is_run_over() => Ok(false),
            Err(error) => Err(error),
        }
    }

    /// Takes the next message for this client, if there is one, with all that belongs to it.
    pub async fn receive(&self, node: u64) -> Result<Option<Message>> {
        const CALL: &str = "pull-messages";
        let wrong = |message: String| FlowerError::Answer { call: CALL, message };
        let request = wire::PullMessagesRequest { node: of(node) };
        let answer: wire::PullMessagesResponse = self.patiently(CALL, &request).await?;
        let (announced, tree) = match (&answer.messages[..], &answer.trees[..]) {
            ([], []) => return Ok(None),
            ([message], [tree]) => (message, tree),
            (messages, trees) => {
                return Err(wrong(format!(
                    "{} messages with {} trees of objects",
                    messages.len(),
                    trees.len()
                )));
            }
        };
        let metadata =
            announced.metadata.as_ref().ok_or_else(|| wrong("a message without metadata".into()))?;
        if metadata.dst_node_id != node {
            return Err(wrong(format!("a message for client {}, not {node}", metadata.dst_node_id)));
        }
        if metadata.message_id != tree.object_id {
            return Err(wrong("the message and its tree of objects have different names".into()));
        }
        let names = objects::names(tree, self.limits.objects).map_err(wrong)?;
        let run = metadata.run_id;
        let contents = self.pull(node, run, names).await?;
        self.confirm(node, run, &tree.object_id).await?;
        let message = objects::inflate(&tree.object_id, &contents, self.limits.message);
        let unusable = |message: String| FlowerError::Answer { call: PULL_OBJECT, message };
        let message = message.map_err(unusable)?;
        if (message.metadata.run_id, message.metadata.dst_node_id) != (run, node) {
            return Err(unusable(
                "the message is of another run, or for another client, than was said".into(),
            ));
        }
        Ok(Some(message))
    }

    /// Sends an answer; `seconds` is how long it took to make.
    pub async fn send(&self, node: u64, message: &Message, seconds: f64) -> Result<()> {
        const CALL: &str = "push-messages";
        let deflated = objects::deflate(message);
        let run_id = message.metadata.run_id;
        let request = wire::PushMessagesRequest {
            node: of(node),
            messages: vec![message.announcement(&deflated.tree.object_id)],
            trees: vec![deflated.tree],
            runtimes: vec![seconds],
        };
        let answer: wire::PushMessagesResponse = self.patiently(CALL, &request).await?;
        let mut wanted: std::collections::HashSet<String> = answer.objects_to_push.into_iter().collect();
        for (object_id, content) in deflated.objects {
            if wanted.remove(&object_id) {
                self.push(node, run_id, object_id, content, &answer.session_id).await?;
            }
        }
        match wanted.len() {
            0 => Ok(()),
            count => {
                let message = format!("it asks for {count} objects that the message does not have");
                Err(FlowerError::Answer { call: CALL, message })
            }
        }
    }

    /// Fetches objects, whose sums must be their names.
    async fn pull(&self, node: u64, run_id: u64, names: Vec<String>) -> Result<HashMap<String, Vec<u8>>> {
        let wrong = |message: String| FlowerError::Answer { call: PULL_OBJECT, message };
        let (mut contents, mut total) = (HashMap::new(), 0usize);
        for name in names {
            let content = self.pull_object(node, run_id, &name).await?;
            total = total.saturating_add(content.len());
            if total > self.limits.message {
                return Err(wrong(format!("the message has more than {} bytes", self.limits.message)));
            }
            if objects::name_of(&content) != name.to_ascii_lowercase() {
                return Err(wrong(format!("the content of object {name} has another sum")));
            }
            contents.insert(name, content);
        }
        Ok(contents)
    }

    /// One object; the server may still be waiting for it itself.
    async fn pull_object(&self, node: u64, run_id: u64, name: &str) -> Result<Vec<u8>> {
        let request = wire::PullObjectRequest { node: of(node), run_id, object_id: name.to_owned() };
        let mut waiting = Waiting::new(self.limits.patience);
        loop {
            let answer: wire::PullObjectResponse = self.patiently(PULL_OBJECT, &request).await?;
            match (answer.found, answer.available) {
                (true, true) => return Ok(answer.content),
                (true, false) if waiting.pause(&self.transport).await => {}
                (found, _) => {
                    let state = if found { "is still not there" } else { "does not exist" };
                    return Err(FlowerError::Answer {
                        call: PULL_OBJECT,
                        message: format!("object {name} {state}"),
                    });
                }
            }
        }
    }

    async fn push(
        &self,
        node: u64,
        run_id: u64,
        object_id: String,
        content: Vec<u8>,
        session: &str,
    ) -> Result<()> {
        const CALL: &str = "push-object";
        let session_id = session.to_owned();
        let name = object_id.clone();
        let request = wire::PushObjectRequest { node: of(node), run_id, object_id, content, session_id };
        let answer: wire::PushObjectResponse = self.patiently(CALL, &request).await?;
        match answer.stored {
            true => Ok(()),
            false => {
                Err(FlowerError::Answer { call: CALL, message: format!("object {name} was not stored") })
            }
        }
    }

    async fn confirm(&self, node: u64, run_id: u64, name: &str) -> Result<()> {
        let request = wire::ConfirmRequest { node: of(node), run_id, message_object_id: name.to_owned() };
        let _: wire::Empty = self.patiently("confirm-message-received", &request).await?;
        Ok(())
    }

    fn public_key(&self) -> Vec<u8> {
        self.key.public_pem().as_bytes().to_vec()
    }

    /// A call that is repeated, with growing pauses, while the server cannot be reached.
    async fn patiently<A: prost::Message, B: prost::Message + Default>(
        &self,
        call: &'static str,
        request: &A,
    ) -> Result<B> {
        let mut waiting = Waiting::new(self.limits.patience);
        loop {
            match self.call(call, request).await {
                Err(error) if error.is_passing() => {
                    log::warn!("{error}");
                    if !waiting.pause(&self.transport).await {
                        return Err(error);
                    }
                }
                answer => return answer,
            }
        }
    }

    async fn call<A: prost::Message, B: prost::Message + Default>(
        &self,
        call: &'static str,
        request: &A,
    ) -> Result<B> {
        let mut headers = vec![
            ("content-type", PROTOBUF.to_owned()),
            ("accept", PROTOBUF.to_owned()),
            ("flwr-package-name", "flwr".to_owned()),
            ("flwr-package-version", FLOWER_VERSION.to_owned()),
            ("flwr-component-name", "SuperNode".to_owned()),
        ];
        headers.extend(self.key.headers(now())?);
        let headers = headers.into_iter().map(|(name, value)| (name.into(), value)).collect();
        let request = Request {
            url: format!("{}/v1/fleet/{call}", self.server),
            headers,
            body: request.encode_to_vec(),
            timeout: self.limits.call,
            limit: self.limits.answer,
        };
        let none = |message| FlowerError::NoAnswer { call, server: self.server.clone(), message };
        let reply = self.transport.post(request).await.map_err(none)?;
        if reply.status != 200 {
            return Err(refusal(call, &reply));
        }
        let wrong = |message| FlowerError::Answer { call, message };
        if !reply.content_type.to_ascii_lowercase().starts_with(PROTOBUF) {
            let message = format!(
                "it is `{}`, not {PROTOBUF}; is {} a Flower server?",
                told(&reply.content_type),
                self.server
            );
            return Err(wrong(message));
        }
        B::decode(&reply.body[..]).map_err(|error| wrong(error.to_string()))
    }
}

const PULL_OBJECT: &str = "pull-object";

fn of(node_id: u64) -> Option<wire::Node> {
    Some(wire::Node { node_id })
}

/// What a refused call is told to be.
fn refusal(call: &'static str, reply: &Reply) -> FlowerError {
    #[derive(serde::Deserialize)]
    struct Told {
        code: Option<i64>,
        detail: Option<String>,
        extra: Option<String>,
    }
    let refused = |code, detail: String| FlowerError::Refused { call, status: reply.status, code, detail };
    match serde_json::from_slice::<Told>(&reply.body) {
        Ok(Told { code, detail, extra }) => {
            let words: Vec<String> = detail.into_iter().chain(extra).collect();
            refused(code, told(&words.join("; ")))
        }
        Err(_) => refused(None, told(&String::from_utf8_lossy(&reply.body))),
    }
}

/// The beginning of what a server said, on one line.
fn told(text: &str) -> String {
    let text: String = text.chars().take(TOLD).map(|c| if c.is_control() { ' ' } else { c }).collect();
    if text.trim().is_empty() { "nothing".into() } else { text.trim().to_owned() }
}

/// Pauses that grow, until a time is over.
struct Waiting {
    left: Duration,
    next: Duration,
}

impl Waiting {
    fn new(patience: Duration) -> Waiting {
        Waiting { left: patience, next: PAUSES.0 }
    }

    /// Lets some time go by; false if there is none left, or the client is to leave.
    async fn pause(&mut self, transport: &impl Transport) -> bool {
        let pause = self.next.min(self.left);
        if pause.is_zero() {
            return false;
        }
        self.left -= pause;
        self.next = (self.next * 2).min(PAUSES.1);
        transport.wait(pause).await
    }
}

#[cfg(test)]
mod tests;
