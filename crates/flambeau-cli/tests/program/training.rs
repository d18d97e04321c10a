//! Training, evaluation, generation.

use crate::support::*;
use std::path::Path;

const SPIRALS: &[&str] = &["train", "spirals", "--epochs", "150"];

#[test]
fn spirals_are_learned() {
    let folder = Folder::new("spirals");
    let result = json(folder.path(), SPIRALS);
    assert!(result["test_accuracy"].as_f64().unwrap() > 0.99, "{result}");
    assert_eq!(result["steps"], 1500);
    assert_eq!(result["task"], "spirals");
    assert_files(folder.path(), &result);
    for name in ["model.safetensors", "log.jsonl", "curves.svg", "map.svg"] {
        assert!(folder.path().join("runs/spirals-mlp").join(name).is_file(), "{name}");
    }
    let again = json(folder.path(), &[SPIRALS, &["--out", "again"]].concat());
    assert_eq!((&again["test_loss"], &again["train_loss"]), (&result["test_loss"], &result["train_loss"]));
    let other = json(folder.path(), &[SPIRALS, &["--out", "other", "--seed", "2"]].concat());
    assert_ne!(other["test_loss"], result["test_loss"]);
    let evaluated = json(folder.path(), &["eval", "again/model.safetensors"]);
    assert_eq!(evaluated["task"], "spirals");
}

/// Some steps of MNIST: the data on the device or made by threads, the numbers are the same.
#[test]
fn a_few_steps_of_mnist() {
    let folder = Folder::new("mnist");
    let steps = ["train", "mnist", "--model", "mlp", "--max-steps", "120", "--out", "run"];
    let resident = json(folder.path(), &steps);
    assert!(resident["test_accuracy"].as_f64().unwrap() > 0.85, "{resident}");
    assert_files(folder.path(), &resident);
    assert!(folder.join("run/confusion.svg").is_file());
    let lines = std::fs::read_to_string(folder.join("run/log.jsonl")).unwrap();
    assert!(lines.lines().all(|line| serde_json::from_str::<serde_json::Value>(line).is_ok()), "{lines}");
    let workers = json(folder.path(), &[&steps[..], &["--workers", "2"]].concat());
    assert_eq!(workers["test_loss"], resident["test_loss"]);
    assert!(workers["seconds_waiting_for_data"].as_f64().unwrap() > 0.0);

    let evaluated = json(folder.path(), &["eval", "run/model.safetensors", "--task", "mnist"]);
    let difference =
        |name: &str| (evaluated[name].as_f64().unwrap() - resident[name].as_f64().unwrap()).abs();
    assert!(difference("test_accuracy") < 1e-9 && difference("test_loss") < 1e-6, "{evaluated} {resident}");
    assert_eq!(evaluated["items"], 10_000);
}

#[test]
fn every_optimizer_takes_steps() {
    let folder = Folder::new("optimizers");
    let names = ["adamw", "sgd", "lion", "nadam", "radam", "adamax", "rmsprop", "adagrad", "adadelta"];
    for name in names {
        let result = json(folder.path(), &["train", "spirals", "--max-steps", "30", "--optimizer", name]);
        assert!(result["test_loss"].as_f64().unwrap() < 0.8, "{name}: {result}");
    }
}

#[test]
fn text_is_learned_and_continued() {
    let folder = Folder::new("text");
    std::fs::write(folder.join("text.txt"), "abcdefghi\n".repeat(200)).unwrap();
    let run = ["train", "char-gpt", "--model", "gpt-tiny", "--data", "text.txt", "--out", "run"];
    let result =
        json(folder.path(), &[&run[..], &["--batch", "8", "--lr", "0.01", "--max-steps", "25"]].concat());
    assert!(result["test_accuracy"].as_f64().unwrap() > 0.9, "{result}");
    let model = ["generate", "--model", "run/model.safetensors"];
    let generate = |more: &[&str]| json(folder.path(), &[&model, more].concat());
    // More than the context holds.
    let sure = generate(&["--prompt", "abc", "--temperature", "0", "--tokens", "97"]);
    assert_eq!(sure["text"].as_str().unwrap(), "abcdefghi\n".repeat(10));
    let daring = |seed: &str| {
        generate(&["--prompt", "a", "--top-k", "4", "--temperature", "5", "--tokens", "40", "--seed", seed])
    };
    assert_eq!(daring("5")["text"], daring("5")["text"]);
    assert_ne!(daring("5")["text"], daring("6")["text"]);
    let message = error(folder.path(), &[&model[..], &["--prompt", "Ω"]].concat());
    assert!(message.contains("'Ω'"), "{message}");
}

