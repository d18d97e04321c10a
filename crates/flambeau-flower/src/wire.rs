//! The protobuf messages of the Fleet API, with the numbers of Flower 1.41's fields. Fields that this client neither reads nor
//! writes are left out: decoding passes over them.

use crate::message::{Metadata, Problem};
use prost::{Message, Oneof};

#[derive(Clone, PartialEq, Message)]
pub(crate) struct RegisterNodeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub public_key: Vec<u8>,
}

/// What registering and activating give.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NodeIdResponse {
    #[prost(uint64, tag = "1")]
    pub node_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ActivateNodeRequest {
    #[prost(bytes = "vec", tag = "1")]
    pub public_key: Vec<u8>,
    #[prost(double, tag = "2")]
    pub heartbeat_interval: f64,
}

/// For deactivating and for unregistering.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct NodeIdRequest {
    #[prost(uint64, tag = "1")]
    pub node_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Empty {}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct Node {
    #[prost(uint64, tag = "1")]
    pub node_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HeartbeatRequest {
    #[prost(message, optional, tag = "1")]
    pub node: Option<Node>,
    #[prost(double, tag = "2")]
    pub heartbeat_interval: f64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct HeartbeatResponse {
    #[prost(bool, tag = "1")]
    pub success: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct GetRunRequest {
    #[prost(message, optional, tag = "1")]
    pub node: Option<Node>,
    #[prost(uint64, tag = "2")]
    pub run_id: u64,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PullMessagesRequest {
    #[prost(message, optional, tag = "1")]
    pub node: Option<Node>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PullMessagesResponse {
    #[prost(message, repeated, tag = "2")]
    pub messages: Vec<ProtoMessage>,
    #[prost(message, repeated, tag = "3")]
    pub trees: Vec<ObjectTree>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PushMessagesRequest {
    #[prost(message, optional, tag = "1")]
    pub node: Option<Node>,
    #[prost(message, repeated, tag = "2")]
    pub messages: Vec<ProtoMessage>,
    #[prost(message, repeated, tag = "3")]
    pub trees: Vec<ObjectTree>,
    /// The seconds that each message took.
    #[prost(double, repeated, tag = "4")]
    pub runtimes: Vec<f64>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PushMessagesResponse {
    #[prost(string, repeated, tag = "3")]
    pub objects_to_push: Vec<String>,
    #[prost(string, tag = "4")]
    pub session_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PullObjectRequest {
    #[prost(message, optional, tag = "1")]
    pub node: Option<Node>,
    #[prost(uint64, tag = "2")]
    pub run_id: u64,
    #[prost(string, tag = "3")]
    pub object_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PullObjectResponse {
    #[prost(bool, tag = "1")]
    pub found: bool,
    #[prost(bool, tag = "2")]
    pub available: bool,
    #[prost(bytes = "vec", tag = "3")]
    pub content: Vec<u8>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PushObjectRequest {
    #[prost(message, optional, tag = "1")]
    pub node: Option<Node>,
    #[prost(uint64, tag = "2")]
    pub run_id: u64,
    #[prost(string, tag = "3")]
    pub object_id: String,
    #[prost(bytes = "vec", tag = "4")]
    pub content: Vec<u8>,
    #[prost(string, tag = "5")]
    pub session_id: String,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct PushObjectResponse {
    #[prost(bool, tag = "1")]
    pub stored: bool,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ConfirmRequest {
    #[prost(message, optional, tag = "1")]
    pub node: Option<Node>,
    #[prost(uint64, tag = "2")]
    pub run_id: u64,
    #[prost(string, tag = "3")]
    pub message_object_id: String,
}

/// The names of an object and of all that it consists of.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ObjectTree {
    #[prost(string, tag = "1")]
    pub object_id: String,
    #[prost(message, repeated, tag = "2")]
    pub children: Vec<ObjectTree>,
}

/// A message between a server's app and a client's; its content travels as objects.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoMessage {
    #[prost(message, optional, tag = "1")]
    pub metadata: Option<Metadata>,
    /// Always empty; that it is there says that there is content.
    #[prost(message, optional, tag = "2")]
    pub content: Option<Empty>,
    #[prost(message, optional, tag = "3")]
    pub error: Option<Problem>,
}

/// A record of numbers, or of numbers, texts and bytes: metrics and configurations have the same numbers of fields.
#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoRecord {
    #[prost(message, repeated, tag = "1")]
    pub items: Vec<ProtoItem>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoItem {
    #[prost(string, tag = "1")]
    pub key: String,
    #[prost(message, optional, tag = "2")]
    pub value: Option<ProtoValue>,
}

#[derive(Clone, PartialEq, Message)]
pub(crate) struct ProtoValue {
    #[prost(oneof = "ProtoKind", tags = "1, 2, 3, 4, 5, 6, 21, 22, 23, 24, 25, 26")]
    pub kind: Option<ProtoKind>,
}

#[derive(Clone, PartialEq, Oneof)]
pub(crate) enum ProtoKind {
    #[prost(double, tag = "1")]
    Double(f64),
    #[prost(sint64, tag = "2")]
    Int(i64),
    #[prost(uint64, tag = "3")]
    UInt(u64),
    #[prost(bool, tag = "4")]
    Bool(bool),
    #[prost(string, tag = "5")]
    Text(String),
    #[prost(bytes = "vec", tag = "6")]
    Bytes(Vec<u8>),
    #[prost(message, tag = "21")]
    Doubles(DoubleList),
    #[prost(message, tag = "22")]
    Ints(IntList),
    #[prost(message, tag = "23")]
    UInts(UIntList),
    #[prost(message, tag = "24")]
    Bools(BoolList),
    #[prost(message, tag = "25")]
    Texts(TextList),
    #[prost(message, tag = "26")]
    ByteStrings(BytesList),
}

/// Lists in values.
macro_rules! lists {
    ($($name:ident($($kind:tt)+) of $item:ty;)+) => {$(
        #[derive(Clone, PartialEq, Message)]
        pub(crate) struct $name {
            #[prost($($kind)+, repeated, tag = "1")]
            pub values: Vec<$item>,
        }
    )+};
}

lists! {
    DoubleList(double) of f64;
    IntList(sint64) of i64;
    UIntList(uint64) of u64;
    BoolList(bool) of bool;
    TextList(string) of String;
    BytesList(bytes = "vec") of Vec<u8>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;

    /// Requests as Flower itself writes them (tools/reference/flower.py).
    #[test]
    fn requests_are_flowers_byte_by_byte() {
        let requests: HashMap<String, String> = crate::testing::part("objects.json", "requests");
        let flower = |name: &str| crate::testing::decoded(&requests[name]);
        let node = || Some(Node { node_id: (1 << 63) + 1 });
        let leaf = ObjectTree { object_id: "a".into(), children: Vec::new() };
        let tree = ObjectTree { object_id: "b".into(), children: vec![leaf] };
        let metadata = Metadata {
            run_id: u64::MAX - 4,
            src_node_id: 1,
            dst_node_id: 12_345_678_901_234_567_890,
            group_id: "3".into(),
            ttl: 43200.0,
            message_type: "evaluate".into(),
            created_at: 1_763_565_902.25,
            ..Metadata::default()
        };
        let error = Some(Problem { code: -1, reason: "r".into() });
        let message = ProtoMessage { metadata: Some(metadata), content: None, error };
        let (object_id, public_key) = (|| "a".to_owned(), || b"pem".to_vec());
        for (name, ours) in [
            ("register-node", RegisterNodeRequest { public_key: public_key() }.encode_to_vec()),
            (
                "activate-node",
                ActivateNodeRequest { public_key: public_key(), heartbeat_interval: 30.0 }.encode_to_vec(),
            ),
            ("deactivate-node", NodeIdRequest { node_id: 9 }.encode_to_vec()),
            (
                "send-node-heartbeat",
                HeartbeatRequest { node: node(), heartbeat_interval: 30.0 }.encode_to_vec(),
            ),
            ("get-run", GetRunRequest { node: node(), run_id: 5 }.encode_to_vec()),
            ("pull-messages", PullMessagesRequest { node: node() }.encode_to_vec()),
            (
                "push-messages",
                PushMessagesRequest {
                    node: node(),
                    messages: vec![message.clone()],
                    trees: vec![tree.clone()],
                    runtimes: vec![1.5],
                }
                .encode_to_vec(),
            ),
            (
                "pull-object",
                PullObjectRequest { node: node(), run_id: 5, object_id: object_id() }.encode_to_vec(),
            ),
            (
                "push-object",
                PushObjectRequest {
                    node: node(),
                    run_id: 5,
                    object_id: object_id(),
                    content: b"abc".to_vec(),
                    session_id: "s".into(),
                }
                .encode_to_vec(),
            ),
            (
                "confirm-message-received",
                ConfirmRequest { node: node(), run_id: 5, message_object_id: "b".into() }.encode_to_vec(),
            ),
        ] {
            assert_eq!(ours, flower(name), "{name}");
        }
        let pulled = PullMessagesResponse::decode(&flower("pull-messages answer")[..]).unwrap();
        assert_eq!(pulled, PullMessagesResponse { messages: vec![message], trees: vec![tree] });
        let pushed = PushMessagesResponse::decode(&flower("push-messages answer")[..]).unwrap();
        let objects_to_push = vec!["a".into(), "b".into()];
        assert_eq!(pushed, PushMessagesResponse { objects_to_push, session_id: "s".into() });
        let object = PullObjectResponse::decode(&flower("pull-object answer")[..]).unwrap();
        assert_eq!(object, PullObjectResponse { found: true, available: true, content: b"abc".to_vec() });
        assert!(PushObjectResponse::decode(&flower("push-object answer")[..]).unwrap().stored);
    }
}
