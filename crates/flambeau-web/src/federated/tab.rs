//! The client of a tab. It has one call: small ones, and what they drop, would be in the module's first part.

use super::values::{Answer, Settings, from_json, read, to_json};
use crate::handles::argument;
use crate::layers::{Slot, slot};
use flambeau::Result as Fallible;
use flambeau::browser::words;
use flambeau::io::StateDict;
use flambeau_flower::privacy::{Noise, Privacy};
use flambeau_flower::{
    App, Array, Evaluated, Fetch, Fleet, FlowerError, Heartbeat, Limits, Named, NodeKey, Received,
    ServeOptions, Task, Trained, Value, serve,
};
use js_sys::Promise;
use serde_json::{Value as Json, json};
use std::rc::Rc;
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::{JsFuture, future_to_promise, spawn_local};

#[wasm_bindgen]
extern "C" {
    /// A client, as the package has it.
    #[derive(Clone)]
    pub type FederatedClient;

    /// Asks it something, with JSON for the question and the answer: to train, to evaluate, to hear what has happened, or to say
    /// when the client is to leave.
    #[wasm_bindgen(method)]
    fn ask(this: &FederatedClient, what: &str, question: &str) -> Promise;
}

impl FederatedClient {
    /// The answer about a task.
    async fn answer(&self, what: &'static str, task: &Task) -> Answered<Answer> {
        // An error of the package's, or of the functions that were given to it.
        let thrown = |error: JsValue| FlowerError::Argument { what, message: words(&error) };
        let answer = JsFuture::from(self.ask(what, &written(task))).await.map_err(thrown)?;
        Ok(read(what, &answer.as_string().unwrap_or_default())?)
    }

    fn tell(&self, happening: Json) {
        // There is no answer.
        drop(self.ask("hear", &happening.to_string()));
    }
}

/// What answers a server's messages.
struct Tab {
    client: FederatedClient,
    slots: Vec<(String, Rc<Slot>)>,
    privacy: Option<(Privacy, Noise)>,
    properties: Named<Value>,
    rounds: u64,
    transport: Fetch,
}

type Answered<T> = Result<T, FlowerError>;

impl Tab {
    /// The model's values by name.
    fn state(&self) -> StateDict {
        let value = |slot: &Slot| match slot {
            Slot::Parameter(parameter) => parameter.value(),
            Slot::Buffer(buffer) => buffer.get(),
        };
        self.slots.iter().map(|(name, slot)| (name.clone(), value(slot))).collect()
    }

    /// Puts the server's arrays into the model; all of them or none.
    fn load(&self, task: &Task) -> Answered<Received> {
        let received = Received::new(task, &self.state())?;
        let values: Vec<_> = received.state().iter().map(|(_, value)| value).collect();
        flambeau::eval(&values)?;
        for (name, slot) in &self.slots {
            // There is one for each.
            let Some(value) = received.state().get(name) else { continue };
            match &**slot {
                Slot::Parameter(parameter) => parameter.try_set(value)?,
                Slot::Buffer(buffer) => buffer.try_set(value)?,
            }
        }
        Ok(received)
    }

    async fn try_train(&mut self, task: &Task) -> Answered<Trained> {
        let received = self.load(task)?;
        let answer = self.client.answer("train", task).await?;
        let after = self.state();
        let protection = self.privacy.as_mut().map(|(privacy, noise)| (privacy, noise));
        let (trained, protected) = received.trained(&after, answer.outcome(), protection).await?;
        self.rounds += 1;
        let privacy = protected.zip(self.privacy.as_ref()).map(|(done, (privacy, _))| {
            json!({ "norm": done.norm, "factor": done.factor, "deviation": done.deviation, "epsilon": done.epsilon, "delta": privacy.delta() })
        });
        let mut report = json!({
            "run": task.run_id.to_string(), "round": task.round().unwrap_or(self.rounds),
            "examples": answer.examples, "loss": answer.loss, "seconds": trained.metrics.get("seconds"),
        });
        if let Some(privacy) = privacy {
            report["privacy"] = privacy;
        }
        self.client.tell(json!({ "kind": "round", "report": report }));
        Ok(trained)
    }

    async fn try_evaluate(&mut self, task: &Task) -> Answered<Evaluated> {
        self.load(task)?;
        let answer = self.client.answer("evaluate", task).await?;
        let mut metrics = answer.metrics();
        if let Some(accuracy) = answer.accuracy {
            metrics.insert("eval_acc", accuracy);
        }
        // The package has seen to it that there is one.
        let loss = answer.loss.unwrap_or(f64::NAN);
        let report = json!({
            "run": task.run_id.to_string(), "round": task.round(),
            "examples": answer.examples, "loss": loss, "accuracy": answer.accuracy,
        });
        self.client.tell(json!({ "kind": "evaluated", "report": report }));
        Ok(Evaluated { loss, examples: answer.examples, metrics })
    }

