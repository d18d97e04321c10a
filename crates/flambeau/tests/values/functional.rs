//! Activations, normalisation, dropout, embeddings, attention, resizing, sequences and clipping, against PyTorch 1.13:
//! `tools/reference/functional.py` wrote the expectations.

use crate::common::reference::{Inputs, Reference};
use crate::common::{assert_values, devices, values};
use flambeau::nn::Parameter;
use flambeau::nn::functional::*;
use flambeau::nn::utils::SequenceLayout::{BatchFirst, StepsFirst};
use flambeau::nn::utils::*;
use flambeau::prelude::*;

fn reference() -> Reference {
    Reference::open(include_bytes!("../data/functional.safetensors"))
}

#[test]
fn activations() {
    let r = reference();
    let check =
        |name: &str, function: &dyn Fn(&Tensor) -> Tensor| r.case(name, &["kinks"], |x, _| function(&x[0]));
    check("elu", &|x| x.elu(1.0));
    check("elu_alpha", &|x| x.elu(0.7));
    check("celu", &|x| x.celu(1.7));
    check("selu", &|x| x.selu());
    check("hardshrink", &|x| x.hardshrink(0.5));
    check("hardsigmoid", &|x| x.hardsigmoid());
    check("hardtanh", &|x| x.hardtanh(-1.0, 1.0));
    check("hardtanh_bounds", &|x| x.hardtanh(-2.5, 3.0));
    check("leaky_relu", &|x| x.leaky_relu(0.01));
    check("leaky_relu_slope", &|x| x.leaky_relu(0.3));
    check("logsigmoid", &|x| x.log_sigmoid());
    check("relu", &|x| x.relu());
    check("relu6", &|x| x.relu6());
    check("rrelu_eval", &|x| x.leaky_relu(0.2));
    check("gelu", &|x| x.gelu());
    check("gelu_tanh", &|x| x.gelu_tanh());
    check("sigmoid", &|x| x.sigmoid());
    check("silu", &|x| x.silu());
    check("mish", &|x| x.mish());
    check("softplus", &|x| x.softplus_with(1.0, 20.0));
    check("softplus_beta", &|x| x.softplus_with(2.0, 3.0));
    check("softshrink", &|x| x.softshrink(0.5));
    check("softsign", &|x| x.softsign());
    check("tanh", &|x| x.tanh());
    check("tanhshrink", &|x| x.tanhshrink());
    check("threshold", &|x| x.threshold(0.5, 20.0));
    r.case("hardswish", &["around_three"], |x, _| x[0].hardswish());
    r.case("elu_second", &["x"], |x, _| x[0].elu(1.0));
    r.case("selu_second", &["x"], |x, _| x[0].selu());
    r.case("prelu", &["x", "slope4"], |x, _| x[0].prelu(&x[1]));
    r.case("prelu_one", &["kinks", "slope1"], |x, _| x[0].prelu(&x[1]));
    r.case("glu", &["x"], |x, _| x[0].glu(1));
    r.case("softmin", &["x"], |x, _| x[0].softmin(1));
}

/// In training the slopes are random within their bounds, and the gradient is the slope that was drawn.
#[test]
fn random_slopes() {
    for device in devices() {
        let x = Tensor::full([100], -1.0, &device).requires_grad();
        let y = x.rrelu(0.125, 0.25, &Generator::new(5));
        y.sum(..).backward().unwrap();
        let slopes = values(&x.grad().unwrap());
        assert!(slopes.iter().all(|slope| (0.125..0.25).contains(slope)));
        assert!(slopes.iter().any(|slope| *slope != slopes[0]));
        assert_values(&y.detach().neg(), &slopes);
    }
}

