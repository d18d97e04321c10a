//! What goes wrong is said in words that name the file and the next step.

use crate::support::*;

#[track_caller]
fn assert_says(message: &str, parts: &[&str]) {
    for part in parts {
        assert!(message.contains(part), "`{part}` is not in: {message}");
    }
}

#[test]
fn choices_that_do_not_exist() {
    let folder = Folder::new("choices");
    let error = |arguments: &[&str]| error(folder.path(), arguments);
    assert_says(&error(&["train", "chess"]), &["`chess`", "mnist", "char-gpt"]);
    assert_says(&error(&["train", "mnist", "--model", "vit"]), &["`vit`", "cnn, mlp"]);
    assert_says(&error(&["train", "mnist", "--optimizer", "magic"]), &["`magic`", "adam"]);
    assert_says(&error(&["train", "mnist", "--lr", "-1"]), &["--lr", "above 0"]);
    assert_says(&error(&["train", "spirals", "--device", "toaster"]), &["toaster", "cpu"]);
    assert_says(&error(&["train", "char-gpt"]), &["--data FILE"]);
}

#[test]
fn data_that_is_missing_or_damaged() {
    let folder = Folder::new("data");
    let error = |arguments: &[&str]| error(folder.path(), arguments);
    let missing = error(&["train", "mnist", "--data", "nowhere"]);
    assert_says(&missing, &["nowhere/train-images-idx3-ubyte.gz", "get it with", "--data"]);
    assert_says(&error(&["train", "cifar10"]), &["data/cifar10/data_batch_1.bin", "curl", "--data"]);
    std::fs::write(folder.join("train-images-idx3-ubyte"), [0; 100]).unwrap();
    assert_says(&error(&["train", "mnist", "--data", "."]), &["train-images-idx3-ubyte"]);
    std::fs::write(folder.join("short.txt"), "too short").unwrap();
    assert_says(&error(&["train", "char-gpt", "--data", "short.txt"]), &["short.txt", "too short"]);
    std::fs::write(folder.join("bytes.txt"), [0xff, 0xfe, 0xfd]).unwrap();
    assert_says(&error(&["train", "char-gpt", "--data", "bytes.txt"]), &["bytes.txt", "UTF-8"]);
}

#[test]
fn models_that_are_missing_or_damaged() {
    let folder = Folder::new("models");
    json(folder.path(), &["train", "spirals", "--max-steps", "20", "--out", "run"]);
    let whole = std::fs::read(folder.join("run/model.safetensors")).unwrap();
    let error = |arguments: &[&str]| error(folder.path(), arguments);
    assert_says(&error(&["eval", "none.safetensors"]), &["none.safetensors", "flambeau train"]);
    for (name, length) in [("half", whole.len() / 2), ("short", 4), ("empty", 0)] {
        let name = format!("{name}.safetensors");
        std::fs::write(folder.join(&name), &whole[..length]).unwrap();
        assert_says(&error(&["eval", &name]), &[&name]);
        assert_says(&error(&["convert", &name, "out.pt"]), &[&name]);
        assert_says(&error(&["predict", &name, "x.png"]), &[&name]);
    }
    assert_says(&error(&["predict", "run/model.safetensors", "x.png"]), &["model.safetensors", "spirals"]);
    assert_says(
        &error(&["generate", "--model", "run/model.safetensors"]),
        &["model.safetensors", "char-gpt"],
    );
    assert_says(&error(&["convert", "run/model.safetensors", "model.txt"]), &["model.txt", ".safetensors"]);
    json(folder.path(), &["convert", "run/model.safetensors", "plain.pt"]);
    assert_says(&error(&["eval", "plain.pt"]), &["plain.pt", "--task"]);
    assert_says(&error(&["eval", "plain.pt", "--task", "mnist"]), &["plain.pt", "mnist"]);
    json(folder.path(), &["eval", "plain.pt", "--task", "spirals"]);
}

#[test]
fn a_run_resumed_with_other_settings() {
    let folder = Folder::new("settings");
    let steps = ["train", "spirals", "--max-steps", "20", "--out", "run"];
    json(folder.path(), &steps);
    let message = error(folder.path(), &[&steps[..], &["--batch", "50", "--resume"]].concat());
    assert_says(&message, &["batch_size", "run", "--resume"]);
}

#[test]
fn a_damaged_checkpoint_is_passed_over() {
    let folder = Folder::new("checkpoint");
    let steps = ["train", "spirals", "--max-steps", "20", "--checkpoint-every", "10", "--out", "run"];
    let whole = json(folder.path(), &steps);
    let newest = folder.join("run/checkpoints/step-00000020.safetensors");
    let bytes = std::fs::read(&newest).unwrap();
    std::fs::write(&newest, &bytes[..bytes.len() / 3]).unwrap();
    let resumed = json(folder.path(), &[&steps[..], &["--resume"]].concat());
    assert_eq!(resumed["resumed_from"], 10);
    assert_eq!(resumed["test_loss"], whole["test_loss"]);
}
