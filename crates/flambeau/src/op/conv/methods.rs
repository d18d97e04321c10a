//! The methods of convolutions in other languages.

use super::Conv;
use crate::calls::{Around, methods};
use crate::error::Result;
use crate::op::Tensor;
use crate::tensor::{ConvOptions, ConvTransposeOptions};

fn options<const N: usize>(
    stride: &Around,
    padding: &Around,
    dilation: &Around,
    groups: usize,
) -> Result<ConvOptions<N>> {
    Ok(ConvOptions::default()
        .with_stride(stride.sizes::<N>()?)
        .with_padding(padding.padding::<N>()?)
        .with_dilation(dilation.sizes::<N>()?)
        .with_groups(groups))
}

fn transposed_options<const N: usize>(
    stride: &Around,
    padding: &Around,
    output_padding: &Around,
    groups: usize,
    dilation: &Around,
) -> Result<ConvTransposeOptions<N>> {
    Ok(ConvTransposeOptions::default()
        .with_stride(stride.sizes::<N>()?)
        .with_padding(padding.sizes::<N>()?)
        .with_output_padding(output_padding.sizes::<N>()?)
        .with_dilation(dilation.sizes::<N>()?)
        .with_groups(groups))
}

methods! { Conv:
    conv1d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", dilation: Around = "1", groups: usize = "1") -> Tensor {
        x.try_conv1d(&weight, bias.as_ref(), &options(&stride, &padding, &dilation, groups)?)
    }
    conv2d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", dilation: Around = "1", groups: usize = "1") -> Tensor {
        x.try_conv2d(&weight, bias.as_ref(), &options(&stride, &padding, &dilation, groups)?)
    }
    conv3d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", dilation: Around = "1", groups: usize = "1") -> Tensor {
        x.try_conv3d(&weight, bias.as_ref(), &options(&stride, &padding, &dilation, groups)?)
    }
    conv_transpose1d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", output_padding: Around = "0", groups: usize = "1", dilation: Around = "1") -> Tensor {
        x.try_conv_transpose1d(&weight, bias.as_ref(), &transposed_options(&stride, &padding, &output_padding, groups, &dilation)?)
    }
    conv_transpose2d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", output_padding: Around = "0", groups: usize = "1", dilation: Around = "1") -> Tensor {
        x.try_conv_transpose2d(&weight, bias.as_ref(), &transposed_options(&stride, &padding, &output_padding, groups, &dilation)?)
    }
    conv_transpose3d(x: Tensor, weight: Tensor, bias: Option<Tensor> = "?", stride: Around = "1", padding: Around = "0", output_padding: Around = "0", groups: usize = "1", dilation: Around = "1") -> Tensor {
        x.try_conv_transpose3d(&weight, bias.as_ref(), &transposed_options(&stride, &padding, &output_padding, groups, &dilation)?)
    }
}
