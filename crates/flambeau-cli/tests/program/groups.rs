//! `--group`: one run of several members. (Those of `mpirun` are a step of `cargo xtask test`, which installs MPI.)

use crate::support::*;
use serde_json::Value;

const RUN: &[&str] = &["train", "mnist", "--model", "mlp", "--batch", "90", "--max-steps", "30"];

fn number(result: &Value, name: &str) -> f64 {
    result[name].as_f64().unwrap_or_else(|| panic!("{name}: {result}"))
}

#[test]
fn members_in_step_give_what_one_gives() {
    let folder = Folder::new("group");
    let alone = json(folder.path(), &[RUN, &["--out", "alone"]].concat());
    assert_eq!(alone["group"], Value::Null);
    for group in [&["--group", "threads:3"][..], &["--devices", "cpu,cpu"]] {
        let several = json(folder.path(), &[RUN, &["--out", "several"], group].concat());
        for name in ["test_loss", "train_loss"] {
            let (several, alone) = (number(&several, name), number(&alone, name));
            assert!((several - alone).abs() < 1e-5, "{name}: {several} and {alone}");
        }
        assert_eq!(several["test_accuracy"], alone["test_accuracy"]);
        assert_files(folder.path(), &several);
        let traffic = &several["group"];
        let members = traffic["members"].as_u64().unwrap() as usize;
        assert_eq!((traffic["kind"].as_str(), traffic["rank"].as_u64()), (Some("threads"), Some(0)));
        assert_eq!(traffic["by_rank"].as_array().unwrap().len(), members);
        // 2 (n − 1)/n of 101,770 numbers a step, and a little for reports.
        let gradients = 2.0 * (members as f64 - 1.0) / members as f64 * 4.0 * 101_770.0;
        let sent = number(traffic, "bytes_per_step");
        assert!(sent > gradients && sent < 1.2 * gradients, "{sent} bytes a step, {gradients} of gradients");
        let log = std::fs::read_to_string(folder.join("several/log.jsonl")).unwrap();
        assert_eq!(
            log.lines().filter(|line| line.contains("\"event\":\"epoch\"")).count(),
            1,
            "one log: {log}"
        );
    }
}

#[test]
fn members_that_meet_seldom_send_little() {
    let folder = Folder::new("diloco");
    let diloco = ["--group", "threads:2", "--sync", "diloco:10", "--compress", "int8"];
    let result = json(folder.path(), &[RUN, &diloco].concat());
    assert_eq!(result["group"]["rounds"], 3);
    assert!(number(&result, "test_accuracy") > 0.7, "{result}");
    let sent = number(&result["group"], "bytes_per_step");
    assert!(sent < 30_000.0, "{sent} bytes a step");
}

/// A group is resumed with another number of members.
#[test]
fn another_number_of_members_goes_on() {
    let folder = Folder::new("regroup");
    let steps = |steps| ["train", "spirals", "--epochs", "4", "--out", "run", "--max-steps", steps];
    let whole =
        json(folder.path(), &["train", "spirals", "--epochs", "4", "--max-steps", "40", "--out", "whole"]);
    json(folder.path(), &[&steps("40")[..], &["--group", "threads:2", "--checkpoint-every", "15"]].concat());
    std::fs::remove_file(folder.join("run/checkpoints/step-00000040.safetensors")).unwrap();
    let resumed = json(folder.path(), &[&steps("40")[..], &["--group", "threads:3", "--resume"]].concat());
    assert_eq!(resumed["resumed_from"], 30);
    assert!((number(&resumed, "test_loss") - number(&whole, "test_loss")).abs() < 1e-4, "{resumed} {whole}");
}

#[test]
fn groups_that_cannot_be_are_refused() {
    let folder = Folder::new("no-group");
    let refused = |options: &[&str]| error(folder.path(), &[&["train", "spirals"], options].concat());
    assert!(refused(&["--group", "threads:0"]).contains("none of mpi and threads:N"));
    assert!(refused(&["--group", "threads:2", "--devices", "cpu"]).contains("1 devices for 2 members"));
    assert!(refused(&["--sync", "often"]).contains("neither step nor diloco:STEPS"));
    assert!(
        refused(&["--group", "threads:2", "--data", "x", "--device", "gpu:99"]).contains("adapter"),
        "a device that is not there"
    );
    assert!(refused(&["--dropout", "0.5"]).contains("this model has no dropout"));
    let forgotten =
        command(folder.path(), &["train", "spirals"]).env("OMPI_COMM_WORLD_SIZE", "4").output().unwrap();
    assert!(
        stderr(&forgotten).contains("mpirun has started 4 processes; add --group mpi"),
        "{}",
        stderr(&forgotten)
    );
    if cfg!(not(feature = "mpi")) {
        let message = refused(&["--group", "mpi"]);
        assert!(message.contains("built without MPI") && message.contains("libopenmpi-dev"), "{message}");
    }
}
