//! The loader: batches of a data set, in an order that a seed and the epoch's number give.

mod collate;
mod share;
mod state;
#[cfg(not(target_arch = "wasm32"))]
mod workers;

pub use collate::{Batch, pad_sequences, stack_items};

use super::dataset::{Dataset, Item};
use super::random::HostRandom;
use super::sampler::Sampler;
use crate::device::Device;
use crate::error::{Error, Result};
use crate::rng::Generator;
use crate::tensor::Tensor;
use share::Cut;
use std::ops::Range;
use std::sync::Arc;
use web_time::{Duration, Instant};

type Collate = dyn Fn(Vec<Item>) -> Result<Item> + Send + Sync;
type Finish<B> = dyn Fn(Vec<Tensor>, &Generator) -> Result<B> + Send + Sync;

/// More threads would only wait for each other.
const MAX_WORKERS: usize = 1024;

/// Makes batches of a data set's items on a device, epoch after epoch.
///
/// The order of items is a function of the seed and of the epoch's number alone: the number of workers does not
/// change it, and a loader that takes up a saved state goes on with the very same batches.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::data::{ArrayDataset, DataLoader, HostArray};
/// # flambeau::block_on(async {
/// let x = HostArray::new(&[1.0f32, 2.0, 3.0], [3, 1])?;
/// let y = HostArray::new(&[0, 1, 0], [3])?;
/// let mut batches = DataLoader::new(ArrayDataset::new([x, y])?, &Device::cpu()).with_batch_size(2);
/// for _epoch in 0..2 {
///     let mut seen = 0;
///     while let Some((x, y)) = batches.next().await? {
///         seen += x.size(0);
///     }
///     assert_eq!(seen, 3);
/// }
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub struct DataLoader<B = (Tensor, Tensor)> {
    maker: Arc<Maker>,
    device: Device,
    sampler: Sampler,
    seed: u64,
    cut: Cut,
    drop_last: bool,
    workers: usize,
    prefetch: usize,
    timeout: Option<Duration>,
    finish: Arc<Finish<B>>,
    epoch: u64,
    /// Batches of this epoch that were handed out.
    position: usize,
    /// Pieces that a batch comes in, and those of the present one that were handed out.
    pieces: usize,
    piece: usize,
    current: Option<Epoch>,
    waiting: Duration,
}

/// What workers share: how items become the arrays of a batch.
struct Maker {
    dataset: Arc<dyn Dataset>,
    collate: Option<Arc<Collate>>,
}

/// An epoch under way: its items in order, and where batches come from.
struct Epoch {
    indices: Arc<Vec<usize>>,
    feed: Feed,
}

enum Feed {
    /// The items' numbers as a tensor beside the data.
    Resident(Tensor),
    /// The thread that asks.
    Inline,
    #[cfg(not(target_arch = "wasm32"))]
    Workers(workers::Workers),
}

impl Maker {
    /// The arrays of the batch of these items.
    fn make(&self, indices: &[usize]) -> Result<Item> {
        let item = |&index: &usize| guarded(index, || self.dataset.get(index));
        let items = indices.iter().map(item).collect::<Result<Vec<Item>>>()?;
        let first = indices.first().copied().unwrap_or(0);
        guarded(first, || match &self.collate {
            Some(collate) => collate(items),
            None => stack_items(items),
        })
    }
}

/// An error or panic of `body`, as an error that names the item.
fn guarded<T>(index: usize, body: impl FnOnce() -> Result<T>) -> Result<T> {
    let named = |error| Error::Item { index, error: Box::new(error) };
    match std::panic::catch_unwind(std::panic::AssertUnwindSafe(body)) {
        Ok(result) => result.map_err(named),
        Err(panic) => {
            let text = panic.downcast_ref::<String>().map(String::as_str);
            let text = text.or_else(|| panic.downcast_ref::<&str>().copied()).unwrap_or("no message");
            Err(named(Error::argument("DataLoader", format!("the data set panicked: {text}"))))
        }
    }
}