    /// Tells the page what the server will be told.
    fn trouble(&self, error: FlowerError) -> String {
        let message = error.to_string();
        self.client.tell(json!({ "kind": "trouble", "message": message }));
        message
    }
}

impl App for Tab {
    async fn train(&mut self, task: Task) -> Result<Trained, String> {
        let end = self.try_train(&task).await;
        end.map_err(|error| self.trouble(error))
    }

    async fn evaluate(&mut self, task: Task) -> Result<Evaluated, String> {
        let end = self.try_evaluate(&task).await;
        end.map_err(|error| self.trouble(error))
    }

    async fn parameters(&mut self) -> Result<Named<Array>, String> {
        let mut arrays = Vec::new();
        for (name, tensor) in self.state().iter() {
            arrays.push((name.to_owned(), Array::of(tensor).await.map_err(|error| self.trouble(error))?));
        }
        Ok(arrays.into_iter().collect())
    }

    fn properties(&mut self) -> Named<Value> {
        self.properties.clone()
    }

    fn is_asked_to_stop(&mut self) -> bool {
        self.transport.is_leaving()
    }
}

/// A task for JavaScript.
fn written(task: &Task) -> String {
    let settings: serde_json::Map<String, Json> =
        task.config.iter().map(|(name, value)| (name.to_owned(), to_json(value))).collect();
    json!({ "run": task.run_id.to_string(), "settings": settings }).to_string()
}

/// Takes part in a server's runs with a model whose values have these names, until the run is over or the client is to leave; settings, and
/// what came of it, as JSON. The client makes itself a key.
#[wasm_bindgen]
pub fn federated_serve(
    client: FederatedClient,
    names: Vec<String>,
    slots: &[u32],
    settings: &str,
) -> Result<Promise, JsError> {
    let settings: Settings = read("serve", settings)?;
    let time = |option, seconds| {
        Duration::try_from_secs_f64(seconds).map_err(|error| argument(option, format!("{seconds}: {error}")))
    };
    let (poll, patience) = (time("poll", settings.poll)?, time("patience", settings.patience)?);
    let limits = Limits { patience, ..Limits::default() };
    let transport = Fetch::default();
    let fleet = Fleet::new(transport.clone(), &settings.server, NodeKey::generate()?, limits)?;
    let privacy = match settings.privacy {
        Some(asked) => Some((Privacy::new(asked.clip, asked.noise, asked.delta)?, Noise::new()?)),
        None => None,
    };
    let mut properties = Named::default()
        .with("framework", "flambeau".into())
        .with("version", env!("CARGO_PKG_VERSION").into());
    for (name, value) in &settings.properties {
        properties.insert(name, from_json(name, value)?);
    }
    let slots = slots.iter().map(|&number| slot(number)).collect::<Fallible<Vec<_>>>()?;
    let slots = names.into_iter().zip(slots).collect();
    let (asked, left) = (client.clone(), transport.clone());
    let tab = Tab { client, slots, privacy, properties, rounds: 0, transport };
    spawn_local(async move {
        // It is never rejected.
        _ = JsFuture::from(asked.ask("leave", "")).await;
        left.leave();
    });
    let options = ServeOptions { poll, stay: settings.stay, register: true };
    Ok(future_to_promise(async move {
        let served = take_part(tab, fleet, options).await;
        served.map(JsValue::from).map_err(|error| JsError::from(error).into())
    }))
}

/// What came of it, as JSON.
async fn take_part(mut tab: Tab, fleet: Fleet<Fetch>, options: ServeOptions) -> Answered<String> {
    let client = tab.client.clone();
    let online = |node: u64| {
        client.tell(json!({ "kind": "online", "node": node.to_string() }));
        Heartbeat::start(fleet.clone(), node)
    };
    let served = serve(&fleet, &mut tab, options, online).await?;
    let epsilon = tab.privacy.as_ref().map(|(privacy, _)| privacy.epsilon()).transpose()?;
    let result = json!({
        "node": served.node.to_string(), "runs": served.runs.iter().map(u64::to_string).collect::<Vec<_>>(),
        "answered": served.answered, "rounds": tab.rounds, "epsilon": epsilon,
        "stopped": if tab.transport.is_leaving() { "asked" } else { "done" },
    });
    Ok(result.to_string())
}
