//! What a server asks of a client, in both ways in which Flower's strategies put it: by records under any names (`flwr.serverapp`),
//! or by the records of the older API (`flwr.server`), which stand for `FitIns`, `FitRes` and so on.

use crate::error::{FlowerError, Result};
use crate::message::{Message, Problem};
use crate::records::{Array, Named, Record, RecordDict, Value};
use std::future::Future;

/// The parameters of a round, and the server's settings for it.
#[derive(Debug, Clone, PartialEq)]
pub struct Task {
    /// The run it belongs to.
    pub run_id: u64,
    /// The parameters to begin with. In the older API they have no names but their numbers.
    pub arrays: Named<Array>,
    /// The server's settings.
    pub config: Named<Value>,
}

impl Task {
    /// The round, where the server tells it.
    pub fn round(&self) -> Option<u64> {
        ["server-round", "server_round"].iter().find_map(|name| self.number(name)).map(|round| round as u64)
    }

    /// The number of that name in the settings.
    pub fn number(&self, name: &str) -> Option<f64> {
        self.config.get(name).and_then(Value::number)
    }
}

/// What training gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Trained {
    /// The new parameters, under the names and in the order of those received.
    pub arrays: Named<Array>,
    /// How many examples there were: the weight of the update.
    pub examples: u64,
    /// Numbers that the server averages.
    pub metrics: Named<f64>,
}

/// What evaluating gives.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Evaluated {
    /// The mean loss.
    pub loss: f64,
    /// How many examples there were.
    pub examples: u64,
    /// Numbers that the server averages.
    pub metrics: Named<f64>,
}

/// What a client does. An error goes to the server as a message, and the client goes on.
pub trait App {
    /// Trains from the given parameters.
    fn train(&mut self, task: Task) -> impl Future<Output = std::result::Result<Trained, String>>;

    /// Says how good the given parameters are on this client's data.
    fn evaluate(&mut self, task: Task) -> impl Future<Output = std::result::Result<Evaluated, String>>;

    /// The parameters that a run could begin with, in order.
    fn parameters(&mut self) -> impl Future<Output = std::result::Result<Named<Array>, String>>;

    /// What the client says of itself.
    fn properties(&mut self) -> Named<Value>;

    /// Shall the client stop after what it is doing?
    fn is_asked_to_stop(&mut self) -> bool {
        false
    }
}

/// In which way a message is put.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Dialect {
    Records,
    Older,
}

/// What a message asks for.
enum Wish {
    Train(Task),
    Evaluate(Task),
    Parameters,
    Properties,
}

/// The app's answer to a message. What is wrong with the message, and the app's own errors, are answers too.
pub(crate) async fn answer(
    app: &mut impl App,
    message: &Message,
) -> std::result::Result<RecordDict, Problem> {
    let problem = |error: FlowerError| Problem::of_app(error.to_string());
    let (dialect, wish) = read(message).map_err(problem)?;
    Ok(match wish {
        Wish::Train(task) => trained(dialect, app.train(task).await.map_err(Problem::of_app)?),
        Wish::Evaluate(task) => evaluated(dialect, app.evaluate(task).await.map_err(Problem::of_app)?),
        Wish::Parameters => parameters(dialect, app.parameters().await.map_err(Problem::of_app)?),
        Wish::Properties => properties(dialect, app.properties()),
    })
}

/// Seconds that the server wants to be left alone, if that is what a message asks for.
pub(crate) fn reconnect_after(message: &Message) -> Option<f64> {
    if message.metadata.message_type != "reconnect" {
        return None;
    }
    let content = message.content.as_ref().ok();
    let seconds = content.and_then(|content| content.configs().next());
    seconds.and_then(|(_, config)| config.get("seconds").and_then(Value::number)).or(Some(0.0))
}

/// The answer to a message that asks for a pause.
pub(crate) fn reconnecting() -> RecordDict {
    const RECONNECT: i64 = 1;
    config("config", Named::default().with("reason", RECONNECT.into()))
}

fn read(message: &Message) -> Result<(Dialect, Wish)> {
    let kind = message.metadata.message_type.as_str();
    let wrong = |what: &str| FlowerError::Message { kind: kind.to_owned(), message: what.to_owned() };
    let content = message.content.as_ref().map_err(|problem| wrong(&problem.reason))?;
    let (category, action) = kind.split_once('.').unwrap_or((kind, "default"));
    Ok(match (category, action) {
        ("train", "default") => {
            let (dialect, task) = task(message, content, "fitins")?;
            (dialect, Wish::Train(task))
        }
        ("evaluate", "default") => {
            let (dialect, task) = task(message, content, "evaluateins")?;
            (dialect, Wish::Evaluate(task))
        }
        ("query", "parameters") => (Dialect::Records, Wish::Parameters),
        ("query", "default") => (Dialect::Records, Wish::Properties),
        ("get_parameters", _) => (Dialect::Older, Wish::Parameters),
        ("get_properties", _) => (Dialect::Older, Wish::Properties),
        _ => {
            return Err(wrong(
                "this client knows train, evaluate, query, query.parameters, get_parameters, get_properties and reconnect",
            ));
        }
    })
}