impl DataLoader {
    /// Batches `(x, y)` of a data set whose items have two parts: one item each, in order, until told otherwise.
    /// [`DataLoader::of`] makes batches of other kinds.
    pub fn new(dataset: impl Dataset + 'static, device: &Device) -> DataLoader {
        DataLoader::of(dataset, device)
    }
}

impl<B: Batch> DataLoader<B> {
    /// Batches of any kind that [`Batch`] knows: a tensor, a pair, a triple, or a vector of tensors.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::data::{ArrayDataset, DataLoader, HostArray};
    /// # flambeau::block_on(async {
    /// let data = ArrayDataset::new([HostArray::new(&[1.0f32, 2.0], [2])?])?;
    /// let mut batches = DataLoader::<Tensor>::of(data, &Device::cpu()).with_batch_size(2);
    /// assert_eq!(batches.next().await?.unwrap().to_string(), "tensor([1., 2.])");
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub fn of(dataset: impl Dataset + 'static, device: &Device) -> DataLoader<B> {
        DataLoader {
            maker: Arc::new(Maker { dataset: Arc::new(dataset), collate: None }),
            device: device.clone(),
            sampler: Sampler::Sequential,
            seed: 0,
            cut: Cut { batch_size: 1, rank: 0, size: 1 },
            drop_last: false,
            workers: 0,
            prefetch: 2,
            timeout: None,
            finish: Arc::new(|tensors, _| B::from_tensors(tensors)),
            epoch: 0,
            position: 0,
            pieces: 1,
            piece: 0,
            current: None,
            waiting: Duration::ZERO,
        }
    }
}

