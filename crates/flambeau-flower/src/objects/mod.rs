//! Messages as Flower stores them: trees of objects, each of which is known by the SHA-256 sum of its bytes. An object is a head
//! (`Kind child,child,… length`), a zero byte and a body:
//!
//! | kind | children | body |
//! |---|---|---|
//! | `Message` | a `RecordDict`, or none with an error | metadata and error, in protobuf |
//! | `RecordDict` | its records | JSON: name of the record to name of the object |
//! | `ArrayRecord` | its arrays | JSON: name of the array to name of the object |
//! | `Array` | its chunks, each once | JSON: dtype, shape, format, numbers of the chunks |
//! | `ArrayChunk` | | up to 5 MiB of an array's bytes |
//! | `MetricRecord`, `ConfigRecord` | | names and values, in protobuf |
//!
//! What is read comes from elsewhere: every sum, length and kind is checked, and what the same objects are asked to become,
//! however often they are named, is counted before memory is taken for it.

use crate::json;
use crate::message::{Message, Metadata};
use crate::records::{Array, Named, Record, RecordDict, Value, from_proto, to_proto};
use crate::wire::{ObjectTree, ProtoMessage, ProtoRecord};
use prost::Message as _;
use sha2::{Digest, Sha256};
use std::collections::HashMap;

/// The most bytes of an array in one object.
const CHUNK: usize = 5 << 20;
/// What an expanded record or array counts for beside its bytes, so that a million empty ones are not free.
const OVERHEAD: usize = 64;

type Result<T> = std::result::Result<T, String>;

/// The name of an object with these bytes.
pub(crate) fn name_of(content: &[u8]) -> String {
    use std::fmt::Write;
    Sha256::digest(content).iter().fold(String::with_capacity(64), |mut name, byte| {
        _ = write!(name, "{byte:02x}");
        name
    })
}

/// A message as objects.
pub(crate) struct Deflated {
    /// The names, the message's first.
    pub tree: ObjectTree,
    /// The bytes of each object by name, those of which others consist first.
    pub objects: Vec<(String, Vec<u8>)>,
}

/// Writes a message as objects.
pub(crate) fn deflate(message: &Message) -> Deflated {
    let mut objects = Writer::default();
    let (children, error) = match &message.content {
        Ok(content) => (vec![objects.records(content)], None),
        Err(problem) => (Vec::new(), Some(problem.clone())),
    };
    let metadata = Metadata { message_id: String::new(), ..message.metadata.clone() };
    let body = ProtoMessage { metadata: Some(metadata), content: None, error }.encode_to_vec();
    let tree = objects.add("Message", children, &body);
    Deflated { tree, objects: objects.done }
}

#[derive(Default)]
struct Writer {
    done: Vec<(String, Vec<u8>)>,
    /// Names of those that are done.
    known: std::collections::HashSet<String>,
}

impl Writer {
    /// Adds an object that consists of these; equal children are one.
    fn add(&mut self, kind: &str, children: Vec<ObjectTree>, body: &[u8]) -> ObjectTree {
        let mut unique: Vec<ObjectTree> = Vec::with_capacity(children.len());
        let mut names = std::collections::HashSet::new();
        for child in children {
            if names.insert(child.object_id.clone()) {
                unique.push(child);
            }
        }
        let listed: Vec<&str> = unique.iter().map(|child| child.object_id.as_str()).collect();
        let mut content = format!("{kind} {} {}\0", listed.join(","), body.len()).into_bytes();
        content.extend_from_slice(body);
        let name = name_of(&content);
        if self.known.insert(name.clone()) {
            self.done.push((name.clone(), content));
        }
        ObjectTree { object_id: name, children: unique }
    }

    fn records(&mut self, content: &RecordDict) -> ObjectTree {
        let (mut children, mut names) = (Vec::new(), Vec::new());
        for (name, record) in content.iter() {
            let child = match record {
                Record::Arrays(arrays) => self.arrays(arrays),
                Record::Metrics(values) => self.values("MetricRecord", values),
                Record::Config(values) => self.values("ConfigRecord", values),
            };
            names.push((name, child.object_id.clone()));
            children.push(child);
        }
        self.add("RecordDict", children, json::write_names(&names).as_bytes())
    }

