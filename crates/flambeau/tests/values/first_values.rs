//! First values of layers and `nn::init`, by their distribution; dropout, by what it does to many numbers; refusals.
//!
//! Tests that run beside these draw from the same default generator, so every bound here holds for any seed: it is at
//! least seven standard deviations away.

use crate::common::{assert_values, devices, values};
use flambeau::nn::init::{FanMode, KaimingOptions, Nonlinearity};
use flambeau::nn::*;
use flambeau::prelude::*;

/// The largest size, the mean and the standard deviation of a tensor's numbers.
fn spread(tensor: &Tensor) -> (f64, f64, f64) {
    let values = values(tensor);
    let mean = values.iter().sum::<f64>() / values.len() as f64;
    let variance = values.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / values.len() as f64;
    (values.iter().fold(0.0, |largest: f64, x| largest.max(x.abs())), mean, variance.sqrt())
}

#[track_caller]
fn assert_uniform(parameter: &Parameter, bound: f64) {
    let (largest, mean, std) = spread(&parameter.value());
    assert!(largest <= bound * (1.0 + 1e-6) && largest > bound * 0.95, "largest {largest}, bound {bound}");
    assert!(mean.abs() < 0.1 * bound, "mean {mean}, bound {bound}");
    assert!((std * 3f64.sqrt() / bound - 1.0).abs() < 0.1, "std {std}, bound {bound}");
}

#[track_caller]
fn assert_normal(parameter: &Parameter, mean: f64, std: f64) {
    let (_, got_mean, got_std) = spread(&parameter.value());
    assert!((got_mean - mean).abs() < 0.1 * std, "mean {got_mean}, expected {mean}");
    assert!((got_std / std - 1.0).abs() < 0.07, "std {got_std}, expected {std}");
}

fn zeros<const N: usize>(shape: [usize; N], device: &Device) -> Parameter {
    Parameter::new(&Tensor::zeros(shape, device))
}

#[test]
fn layers_begin_as_in_pytorch() {
    let device = Device::cpu();
    let linear = Linear::new(16, 4000, &device);
    assert_uniform(&linear.weight, 0.25);
    assert_uniform(linear.bias.as_ref().unwrap(), 0.25);
    let bilinear = Bilinear::new(4, 3, 4000, &device);
    assert_uniform(&bilinear.weight, 0.5);
    assert_uniform(bilinear.bias.as_ref().unwrap(), 0.5);
    let conv = Conv2d::with_options(8, 4000, [2, 1], Conv2dOptions::default().with_groups(2), &device);
    assert_uniform(&conv.weight, 1.0 / 8f64.sqrt());
    assert_uniform(conv.bias.as_ref().unwrap(), 1.0 / 8f64.sqrt());
    // PyTorch counts the outputs that an input meets.
    let groups = ConvTranspose1dOptions::default().with_groups(1000);
    let transposed = ConvTranspose1d::with_options(1000, 4000, 4, groups, &device);
    assert_uniform(&transposed.weight, 0.25);
    assert_uniform(transposed.bias.as_ref().unwrap(), 0.25);
    let options = EmbeddingOptions { padding_idx: Some(3), ..Default::default() };
    let embedding = Embedding::with_options(200, 50, options, &device);
    assert_normal(&embedding.weight, 0.0, 1.0);
    assert_values(&embedding.weight.value().select(0, 3), &[0.0; 50]);
}

