//! Texts in a folder for each class, as IMDB's reviews: `train/pos/*.txt`, `train/neg/*.txt`.

use super::array::HostArray;
use super::dataset::{Dataset, Item};
use super::image_folder::{ClassFile, class_files};
use super::source::Source;
use super::tokenizer::{ByteTokenizer, Tokenizer};
use crate::error::Result;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// Texts (`*.txt`) in folders, one for each class. An item is `(tokens, class)`: I32 of shape (T,), and I32. Texts have
/// lengths of their own: use [`pad_sequences`](super::pad_sequences), or give all one length with
/// [`with_length`](TextFolder::with_length).
///
/// ```no_run
/// # use flambeau::prelude::*;
/// use flambeau::data::{DataLoader, TextFolder, pad_sequences};
/// let reviews = TextFolder::open("aclImdb/train", &["neg", "pos"])?;
/// let batches = DataLoader::new(reviews, &Device::cpu()).with_batch_size(16).with_collate(pad_sequences(64));
/// # Ok::<(), Error>(())
/// ```
#[derive(Clone)]
pub struct TextFolder {
    files: Vec<ClassFile>,
    classes: Vec<String>,
    tokenizer: Arc<dyn Tokenizer>,
    length: Option<usize>,
}

impl TextFolder {
    /// Texts in these folders of a folder; without any, in all of its folders, in alphabetical order. Bytes are the
    /// tokens until told otherwise.
    pub fn open(folder: impl AsRef<Path>, classes: &[&str]) -> Result<TextFolder> {
        let (files, classes) = class_files(folder.as_ref(), classes, &["txt"])?;
        Ok(TextFolder { files, classes, tokenizer: Arc::new(ByteTokenizer), length: None })
    }

    /// Encodes with this tokenizer.
    pub fn with_tokenizer(self, tokenizer: impl Tokenizer + 'static) -> TextFolder {
        TextFolder { tokenizer: Arc::new(tokenizer), ..self }
    }

    /// Gives every item this many tokens: longer texts are cut, shorter ones filled up with zeros.
    pub fn with_length(self, tokens: usize) -> TextFolder {
        TextFolder { length: Some(tokens), ..self }
    }

    /// The names of the classes.
    pub fn classes(&self) -> &[String] {
        &self.classes
    }

    /// The file of an item.
    pub fn path(&self, index: usize) -> Option<&PathBuf> {
        self.files.get(index).map(|file| &file.path)
    }

    /// The text of an item.
    pub fn text(&self, index: usize) -> Result<String> {
        let source = Source::file(&self.files[index].path);
        String::from_utf8(source.read()?).map_err(|error| source.origin().error(error))
    }
}

impl Dataset for TextFolder {
    fn len(&self) -> usize {
        self.files.len()
    }

    fn get(&self, index: usize) -> Result<Item> {
        let mut tokens = self.tokenizer.encode(&self.text(index)?)?;
        if let Some(length) = self.length {
            tokens.resize(length, 0);
        }
        let class = HostArray::scalar(self.files[index].class);
        Ok(vec![HostArray::new(&tokens, [tokens.len()])?, class])
    }
}
