//! Layers against PyTorch 1.13: outputs, gradients of inputs and parameters, running statistics and printed forms, on
//! every device. `tools/reference/layers.py` wrote the expectations. First values and dropout are checked by their
//! distribution.

use crate::common::{assert_close, devices, values};
use flambeau::nn::functional::{BagMode, InterpolateMode, InterpolateOptions};
use flambeau::nn::*;
use flambeau::prelude::*;
use safetensors::{Dtype, SafeTensors};
use std::collections::BTreeSet;

/// PyTorch's inputs and results of one case.
struct Case {
    name: &'static str,
    file: SafeTensors<'static>,
    device: Device,
}

/// As PyTorch 1.13 prints it, which wrote the file: it does not quote modes, as later ones do.
fn with_plain_modes(summary: &str) -> String {
    let mut parts = summary.split(", mode='");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + ", mode=" + &part.replacen('\'', "", 1))
}

impl Case {
    fn open(name: &'static str, device: &Device) -> Case {
        let bytes = include_bytes!("../data/layers.safetensors");
        let file = SafeTensors::deserialize(bytes).expect("the reference file is whole");
        Case { name, file, device: device.clone() }
    }

    fn find(&self, path: &str) -> Option<Tensor> {
        let view = self.file.tensor(&format!("{}/{path}", self.name)).ok()?;
        let words = view.data().chunks_exact(4).map(|word| <[u8; 4]>::try_from(word).expect("four bytes"));
        Some(match view.dtype() {
            Dtype::F32 => {
                Tensor::from_vec(words.map(f32::from_le_bytes).collect(), view.shape(), &self.device)
            }
            Dtype::I32 => {
                Tensor::from_vec(words.map(i32::from_le_bytes).collect(), view.shape(), &self.device)
            }
            other => panic!("the reference file has no {other:?}"),
        })
    }

    fn get(&self, path: &str) -> Tensor {
        self.find(path).unwrap_or_else(|| panic!("no reference for {}/{path}", self.name))
    }

    fn printed(&self) -> String {
        let bytes = self.file.tensor(&format!("{}/repr", self.name)).expect("a printed form").data();
        String::from_utf8(bytes.to_vec()).expect("text")
    }

    /// The names after a prefix.
    fn names(&self, prefix: &str) -> BTreeSet<String> {
        let prefix = format!("{}/{prefix}/", self.name);
        self.file.names().iter().filter_map(|name| name.strip_prefix(&prefix)).map(str::to_owned).collect()
    }

    #[track_caller]
    fn compare(&self, path: &str, got: &Tensor) {
        let want = self.get(path);
        println!("{}/{path} on {}", self.name, self.device);
        assert_eq!(got.shape(), want.shape(), "shape of {}/{path}", self.name);
        assert_eq!(got.dtype(), want.dtype(), "dtype of {}/{path}", self.name);
        assert_close(&values(got), &values(&want), 1e-5, 1e-5);
    }

    /// Gives a module PyTorch's parameters and buffers; both must have the same names.
    fn load(&self, module: &dyn Module) {
        let (parameters, buffers) = (module.named_parameters(), module.named_buffers());
        let names = parameters.iter().map(|(name, _)| name).chain(buffers.iter().map(|(name, _)| name));
        assert_eq!(names.cloned().collect::<BTreeSet<_>>(), self.names("state"), "names of {}", self.name);
        for (name, parameter) in parameters {
            parameter.set(&self.get(&format!("state/{name}")));
        }
        for (name, buffer) in buffers {
            buffer.set(&self.get(&format!("state/{name}")));
        }
    }

