//! Messages between a server's app and a client's: what a message is about, and its content or what went wrong.

use crate::records::RecordDict;
use crate::wire::{Empty, ProtoError, ProtoMessage, ProtoMetadata};

/// What a message is about.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Metadata {
    /// The run it belongs to.
    pub run_id: u64,
    /// Its name, which is its object's.
    pub message_id: String,
    /// Who sends it.
    pub src_node_id: u64,
    /// Who shall get it.
    pub dst_node_id: u64,
    /// The name of the message that it answers, or empty.
    pub reply_to_message_id: String,
    /// What it belongs with: in many apps the round.
    pub group_id: String,
    /// The seconds after which it is worth nothing.
    pub ttl: f64,
    /// What is asked for: `train`, `evaluate`, `query`, or one of these with an action (`train.once`).
    pub message_type: String,
    /// When it was made, in seconds since 1970.
    pub created_at: f64,
    /// The task that sends it.
    pub src_task_id: Option<u64>,
    /// The task that shall get it.
    pub dst_task_id: Option<u64>,
}

/// Why there is no content.
#[derive(Debug, Clone, PartialEq)]
pub struct Problem {
    /// Flower's number for the kind of error.
    pub code: i64,
    /// In words.
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
        let mut metadata = self.metadata.to_proto();
        metadata.message_id = name.to_owned();
        let (content, error) = match &self.content {
            Ok(_) => (Some(Empty {}), None),
            Err(problem) => (None, Some(ProtoError { code: problem.code, reason: problem.reason.clone() })),
        };
        ProtoMessage { metadata: Some(metadata), content, error }
    }
}

impl Metadata {
    pub(crate) fn to_proto(&self) -> ProtoMetadata {
        let Metadata {
            run_id,
            message_id,
            src_node_id,
            dst_node_id,
            reply_to_message_id,
            group_id,
            ttl,
            message_type,
            created_at,
            src_task_id,
            dst_task_id,
        } = self.clone();
        ProtoMetadata {
            run_id,
            message_id,
            src_node_id,
            dst_node_id,
            reply_to_message_id,
            group_id,
            ttl,
            message_type,
            created_at,
            src_task_id,
            dst_task_id,
        }
    }

    pub(crate) fn from_proto(proto: ProtoMetadata) -> Metadata {
        let ProtoMetadata {
            run_id,
            message_id,
            src_node_id,
            dst_node_id,
            reply_to_message_id,
            group_id,
            ttl,
            message_type,
            created_at,
            src_task_id,
            dst_task_id,
        } = proto;
        Metadata {
            run_id,
            message_id,
            src_node_id,
            dst_node_id,
            reply_to_message_id,
            group_id,
            ttl,
            message_type,
            created_at,
            src_task_id,
            dst_task_id,
        }
    }
}
