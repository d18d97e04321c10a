//! The calls against servers that answer well, badly, slowly or not at all.

use super::*;
use crate::app::{App, Evaluated, Task, Trained};
use crate::node::{ServeOptions, serve};
use crate::records::{Array, Named, Record, RecordDict, Value};
use crate::testing::{Link, NODE, RUN, fleet, stored};
use crate::{Heartbeat, Http};
use std::io::{Read, Write};
use std::net::TcpListener;

/// Adds one to every number, and says how many arrays it got.
struct PlusOne;

impl App for PlusOne {
    async fn train(&mut self, task: Task) -> std::result::Result<Trained, String> {
        if task.number("fail").is_some() {
            return Err("it was told to fail".into());
        }
        let mut arrays = Named::default();
        for (name, array) in task.arrays.iter() {
            let tensor = array.to_tensor(&flambeau::Device::cpu()).map_err(|error| error.to_string())?;
            let tensor = Array::of(&(tensor + 1.0)).await.map_err(|error| error.to_string())?;
            arrays.insert(name, tensor);
        }
        let metrics = Named::default().with("loss", task.number("lr").unwrap_or(0.0));
        Ok(Trained { arrays, examples: 10, metrics })
    }

    async fn evaluate(&mut self, task: Task) -> std::result::Result<Evaluated, String> {
        let metrics = Named::default().with("accuracy", 0.5);
        Ok(Evaluated { loss: task.arrays.len() as f64, examples: 3, metrics })
    }

    async fn parameters(&mut self) -> std::result::Result<Named<Array>, String> {
        let ones = flambeau::Tensor::ones([2], &flambeau::Device::cpu());
        Ok(Named::default().with("w", Array::of(&ones).await.map_err(|error| error.to_string())?))
    }

    fn properties(&mut self) -> Named<Value> {
        Named::default().with("name", "plus one".into())
    }
}

fn options() -> ServeOptions {
    ServeOptions { poll: Duration::from_millis(1), ..ServeOptions::default() }
}

fn limits() -> Limits {
    Limits {
        call: Duration::from_millis(500),
        patience: Duration::ZERO,
        answer: 1 << 20,
        ..Limits::default()
    }
}

fn round(values: &[f32], config: Named<Value>) -> RecordDict {
    let tensor = flambeau::Tensor::new(values.to_vec(), &flambeau::Device::cpu());
    let array = flambeau::block_on(Array::of(&tensor)).unwrap();
    Named::default()
        .with("arrays", Record::Arrays(Named::default().with("w", array)))
        .with("config", Record::Config(config))
}

fn numbers(array: &Array) -> Vec<f32> {
    array.to_tensor(&flambeau::Device::cpu()).unwrap().to_vec_blocking().unwrap()
}

/// A server by sockets: each connection is one request, whose call and body go to a function, and what that gives is sent as it is.
fn http(answer: impl Fn(&str, &[u8]) -> Vec<u8> + Send + 'static) -> String {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let (mut received, mut block) = (Vec::new(), [0; 4096]);
            let (call, body) = loop {
                let count = stream.read(&mut block).unwrap();
                received.extend_from_slice(&block[..count]);
                let Some(end) = received.windows(4).position(|window| window == b"\r\n\r\n") else {
                    continue;
                };
                let head = String::from_utf8_lossy(&received[..end]).to_lowercase();
                let length =
                    head.split("content-length: ").nth(1).map_or("0", |rest| rest.lines().next().unwrap());
                if received.len() >= end + 4 + length.trim().parse::<usize>().unwrap() {
                    let path = head.split(' ').nth(1).unwrap().to_owned();
                    break (path.rsplit('/').next().unwrap().to_owned(), received.split_off(end + 4));
                }
            };
            _ = stream.write_all(&answer(&call, &body));
        }
    });
    address
}

fn response(status: u16, kind: &str, body: &[u8]) -> Vec<u8> {
    let length = body.len();
    let head = format!(
        "HTTP/1.1 {status} X\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
    );
    [head.as_bytes(), body].concat()
}