/// Ten classes of one colour each, in CIFAR-10's binary form: files of `count` pictures.
fn coloured(folder: &Path, count: usize) {
    std::fs::create_dir_all(folder).unwrap();
    for name in (1..=5).map(|batch| format!("data_batch_{batch}.bin")).chain(["test_batch.bin".into()]) {
        let record = |picture: usize| {
            let class = picture % 10;
            let plane = move |channel: usize| {
                let shade = ((class * 7 + channel * 3) % 10 * 25) as u8;
                (0..1024).map(move |pixel| shade.wrapping_add((pixel * 13 % 7) as u8))
            };
            [class as u8].into_iter().chain((0..3).flat_map(plane)).collect::<Vec<u8>>()
        };
        std::fs::write(folder.join(name), (0..count).flat_map(record).collect::<Vec<u8>>()).unwrap();
    }
}

/// The recipe's parts all at work: label smoothing, decay, normalised pictures, a rising rate, shifted pictures with holes.
#[test]
fn a_recipe_trains_and_says_so() {
    let folder = Folder::new("recipe");
    coloured(&folder.join("data"), 10);
    let run = ["train", "cifar10", "--recipe", "resnet18", "--data", "data", "--batch", "10", "--out", "run"];
    let result = json(folder.path(), &[&run[..], &["--epochs", "2", "--lr", "0.02", "--seed", "3"]].concat());
    assert_eq!((&result["recipe"], &result["model"]), (&"resnet18".into(), &"resnet18".into()));
    assert_eq!((&result["steps"], &result["epochs"], &result["seed"]), (&10.into(), &2.into(), &3.into()));
    assert_eq!((&result["batch"], &result["amp"]), (&10.into(), &false.into()));
    let log = std::fs::read_to_string(folder.join("run/log.jsonl")).unwrap();
    let lines = log.lines().map(|line| serde_json::from_str::<serde_json::Value>(line).unwrap());
    let epochs: Vec<serde_json::Value> = lines.filter(|line| line["event"] == "epoch").collect();
    // The mean of an epoch's losses, and the test's loss.
    let loss = |epoch: usize, metric: usize| epochs[epoch]["metrics"][metric][1].as_f64().unwrap();
    assert!(epochs.len() == 2 && loss(1, 0) < loss(0, 0) && loss(1, 2) < loss(0, 2), "{log}");
    let mixed = json(folder.path(), &[&run[..], &["--max-steps", "2", "--amp"]].concat());
    assert_eq!((&mixed["amp"], &mixed["steps"]), (&true.into(), &2.into()));
    assert!(mixed["test_loss"].as_f64().unwrap().is_finite(), "{mixed}");
}

