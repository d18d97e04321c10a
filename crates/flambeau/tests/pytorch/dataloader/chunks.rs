//! `dataloader.cpp`, data sets that are read in chunks.

use super::*;

/// Chunks of numbers: 0..10, 10..20 and so on, of the sizes given.
struct Chunks(Vec<usize>);

impl ChunkReader for Chunks {
    fn chunk_count(&self) -> usize {
        self.0.len()
    }
    fn read_chunk(&mut self, index: usize) -> Result<Vec<Item>> {
        let first = self.0[..index].iter().sum::<usize>();
        Ok((first..first + self.0[index]).map(|number| vec![HostArray::scalar(number as i32)]).collect())
    }
}

fn chunked(sizes: &[usize], options: ChunkOptions) -> ChunkedItems<Chunks> {
    ChunkedItems::new(Chunks(sizes.to_vec()), options).unwrap()
}

fn batches_of<R: ChunkReader>(items: &mut ChunkedItems<R>) -> Vec<Vec<i32>> {
    let mut all = Vec::new();
    while let Some(batch) = items.next_batch().unwrap() {
        all.push(batch.iter().map(|item| item[0].values::<i32>().unwrap()[0]).collect());
    }
    all
}

#[test]
fn chunk_data_set_with_invalid_init_parameter() {
    assert!(ChunkedItems::new(Chunks(vec![3]), ChunkOptions::new(0)).is_err());
    let none = ChunkOptions { chunks_together: 0, ..ChunkOptions::new(1) };
    assert!(message(ChunkedItems::new(Chunks(vec![3]), none)).contains("chunk"));
}

#[test]
fn chunk_data_set_get_batch() {
    for batch_size in [5, 7, 10, 35] {
        let mut items = chunked(&[10, 10, 15], ChunkOptions::new(batch_size));
        for _ in 0..2 {
            let batches = batches_of(&mut items);
            assert_eq!(batches.concat(), (0..35).collect::<Vec<_>>());
            assert!(batches[..batches.len() - 1].iter().all(|batch| batch.len() == batch_size));
            items.reset();
        }
    }
}

/// A batch larger than everything is everything.
#[test]
fn chunk_data_set_with_batch_size_mismatch() {
    let mut items = chunked(&[4, 3], ChunkOptions::new(100));
    assert_eq!(batches_of(&mut items), [(0..7).collect::<Vec<_>>()]);
}

#[test]
fn chunk_data_set_with_empty_batch() {
    assert!(chunked(&[], ChunkOptions::new(5)).next_batch().unwrap().is_none());
    assert!(chunked(&[0, 0], ChunkOptions::new(5)).next_batch().unwrap().is_none());
}

#[test]
fn chunk_data_set_get_batch_with_uneven_batch_size() {
    let mut items = chunked(&[3, 4, 2], ChunkOptions::new(4));
    assert_eq!(batches_of(&mut items).iter().map(Vec::len).collect::<Vec<_>>(), [4, 4, 1]);
}

#[test]
fn can_access_chunk_sampler_with_chunk_data_set() {
    let mut items = chunked(&[1; 10], ChunkOptions { shuffle: Some(1), ..ChunkOptions::new(1) });
    let first = items.chunk_order().to_vec();
    assert_eq!(first.iter().copied().collect::<BTreeSet<_>>(), (0..10).collect());
    items.reset();
    assert_ne!(items.chunk_order(), first);
}

/// It may be dropped in the middle.
#[test]
fn chunk_dataset_does_not_hang() {
    let mut items = chunked(&[10; 5], ChunkOptions::new(3));
    items.next_batch().unwrap();
    drop(items);
}

fn saved_and_loaded(options: ChunkOptions) {
    let mut first = chunked(&[4, 5, 3, 6], options);
    first.reset();
    first.next_batch().unwrap();
    first.next_batch().unwrap();
    let mut second = chunked(&[4, 5, 3, 6], options);
    second.load_state(&first.state()).unwrap();
    assert_eq!(batches_of(&mut second), batches_of(&mut first));
}

#[test]
fn chunk_dataset_save() {
    saved_and_loaded(ChunkOptions::new(3));
}

#[test]
fn chunk_dataset_load() {
    saved_and_loaded(ChunkOptions { shuffle: Some(9), chunks_together: 2, ..ChunkOptions::new(3) });
    let mut far = chunked(&[100], ChunkOptions::new(60));
    far.next_batch().unwrap();
    assert!(chunked(&[10], ChunkOptions::new(60)).load_state(&far.state()).is_err());
}

/// Items of chunks that are read together are mixed, others not.
#[test]
fn chunk_dataset_cross_chunk_shuffle() {
    for together in [1, 2, 5] {
        let options = ChunkOptions { shuffle: Some(2), chunks_together: together, ..ChunkOptions::new(10) };
        let mut items = chunked(&[10; 5], options);
        let order = items.chunk_order().to_vec();
        let all = batches_of(&mut items).concat();
        assert_eq!(all.iter().copied().collect::<BTreeSet<_>>(), (0..50).collect());
        for (group, chunks) in all.chunks(10 * together).zip(order.chunks(together)) {
            let from: BTreeSet<usize> = group.iter().map(|&number| number as usize / 10).collect();
            assert_eq!(from, chunks.iter().copied().collect());
        }
        assert!(all.windows(2).any(|pair| pair[0] > pair[1]));
    }
}

#[test]
fn custom_preprocess_policy() {
    let sort = |items: &mut Vec<Item>| {
        items.sort_by_key(|item| std::cmp::Reverse(item[0].values::<i32>().unwrap()[0]))
    };
    let options = ChunkOptions { chunks_together: 2, ..ChunkOptions::new(3) };
    let mut items = chunked(&[2, 3, 1], options).with_preprocess(sort);
    assert_eq!(batches_of(&mut items).concat(), [4, 3, 2, 1, 0, 5]);
}