#[test]
fn layer_norms() {
    let r = reference();
    r.case("layer_norm", &["x", "w5", "b5"], |x, _| x[0].layer_norm(&[5], Some(&x[1]), Some(&x[2]), 1e-5));
    r.case("layer_norm_2", &["x", "w45", "b45"], |x, _| {
        x[0].layer_norm(&[4, 5], Some(&x[1]), Some(&x[2]), 0.1)
    });
    r.case("layer_norm_plain", &["x"], |x, _| x[0].layer_norm(&[5], None, None, 1e-5));
    r.case("layer_norm_weight", &["x", "w5"], |x, _| x[0].layer_norm(&[5], Some(&x[1]), None, 1e-5));
    r.case("rms_norm", &["x", "w5"], |x, _| x[0].rms_norm(&[5], Some(&x[1]), 1e-5));
    r.case("rms_norm_plain", &["x"], |x, _| x[0].rms_norm(&[5], None, 0.1));
    r.case("local_response_norm", &["image"], |x, _| x[0].local_response_norm(3, 0.5, 0.75, 2.0));
    r.case("local_response_norm_even", &["x"], |x, _| x[0].local_response_norm(2, 1e-4, 0.75, 1.0));
}

#[test]
fn channel_norms() {
    let r = reference();
    let affine = &["image", "w4", "b4"];
    r.case("group_norm", affine, |x, _| x[0].group_norm(2, Some(&x[1]), Some(&x[2]), 1e-5));
    r.case("group_norm_plain", &["image"], |x, _| x[0].group_norm(4, None, None, 1e-5));
    r.case("instance_norm", affine, |x, _| x[0].instance_norm(Some(&x[1]), Some(&x[2]), 1e-5));
    r.case("instance_norm_plain", &["image"], |x, _| x[0].instance_norm(None, None, 1e-5));
    r.case("batch_norm_training", affine, |x, _| {
        x[0].batch_norm_training(Some(&x[1]), Some(&x[2]), 1e-5).output
    });
    r.case("batch_norm_training_2", &["x2"], |x, _| x[0].batch_norm_training(None, None, 0.01).output);
    let statistics = |i: &Inputs| i.get("image").batch_norm_training(None, None, 1e-5);
    r.case("batch_norm_mean", &[], |_, i| statistics(i).mean);
    r.case("batch_norm_var", &[], |_, i| statistics(i).var);
    r.case("batch_norm_unbiased_var", &[], |_, i| statistics(i).unbiased_var);
    r.case("batch_norm", affine, |x, i| {
        x[0].batch_norm(&i.get("mean4"), &i.get("var4"), Some(&x[1]), Some(&x[2]), 1e-5)
    });
    r.case("batch_norm_plain", &["x2"], |x, i| {
        x[0].batch_norm(&i.get("mean4"), &i.get("var4"), None, None, 1e-5)
    });
}

/// Backward sees the mask that forward drew; the generator moves once; the extremes draw nothing.
#[test]
fn dropouts() {
    for device in devices() {
        let generator = Generator::new(7);
        let x = Tensor::ones([4, 50], &device).requires_grad();
        let y = x.dropout(0.2, &generator);
        assert_eq!(generator.counter(), 200);
        y.sum(..).backward().unwrap();
        assert_eq!(generator.counter(), 200);
        let kept = values(&y);
        assert_eq!(values(&x.grad().unwrap()), kept);
        assert!(kept.iter().all(|&value| value == 0.0 || (value - 1.25).abs() < 1e-6));
        let dropped = kept.iter().filter(|&&value| value == 0.0).count();
        assert!((20..60).contains(&dropped), "{dropped} of 200");
        assert_eq!(values(&x.dropout(0.0, &generator)), vec![1.0; 200]);
        assert_eq!(values(&x.dropout(1.0, &generator)), vec![0.0; 200]);
        assert_eq!(generator.counter(), 200);
        assert!(x.try_dropout(1.5, &generator).unwrap_err().to_string().contains("1.5"));

        let image = Tensor::ones([2, 8, 3, 3], &device).requires_grad();
        let y = image.feature_dropout(0.5, &generator);
        y.sum(..).backward().unwrap();
        assert_eq!(values(&image.grad().unwrap()), values(&y));
        let channels = values(&y.amax([2, 3]));
        assert_eq!(channels, values(&y.amin([2, 3])));
        assert!(channels.contains(&0.0) && channels.contains(&2.0));
    }
}

