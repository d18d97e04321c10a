//! Mixed precision: which dtypes ops take in a scope, as PyTorch's lists for CUDA say, and gradients.

use crate::common::{assert_close, devices, values};
use flambeau::autograd::{autocast, checkpoint, is_autocast_enabled, set_autocast_enabled};
use flambeau::nn::functional::{AttentionOptions, InterpolateMode, InterpolateOptions};
use flambeau::nn::loss::*;
use flambeau::nn::*;
use flambeau::prelude::*;

pub type Function = fn(&Tensor) -> Tensor;

/// PyTorch's list of ops that run in f16: f32 is taken as f16.
pub const LOWER: &[(&str, Function)] = &[
    ("matmul", |x| x.matmul(x)),
    ("mm", |x| x.mm(x)),
    ("bmm", |x| x.unsqueeze(0).bmm(&x.unsqueeze(0))),
    ("mv", |x| x.mv(&x.select(0, 0))),
    ("addmm", |x| x.addmm(x, x, 1.0, 2.0)),
    ("baddbmm", |x| x.unsqueeze(0).baddbmm(&x.unsqueeze(0), &x.unsqueeze(0), 1.0, 2.0)),
    ("einsum", |x| Tensor::einsum("ij,jk->ik", &[x, x])),
    ("prelu", |x| x.prelu(&x.select(0, 0))),
    ("conv1d", |x| x.unsqueeze(0).conv1d(&x.unsqueeze(2), Some(&x.select(0, 0)), &Default::default())),
    ("conv2d", |x| image(x).conv2d(&image(x), None, &Default::default())),
    ("conv3d", |x| image(x).unsqueeze(0).conv3d(&image(x).unsqueeze(0), None, &Default::default())),
    ("conv_transpose1d", |x| x.unsqueeze(0).conv_transpose1d(&x.unsqueeze(2), None, &Default::default())),
    ("conv_transpose2d", |x| image(x).conv_transpose2d(&image(x), None, &Default::default())),
    ("scaled_dot_product_attention", |x| {
        image(x).scaled_dot_product_attention(&image(x), &image(x), &AttentionOptions::default())
    }),
    ("masked attention", |x| {
        let options = AttentionOptions { mask: Some(x.gt(0.0)), ..Default::default() };
        image(x).scaled_dot_product_attention(&image(x), &image(x), &options)
    }),
];

/// PyTorch's list of ops that run in f32: f16 is taken as f32.
pub const FULL: &[(&str, Function)] = &[
    ("acos", |x| x.acos()),
    ("asin", |x| x.asin()),
    ("cosh", |x| x.cosh()),
    ("exp", |x| x.exp()),
    ("expm1", |x| x.expm1()),
    ("log", |x| x.log()),
    ("log10", |x| x.log10()),
    ("log1p", |x| x.log1p()),
    ("log2", |x| x.log2()),
    ("reciprocal", |x| x.reciprocal()),
    ("__rdiv__", |x| 1.0 / x),
    ("rsqrt", |x| x.rsqrt()),
    ("sinh", |x| x.sinh()),
    ("tan", |x| x.tan()),
    ("pow of a number", |x| x.pow(3.0)),
    ("pow of another number", |x| x.pow(2.7)),
    ("pow of a tensor", |x| x.pow(x)),
    ("square", |x| x.square()),
    ("softplus", |x| x.softplus()),
    ("softplus with arguments", |x| x.softplus_with(2.0, 20.0)),
    ("sum", |x| x.sum(..)),
    ("sum of rows", |x| x.sum(1)),
    ("trace", |x| x.trace()),
    ("prod", |x| x.prod(1)),
    ("cumsum", |x| x.cumsum(0)),
    ("cumprod", |x| x.cumprod(0)),
    ("norm", |x| x.norm(2.0, ..)),
    ("norm of another kind", |x| x.norm(3.0, 1)),
    ("logsumexp", |x| x.logsumexp(1)),
    ("softmax", |x| x.softmax(1)),
    ("softmin", |x| x.softmin(1)),
    ("log_softmax", |x| x.log_softmax(1)),
    ("layer_norm", |x| x.layer_norm(&[4], Some(&x.select(0, 0)), None, 1e-5)),
    ("rms_norm", |x| x.rms_norm(&[4], None, 1e-5)),
    ("group_norm", |x| x.group_norm(2, None, Some(&x.select(0, 0)), 1e-5)),
    ("cosine_similarity", |x| x.cosine_similarity(x, 1, 1e-8)),
    ("pairwise_distance", |x| x.pairwise_distance(x, 2.0, 1e-6)),
    ("normalize", |x| x.normalize(2.0, 1, 1e-12)),
    ("local_response_norm", |x| x.local_response_norm(2, 1e-4, 0.75, 1.0)),
    ("interpolate", |x| {
        image(x).interpolate(&InterpolateOptions::factor(&[2.0]).with_mode(InterpolateMode::Linear))
    }),
    ("cross_entropy", |x| x.cross_entropy(&classes(x))),
    ("cross_entropy of probabilities", |x| CrossEntropyLoss::default().forward(x, x)),
    ("nll_loss", |x| x.nll_loss(&classes(x))),
    ("binary_cross_entropy_with_logits", |x| x.binary_cross_entropy_with_logits(x)),
    ("mse_loss", |x| x.mse_loss(x)),
    ("l1_loss", |x| x.l1_loss(x)),
    ("smooth_l1_loss", |x| x.smooth_l1_loss(x)),
    ("huber_loss", |x| x.huber_loss(x)),
    ("kl_div", |x| x.kl_div(x)),
    ("poisson_nll_loss", |x| PoissonNllLoss::default().forward(x, x)),
    ("hinge_embedding_loss", |x| HingeEmbeddingLoss::default().forward(x, x)),
    ("cosine_embedding_loss", |x| CosineEmbeddingLoss::default().forward(x, x, &x.select(0, 0))),
    ("margin_ranking_loss", |x| MarginRankingLoss::default().forward(x, x, x)),
    ("soft_margin_loss", |x| SoftMarginLoss::default().forward(x, x)),
    ("triplet_margin_loss", |x| TripletMarginLoss::default().forward(x, x, x)),
    ("multi_margin_loss", |x| MultiMarginLoss::default().forward(x, &classes(x))),
];

