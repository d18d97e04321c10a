//! Pictures from files: decoded within a limit, brought to a size, and made into arrays.

use super::array::HostArray;
use super::images::BYTE_SCALE;
use super::origin::Origin;
use crate::dtype::DType;
use crate::error::Result;
use crate::io::ReadLimits;
use crate::io::limits::Budget;
use image::imageops::FilterType;
use image::{DynamicImage, ImageDecoder, ImageFormat, ImageReader, Limits};
use std::io::{BufRead, Cursor, Seek};

/// The memory that a picture may take unless told otherwise, whatever the file's size: a photograph has many more pixels
/// than its file has bytes.
pub(super) const MAX_PICTURE: u64 = 1 << 29;
/// What decoding a JPEG takes beside its result, in bytes a byte: a progressive one is decoded from all its coefficients.
const COEFFICIENTS: usize = 3;
/// Bytes that resizing takes for a pixel between its two passes.
const BETWEEN_PASSES: usize = 16;
/// How much longer or higher than what is asked for a picture is before scaling, in multiples: what is further out would
/// be cut away.
const MARGIN: u64 = 4;

/// What is made of pictures.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Wanted {
    /// Height and width; a picture's own if none.
    pub size: Option<(u32, u32)>,
    pub grey: bool,
    pub limits: ReadLimits,
}

/// A picture (PNG or JPEG) from the bytes of its file: F32 from 0 to 1 in shape (3, H, W). It may take 512 MiB of memory
/// unless the limits say otherwise; sizes are checked before pixels are decoded.
///
/// ```
/// use flambeau::{data::parse_picture, io::ReadLimits};
/// let mut file = std::io::Cursor::new(Vec::new());
/// image::RgbImage::new(2, 1).write_to(&mut file, image::ImageFormat::Png).unwrap();
/// let picture = parse_picture(file.get_ref(), ReadLimits::default())?;
/// assert_eq!(picture.shape().dims(), [3, 1, 2]);
/// # Ok::<(), flambeau::Error>(())
/// ```
pub fn parse_picture(bytes: &[u8], limits: ReadLimits) -> Result<HostArray> {
    let wanted = Wanted { limits, ..Wanted::default() };
    wanted.read(Cursor::new(bytes)).map_err(|message| Origin::bytes("picture").error(message))
}

impl Wanted {
    /// The picture in a stream; what is wrong is said without the file's name.
    pub fn read(self, stream: impl BufRead + Seek) -> std::result::Result<HostArray, String> {
        let budget = Budget::new(ReadLimits::memory(self.limits.or(MAX_PICTURE)), 0);
        let mut picture = self.decode(stream, &budget)?;
        if let Some((height, width)) = self.size {
            if height == 0 || width == 0 {
                return Err(format!("a picture cannot be scaled to {height} × {width} pixels"));
            }
            picture = cover(picture, height, width, &budget)?;
        }
        let (height, width) = (picture.height() as usize, picture.width() as usize);
        let channels = if self.grey { 1 } else { 3 };
        let count = height * width * channels;
        budget.take(count)?;
        let mut pixels: Vec<u8> = budget.buffer(count * size_of::<f32>())?;
        let bytes = match self.grey {
            true => picture.into_luma8().into_raw(),
            false => picture.into_rgb8().into_raw(),
        };
        for channel in 0..channels {
            let values = bytes.iter().skip(channel).step_by(channels);
            values.for_each(|&byte| pixels.extend((f32::from(byte) * BYTE_SCALE).to_le_bytes()));
        }
        HostArray::from_bytes(pixels, [channels, height, width], DType::F32)
            .map_err(|error| error.to_string())
    }

    fn decode(
        self,
        stream: impl BufRead + Seek,
        budget: &Budget,
    ) -> std::result::Result<DynamicImage, String> {
        let said = |error: &dyn std::fmt::Display| error.to_string();
        let reader = ImageReader::new(stream).with_guessed_format().map_err(|error| said(&error))?;
        let temporary = if reader.format() == Some(ImageFormat::Jpeg) { COEFFICIENTS } else { 1 };
        let mut decoder = reader.into_decoder().map_err(|error| said(&error))?;
        let (width, height) = decoder.dimensions();
        let size = usize::try_from(decoder.total_bytes()).unwrap_or(usize::MAX);
        let whole = size.saturating_mul(1 + temporary);
        budget.take(whole).map_err(|message| format!("{width} × {height} pixels: {message}"))?;
        let mut limits = Limits::default();
        limits.max_alloc = Some(whole as u64);
        decoder.set_limits(limits).map_err(|error| said(&error))?;
        let picture = DynamicImage::from_decoder(decoder).map_err(|error| said(&error))?;
        budget.give_back(size * temporary);
        Ok(picture)
    }
}

/// Scaled until it covers a size, then cut around its middle.
fn cover(
    picture: DynamicImage,
    height: u32,
    width: u32,
    budget: &Budget,
) -> std::result::Result<DynamicImage, String> {
    let picture = without_margins(picture, height, width);
    let (own_width, own_height) = (picture.width() as usize, picture.height() as usize);
    let (height, width) = (height.max(1) as usize, width.max(1) as usize);
    let scaled_height = height.max((own_height * width).div_ceil(own_width.max(1)));
    let scaled_width = width.max((own_width * height).div_ceil(own_height.max(1)));
    let between = own_width.saturating_mul(scaled_height).saturating_mul(BETWEEN_PASSES);
    let result = scaled_width.saturating_mul(scaled_height).saturating_mul(BETWEEN_PASSES);
    budget.take(between.saturating_add(result))?;
    Ok(picture.resize_to_fill(width as u32, height as u32, FilterType::Triangle))
}

/// A picture that is much longer or higher than what is asked for, without most of what would be cut away after scaling:
/// scaling 65000 × 1 pixels until they are 64 high makes four million columns of them.
fn without_margins(picture: DynamicImage, height: u32, width: u32) -> DynamicImage {
    let most = |own: u32, other: u32, asked: u32, other_asked: u32| {
        let most =
            MARGIN * (u64::from(other) * u64::from(asked)).div_ceil(u64::from(other_asked.max(1))).max(1);
        // As many pixels go on both sides.
        u32::try_from(most + (u64::from(own).wrapping_sub(most) & 1)).map_or(own, |most| most.min(own))
    };
    let (own_width, own_height) = (picture.width(), picture.height());
    let (kept_width, kept_height) =
        (most(own_width, own_height, width, height), most(own_height, own_width, height, width));
    if (kept_width, kept_height) == (own_width, own_height) {
        return picture;
    }
    picture.crop_imm((own_width - kept_width) / 2, (own_height - kept_height) / 2, kept_width, kept_height)
}
