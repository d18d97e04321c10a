//! Requests by `fetch`.

use super::pause::{Bell, sleep, unless};
use crate::transport::{Reply, Request, Transport};
use flambeau::browser::{body, words};
use js_sys::{Object, Promise, Reflect, Uint8Array};
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = fetch)]
    fn fetch_with(address: &str, options: &Object) -> Promise;

    type AbortSignal;

    #[wasm_bindgen(static_method_of = AbortSignal)]
    fn timeout(milliseconds: f64) -> JsValue;

    type Response;

    #[wasm_bindgen(method, getter)]
    fn status(this: &Response) -> u16;

    #[wasm_bindgen(method, getter)]
    fn headers(this: &Response) -> Headers;

    type Headers;

    #[wasm_bindgen(method)]
    fn get(this: &Headers, name: &str) -> Option<String>;
}

/// Sends requests by `fetch`. Clones are asked to leave together.
#[derive(Debug, Clone, Default)]
pub struct Fetch {
    leaving: Bell,
}

impl Fetch {
    /// Asks the client to leave: all its waits end at once.
    pub fn leave(&self) {
        self.leaving.ring();
    }

    /// Was the client asked to leave?
    pub fn is_leaving(&self) -> bool {
        self.leaving.has_rung()
    }
}

fn object(entries: impl IntoIterator<Item = (impl AsRef<str>, JsValue)>) -> Object {
    let object = Object::new();
    for (name, value) in entries {
        // A new object takes every value.
        _ = Reflect::set(&object, &name.as_ref().into(), &value);
    }
    object
}

impl Transport for Fetch {
    async fn post(&self, request: Request) -> Result<Reply, String> {
        let headers = request.headers.iter().map(|(name, value)| (name, value.into()));
        let options = object([
            ("method", "POST".into()),
            ("headers", object(headers).into()),
            ("body", Uint8Array::from(&request.body[..]).into()),
            ("signal", AbortSignal::timeout(request.timeout.as_secs_f64() * 1e3)),
            // What is sent is for this server, and says all that it needs to know.
            ("redirect", "error".into()),
            ("credentials", "omit".into()),
            ("referrerPolicy", "no-referrer".into()),
            ("cache", "no-store".into()),
        ]);
        let response =
            JsFuture::from(fetch_with(&request.url, &options)).await.map_err(|error| words(&error))?;
        let answer: &Response = response.unchecked_ref();
        let (status, content_type) =
            (answer.status(), answer.headers().get("content-type").unwrap_or_default());
        Ok(Reply { status, content_type, body: body(&response, request.limit as u64).await? })
    }

    async fn wait(&self, time: Duration) -> bool {
        unless(self.leaving.heard(), sleep(time)).await.is_some()
    }
}