/// Ops on none of the lists: what they are given.
pub const WIDEST: &[(&str, Function)] = &[
    ("add", |x| x + x),
    ("add a number", |x| x + 0.1),
    ("mul", |x| x * x),
    ("div", |x| x.div(x)),
    ("neg", |x| -x),
    ("abs", |x| x.abs()),
    ("sqrt", |x| x.sqrt()),
    ("exp2", |x| x.exp2()),
    ("sin", |x| x.sin()),
    ("atan2", |x| x.atan2(x)),
    ("erf", |x| x.erf()),
    ("sigmoid", |x| x.sigmoid()),
    ("tanh", |x| x.tanh()),
    ("relu", |x| x.relu()),
    ("gelu", |x| x.gelu()),
    ("silu", |x| x.silu()),
    ("mish", |x| x.mish()),
    ("elu", |x| x.elu(1.0)),
    ("log_sigmoid", |x| x.log_sigmoid()),
    ("logit", |x| x.logit(0.1)),
    ("hardswish", |x| x.hardswish()),
    ("leaky_relu", |x| x.leaky_relu(0.1)),
    ("glu", |x| x.glu(1)),
    ("mean", |x| x.mean(..)),
    ("var", |x| x.var(.., 1)),
    ("std", |x| x.std(.., 1)),
    ("amax", |x| x.amax(1)),
    ("dot", |x| x.select(0, 0).dot(&x.select(0, 1))),
    ("outer", |x| x.select(0, 0).outer(&x.select(0, 1))),
    ("tensordot", |x| x.tensordot(x, 1)),
    ("bilinear", |x| x.bilinear(x, &x.unsqueeze(0), None)),
    ("cat", |x| Tensor::cat(&[x, x], 0)),
    ("where", |x| x.gt(0.0).where_cond(x, x)),
    ("batch_norm", |x| x.batch_norm_training(None, None, 1e-5).output),
    ("batch_norm, given statistics", |x| {
        let statistics = Tensor::ones([4], x.device());
        x.batch_norm(&statistics, &statistics, Some(&statistics), Some(&statistics), 1e-5)
    }),
    ("instance_norm", |x| image(x).instance_norm(None, None, 1e-5)),
    ("max_pool2d", |x| image(x).max_pool2d(2, &Default::default())),
    ("avg_pool2d", |x| image(x).avg_pool2d(2, &Default::default())),
    ("dropout", |x| x.dropout(0.5, &Generator::new(1))),
];

fn image(x: &Tensor) -> Tensor {
    x.reshape([1, 1, 4, 4])
}

