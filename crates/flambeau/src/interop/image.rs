//! Pictures of the crate `image`: tensors (channels, height, width) of numbers from 0 to 1.

use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::tensor::Tensor;
use image::{DynamicImage, GrayImage, RgbImage};

impl Tensor {
    /// A picture as F32 from 0 to 1: (1, H, W) of a grey one, else (3, H, W). Transparency is left out, 16 bits a channel become 8.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// let picture = image::RgbImage::from_pixel(2, 1, image::Rgb([255, 0, 51]));
    /// let x = Tensor::from_image(&picture.into(), &Device::cpu())?;
    /// assert_eq!(x.shape().dims(), [3, 1, 2]);
    /// assert_eq!(x.select(2, 0).reshape(3).to_string(), "tensor([1.0000, 0.0000, 0.2000])");
    /// # Ok::<(), Error>(())
    /// ```
    #[track_caller]
    pub fn from_image(picture: &DynamicImage, device: &Device) -> Result<Tensor> {
        let (height, width) = (picture.height() as usize, picture.width() as usize);
        let (bytes, channels) = match picture.color().has_color() {
            true => (picture.to_rgb8().into_raw(), 3),
            false => (picture.to_luma8().into_raw(), 1),
        };
        let pixels = Tensor::try_from_vec(bytes, [height, width, channels], device)?;
        pixels.try_permute(&[2, 0, 1])?.try_to_dtype(DType::F32)?.try_div(255.0)
    }

    /// The bytes of pixels, line by line, and the picture's width and height.
    async fn pixels(&self, op: &'static str, channels: usize) -> Result<(Vec<u8>, u32, u32)> {
        let picture = if self.rank() == 2 { self.try_unsqueeze(0)? } else { self.clone() };
        let [found, height, width] = picture.shape().dims() else {
            return Err(Error::shape(op, format!("shape {} is not (channels, height, width)", self.shape())));
        };
        let side = |size: usize| {
            u32::try_from(size).map_err(|_| Error::shape(op, format!("shape {} is too large", self.shape())))
        };
        if *found != channels {
            return Err(Error::shape(
                op,
                format!("shape {} does not have {channels} channels", self.shape()),
            ));
        }
        let (width, height) = (side(*width)?, side(*height)?);
        // Numbers outside are the nearest that a byte has.
        let bytes = match picture.dtype() {
            DType::U8 => picture.clone(),
            dtype if dtype.is_float() => {
                picture.try_clamp(0.0, 1.0)?.try_mul(255.0)?.try_round()?.try_to_dtype(DType::U8)?
            }
            dtype => return Err(Error::dtype_not_accepted(op, dtype, "a float dtype, from 0 to 1, or u8")),
        };
        Ok((bytes.try_permute(&[1, 2, 0])?.to_vec::<u8>().await?, width, height))
    }

    /// A tensor (3, H, W) as a picture: floats from 0 to 1, or bytes (U8). What is outside becomes the nearest colour.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let picture = Tensor::ones([3, 4, 5], &Device::cpu()).to_rgb_image().await?;
    /// assert_eq!((picture.width(), picture.height(), picture.get_pixel(0, 0).0), (5, 4, [255; 3]));
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn to_rgb_image(&self) -> Result<RgbImage> {
        let (bytes, width, height) = self.pixels("to_rgb_image", 3).await?;
        RgbImage::from_raw(width, height, bytes).ok_or_else(|| Error::shape("to_rgb_image", "too few bytes"))
    }

    /// A tensor (1, H, W) or (H, W) as a grey picture: floats from 0 to 1, or bytes (U8).
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// # flambeau::block_on(async {
    /// let picture = Tensor::new([[0.0, 0.2, 7.0]], &Device::cpu()).to_grey_image().await?;
    /// assert_eq!(picture.into_raw(), [0, 51, 255]);
    /// # Ok::<(), Error>(()) }).unwrap();
    /// ```
    pub async fn to_grey_image(&self) -> Result<GrayImage> {
        let (bytes, width, height) = self.pixels("to_grey_image", 1).await?;
        GrayImage::from_raw(width, height, bytes)
            .ok_or_else(|| Error::shape("to_grey_image", "too few bytes"))
    }

    /// [`to_rgb_image`](Tensor::to_rgb_image), blocking.
    pub fn to_rgb_image_blocking(&self) -> Result<RgbImage> {
        pollster::block_on(self.to_rgb_image())
    }

    /// [`to_grey_image`](Tensor::to_grey_image), blocking.
    pub fn to_grey_image_blocking(&self) -> Result<GrayImage> {
        pollster::block_on(self.to_grey_image())
    }
}
