//! `federated client`: what is said when there is no server, and when an option makes no sense.

use crate::support::*;

/// The error of a client with these options; MNIST is its data unless a task is named.
fn refused(more: &[&str]) -> String {
    let folder = Folder::new("federated");
    let data = mnist_folder();
    let known = ["federated", "client", "--model", "mlp", "--patience", "0"];
    let data: &[&str] = if more.contains(&"--task") { &[] } else { &["--data", data.to_str().unwrap()] };
    error(folder.path(), &[&known, data, more].concat())
}

#[test]
fn a_server_that_is_not_there_is_named() {
    let message = refused(&["--server", "http://127.0.0.1:1"]);
    assert!(message.contains("register-node: no answer from http://127.0.0.1:1"), "{message}");
}

#[test]
fn options_that_make_no_sense() {
    let folder = Folder::new("federated-key");
    let key = folder.join("key.pem");
    std::fs::write(&key, "no key").unwrap();
    for (more, says) in [
        (&["--partition", "4/4"][..], "--partition: `4/4`"),
        (&["--non-iid"], "--partition 0/4"),
        (&["--task", "spirals"], "--task: spirals has no pictures"),
        (&["--lr", "0"], "--lr: 0 is no learning rate"),
        (&["--momentum", "1"], "--momentum: 1 is no momentum"),
        (&["--clip", "0"], "clip: 0 is no length"),
        (&["--clip", "1", "--noise", "1", "--delta", "0"], "delta: 0 is no δ"),
        (&["--poll", "nan"], "--poll: NaN"),
        (&["--key", key.to_str().unwrap()], "key.pem: key: "),
    ] {
        let message = refused(&[&["--server", "http://127.0.0.1:1"], more].concat());
        assert!(message.contains(says), "{more:?}: {message}");
    }
    let message = refused(&["--server", "127.0.0.1:8000"]);
    assert!(message.contains("`127.0.0.1:8000` is no address"), "{message}");
}
