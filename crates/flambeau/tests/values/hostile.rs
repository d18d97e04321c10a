//! Absurd arguments: sizes that do not fit, windows that reach past every number, more pieces than memory. A fallible
//! function answers with an error; it neither panics nor aborts, and no shape describes memory that is not there.

use crate::common::devices;
use flambeau::data::augment::{self, Augment};
use flambeau::data::{ArrayDataset, DataLoader, Dataset, HostArray, ImageFolder, Sampler, pad_sequences};
use flambeau::nn::functional::{InterpolateMode, InterpolateOptions};
use flambeau::nn::models::{Cnn, CnnOptions, Gpt, GptConfig};
use flambeau::nn::utils::{PackedSequence, SequenceLayout, pad_packed_sequence};
use flambeau::nn::{
    BatchNorm1d, Gru, Lstm, LstmOptions, MultiheadAttention, Transformer, TransformerOptions,
};
use flambeau::optim::{Muon, MuonOptions};
use flambeau::prelude::*;
use flambeau::{
    AvgPool1dOptions, Conv1dOptions, ConvTranspose1dOptions, Generator, Index, MaxPool1dOptions,
    MaxPool2dOptions, PadMode, Padding, bindings, block_on,
};
use std::fmt::Debug;

const HUGE: usize = 1 << 62;

#[track_caller]
fn refused<T: Debug>(result: Result<T>, part: &str) {
    let error = result.expect_err("it must be refused").to_string();
    assert!(error.contains(part), "{error:?} does not say {part:?}");
}

fn cpu() -> Device {
    Device::cpu()
}

fn ones(shape: &[usize]) -> Tensor {
    Tensor::ones(shape, &cpu())
}

#[test]
fn a_wrapped_number_of_elements_is_no_number_of_values() {
    let wrapping = [HUGE + 1, 4];
    refused(Tensor::try_from_slice(&[1f32; 4], wrapping, &cpu()), "do not fill shape");
    refused(Tensor::try_from_vec(vec![1f32; 4], wrapping, &cpu()), "do not fill shape");
    refused(HostArray::new(&[1f32; 4], wrapping), "has more than");
    refused(bindings::from_bytes(&[0; 16], &wrapping, DType::F32, &cpu()), "16 bytes are given");
    // Bytes may wrap where elements do not.
    refused(bindings::from_bytes(&[], &[HUGE], DType::F32, &cpu()), "0 bytes are given");
    refused(Tensor::try_from_slice::<f32>(&[], [0, HUGE, 4], &cpu()), "has more than");
    refused(HostArray::new::<f32>(&[], [0, HUGE, 4]), "has more than");
}

#[test]
fn shapes_that_cannot_be_counted_are_refused_where_a_node_is_made() {
    for device in devices() {
        for shape in [&[HUGE, 4][..], &[HUGE, 2], &[usize::MAX], &[0, HUGE, 4], &[1 << 31, 1 << 31, 4]] {
            refused(Tensor::try_full(shape, 1.0, &device), "has more than");
            refused(Tensor::try_rand(shape, &Generator::new(1), &device), "has more than");
        }
        let x = Tensor::ones([1, 1, 1], &device);
        refused(x.try_expand([1usize << 31, 1 << 31, 4]), "expand: a result of shape");
        refused(x.try_repeat([1 << 31, 1 << 31, 1 << 31]), "has more than");
        refused(x.try_repeat([usize::MAX, 2, 1]), "has more than");
        refused(x.try_repeat_interleave(usize::MAX, 0), "has more than");
        refused(Tensor::try_eye(1 << 40, &device), "has more than");
        refused(x.try_reshape([usize::MAX, 1, 1]), "is invalid for 1 elements");
        refused(x.try_i((usize::MAX, 0)), "out of range");
    }
}

#[test]
fn what_is_too_large_for_memory_is_an_error_when_it_is_read() {
    let huge = ones(&[1]).try_expand([1usize << 59]).unwrap();
    refused(huge.to_vec_blocking::<f32>(), "out of memory");
    let wide = ones(&[1]).try_expand([1usize << 40]).unwrap();
    refused(wide.to_vec_blocking::<f32>(), "out of memory");
}