#[test]
fn first_values_have_their_distributions() {
    for device in devices() {
        let generator = Generator::new(11);
        let weight = zeros([50, 40, 3], &device);
        let check = |set: &dyn Fn(&Parameter) -> Result<()>| {
            set(&weight).unwrap();
            &weight
        };
        let options = |mode, nonlinearity| KaimingOptions { mode, nonlinearity };
        let tanh = options(FanMode::FanOut, Nonlinearity::Tanh);
        let relu = options(FanMode::FanIn, Nonlinearity::Relu);
        assert_uniform(check(&|w| init::uniform(w, -0.3, 0.3, &generator)), 0.3);
        assert_normal(check(&|w| init::normal(w, 0.7, 2.0, &generator)), 0.7, 2.0);
        let fans = ((40.0 + 50.0) * 3.0f64).sqrt();
        assert_uniform(check(&|w| init::xavier_uniform(w, 2.0, &generator)), 2.0 * 6f64.sqrt() / fans);
        assert_normal(check(&|w| init::xavier_normal(w, 0.5, &generator)), 0.0, 0.5 * 2f64.sqrt() / fans);
        let bound = 5.0 / 3.0 * (3.0 / 150.0f64).sqrt();
        assert_uniform(check(&|w| init::kaiming_uniform(w, tanh, &generator)), bound);
        assert_normal(check(&|w| init::kaiming_normal(w, relu, &generator)), 0.0, (2.0 / 120.0f64).sqrt());
        // Between −1 and 2, N(0, 1) has mean 0.22964 and standard deviation 0.72094.
        check(&|w| init::trunc_normal(w, 0.0, 1.0, -1.0, 2.0, &generator));
        assert_normal(&weight, 0.22964, 0.72094);
        let values = values(&weight.value());
        assert!(values.iter().all(|x| (-1.0..=2.0).contains(x)));
        assert!(values.iter().any(|&x| x < -0.98) && values.iter().any(|&x| x > 1.9));
    }
}

#[test]
fn first_values_that_are_not_random() {
    for device in devices() {
        let matrix = zeros([2, 3], &device);
        init::constant(&matrix, 1.5).unwrap();
        assert_values(&matrix.value(), &[1.5; 6]);
        init::eye(&matrix).unwrap();
        assert_values(&matrix.value(), &[1.0, 0.0, 0.0, 0.0, 1.0, 0.0]);
        // torch.nn.init.dirac_ of a (4, 2, 3) kernel in two groups: ones at (0, 0, 1), (1, 1, 1), (2, 0, 1), (3, 1, 1).
        let kernel = zeros([4, 2, 3], &device);
        init::dirac(&kernel, 2).unwrap();
        let mut expected = [0.0; 24];
        [1, 10, 13, 22].into_iter().for_each(|place| expected[place] = 1.0);
        assert_values(&kernel.value(), &expected);
        let square = zeros([1, 1, 4, 3], &device);
        init::dirac(&square, 1).unwrap();
        let mut expected = [0.0; 12];
        expected[7] = 1.0;
        assert_values(&square.value(), &expected);
    }
}

#[test]
fn orthogonal_matrices_are_orthogonal() {
    for device in devices() {
        for (shape, fewer) in [([64, 64, 1], 64), ([48, 5, 3], 15), ([6, 5, 9], 6)] {
            let weight = zeros(shape, &device);
            init::orthogonal(&weight, 3.0, &Generator::new(5)).unwrap();
            let matrix = weight.value().reshape((shape[0], -1));
            let product =
                if fewer == shape[0] { matrix.matmul(&matrix.t()) } else { matrix.t().matmul(&matrix) };
            let error = (product - Tensor::eye(fewer, &device) * 9.0).abs().amax(..);
            assert!(error.item_blocking().unwrap() < 1e-4, "{shape:?} on {device}");
        }
    }
}

#[test]
fn sparse_columns_have_their_zeros() {
    for device in devices() {
        let weight = zeros([40, 300], &device);
        init::sparse(&weight, 0.3, 2.0, &Generator::new(3)).unwrap();
        assert_values(&weight.value().count_nonzero(0), &[28.0; 300]);
        let kept = values(&weight.value()).into_iter().filter(|&x| x != 0.0);
        let kept: Vec<f32> = kept.map(|x| x as f32).collect();
        assert_normal(&Parameter::new(&Tensor::new(kept, &device)), 0.0, 2.0);
    }
}

