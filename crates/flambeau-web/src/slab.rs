//! Numbered things that JavaScript holds besides tensors: layers, parameters, optimizers, schedules.

use crate::handles::argument;
use flambeau::Result;
use std::cell::RefCell;
use std::rc::Rc;

/// Things by number; 0 is none of them.
pub struct Slab<T> {
    kind: &'static str,
    things: RefCell<Vec<Option<Rc<T>>>>,
    free: RefCell<Vec<u32>>,
}

impl<T> Slab<T> {
    /// Without things; `kind` is what errors call them.
    pub const fn new(kind: &'static str) -> Self {
        Slab { kind, things: RefCell::new(Vec::new()), free: RefCell::new(Vec::new()) }
    }

    /// Takes a thing in.
    pub fn add(&self, thing: T) -> u32 {
        let thing = Some(Rc::new(thing));
        let mut things = self.things.borrow_mut();
        match self.free.borrow_mut().pop() {
            Some(number) => {
                things[number as usize - 1] = thing;
                number
            }
            None => {
                things.push(thing);
                things.len() as u32
            }
        }
    }

    /// The thing with this number.
    pub fn get(&self, number: u32) -> Result<Rc<T>> {
        let things = self.things.borrow();
        let found = (number as usize).checked_sub(1).and_then(|place| things.get(place)?.clone());
        found.ok_or_else(|| argument(self.kind, "it has been disposed of"))
    }

    /// Everything that is there.
    pub fn all(&self) -> Vec<Rc<T>> {
        self.things.borrow().iter().flatten().cloned().collect()
    }

    /// Lets go of a thing.
    pub fn remove(&self, number: u32) {
        let place = (number as usize).checked_sub(1);
        let removed = place.and_then(|place| self.things.borrow_mut().get_mut(place)?.take());
        if removed.is_some() {
            self.free.borrow_mut().push(number);
        }
        drop(removed);
    }
}