#[test]
fn the_gpu_counts_in_32_bits_and_says_so() {
    let gpu = crate::common::gpu();
    let sum = Tensor::ones([1], &gpu).expand([1usize << 33]).sum(..);
    refused(sum.item_blocking(), "u32 of WGSL");
    let x = Tensor::ones([1, 1, 4], &gpu);
    let options = AvgPool1dOptions::default().with_stride(1).with_padding(1 << 40);
    refused(x.avg_pool1d(1 << 41, &options).to_vec_blocking::<f32>(), "i32 of WGSL");
    let options = Conv1dOptions::default().with_stride(1 << 40).with_padding(1 << 40);
    refused(x.conv1d(&Tensor::ones([1, 1, 1], &gpu), None, &options).to_vec_blocking::<f32>(), "i32 of WGSL");
}

#[test]
fn pieces_of_dimensions() {
    let empty = ones(&[0, 2]);
    refused(empty.try_chunk(1 << 40, 0), "pieces of shape [0, 2]");
    assert_eq!(empty.try_chunk(3, 0).unwrap().len(), 3);
    refused(ones(&[1]).try_expand([1usize << 40]).unwrap().try_split(1, 0), "pieces of shape");
    refused(ones(&[1]).try_expand([1usize << 40]).unwrap().try_unbind(0), "pieces of shape");
    refused(ones(&[3]).try_split([usize::MAX, 4], 0), "do not add up");
    let half = ones(&[1]).try_expand([(1usize << 60) - 1]).unwrap();
    refused(Tensor::try_cat(&[&half, &half], 0), "cat: a result of shape");
    let many = vec![&half; 32];
    refused(Tensor::try_cat(&many, 0), "cat: a result of shape");
    refused(Tensor::try_stack(&[&half, &half], 0), "has more than");
}

#[test]
fn steps_and_starts_past_every_number() {
    let x = Tensor::arange(0, 6, 1, &cpu()).reshape([2, 3]);
    let far = x.try_slice(1, 1.., usize::MAX).unwrap();
    assert_eq!(far.to_vec_blocking::<i32>().unwrap(), [1, 4]);
    let last = x.try_i(Index::step(..=isize::MAX, HUGE)).unwrap();
    assert_eq!(last.to_vec_blocking::<i32>().unwrap(), [0, 1, 2]);
    assert_eq!(x.try_unfold(1, 3, usize::MAX).unwrap().shape().dims(), [2, 1, 3]);
    refused(x.try_narrow(0, HUGE, 4), "outside dimension");
    refused(x.try_narrow(0, usize::MAX, 2), "outside dimension");
    assert_eq!(x.try_diagonal(isize::MIN, 0, 1).unwrap().shape().dims(), [0]);
    assert_eq!(x.try_diagonal(isize::MAX, 0, 1).unwrap().numel(), 0);
    refused(x.try_diag_embed(isize::MIN), "diag_embed: a result of shape");
    assert_eq!(x.try_triu(i64::MIN).unwrap().to_vec_blocking::<i32>().unwrap(), [0, 1, 2, 3, 4, 5]);
    refused(x.try_pad(&[isize::MIN, isize::MIN], 0), "leaves less than nothing");
    refused(x.try_pad(&[isize::MAX, isize::MAX], 0), "has more than");
    refused(x.try_pad(&[isize::MAX, isize::MAX], PadMode::Replicate), "has more than");
    refused(x.reshape([1, 2, 3]).try_pixel_shuffle(1 << 33), "no channels");
}

#[test]
fn windows_that_reach_past_every_number() {
    let (x, w) = (ones(&[1, 1, 4]), ones(&[1, 1, 3]));
    let far = MaxPool1dOptions::default().with_dilation(usize::MAX);
    refused(x.try_max_pool1d(3, &far), "do not fit");
    let one = x.try_max_pool1d(1, &far).unwrap();
    assert_eq!(one.to_vec_blocking::<f32>().unwrap(), [1.0; 4]);
    let far =
        MaxPool2dOptions::default().with_dilation(usize::MAX).with_stride(usize::MAX).with_ceil_mode(true);
    refused(ones(&[1, 4, 4]).try_max_pool2d(2, &far), "do not fit");
    let stride = MaxPool1dOptions::default().with_stride(usize::MAX).with_ceil_mode(true);
    assert_eq!(x.try_max_pool1d(2, &stride).unwrap().numel(), 1);
    refused(
        x.try_avg_pool1d(usize::MAX, &AvgPool1dOptions::default().with_padding(usize::MAX / 2)),
        "do not fit",
    );

    let conv = |options: Conv1dOptions| x.try_conv1d(&w, None, &options);
    refused(conv(Conv1dOptions::default().with_dilation(usize::MAX)), "does not fit");
    refused(conv(Conv1dOptions::default().with_padding(usize::MAX)), "does not fit");
    refused(conv(Conv1dOptions::default().with_dilation(HUGE).with_padding(Padding::Same)), "does not fit");
    refused(conv(Conv1dOptions::default().with_groups(usize::MAX)), "channels");
    let single = conv(Conv1dOptions::default().with_stride(usize::MAX)).unwrap();
    assert_eq!(single.to_vec_blocking::<f32>().unwrap(), [3.0]);

    let back = |options: ConvTranspose1dOptions| x.try_conv_transpose1d(&w, None, &options);
    refused(back(ConvTranspose1dOptions::default().with_stride(usize::MAX)), "has no size");
    refused(back(ConvTranspose1dOptions::default().with_dilation(usize::MAX)), "has no size");
    refused(back(ConvTranspose1dOptions::default().with_padding(usize::MAX)), "has no size");
}