fn classes(x: &Tensor) -> Tensor {
    Tensor::new([0, 1, 2, 3], x.device())
}

pub fn matrix(dtype: DType, device: &Device) -> Tensor {
    let numbers: Vec<f32> = (0..16).map(|k| 0.1 + 0.8 * ((k * 7 % 16) as f32) / 16.0).collect();
    Tensor::from_vec(numbers, [4, 4], device).to_dtype(dtype)
}

/// The dtype an op gives for an input of this one, in a scope; outside it must give what is given.
fn dtype_in_scope(name: &str, op: Function, dtype: DType, device: &Device) -> DType {
    let x = matrix(dtype, device);
    let result = autocast(true, || op(&x)).dtype();
    let outside = op(&x).dtype();
    // Statistics that are f32 promote f16 outside of a scope as well, unless the op gives what it is given.
    assert_eq!(outside, dtype, "{name} of {dtype} outside of a scope");
    result
}

#[test]
fn ops_take_the_dtypes_of_pytorchs_lists() {
    let device = Device::cpu();
    for (list, in_half, in_single) in
        [(LOWER, DType::F16, DType::F16), (FULL, DType::F32, DType::F32), (WIDEST, DType::F16, DType::F32)]
    {
        for &(name, op) in list {
            assert_eq!(dtype_in_scope(name, op, DType::F16, &device), in_half, "{name} of f16");
            assert_eq!(dtype_in_scope(name, op, DType::F32, &device), in_single, "{name} of f32");
            // Numbers of 64 bits are nobody's to shorten.
            assert_eq!(dtype_in_scope(name, op, DType::F64, &device), DType::F64, "{name} of f64");
        }
    }
}

/// What is computed in a scope is what is computed of inputs that are cast by hand, on both devices.
#[test]
fn results_in_a_scope_are_those_of_inputs_cast_by_hand() {
    for device in devices() {
        let x = matrix(DType::F32, &device);
        let (half, back) = (x.to_dtype(DType::F16), x.to_dtype(DType::F16).to_dtype(DType::F32));
        for &(name, op) in LOWER {
            let (got, want) = (autocast(true, || op(&x)), op(&half));
            assert_close(&values(&got), &values(&want), 1e-6, 1e-3);
            assert_eq!(got.dtype(), want.dtype(), "{name} on {device}");
        }
        for &(_, op) in FULL {
            assert_close(&values(&autocast(true, || op(&half))), &values(&op(&back)), 1e-6, 1e-5);
        }
    }
}

#[test]
fn inputs_of_two_dtypes_give_the_wider_one() {
    let device = Device::cpu();
    let (half, single) = (matrix(DType::F16, &device), matrix(DType::F32, &device));
    autocast(true, || {
        assert_eq!((&half + &single).dtype(), DType::F32);
        assert_eq!(half.dot_rows(&single).dtype(), DType::F32);
        assert_eq!(Tensor::cat(&[&half, &single], 0).dtype(), DType::F32);
        assert_eq!(half.tensordot(&single, 1).dtype(), DType::F32);
        assert_eq!(half.matmul(&single).dtype(), DType::F16);
    });
}

trait DotRows {
    fn dot_rows(&self, other: &Tensor) -> Tensor;
}

impl DotRows for Tensor {
    fn dot_rows(&self, other: &Tensor) -> Tensor {
        self.select(0, 0).dot(&other.select(0, 0))
    }
}

#[test]
fn layers_give_f16_and_f32_gradients() {
    for device in devices() {
        let generator = Generator::new(3);
        let x = Tensor::randn([2, 5, 8], &generator, &device);
        let layers: Vec<(&str, Box<dyn Module>, Tensor)> = autocast(true, || {
            let linear = Linear::new(8, 4, &device);
            let y = linear.forward(&x);
            let attention = MultiheadAttention::new(8, 2, &device);
            let attended = attention.forward(&x, &x, &x, &Default::default());
            let lstm = Lstm::new(8, 4, &device);
            let (states, (hidden, cell)) = lstm.forward(&x, None);
            assert_eq!([hidden.dtype(), cell.dtype()], [DType::F16; 2]);
            let gru = GruCell::new(8, 4, &device);
            let state = gru.forward(&x.select(0, 0), None);
            let conv = Conv1d::new(5, 3, 3, &device);
            let convolved = conv.forward(&x);
            vec![
                ("linear", Box::new(linear) as Box<dyn Module>, y),
                ("attention", Box::new(attention), attended),
                ("lstm", Box::new(lstm), states),
                ("gru cell", Box::new(gru), state),
                ("conv", Box::new(conv), convolved),
            ]
        });
        for (name, layer, y) in layers {
            assert_eq!(y.dtype(), DType::F16, "{name}");
            y.to_dtype(DType::F32).sum(..).backward().unwrap();
            for parameter in layer.parameters() {
                let grad =
                    parameter.grad().unwrap_or_else(|| panic!("{name}: {parameter:?} has no gradient"));
                assert_eq!(grad.dtype(), DType::F32, "{name}");
                assert!(values(&grad).iter().all(|number| number.is_finite()), "{name} on {device}");
            }
        }
    }
}