    fn check(&self, module: &dyn Module, forward: &dyn Fn(&[Tensor]) -> Tensor) {
        let summary = with_plain_modes(&module.summary());
        assert_eq!(summary.rsplit_once('\n').unwrap().0, self.printed(), "printed form of {}", self.name);
        self.load(module);
        let inputs = (0..).map_while(|k| self.find(&format!("in{k}")));
        let inputs: Vec<Tensor> =
            inputs.map(|x| if x.dtype().is_float() { x.requires_grad() } else { x }).collect();
        let out = forward(&inputs);
        self.compare("out", &out);
        weighted(&out).backward().unwrap();
        let mut checked = BTreeSet::new();
        for (k, input) in inputs.iter().enumerate().filter(|(_, input)| input.dtype().is_float()) {
            self.compare(&format!("grad/in{k}"), &input.grad().unwrap());
            checked.insert(format!("in{k}"));
        }
        for (name, parameter) in module.named_parameters() {
            self.compare(&format!("grad/{name}"), &parameter.grad().unwrap());
            checked.insert(name);
        }
        assert_eq!(checked, self.names("grad"), "gradients of {}", self.name);
        if self.find("eval").is_none() {
            return;
        }
        for k in 0..2 {
            forward(&[self.get(&format!("more{k}"))]);
        }
        let buffers = module.named_buffers();
        assert_eq!(
            buffers.iter().map(|(name, _)| name.clone()).collect::<BTreeSet<_>>(),
            self.names("after")
        );
        for (name, buffer) in buffers {
            self.compare(&format!("after/{name}"), &buffer.get());
        }
        module.eval();
        let input = self.get("in0").requires_grad();
        let out = forward(std::slice::from_ref(&input));
        self.compare("eval", &out);
        weighted(&out).backward().unwrap();
        self.compare("eval_grad/in0", &input.grad().unwrap());
    }
}

/// Σ cos(k) out[k].
fn weighted(out: &Tensor) -> Tensor {
    let weights: Vec<f32> = (0..out.numel()).map(|k| (k as f64).cos() as f32).collect();
    (out * Tensor::from_vec(weights, out.shape(), out.device())).sum(..)
}

/// Checks a layer of one input.
fn layer<L: Forward>(name: &'static str, build: impl Fn(&Device) -> L) {
    for device in devices() {
        let layer = build(&device);
        Case::open(name, &device).check(&layer, &|inputs| layer.forward(&inputs[0]));
    }
}

/// Checks a layer of two inputs.
fn pair<L: Module>(
    name: &'static str,
    build: impl Fn(&Device) -> L,
    forward: impl Fn(&L, &Tensor, &Tensor) -> Tensor,
) {
    for device in devices() {
        let layer = build(&device);
        Case::open(name, &device).check(&layer, &|inputs| forward(&layer, &inputs[0], &inputs[1]));
    }
}

#[test]
fn linear_layers() {
    let no_bias = LinearOptions { bias: false };
    layer("linear", |device| Linear::new(6, 3, device));
    layer("linear_no_bias", |device| Linear::with_options(6, 3, no_bias, device));
    pair("bilinear", |device| Bilinear::new(6, 5, 3, device), Bilinear::forward);
    pair("bilinear_no_bias", |device| Bilinear::with_options(6, 5, 3, no_bias, device), Bilinear::forward);
}

#[test]
fn convolutions() {
    layer("conv1d", |device| Conv1d::new(4, 3, 3, device));
    let windows = Conv1dOptions::default().with_stride(2).with_padding(2).with_dilation(2).with_groups(2);
    let options = ConvLayerOptions { bias: false, ..windows.into() };
    layer("conv1d_options", |device| Conv1d::with_options(4, 6, 3, options, device));
    let windows = Conv1dOptions::default().with_padding(1);
    layer("conv1d_single", |device| Conv1d::with_options(4, 3, 2, windows, device));
    layer("conv2d", |device| Conv2d::new(4, 3, 3, device));
    let windows = Conv2dOptions::default().with_stride([2, 1]).with_padding([1, 2]).with_dilation([1, 2]);
    layer("conv2d_options", |device| Conv2d::with_options(4, 2, [3, 2], windows.with_groups(2), device));
    let same = Conv2dOptions::default().with_padding(Padding::Same);
    layer("conv2d_same", |device| Conv2d::with_options(4, 2, [4, 3], same, device));
    let depthwise = Conv2dOptions::default().with_padding(1).with_groups(4);
    layer("conv2d_depthwise", |device| Conv2d::with_options(4, 4, 3, depthwise, device));
    for (name, padding_mode) in [
        ("conv2d_reflect", PaddingMode::Reflect),
        ("conv2d_replicate", PaddingMode::Replicate),
        ("conv2d_circular", PaddingMode::Circular),
    ] {
        let windows = Conv2dOptions::default().with_padding([1, 2]);
        let options = ConvLayerOptions { padding_mode, ..windows.into() };
        layer(name, |device| Conv2d::with_options(4, 2, 3, options, device));
    }
    let same = Conv1dOptions::default().with_padding(Padding::Same);
    let ring = ConvLayerOptions { padding_mode: PaddingMode::Circular, ..same.into() };
    layer("conv1d_same_circular", |device| Conv1d::with_options(4, 2, 4, ring, device));
    let windows = Conv3dOptions::default().with_stride([1, 2, 1]).with_padding([0, 1, 0]);
    layer("conv3d", |device| Conv3d::with_options(2, 3, [2, 3, 1], windows, device));
}

