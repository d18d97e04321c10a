//! Against Flower's own bytes (tools/reference/flower.py), and against bytes that nobody should send.

use super::*;
use crate::message::Problem;
use crate::testing::{decoded, stored};
use crate::wire;

/// Flower's bytes become a message, and the message becomes Flower's bytes again.
#[track_caller]
fn assert_round_trip(file: &str, name: &str) -> Message {
    let stored = stored(file, name);
    let message = inflate(&stored.name, &stored.objects, 1 << 20).unwrap();
    assert_eq!(message.metadata.message_id, stored.name);
    let deflated = deflate(&message);
    assert_eq!(deflated.tree.object_id, stored.name, "{name}");
    assert_eq!(deflated.tree.encode_to_vec(), stored.tree, "{name}");
    let objects: HashMap<String, Vec<u8>> = deflated.objects.into_iter().collect();
    assert_eq!(objects, stored.objects, "{name}");
    assert_eq!(message.announcement(&stored.name).encode_to_vec(), stored.announced, "{name}");
    message
}

#[test]
fn messages_are_flowers_byte_by_byte() {
    let message = assert_round_trip("objects.json", "everything");
    let metadata = &message.metadata;
    assert_eq!((metadata.run_id, metadata.src_task_id, metadata.dst_task_id), (u64::MAX - 4, Some(7), None));
    let content = message.content.unwrap();
    let names: Vec<&str> = content.names().collect();
    assert_eq!(names, ["arrays", "metrics", "config", "same", "same again"]);
    let (_, arrays) = content.arrays().next().unwrap();
    assert_eq!(arrays.get("größe").unwrap().dtype, "int64");
    let weight = arrays.get("fc1.weight").unwrap();
    let tensor = weight.to_tensor(&flambeau::Device::cpu()).unwrap();
    assert_eq!(tensor.to_string(), "tensor([[0., 1., 2.],\n        [3., 4., 5.]])");
    assert_eq!(flambeau::block_on(Array::of(&tensor)).unwrap(), *weight);
    let (_, metrics) = content.metrics().next().unwrap();
    assert_eq!(metrics.get("all"), Some(&Value::Ints(vec![1, -2, 3])));
    let (_, config) = content.configs().next().unwrap();
    assert_eq!(config.get("large"), Some(&Value::UInt(u64::MAX)));
    assert_eq!(config.get("negative"), Some(&Value::Int(i64::MIN)));
    assert_eq!(config.get("yes"), Some(&Value::Bool(true)));
    assert_eq!(config.get("bytes"), Some(&Value::Bytes(vec![0, 255])));
}

#[test]
fn messages_without_content() {
    let error = assert_round_trip("objects.json", "error").content.unwrap_err();
    assert_eq!(error, Problem { code: 2, reason: "it did not work".into() });
    assert!(assert_round_trip("objects.json", "empty").content.unwrap().is_empty());
}

#[test]
fn the_older_apis_messages() {
    for name in
        ["fit", "evaluate", "get_parameters", "fit answer", "evaluate answer", "get_parameters answer"]
    {
        assert_round_trip("older.json", name);
    }
}

/// An array of three chunks, two of which are the same object.
#[test]
fn large_arrays_are_in_chunks() {
    #[derive(serde::Deserialize)]
    struct Large {
        name: String,
        tree: String,
        objects: Vec<String>,
    }
    let large: Large = crate::testing::part("objects.json", "large");
    let zeros = Array {
        dtype: "float32".into(),
        shape: vec![2_621_450],
        stype: "numpy.ndarray".into(),
        data: vec![0; 2 * CHUNK + 40],
    };
    let arrays = Named::default().with("zeros", zeros);
    let metadata = Metadata {
        run_id: u64::MAX - 4,
        src_node_id: 1,
        dst_node_id: 12_345_678_901_234_567_890,
        group_id: "3".into(),
        ttl: 43200.0,
        message_type: "train".into(),
        created_at: 1_763_565_902.25,
        ..Metadata::default()
    };
    let message = Message { metadata, content: Ok(Named::default().with("arrays", Record::Arrays(arrays))) };
    let deflated = deflate(&message);
    assert_eq!(deflated.tree.object_id, large.name);
    assert_eq!(deflated.tree.encode_to_vec(), decoded(&large.tree));
    let contents: HashMap<String, Vec<u8>> = deflated.objects.into_iter().collect();
    let mut names: Vec<String> = contents.keys().cloned().collect();
    names.sort();
    assert_eq!(names, large.objects);
    let back = inflate(&large.name, &contents, 4 * CHUNK).unwrap();
    assert_eq!(back.content, message.content);
    let error = inflate(&large.name, &contents, 2 * CHUNK).unwrap_err();
    assert!(error.contains("becomes more than"), "{error}");
}

/// Objects that are put together by hand, whatever they say of themselves.
#[derive(Default)]
struct Forger(HashMap<String, Vec<u8>>);

impl Forger {
    fn add(&mut self, content: impl Into<Vec<u8>>) -> String {
        let content = content.into();
        let name = name_of(&content);
        self.0.insert(name.clone(), content);
        name
    }

    fn object(&mut self, kind: &str, children: &[&str], body: &[u8]) -> String {
        let head = format!("{kind} {} {}\0", children.join(","), body.len());
        self.add([head.as_bytes(), body].concat())
    }

    /// A message with such a content.
    fn message(&mut self, content: &str) -> String {
        let metadata = Some(Metadata::default());
        let body = ProtoMessage { metadata, content: None, error: None }.encode_to_vec();
        self.object("Message", &[content], &body)
    }

    /// A message with one record, of which this object is.
    fn record(&mut self, record: &str) -> String {
        let content = self.object("RecordDict", &[record], format!("{{\"r\": \"{record}\"}}").as_bytes());
        self.message(&content)
    }

