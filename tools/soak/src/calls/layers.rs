//! Losses, and layers made with absurd sizes and given tensors that do not fit.

use super::{Arguments, Call, calls};
use flambeau::nn::loss::*;
use flambeau::nn::models::{
    Cnn, CnnOptions, Gpt, GptConfig, Mlp, ResNet, ResNetDepth, ResNetOptions, SampleOptions,
};
use flambeau::nn::utils::{SequenceLayout, pack_padded_sequence};
use flambeau::nn::*;
use flambeau::{ConvOptions, ConvTransposeOptions, Result, Tensor};

fn reduction(a: &mut Arguments) -> Reduction {
    *a.random.pick(&[Reduction::None, Reduction::Mean, Reduction::Sum])
}

fn classes(a: &mut Arguments, input: &Tensor) -> Tensor {
    let rows = input.shape().first().copied().unwrap_or(1);
    let zeros = Tensor::try_full([rows], a.integer() as i64, a.device);
    if a.flag() { zeros.unwrap_or_else(|_| a.index()) } else { a.index() }
}

fn conv_layer<const N: usize>(a: &mut Arguments) -> ConvLayerOptions<N> {
    let modes = [PaddingMode::Zeros, PaddingMode::Reflect, PaddingMode::Replicate, PaddingMode::Circular];
    let conv = ConvOptions {
        stride: a.positive(),
        padding: a.spatial().into(),
        dilation: a.positive(),
        groups: a.positive::<1>()[0],
    };
    ConvLayerOptions { conv, bias: a.flag(), padding_mode: *a.random.pick(&modes) }
}

/// What a layer makes of a tensor; the layer itself may be refused.
fn through(layer: Result<impl Forward>, a: &mut Arguments, rank: usize) -> Result<Tensor> {
    let layer = layer?;
    layer.try_forward(&a.ranked(rank))
}

