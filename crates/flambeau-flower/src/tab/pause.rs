//! Waiting in a tab: for a timer, or for a bell that somebody rings.

use js_sys::{Function, Promise};
use std::cell::RefCell;
use std::future::poll_fn;
use std::pin::pin;
use std::rc::Rc;
use std::task::{Poll, Waker};
use std::time::Duration;
use wasm_bindgen::prelude::*;
use wasm_bindgen_futures::JsFuture;

#[wasm_bindgen]
extern "C" {
    #[wasm_bindgen(js_name = setTimeout)]
    fn set_timeout(call: &Function, milliseconds: f64) -> JsValue;

    #[wasm_bindgen(js_name = clearTimeout)]
    fn clear_timeout(timer: &JsValue);
}

/// A timer that ends with its owner.
struct Timer(JsValue);

impl Drop for Timer {
    fn drop(&mut self) {
        clear_timeout(&self.0);
    }
}

/// Lets time go by.
pub async fn sleep(time: Duration) {
    let mut timer = None;
    let over = Promise::new(&mut |resolve, _| {
        timer = Some(Timer(set_timeout(&resolve, time.as_secs_f64() * 1e3)));
    });
    // It is never rejected.
    let _ = JsFuture::from(over).await;
    drop(timer);
}

/// What a future gives, unless another is ready first.
pub async fn unless<T>(other: impl Future<Output = ()>, work: impl Future<Output = T>) -> Option<T> {
    let (mut other, mut work) = (pin!(other), pin!(work));
    poll_fn(|context| match work.as_mut().poll(context) {
        Poll::Ready(done) => Poll::Ready(Some(done)),
        Poll::Pending => other.as_mut().poll(context).map(|()| None),
    })
    .await
}

/// Rings once, and is heard by all who wait for it, then and later. Clones are the same bell.
#[derive(Debug, Clone, Default)]
pub struct Bell(Rc<RefCell<Heard>>);

#[derive(Debug, Default)]
struct Heard {
    has_rung: bool,
    wakers: Vec<Waker>,
}

impl Bell {
    /// Rings.
    pub fn ring(&self) {
        let wakers = {
            let mut heard = self.0.borrow_mut();
            heard.has_rung = true;
            std::mem::take(&mut heard.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Has it rung?
    pub fn has_rung(&self) -> bool {
        self.0.borrow().has_rung
    }

    /// Waits until it rings.
    pub async fn heard(&self) {
        poll_fn(|context| {
            let mut heard = self.0.borrow_mut();
            if heard.has_rung {
                return Poll::Ready(());
            }
            // One task waits, perhaps again and again.
            if !heard.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
                heard.wakers.push(context.waker().clone());
            }
            Poll::Pending
        })
        .await;
    }
}