#[test]
fn windows_over_a_dimension_without_end_are_not_listed() {
    let endless = ones(&[1]).try_expand([1, 1usize << 30]).unwrap();
    let options = MaxPool1dOptions::default().with_dilation(2).with_stride(1);
    assert_eq!(endless.try_max_pool1d(2, &options).unwrap().numel(), (1 << 30) - 2);
    let longer = ones(&[1]).try_expand([1, 1usize << 40]).unwrap();
    refused(longer.try_max_pool1d(2, &options), "do not fit into i32");
    let hops = MaxPool1dOptions::default().with_dilation(3).with_padding(1).with_stride(1);
    refused(ones(&[1, 2]).try_max_pool1d(2, &hops), "windows without elements");
}

#[test]
fn neighbours_beyond_all_channels_are_zeros() {
    let x = ones(&[1, 2, 3]);
    let all = x.try_local_response_norm(5, 1.0, 1.0, 0.0).unwrap().to_vec_blocking::<f32>().unwrap();
    assert_eq!(all, [2.5; 6]);
    let far = x.try_local_response_norm(usize::MAX, 1.0, 1.0, 1.0).unwrap();
    assert_eq!(far.to_vec_blocking::<f32>().unwrap(), [1.0; 6]);
}

#[test]
fn groups_of_no_channels() {
    let nothing = ones(&[2, 0, 3]).try_group_norm(usize::MAX, None, None, 1e-5).unwrap();
    assert!(nothing.to_vec_blocking::<f32>().unwrap().is_empty());
}

#[test]
fn resizing_to_no_size_at_all() {
    let x = ones(&[1, 1, 4]);
    for mode in [InterpolateMode::Nearest, InterpolateMode::Linear, InterpolateMode::Area] {
        for factor in [f64::INFINITY, 1e300, 1e18] {
            refused(x.try_interpolate(&InterpolateOptions::factor(&[factor]).with_mode(mode)), "too far");
        }
        for factor in [f64::NAN, -1.0, 0.0] {
            refused(
                x.try_interpolate(&InterpolateOptions::factor(&[factor]).with_mode(mode)),
                "cannot become 0",
            );
        }
        refused(x.try_interpolate(&InterpolateOptions::size(&[usize::MAX]).with_mode(mode)), "too far");
    }
}

#[test]
fn loaders_and_samplers() {
    let data = || {
        let x = HostArray::new(&[1.0f32, 2.0, 3.0], [3, 1]).unwrap();
        ArrayDataset::new([x, HostArray::new(&[0, 1, 0], [3]).unwrap()]).unwrap()
    };
    let loader = DataLoader::new(data(), &cpu());
    let mut batches = loader.with_workers(usize::MAX).with_prefetch(usize::MAX).with_batch_size(usize::MAX);
    assert_eq!(block_on(batches.next()).unwrap().unwrap().0.shape().dims(), [3, 1]);
    let endless = Sampler::Weighted { weights: vec![1.0; 3], count: usize::MAX };
    refused(block_on(DataLoader::new(data(), &cpu()).with_sampler(endless).next()), "out of memory");
    refused(flambeau::data::random_split(HUGE, &[0.5, 0.5], &Generator::new(1)), "out of memory");
    let item = || vec![HostArray::new(&[7], [1]).unwrap()];
    refused(pad_sequences(usize::MAX)(vec![item(), item()]), "has more than");
    refused(pad_sequences(1 << 50)(vec![item()]), "out of memory");
}

