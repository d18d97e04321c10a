//! Text as numbers: bytes, or the characters of a vocabulary.

use super::origin::Origin;
use crate::error::{Error, Result};
use serde::{Deserialize, Serialize};

/// Turns text into numbers and back.
///
/// ```
/// use flambeau::data::{ByteTokenizer, CharTokenizer, Tokenizer};
/// let tokenizers: [Box<dyn Tokenizer>; 2] = [Box::new(ByteTokenizer), Box::new(CharTokenizer::of_text("abc"))];
/// assert_eq!(tokenizers.map(|tokenizer| tokenizer.vocabulary_size()), [256, 3]);
/// ```
pub trait Tokenizer: Send + Sync {
    /// How many different numbers there are: they are 0 to this − 1.
    fn vocabulary_size(&self) -> usize;

    /// The numbers of a text.
    fn encode(&self, text: &str) -> Result<Vec<i32>>;

    /// The text of numbers.
    fn decode(&self, tokens: &[i32]) -> Result<String>;
}

/// A token for each byte of UTF-8: any text can be encoded, with 256 tokens.
///
/// ```
/// use flambeau::data::{ByteTokenizer, Tokenizer};
/// let tokens = ByteTokenizer.encode("né")?;
/// assert_eq!(tokens, [110, 195, 169]);
/// assert_eq!(ByteTokenizer.decode(&tokens)?, "né");
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone, Copy, Default)]
pub struct ByteTokenizer;

impl Tokenizer for ByteTokenizer {
    fn vocabulary_size(&self) -> usize {
        256
    }

    fn encode(&self, text: &str) -> Result<Vec<i32>> {
        Ok(text.bytes().map(i32::from).collect())
    }

    /// Bytes that are not UTF-8, such as a model may give, become U+FFFD.
    fn decode(&self, tokens: &[i32]) -> Result<String> {
        let byte = |&token: &i32| {
            u8::try_from(token).map_err(|_| Error::argument("decode", format!("token {token} is not a byte")))
        };
        Ok(String::from_utf8_lossy(&tokens.iter().map(byte).collect::<Result<Vec<u8>>>()?).into_owned())
    }
}

/// A token for each character of a vocabulary, in the characters' order.
///
/// ```
/// use flambeau::data::{CharTokenizer, Tokenizer};
/// let tokenizer = CharTokenizer::of_text("hello");
/// assert_eq!(tokenizer.vocabulary(), ['e', 'h', 'l', 'o']);
/// assert_eq!(tokenizer.encode("hole")?, [1, 3, 2, 0]);
/// assert_eq!(tokenizer.decode(&[1, 3, 2, 0])?, "hole");
/// assert_eq!(CharTokenizer::from_json(&tokenizer.to_json())?, tokenizer);
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CharTokenizer {
    vocabulary: Vec<char>,
}

/// The JSON form.
#[derive(Serialize, Deserialize)]
struct Saved {
    kind: String,
    vocabulary: Vec<char>,
}

const KIND: &str = "characters";

impl CharTokenizer {
    /// The vocabulary of a text: the characters in it.
    pub fn of_text(text: &str) -> CharTokenizer {
        CharTokenizer::with_vocabulary(text.chars())
    }

    /// A tokenizer of these characters.
    pub fn with_vocabulary(characters: impl IntoIterator<Item = char>) -> CharTokenizer {
        let vocabulary: std::collections::BTreeSet<char> = characters.into_iter().collect();
        CharTokenizer { vocabulary: vocabulary.into_iter().collect() }
    }

    /// The characters, in order: token i is the i-th.
    pub fn vocabulary(&self) -> &[char] {
        &self.vocabulary
    }

    /// The vocabulary as JSON.
    pub fn to_json(&self) -> String {
        serde_json::json!({ "kind": KIND, "vocabulary": self.vocabulary }).to_string()
    }

    /// A tokenizer from what [`to_json`](CharTokenizer::to_json) gave.
    pub fn from_json(json: &str) -> Result<CharTokenizer> {
        CharTokenizer::parse(json, &Origin::bytes("tokenizer"))
    }

    fn parse(json: &str, origin: &Origin) -> Result<CharTokenizer> {
        let saved: Saved = serde_json::from_str(json).map_err(|error| origin.error(error))?;
        let tokenizer = CharTokenizer::with_vocabulary(saved.vocabulary.iter().copied());
        if saved.kind != KIND || tokenizer.vocabulary != saved.vocabulary {
            let message =
                "a vocabulary of different characters, in order, was expected, of kind `characters`";
            return Err(origin.error(message));
        }
        Ok(tokenizer)
    }

    /// Saves the vocabulary as a JSON file.
    ///
    /// ```no_run
    /// use flambeau::data::CharTokenizer;
    /// CharTokenizer::of_text("hello").save("tokenizer.json")?;
    /// let tokenizer = CharTokenizer::open("tokenizer.json")?;
    /// # Ok::<(), flambeau::Error>(())
    /// ```
    #[cfg(not(target_arch = "wasm32"))]
    pub fn save(&self, path: impl AsRef<std::path::Path>) -> Result<()> {
        let path = path.as_ref();
        std::fs::write(path, self.to_json())
            .map_err(|error| Error::Io { path: path.display().to_string(), message: error.to_string() })
    }

    /// A tokenizer from a JSON file.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(path: impl AsRef<std::path::Path>) -> Result<CharTokenizer> {
        let source = super::Source::file(path.as_ref());
        let origin = source.origin();
        let json = String::from_utf8(source.read()?).map_err(|error| origin.error(error))?;
        CharTokenizer::parse(&json, &origin)
    }
}

impl Tokenizer for CharTokenizer {
    fn vocabulary_size(&self) -> usize {
        self.vocabulary.len()
    }

    /// A character that is not in the vocabulary is an error that names it.
    fn encode(&self, text: &str) -> Result<Vec<i32>> {
        let token = |(position, character): (usize, char)| match self.vocabulary.binary_search(&character) {
            Ok(token) => Ok(token as i32),
            Err(_) => {
                let message = format!("character {position}, {character:?}, is not in the vocabulary");
                Err(Error::argument("encode", message))
            }
        };
        text.chars().enumerate().map(token).collect()
    }

    fn decode(&self, tokens: &[i32]) -> Result<String> {
        let character = |&token: &i32| {
            let found = usize::try_from(token).ok().and_then(|token| self.vocabulary.get(token));
            found.copied().ok_or_else(|| {
                let message = format!("token {token} is outside a vocabulary of {}", self.vocabulary.len());
                Error::argument("decode", message)
            })
        };
        tokens.iter().map(character).collect()
    }
}
