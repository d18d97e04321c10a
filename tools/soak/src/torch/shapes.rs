//! Reductions, views, indexing, products, convolutions and pooling by name.

use super::call::{Call, Op, one, two};
use flambeau::nn::functional::{InterpolateMode, InterpolateOptions};
use flambeau::{
    AvgPoolOptions, ConvOptions, ConvTransposeOptions, MaxPoolOptions, PadMode, Padding, Result, Tensor,
};

/// A reduction that keeps its dimensions or not.
macro_rules! reduction {
    ($c:ident, $plain:ident, $keepdim:ident $(, $given:expr)?) => {
        one(if $c.flag("keepdim") { $c.x().$keepdim($c.dims() $(, $given)?) } else { $c.x().$plain($c.dims() $(, $given)?) })
    };
}

pub const TABLE: &[(&str, Op)] = &[
    ("sum", |c| reduction!(c, try_sum, try_sum_keepdim)),
    ("mean", |c| reduction!(c, try_mean, try_mean_keepdim)),
    ("amax", |c| reduction!(c, try_amax, try_amax_keepdim)),
    ("amin", |c| reduction!(c, try_amin, try_amin_keepdim)),
    ("logsumexp", |c| reduction!(c, try_logsumexp, try_logsumexp_keepdim)),
    ("var", |c| reduction!(c, try_var, try_var_keepdim, c.number("correction"))),
    ("std", |c| reduction!(c, try_std, try_std_keepdim, c.number("correction"))),
    ("norm", |c| match c.flag("keepdim") {
        true => one(c.x().try_norm_keepdim(c.number("p"), c.dims())),
        false => one(c.x().try_norm(c.number("p"), c.dims())),
    }),
    ("softmax", |c| one(c.x().try_softmax(c.dim()))),
    ("log_softmax", |c| one(c.x().try_log_softmax(c.dim()))),
    ("softmin", |c| one(c.x().try_softmin(c.dim()))),
    ("cumsum", |c| one(c.x().try_cumsum(c.dim()))),
    ("cumprod", |c| one(c.x().try_cumprod(c.dim()))),
    ("prod", |c| one(c.x().try_prod(c.dim()))),
    ("normalize", |c| one(c.x().try_normalize(c.number("p"), c.dim(), 1e-12))),
    ("flip", |c| one(c.x().try_flip(c.dim()))),
    ("argmax", |c| one(c.x().try_argmax(c.dim()))),
    ("argmin", |c| one(c.x().try_argmin(c.dim()))),
    ("sort", |c| two(c.x().try_sort(c.dim(), c.flag("descending")))),
    ("max_dim", |c| two(c.x().try_max_dim(c.dim()))),
    ("median", |c| two(c.x().try_median(c.dim()))),
    ("topk", |c| two(c.x().try_topk(c.size("k"), c.dim(), c.flag("largest"), true))),
    ("roll", |c| one(c.x().try_roll(&[c.integer("shift") as isize], &[c.dim()]))),
    ("select", |c| one(c.x().try_select(c.dim(), c.integer("index") as isize))),
    ("narrow", |c| one(c.x().try_narrow(c.dim(), c.size("start"), c.size("length")))),
    ("unsqueeze", |c| one(c.x().try_unsqueeze(c.dim()))),
    ("glu", |c| one(c.x().try_glu(c.dim()))),
    ("permute", |c| one(c.x().try_permute(&c.list("order").iter().map(|&d| d as isize).collect::<Vec<_>>()))),
    ("reshape", |c| one(c.x().try_reshape(&c.sizes("shape")[..]))),
    ("expand", |c| one(c.x().try_expand(&c.sizes("shape")[..]))),
    ("repeat", |c| one(c.x().try_repeat(&c.sizes("times")[..]))),
    ("tile", |c| one(c.x().try_tile(&c.sizes("times")[..]))),
    ("tril", |c| one(c.x().try_tril(c.integer("diagonal")))),
    ("triu", |c| one(c.x().try_triu(c.integer("diagonal")))),
    ("diagonal", |c| one(c.x().try_diagonal(c.integer("offset") as isize, -2, -1))),
    ("flatten", |c| one(c.x().try_flatten(c.integer("start") as isize, c.integer("end") as isize))),
    ("pad", |c| {
        let pads: Vec<isize> = c.list("pads").iter().map(|&pad| pad as isize).collect();
        let mode = match c.word("mode") {
            "reflect" => PadMode::Reflect,
            "replicate" => PadMode::Replicate,
            "circular" => PadMode::Circular,
            _ => PadMode::from(c.number("value")),
        };
        one(c.x().try_pad(&pads, mode))
    }),
    ("gather", |c| one(c.x().try_gather(c.dim(), c.y()))),
    ("take_along", |c| one(c.x().try_take_along_dim(c.y(), c.dim()))),
    ("scatter_add", |c| one(c.x().try_scatter_add(c.dim(), c.y(), &c.operands[2]))),
    ("index_select", |c| one(c.x().try_index_select(c.dim(), c.y()))),
    ("index_add", |c| one(c.x().try_index_add(c.dim(), c.y(), &c.operands[2]))),
    ("masked_fill", |c| one(c.x().try_masked_fill(c.y(), c.number("value")))),
    ("embedding", |c| one(c.x().try_embedding(c.y(), c.maybe_number("padding").map(|row| row as usize)))),
    ("cat", |c| one(Tensor::try_cat(&c.operands, c.dim()))),
    ("stack", |c| one(Tensor::try_stack(&c.operands, c.dim()))),
    ("split", |c| c.x().try_split(c.size("count"), c.dim())),
    ("chunk", |c| c.x().try_chunk(c.size("count"), c.dim())),
    ("unbind", |c| c.x().try_unbind(c.dim())),
    ("cosine_similarity", |c| one(c.x().try_cosine_similarity(c.y(), c.dim(), 1e-8))),
    ("pairwise_distance", |c| one(c.x().try_pairwise_distance(c.y(), 2.0, 1e-6))),
    ("matmul", |c| one(c.x().try_matmul(c.y()))),
    ("matmul_t", |c| one(c.x().try_matmul(&c.y().try_t()?))),
    ("mv", |c| one(c.x().try_mv(c.y()))),
    ("dot", |c| one(c.x().try_dot(c.y()))),
    ("outer", |c| one(c.x().try_outer(c.y()))),
    ("kron", |c| one(c.x().try_kron(c.y()))),
    ("tensordot", |c| one(c.x().try_tensordot(c.y(), 2))),
    ("addmm", |c| one(c.x().try_addmm(c.y(), &c.operands[2], c.number("beta"), c.number("alpha")))),
    ("bilinear", |c| one(c.x().try_bilinear(c.y(), &c.operands[2], None))),
    ("pixel_shuffle", |c| one(c.x().try_pixel_shuffle(c.size("factor")))),
    ("pixel_unshuffle", |c| one(c.x().try_pixel_unshuffle(c.size("factor")))),
    ("interpolate", interpolate),
    ("conv", |c| match c.size("n") {
        1 => one(c.x().try_conv1d(c.y(), c.maybe(2), &conv(c))),
        _ => one(c.x().try_conv2d(c.y(), c.maybe(2), &conv(c))),
    }),
    ("conv_transpose", |c| match c.size("n") {
        1 => one(c.x().try_conv_transpose1d(c.y(), c.maybe(2), &conv_transpose(c))),
        _ => one(c.x().try_conv_transpose2d(c.y(), c.maybe(2), &conv_transpose(c))),
    }),
    ("max_pool", |c| match c.size("n") {
        1 => one(c.x().try_max_pool1d(c.each::<1>("kernel"), &max_pool(c))),
        _ => one(c.x().try_max_pool2d(c.each::<2>("kernel"), &max_pool(c))),
    }),
    ("avg_pool", |c| match c.size("n") {
        1 => one(c.x().try_avg_pool1d(c.each::<1>("kernel"), &avg_pool(c))),
        _ => one(c.x().try_avg_pool2d(c.each::<2>("kernel"), &avg_pool(c))),
    }),
    ("adaptive_avg_pool", |c| match c.size("n") {
        1 => one(c.x().try_adaptive_avg_pool1d(c.each::<1>("size"))),
        _ => one(c.x().try_adaptive_avg_pool2d(c.each::<2>("size"))),
    }),
    ("adaptive_max_pool", |c| match c.size("n") {
        1 => one(c.x().try_adaptive_max_pool1d(c.each::<1>("size"))),
        _ => one(c.x().try_adaptive_max_pool2d(c.each::<2>("size"))),
    }),
];