impl<B: 'static> DataLoader<B> {
    /// Items a batch (1 if not set). With 0 there are no batches: [`next`](DataLoader::next) is an error.
    pub fn with_batch_size(self, batch_size: usize) -> Self {
        DataLoader { cut: Cut { batch_size, ..self.cut }, current: None, ..self }
    }

    /// Every item once an epoch, in an order that this seed and the epoch's number give.
    pub fn with_shuffle(self, seed: u64) -> Self {
        self.with_sampler(Sampler::Random).with_seed(seed)
    }

    /// Which items make an epoch, and in what order.
    pub fn with_sampler(self, sampler: Sampler) -> Self {
        DataLoader { sampler, current: None, ..self }
    }

    /// The seed of orders and of what [`map`](DataLoader::map) draws (0 if not set).
    pub fn with_seed(self, seed: u64) -> Self {
        DataLoader { seed, current: None, ..self }
    }

    /// Hands out a share of each batch: that of the member `rank` of `size` who train together. The order of items, the batch
    /// size and the place in the data stay those of the whole, so that a saved place suits any number of members. Shares differ
    /// by one item at most: [`weight`](DataLoader::weight) makes up for that. What [`map`](DataLoader::map) draws differs from
    /// member to member.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::data::{DataLoader, synthetic};
    /// # flambeau::block_on(async {
    /// let points = synthetic::xor(10, 0.1, &Generator::new(1));
    /// let mut batches = DataLoader::new(points, &Device::cpu()).with_batch_size(8).with_share(2, 3);
    /// let (x, _) = batches.next().await?.unwrap();
    /// assert_eq!((x.size(0), batches.weight(), batches.len()), (2, 0.75, 2));
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    ///
    /// # Panics
    /// Unless `rank` is below `size`.
    pub fn with_share(mut self, rank: usize, size: usize) -> Self {
        self.set_share(rank, size);
        self
    }

    /// [`with_share`](DataLoader::with_share) for a loader that is there already; it keeps its place.
    ///
    /// # Panics
    /// Unless `rank` is below `size`.
    pub fn set_share(&mut self, rank: usize, size: usize) {
        assert!(rank < size, "member {rank} of {size}");
        let cut = Cut { rank, size, ..self.cut };
        if cut != self.cut {
            (self.cut, self.current) = (cut, None);
        }
    }

    /// Hands out each batch in so many pieces, one after the other: what [`next`](DataLoader::next) gives is a piece, and
    /// [`position`](DataLoader::position) counts whole batches. Pieces differ by one item at most:
    /// [`weight`](DataLoader::weight) makes up for that. What [`map`](DataLoader::map) draws differs from piece to piece.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::data::{DataLoader, synthetic};
    /// # flambeau::block_on(async {
    /// let points = synthetic::xor(10, 0.1, &Generator::new(1));
    /// let mut batches = DataLoader::new(points, &Device::cpu()).with_batch_size(5);
    /// batches.set_pieces(2)?;
    /// let (x, _) = batches.next().await?.unwrap();
    /// assert_eq!((x.size(0), batches.weight(), batches.position()), (3, 1.2, 0));
    /// let (x, _) = batches.next().await?.unwrap();
    /// assert_eq!((x.size(0), batches.weight(), batches.position()), (2, 0.8, 1));
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    ///
    /// An error for a loader that hands out a member's share, and in the middle of a batch.
    pub fn set_pieces(&mut self, pieces: usize) -> Result<()> {
        if pieces == 0 || self.cut.size > 1 || self.piece > 0 {
            let message = format!(
                "{pieces} pieces: a batch has at least one, is not cut again where it is shared, and is handed out whole first"
            );
            return Err(Error::argument("DataLoader::set_pieces", message));
        }
        if pieces != self.pieces {
            (self.pieces, self.current) = (pieces, None);
        }
        Ok(())
    }

    /// Pieces that a batch comes in; 1 unless [`set_pieces`](DataLoader::set_pieces) says otherwise.
    pub fn pieces(&self) -> usize {
        self.pieces
    }

    /// Where batches are made.
    pub fn device(&self) -> &Device {
        &self.device
    }

    /// Items a batch.
    pub fn batch_size(&self) -> usize {
        self.cut.batch_size
    }

    /// The first of the batch that comes next, or of its pieces if it came in so many. The place stays what it is.
    pub(crate) fn sample(&self, pieces: usize) -> Result<B> {
        let generator = Generator::new(self.seed).fork(self.epoch);
        let epoch = self.begin_without_workers(&generator)?;
        let position = if self.position < self.len() { self.position } else { 0 };
        let cut = match self.cut.size {
            1 => Cut { size: pieces, ..self.cut },
            _ => self.cut,
        };
        let items = cut.items(position, epoch.indices.len());
        self.made(&epoch, items, &generator)
    }

    /// Leaves out the last batch of an epoch where it is smaller than the others.
    pub fn dropping_last(self) -> Self {
        DataLoader { drop_last: true, current: None, ..self }
    }

    /// Makes a batch of items in another way than stacking them part by part, e.g. with [`pad_sequences`]. It runs on
    /// the host, in a worker where there is one.
    pub fn with_collate(self, collate: impl Fn(Vec<Item>) -> Result<Item> + Send + Sync + 'static) -> Self {
        let maker = Maker { dataset: self.maker.dataset.clone(), collate: Some(Arc::new(collate)) };
        DataLoader { maker: Arc::new(maker), current: None, ..self }
    }

    /// Threads that make batches ahead (0 if not set: the thread that asks makes them; at most 1,024). A browser has
    /// none, and data on the device needs none.
    pub fn with_workers(self, workers: usize) -> Self {
        DataLoader { workers: workers.min(MAX_WORKERS), current: None, ..self }
    }

    /// Batches that each worker may be ahead (2 if not set; at least 1, at most 65,536).
    pub fn with_prefetch(self, batches: usize) -> Self {
        DataLoader { prefetch: batches.max(1), current: None, ..self }
    }

    /// The longest that a batch of the workers is waited for (without end if not set): then [`next`](Self::next) gives
    /// [`Error::Timeout`], and may be called again.
    pub fn with_timeout(self, timeout: Duration) -> Self {
        DataLoader { timeout: Some(timeout), ..self }
    }

    /// The loader with a function applied to every batch, on the device: to augment, normalise, or make another kind
    /// of batch. Its generator depends on seed, epoch and position only, so that a run that is taken up again draws
    /// the same numbers.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::data::{DataLoader, synthetic};
    /// # flambeau::block_on(async {
    /// let points = synthetic::moons(8, 0.0, &Generator::new(1));
    /// let batches = DataLoader::new(points, &Device::cpu()).with_batch_size(8);
    /// let mut noisy = batches.map(|(x, y), generator| Ok((&x + x.try_randn_like(generator)? * 0.1, y)));
    /// let (x, _) = noisy.next().await?.unwrap();
    /// assert_eq!(x.shape().dims(), [8, 2]);
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub fn map<C>(
        self,
        change: impl Fn(B, &Generator) -> Result<C> + Send + Sync + 'static,
    ) -> DataLoader<C> {
        let finish = self.finish;
        DataLoader {
            maker: self.maker,
            device: self.device,
            sampler: self.sampler,
            seed: self.seed,
            cut: self.cut,
            drop_last: self.drop_last,
            workers: self.workers,
            prefetch: self.prefetch,
            timeout: self.timeout,
            finish: Arc::new(move |tensors, generator| change(finish(tensors, generator)?, generator)),
            epoch: self.epoch,
            position: self.position,
            pieces: self.pieces,
            piece: self.piece,
            current: self.current,
            waiting: self.waiting,
        }
    }
}