/// PyTorch's formula: kept elements are a · x + b, dropped ones a · (−α) + b.
#[test]
fn alpha_dropouts() {
    let (alpha, p) = (1.7580993408473766_f64, 0.3);
    let a = 1.0 / ((alpha * alpha * p + 1.0) * (1.0 - p)).sqrt();
    let b = alpha * a * p;
    for device in devices() {
        let x = Tensor::full([200], 0.5, &device).requires_grad();
        let y = x.alpha_dropout(p, &Generator::new(3));
        y.sum(..).backward().unwrap();
        for (value, slope) in values(&y).into_iter().zip(values(&x.grad().unwrap())) {
            let (want, want_slope) = if slope == 0.0 { (b - a * alpha, 0.0) } else { (a * 0.5 + b, a) };
            assert!((value - want).abs() < 1e-5 && (slope - want_slope).abs() < 1e-5);
        }
        let image = Tensor::full([2, 4, 3], 0.5, &device);
        let y = image.feature_alpha_dropout(p, &Generator::new(3));
        assert_eq!(values(&y.amax(2)), values(&y.amin(2)));
    }
}

#[test]
fn embeddings() {
    let r = reference();
    r.case("embedding", &["table"], |x, i| x[0].embedding(&i.get("indices"), None));
    r.case("embedding_padding", &["table"], |x, i| x[0].embedding(&i.get("indices"), Some(1)));
    let offsets = || Some(vec![0, 3, 3, 6]);
    for (names, mode) in [
        (["bag_sum", "bag_offsets_sum", "bag_padding_sum", "bag_offsets_padding_sum"], BagMode::Sum),
        (["bag_mean", "bag_offsets_mean", "bag_padding_mean", "bag_offsets_padding_mean"], BagMode::Mean),
        (["bag_max", "bag_offsets_max", "bag_padding_max", "bag_offsets_padding_max"], BagMode::Max),
    ] {
        let options = |offsets, padding_index| EmbeddingBagOptions {
            mode,
            offsets,
            padding_index,
            per_sample_weights: None,
        };
        r.case(names[0], &["table"], |x, i| x[0].embedding_bag(&i.get("indices"), &options(None, None)));
        r.case(names[1], &["table"], |x, i| x[0].embedding_bag(&i.get("flat"), &options(offsets(), None)));
        r.case(names[2], &["table"], |x, i| x[0].embedding_bag(&i.get("indices"), &options(None, Some(1))));
        r.case(names[3], &["table"], |x, i| x[0].embedding_bag(&i.get("flat"), &options(offsets(), Some(2))));
    }
    r.case("bag_weighted", &["table", "bag_weights"], |x, i| {
        let per_sample_weights = Some(x[1].clone());
        let options = EmbeddingBagOptions { mode: BagMode::Sum, per_sample_weights, ..Default::default() };
        x[0].embedding_bag(&i.get("indices"), &options)
    });
}

#[test]
fn attention() {
    let r = reference();
    let run =
        |x: &[Tensor], options: AttentionOptions| x[0].scaled_dot_product_attention(&x[1], &x[2], &options);
    let inputs = &["q", "k", "v"];
    r.case("attention", inputs, |x, _| run(x, AttentionOptions::default()));
    r.case("attention_mask", inputs, |x, i| {
        run(x, AttentionOptions { mask: Some(i.get("mask")), ..Default::default() })
    });
    r.case("attention_bias", &["q", "k", "v", "bias"], |x, _| {
        run(x, AttentionOptions { mask: Some(x[3].clone()), scale: Some(0.5), ..Default::default() })
    });
    r.case("attention_causal", inputs, |x, _| {
        run(x, AttentionOptions { causal: true, ..Default::default() })
    });
}

/// With uniform weights and values of 1 a row's sum says how many weights were kept.
#[test]
fn attention_drops_weights() {
    for device in devices() {
        let (q, v) = (Tensor::zeros([1, 4], &device), Tensor::ones([8, 1], &device));
        let k = Tensor::zeros([8, 4], &device);
        let options = AttentionOptions { dropout: Some((0.5, Generator::new(2))), ..Default::default() };
        let sum = values(&q.scaled_dot_product_attention(&k, &v, &options))[0];
        assert_eq!((sum * 4.0).fract(), 0.0);
        assert!(sum != 1.0 && sum > 0.0, "{sum}");
    }
}

