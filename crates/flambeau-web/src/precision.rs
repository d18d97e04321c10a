//! How precise products of f32 are to be, for JavaScript: the word of the module, which is the process, and of a scope. (That of a
//! device is said when it is opened.)

use flambeau::{MatmulPrecisionGuard, Precision};
use std::cell::RefCell;
use wasm_bindgen::prelude::*;

thread_local! {
    static SCOPES: RefCell<Vec<MatmulPrecisionGuard>> = const { RefCell::new(Vec::new()) };
}

/// The word `high`, or `highest`.
pub fn precision_of(high: bool) -> Precision {
    if high { Precision::High } else { Precision::Highest }
}

/// Says it for the module.
#[wasm_bindgen]
pub fn precision_set(high: bool) {
    flambeau::set_float32_matmul_precision(precision_of(high));
}

/// Is the module's word `high`?
#[wasm_bindgen]
pub fn precision_is_high() -> bool {
    flambeau::float32_matmul_precision() == Precision::High
}

/// Says it until [`precision_leave`].
#[wasm_bindgen]
pub fn precision_enter(high: bool) {
    let guard = flambeau::enter_matmul_precision(precision_of(high));
    SCOPES.with_borrow_mut(|scopes| scopes.push(guard));
}

/// Goes back to the scope before the last [`precision_enter`].
#[wasm_bindgen]
pub fn precision_leave() {
    drop(SCOPES.with_borrow_mut(Vec::pop));
}
