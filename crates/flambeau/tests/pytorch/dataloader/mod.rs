//! `dataloader.cpp`: data sets, samplers, workers, chunks.

use crate::common::block_on;
use crate::common::values;
use crate::tools::{each, message, ramp};
use flambeau::data::augment::{Augment, Normalize};
use flambeau::data::*;
use flambeau::io::Stateful;
use flambeau::prelude::*;
use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use std::time::Duration;

mod chunks;
mod samplers;

/// The numbers below `length`; items may take their time, or fail.
struct Numbers {
    length: usize,
    #[cfg_attr(target_arch = "wasm32", expect(dead_code, reason = "a browser's one thread cannot sleep"))]
    delay: fn(usize) -> Duration,
    fails_at: Option<usize>,
    reads: Arc<AtomicUsize>,
}

impl Numbers {
    fn new(length: usize) -> Numbers {
        Numbers { length, delay: |_| Duration::ZERO, fails_at: None, reads: Arc::new(AtomicUsize::new(0)) }
    }
}

impl Dataset for Numbers {
    fn len(&self) -> usize {
        self.length
    }
    fn get(&self, index: usize) -> Result<Item> {
        self.reads.fetch_add(1, Relaxed);
        // A browser's one thread cannot sleep.
        #[cfg(not(target_arch = "wasm32"))]
        std::thread::sleep((self.delay)(index));
        match self.fails_at == Some(index) {
            true => Err(Error::State("badness".into())),
            false => Ok(vec![HostArray::scalar(index as i32)]),
        }
    }
}

fn loader(numbers: Numbers, device: &Device) -> DataLoader<Vec<Tensor>> {
    DataLoader::of(numbers, device)
}

/// The batches of one epoch.
fn epoch<B>(loader: &mut DataLoader<B>) -> Vec<B> {
    let mut batches = Vec::new();
    while let Some(batch) = block_on(loader.next()).unwrap() {
        batches.push(batch);
    }
    batches
}

/// Their numbers.
fn numbers(loader: &mut DataLoader<Vec<Tensor>>) -> Vec<Vec<usize>> {
    let read = |batch: &Vec<Tensor>| values(&batch[0]).into_iter().map(|number| number as usize).collect();
    epoch(loader).iter().map(read).collect()
}

fn sampled(length: usize, sampler: Sampler, device: &Device) -> Vec<usize> {
    numbers(&mut loader(Numbers::new(length), device).with_sampler(sampler).with_seed(3).with_batch_size(4))
        .concat()
}

#[test]
fn dataset_calls_get_correctly() {
    each(|device| assert_eq!(numbers(&mut loader(Numbers::new(5), device)), [[0], [1], [2], [3], [4]]));
}

#[test]
fn transform_calls_get_apply_correctly() {
    each(|device| {
        let batches = loader(Numbers::new(5), device).with_batch_size(5).map(|batch, _| Ok(&batch[0] + 10));
        let mut batches = batches;
        assert_eq!(values(&epoch(&mut batches)[0]), [10.0, 11.0, 12.0, 13.0, 14.0]);
    });
}

/// A data set that gives whatever it is asked for, as long as wanted.
#[test]
fn infinite_stream_dataset() {
    struct Stream(AtomicUsize);
    impl Dataset for Stream {
        fn len(&self) -> usize {
            usize::MAX
        }
        fn get(&self, _: usize) -> Result<Item> {
            Ok(vec![HostArray::scalar(self.0.fetch_add(1, Relaxed) as i32)])
        }
    }
    each(|device| {
        let forever = Sampler::custom(20, |_| (0..20).collect());
        let mut batches: DataLoader<Vec<Tensor>> =
            DataLoader::of(Stream(AtomicUsize::new(0)), device).with_sampler(forever).with_batch_size(10);
        let found = numbers(&mut batches);
        assert_eq!(found, [(0..10).collect::<Vec<_>>(), (10..20).collect()]);
    });
}

#[test]
fn batch_lambda_applies_function_to_batch() {
    each(|device| {
        let first = |items: Vec<Item>| Ok(items[0].clone());
        let mut batches = loader(Numbers::new(6), device).with_batch_size(3).with_collate(first);
        assert_eq!(numbers(&mut batches), [[0], [3]]);
    });
}

#[test]
fn lambda_applies_function_to_example() {
    struct Plus(Numbers);
    impl Dataset for Plus {
        fn len(&self) -> usize {
            self.0.len()
        }
        fn get(&self, index: usize) -> Result<Item> {
            let number = self.0.get(index)?[0].values::<i32>()?[0];
            Ok(vec![HostArray::scalar(number + 1)])
        }
    }
    each(|device| {
        let mut batches: DataLoader<Vec<Tensor>> =
            DataLoader::of(Plus(Numbers::new(3)), device).with_batch_size(3);
        assert_eq!(numbers(&mut batches), [[1, 2, 3]]);
    });
}