#[test]
fn resizing() {
    let r = reference();
    let up = || InterpolateOptions::factor(&[2.0]);
    let down = || InterpolateOptions::factor(&[0.6]);
    let odd = || InterpolateOptions::factor(&[1.7]);
    let size = || InterpolateOptions::size(&[7, 4]);
    let check = |name: &str, options: InterpolateOptions, mode: InterpolateMode| {
        r.case(name, &["image"], |x, _| x[0].interpolate(&options.clone().with_mode(mode)));
    };
    use InterpolateMode::*;
    for (name, options, mode) in [
        ("nearest_up", up(), Nearest),
        ("nearest_down", down(), Nearest),
        ("nearest_odd", odd(), Nearest),
        ("nearest_size", size(), Nearest),
        ("nearest_exact_up", up(), NearestExact),
        ("nearest_exact_down", down(), NearestExact),
        ("nearest_exact_odd", odd(), NearestExact),
        ("nearest_exact_size", size(), NearestExact),
        ("area_up", up(), Area),
        ("area_down", down(), Area),
        ("area_size", size(), Area),
    ] {
        check(name, options, mode);
    }
    for (names, options) in [
        (["bilinear_up", "bilinear_up_corners", "bicubic_up", "bicubic_up_corners"], up()),
        (["bilinear_down", "bilinear_down_corners", "bicubic_down", "bicubic_down_corners"], down()),
        (["bilinear_odd", "bilinear_odd_corners", "bicubic_odd", "bicubic_odd_corners"], odd()),
        (["bilinear_size", "bilinear_size_corners", "bicubic_size", "bicubic_size_corners"], size()),
    ] {
        check(names[0], options.clone(), Linear);
        check(names[1], options.clone().with_align_corners(), Linear);
        check(names[2], options.clone(), Cubic);
        check(names[3], options.with_align_corners(), Cubic);
    }
    let line = InterpolateOptions::size(&[8]).with_mode(Linear);
    r.case("linear", &["line"], |x, _| x[0].interpolate(&line));
    r.case("linear_corners", &["line"], |x, _| x[0].interpolate(&line.clone().with_align_corners()));
    r.case("linear_one", &["line"], |x, _| {
        x[0].interpolate(&InterpolateOptions::size(&[1]).with_mode(Linear).with_align_corners())
    });
    r.case("trilinear", &["box"], |x, _| {
        x[0].interpolate(&InterpolateOptions::factor(&[2.0, 1.5, 0.5]).with_mode(Linear))
    });
    r.case("nearest_box", &["box"], |x, _| x[0].interpolate(&InterpolateOptions::size(&[4, 2, 3])));
}

#[test]
fn shuffles_and_distances() {
    let r = reference();
    r.case("pixel_shuffle", &["pixels"], |x, _| x[0].pixel_shuffle(2));
    r.case("pixel_unshuffle", &["pixels"], |x, _| x[0].reshape([2, 2, 4, 6]).pixel_unshuffle(2));
    let pair = &["a", "b"];
    r.case("cosine_similarity", pair, |x, _| x[0].cosine_similarity(&x[1], 1, 1e-8));
    r.case("cosine_similarity_0", pair, |x, _| x[0].cosine_similarity(&x[1], 0, 1e-8));
    r.case("pairwise_distance", pair, |x, _| x[0].pairwise_distance(&x[1], 2.0, 1e-6));
    r.case("pairwise_distance_p", pair, |x, _| x[0].pairwise_distance(&x[1], 3.0, 0.01));
    r.case("bilinear_form", &["left", "right", "w_bi", "b_bi"], |x, _| {
        x[0].bilinear(&x[1], &x[2], Some(&x[3]))
    });
    r.case("normalize", &["x"], |x, _| x[0].normalize(2.0, 1, 1e-12));
    r.case("normalize_p", &["a"], |x, _| x[0].normalize(1.0, 0, 1e-12));
    r.case("normalize_zero", &["ones"], |x, _| x[0].normalize(2.0, 1, 0.5));
}

#[test]
fn sequences() {
    let r = reference();
    let inputs = &["middle", "long", "short"];
    r.case("pad_sequence", inputs, |x, _| pad_sequence(x, StepsFirst, -1.0).unwrap());
    r.case("pad_sequence_batch", inputs, |x, _| pad_sequence(x, BatchFirst, 0.0).unwrap());
    r.case("pack_sequence", inputs, |x, _| {
        let packed = pack_sequence(x).unwrap();
        assert_eq!(packed.batch_sizes, [3, 2, 2, 1]);
        assert_eq!(packed.sorted_indices, [1, 0, 2]);
        assert_eq!(packed.unsorted_indices, [1, 0, 2]);
        packed.data
    });
    r.case("pad_packed_sequence", inputs, |x, _| {
        let (padded, lengths) = pad_packed_sequence(&pack_sequence(x).unwrap(), BatchFirst, 2.0).unwrap();
        assert_eq!(lengths, [3, 4, 1]);
        padded
    });
}