impl<B> DataLoader<B> {
    /// The next batch; `None` ends the epoch, and the call after that begins the next one.
    ///
    /// It returns when the device has at most two steps before it (see [`Device::throttle`]); in a browser this is
    /// where the page gets its turn. Natively it waits on the thread that polls it. After an error the position is
    /// what it was.
    pub async fn next(&mut self) -> Result<Option<B>> {
        if self.cut.batch_size == 0 {
            return Err(Error::argument("DataLoader", "the batch size is 0; a batch has at least 1 item"));
        }
        self.device.throttle().await?;
        if self.position >= self.len() {
            (self.epoch, self.position, self.current) = (self.epoch + 1, 0, None);
            return Ok(None);
        }
        let made = self.batch();
        // A batch that is late may still come.
        if made.as_ref().is_err_and(|error| !matches!(error, Error::Timeout { .. })) {
            self.current = None;
        }
        let batch = made?;
        self.piece += 1;
        if self.piece == self.pieces {
            (self.piece, self.position) = (0, self.position + 1);
        }
        Ok(Some(batch))
    }

    /// How the present batch is cut.
    fn present_cut(&self, piece: usize) -> Cut {
        match self.pieces {
            1 => self.cut,
            pieces => Cut { rank: piece, size: pieces, ..self.cut },
        }
    }

    fn batch(&mut self) -> Result<B> {
        let generator = Generator::new(self.seed).fork(self.epoch);
        let asked = Instant::now();
        if self.current.is_none() {
            self.current = Some(self.begin(&generator)?);
        }
        let cut = self.present_cut(self.piece);
        let place = generator.fork(self.position as u64);
        let place = if cut.size == 1 { place } else { place.fork(cut.rank as u64) };
        let epoch = self.current.as_mut().expect("it was just begun");
        #[cfg(not(target_arch = "wasm32"))]
        if let Feed::Workers(workers) = &mut epoch.feed {
            let arrays = workers.next(self.timeout)?;
            self.waiting += asked.elapsed();
            return self.on_device(&arrays, &place);
        }
        let items = cut.items(self.position, epoch.indices.len());
        let is_inline = matches!(epoch.feed, Feed::Inline);
        let epoch = self.current.as_ref().expect("it was just begun");
        let made = self.made(epoch, items, &place)?;
        if is_inline {
            self.waiting += asked.elapsed();
        }
        Ok(made)
    }

    /// A batch of these places of an epoch's order, made on this thread.
    fn made(&self, epoch: &Epoch, items: Range<usize>, place: &Generator) -> Result<B> {
        match &epoch.feed {
            Feed::Resident(order) => {
                let positions = order.try_narrow(0, items.start, items.len())?;
                let data = self.maker.dataset.resident().expect("that is what the feed says");
                (self.finish)(data.rows(&positions)?, place)
            }
            _ => self.on_device(&self.maker.make(&epoch.indices[items])?, place),
        }
    }

    fn on_device(&self, arrays: &Item, place: &Generator) -> Result<B> {
        let tensors = arrays.iter().map(|array| array.to_tensor(&self.device)).collect::<Result<_>>()?;
        (self.finish)(tensors, place)
    }