fn sum(items: Vec<Item>) -> Result<Item> {
    let mut total = 0;
    for item in &items {
        total += item[0].values::<i32>()?[0];
    }
    Ok(vec![HostArray::scalar(total)])
}

#[test]
fn collate_reduces_batch() {
    each(|device| {
        let mut batches = loader(Numbers::new(6), device).with_batch_size(3).with_collate(sum);
        assert_eq!(numbers(&mut batches), [[3], [12]]);
    });
}

#[test]
fn collation_reduces_batch() {
    each(|device| {
        let mut batches =
            loader(Numbers::new(4), device).with_batch_size(4).with_collate(sum).with_workers(2);
        assert_eq!(numbers(&mut batches), [[6]]);
    });
}

#[test]
fn tensor_dataset_constructs_from_single_tensor() {
    each(|device| {
        let data = TensorDataset::new([ramp([5, 2], device)]).unwrap();
        assert_eq!(data.len(), 5);
        let mut batches: DataLoader<Vec<Tensor>> = DataLoader::of(data, device).with_batch_size(2);
        assert_eq!(values(&epoch(&mut batches)[1][0]), [4.0, 5.0, 6.0, 7.0]);
    });
}

#[test]
fn tensor_dataset_constructs_from_initializer_list_of_tensors() {
    each(|device| {
        let data = TensorDataset::new([ramp([4, 2], device), Tensor::arange(0, 4, 1, device)]).unwrap();
        let mut batches = DataLoader::new(data, device).with_batch_size(4);
        let (x, y) = epoch(&mut batches).remove(0);
        assert_eq!((x.shape().dims(), values(&y)), (&[4, 2][..], vec![0.0, 1.0, 2.0, 3.0]));
        assert!(TensorDataset::new([ramp([4], device), ramp([3], device)]).is_err());
    });
}

#[test]
fn stack_transform_works_for_example() {
    each(|device| {
        let x = HostArray::new(&[1.0f32, 2.0, 3.0, 4.0], [2, 2]).unwrap();
        let y = HostArray::new(&[7, 8], [2]).unwrap();
        let mut batches = DataLoader::new(ArrayDataset::new([x, y]).unwrap(), device).with_batch_size(2);
        let (x, y) = epoch(&mut batches).remove(0);
        assert_eq!(
            (x.shape().dims(), values(&x), values(&y)),
            (&[2, 2][..], vec![1.0, 2.0, 3.0, 4.0], vec![7.0, 8.0])
        );
    });
}

#[test]
fn stack_transform_works_for_tensor_example() {
    let items: Vec<Item> = (0..3).map(|k| vec![HostArray::new(&[k as f32, 1.0], [2]).unwrap()]).collect();
    let stacked = stack_items(items).unwrap();
    assert_eq!(
        (stacked[0].shape().dims(), stacked[0].values::<f32>().unwrap()),
        (&[3, 2][..], vec![0.0, 1.0, 1.0, 1.0, 2.0, 1.0])
    );
}

/// Inputs are changed, targets of any kind stay.
#[test]
fn tensor_transform_works_for_any_target_type() {
    each(|device| {
        let data = TensorDataset::new([ramp([2, 2], device), Tensor::new([true, false], device)]).unwrap();
        let mut batches = DataLoader::new(data, device).with_batch_size(2).map(|(x, y), _| Ok((x * 2.0, y)));
        let (x, y) = epoch(&mut batches).remove(0);
        assert_eq!(
            (values(&x), y.dtype(), values(&y)),
            (vec![0.0, 2.0, 4.0, 6.0], DType::Bool, vec![1.0, 0.0])
        );
    });
}

#[test]
fn tensor_lambda_worksfor_any_target_type() {
    each(|device| {
        let data = TensorDataset::new([ramp([2], device), Tensor::new([5, 6], device)]).unwrap();
        let mut batches = DataLoader::new(data, device).map(|(x, y), _| Ok((x + 1.0, y)));
        let (x, y) = epoch(&mut batches).remove(1);
        assert_eq!((values(&x), y.dtype(), values(&y)), (vec![2.0], DType::I32, vec![6.0]));
    });
}

#[test]
fn normalize_transform() {
    each(|device| {
        let one = Normalize::new(&[2.0], &[0.5], device).unwrap();
        let x = ramp([1, 1, 2, 2], device);
        assert_eq!(values(&one.apply(&x, &Generator::new(0)).unwrap()), [-4.0, -2.0, 0.0, 2.0]);
        let two = Normalize::new(&[1.5, -1.5], &[0.1, 0.2], device).unwrap();
        let y = values(&two.apply(&Tensor::ones([1, 2, 1, 1], device), &Generator::new(0)).unwrap());
        assert!((y[0] + 5.0).abs() < 1e-4 && (y[1] - 12.5).abs() < 1e-4, "{y:?}");
        assert!(two.apply(&x, &Generator::new(0)).is_err());
        assert!(Normalize::new(&[0.0], &[0.0], device).is_err());
    });
}

