//! Any picture as one of the kind a model has learned from.

use crate::output::bad_file;
use crate::task::Picture;
use flambeau::Result;
use image::imageops::{FilterType, resize};
use image::{DynamicImage, GrayImage, ImageDecoder, Luma, RgbImage};
use std::path::Path;

/// Sides of MNIST's pictures, and of the box that holds the digit.
const SIDE: u32 = 28;
const BOX: u32 = 20;
/// Side of CIFAR's pictures.
const COLOUR_SIDE: u32 = 32;
/// The most memory that a picture's pixels may take, as they are decoded.
const MAX_MEMORY: u64 = 512 << 20;
/// Larger pictures are made smaller before anything else: models see 28 or 32 pixels of a side.
const LARGEST: u32 = 1024;
/// Values of grey, of 255, by which the pixels of a blank picture may differ: paper has some grain, JPEG adds some.
const GRAIN: u8 = 8;

/// Pixels from 0 to 1: channels, rows, columns.
pub struct Pixels {
    pub pixels: Vec<f32>,
    pub channels: usize,
    pub side: usize,
    /// Is there nothing on the picture?
    pub blank: bool,
}

/// Reads a picture as one of this kind.
pub fn read(path: &Path, kind: Picture) -> Result<Pixels> {
    let wrong =
        |error: &dyn std::fmt::Display| bad_file(path, format!("{error}; a PNG or JPEG picture is expected"));
    let reader = image::ImageReader::open(path).map_err(|error| wrong(&error))?;
    let mut decoder = reader
        .with_guessed_format()
        .map_err(|error| wrong(&error))?
        .into_decoder()
        .map_err(|error| wrong(&error))?;
    let ((width, height), bytes) = (decoder.dimensions(), decoder.total_bytes());
    if bytes > MAX_MEMORY {
        let message = format!(
            "{width} × {height} pixels take {bytes} bytes, more than the limit of {MAX_MEMORY}; make the picture smaller"
        );
        return Err(bad_file(path, message));
    }
    let mut limits = image::Limits::default();
    limits.max_alloc = Some(MAX_MEMORY);
    decoder.set_limits(limits).map_err(|error| wrong(&error))?;
    let mut picture = DynamicImage::from_decoder(decoder).map_err(|error| wrong(&error))?;
    if width.max(height) > LARGEST {
        picture = picture.thumbnail(LARGEST, LARGEST);
    }
    let picture = on_white(&picture.into_rgba8());
    let blank = is_blank(&picture);
    let pixels = match kind {
        Picture::Digit => grey_pixels(&digit(&light_on_dark(&picture))),
        Picture::Grey => grey_pixels(&resize(&light_on_dark(&picture), SIDE, SIDE, FilterType::Triangle)),
        Picture::Colour => {
            let small = resize(&picture, COLOUR_SIDE, COLOUR_SIDE, FilterType::Triangle);
            let channel =
                |channel: usize| small.pixels().map(move |pixel| f32::from(pixel.0[channel]) / 255.0);
            let (pixels, side) = ((0..3).flat_map(channel).collect(), COLOUR_SIDE as usize);
            Pixels { pixels, channels: 3, side, blank: false }
        }
    };
    Ok(Pixels { blank, ..pixels })
}

/// Are all pixels alike?
fn is_blank(picture: &RgbImage) -> bool {
    (0..3).all(|channel| {
        let values = || picture.pixels().map(move |pixel| pixel.0[channel]);
        values().max().unwrap_or(0) - values().min().unwrap_or(0) <= GRAIN
    })
}

fn grey_pixels(picture: &GrayImage) -> Pixels {
    let pixels = picture.pixels().map(|pixel| f32::from(pixel.0[0]) / 255.0).collect();
    Pixels { pixels, channels: 1, side: SIDE as usize, blank: false }
}

/// What is transparent shows white paper.
fn on_white(picture: &image::RgbaImage) -> RgbImage {
    RgbImage::from_fn(picture.width(), picture.height(), |x, y| {
        let [r, g, b, alpha] = picture.get_pixel(x, y).0.map(u32::from);
        image::Rgb([r, g, b].map(|value| ((value * alpha + 255 * (255 - alpha)) / 255) as u8))
    })
}

/// In grey, inverted if the background, as the pixels on the border show it, is light.
fn light_on_dark(picture: &RgbImage) -> GrayImage {
    let mut grey = image::imageops::grayscale(picture);
    let (width, height) = grey.dimensions();
    let is_border = |x: u32, y: u32| x == 0 || y == 0 || x + 1 == width || y + 1 == height;
    let mut border: Vec<u8> = grey
        .enumerate_pixels()
        .filter(|(x, y, _)| is_border(*x, *y))
        .map(|(_, _, pixel)| pixel.0[0])
        .collect();
    border.sort_unstable();
    if border.get(border.len() / 2).is_some_and(|&median| median > 127) {
        image::imageops::invert(&mut grey);
    }
    grey
}

/// As MNIST's digits were made: the digit fills a box of 20 × 20 pixels, its centre of mass is the picture's centre.
fn digit(picture: &GrayImage) -> GrayImage {
    let brightest = picture.pixels().map(|pixel| pixel.0[0]).max().unwrap_or(0);
    // The paper's grain is not part of the digit, in pictures that have any.
    let (width, height) = picture.dimensions();
    let threshold = if (width, height) == (SIDE, SIDE) { 0 } else { brightest / 4 };
    let ink: Vec<(u32, u32)> = picture
        .enumerate_pixels()
        .filter(|(_, _, pixel)| pixel.0[0] > threshold)
        .map(|(x, y, _)| (x, y))
        .collect();
    let mut result = GrayImage::new(SIDE, SIDE);
    let range = |values: &dyn Fn(&(u32, u32)) -> u32| {
        let (low, high) = (ink.iter().map(values).min()?, ink.iter().map(values).max()?);
        Some((low, high - low + 1))
    };
    let (Some((left, wide)), Some((top, high))) = (range(&|ink| ink.0), range(&|ink| ink.1)) else {
        return result;
    };
    let cut = image::imageops::crop_imm(picture, left, top, wide, high).to_image();
    let longest = wide.max(high);
    let scaled = |length: u32| ((length * BOX + longest / 2) / longest).max(1);
    let mut small = match longest == BOX {
        true => cut,
        false => resize(&cut, scaled(wide), scaled(high), FilterType::Triangle),
    };
    if threshold > 0 {
        // Paper to black, the brightest ink to white.
        let stretch = |value: u8| {
            let above = value.saturating_sub(threshold) as f32 / f32::from(brightest - threshold);
            (above * 255.0).round().min(255.0) as u8
        };
        small.pixels_mut().for_each(|pixel| *pixel = Luma([stretch(pixel.0[0])]));
    }
    let mass: f64 = small.pixels().map(|pixel| f64::from(pixel.0[0])).sum::<f64>().max(1.0);
    let centre = |along: &dyn Fn(u32, u32) -> u32| {
        let moment: f64 =
            small.enumerate_pixels().map(|(x, y, p)| f64::from(p.0[0]) * f64::from(along(x, y))).sum();
        moment / mass
    };
    // MNIST's own convention, in numbers of pixels: it brings nearly all of its digits to where they are.
    let offset = |centre: f64| (f64::from(SIDE) / 2.0 - centre).round() as i64;
    let (x, y) = (offset(centre(&|x, _| x)), offset(centre(&|_, y| y)));
    image::imageops::overlay(&mut result, &small, x, y);
    result
}