/// A hidden layer by hand: casts, products and their gradients in f16, sums in f32.
#[test]
fn gradients_run_in_the_dtypes_of_the_forward_pass() {
    for device in devices() {
        let x = matrix(DType::F32, &device);
        let [w, by_hand] = [(); 2].map(|()| Parameter::new(&matrix(DType::F32, &device)));
        let seen = std::sync::Arc::new(std::sync::Mutex::new(Vec::new()));
        let hidden = autocast(true, || x.matmul(&w.get()));
        let note = seen.clone();
        let _hook = hidden.register_hook(move |grad| {
            note.lock().unwrap().push((grad.dtype(), is_autocast_enabled()));
            None
        });
        let loss = autocast(true, || hidden.relu().exp().sum(..));
        // Wherever backward is called.
        autocast(true, || loss.backward()).unwrap();
        assert_eq!(*seen.lock().unwrap(), [(DType::F16, false)]);
        let half = |x: &Tensor| x.to_dtype(DType::F16);
        let hidden = half(&x).matmul(&half(&by_hand.get()));
        hidden.relu().to_dtype(DType::F32).exp().sum(..).backward().unwrap();
        let [got, want] = [&w, &by_hand].map(|parameter| values(&parameter.grad().unwrap()));
        assert_close(&got, &want, 0.0, 1e-5);
    }
}

#[test]
fn scopes_nest_and_end() {
    let x = matrix(DType::F32, &Device::cpu());
    assert!(!is_autocast_enabled());
    autocast(true, || {
        assert!(is_autocast_enabled());
        assert_eq!(autocast(false, || x.matmul(&x)).dtype(), DType::F32);
        assert_eq!(autocast(false, || autocast(true, || x.matmul(&x))).dtype(), DType::F16);
        assert_eq!(x.matmul(&x).dtype(), DType::F16);
    });
    let guard = set_autocast_enabled(true);
    assert_eq!(x.matmul(&x).dtype(), DType::F16);
    drop(guard);
    assert_eq!(x.matmul(&x).dtype(), DType::F32);
    let caught = std::panic::catch_unwind(|| autocast(true, || panic!("inside")));
    assert!(caught.is_err() && !is_autocast_enabled());
}

/// A region that is computed again has the dtypes it had, and evaluating in a scope casts nothing of what was built outside.
#[test]
fn checkpoints_and_evaluations_keep_their_dtypes() {
    for device in devices() {
        let x = matrix(DType::F32, &device).requires_grad();
        let y = autocast(true, || checkpoint(|x| x[0].try_matmul(&x[0])?.try_exp(), &[&x])).unwrap();
        y.sum(..).backward().unwrap();
        let again = matrix(DType::F32, &device).requires_grad();
        autocast(true, || again.matmul(&again).exp()).sum(..).backward().unwrap();
        assert_eq!(values(&x.grad().unwrap()), values(&again.grad().unwrap()));
        // Softmax is written out when its plan is made.
        let layer = Linear::new(4, 3, &device);
        let built = layer.forward(&x.detach()).softmax(1);
        let read = autocast(true, || values(&built));
        let sums: Vec<f64> = read.chunks(3).map(|row| row.iter().sum()).collect();
        assert_close(&sums, &[1.0; 4], 1e-6, 0.0);
    }
}

#[test]
fn binary_cross_entropy_of_probabilities_is_refused() {
    let x = matrix(DType::F32, &Device::cpu());
    let error = autocast(true, || x.try_binary_cross_entropy(&x)).unwrap_err().to_string();
    assert!(error.contains("BceWithLogitsLoss"), "{error}");
    assert!(x.try_binary_cross_entropy(&x).is_ok());
}
