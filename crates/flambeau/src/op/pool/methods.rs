//! The methods of pooling in other languages.

use super::Pool;
use crate::calls::{Around, methods};
use crate::error::Result;
use crate::op::Tensor;
use crate::tensor::{AvgPoolOptions, MaxPoolOptions};

fn max_options<const N: usize>(
    stride: &Around,
    padding: &Around,
    dilation: &Around,
    ceil_mode: bool,
) -> Result<MaxPoolOptions<N>> {
    let options = MaxPoolOptions::default()
        .with_padding(padding.sizes::<N>()?)
        .with_dilation(dilation.sizes::<N>()?)
        .with_ceil_mode(ceil_mode);
    Ok(if stride.0.is_empty() { options } else { options.with_stride(stride.sizes::<N>()?) })
}

fn mean_options<const N: usize>(
    stride: &Around,
    padding: &Around,
    ceil_mode: bool,
    count_include_pad: bool,
) -> Result<AvgPoolOptions<N>> {
    let options = AvgPoolOptions::default()
        .with_padding(padding.sizes::<N>()?)
        .with_ceil_mode(ceil_mode)
        .with_count_include_pad(count_include_pad);
    Ok(if stride.0.is_empty() { options } else { options.with_stride(stride.sizes::<N>()?) })
}

methods! { Pool:
    max_pool1d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> Tensor {
        x.try_max_pool1d(kernel.sizes()?, &max_options(&stride, &padding, &dilation, ceil_mode)?)
    }
    max_pool2d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> Tensor {
        x.try_max_pool2d(kernel.sizes()?, &max_options(&stride, &padding, &dilation, ceil_mode)?)
    }
    max_pool3d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> Tensor {
        x.try_max_pool3d(kernel.sizes()?, &max_options(&stride, &padding, &dilation, ceil_mode)?)
    }
    max_pool1d_with_indices(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> (Tensor, Tensor) {
        x.try_max_pool1d_with_indices(kernel.sizes()?, &max_options(&stride, &padding, &dilation, ceil_mode)?)
    }
    max_pool2d_with_indices(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> (Tensor, Tensor) {
        x.try_max_pool2d_with_indices(kernel.sizes()?, &max_options(&stride, &padding, &dilation, ceil_mode)?)
    }
    max_pool3d_with_indices(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", dilation: Around = "1", ceil_mode: bool = "false") -> (Tensor, Tensor) {
        x.try_max_pool3d_with_indices(kernel.sizes()?, &max_options(&stride, &padding, &dilation, ceil_mode)?)
    }
    avg_pool1d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", ceil_mode: bool = "false", count_include_pad: bool = "true") -> Tensor {
        x.try_avg_pool1d(kernel.sizes()?, &mean_options(&stride, &padding, ceil_mode, count_include_pad)?)
    }
    avg_pool2d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", ceil_mode: bool = "false", count_include_pad: bool = "true") -> Tensor {
        x.try_avg_pool2d(kernel.sizes()?, &mean_options(&stride, &padding, ceil_mode, count_include_pad)?)
    }
    avg_pool3d(x: Tensor, kernel: Around, stride: Around = "[]", padding: Around = "0", ceil_mode: bool = "false", count_include_pad: bool = "true") -> Tensor {
        x.try_avg_pool3d(kernel.sizes()?, &mean_options(&stride, &padding, ceil_mode, count_include_pad)?)
    }
    adaptive_avg_pool1d(x: Tensor, output: Around) -> Tensor { x.try_adaptive_avg_pool1d(output.sizes()?) }
    adaptive_avg_pool2d(x: Tensor, output: Around) -> Tensor { x.try_adaptive_avg_pool2d(output.sizes()?) }
    adaptive_max_pool1d(x: Tensor, output: Around) -> Tensor { x.try_adaptive_max_pool1d(output.sizes()?) }
    adaptive_max_pool2d(x: Tensor, output: Around) -> Tensor { x.try_adaptive_max_pool2d(output.sizes()?) }
}
