//! What JavaScript calls ops with: the numbers of tensors and of random generators, and what they stand for.

use crate::handles::{self, argument};
use flambeau::calls::{Args, Lookup};
use flambeau::{Generator, Result};
use std::cell::RefCell;

/// The arguments of one call.
pub fn args<'a>(tensors: &'a [u32], numbers: &'a [f64]) -> Args<'a> {
    const LOOKUP: &Lookup = &Lookup { tensor: handles::operand, generator };
    Args::new(tensors, numbers, LOOKUP)
}

thread_local! {
    /// Generators that scripts have made; number 0 is the default one.
    static GENERATORS: RefCell<Vec<Generator>> = const { RefCell::new(Vec::new()) };
}

/// Makes a generator, and returns its number.
pub fn new_generator(seed: u64) -> u32 {
    GENERATORS.with_borrow_mut(|generators| {
        generators.push(Generator::new(seed));
        generators.len() as u32
    })
}

/// The generator of a number.
pub fn generator(number: u32) -> Result<Generator> {
    match number {
        0 => Ok(Generator::default_generator()),
        number => GENERATORS.with_borrow(|generators| {
            let found = generators.get(number as usize - 1).cloned();
            found.ok_or_else(|| argument("generator", format!("there is no generator {number}")))
        }),
    }
}