    fn values(&mut self, kind: &str, values: &Named<Value>) -> ObjectTree {
        self.add(kind, Vec::new(), &to_proto(values).encode_to_vec())
    }

    fn arrays(&mut self, arrays: &Named<Array>) -> ObjectTree {
        let (mut children, mut names) = (Vec::new(), Vec::new());
        for (name, array) in arrays.iter() {
            let child = self.array(array);
            names.push((name, child.object_id.clone()));
            children.push(child);
        }
        self.add("ArrayRecord", children, json::write_names(&names).as_bytes())
    }

    fn array(&mut self, array: &Array) -> ObjectTree {
        let chunks = array.data.chunks(CHUNK);
        let children: Vec<ObjectTree> =
            chunks.map(|chunk| self.add("ArrayChunk", Vec::new(), chunk)).collect();
        let mut places = HashMap::new();
        let numbers = children.iter().map(|child| {
            let next = places.len();
            *places.entry(child.object_id.as_str()).or_insert(next)
        });
        let numbers = numbers.collect();
        let body = json::write_array(&json::ArrayBody {
            dtype: array.dtype.clone(),
            shape: array.shape.clone(),
            stype: array.stype.clone(),
            arraychunk_ids: numbers,
        });
        self.add("Array", children, body.as_bytes())
    }
}

/// The names of all objects of a tree, each once, those of which others consist first; an error if there are more than `most`.
pub(crate) fn names(tree: &ObjectTree, most: usize) -> Result<Vec<String>> {
    // Decoding has bounded how deep a tree is.
    fn visit(
        tree: &ObjectTree,
        most: usize,
        known: &mut std::collections::HashSet<String>,
        names: &mut Vec<String>,
    ) -> Result<()> {
        tree.children.iter().try_for_each(|child| visit(child, most, known, names))?;
        if !is_name(&tree.object_id) {
            return Err(format!("`{}` is no name of an object", shortened(&tree.object_id)));
        }
        if known.insert(tree.object_id.clone()) {
            if names.len() == most {
                return Err(format!("the message has more than {most} objects"));
            }
            names.push(tree.object_id.clone());
        }
        Ok(())
    }
    let (mut known, mut list) = (std::collections::HashSet::new(), Vec::new());
    visit(tree, most, &mut known, &mut list)?;
    Ok(list)
}

/// Reads a message from its objects. What it becomes may have `limit` bytes.
pub(crate) fn inflate(name: &str, contents: &HashMap<String, Vec<u8>>, limit: usize) -> Result<Message> {
    let mut reader = Reader { contents, left: limit, limit };
    let object = reader.object(name, &["Message"])?;
    let proto = ProtoMessage::decode(object.body).map_err(|error| format!("object Message: {error}"))?;
    let metadata = proto.metadata.ok_or("object Message: no metadata")?;
    let metadata = Metadata { message_id: name.to_owned(), ..metadata };
    let content = match (proto.error, &object.children[..]) {
        (Some(problem), []) => Err(problem),
        (None, [content]) => Ok(reader.records(content)?),
        (_, children) => {
            return Err(format!("object Message: {} contents, or an error beside one", children.len()));
        }
    };
    Ok(Message { metadata, content })
}

struct Reader<'a> {
    contents: &'a HashMap<String, Vec<u8>>,
    left: usize,
    limit: usize,
}

/// An object, taken apart.
struct Object<'a> {
    kind: &'a str,
    children: Vec<&'a str>,
    body: &'a [u8],
}

impl<'a> Reader<'a> {
    /// Takes note that so many bytes are made.
    fn count(&mut self, bytes: usize) -> Result<()> {
        let needed = bytes.saturating_add(OVERHEAD);
        self.left = self
            .left
            .checked_sub(needed)
            .ok_or_else(|| format!("the message becomes more than {} bytes", self.limit))?;
        Ok(())
    }

