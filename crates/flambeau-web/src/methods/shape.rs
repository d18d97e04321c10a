//! Views, parts and indexing.

use crate::handles::argument;
use flambeau::calls::{methods, scalar};
use flambeau::{DType, Dims, Operand, PadMode, SplitSizes, Tensor};

pub(super) struct Shape;

methods! { Shape:
    to_dtype(x: Tensor, dtype: DType) -> Tensor { x.try_to_dtype(dtype) }
    detach(x: Tensor) -> Tensor { Ok(x.detach()) }
    contiguous(x: Tensor) -> Tensor { Ok(x.contiguous()) }
    reshape(x: Tensor, shape: Vec<isize>) -> Tensor { x.try_reshape(shape) }
    view(x: Tensor, shape: Vec<isize>) -> Tensor { x.try_view(shape) }
    flatten(x: Tensor, start: isize = "0", end: isize = "-1") -> Tensor { x.try_flatten(start, end) }
    unflatten(x: Tensor, dim: isize, sizes: Vec<isize>) -> Tensor { x.try_unflatten(dim, sizes) }
    permute(x: Tensor, order: Vec<isize>) -> Tensor { x.try_permute(&order) }
    transpose(x: Tensor, first: isize, second: isize) -> Tensor { x.try_transpose(first, second) }
    swapaxes(x: Tensor, first: isize, second: isize) -> Tensor { x.try_swapaxes(first, second) }
    t(x: Tensor) -> Tensor { x.try_t() }
    movedim(x: Tensor, from: Dims, to: Dims) -> Tensor { x.try_movedim(from, to) }
    expand(x: Tensor, shape: Vec<isize>) -> Tensor { x.try_expand(shape) }
    broadcast_to(x: Tensor, shape: Vec<isize>) -> Tensor { x.try_broadcast_to(shape) }
    unsqueeze(x: Tensor, dim: isize) -> Tensor { x.try_unsqueeze(dim) }
    squeeze(x: Tensor, dims: Dims = "?") -> Tensor { x.try_squeeze(dims) }
    repeat(x: Tensor, times: Vec<usize>) -> Tensor { x.try_repeat(times) }
    tile(x: Tensor, times: Vec<usize>) -> Tensor { x.try_tile(times) }
    repeat_interleave(x: Tensor, times: usize, dim: isize) -> Tensor { x.try_repeat_interleave(times, dim) }
    narrow(x: Tensor, dim: isize, start: usize, length: usize) -> Tensor { x.try_narrow(dim, start, length) }
    slice(x: Tensor, dim: isize, start: isize = "0", end: Option<isize> = "?", step: usize = "1") -> Tensor {
        match end {
            Some(end) => x.try_slice(dim, start..end, step),
            None => x.try_slice(dim, start.., step),
        }
    }
    select(x: Tensor, dim: isize, index: isize) -> Tensor { x.try_select(dim, index) }
    flip(x: Tensor, dims: Dims) -> Tensor { x.try_flip(dims) }
    roll(x: Tensor, shifts: Vec<isize>, dims: Vec<isize>) -> Tensor { x.try_roll(&shifts, &dims) }
    unfold(x: Tensor, dim: isize, size: usize, step: usize) -> Tensor { x.try_unfold(dim, size, step) }
    split(x: Tensor, sizes: Vec<usize>, dim: isize = "0") -> Vec<Tensor> {
        match sizes[..] {
            [each] => x.try_split(SplitSizes::Each(each), dim),
            _ => x.try_split(sizes, dim),
        }
    }
    chunk(x: Tensor, count: usize, dim: isize = "0") -> Vec<Tensor> { x.try_chunk(count, dim) }
    unbind(x: Tensor, dim: isize = "0") -> Vec<Tensor> { x.try_unbind(dim) }
    diagonal(x: Tensor, offset: isize = "0", rows: isize = "0", columns: isize = "1") -> Tensor {
        x.try_diagonal(offset, rows, columns)
    }
    diag_embed(x: Tensor, offset: isize = "0") -> Tensor { x.try_diag_embed(offset) }
    diag(x: Tensor, offset: isize = "0") -> Tensor { x.try_diag(offset) }
    tril(x: Tensor, diagonal: i64 = "0") -> Tensor { x.try_tril(diagonal) }
    triu(x: Tensor, diagonal: i64 = "0") -> Tensor { x.try_triu(diagonal) }
    one_hot(x: Tensor, classes: usize) -> Tensor { x.try_one_hot(classes) }
    pad(x: Tensor, pads: Vec<isize>, mode: String = "\"constant\"", value: f64 = "0") -> Tensor {
        match mode.as_str() {
            "constant" => x.try_pad(&pads, PadMode::Constant(scalar(value))),
            "reflect" => x.try_pad(&pads, PadMode::Reflect),
            "replicate" => x.try_pad(&pads, PadMode::Replicate),
            "circular" => x.try_pad(&pads, PadMode::Circular),
            other => Err(argument("pad", format!("{other} is none of constant, reflect, replicate, circular"))),
        }
    }
    gather(x: Tensor, dim: isize, index: Tensor) -> Tensor { x.try_gather(dim, &index) }
    take_along_dim(x: Tensor, index: Tensor, dim: isize) -> Tensor { x.try_take_along_dim(&index, dim) }
    index_select(x: Tensor, dim: isize, index: Tensor) -> Tensor { x.try_index_select(dim, &index) }
    masked_fill(x: Tensor, mask: Tensor, value: Operand) -> Tensor { x.try_masked_fill(&mask, value) }
}