    #[track_caller]
    fn assert_refused(&self, name: &str, says: &str) {
        let error = inflate(name, &self.0, 1 << 20).unwrap_err();
        assert!(error.contains(says), "{error}");
    }
}

#[test]
fn heads_that_lie() {
    let mut forger = Forger::default();
    for (content, says) in [
        (&b""[..], "no end of its head"),
        (b"Message", "no end of its head"),
        (b"\xff \xff\0", "is no text"),
        (b"Message 0\0", "2 parts instead of 3"),
        (b"Message  0 0\0", "4 parts instead of 3"),
        (b"Message  5\0abc", "3 bytes where `5` are said"),
        (b"Message  -1\0", "0 bytes where `-1` are said"),
        (b"Message  99999999999999999999\0", "are said"),
        (b"Array  0\0", "`Array` where Message is expected"),
        (b"Message ../../etc/passwd 0\0", "`../../etc/passwd` is no name"),
        (b"Message  0\0", "no metadata"),
        (b"Message  3\0\x0a\xff\x01", "object Message: "),
    ] {
        let name = forger.add(content);
        forger.assert_refused(&name, says);
    }
    forger.assert_refused(&"0".repeat(64), "is missing");
}

#[test]
fn contents_that_are_not_what_they_should_be() {
    let mut forger = Forger::default();
    let missing = "ab".repeat(32);
    let name = forger.message(&missing);
    forger.assert_refused(&name, "is missing");
    for body in ["", "[1]", "{\"r\": 3}", "{\"r\": ", "null"] {
        let content = forger.object("RecordDict", &[], body.as_bytes());
        let name = forger.message(&content);
        forger.assert_refused(&name, "object RecordDict: ");
    }
    let content = forger.object("RecordDict", &[], format!("{{\"r\": \"{missing}\"}}").as_bytes());
    let name = forger.message(&content);
    forger.assert_refused(&name, "`r` is none of its parts");
    let array = forger.object("Array", &[], b"{}");
    let name = forger.record(&array);
    forger.assert_refused(&name, "`Array` where ArrayRecord or MetricRecord or ConfigRecord is expected");
    let config = forger.object("ConfigRecord", &[], b"\x0a\x05\x0a");
    let name = forger.record(&config);
    forger.assert_refused(&name, "object ConfigRecord: ");
    let nothing = ProtoRecord { items: vec![wire::ProtoItem { key: "k".into(), value: None }] };
    let config = forger.object("ConfigRecord", &[], &nothing.encode_to_vec());
    let name = forger.record(&config);
    forger.assert_refused(&name, "`k` has no value");
    let text = Named::default().with("k", Value::Text("t".into()));
    let metrics = forger.object("MetricRecord", &[], &to_proto(&text).encode_to_vec());
    let name = forger.record(&metrics);
    forger.assert_refused(&name, "`k` is no number");
}

/// A message whose record has this array.
fn with_array(forger: &mut Forger, chunks: &[&str], body: &str) -> String {
    let array = forger.object("Array", chunks, body.as_bytes());
    let record = forger.object("ArrayRecord", &[&array], format!("{{\"a\": \"{array}\"}}").as_bytes());
    forger.record(&record)
}

/// A few kilobytes that would become gigabytes.
#[test]
fn bombs_do_not_go_off() {
    let mut forger = Forger::default();
    let chunk = forger.object("ArrayChunk", &[], &[0; 60_000]);
    let body = |ids: &str| format!(r#"{{"dtype": "", "shape": [], "stype": "", "arraychunk_ids": [{ids}]}}"#);
    let name = with_array(&mut forger, &[&chunk], &body("1"));
    forger.assert_refused(&name, "chunk 1 of 1");
    let name = with_array(&mut forger, &[&chunk], &body("-1"));
    forger.assert_refused(&name, "object Array: ");
    let name = with_array(&mut forger, &[&chunk], &body(&vec!["0"; 100_000].join(",")));
    forger.assert_refused(&name, "becomes more than");
    // The same array under many names.
    let array = forger.object("Array", &[&chunk], body("0").as_bytes());
    let names: Vec<String> = (0..1000).map(|number| format!("\"{number}\": \"{array}\"")).collect();
    let record = forger.object("ArrayRecord", &[&array], format!("{{{}}}", names.join(", ")).as_bytes());
    let name = forger.record(&record);
    forger.assert_refused(&name, "becomes more than");
    // An object that is its own part cannot exist: its name would have to be in it. One of another kind is refused.
    let content = forger.object("RecordDict", &[], b"{}");
    let outer = forger.object("RecordDict", &[&content], format!("{{\"r\": \"{content}\"}}").as_bytes());
    let name = forger.message(&outer);
    forger.assert_refused(&name, "`RecordDict` where ArrayRecord");
}

#[test]
fn trees_that_are_too_large() {
    let leaf = |name: String| ObjectTree { object_id: name, children: Vec::new() };
    let many = (0..10).map(|number| leaf(format!("{number:064x}"))).collect();
    let tree = ObjectTree { object_id: "a".repeat(64), children: many };
    assert_eq!(names(&tree, 11).unwrap().len(), 11);
    assert!(names(&tree, 10).unwrap_err().contains("more than 10 objects"));
    assert!(names(&leaf("x".repeat(64)), 10).unwrap_err().contains("is no name"));
    // Decoding refuses what is nested more deeply than any message is.
    let mut deep = leaf("a".repeat(64));
    (0..200).for_each(|_| deep = ObjectTree { object_id: "a".repeat(64), children: vec![deep.clone()] });
    assert!(ObjectTree::decode(&deep.encode_to_vec()[..]).is_err());
}
