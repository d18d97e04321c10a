//! Flower's own bytes, for tests.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use serde::de::DeserializeOwned;
use std::collections::HashMap;

/// A message as Flower stores it.
pub(crate) struct Stored {
    pub name: String,
    pub announced: Vec<u8>,
    pub tree: Vec<u8>,
    pub objects: HashMap<String, Vec<u8>>,
}

/// A part of a file that tools/reference/flower.py writes.
pub(crate) fn part<T: DeserializeOwned>(file: &str, name: &str) -> T {
    let text = match file {
        "objects.json" => include_str!("../tests/data/objects.json"),
        "older.json" => include_str!("../tests/data/older.json"),
        _ => panic!("there is no {file}"),
    };
    let mut parts: HashMap<String, serde_json::Value> = serde_json::from_str(text).unwrap();
    serde_json::from_value(parts.remove(name).unwrap_or_else(|| panic!("{file} has no {name}"))).unwrap()
}

pub(crate) fn stored(file: &str, name: &str) -> Stored {
    #[derive(serde::Deserialize)]
    struct Texts {
        name: String,
        announced: String,
        tree: String,
        objects: HashMap<String, String>,
    }
    let texts: Texts = part(file, name);
    let objects = texts.objects.into_iter().map(|(name, content)| (name, decoded(&content))).collect();
    Stored { name: texts.name, announced: decoded(&texts.announced), tree: decoded(&texts.tree), objects }
}

/// Bytes in base 64.
pub(crate) fn decoded(text: &str) -> Vec<u8> {
    STANDARD.decode(text).unwrap()
}

use crate::client::{Fleet, Limits};
use crate::message::{Message, Metadata, Problem};
use crate::records::RecordDict;
use crate::sign::NodeKey;
use crate::transport::{Reply, Request, Transport};
use crate::{objects, wire};
use prost::Message as _;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// The number by which the server of the tests knows its client.
pub(crate) const NODE: u64 = 77;
/// Its only run.
pub(crate) const RUN: u64 = 5;

/// A server of the tests, in memory: it hands out messages and keeps the answers.
#[derive(Debug, Clone, Default)]
pub(crate) struct Link(Arc<Mutex<State>>);

#[derive(Debug, Default)]
struct State {
    calls: Vec<String>,
    waiting: VecDeque<(wire::ProtoMessage, wire::ObjectTree)>,
    objects: HashMap<String, Vec<u8>>,
    announced: Vec<(wire::ProtoMessage, wire::ObjectTree)>,
    over: bool,
}

impl Link {
    /// Puts a message in line for the client.
    pub fn ask(&self, kind: &str, content: RecordDict) {
        let metadata = Metadata {
            run_id: RUN,
            src_node_id: 1,
            dst_node_id: NODE,
            ttl: 100.0,
            created_at: 1e9,
            message_type: kind.into(),
            ..Metadata::default()
        };
        let message = Message { metadata, content: Ok(content) };
        let deflated = objects::deflate(&message);
        let mut state = self.0.lock().unwrap();
        state.objects.extend(deflated.objects);
        state.waiting.push_back((message.announcement(&deflated.tree.object_id), deflated.tree));
    }

    /// The run is over once all messages are taken.
    pub fn end(&self) {
        self.0.lock().unwrap().over = true;
    }

    /// The answers so far.
    pub fn answers(&self) -> Vec<(Metadata, Result<RecordDict, Problem>)> {
        let state = self.0.lock().unwrap();
        let read = |(_, tree): &(wire::ProtoMessage, wire::ObjectTree)| {
            let message = objects::inflate(&tree.object_id, &state.objects, 1 << 20).unwrap();
            (message.metadata, message.content)
        };
        state.announced.iter().map(read).collect()
    }

    /// The calls so far, in order, each once where it comes several times in a row.
    pub fn calls(&self) -> Vec<String> {
        let mut calls = self.0.lock().unwrap().calls.clone();
        calls.dedup();
        calls
    }

    /// The answer to a call: its status, what it is, and its body.
    pub fn answer(&self, call: &str, body: &[u8]) -> (u16, &'static str, Vec<u8>) {
        let mut state = self.0.lock().unwrap();
        state.calls.push(call.to_owned());
        let fine = |body| (200, "application/protobuf", body);
        match call {
            "register-node" | "activate-node" => fine(wire::NodeIdResponse { node_id: NODE }.encode_to_vec()),
            "send-node-heartbeat" => fine(wire::HeartbeatResponse { success: true }.encode_to_vec()),
            "get-run" if state.over && state.waiting.is_empty() => {
                let body = br#"{"code": 2007, "detail": "The current run status does not allow this."}"#;
                (403, "application/json", body.to_vec())
            }
            "pull-messages" => {
                let (messages, trees) = state.waiting.pop_front().into_iter().unzip();
                fine(wire::PullMessagesResponse { messages, trees }.encode_to_vec())
            }
            "pull-object" => {
                let request = wire::PullObjectRequest::decode(body).unwrap();
                let content = state.objects.get(&request.object_id).cloned();
                let found = content.is_some();
                let content = content.unwrap_or_default();
                fine(wire::PullObjectResponse { found, available: found, content }.encode_to_vec())
            }
            "push-messages" => {
                let mut request = wire::PushMessagesRequest::decode(body).unwrap();
                let (message, tree) = (request.messages.remove(0), request.trees.remove(0));
                let objects_to_push = objects::names(&tree, 1000).unwrap();
                state.announced.push((message, tree));
                fine(wire::PushMessagesResponse { objects_to_push, session_id: "s".into() }.encode_to_vec())
            }
            "push-object" => {
                let request = wire::PushObjectRequest::decode(body).unwrap();
                state.objects.insert(request.object_id, request.content);
                fine(wire::PushObjectResponse { stored: true }.encode_to_vec())
            }
            _ => fine(Vec::new()),
        }
    }
}

impl Transport for Link {
    async fn post(&self, request: Request) -> Result<Reply, String> {
        let call = request.url.rsplit('/').next().unwrap_or_default();
        let (status, content_type, body) = self.answer(call, &request.body);
        Ok(Reply { status, content_type: content_type.into(), body })
    }

    async fn wait(&self, _: Duration) -> bool {
        true
    }
}

/// A client with a new key.
pub(crate) fn fleet<T: Transport>(transport: T, server: &str, limits: Limits) -> Fleet<T> {
    Fleet::new(transport, server, NodeKey::generate().unwrap(), limits).unwrap()
}