    /// Draws the epoch's order and starts what feeds it, from the present position on.
    fn begin(&self, generator: &Generator) -> Result<Epoch> {
        #[cfg_attr(target_arch = "wasm32", expect(unused_mut, reason = "a browser has no workers"))]
        let mut epoch = self.begin_without_workers(generator)?;
        #[cfg(not(target_arch = "wasm32"))]
        if let Feed::Inline = epoch.feed
            && self.workers > 0
        {
            let remaining = self.position * self.pieces + self.piece..self.len() * self.pieces;
            let (indices, pieces) = (epoch.indices.clone(), self.pieces);
            let plan = workers::Plan { indices, cut: self.cut, pieces, remaining };
            epoch.feed =
                Feed::Workers(workers::Workers::start(&self.maker, plan, self.workers, self.prefetch)?);
        }
        Ok(epoch)
    }

    fn begin_without_workers(&self, generator: &Generator) -> Result<Epoch> {
        let length = self.maker.dataset.len();
        let indices = Arc::new(self.sampler.draw(length, &mut HostRandom::new(generator))?);
        let feed = match self.maker.dataset.resident().filter(|_| self.maker.collate.is_none()) {
            Some(data) if *data.device() != self.device => {
                let (left, right) = (format!("{:?}", data.device()), format!("{:?}", self.device));
                return Err(Error::DeviceMismatch { op: "DataLoader", left, right });
            }
            Some(_) => Feed::Resident(self.upload(&indices)?),
            None => Feed::Inline,
        };
        Ok(Epoch { indices, feed })
    }

    fn upload(&self, indices: &[usize]) -> Result<Tensor> {
        let order =
            indices.iter().map(|&index| i32::try_from(index)).collect::<std::result::Result<Vec<_>, _>>();
        let order =
            order.map_err(|_| Error::argument("DataLoader", "positions on a device are below 2^31"))?;
        Tensor::try_from_slice(&order, order.len(), &self.device)
    }

    /// Batches an epoch.
    #[expect(clippy::len_without_is_empty, reason = "a loader is asked for batches, not for emptiness")]
    pub fn len(&self) -> usize {
        let items = self.items_per_epoch();
        match self.cut.batch_size {
            0 => 0,
            size if self.drop_last => items / size,
            size => items.div_ceil(size),
        }
    }

    /// Items an epoch, those of a dropped last batch included.
    pub fn items_per_epoch(&self) -> usize {
        self.sampler.count(self.maker.dataset.len())
    }

    /// The epoch under way, from 0.
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Batches of this epoch that were handed out.
    pub fn position(&self) -> usize {
        self.position
    }

    /// What the mean loss of the batch handed out last counts in the mean over those who train together: 1 where all shares
    /// are equal or nothing is shared, and 0 where a batch has fewer items than there are members and this one's only stands in.
    /// See [`with_share`](DataLoader::with_share).
    /// Of a piece of a batch: what its mean loss counts in the mean over the pieces; see [`set_pieces`](DataLoader::set_pieces).
    pub fn weight(&self) -> f64 {
        let handed_out = (self.position * self.pieces + self.piece).saturating_sub(1);
        let cut = self.present_cut(handed_out % self.pieces);
        cut.weight(handed_out / self.pieces, self.items_per_epoch())
    }

    /// Has the batch that was handed out last been handed out whole?
    pub(crate) fn is_between_batches(&self) -> bool {
        self.piece == 0
    }

    /// How long [`next`](DataLoader::next) has waited for data in all, without the waiting for the device. If this
    /// grows, more workers help, or data on the device.
    pub fn time_waiting(&self) -> Duration {
        self.waiting
    }
}

impl<B> std::fmt::Debug for DataLoader<B> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("DataLoader")
            .field("items", &self.items_per_epoch())
            .field("batch_size", &self.cut.batch_size)
            .field("sampler", &self.sampler)
            .field("seed", &self.seed)
            .field("epoch", &self.epoch)
            .field("position", &self.position)
            .field("device", &self.device)
            .finish_non_exhaustive()
    }
}
