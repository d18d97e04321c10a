//! The methods of JavaScript's tensors: one entry each, which says what it takes and calls the library.
//!
//! The elementwise ops need no entry: the library's table is theirs; and structured primitives bring theirs along. Names, types
//! and defaults of the entries become the TypeScript of the package (`typescript/`); their docs are the library's.

mod arithmetic;
mod create;
mod layers;
mod losses;
mod shape;

#[cfg(test)]
pub use losses::LOSSES;

use arithmetic::Arithmetic;
use create::Create;
use flambeau::bindings::METHODS;
#[cfg(test)]
use flambeau::bindings::SIGNATURES;
#[cfg(test)]
use flambeau::calls::Signature;
use flambeau::calls::{Call, Methods};
use layers::Layers;
use losses::Losses;
use shape::Shape;

/// The tables here, in the order of the numbers that JavaScript uses; those of the structured primitives come after them.
const TABLES: [&[Call]; 5] = [Create::CALLS, Shape::CALLS, Arithmetic::CALLS, Layers::CALLS, Losses::CALLS];

/// The method with this number.
pub fn call(mut number: usize) -> Option<Call> {
    for table in TABLES.iter().chain(METHODS) {
        match table.get(number) {
            Some(call) => return Some(*call),
            None => number -= table.len(),
        }
    }
    None
}

/// What TypeScript is told, in the same order.
#[cfg(test)]
pub fn signatures() -> impl Iterator<Item = Signature> {
    let tables = [
        Create::signatures,
        Shape::signatures,
        Arithmetic::signatures,
        Layers::signatures,
        Losses::signatures,
    ];
    tables.into_iter().chain(SIGNATURES.iter().copied()).flat_map(|table| table())
}
