//! Model files: converted, given to PyTorch and back, and asked about pictures.

use crate::support::*;
use flambeau::data::{Dataset, Mnist};
use flambeau::{Device, io};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::process::Command;

fn stored(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data").join(name)
}

/// Ten of MNIST's test pictures, one of each class in order, and PyTorch's logits of the stored network.
fn reference() -> (Vec<usize>, Vec<Vec<f64>>) {
    let text = std::fs::read_to_string(stored("cnn.json")).unwrap();
    let reference: Value = serde_json::from_str(&text).unwrap();
    (serde_json::from_value(reference["indices"].clone()).unwrap(), rows(&reference["logits"]))
}

fn rows(value: &Value) -> Vec<Vec<f64>> {
    serde_json::from_value(value.clone()).unwrap()
}

/// Writes test pictures as PNG files, changed by a function of the grey value.
fn write_pictures(folder: &Path, indices: &[usize], grey: impl Fn(u8) -> u8) -> Vec<String> {
    let test = Mnist::open(mnist_folder()).unwrap().test;
    let name = |&index: &usize| {
        let pixels = test.get(index).unwrap()[0].values::<f32>().unwrap();
        let bytes = pixels.iter().map(|value| grey((value * 255.0).round() as u8)).collect();
        let name = format!("{index}.png");
        image::GrayImage::from_raw(28, 28, bytes).unwrap().save(folder.join(&name)).unwrap();
        name
    };
    indices.iter().map(name).collect()
}

fn predictions(folder: &Path, model: &str, pictures: &[String]) -> Value {
    let pictures: Vec<&str> = pictures.iter().map(String::as_str).collect();
    json(folder, &[&["predict", model, "--task", "mnist"], &pictures[..]].concat())["predictions"].clone()
}

fn logits(predictions: &Value) -> Vec<Vec<f64>> {
    predictions
        .as_array()
        .unwrap()
        .iter()
        .map(|picture| serde_json::from_value(picture["logits"].clone()).unwrap())
        .collect()
}

#[track_caller]
fn assert_close(got: &[Vec<f64>], want: &[Vec<f64>]) {
    assert_eq!(got.len(), want.len());
    for (got, want) in got.iter().flatten().zip(want.iter().flatten()) {
        assert!((got - want).abs() <= 1e-5 * want.abs().max(1.0), "{got} is not {want}");
    }
}

/// PyTorch's weights give PyTorch's logits, from each of the formats.
#[test]
fn weights_from_pytorch() {
    let folder = Folder::new("from-pytorch");
    let (indices, want) = reference();
    let pictures = write_pictures(folder.path(), &indices, |value| value);
    std::fs::copy(stored("cnn.pt"), folder.join("cnn.pt")).unwrap();
    for (from, to) in [("cnn.pt", "cnn.safetensors"), ("cnn.safetensors", "cnn.npz"), ("cnn.npz", "back.pt")]
    {
        let report = json(folder.path(), &["convert", from, to]);
        assert_eq!(report["tensors"].as_array().unwrap().len(), 8, "{report}");
        assert_close(&logits(&predictions(folder.path(), to, &pictures)), &want);
    }
    let load = |name: &str| io::load(folder.join(name), &Device::cpu()).unwrap().tensors;
    let (first, last) = (load("cnn.pt"), load("back.pt"));
    for (name, tensor) in first.iter() {
        let values = |tensor: &flambeau::Tensor| tensor.to_vec_blocking::<f32>().unwrap();
        assert_eq!(values(tensor), values(last.get(name).unwrap()), "{name}");
    }
}

/// What is trained here gives the same logits in PyTorch. Where Python has no PyTorch, `weights_from_pytorch`, with
/// values from PyTorch that are stored, is the comparison.
#[test]
fn weights_to_pytorch() {
    let folder = Folder::new("to-pytorch");
    let (indices, _) = reference();
    let pictures = write_pictures(folder.path(), &indices, |value| value);
    let has_pytorch = Command::new("/usr/bin/python3").args(["-c", "import torch"]).output();
    let has_pytorch = has_pytorch.is_ok_and(|output| output.status.success());
    for (model, steps) in [("mlp", "60"), ("cnn", "15")] {
        json(folder.path(), &["train", "mnist", "--model", model, "--max-steps", steps, "--out", model]);
        let file = format!("{model}/model.safetensors");
        let here = logits(&predictions(folder.path(), &file, &pictures));
        let pt = format!("{model}.pt");
        let report = json(folder.path(), &["convert", &file, &pt]);
        assert_eq!(report["metadata_kept"], false);
        assert_close(&logits(&predictions(folder.path(), &pt, &pictures)), &here);
        if !has_pytorch {
            println!(
                "/usr/bin/python3 has no torch: only the stored values of weights_from_pytorch are compared"
            );
            continue;
        }
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/torch_logits.py");
        let mut python = Command::new("/usr/bin/python3");
        python.arg("-B").arg(script).arg(folder.join(&pt)).arg(mnist_folder());
        let output = python.args(indices.iter().map(usize::to_string)).output().unwrap();
        assert!(output.status.success(), "{}", stderr(&output));
        assert_close(&here, &rows(&parsed(&output)));
    }
}

/// Digits as people have them: dark on light, large, off the centre.
#[test]
fn pictures_of_any_kind() {
    let folder = Folder::new("pictures");
    json(folder.path(), &["train", "mnist", "--model", "mlp", "--max-steps", "300", "--out", "run"]);
    let model = "run/model.safetensors";
    let (indices, _) = reference();
    let plain = predictions(folder.path(), model, &write_pictures(folder.path(), &indices, |value| value));
    let inverted =
        predictions(folder.path(), model, &write_pictures(folder.path(), &indices, |value| 255 - value));
    let classes = |predictions: &Value| -> Vec<String> {
        let class = |picture: &Value| picture["class"].as_str().unwrap().to_owned();
        predictions.as_array().unwrap().iter().map(class).collect()
    };
    assert_close(&logits(&plain), &logits(&inverted));
    let right = |classes: &[String]| (0..10).filter(|&digit| classes[digit] == digit.to_string()).count();
    assert!(right(&classes(&plain)) >= 9, "{:?}", classes(&plain));

    let large: Vec<String> = indices
        .iter()
        .map(|index| {
            let small = image::open(folder.join(&format!("{index}.png"))).unwrap().into_luma8();
            let digit = image::imageops::resize(&small, 200, 200, image::imageops::FilterType::CatmullRom);
            let mut paper = image::RgbImage::from_pixel(640, 480, image::Rgb([250, 250, 245]));
            let digit = image::DynamicImage::ImageLuma8(digit).into_rgb8();
            image::imageops::overlay(&mut paper, &digit, 60, 30);
            let name = format!("large-{index}.jpg");
            paper.save(folder.join(&name)).unwrap();
            name
        })
        .collect();
    let large = classes(&predictions(folder.path(), model, &large));
    assert!(right(&large) >= 8, "{large:?}");
}
