//! Data sets that are too large for memory and are read in chunks, such as files: items from a few chunks at a time.

use super::dataset::Item;
use super::random::HostRandom;
use crate::error::{Error, Result};
use crate::io::{State, Stateful};
use crate::rng::Generator;
use std::collections::VecDeque;

/// Reads chunks of items by number.
pub trait ChunkReader: Send {
    /// How many chunks there are.
    fn chunk_count(&self) -> usize;

    /// The items of a chunk.
    fn read_chunk(&mut self, index: usize) -> Result<Vec<Item>>;
}

/// How [`ChunkedItems`] reads.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ChunkOptions {
    /// Items a batch.
    pub batch_size: usize,
    /// Shuffle chunks, and the items of those read together: the seed. In order where absent.
    pub shuffle: Option<u64>,
    /// How many chunks are read together, and so shuffled among each other.
    pub chunks_together: usize,
}

impl ChunkOptions {
    /// Batches of this size, one chunk after the other, in order.
    pub fn new(batch_size: usize) -> ChunkOptions {
        ChunkOptions { batch_size, shuffle: None, chunks_together: 1 }
    }
}

/// Called with the items of chunks that were read together, before batches are made of them.
type Preprocess = dyn FnMut(&mut Vec<Item>) + Send;

/// Batches of items from chunks. A batch may have items of several chunks; only the last of an epoch is smaller.
///
/// ```
/// use flambeau::data::{ChunkOptions, ChunkReader, ChunkedItems, HostArray, Item};
/// struct Lines;
/// impl ChunkReader for Lines {
///     fn chunk_count(&self) -> usize {
///         2
///     }
///     fn read_chunk(&mut self, index: usize) -> flambeau::Result<Vec<Item>> {
///         Ok((0..3).map(|k| vec![HostArray::scalar(10 * index as i32 + k)]).collect())
///     }
/// }
/// let mut items = ChunkedItems::new(Lines, ChunkOptions::new(4))?;
/// assert_eq!(items.next_batch()?.map(|batch| batch.len()), Some(4));
/// assert_eq!(items.next_batch()?.map(|batch| batch.len()), Some(2));
/// assert!(items.next_batch()?.is_none());
/// # Ok::<(), flambeau::Error>(())
/// ```
pub struct ChunkedItems<R> {
    reader: R,
    options: ChunkOptions,
    preprocess: Option<Box<Preprocess>>,
    epoch: u64,
    order: Vec<usize>,
    /// Chunks of this epoch that were read.
    read: usize,
    waiting: VecDeque<Item>,
    /// Items of this epoch that were handed out.
    handed: usize,
}

impl<R: ChunkReader> ChunkedItems<R> {
    /// Reads with these options.
    pub fn new(reader: R, options: ChunkOptions) -> Result<ChunkedItems<R>> {
        if options.batch_size == 0 || options.chunks_together == 0 {
            let message =
                format!("a batch has at least one item and comes from at least one chunk: {options:?}");
            return Err(Error::argument("ChunkedItems", message));
        }
        let mut items = ChunkedItems {
            reader,
            options,
            preprocess: None,
            epoch: 0,
            order: Vec::new(),
            read: 0,
            waiting: VecDeque::new(),
            handed: 0,
        };
        items.begin();
        Ok(items)
    }

    /// With a function that sees, and may change, the items of chunks read together.
    #[must_use]
    pub fn with_preprocess(self, preprocess: impl FnMut(&mut Vec<Item>) + Send + 'static) -> Self {
        ChunkedItems { preprocess: Some(Box::new(preprocess)), ..self }
    }

    /// The order of this epoch's chunks.
    pub fn chunk_order(&self) -> &[usize] {
        &self.order
    }

    /// Starts the next epoch.
    pub fn reset(&mut self) {
        self.epoch += 1;
        self.begin();
    }

    /// The numbers that a part of this epoch is shuffled by: those of the chunks' order for 0, of chunks read together after that.
    fn random(&self, part: usize) -> Option<HostRandom> {
        let seed = self.options.shuffle?;
        Some(HostRandom::new(&Generator::new(seed).fork(self.epoch).fork(part as u64)))
    }

    fn begin(&mut self) {
        let count = self.reader.chunk_count();
        self.order = match self.random(0) {
            Some(mut random) => random.permutation(count),
            None => (0..count).collect(),
        };
        (self.read, self.handed) = (0, 0);
        self.waiting.clear();
    }

    /// The next items; none at the end of the epoch, until [`reset`](Self::reset).
    pub fn next_batch(&mut self) -> Result<Option<Vec<Item>>> {
        while self.waiting.len() < self.options.batch_size && self.read < self.order.len() {
            self.read_more()?;
        }
        let count = self.options.batch_size.min(self.waiting.len());
        self.handed += count;
        Ok((count > 0).then(|| self.waiting.drain(..count).collect()))
    }

    /// To the place in an epoch after so many items.
    fn skip_to(&mut self, epoch: u64, items: usize) -> Result<()> {
        self.epoch = epoch;
        self.begin();
        while self.handed < items {
            if self.waiting.is_empty() {
                if self.read == self.order.len() {
                    let message = format!("the state has {items} items, the chunks only {}", self.handed);
                    return Err(Error::argument("ChunkedItems", message));
                }
                self.read_more()?;
            }
            let skipped = self.waiting.len().min(items - self.handed);
            self.waiting.drain(..skipped);
            self.handed += skipped;
        }
        Ok(())
    }

    fn read_more(&mut self) -> Result<()> {
        let end = self.order.len().min(self.read + self.options.chunks_together);
        let mut items = Vec::new();
        for place in self.read..end {
            items.extend(self.reader.read_chunk(self.order[place])?);
        }
        self.read = end;
        if let Some(mut random) = self.random(end) {
            random.shuffle(&mut items);
        }
        if let Some(preprocess) = &mut self.preprocess {
            preprocess(&mut items);
        }
        self.waiting.extend(items);
        Ok(())
    }
}

impl<R: ChunkReader> Stateful for ChunkedItems<R> {
    fn state(&self) -> State {
        let mut state = State::default();
        state.set("epoch", self.epoch);
        state.set("items", self.handed as u64);
        state
    }

    /// Goes on after the items that were handed out; chunks before them are read again.
    fn load_state(&mut self, state: &State) -> Result<()> {
        let (epoch, items) = (state.value("epoch")?, state.value("items")?);
        let (order, waiting) = (std::mem::take(&mut self.order), std::mem::take(&mut self.waiting));
        let before = (self.epoch, self.read, self.handed);
        let result = self.skip_to(epoch, items);
        if result.is_err() {
            (self.order, self.waiting) = (order, waiting);
            (self.epoch, self.read, self.handed) = before;
        }
        result
    }
}