/// Without `--json`: lines that one can read in a pipe, and a summary.
#[test]
fn words_for_people() {
    let folder = Folder::new("words");
    let output = run(folder.path(), &["train", "spirals", "--max-steps", "40"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("step 1/40") && text.contains("test accuracy") && text.contains("samples/s"),
        "{text}"
    );
    assert!(text.contains("runs/spirals-mlp/model.safetensors") && !text.contains('\x1b'), "{text}");
    let info = json(folder.path(), &["info"]);
    assert_eq!(info["device"], "cpu");
}

/// How precise products of f32 are is said for a run, or by the environment; without matrix units both are the same arithmetic.
#[test]
fn precision_is_the_users_word() {
    let folder = Folder::new("precision");
    let steps = ["train", "spirals", "--max-steps", "20", "--out"];
    let plain = json(folder.path(), &[&steps[..], &["plain"]].concat());
    let high = json(folder.path(), &[&steps[..], &["high", "--precision", "high"]].concat());
    assert_eq!((&plain["precision"], &high["precision"]), (&"highest".into(), &"high".into()));
    assert_eq!(plain["test_loss"], high["test_loss"]);
    let refused = run(folder.path(), &[&steps[..], &["low", "--precision", "medium"]].concat());
    assert_eq!(refused.status.code(), Some(2));
    let none = "there is no precision medium: highest or high";
    assert!(stderr(&refused).contains(none), "{}", stderr(&refused));
    for (word, precision) in [("high", "high"), ("medium", "highest")] {
        let asked =
            command(folder.path(), &["info", "--json"]).env("FLAMBEAU_PRECISION", word).output().unwrap();
        assert_eq!(parsed(&asked)["precision"], precision);
        assert_eq!(stderr(&asked).contains(none), word == "medium", "{}", stderr(&asked));
    }
    let info = json(folder.path(), &["info"]);
    assert_eq!(info["precision"], "highest");
    let said = "by f32 arithmetic, at highest and at high: matrix units are not used";
    assert_eq!(info["products_of_f32"], said);
}

/// Checkpoints of an earlier run are kept aside when a new one begins.
#[test]
fn a_new_run_keeps_the_checkpoints_of_the_last() {
    let folder = Folder::new("anew");
    let steps = ["train", "spirals", "--max-steps", "20", "--out", "run"];
    for _ in 0..2 {
        assert_eq!(json(folder.path(), &steps)["resumed_from"], serde_json::Value::Null);
    }
    let file = Path::new("step-00000020.safetensors");
    assert!(folder.join("run/checkpoints.previous").join(file).is_file());
    assert!(folder.join("run/checkpoints").join(file).is_file());
}

/// The GPU is destroyed in the middle of a run: a new device takes over from the last checkpoint.
#[test]
fn a_lost_gpu_is_replaced() {
    let folder = Folder::new("lost");
    let steps = ["train", "spirals", "--max-steps", "60", "--checkpoint-every", "10", "--device", "software"];
    let whole = json(folder.path(), &[&steps[..], &["--out", "whole"]].concat());
    let lost =
        run(folder.path(), &[&steps[..], &["--out", "lost", "--json", "--lose-device-at", "25"]].concat());
    assert!(lost.status.success(), "{}", stderr(&lost));
    assert!(stderr(&lost).contains("the GPU was lost; going on with a new device"), "{}", stderr(&lost));
    let result = parsed(&lost);
    assert!(result["resumed_from"].as_u64().unwrap() >= 20, "{result}");
    assert_eq!(result["test_loss"], whole["test_loss"]);
}

/// In mixed precision the same is learned, and a run that goes on from a checkpoint has the numbers of one that was not stopped.
#[test]
fn mixed_precision_learns_as_well_and_goes_on_bit_for_bit() {
    let folder = Folder::new("amp");
    let result = json(folder.path(), &[SPIRALS, &["--amp"]].concat());
    assert!(result["test_accuracy"].as_f64().unwrap() > 0.99, "{result}");
    let steps = ["train", "spirals", "--epochs", "6", "--checkpoint-every", "20", "--amp", "--out"];
    let whole = json(folder.path(), &[&steps[..], &["whole"]].concat());
    json(folder.path(), &[&steps[..], &["parts"]].concat());
    // As if the run had been killed after its second checkpoint.
    let last = folder.join("parts/checkpoints");
    let mut files: Vec<_> = std::fs::read_dir(&last).unwrap().map(|file| file.unwrap().path()).collect();
    files.sort();
    std::fs::remove_file(files.last().unwrap()).unwrap();
    let resumed = json(folder.path(), &[&steps[..], &["parts", "--resume"]].concat());
    assert_eq!(resumed["test_loss"], whole["test_loss"]);
    let message = error(
        folder.path(),
        &["train", "spirals", "--epochs", "6", "--out", "plain", "--optimizer", "nadam", "--amp"],
    );
    assert!(message.contains("AdamW"), "{message}");
}

/// The run is estimated and kept within a limit, and takes the steps of the run without one.
#[test]
fn a_memory_limit_is_kept() {
    let folder = Folder::new("limit");
    for device in ["cpu", "software"] {
        let steps = ["train", "mnist", "--model", "mlp", "--max-steps", "30", "--device", device];
        let free = json(folder.path(), &[&steps[..], &["--out", "free", "--workers", "1"]].concat());
        let limited =
            json(folder.path(), &[&steps[..], &["--out", "limited", "--memory-limit", "1.6MB"]].concat());
        let memory = &limited["memory"];
        assert!(memory["peak"].as_u64().unwrap() <= 1_600_000 && memory["limit"] == 1_600_000, "{memory}");
        assert!(free["memory"]["peak"].as_u64().unwrap() > 2_000_000, "{}", free["memory"]);
        assert_ne!(memory["fitting"]["placement"]["parameters"], "on-device", "{memory}");
        assert!(!memory["fitting"]["too_large"].as_array().unwrap().is_empty(), "{memory}");
        let difference = free["test_loss"].as_f64().unwrap() - limited["test_loss"].as_f64().unwrap();
        assert!(difference.abs() < 1e-4, "{free} {limited}");
        // What was written is an ordinary model.
        let evaluated = json(folder.path(), &["eval", "limited/model.safetensors", "--task", "mnist"]);
        let difference = evaluated["test_loss"].as_f64().unwrap() - limited["test_loss"].as_f64().unwrap();
        assert!(difference.abs() < 1e-5, "{evaluated} {limited}");
    }
    let refused = error(
        folder.path(),
        &["train", "mnist", "--model", "mlp", "--device", "cpu", "--memory-limit", "200kB"],
    );
    for part in ["the limit is 200000", "the largest parameter, fc1.weight"] {
        assert!(refused.contains(part), "`{part}` is not in: {refused}");
    }
    let refused = run(folder.path(), &["train", "spirals", "--memory-limit", "lots"]);
    assert_eq!(refused.status.code(), Some(2));
    assert!(stderr(&refused).contains("200MB"), "{}", stderr(&refused));
}