/// The parameters and settings of a message.
fn task(message: &Message, content: &RecordDict, older: &str) -> Result<(Dialect, Task)> {
    let wrong =
        |what: String| FlowerError::Message { kind: message.metadata.message_type.clone(), message: what };
    let records: Vec<_> = content.arrays().collect();
    let [(name, arrays)] = records[..] else {
        return Err(wrong(format!("{} records of arrays where one is expected", records.len())));
    };
    let is_older = name == format!("{older}.parameters");
    let mut config = Named::default();
    for (_, record) in content.configs() {
        record.iter().for_each(|(name, value)| config.insert(name, value.clone()));
    }
    let mut arrays = arrays.clone();
    if is_older {
        // How the older API says that there are none.
        arrays = arrays.into_iter().filter(|(name, _)| name != "_empty").collect();
    }
    let dialect = if is_older { Dialect::Older } else { Dialect::Records };
    Ok((dialect, Task { run_id: message.metadata.run_id, arrays, config }))
}

fn trained(dialect: Dialect, result: Trained) -> RecordDict {
    let Trained { arrays, examples, metrics } = result;
    match dialect {
        Dialect::Records => Named::default()
            .with("arrays", Record::Arrays(arrays))
            .with("metrics", Record::Metrics(with_examples(examples, metrics))),
        Dialect::Older => {
            older("fitres", metrics, examples).with("fitres.parameters", Record::Arrays(numbered(arrays)))
        }
    }
}

fn evaluated(dialect: Dialect, result: Evaluated) -> RecordDict {
    let Evaluated { loss, examples, metrics } = result;
    match dialect {
        Dialect::Records => {
            let metrics = with_examples(examples, metrics).with("eval_loss", loss.into());
            Named::default().with("metrics", Record::Metrics(metrics))
        }
        Dialect::Older => {
            let loss = Named::default().with("loss", loss.into());
            older("evaluateres", metrics, examples).with("evaluateres.loss", Record::Metrics(loss))
        }
    }
}

fn parameters(dialect: Dialect, arrays: Named<Array>) -> RecordDict {
    match dialect {
        Dialect::Records => Named::default().with("arrays", Record::Arrays(arrays)),
        Dialect::Older => {
            status("getparametersres").with("getparametersres.parameters", Record::Arrays(numbered(arrays)))
        }
    }
}

fn properties(dialect: Dialect, properties: Named<Value>) -> RecordDict {
    match dialect {
        Dialect::Records => config("properties", properties),
        Dialect::Older => {
            status("getpropertiesres").with("getpropertiesres.properties", Record::Config(properties))
        }
    }
}

/// Metrics with the number of examples under the name by which Flower's strategies weight.
fn with_examples(examples: u64, metrics: Named<f64>) -> Named<Value> {
    let first = ("num-examples".to_owned(), whole(examples));
    std::iter::once(first).chain(metrics.into_iter().map(|(name, value)| (name, value.into()))).collect()
}

/// What the older API's answers have in common.
fn older(kind: &str, metrics: Named<f64>, examples: u64) -> RecordDict {
    let metrics = metrics.into_iter().map(|(name, value)| (name, value.into())).collect();
    let examples = Named::default().with("num_examples", whole(examples));
    status(kind)
        .with(format!("{kind}.metrics"), Record::Config(metrics))
        .with(format!("{kind}.num_examples"), Record::Metrics(examples))
}

/// The older API's word that all is well.
fn status(kind: &str) -> RecordDict {
    let status = Named::default().with("code", Value::Int(0)).with("message", "Success".into());
    config(format!("{kind}.status"), status)
}

fn config(name: impl Into<String>, values: Named<Value>) -> RecordDict {
    Named::default().with(name, Record::Config(values))
}

/// Arrays under their numbers, as the older API has them.
fn numbered(arrays: Named<Array>) -> Named<Array> {
    arrays.into_iter().enumerate().map(|(number, (_, array))| (number.to_string(), array)).collect()
}

fn whole(number: u64) -> Value {
    i64::try_from(number).map_or(Value::UInt(number), Value::Int)
}