#[test]
fn transposed_convolutions() {
    let doubled = ConvTranspose1dOptions::default().with_stride(2).with_padding(1).with_output_padding(1);
    layer("conv_transpose1d", |device| ConvTranspose1d::with_options(4, 3, 3, doubled, device));
    layer("conv_transpose2d", |device| ConvTranspose2d::new(4, 3, 3, device));
    let windows = ConvTranspose2dOptions::default().with_stride([2, 1]).with_padding([1, 0]);
    let windows = windows.with_output_padding([1, 0]).with_dilation([1, 2]).with_groups(2);
    let options = ConvTransposeLayerOptions { bias: false, ..windows.into() };
    layer("conv_transpose2d_options", |device| ConvTranspose2d::with_options(4, 6, [3, 2], options, device));
    let doubled = ConvTranspose3dOptions::default().with_stride(2);
    layer("conv_transpose3d", |device| ConvTranspose3d::with_options(2, 2, 2, doubled, device));
}

#[test]
fn pools() {
    layer("max_pool1d", |_| MaxPool1d::new(2));
    layer("max_pool2d", |_| MaxPool2d::new(2));
    let options = MaxPool2dOptions::default().with_stride([2, 1]).with_padding(1).with_dilation([1, 2]);
    layer("max_pool2d_options", |_| MaxPool2d::with_options([3, 2], options.with_ceil_mode(true)));
    layer("max_pool3d", |_| MaxPool3d::new(2));
    let options = AvgPool1dOptions::default().with_stride(2).with_padding(1);
    layer("avg_pool1d", |_| AvgPool1d::with_options(3, options));
    layer("avg_pool2d", |_| AvgPool2d::new(2));
    let options = AvgPool2dOptions::default().with_stride([2, 1]).with_padding(1).with_ceil_mode(true);
    let options = options.with_count_include_pad(false);
    layer("avg_pool2d_options", |_| AvgPool2d::with_options([3, 2], options));
    let options = AvgPool2dOptions::default().with_divisor_override(3);
    layer("avg_pool2d_divisor", |_| AvgPool2d::with_options(2, options));
    layer("avg_pool3d", |_| AvgPool3d::new(2));
    layer("adaptive_avg_pool1d", |_| AdaptiveAvgPool1d::new(3));
    layer("adaptive_avg_pool2d", |_| AdaptiveAvgPool2d::new([3, 2]));
    layer("adaptive_avg_pool2d_one", |_| AdaptiveAvgPool2d::new(1));
    layer("adaptive_avg_pool2d_none", |_| AdaptiveAvgPool2d::new([Some(4), None]));
    layer("adaptive_max_pool1d", |_| AdaptiveMaxPool1d::new(3));
    layer("adaptive_max_pool2d", |_| AdaptiveMaxPool2d::new([3, 2]));
}

#[test]
fn norms() {
    layer("batch_norm1d", |device| BatchNorm1d::new(6, device));
    let momentum = BatchNormOptions { momentum: Some(0.3), ..Default::default() };
    layer("batch_norm1d_sequence", |device| BatchNorm1d::with_options(4, momentum, device));
    layer("batch_norm2d", |device| BatchNorm2d::new(4, device));
    let cumulative = BatchNormOptions { eps: 1e-3, momentum: None, affine: false, ..Default::default() };
    layer("batch_norm2d_cumulative", |device| BatchNorm2d::with_options(4, cumulative, device));
    let untracked = BatchNormOptions { track_running_stats: false, ..Default::default() };
    layer("batch_norm2d_untracked", |device| BatchNorm2d::with_options(4, untracked, device));
    layer("batch_norm3d", |device| BatchNorm3d::new(2, device));
    layer("instance_norm1d", |device| InstanceNorm1d::new(4, device));
    let affine = InstanceNormOptions { affine: true, ..Default::default() };
    layer("instance_norm1d_single", |device| InstanceNorm1d::with_options(4, affine, device));
    let tracked = InstanceNormOptions { track_running_stats: true, ..affine };
    layer("instance_norm2d", |device| InstanceNorm2d::with_options(4, tracked, device));
    layer("layer_norm", |device| LayerNorm::new(6, device));
    let plain = LayerNormOptions { eps: 1e-3, elementwise_affine: false, ..Default::default() };
    layer("layer_norm_plain", |device| LayerNorm::with_options([6, 5], plain, device));
    layer("group_norm", |device| GroupNorm::new(2, 4, device));
    let plain = GroupNormOptions { affine: false, ..Default::default() };
    layer("group_norm_plain", |device| GroupNorm::with_options(4, 4, plain, device));
    layer("rms_norm", |device| RmsNorm::new(6, device));
    let plain = RmsNormOptions { eps: Some(1e-3), elementwise_affine: false };
    layer("rms_norm_plain", |device| RmsNorm::with_options([6, 5], plain, device));
    layer("local_response_norm", |_| LocalResponseNorm { size: 3, alpha: 0.5, beta: 0.6, k: 1.5 });
}