/// A whole run by sockets: both APIs, an error of the app's, and an end.
#[test]
fn a_run_from_beginning_to_end() {
    let link = Link::default();
    let config = Named::default().with("server-round", Value::Int(1)).with("lr", Value::Double(0.25));
    link.ask("train", round(&[1.0, -2.0], config));
    link.ask("evaluate", round(&[1.0], Named::default()));
    link.ask("train.default", round(&[1.0], Named::default().with("fail", Value::Int(1))));
    link.ask("train.otherwise", round(&[1.0], Named::default()));
    link.ask("query", Named::default());
    link.ask("query.parameters", Named::default());
    link.ask("train", Named::default());
    link.ask(
        "reconnect",
        Named::default().with("config", Record::Config(Named::default().with("seconds", Value::Int(0)))),
    );
    link.end();
    let server = link.clone();
    let address = http(move |call, body| {
        let (status, kind, body) = server.answer(call, body);
        response(status, kind, &body)
    });
    let fleet = fleet(Http::default(), &address, limits());
    let online = |node| Heartbeat::start(fleet.clone(), node);
    let served = flambeau::block_on(serve(&fleet, &mut PlusOne, options(), online)).unwrap();
    assert_eq!((served.node, served.answered), (NODE, 8));
    assert_eq!(served.runs.into_iter().collect::<Vec<_>>(), [RUN]);
    let answers = link.answers();
    let (metadata, trained) = &answers[0];
    assert_eq!((metadata.src_node_id, metadata.dst_node_id, metadata.run_id), (NODE, 1, RUN));
    assert_eq!(metadata.reply_to_message_id.len(), 64);
    let trained = trained.as_ref().unwrap();
    let (_, arrays) = trained.arrays().next().unwrap();
    assert_eq!(numbers(arrays.get("w").unwrap()), [2.0, -1.0]);
    let (_, metrics) = trained.metrics().next().unwrap();
    assert_eq!(metrics.get("num-examples"), Some(&Value::Int(10)));
    assert_eq!(metrics.get("loss"), Some(&Value::Double(0.25)));
    let (_, metrics) = answers[1].1.as_ref().unwrap().metrics().next().unwrap();
    assert_eq!(metrics.get("eval_loss"), Some(&Value::Double(1.0)));
    let reason = |number: usize| answers[number].1.as_ref().unwrap_err().reason.clone();
    assert_eq!(reason(2), "it was told to fail");
    assert!(reason(3).contains("this client knows train"), "{}", reason(3));
    let (_, properties) = answers[4].1.as_ref().unwrap().configs().next().unwrap();
    assert_eq!(properties.get("name"), Some(&Value::Text("plus one".into())));
    let (_, arrays) = answers[5].1.as_ref().unwrap().arrays().next().unwrap();
    assert_eq!(numbers(arrays.get("w").unwrap()), [1.0, 1.0]);
    assert!(reason(6).contains("0 records of arrays"), "{}", reason(6));
    let (_, config) = answers[7].1.as_ref().unwrap().configs().next().unwrap();
    assert_eq!(config.get("reason"), Some(&Value::Int(1)));
    let calls = link.calls();
    assert_eq!(calls[..3], ["register-node", "activate-node", "pull-messages"]);
    assert_eq!(calls[calls.len() - 3..], ["get-run", "deactivate-node", "unregister-node"]);
}

/// What Flower's older strategies send is understood, and answered in the records that they read.
#[test]
fn the_older_api_is_understood() {
    let link = Link::default();
    let content = |name: &str| {
        let stored = stored("older.json", name);
        objects::inflate(&stored.name, &stored.objects, 1 << 20).unwrap().content.unwrap()
    };
    for (kind, name) in [("train", "fit"), ("evaluate", "evaluate"), ("get_parameters", "get_parameters")] {
        link.ask(kind, content(name));
    }
    link.end();
    let fleet = fleet(link.clone(), "http://in.memory", limits());
    flambeau::block_on(serve(&fleet, &mut PlusOne, options(), |_| Ok(()))).unwrap();
    let answers = link.answers();
    for (number, name) in ["fit answer", "evaluate answer", "get_parameters answer"].into_iter().enumerate() {
        let (ours, flowers) = (answers[number].1.as_ref().unwrap(), content(name));
        let mut names: [Vec<&str>; 2] = [ours.names().collect(), flowers.names().collect()];
        names.iter_mut().for_each(|names| names.sort_unstable());
        assert_eq!(names[0], names[1], "{name}");
        // The status, and the kind of each number, are what Flower reads.
        let status = |content: &RecordDict| {
            content.configs().find(|(name, _)| name.ends_with(".status")).map(|(_, status)| status.clone())
        };
        assert_eq!(status(ours), status(&flowers), "{name}");
    }
    let (_, arrays) = answers[0].1.as_ref().unwrap().arrays().next().unwrap();
    assert_eq!(arrays.names().collect::<Vec<_>>(), ["0", "1"]);
    assert_eq!(numbers(arrays.get("0").unwrap()), [2.0, 3.0]);
    assert_eq!(numbers(arrays.get("1").unwrap()), [4.0]);
}

