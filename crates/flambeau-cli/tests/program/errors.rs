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
    assert_says(&error(&["train", "mnist", "--recipe", "resnet18"]), &["`resnet18`", "it has none"]);
    assert_says(&error(&["train", "cifar10", "--recipe", "vit"]), &["`vit`", "take resnet18"]);
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
    assert_says(
        &error(&["train", "cifar10"]),
        &["data/cifar10/data_batch_1.bin", "curl", "--data", "flambeau data fetch cifar10"],
    );
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

/// Cuts a file to a third.
fn damage(path: &std::path::Path) -> Vec<u8> {
    let bytes = std::fs::read(path).unwrap();
    std::fs::write(path, &bytes[..bytes.len() / 3]).unwrap();
    bytes[..bytes.len() / 3].to_vec()
}

const CHECKPOINTED: &[&str] =
    &["train", "spirals", "--max-steps", "20", "--checkpoint-every", "10", "--out", "run"];

#[test]
fn a_damaged_checkpoint_is_passed_over_and_named() {
    let folder = Folder::new("checkpoint");
    let whole = json(folder.path(), CHECKPOINTED);
    assert_eq!(whole["damaged_checkpoints"], serde_json::json!([]));
    let newest = "run/checkpoints/step-00000020.safetensors";
    damage(&folder.join(newest));
    let output = run(folder.path(), &[CHECKPOINTED, &["--resume", "--json"]].concat());
    assert!(output.status.success(), "{}", stderr(&output));
    let said = stderr(&output);
    // The program's own words, and the library's log.
    assert_says(&said, &["WARNING: a checkpoint is damaged", newest, "warning: a checkpoint is damaged"]);
    let resumed = parsed(&output);
    assert_eq!(resumed["resumed_from"], 10);
    assert_eq!(resumed["damaged_checkpoints"], serde_json::json!([newest]));
    assert_eq!(resumed["test_loss"], whole["test_loss"]);
}

/// Beginning anew would write over them.
#[test]
fn a_run_whose_checkpoints_are_all_damaged_stops() {
    let folder = Folder::new("all-damaged");
    json(folder.path(), CHECKPOINTED);
    let files =
        ["10", "20"].map(|step| folder.join(&format!("run/checkpoints/step-000000{step}.safetensors")));
    let left = files.each_ref().map(|file| damage(file));
    let message = error(folder.path(), &[CHECKPOINTED, &["--resume"]].concat());
    let expected =
        ["run/checkpoints: none of the 2 checkpoints is whole", "step-00000020", "without --resume"];
    assert_says(&message, &expected);
    assert_eq!(files.map(|file| std::fs::read(file).unwrap()), left);
}

#[test]
fn the_log_has_a_level() {
    let folder = Folder::new("log");
    json(folder.path(), CHECKPOINTED);
    damage(&folder.join("run/checkpoints/step-00000020.safetensors"));
    let logged = |level: &str| {
        let mut program = command(folder.path(), &[CHECKPOINTED, &["--resume"]].concat());
        stderr(&program.env("FLAMBEAU_LOG", level).output().unwrap())
    };
    assert_says(&logged("loud"), &["warning: FLAMBEAU_LOG is `loud`"]);
    damage(&folder.join("run/checkpoints/step-00000020.safetensors"));
    assert!(!logged("off").contains("warning: "));
}

/// A model has an answer for everything.
#[test]
fn blank_and_huge_pictures() {
    let folder = Folder::new("blank");
    json(folder.path(), &["train", "mnist", "--model", "mlp", "--max-steps", "5", "--out", "run"]);
    image::GrayImage::from_pixel(300, 200, image::Luma([255])).save(folder.join("blank.png")).unwrap();
    let mut digit = image::GrayImage::from_pixel(300, 200, image::Luma([250]));
    (50..150).for_each(|y| digit.put_pixel(150, y, image::Luma([10])));
    digit.save(folder.join("digit.png")).unwrap();
    let ask = ["predict", "run/model.safetensors", "blank.png", "digit.png"];
    let predictions = json(folder.path(), &ask)["predictions"].clone();
    assert_says(predictions[0]["warning"].as_str().unwrap(), &["the picture is blank"]);
    assert_eq!(predictions[1]["warning"], serde_json::Value::Null);
    let words = String::from_utf8(run(folder.path(), &ask).stdout).unwrap();
    assert!(words.starts_with("blank.png: the picture is blank"), "{words}");

    image::GrayImage::new(24_000, 24_000).save(folder.join("huge.png")).unwrap();
    let message = error(folder.path(), &["predict", "run/model.safetensors", "huge.png"]);
    assert_says(
        &message,
        &["huge.png: 24000 × 24000 pixels", "the limit of 536870912", "make the picture smaller"],
    );
}

/// A line of text in a small file can describe a model of any size, or name the wrong number of classes.
#[test]
fn descriptions_that_do_not_fit_the_file() {
    let folder = Folder::new("descriptions");
    json(folder.path(), &["train", "spirals", "--max-steps", "5", "--out", "run"]);
    let loaded = flambeau::io::load(folder.join("run/model.safetensors"), &flambeau::Device::cpu()).unwrap();
    let good: serde_json::Value = serde_json::from_str(&loaded.metadata["flambeau"]).unwrap();
    let huge = 1u64 << 40;
    let gpt = |layers: u64, width: u64| {
        serde_json::json!({
            "kind": "gpt", "vocabulary": 2, "context": 2, "layers": layers, "heads": 1, "width": width, "dropout": 0.0,
        })
    };
    let cnn = serde_json::json!({
        "kind": "cnn", "inputs": 1, "size": [28, 28], "channels": [huge, huge], "hidden": 9, "dropout": 0.0,
        "batch_norm": false, "classes": 2,
    });
    let mlp = serde_json::json!({ "kind": "mlp", "sizes": [2, huge, huge, 2], "tanh": true });
    let resnet = serde_json::json!({ "kind": "resnet18", "inputs": 3, "width": huge, "classes": 2 });
    for architecture in [gpt(huge, 1), gpt(1, huge), cnn, mlp, resnet] {
        let mut description = good.clone();
        description["architecture"] = architecture;
        let metadata = [("flambeau".to_string(), description.to_string())].into();
        flambeau::io::save_safetensors_blocking(folder.join("huge.safetensors"), &loaded.tensors, &metadata)
            .unwrap();
        assert_says(
            &error(folder.path(), &["eval", "huge.safetensors"]),
            &["huge.safetensors", "numbers or more"],
        );
    }
    let mut nameless = good;
    nameless["classes"] = serde_json::json!([]);
    let metadata = [("flambeau".to_string(), nameless.to_string())].into();
    flambeau::io::save_safetensors_blocking(folder.join("nameless.safetensors"), &loaded.tensors, &metadata)
        .unwrap();
    assert_says(
        &error(folder.path(), &["eval", "nameless.safetensors"]),
        &["names 0 classes or characters of 2"],
    );
}