#[test]
fn embeddings() {
    layer("embedding", |device| Embedding::new(5, 3, device));
    let padding = EmbeddingOptions { padding_idx: Some(1), ..Default::default() };
    layer("embedding_padding", |device| Embedding::with_options(5, 3, padding, device));
    let bag = |mode| EmbeddingBagLayerOptions { mode, ..Default::default() };
    layer("embedding_bag_mean", |device| EmbeddingBag::new(5, 3, device));
    layer("embedding_bag_sum", |device| EmbeddingBag::with_options(5, 3, bag(BagMode::Sum), device));
    layer("embedding_bag_max", |device| EmbeddingBag::with_options(5, 3, bag(BagMode::Max), device));
    let padding = EmbeddingBagLayerOptions { padding_idx: Some(1), ..Default::default() };
    layer("embedding_bag_padding", |device| EmbeddingBag::with_options(5, 3, padding, device));
}

#[test]
fn plain_activations() {
    layer("ReLU", |_| Relu);
    layer("ReLU6", |_| Relu6);
    layer("SELU", |_| Selu);
    layer("SiLU", |_| Silu);
    layer("Mish", |_| Mish);
    layer("Sigmoid", |_| Sigmoid);
    layer("LogSigmoid", |_| LogSigmoid);
    layer("Tanh", |_| Tanh);
    layer("Tanhshrink", |_| Tanhshrink);
    layer("Softsign", |_| Softsign);
    layer("Hardsigmoid", |_| Hardsigmoid);
    layer("Hardswish", |_| Hardswish);
    layer("Softmax2d", |_| Softmax2d);
    layer("Identity", |_| Identity);
}

#[test]
fn activations_with_settings() {
    layer("GELU", |_| Gelu::default());
    layer("GELU_tanh", |_| Gelu { approximate: GeluApproximation::Tanh });
    layer("LeakyReLU", |_| LeakyRelu::default());
    layer("LeakyReLU_slope", |_| LeakyRelu { negative_slope: 0.2 });
    layer("ELU", |_| Elu::default());
    layer("ELU_alpha", |_| Elu { alpha: 0.5 });
    layer("CELU", |_| Celu::default());
    layer("CELU_alpha", |_| Celu { alpha: 2.0 });
    layer("Softplus", |_| Softplus::default());
    layer("Softplus_options", |_| Softplus { beta: 2.0, threshold: 1.5 });
    layer("Hardtanh", |_| Hardtanh::default());
    layer("Hardtanh_options", |_| Hardtanh { min_val: -0.5, max_val: 2.0 });
    layer("Hardshrink", |_| Hardshrink::default());
    layer("Hardshrink_lambda", |_| Hardshrink { lambda: 0.25 });
    layer("Softshrink", |_| Softshrink::default());
    layer("Softshrink_lambda", |_| Softshrink { lambda: 0.25 });
    layer("Threshold", |_| Threshold { threshold: 0.1, value: 20.0 });
    layer("Softmax", |_| Softmax { dim: 1 });
    layer("LogSoftmax", |_| LogSoftmax { dim: -1 });
    layer("Softmin", |_| Softmin { dim: 0 });
    layer("GLU", |_| Glu::default());
    layer("GLU_dim", |_| Glu { dim: 1 });
    layer("PReLU", |device| PRelu::new(device));
    let channels = PReluOptions { num_parameters: 4, ..Default::default() };
    layer("PReLU_channels", |device| PRelu::with_options(channels, device));
    layer("RReLU", |_| {
        let rrelu = RRelu::default();
        rrelu.eval();
        rrelu
    });
}