/// Every call, with a name.
async fn all_calls(fleet: &Fleet<Http>) -> Vec<(&'static str, Result<()>)> {
    let message = Message {
        metadata: crate::Metadata { message_type: "train".into(), ..Default::default() },
        content: Ok(Named::default()),
    };
    vec![
        ("register-node", fleet.register().await),
        ("activate-node", fleet.activate().await.map(|_| ())),
        ("deactivate-node", fleet.deactivate(NODE).await),
        ("unregister-node", fleet.unregister(NODE).await),
        ("send-node-heartbeat", fleet.heartbeat(NODE).await),
        ("get-run", fleet.is_running(NODE, RUN).await.map(|_| ())),
        ("pull-messages", fleet.receive(NODE).await.map(|_| ())),
        ("pull-object", fleet.pull_object(NODE, RUN, "a").await.map(|_| ())),
        ("push-messages", fleet.send(NODE, &message, 0.0).await),
        ("push-object", fleet.push(NODE, RUN, "a".into(), Vec::new(), "s").await),
        ("confirm-message-received", fleet.confirm(NODE, RUN, "a").await),
    ]
}

/// Whatever comes instead of an answer, each call is an error that names itself.
#[test]
fn bad_answers_are_errors_with_the_calls_name() {
    let protobuf = |body: &[u8]| response(200, "application/protobuf", body);
    let endless = format!("HTTP/1.1 200 OK\r\nContent-Type: {PROTOBUF}\r\n\r\n");
    let cases: Vec<(&str, Vec<u8>, &str)> = vec![
        ("nothing", Vec::new(), "no answer from http://127.0.0.1"),
        ("not HTTP", b"SSH-2.0-OpenSSH_9\r\n".to_vec(), "no answer"),
        ("half a head", b"HTTP/1.1 200 OK\r\nContent-".to_vec(), "no answer"),
        (
            "half a body",
            b"HTTP/1.1 200 OK\r\nContent-Type: application/protobuf\r\nContent-Length: 9\r\n\r\nabc".to_vec(),
            "no answer",
        ),
        ("too much", [endless.as_bytes(), &vec![0; 2 << 20]].concat(), "more than 1048576 bytes"),
        ("a page", response(200, "text/html", b"<title>hello</title>"), "is http://127.0.0.1"),
        ("broken protobuf", protobuf(b"\x0a\xff\xff\xff\xff\x0f"), "cannot be used"),
        ("a wrong type", protobuf(b"\x09\x01"), "cannot be used"),
        (
            "a refusal",
            response(412, "application/json", br#"{"code": 2004, "detail": "Failed.", "extra": "more"}"#),
            "answered 412: Failed.; more",
        ),
        (
            "another's refusal",
            response(404, "text/html", b"<h1>\r\nnot here</h1>"),
            "answered 404: <h1>  not here</h1>",
        ),
        ("an endless refusal", response(500, "text/plain", &vec![b'x'; 100_000]), "answered 500: xxx"),
        ("the run is over", response(403, "application/json", br#"{"code": "2007"}"#), "answered 403"),
        (
            "another place",
            // Without the last line the next call would come by a connection that is gone.
            b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
                .to_vec(),
            "302",
        ),
    ];
    for (case, bytes, says) in cases {
        let address = http(move |_, _| bytes.clone());
        let fleet = fleet(Http::default(), &address, limits());
        for (call, end) in flambeau::block_on(all_calls(&fleet)) {
            // These two are empty, so that any protobuf is one of theirs.
            let any =
                ["deactivate-node", "unregister-node", "confirm-message-received", "get-run"].contains(&call);
            if any && case == "a wrong type" && end.is_ok() {
                continue;
            }
            let error = end.expect_err(case).to_string();
            assert!(error.starts_with(call), "{case}: {error}");
            assert!(error.contains(says) && error.len() < 600, "{case}: {error}");
        }
    }
}

/// A server that answers too slowly is given up, whatever it sends meanwhile.
#[test]
fn nothing_is_waited_for_without_end() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("http://{}", listener.local_addr().unwrap());
    std::thread::spawn(move || {
        let mut open = Vec::new();
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            _ = stream.write_all(
                b"HTTP/1.1 200 OK\r\nContent-Type: application/protobuf\r\nContent-Length: 999\r\n\r\n",
            );
            let mut dripping = stream.try_clone().unwrap();
            std::thread::spawn(move || {
                while dripping.write_all(b"x").is_ok() {
                    std::thread::sleep(Duration::from_millis(20));
                }
            });
            open.push(stream);
        }
    });
    let fleet = fleet(Http::default(), &address, limits());
    let error = flambeau::block_on(fleet.receive(NODE)).unwrap_err().to_string();
    assert!(error.starts_with("pull-messages: no answer") && error.contains("more than"), "{error}");
}

/// Servers that answer in good form, and lie.
#[test]
fn answers_that_contradict_themselves_are_refused() {
    use prost::Message as _;
    /// Changes one kind of answer of a good server.
    struct Liar {
        link: Link,
        call: &'static str,
        answer: Vec<u8>,
    }
    impl Transport for Liar {
        async fn post(&self, request: Request) -> std::result::Result<Reply, String> {
            let mut reply = self.link.post(request.clone()).await?;
            if request.url.ends_with(self.call) {
                reply.body = self.answer.clone();
            }
            Ok(reply)
        }
        async fn wait(&self, _: Duration) -> bool {
            true
        }
    }
    let announced = |dst_node_id, message_id: &str, tree: &str| {
        let metadata =
            crate::Metadata { dst_node_id, message_id: message_id.into(), run_id: RUN, ..Default::default() };
        let message = wire::ProtoMessage { metadata: Some(metadata), content: None, error: None };
        let tree = wire::ObjectTree { object_id: tree.into(), children: Vec::new() };
        (message, tree)
    };
    let pulled = |messages, trees| wire::PullMessagesResponse { messages, trees }.encode_to_vec();
    let name = "ab".repeat(32);
    let (message, tree) = announced(NODE, &name, &name);
    let object = |found, available, content: &[u8]| {
        wire::PullObjectResponse { found, available, content: content.to_vec() }.encode_to_vec()
    };
    let pushed = |names: &[&str]| {
        let objects_to_push = names.iter().map(ToString::to_string).collect();
        wire::PushMessagesResponse { objects_to_push, session_id: String::new() }.encode_to_vec()
    };
    let one = |(message, tree)| pulled(vec![message], vec![tree]);
    for (call, answer, says) in [
        (
            "activate-node",
            Vec::new(),
            "activate-node: the server's answer cannot be used: the client's number is 0",
        ),
        ("pull-messages", pulled(vec![message.clone()], vec![]), "1 messages with 0 trees"),
        ("pull-messages", pulled(vec![message.clone(); 2], vec![tree.clone(); 2]), "2 messages with 2 trees"),
        (
            "pull-messages",
            pulled(vec![wire::ProtoMessage::default()], vec![tree.clone()]),
            "without metadata",
        ),
        ("pull-messages", one(announced(1, &name, &name)), "a message for client 1, not 77"),
        ("pull-messages", one(announced(NODE, "other", &name)), "different names"),
        ("pull-messages", one(announced(NODE, "../x", "../x")), "`../x` is no name"),
        (
            "pull-messages",
            one((message, tree)),
            "pull-object: the server's answer cannot be used: object abab",
        ),
        ("pull-object", object(false, false, b""), "does not exist"),
        ("pull-object", object(true, false, b""), "is still not there"),
        ("pull-object", object(true, true, b"something else"), "has another sum"),
        (
            "push-messages",
            pushed(&["secret"]),
            "push-messages: the server's answer cannot be used: it asks for 1 objects",
        ),
        ("push-object", Vec::new(), "was not stored"),
        ("send-node-heartbeat", Vec::new(), "send-node-heartbeat: the server's answer cannot be used"),
    ] {
        let link = Link::default();
        link.ask("train", round(&[1.0], Named::default()));
        link.end();
        let fleet = fleet(Liar { link, call, answer }, "http://in.memory/", limits());
        let error = match call {
            "send-node-heartbeat" => flambeau::block_on(fleet.heartbeat(NODE)).unwrap_err(),
            _ => flambeau::block_on(serve(&fleet, &mut PlusOne, options(), |_| Ok(()))).unwrap_err(),
        };
        assert!(error.to_string().contains(says), "{call}: {error}");
    }
}

/// A server that is away for a while is asked again, and then given up.
#[test]
fn a_server_that_is_away_is_asked_again() {
    #[derive(Default)]
    struct Away {
        left: std::cell::Cell<u32>,
        waited: std::cell::Cell<Duration>,
        link: Link,
    }
    impl Transport for Away {
        async fn post(&self, request: Request) -> std::result::Result<Reply, String> {
            match self.left.get() {
                0 => self.link.post(request).await,
                left => {
                    self.left.set(left - 1);
                    match left % 2 {
                        0 => Err("connection refused".into()),
                        _ => Ok(Reply { status: 503, content_type: String::new(), body: Vec::new() }),
                    }
                }
            }
        }
        async fn wait(&self, time: Duration) -> bool {
            self.waited.set(self.waited.get() + time);
            true
        }
    }
    let limits = Limits { patience: Duration::from_secs(20), ..limits() };
    let away = Away { left: 5.into(), ..Away::default() };
    let one = fleet(&away, "http://in.memory", limits);
    assert_eq!(flambeau::block_on(one.activate()), Ok(NODE));
    assert_eq!(away.waited.get(), Duration::from_millis(250 + 500 + 1000 + 2000 + 4000));
    let away = Away { left: u32::MAX.into(), ..Away::default() };
    let one = fleet(&away, "http://in.memory", limits);
    let error = flambeau::block_on(one.activate()).unwrap_err().to_string();
    assert!(error.starts_with("activate-node: "), "{error}");
    assert_eq!(away.waited.get(), limits.patience);
}

#[test]
fn addresses_that_are_none() {
    for address in ["", "localhost:8000", "ftp://x", "http://", "http:///", "https://a b", "http://x?y"] {
        let error = Fleet::new(Link::default(), address, NodeKey::generate().unwrap(), limits()).unwrap_err();
        assert!(error.to_string().contains("http://127.0.0.1:8000"), "{address}: {error}");
    }
}

/// Whoever is to leave does not wait for a server that is away.
#[test]
fn a_client_that_is_asked_to_leave_goes_at_once() {
    struct Leaving(bool);
    impl App for Leaving {
        async fn train(&mut self, _: Task) -> std::result::Result<Trained, String> {
            Err("nothing is asked of it".into())
        }
        async fn evaluate(&mut self, _: Task) -> std::result::Result<Evaluated, String> {
            Err("nothing is asked of it".into())
        }
        async fn parameters(&mut self) -> std::result::Result<Named<Array>, String> {
            Err("nothing is asked of it".into())
        }
        fn properties(&mut self) -> Named<Value> {
            Named::default()
        }
        fn is_asked_to_stop(&mut self) -> bool {
            self.0
        }
    }
    struct Away(std::cell::Cell<u32>);
    impl Transport for Away {
        async fn post(&self, _: Request) -> std::result::Result<Reply, String> {
            self.0.set(self.0.get() + 1);
            Err("connection refused".into())
        }
        async fn wait(&self, _: Duration) -> bool {
            false
        }
    }
    for is_asked in [true, false] {
        let limits = Limits { patience: Duration::from_secs(1000), ..limits() };
        let fleet = fleet(Away(0.into()), "http://away", limits);
        let served = flambeau::block_on(serve(&fleet, &mut Leaving(is_asked), options(), |_| Ok(())));
        assert_eq!(fleet.transport().0.get(), 1, "it was asked once");
        match is_asked {
            true => assert_eq!(served, Ok(crate::Served::default())),
            false => assert!(matches!(served, Err(FlowerError::NoAnswer { call: "register-node", .. }))),
        }
    }
}