fn conv<const N: usize>(c: &Call) -> ConvOptions<N> {
    ConvOptions {
        stride: c.each("stride"),
        padding: Padding::from(c.each::<N>("padding")),
        dilation: c.each("dilation"),
        groups: c.size("groups"),
    }
}

fn conv_transpose<const N: usize>(c: &Call) -> ConvTransposeOptions<N> {
    ConvTransposeOptions {
        stride: c.each("stride"),
        padding: c.each("padding"),
        output_padding: c.each("output_padding"),
        dilation: c.each("dilation"),
        groups: c.size("groups"),
    }
}

fn max_pool<const N: usize>(c: &Call) -> MaxPoolOptions<N> {
    MaxPoolOptions {
        stride: Some(c.each("stride")),
        padding: c.each("padding"),
        dilation: c.each("dilation"),
        ceil_mode: c.flag("ceil"),
    }
}

fn avg_pool<const N: usize>(c: &Call) -> AvgPoolOptions<N> {
    AvgPoolOptions {
        stride: Some(c.each("stride")),
        padding: c.each("padding"),
        ceil_mode: c.flag("ceil"),
        count_include_pad: c.flag("include_pad"),
        divisor_override: None,
    }
}

fn interpolate(c: &Call) -> Result<Vec<Tensor>> {
    let mode = match c.word("mode") {
        "nearest" => InterpolateMode::Nearest,
        "nearest-exact" => InterpolateMode::NearestExact,
        "bicubic" => InterpolateMode::Cubic,
        "area" => InterpolateMode::Area,
        _ => InterpolateMode::Linear,
    };
    let options = InterpolateOptions::size(&c.sizes("size")).with_mode(mode);
    let options = if c.flag("align_corners") { options.with_align_corners() } else { options };
    one(c.x().try_interpolate(&options))
}
