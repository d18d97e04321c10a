//! A text as windows of characters: the model sees each one's beginning and learns what comes next.

use super::data::Feeding;
use crate::model::Architecture;
use crate::output::{advised, bad_file, refused};
use flambeau::data::{ArrayDataset, CharTokenizer, DataLoader, HostArray, Source, Tokenizer};
use flambeau::prelude::*;
use std::path::{Path, PathBuf};

/// The share of the text, at its end, that is kept for the test.
const TEST_SHARE: f64 = 0.1;
/// Windows a step of a test.
const TEST_BATCH: usize = 32;
/// Every character is in so many windows.
const OVERLAP: usize = 2;

/// A text as numbers.
#[derive(Clone)]
pub struct Text {
    pub tokenizer: CharTokenizer,
    train: Vec<i32>,
    test: Vec<i32>,
    path: PathBuf,
}

impl Text {
    /// Reads a text file of UTF-8.
    pub fn open(path: Option<&Path>) -> Result<Text> {
        let path = path.ok_or_else(|| {
            refused("char-gpt", "it learns from a text of your own: name the file with --data FILE")
        })?;
        let text =
            Source::file(path).read().map_err(|error| advised(error, "name a text file with --data FILE"))?;
        let text = String::from_utf8(text)
            .map_err(|error| bad_file(path, format!("the text is not UTF-8: {}", error.utf8_error())))?;
        let tokenizer = CharTokenizer::of_text(&text);
        let mut train = tokenizer.encode(&text)?;
        let test = train.split_off(train.len() - (train.len() as f64 * TEST_SHARE) as usize);
        Ok(Text { tokenizer, train, test, path: path.to_owned() })
    }

    /// Windows of the model's context.
    pub fn loaders(
        &self,
        model: &Architecture,
        feeding: Feeding,
        device: &Device,
    ) -> Result<(DataLoader, DataLoader)> {
        let context = model.gpt_config().map_or(1, |config| config.context);
        let loader = |tokens: &[i32], stride: usize, batch: usize| -> Result<DataLoader> {
            let data = windows(tokens, context, stride).ok_or_else(|| {
                let needed = ((context + 1) as f64 / TEST_SHARE).ceil();
                bad_file(&self.path, format!("the text is too short: {needed} characters are needed"))
            })?;
            let loader = match feeding.workers {
                0 => DataLoader::<Tensor>::of(data?.to_device(device)?, device),
                workers => DataLoader::<Tensor>::of(data?, device).with_workers(workers),
            };
            let pair = move |tokens: Tensor, _: &Generator| {
                Ok((tokens.try_narrow(1, 0, context)?, tokens.try_narrow(1, 1, context)?))
            };
            Ok(loader.with_batch_size(batch).map(pair))
        };
        let train = loader(&self.train, (context / OVERLAP).max(1), feeding.batch)?;
        Ok((train, loader(&self.test, context, TEST_BATCH)?))
    }
}

/// Windows of `context` + 1 tokens, every `stride`; none if there is not a single one.
fn windows(tokens: &[i32], context: usize, stride: usize) -> Option<Result<ArrayDataset>> {
    let rows: Vec<&[i32]> = tokens.windows(context + 1).step_by(stride).collect();
    if rows.is_empty() {
        return None;
    }
    let count = rows.len();
    let array = HostArray::new(&rows.concat(), [count, context + 1]);
    Some(array.and_then(|array| ArrayDataset::new([array])))
}