    /// The object of that name, which must be of one of these kinds.
    fn object(&mut self, name: &str, kinds: &[&str]) -> Result<Object<'a>> {
        let content = self.contents.get(name);
        let content = content.ok_or_else(|| format!("object {} is missing", shortened(name)))?;
        let wrong = |message: String| format!("object {}: {message}", shortened(name));
        let end =
            content.iter().position(|&byte| byte == 0).ok_or_else(|| wrong("no end of its head".into()))?;
        let (head, body) = (&content[..end], &content[end + 1..]);
        let head = std::str::from_utf8(head).map_err(|_| wrong("its head is no text".into()))?;
        let parts: Vec<&str> = head.split(' ').collect();
        let [kind, children, length] = parts[..] else {
            return Err(wrong(format!("its head has {} parts instead of 3", parts.len())));
        };
        if length.parse() != Ok(body.len()) {
            return Err(wrong(format!("{} bytes where `{}` are said", body.len(), shortened(length))));
        }
        if !kinds.contains(&kind) {
            return Err(wrong(format!("`{}` where {} is expected", shortened(kind), kinds.join(" or "))));
        }
        let children: Vec<&str> = children.split(',').filter(|child| !child.is_empty()).collect();
        if let Some(child) = children.iter().find(|child| !is_name(child)) {
            return Err(wrong(format!("`{}` is no name of an object", shortened(child))));
        }
        self.count(children.len() * OVERHEAD)?;
        Ok(Object { kind, children, body })
    }

    fn records(&mut self, name: &str) -> Result<RecordDict> {
        let object = self.object(name, &["RecordDict"])?;
        let record = |reader: &mut Self, name: &str| reader.record(name);
        self.by_name(&object, record)
    }

    /// What the names in an object's body stand for.
    fn by_name<T>(
        &mut self,
        object: &Object<'a>,
        read: impl Fn(&mut Self, &str) -> Result<T>,
    ) -> Result<Named<T>> {
        let names =
            json::read_names(object.body).map_err(|error| format!("object {}: {error}", object.kind))?;
        let children: std::collections::HashSet<&str> = object.children.iter().copied().collect();
        let mut values = Vec::new();
        for (name, of) in names {
            if !children.contains(of.as_str()) {
                return Err(format!("object {}: `{name}` is none of its parts", object.kind));
            }
            self.count(name.len())?;
            values.push((name, read(self, &of)?));
        }
        Ok(values.into_iter().collect())
    }

    fn record(&mut self, name: &str) -> Result<Record> {
        let object = self.object(name, &["ArrayRecord", "MetricRecord", "ConfigRecord"])?;
        if object.kind == "ArrayRecord" {
            return Ok(Record::Arrays(self.by_name(&object, |reader, name| reader.array(name))?));
        }
        self.count(object.body.len())?;
        let wrong = |error: String| format!("object {}: {error}", object.kind);
        let values = ProtoRecord::decode(object.body).map_err(|error| wrong(error.to_string()))?;
        let values = from_proto(values).map_err(wrong)?;
        if object.kind == "ConfigRecord" {
            return Ok(Record::Config(values));
        }
        if let Some((name, _)) = values.iter().find(|(_, value)| !value.is_metric()) {
            return Err(wrong(format!("`{name}` is no number")));
        }
        Ok(Record::Metrics(values))
    }

    fn array(&mut self, name: &str) -> Result<Array> {
        let object = self.object(name, &["Array"])?;
        let body = json::read_array(object.body).map_err(|error| format!("object Array: {error}"))?;
        let chunks: Vec<&[u8]> = object
            .children
            .iter()
            .map(|child| Ok(self.object(child, &["ArrayChunk"])?.body))
            .collect::<Result<_>>()?;
        let mut parts = Vec::new();
        for number in body.arraychunk_ids {
            let chunk = chunks.get(number);
            let chunk = chunk.ok_or_else(|| format!("object Array: chunk {number} of {}", chunks.len()))?;
            self.count(chunk.len())?;
            parts.push(*chunk);
        }
        Ok(Array { dtype: body.dtype, shape: body.shape, stype: body.stype, data: parts.concat() })
    }
}

fn is_name(name: &str) -> bool {
    name.len() == 64 && name.bytes().all(|byte| byte.is_ascii_hexdigit())
}

/// The beginning of what a server sent, for messages.
fn shortened(text: &str) -> String {
    const MOST: usize = 16;
    match text.char_indices().nth(MOST) {
        Some((end, _)) => format!("{}…", text[..end].escape_debug()),
        None => text.escape_debug().to_string(),
    }
}

#[cfg(test)]
mod tests;