#[test]
fn shapes_and_padding() {
    layer("Flatten", |_| Flatten::default());
    layer("Flatten_dims", |_| Flatten { start_dim: 0, end_dim: 2 });
    layer("Unflatten", |_| Unflatten::new(1, [2, -1]));
    layer("ConstantPad1d", |_| ConstantPad1d::new([1, 2], 3.5));
    layer("ConstantPad2d", |_| ConstantPad2d::new([1, -2, 0, 3], -0.5));
    layer("ConstantPad3d", |_| ConstantPad3d::new(1, 0.5));
    layer("ZeroPad1d", |_| ZeroPad1d::new([1, 2]));
    layer("ZeroPad2d", |_| ZeroPad2d::new([1, 2, 0, 1]));
    layer("ZeroPad3d", |_| ZeroPad3d::new([1, 2, 0, 1, 1, 0]));
    layer("ReflectionPad1d", |_| ReflectionPad1d::new([1, 2]));
    layer("ReflectionPad2d", |_| ReflectionPad2d::new([1, 2, 0, 3]));
    layer("ReflectionPad3d", |_| ReflectionPad3d::new(1));
    layer("ReplicationPad1d", |_| ReplicationPad1d::new([1, 2]));
    layer("ReplicationPad2d", |_| ReplicationPad2d::new([1, 2, 0, 3]));
    layer("ReplicationPad3d", |_| ReplicationPad3d::new(1));
    layer("CircularPad1d", |_| CircularPad1d::new([1, 2]));
    layer("CircularPad2d", |_| CircularPad2d::new([1, 2, 0, 3]));
    layer("CircularPad3d", |_| CircularPad3d::new(1));
}

#[test]
fn resizing() {
    layer("Upsample", |_| Upsample::new(2.0));
    let linear = InterpolateOptions::factor(&[1.5]).with_mode(InterpolateMode::Linear);
    layer("Upsample_linear", |_| Upsample::with_options(linear.clone()));
    let bilinear = InterpolateOptions::size(&[8, 4]).with_mode(InterpolateMode::Linear).with_align_corners();
    layer("Upsample_bilinear", |_| Upsample::with_options(bilinear.clone()));
    let bicubic = InterpolateOptions::size(&[8, 4]).with_mode(InterpolateMode::Cubic);
    layer("Upsample_bicubic", |_| Upsample::with_options(bicubic.clone()));
    layer("PixelShuffle", |_| PixelShuffle { upscale_factor: 2 });
    layer("PixelUnshuffle", |_| PixelUnshuffle { downscale_factor: 2 });
}

#[test]
fn distances() {
    pair("CosineSimilarity", |_| CosineSimilarity::default(), CosineSimilarity::forward);
    let columns = CosineSimilarity { dim: 0, eps: 1e-6 };
    pair("CosineSimilarity_dim", |_| columns, CosineSimilarity::forward);
    pair("PairwiseDistance", |_| PairwiseDistance::default(), PairwiseDistance::forward);
    let options = PairwiseDistance { p: 3.0, eps: 1e-3, keepdim: true };
    pair("PairwiseDistance_options", |_| options, PairwiseDistance::forward);
}

#[test]
fn every_case_of_the_reference_is_checked() {
    let file = SafeTensors::deserialize(include_bytes!("../data/layers.safetensors")).unwrap();
    let source = include_str!("layers.rs");
    for name in file.names() {
        let case = name.split('/').next().unwrap();
        assert!(source.contains(&format!("\"{case}\"")), "{case} has no test");
    }
}

/// A small net, to be printed.
#[derive(Module)]
struct Net {
    features: Sequential,
    blocks: ModuleList<Linear>,
    head: Sequential,
}

#[test]
fn a_net_prints_as_in_python() {
    let device = Device::cpu();
    let conv = ConvLayerOptions { bias: false, ..Conv2dOptions::default().with_padding(1).into() };
    let features = Sequential::new()
        .with(Conv2d::with_options(1, 8, 3, conv, &device))
        .with(BatchNorm2d::new(8, &device))
        .with(Relu)
        .with(MaxPool2d::new(2))
        .with(Dropout2d::new(0.25));
    let head = Sequential::new()
        .with(AdaptiveAvgPool2d::new(1))
        .with(Flatten::default())
        .with(Linear::new(8, 10, &device))
        .with(LogSoftmax { dim: 1 });
    let net = Net { features, blocks: vec![Linear::new(8, 8, &device), Linear::new(8, 8, &device)], head };
    let printed = Case::open("net", &device).printed();
    assert_eq!(net.summary(), format!("{printed}\n322 parameters"));
    let x = Tensor::randn([2, 1, 6, 6], &Generator::new(1), &device);
    assert_eq!(net.head.forward(&net.features.forward(&x)).shape().dims(), [2, 10]);
}