/// One item at a time, in order, without threads.
#[test]
fn make_data_loader_defaults_as_expected() {
    each(|device| {
        let mut batches = loader(Numbers::new(3), device);
        assert_eq!((batches.len(), batches.items_per_epoch(), batches.epoch()), (3, 3, 0));
        assert_eq!(numbers(&mut batches), [[0], [1], [2]]);
        assert_eq!(batches.epoch(), 1);
    });
}

#[test]
fn yields_correct_batch_size() {
    each(|device| {
        let mut batches = loader(Numbers::new(100), device).with_batch_size(25);
        assert!(numbers(&mut batches).iter().all(|batch| batch.len() == 25));
        assert_eq!(batches.len(), 4);
    });
}

#[test]
fn returns_last_batch_when_smaller_than_batch_size_when_drop_last_is_false() {
    each(|device| {
        let mut batches = loader(Numbers::new(100), device).with_batch_size(33);
        assert_eq!(numbers(&mut batches).iter().map(Vec::len).collect::<Vec<_>>(), [33, 33, 33, 1]);
    });
}

#[test]
fn does_not_return_last_batch_when_smaller_than_batch_size_when_drop_last_is_true() {
    each(|device| {
        let mut batches = loader(Numbers::new(100), device).with_batch_size(33).dropping_last();
        assert_eq!(numbers(&mut batches).iter().map(Vec::len).collect::<Vec<_>>(), [33, 33, 33]);
    });
}

/// Workers may be done in any order; batches come in the sampler's.
#[test]
fn enforces_ordering_among_threads_when_configured() {
    each(|device| {
        let slow_first = |index: usize| Duration::from_millis(if index < 4 { 20 } else { 0 });
        let data = Numbers { delay: slow_first, ..Numbers::new(16) };
        let mut batches = loader(data, device).with_batch_size(2).with_workers(4).with_prefetch(4);
        assert_eq!(numbers(&mut batches).concat(), (0..16).collect::<Vec<_>>());
    });
}

/// A batch that is late is an error, and comes when it is asked for again.
#[test]
#[cfg(not(target_arch = "wasm32"))]
fn respects_timeout() {
    each(|device| {
        let data = Numbers { delay: |_| Duration::from_millis(300), ..Numbers::new(1) };
        let mut batches = loader(data, device).with_workers(1).with_timeout(Duration::from_millis(1));
        assert!(message(block_on(batches.next())).contains("1ms"));
        let mut batches = batches.with_timeout(Duration::from_secs(60));
        assert_eq!(numbers(&mut batches), [[0]]);
    });
}

#[test]
fn reset() {
    each(|device| {
        let mut batches = loader(Numbers::new(10), device).with_batch_size(5).with_workers(2);
        for _ in 0..3 {
            assert_eq!(numbers(&mut batches), [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]);
        }
    });
}

#[test]
fn test_exceptions_are_propagated_from_workers() {
    each(|device| {
        for workers in [0, 2] {
            let data = Numbers { fails_at: Some(2), ..Numbers::new(4) };
            let mut batches = loader(data, device).with_batch_size(2).with_workers(workers);
            block_on(batches.next()).unwrap();
            assert!(message(block_on(batches.next())).contains("badness"), "{workers} workers");
        }
    });
}

/// Every item is read once an epoch, whoever reads it.
fn reads_each_once(workers: usize, device: &Device) {
    let data = Numbers::new(12);
    let reads = data.reads.clone();
    let mut batches = loader(data, device).with_batch_size(4).with_workers(workers);
    for seen in [12, 24] {
        assert_eq!(numbers(&mut batches).concat().len(), 12);
        assert_eq!(reads.load(Relaxed), seen);
    }
}

#[test]
fn stateful_dataset_with_no_workers() {
    each(|device| reads_each_once(0, device));
}

#[test]
fn stateful_dataset_with_many_workers() {
    each(|device| reads_each_once(4, device));
}

#[test]
fn stateful_dataset_with_map() {
    each(|device| {
        let data = Numbers::new(4);
        let reads = data.reads.clone();
        let mut batches = loader(data, device).with_batch_size(2).map(|batch, _| Ok(batch[0].sum(..)));
        let sums: Vec<f64> = epoch(&mut batches).iter().flat_map(values).collect();
        assert_eq!((sums, reads.load(Relaxed)), (vec![1.0, 5.0], 4));
    });
}

#[test]
fn stateful_dataset_with_collate() {
    each(|device| {
        let data = Numbers::new(4);
        let reads = data.reads.clone();
        let mut batches = loader(data, device).with_batch_size(2).with_collate(sum);
        assert_eq!((numbers(&mut batches), reads.load(Relaxed)), (vec![vec![1], vec![5]], 4));
    });
}