#[test]
fn pictures_past_the_end_or_past_every_size() {
    let folder = std::env::temp_dir().join(format!("flambeau-hostile-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("cat")).unwrap();
    image::RgbImage::new(3, 2).save(folder.join("cat/a.png")).unwrap();
    let pictures = ImageFolder::open(&folder).unwrap();
    refused(pictures.get(1), "there is no picture 1 of 1");
    refused(pictures.get(usize::MAX), "there is no picture");
    for (height, width) in [(u32::MAX, 1), (1, u32::MAX), (u32::MAX, u32::MAX)] {
        refused(pictures.clone().with_size(height, width).get(0), "would take more than the limit");
    }
    refused(pictures.clone().with_size(0, 1).get(0), "cannot be scaled to 0 × 1 pixels");
    assert_eq!(pictures.with_size(4, 4).get(0).unwrap()[0].shape().dims(), [3, 4, 4]);
    std::fs::remove_dir_all(&folder).unwrap();
}

#[test]
fn layers_without_end() {
    let lstm = LstmOptions { num_layers: usize::MAX, ..Default::default() };
    refused(Lstm::try_with_options(2, 2, lstm, &cpu()).map(drop), "layers are more than");
    refused(Gru::try_with_options(2, HUGE, Default::default(), &cpu()).map(drop), "has more than");
    let model = TransformerOptions { num_decoder_layers: 1 << 40, ..Default::default() };
    refused(Transformer::try_with_options(2, 1, model, &cpu()).map(drop), "layers are more than");
    let attention = MultiheadAttention::try_with_options(HUGE, 1, Default::default(), &cpu());
    refused(attention.map(drop), "has more than");
    refused(BatchNorm1d::try_with_options(HUGE, Default::default(), &cpu()).map(drop), "has more than");
    let config = GptConfig { vocabulary: 9, context: 8, layers: 1, heads: 1, width: 2, ..Default::default() };
    refused(Gpt::try_new(GptConfig { layers: HUGE, ..config }, &cpu()).map(drop), "layers are more than");
    refused(Gpt::try_new(GptConfig { width: HUGE, ..config }, &cpu()).map(drop), "has more than");
    let gpt = Gpt::try_new(config, &cpu()).unwrap();
    refused(gpt.try_cache(HUGE).map(drop), "has more than");
    let tokens = Tensor::new([[1]], &cpu());
    refused(gpt.try_generate(&tokens, usize::MAX, &Default::default()), "do not fit a context");
    let options = CnnOptions { size: [usize::MAX; 2], ..Default::default() };
    refused(Cnn::try_with_options(2, options, &cpu()).map(drop), "has more than");
    let w = Parameter::new(&ones(&[2, 2]));
    let endless = MuonOptions { iterations: usize::MAX, ..Default::default() };
    refused(Muon::try_with_options([w], endless).map(drop), "iterations are more than");
}

#[test]
fn packed_sequences_whose_parts_do_not_fit() {
    let packed = |batch_sizes: &[usize], sorted: &[usize], unsorted: &[usize]| PackedSequence {
        data: ones(&[3, 1]),
        batch_sizes: batch_sizes.to_vec(),
        sorted_indices: sorted.to_vec(),
        unsorted_indices: unsorted.to_vec(),
    };
    let padded = |packed: &PackedSequence| pad_packed_sequence(packed, SequenceLayout::BatchFirst, 0.0);
    assert_eq!(padded(&packed(&[2, 1], &[1, 0], &[1, 0])).unwrap().1, [1, 2]);
    for (batch_sizes, sorted, unsorted) in [
        (&[usize::MAX, 4][..], &[0, 1][..], &[0, 1][..]),
        (&[1, 2], &[0, 1], &[0, 1]),
        (&[2, 1], &[0, 5], &[0, 1]),
        (&[2, 1], &[0, 1], &[1, 0]),
        (&[2, 1], &[0], &[0, 1]),
        (&[3], &[0, 1], &[0, 1]),
        (&[], &[], &[]),
    ] {
        refused(padded(&packed(batch_sizes, sorted, unsorted)), "does not fit batch sizes");
    }
}

#[test]
fn crops_past_every_size() {
    let x = ones(&[1, 1, 2, 2]);
    let corner = Tensor::new([0], &cpu());
    refused(augment::crop(&x, &corner, &corner, (1, 1), usize::MAX), "has more than");
    refused(augment::crop(&x, &corner, &corner, (usize::MAX, 3), 0), "pixels of 2 × 2");
    let far = augment::RandomCrop::new(1, 1).with_padding(usize::MAX);
    refused(far.apply(&x, &Generator::new(1)), "randint");
    let all = augment::erase(&x, &corner, &corner, (usize::MAX, usize::MAX)).unwrap();
    assert_eq!(all.to_vec_blocking::<f32>().unwrap(), [0.0; 4]);
}
