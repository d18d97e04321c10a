//! Making tensors, viewing, cutting, joining and indexing them.

use super::{Call, calls};
use flambeau::{Ellipsis, Index, IndexSpec, NewAxis, PadMode, SplitSizes, Tensor, block_on};

pub const CALLS: &[Call] = calls! {
    "from_slice": a => Tensor::try_from_slice(&[1f32; 4], a.shape(), a.device);
    "from_vec": a => Tensor::try_from_vec(vec![1i32; a.random.below(9)], a.shape(), a.device);
    "full": a => Tensor::try_full(a.shape(), a.scalar(), a.options());
    "arange": a => Tensor::try_arange(a.scalar(), a.scalar(), a.scalar(), a.options());
    "linspace": a => Tensor::try_linspace(a.number(), a.number(), a.size(), a.options());
    "eye": a => Tensor::try_eye(a.size(), a.options());
    "eye_rectangular": a => Tensor::try_eye_rectangular(a.size(), a.size(), a.options());
    "rand": a => Tensor::try_rand(a.shape(), &a.generator(), a.options());
    "randn": a => Tensor::try_randn(a.shape(), &a.generator(), a.options());
    "rand_like": a => a.x().try_rand_like(&a.generator());
    "randn_like": a => a.x().try_randn_like(&a.generator());
    "randint": a => Tensor::try_randint(a.integer() as i64, a.integer() as i64, a.shape(), &a.generator(), a.options());
    "randperm": a => Tensor::try_randperm(a.size(), &a.generator(), a.options());
    "bernoulli": a => a.x().try_bernoulli(&a.generator());
    "bernoulli_p": a => a.x().try_bernoulli_p(a.number(), &a.generator());
    "meshgrid": a => Tensor::try_meshgrid(&a.list());
    "meshgrid_xy": a => Tensor::try_meshgrid_xy(&a.list());
    "one_hot": a => a.index().try_one_hot(a.size());
    "tril": a => a.x().try_tril(a.integer() as i64);
    "triu": a => a.x().try_triu(a.integer() as i64);
    "to_dtype": a => a.x().try_to_dtype(a.dtype());

    "reshape": a => a.x().try_reshape(a.signed_sizes());
    "reshape by sizes": a => a.x().try_reshape(a.size_list());
    "view": a => a.x().try_view(a.signed_sizes());
    "flatten": a => a.x().try_flatten(a.dim(), a.dim());
    "unflatten": a => a.x().try_unflatten(a.dim(), a.signed_sizes());
    "permute": a => a.x().try_permute(&a.dim_list());
    "transpose": a => a.x().try_transpose(a.dim(), a.dim());
    "swapaxes": a => a.x().try_swapaxes(a.dim(), a.dim());
    "t": a => a.x().try_t();
    "movedim": a => a.x().try_movedim(a.dims(), a.dims());
    "expand": a => a.x().try_expand(a.signed_sizes());
    "broadcast_to": a => a.x().try_broadcast_to(a.size_list());
    "unsqueeze": a => a.x().try_unsqueeze(a.dim());
    "squeeze": a => a.x().try_squeeze(a.dims());
    "repeat": a => a.x().try_repeat(a.shape());
    "tile": a => a.x().try_tile(a.shape());
    "repeat_interleave": a => a.x().try_repeat_interleave(a.size(), a.dim());

    "narrow": a => a.x().try_narrow(a.dim(), a.size(), a.size());
    "slice": a => a.x().try_slice(a.dim(), a.integer()..a.integer(), a.size());
    "slice to": a => a.x().try_slice(a.dim(), ..=a.integer(), a.size());
    "select": a => a.x().try_select(a.dim(), a.integer());
    "flip": a => a.x().try_flip(a.dims());
    "roll": a => a.x().try_roll(&a.dim_list(), &a.dim_list());
    "unfold": a => a.x().try_unfold(a.dim(), a.size(), a.size());
    "split": a => a.x().try_split(a.size(), a.dim());
    "split listed": a => a.x().try_split(SplitSizes::Listed(a.size_list()), a.dim());
    "chunk": a => a.x().try_chunk(a.size(), a.dim());
    "unbind": a => a.x().try_unbind(a.dim());
    "diagonal": a => a.x().try_diagonal(a.integer(), a.dim(), a.dim());
    "diag_embed": a => a.x().try_diag_embed(a.integer());
    "diag": a => a.x().try_diag(a.integer());
    "trace": a => a.x().try_trace();
    "pad": a => {
        let pads = a.dim_list();
        let mode = match a.random.below(4) {
            0 => PadMode::Reflect,
            1 => PadMode::Replicate,
            2 => PadMode::Circular,
            _ => PadMode::Constant(a.scalar()),
        };
        a.x().try_pad(&[&pads[..], &pads[..]].concat(), mode)
    };
    "cat": a => Tensor::try_cat(&a.list(), a.dim());
    "cat of the endless": a => {
        let endless = a.x().try_flatten(0, -1)?.try_narrow(0, 0, 1)?.try_expand([a.width()])?;
        Tensor::try_cat(&vec![endless; a.random.below(40)], 0)
    };
    "stack": a => Tensor::try_stack(&a.list(), a.dim());
    "hstack": a => Tensor::try_hstack(&a.list());
    "vstack": a => Tensor::try_vstack(&a.list());
    "i": a => {
        let index = indexes(a);
        a.x().try_i(index)
    };
    "i of numbers": a => a.x().try_i((a.size(), a.integer()..a.integer(), a.integer()));
    "i_assign": a => {
        let (mut x, index, value) = (a.x(), indexes(a), a.operand());
        x.try_i_assign(index, value).map(|()| x)
    };

    "gather": a => a.x().try_gather(a.dim(), &a.index());
    "take_along_dim": a => a.x().try_take_along_dim(&a.index(), a.dim());
    "index_select": a => a.x().try_index_select(a.dim(), &a.index());
    "scatter": a => a.x().try_scatter(a.dim(), &a.index(), a.operand());
    "scatter_add": a => a.x().try_scatter_add(a.dim(), &a.index(), a.operand());
    "index_add": a => a.x().try_index_add(a.dim(), &a.index(), &a.x());
    "masked_fill": a => a.x().try_masked_fill(&a.mask(), a.operand());
    "masked_select": a => a.x().masked_select_blocking(&a.mask());
    "nonzero": a => a.x().nonzero_blocking();
    "unique": a => block_on(a.x().unique()).map(|unique| vec![unique.values, unique.inverse, unique.counts]);

    "add_": a => { let mut x = a.x(); x.try_add_(a.operand()).map(|()| x) };
    "sub_": a => { let mut x = a.x(); x.try_sub_(a.operand()).map(|()| x) };
    "mul_": a => { let mut x = a.x(); x.try_mul_(a.operand()).map(|()| x) };
    "div_": a => { let mut x = a.x(); x.try_div_(a.operand()).map(|()| x) };
    "fill_": a => { let mut x = a.x(); x.try_fill_(a.scalar()).map(|()| x) };
    "zero_": a => { let mut x = a.x(); x.try_zero_().map(|()| x) };
    "copy_": a => { let mut x = a.x(); x.try_copy_(&a.x()).map(|()| x) };
};

fn indexes(a: &mut super::Arguments) -> Vec<Index> {
    let index = |a: &mut super::Arguments| match a.random.below(6) {
        0 => Index::At(a.integer()),
        1 => Index::step(a.integer()..a.integer(), a.size()),
        2 => Index::step(a.integer()..=a.integer(), a.size()),
        3 => NewAxis.into(),
        4 => Ellipsis.into(),
        _ => a.index().into(),
    };
    (0..a.random.below(5)).map(|_| index(a)).collect::<Vec<_>>().into_indexes()
}
