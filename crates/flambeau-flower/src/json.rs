//! The bodies of objects in JSON, letter for letter as Python's `json.dumps` writes them: objects are known by the sums of their
//! bytes.

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::ser::Formatter;
use std::io::{self, Write};

/// What an array is, and of which chunks it consists.
#[derive(Debug, PartialEq, Serialize, Deserialize)]
pub(crate) struct ArrayBody {
    pub dtype: String,
    pub shape: Vec<u64>,
    pub stype: String,
    pub arraychunk_ids: Vec<usize>,
}

/// Spaces after commas and colons, and all that is not ASCII escaped.
struct Python;

impl Formatter for Python {
    fn begin_array_value<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_key<W: ?Sized + Write>(&mut self, to: &mut W, first: bool) -> io::Result<()> {
        if first { Ok(()) } else { to.write_all(b", ") }
    }

    fn begin_object_value<W: ?Sized + Write>(&mut self, to: &mut W) -> io::Result<()> {
        to.write_all(b": ")
    }

    fn write_string_fragment<W: ?Sized + Write>(&mut self, to: &mut W, text: &str) -> io::Result<()> {
        for character in text.chars() {
            if (' '..='~').contains(&character) {
                to.write_all(&[character as u8])?;
                continue;
            }
            for unit in character.encode_utf16(&mut [0; 2]) {
                write!(to, "\\u{unit:04x}")?;
            }
        }
        Ok(())
    }
}

fn write(value: &impl Serialize) -> String {
    let mut bytes = Vec::new();
    let mut serializer = serde_json::Serializer::with_formatter(&mut bytes, Python);
    value.serialize(&mut serializer).expect("memory takes all bytes, and keys are texts");
    String::from_utf8(bytes).expect("only ASCII is written")
}

struct Names<'a>(&'a [(&'a str, String)]);

impl Serialize for Names<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.0.iter().map(|(name, of)| (name, of)))
    }
}

struct OwnedNames(Vec<(String, String)>);

impl<'de> Deserialize<'de> for OwnedNames {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = OwnedNames;

            fn expecting(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
                formatter.write_str("names of objects by name")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<OwnedNames, A::Error> {
                let mut names = Vec::new();
                while let Some(entry) = map.next_entry()? {
                    names.push(entry);
                }
                Ok(OwnedNames(names))
            }
        }
        deserializer.deserialize_map(InOrder)
    }
}

/// Names, and the names of the objects that they stand for.
pub(crate) fn write_names(names: &[(&str, String)]) -> String {
    write(&Names(names))
}

/// Reads what [`write_names`] writes, in order.
pub(crate) fn read_names(bytes: &[u8]) -> Result<Vec<(String, String)>, String> {
    serde_json::from_slice(bytes).map(|names: OwnedNames| names.0).map_err(|error| error.to_string())
}

/// What an array is.
pub(crate) fn write_array(body: &ArrayBody) -> String {
    write(body)
}

/// Reads what [`write_array`] writes.
pub(crate) fn read_array(bytes: &[u8]) -> Result<ArrayBody, String> {
    serde_json::from_slice(bytes).map_err(|error| error.to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As CPython 3.11 prints `json.dumps({'a"b\\\n': "x", "é😀\x7f": "y"})`.
    #[test]
    fn texts_are_pythons() {
        let names = [("a\"b\\\n", "x".to_owned()), ("é😀\x7f", "y".to_owned())];
        let text = write_names(&names);
        assert_eq!(text, "{\"a\\\"b\\\\\\n\": \"x\", \"\\u00e9\\ud83d\\ude00\\u007f\": \"y\"}");
        let read = read_names(text.as_bytes()).unwrap();
        assert_eq!(read[1], ("é😀\x7f".to_owned(), "y".to_owned()));
    }

    #[test]
    fn arrays_keep_their_order() {
        let body = ArrayBody {
            dtype: "float32".into(),
            shape: vec![3, 4],
            stype: "numpy.ndarray".into(),
            arraychunk_ids: vec![0, 0, 1],
        };
        let text = write_array(&body);
        let python =
            r#"{"dtype": "float32", "shape": [3, 4], "stype": "numpy.ndarray", "arraychunk_ids": [0, 0, 1]}"#;
        assert_eq!(text, python);
        assert_eq!(read_array(text.as_bytes()).unwrap(), body);
        assert!(read_array(b"{\"dtype\": 1}").is_err());
    }
}
