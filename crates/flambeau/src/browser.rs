//! What a browser or Node has for WebAssembly where other systems have files and threads: time to wait, and what is at an address.
//! Crates beside this one read answers with it, too.

use crate::error::{Error, Result};
use js_sys::{Promise, Reflect, Uint8Array};
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(call: &js_sys::Function, milliseconds: f64) -> JsValue;

    #[wasm_bindgen(js_name = fetch)]
    fn fetch_address(address: &str) -> Promise;

    type Response;

    #[wasm_bindgen(method, getter)]
    fn ok(this: &Response) -> bool;

    #[wasm_bindgen(method, getter)]
    fn status(this: &Response) -> u16;

    #[wasm_bindgen(method, getter)]
    fn body(this: &Response) -> Option<Stream>;

    type Stream;

    #[wasm_bindgen(method, js_name = getReader)]
    fn reader(this: &Stream) -> Reader;

    type Reader;

    #[wasm_bindgen(method)]
    fn read(this: &Reader) -> Promise;

    #[wasm_bindgen(method)]
    fn cancel(this: &Reader) -> Promise;
}

/// Lets the page have its turn for this long.
pub(crate) async fn sleep(time: Duration) {
    let over = Promise::new(&mut |resolve, _| drop(set_timeout(&resolve, time.as_secs_f64() * 1e3)));
    // It is never rejected.
    let _ = JsFuture::from(over).await;
}

/// The bytes at an address; an error if there are more than `limit`.
pub(crate) async fn fetch(address: &str, limit: u64) -> Result<Vec<u8>> {
    let error = |message: String| Error::Io { path: address.to_owned(), message };
    let answer = JsFuture::from(fetch_address(address)).await.map_err(|cause| {
        error(format!("{}; is the address right, and may this page fetch from there (CORS)?", words(&cause)))
    })?;
    let response: &Response = answer.unchecked_ref();
    if !response.ok() {
        return Err(error(format!("the server answered with status {}", response.status())));
    }
    body(&answer, limit).await.map_err(error)
}

/// What an exception says.
pub fn words(thrown: &JsValue) -> String {
    let said = Reflect::get(thrown, &"message".into()).ok().and_then(|message| message.as_string());
    said.unwrap_or_else(|| format!("{thrown:?}"))
}

/// The body of a `Response` of `fetch`; an error in words if it ends early, or has more bytes than `limit`.
pub async fn body(response: &JsValue, limit: u64) -> std::result::Result<Vec<u8>, String> {
    let response: &Response = response.unchecked_ref();
    let Some(stream) = response.body() else { return Ok(Vec::new()) };
    let reader = stream.reader();
    let mut bytes = Vec::new();
    loop {
        let part = JsFuture::from(reader.read()).await.map_err(|cause| words(&cause))?;
        let value = |name: &str| Reflect::get(&part, &name.into()).unwrap_or(JsValue::UNDEFINED);
        if value("done").is_truthy() {
            return Ok(bytes);
        }
        let part: Uint8Array = value("value").unchecked_into();
        let before = bytes.len();
        if before as u64 + u64::from(part.length()) > limit {
            drop(reader.cancel());
            return Err(format!("more than the limit of {limit} bytes"));
        }
        bytes.resize(before + part.length() as usize, 0);
        part.copy_to(&mut bytes[before..]);
    }
}