/// Sequences go through packing and back in either layout, lengths in any order.
#[test]
fn packing_and_back() {
    for device in devices() {
        let padded = Tensor::arange(1.0, 13.0, 1.0, &device).reshape([3, 4]);
        let lengths = [2, 4, 1];
        let packed = pack_padded_sequence(&padded, &lengths, BatchFirst).unwrap();
        assert_values(&packed.data, &[5.0, 1.0, 9.0, 6.0, 2.0, 7.0, 8.0]);
        let (steps_first, again) = pad_packed_sequence(&packed, StepsFirst, 0.0).unwrap();
        assert_eq!(again, lengths);
        let expected = [1.0, 5.0, 9.0, 2.0, 6.0, 0.0, 0.0, 7.0, 0.0, 0.0, 8.0, 0.0];
        assert_values(&steps_first, &expected);
        let repacked = pack_padded_sequence(&steps_first, &lengths, StepsFirst).unwrap();
        assert_values(&repacked.data, &values(&packed.data));
        assert!(pack_padded_sequence(&padded, &[5, 1, 1], BatchFirst).is_err());
    }
}

/// Parameters a and b after the backward pass of sum(a²) + sum(b³).
fn squares_and_cubes(i: &Inputs) -> Vec<Parameter> {
    let parameters: Vec<Parameter> = ["a", "b"].iter().map(|name| Parameter::new(&i.get(name))).collect();
    let (a, b) = (parameters[0].get(), parameters[1].get());
    (a.square().sum(..) + b.pow(3).sum(..)).backward().unwrap();
    parameters
}

fn flat_grads(parameters: &[Parameter]) -> Vec<Tensor> {
    parameters.iter().map(|parameter| parameter.grad().unwrap().reshape([-1])).collect()
}

#[test]
fn clipping() {
    let r = reference();
    for (name, max, p) in [
        ("clip_norm_1", 1.5, 1.0),
        ("clip_norm_2", 1.5, 2.0),
        ("clip_norm_3", 1.5, 3.0),
        ("clip_norm_inf", 1.5, f64::INFINITY),
        ("clip_norm_large", 1000.0, 2.0),
    ] {
        r.case(name, &[], |_, i| {
            let parameters = squares_and_cubes(i);
            let norm = clip_grad_norm(&parameters, max, p).unwrap();
            let mut all = flat_grads(&parameters);
            all.push(norm.reshape([1]));
            Tensor::cat(&all, 0)
        });
    }
    r.case("clip_value", &[], |_, i| {
        let parameters = squares_and_cubes(i);
        clip_grad_value(&parameters, 0.8).unwrap();
        Tensor::cat(&flat_grads(&parameters), 0)
    });
}

/// A parameter without a gradient is left alone.
#[test]
fn vectors_of_parameters() {
    for device in devices() {
        let a = Parameter::new(&Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device));
        let b = Parameter::new(&Tensor::new([5.0], &device));
        let both = [a.clone(), b.clone()];
        let vector = parameters_to_vector(&both).unwrap();
        (&vector * &vector).sum(..).backward().unwrap();
        assert_values(&a.grad().unwrap(), &[2.0, 4.0, 6.0, 8.0]);
        vector_to_parameters(&(vector * 10.0), &both).unwrap();
        assert_values(&b.value(), &[50.0]);
        assert!(vector_to_parameters(&Tensor::zeros([4], &device), &both).is_err());
        b.zero_grad();
        let norm = clip_grad_norm(&both, 1.0, f64::INFINITY).unwrap();
        assert_values(&norm, &[8.0]);
        assert!(b.grad().is_none());
        a.zero_grad();
        assert_values(&clip_grad_norm(&both, 1.0, 2.0).unwrap(), &[0.0]);
    }
}

#[test]
fn every_case_is_checked() {
    reference().all_named_in(include_str!("functional.rs"), &[]);
}
