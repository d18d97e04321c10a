//! Messages between a server's app and a client's: what a message is about, and its content or what went wrong.
//!
//! `Metadata` and `Problem` are also what travels: protobuf, with the numbers of Flower 1.41's fields.

use crate::records::RecordDict;
use crate::wire::{Empty, ProtoMessage};

/// What a message is about.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Metadata {
    /// The run it belongs to.
    #[prost(uint64, tag = "1")]
    pub run_id: u64,
    /// Its name, which is its object's.
    #[prost(string, tag = "2")]
    pub message_id: String,
    /// Who sends it.
    #[prost(uint64, tag = "3")]
    pub src_node_id: u64,
    /// Who shall get it.
    #[prost(uint64, tag = "4")]
    pub dst_node_id: u64,
    /// The name of the message that it answers, or empty.
    #[prost(string, tag = "5")]
    pub reply_to_message_id: String,
    /// What it belongs with: in many apps the round.
    #[prost(string, tag = "6")]
    pub group_id: String,
    /// The seconds after which it is worth nothing.
    #[prost(double, tag = "7")]
    pub ttl: f64,
    /// What is asked for: `train`, `evaluate`, `query`, or one of these with an action (`train.once`).
    #[prost(string, tag = "8")]
    pub message_type: String,
    /// When it was made, in seconds since 1970.
    #[prost(double, tag = "9")]
    pub created_at: f64,
    /// The task that sends it.
    #[prost(uint64, optional, tag = "10")]
    pub src_task_id: Option<u64>,
    /// The task that shall get it.
    #[prost(uint64, optional, tag = "11")]
    pub dst_task_id: Option<u64>,
}

/// Why there is no content.
#[derive(Clone, PartialEq, prost::Message)]
pub struct Problem {
    /// Flower's number for the kind of error.
    #[prost(sint64, tag = "1")]
    pub code: i64,
    /// In words.
    #[prost(string, tag = "2")]
    pub reason: String,
}

impl Problem {
    /// The client's app has failed.
    pub fn of_app(reason: impl Into<String>) -> Problem {
        const CLIENT_APP_RAISED_EXCEPTION: i64 = 2;
        Problem { code: CLIENT_APP_RAISED_EXCEPTION, reason: reason.into() }
    }
}

/// A message.
#[derive(Debug, Clone, PartialEq)]
pub struct Message {
    /// What it is about.
    pub metadata: Metadata,
    /// Its content, or why there is none.
    pub content: Result<RecordDict, Problem>,
}

impl Message {
    /// The answer to this message, made at a time in seconds since 1970. It is worth something as long as the message is.
    pub fn reply(&self, content: Result<RecordDict, Problem>, now: f64) -> Message {
        let asked = &self.metadata;
        let metadata = Metadata {
            run_id: asked.run_id,
            message_id: String::new(),
            src_node_id: asked.dst_node_id,
            dst_node_id: asked.src_node_id,
            reply_to_message_id: asked.message_id.clone(),
            group_id: asked.group_id.clone(),
            ttl: asked.created_at + asked.ttl - now,
            message_type: asked.message_type.clone(),
            created_at: now,
            src_task_id: asked.dst_task_id,
            dst_task_id: asked.src_task_id,
        };
        Message { metadata, content }
    }

    /// The message under its name, as it is announced: its content travels apart, as objects.
    pub(crate) fn announcement(&self, name: &str) -> ProtoMessage {
        let metadata = Metadata { message_id: name.to_owned(), ..self.metadata.clone() };
        let (content, error) = match &self.content {
            Ok(_) => (Some(Empty {}), None),
            Err(problem) => (None, Some(problem.clone())),
        };
        ProtoMessage { metadata: Some(metadata), content, error }
    }
}