#[test]
fn dropout_drops_in_training_only() {
    for device in devices() {
        let x = Tensor::randn([100, 100], &Generator::new(2), &device).requires_grad();
        let dropout = Dropout::new(0.25);
        let y = dropout.forward(&x);
        y.sum(..).backward().unwrap();
        let factors = values(&x.grad().unwrap());
        let dropped = factors.iter().filter(|&&factor| factor == 0.0).count();
        assert!((2000..3000).contains(&dropped), "{dropped} of 10000 dropped");
        let expected: Vec<f64> = values(&x).iter().zip(&factors).map(|(x, factor)| x * factor).collect();
        assert_values(&y, &expected);
        assert!(factors.iter().all(|&factor| factor == 0.0 || (factor - 4.0 / 3.0).abs() < 1e-6));
        dropout.eval();
        assert_eq!(values(&dropout.forward(&x)), values(&x));

        let images = Tensor::ones([40, 50, 2, 3], &device);
        let channels = values(&Dropout2d::new(0.5).forward(&images));
        assert!(channels.chunks_exact(6).all(|channel| channel.iter().all(|x| *x == channel[0])));
        let dropped = channels.chunks_exact(6).filter(|channel| channel[0] == 0.0).count();
        assert!((800..1200).contains(&dropped), "{dropped} of 2000 channels dropped");

        let (_, mean, std) = spread(&AlphaDropout::new(0.2).forward(&x));
        assert!(mean.abs() < 0.1 && (std - 1.0).abs() < 0.1, "mean {mean}, std {std}");
    }
}

#[test]
fn random_slopes_stay_between_their_bounds() {
    for device in devices() {
        let x = Tensor::full([1000], -1.0, &device);
        let slopes: Vec<f64> = values(&RRelu::new(0.2, 0.6).forward(&x)).iter().map(|y| -y).collect();
        assert!(slopes.iter().all(|slope| (0.2..=0.6).contains(slope)));
        let mean = slopes.iter().sum::<f64>() / 1000.0;
        assert!((mean - 0.4).abs() < 0.04, "mean slope {mean}");
    }
}

#[test]
fn what_does_not_fit_is_refused_by_name() {
    let device = Device::cpu();
    let refused = |result: Result<Tensor>, parts: &[&str]| {
        let message = result.unwrap_err().to_string();
        for part in parts {
            assert!(message.contains(part), "{message:?} does not mention {part:?}");
        }
    };
    let image = Tensor::ones([2, 3, 4, 4], &device);
    refused(Conv2d::new(4, 2, 3, &device).try_forward(&image), &["Conv2d", "[2, 3, 4, 4]"]);
    refused(Conv1d::new(3, 2, 3, &device).try_forward(&image), &["Conv1d", "[2, 3, 4, 4]"]);
    refused(BatchNorm2d::new(4, &device).try_forward(&image), &["BatchNorm2d", "[2, 3, 4, 4]", "4 channels"]);
    refused(BatchNorm1d::new(3, &device).try_forward(&image), &["BatchNorm1d", "2 or 3 dimensions"]);
    refused(GroupNorm::new(2, 4, &device).try_forward(&image), &["GroupNorm", "[2, 3, 4, 4]"]);
    refused(LayerNorm::new(3, &device).try_forward(&image), &["layer_norm", "[3]"]);
    refused(MaxPool2d::new(5).try_forward(&image), &["MaxPool2d", "[5, 5]"]);
    refused(Embedding::new(4, 2, &device).try_forward(&image), &["embedding", "integer"]);
    refused(Linear::new(3, 2, &device).try_forward(&image), &["Linear", "3 features"]);
    refused(Softmax2d.try_forward(&Tensor::ones([2], &device)), &["Softmax2d", "[2]"]);
    let groups = Conv2dOptions::default().with_groups(2);
    let error = Conv2d::try_with_options(3, 4, 3, groups, &device).unwrap_err().to_string();
    assert!(error.contains("Conv2d") && error.contains("2 groups"), "{error}");
    let padding = EmbeddingOptions { padding_idx: Some(9), ..Default::default() };
    assert!(Embedding::try_with_options(4, 2, padding, &device).is_err());
    assert!(GroupNorm::try_with_options(3, 4, GroupNormOptions::default(), &device).is_err());
    let vector = zeros([3], &device);
    assert!(init::xavier_uniform(&vector, 1.0, None).is_err());
    assert!(init::orthogonal(&vector, 1.0, None).is_err());
    assert!(init::eye(&vector).is_err());
}