pub const CALLS: &[Call] = calls! {
    "cross_entropy": a => { let x = a.float(); x.try_cross_entropy(&classes(a, &x)) };
    "CrossEntropyLoss": a => {
        let (x, weight, ignore_index) = (a.float(), a.maybe(|a| a.float()), a.integer() as i64);
        let (reduction, label_smoothing) = (reduction(a), a.number());
        let loss = CrossEntropyLoss { weight, ignore_index, reduction, label_smoothing };
        loss.try_forward(&x, &classes(a, &x))
    };
    "nll_loss": a => { let x = a.float(); x.try_nll_loss(&classes(a, &x)) };
    "NllLoss": a => {
        let (x, weight, ignore_index) = (a.float(), a.maybe(|a| a.float()), a.integer() as i64);
        NllLoss { weight, ignore_index, reduction: reduction(a) }.try_forward(&x, &classes(a, &x))
    };
    "binary_cross_entropy": a => { let x = a.float(); x.try_binary_cross_entropy(&a.like(&x)) };
    "BceLoss": a => {
        let (x, weight) = (a.float(), a.maybe(|a| a.float()));
        BceLoss { weight, reduction: reduction(a) }.try_forward(&x, &a.like(&x))
    };
    "binary_cross_entropy_with_logits": a => { let x = a.float(); x.try_binary_cross_entropy_with_logits(&a.like(&x)) };
    "BceWithLogitsLoss": a => {
        let (x, weight, pos_weight) = (a.float(), a.maybe(|a| a.float()), a.maybe(|a| a.float()));
        BceWithLogitsLoss { weight, pos_weight, reduction: reduction(a) }.try_forward(&x, &a.like(&x))
    };
    "mse_loss": a => { let x = a.float(); x.try_mse_loss(&a.like(&x)) };
    "l1_loss": a => { let x = a.float(); x.try_l1_loss(&a.like(&x)) };
    "smooth_l1_loss": a => { let x = a.float(); x.try_smooth_l1_loss(&a.like(&x)) };
    "SmoothL1Loss": a => {
        let x = a.float();
        SmoothL1Loss { reduction: reduction(a), beta: a.number() }.try_forward(&x, &a.like(&x))
    };
    "huber_loss": a => { let x = a.float(); x.try_huber_loss(&a.like(&x)) };
    "HuberLoss": a => {
        let x = a.float();
        HuberLoss { reduction: reduction(a), delta: a.number() }.try_forward(&x, &a.like(&x))
    };
    "kl_div": a => { let x = a.float(); x.try_kl_div(&a.like(&x)) };
    "PoissonNllLoss": a => {
        let x = a.float();
        let loss = PoissonNllLoss { log_input: a.flag(), full: a.flag(), eps: a.number(), reduction: reduction(a) };
        loss.try_forward(&x, &a.like(&x))
    };
    "GaussianNllLoss": a => {
        let x = a.float();
        let loss = GaussianNllLoss { full: a.flag(), eps: a.number(), reduction: reduction(a) };
        loss.try_forward(&x, &a.like(&x), &a.like(&x))
    };
    "HingeEmbeddingLoss": a => {
        let x = a.float();
        HingeEmbeddingLoss { margin: a.number(), reduction: reduction(a) }.try_forward(&x, &a.like(&x))
    };
    "MarginRankingLoss": a => {
        let x = a.float();
        let loss = MarginRankingLoss { margin: a.number(), reduction: reduction(a) };
        loss.try_forward(&x, &a.like(&x), &a.like(&x))
    };
    "TripletMarginLoss": a => {
        let x = a.float();
        let (margin, p, eps) = (a.number(), a.number(), a.number());
        let loss = TripletMarginLoss { margin, p, eps, swap: a.flag(), reduction: reduction(a) };
        loss.try_forward(&x, &a.like(&x), &a.like(&x))
    };
    "CosineEmbeddingLoss": a => {
        let x = a.ranked(2);
        let loss = CosineEmbeddingLoss { margin: a.number(), reduction: reduction(a) };
        loss.try_forward(&x, &a.like(&x), &classes(a, &x))
    };
    "MultiMarginLoss": a => {
        let (x, weight) = (a.ranked(2), a.maybe(|a| a.float()));
        let loss = MultiMarginLoss { p: a.size() as u32, margin: a.number(), weight, reduction: reduction(a) };
        loss.try_forward(&x, &classes(a, &x))
    };
    "MultiLabelMarginLoss": a => MultiLabelMarginLoss { reduction: reduction(a) }.try_forward(&a.ranked(2), &a.index());
    "SoftMarginLoss": a => {
        let x = a.float();
        SoftMarginLoss { reduction: reduction(a) }.try_forward(&x, &a.like(&x))
    };
    "MultiLabelSoftMarginLoss": a => {
        let (x, weight) = (a.ranked(2), a.maybe(|a| a.float()));
        MultiLabelSoftMarginLoss { weight, reduction: reduction(a) }.try_forward(&x, &a.like(&x))
    };
    "CtcLoss": a => {
        let loss = CtcLoss { blank: a.size(), reduction: reduction(a), zero_infinity: a.flag() };
        loss.try_forward(&a.ranked(3), &a.index(), &a.size_list(), &a.size_list())
    };
    "CtcLoss of lengths that fit": a => {
        let x = a.ranked(3);
        let size = |dim: usize| x.shape().get(dim).copied().unwrap_or(1);
        let (steps, batch) = (size(0), size(1));
        let lengths = vec![a.size(); batch];
        CtcLoss::default().try_forward(&x, &a.index(), &vec![steps; batch], &lengths)
    };

    "Linear": a => {
        let layer = LinearOptions { bias: a.flag() };
        through(Linear::try_with_options(a.width(), a.width(), layer, a.options()), a, 2)
    };
    "Bilinear": a => {
        let layer = LinearOptions { bias: a.flag() };
        let layer = Bilinear::try_with_options(a.width(), a.width(), a.width(), layer, a.options())?;
        layer.try_forward(&a.ranked(2), &a.ranked(2))
    };
    "Conv1d": a => through(Conv1d::try_with_options(a.width(), a.width(), a.width(), conv_layer(a), a.options()), a, 3);
    "Conv2d": a => through(Conv2d::try_with_options(a.width(), a.width(), a.width(), conv_layer(a), a.options()), a, 4);
    "ConvTranspose2d": a => {
        let conv = ConvTransposeOptions {
            stride: a.positive(),
            padding: a.spatial(),
            output_padding: a.spatial(),
            dilation: a.positive(),
            groups: a.positive::<1>()[0],
        };
        let layer = ConvTransposeLayerOptions { conv, bias: a.flag() };
        through(ConvTranspose2d::try_with_options(a.width(), a.width(), a.width(), layer, a.options()), a, 4)
    };
    "Embedding": a => {
        let layer = EmbeddingOptions { padding_idx: a.maybe(|a| a.size()), ..Default::default() };
        let layer = Embedding::try_with_options(a.width(), a.width(), layer, a.options())?;
        layer.try_forward(&a.index())
    };
    "BatchNorm1d": a => through(BatchNorm1d::try_with_options(a.width(), Default::default(), a.options()), a, 3);
    "InstanceNorm1d": a => through(InstanceNorm1d::try_with_options(a.width(), Default::default(), a.options()), a, 3);
    "LayerNorm": a => through(LayerNorm::try_with_options(a.size_list(), Default::default(), a.options()), a, 2);
    "RmsNorm": a => through(RmsNorm::try_with_options(a.size_list(), Default::default(), a.options()), a, 2);
    "GroupNorm": a => through(GroupNorm::try_with_options(a.size(), a.width(), Default::default(), a.options()), a, 3);
    "PRelu": a => {
        let layer = PReluOptions { num_parameters: a.width(), init: a.number() };
        through(PRelu::try_with_options(layer, a.options()), a, 3)
    };
    "Lstm": a => {
        let (num_layers, bidirectional, dropout) = (a.layers(), a.flag(), a.number());
        let layer = LstmOptions { num_layers, bidirectional, dropout, ..Default::default() };
        let layer = Lstm::try_with_options(a.width(), a.width(), layer, a.options())?;
        layer.try_forward(&a.ranked(3), None).map(|(y, _)| y)
    };
    "Gru": a => {
        let layer = GruOptions { num_layers: a.layers(), bidirectional: a.flag(), ..Default::default() };
        let layer = Gru::try_with_options(a.width(), a.width(), layer, a.options())?;
        layer.try_forward_padded(&a.ranked(3), &a.index(), None).map(|(y, _)| y)
    };
    "RnnCell": a => {
        let layer = RnnCell::try_with_options(a.width(), a.width(), Default::default(), a.options())?;
        layer.try_forward(&a.ranked(2), a.maybe(|a| a.float()).as_ref())
    };
    "MultiheadAttention": a => {
        let (kdim, vdim) = (a.maybe(|a| a.width()), a.maybe(|a| a.width()));
        let layer = MultiheadAttentionOptions { kdim, vdim, ..Default::default() };
        let layer = MultiheadAttention::try_with_options(a.width(), a.size(), layer, a.options())?;
        let masks = AttentionMasks { attn_mask: a.maybe(|a| a.mask()), key_padding_mask: None, causal: a.flag() };
        let x = a.ranked(3);
        layer.try_forward(&x, &a.like(&x), &a.like(&x), &masks)
    };
    "Transformer": a => {
        let (num_encoder_layers, num_decoder_layers) = (a.layers(), a.layers());
        let options = TransformerOptions { num_encoder_layers, num_decoder_layers, ..Default::default() };
        Transformer::try_with_options(a.size(), a.size(), options, a.options()).map(|_| ())
    };
    "Rnn": a => {
        let layer = RnnOptions { num_layers: a.layers(), batch_first: a.flag(), ..Default::default() };
        let layer = Rnn::try_with_options(4, a.width(), layer, a.device)?;
        layer.try_forward(&a.ranked(3), a.maybe(|a| a.float()).as_ref())
    };
    "Lstm of packed sequences": a => {
        let packed = pack_padded_sequence(&a.ranked(3), &a.size_list(), SequenceLayout::BatchFirst)?;
        let lstm = Lstm::try_with_options(4, 1 + a.random.below(3), Default::default(), a.device)?;
        lstm.try_forward_packed(&packed, None).map(|(y, _)| y.data)
    };
    "GruCell": a => {
        let layer = GruCell::try_with_options(a.width(), a.width(), Default::default(), a.options())?;
        layer.try_forward(&a.ranked(2), a.maybe(|a| a.float()).as_ref())
    };
    "LstmCell": a => {
        let layer = LstmCell::try_with_options(a.width(), a.width(), Default::default(), a.options())?;
        layer.try_forward(&a.ranked(2), None)
    };
    "TransformerEncoderLayer": a => {
        let (dim_feedforward, dropout) = (a.width(), a.number());
        let layer = TransformerLayerOptions { dim_feedforward, dropout, ..Default::default() };
        let layer = TransformerEncoderLayer::try_with_options(4, a.size(), layer, a.device)?;
        layer.try_forward(&a.ranked(3), &Default::default())
    };
    "EmbeddingBag": a => {
        let layer = EmbeddingBag::try_with_options(a.width(), a.width(), Default::default(), a.options())?;
        let weights = a.maybe(|a| a.float());
        layer.try_forward_with_offsets(&a.index(), &a.size_list(), weights.as_ref())
    };
    "MaxPool2d": a => {
        let layer = MaxPool2d::new(a.positive::<2>());
        layer.try_forward_with_indices(&a.ranked(4))
    };
    "KlDivLoss": a => {
        let x = a.float();
        KlDivLoss { log_target: a.flag(), ..Default::default() }.try_forward(&x, &a.like(&x))
    };
    "sinusoidal_positions": a => try_sinusoidal_positions(a.size(), a.size(), a.options());
    "Flatten": a => { let layer = Flatten { start_dim: a.dim(), end_dim: a.dim() }; through(Ok(layer), a, 3) };
    "Unflatten": a => { let layer = Unflatten::new(a.dim(), a.signed_sizes()); through(Ok(layer), a, 3) };
    "ReflectionPad2d": a => {
        let sides = [(); 4].map(|()| a.integer());
        through(Ok(ReflectionPad2d::new(sides)), a, 4)
    };
    "ConstantPad1d": a => {
        let sides = [(); 2].map(|()| a.integer());
        through(Ok(ConstantPad1d::new(sides, a.number())), a, 3)
    };
    "AdaptiveMaxPool3d": a => { let sizes = a.spatial::<3>(); through(Ok(AdaptiveMaxPool3d::new(sizes)), a, 5) };

    "Mlp": a => {
        let sizes = [a.width(), a.width(), a.width()];
        through(Mlp::try_with_options(&sizes, Default::default(), a.options()), a, 2)
    };
    "Cnn": a => {
        let (size, channels) = (a.spatial(), [a.width(), a.width()]);
        let model = CnnOptions { size, channels, hidden: a.width(), ..Default::default() };
        through(Cnn::try_with_options(a.width(), model, a.options()), a, 4)
    };
    "ResNet": a => {
        let model = ResNetOptions { inputs: a.width(), width: a.width(), ..Default::default() };
        ResNet::try_with_options(ResNetDepth::Resnet18, a.width(), model, a.options()).map(|_| ())
    };
    "Gpt of a few tokens": a => {
        let config = GptConfig { vocabulary: 9, context: 8, layers: 1, heads: 2, width: 4, ..Default::default() };
        let gpt = Gpt::try_new(config, a.device)?;
        let options = SampleOptions { temperature: a.number(), top_k: a.maybe(|a| a.size()), ..Default::default() };
        if a.flag() {
            return gpt.try_generate(&a.index(), a.size(), &options).map(|text| vec![text]);
        }
        let mut cache = gpt.try_cache(a.size())?;
        gpt.try_next_token(&a.index(), &mut cache, &options)
    };
    "Gpt": a => {
        let (vocabulary, context, layers) = (a.width(), a.width(), a.layers());
        let config = GptConfig { vocabulary, context, layers, heads: a.size(), width: a.width(), ..Default::default() };
        Gpt::try_new(config, a.options())?.try_forward(&a.index())
    };
};
