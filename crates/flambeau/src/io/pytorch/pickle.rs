//! A pickle interpreter for state dictionaries, and for nothing else.
//!
//! It makes at most one object for each opcode, takes the memory of each from the reader's budget, and calls nothing: the
//! few names it knows (`OrderedDict`, tensors, storages) are cases of [`Known`].

use super::view::View;
use crate::io::convert::{MAX_RANK, Stored};
use crate::io::limits::Budget;
use std::collections::HashMap;
use std::rc::Rc;

/// An object of the pickle, by its place among [`Objects`].
pub type Ref = usize;

/// What pickles of state dictionaries are made of.
#[derive(Debug)]
pub enum Object {
    None,
    Bool(bool),
    Int(i128),
    Float(f64),
    Text(String),
    List(Vec<Ref>),
    Tuple(Vec<Ref>),
    Dict(Vec<(Ref, Ref)>),
    Global(Known),
    Storage(Rc<Storage>),
    Tensor(Box<View>),
}

/// The names that a state dictionary needs.
#[derive(Debug, Clone, Copy)]
pub enum Known {
    OrderedDict,
    RebuildTensor,
    RebuildParameter,
    Size,
    Storage(Stored),
}

/// A stretch of memory that tensors are views of.
#[derive(Debug)]
pub struct Storage {
    pub stored: Stored,
    /// The archive's member.
    pub key: String,
    pub numel: usize,
}

/// All objects, and the one that the pickle is of.
pub struct Objects {
    all: Vec<Object>,
    pub root: Ref,
}

impl Objects {
    pub fn get(&self, object: Ref) -> &Object {
        &self.all[object]
    }
}

type Step<T> = Result<T, String>;

/// Reads a pickle, or says what is wrong with it.
pub fn unpickle(bytes: &[u8], budget: &Budget) -> Step<Objects> {
    let (all, stack, marks) = (Vec::new(), Vec::new(), Vec::new());
    let mut machine = Machine { budget, rest: bytes, all, stack, marks, memo: HashMap::new() };
    loop {
        let place = bytes.len() - machine.rest.len();
        match machine.step() {
            Ok(None) => {}
            Ok(Some(root)) => return Ok(Objects { all: machine.all, root }),
            Err(message) => return Err(format!("the pickle, at byte {place}: {message}")),
        }
    }
}

/// What a name stands for; an error for all that are not needed.
fn known(module: &str, name: &str) -> Step<Known> {
    let known = match (module, name) {
        ("collections", "OrderedDict") => Known::OrderedDict,
        ("torch._utils", "_rebuild_tensor_v2") => Known::RebuildTensor,
        ("torch._utils", "_rebuild_parameter") => Known::RebuildParameter,
        ("torch", "Size") => Known::Size,
        ("torch", "FloatStorage") => Known::Storage(Stored::F32),
        ("torch", "HalfStorage") => Known::Storage(Stored::F16),
        ("torch", "BFloat16Storage") => Known::Storage(Stored::BF16),
        ("torch", "DoubleStorage") => Known::Storage(Stored::F64),
        ("torch", "LongStorage") => Known::Storage(Stored::I64),
        ("torch", "IntStorage") => Known::Storage(Stored::I32),
        ("torch", "ShortStorage") => Known::Storage(Stored::I16),
        ("torch", "CharStorage") => Known::Storage(Stored::I8),
        ("torch", "ByteStorage") => Known::Storage(Stored::U8),
        ("torch", "BoolStorage") => Known::Storage(Stored::Bool),
        _ => {
            return Err(format!(
                "`{module}.{name}` is refused: only tensors, containers, numbers and strings are loaded; \
                 save `model.state_dict()` instead of objects"
            ));
        }
    };
    Ok(known)
}

struct Machine<'a> {
    budget: &'a Budget,
    rest: &'a [u8],
    all: Vec<Object>,
    stack: Vec<Ref>,
    marks: Vec<usize>,
    memo: HashMap<u64, Ref>,
}

impl<'a> Machine<'a> {
    /// One opcode; the root at the end.
    fn step(&mut self) -> Step<Option<Ref>> {
        match self.byte()? {
            // PROTO, FRAME
            0x80 => drop(self.take(1)?),
            0x95 => drop(self.take(8)?),
            b'.' => return self.pop().map(Some),
            b'(' => self.budget.push(&mut self.marks, self.stack.len())?,
            b'N' => self.push(Object::None)?,
            0x88 => self.push(Object::Bool(true))?,
            0x89 => self.push(Object::Bool(false))?,
            // BININT, BININT1, BININT2, LONG1, BINFLOAT
            b'J' => {
                let value = i32::from_le_bytes(self.array()?);
                self.push(Object::Int(value.into()))?;
            }
            b'K' => {
                let value = self.byte()?;
                self.push(Object::Int(value.into()))?;
            }
            b'M' => {
                let value = u16::from_le_bytes(self.array()?);
                self.push(Object::Int(value.into()))?;
            }
            0x8a => self.long()?,
            b'G' => {
                let value = f64::from_be_bytes(self.array()?);
                self.push(Object::Float(value))?;
            }
            // BINUNICODE, SHORT_BINUNICODE, BINUNICODE8
            b'X' => {
                let length = u32::from_le_bytes(self.array()?);
                self.text(length.into())?;
            }
            0x8c => {
                let length = self.byte()?;
                self.text(length.into())?;
            }
            0x8d => {
                let length = u64::from_le_bytes(self.array()?);
                self.text(length)?;
            }
            b']' => self.push(Object::List(Vec::new()))?,
            b')' => self.push(Object::Tuple(Vec::new()))?,
            b'}' => self.push(Object::Dict(Vec::new()))?,
            // TUPLE, TUPLE1, TUPLE2, TUPLE3
            b't' => {
                let items = self.pop_to_mark()?;
                self.push(Object::Tuple(items))?;
            }
            count @ 0x85..=0x87 => {
                let mut items = Vec::new();
                for _ in 0x84..count {
                    let item = self.pop()?;
                    self.budget.push(&mut items, item)?;
                }
                items.reverse();
                self.push(Object::Tuple(items))?;
            }
            // APPEND, APPENDS, SETITEM, SETITEMS
            b'a' => {
                let item = self.pop()?;
                self.extend_list(&[item])?;
            }
            b'e' => {
                let items = self.pop_to_mark()?;
                self.extend_list(&items)?;
                self.budget.give_back(size_of_val(&*items));
            }
            b's' => {
                let (value, key) = (self.pop()?, self.pop()?);
                self.extend_dict(&[key, value])?;
            }
            b'u' => {
                let items = self.pop_to_mark()?;
                self.extend_dict(&items)?;
                self.budget.give_back(size_of_val(&*items));
            }
            // BINPUT, LONG_BINPUT, MEMOIZE, BINGET, LONG_BINGET
            b'q' => {
                let place = self.byte()?;
                self.memoize(place.into())?;
            }
            b'r' => {
                let place = u32::from_le_bytes(self.array()?);
                self.memoize(place.into())?;
            }
            0x94 => self.memoize(self.memo.len() as u64)?,
            b'h' => {
                let place = self.byte()?;
                self.recall(place.into())?;
            }
            b'j' => {
                let place = u32::from_le_bytes(self.array()?);
                self.recall(place.into())?;
            }
            // GLOBAL, STACK_GLOBAL
            b'c' => {
                let known = known(self.line()?, self.line()?)?;
                self.push(Object::Global(known))?;
            }
            0x93 => {
                let (name, module) = (self.pop()?, self.pop()?);
                let known = known(self.as_text(module)?, self.as_text(name)?)?;
                self.push(Object::Global(known))?;
            }
            b'R' => self.reduce()?,
            b'b' => self.build()?,
            b'Q' => self.persistent()?,
            other => return Err(format!("opcode {other:#04x} does not occur in state dictionaries")),
        }
        Ok(None)
    }

    fn take(&mut self, count: u64) -> Step<&'a [u8]> {
        let split = usize::try_from(count).ok().and_then(|count| self.rest.split_at_checked(count));
        let (taken, rest) = split.ok_or("it ends too early")?;
        self.rest = rest;
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Step<[u8; N]> {
        self.take(N as u64)?.try_into().map_err(|_| "it ends too early".to_owned())
    }

    fn byte(&mut self) -> Step<u8> {
        Ok(self.array::<1>()?[0])
    }

    fn line(&mut self) -> Step<&'a str> {
        let length = self.rest.iter().position(|&byte| byte == b'\n').ok_or("it ends too early")?;
        let line = self.take(length as u64)?;
        self.take(1)?;
        std::str::from_utf8(line).map_err(|_| "a name is not UTF-8".to_owned())
    }

    /// An integer of up to 16 bytes, two's complement.
    fn long(&mut self) -> Step<()> {
        let length = self.byte()?;
        let bytes = self.take(length.into())?;
        if bytes.len() > 16 {
            return Err(format!("an integer of {length} bytes is too large"));
        }
        let negative = bytes.last().is_some_and(|byte| byte & 0x80 != 0);
        let mut whole = [if negative { 0xff } else { 0 }; 16];
        whole[..bytes.len()].copy_from_slice(bytes);
        self.push(Object::Int(i128::from_le_bytes(whole)))
    }

    fn text(&mut self, length: u64) -> Step<()> {
        let text = std::str::from_utf8(self.take(length)?).map_err(|_| "a string is not UTF-8")?;
        self.budget.take(text.len())?;
        self.push(Object::Text(text.to_owned()))
    }

    fn push(&mut self, object: Object) -> Step<()> {
        self.budget.push(&mut self.stack, self.all.len())?;
        self.budget.push(&mut self.all, object)
    }

    fn pop(&mut self) -> Step<Ref> {
        let above_mark = self.marks.last().is_none_or(|&mark| self.stack.len() > mark);
        Ok(self.stack.pop().filter(|_| above_mark).ok_or(EMPTY)?)
    }

    fn as_text(&self, object: Ref) -> Step<&str> {
        match &self.all[object] {
            Object::Text(text) => Ok(text),
            other => Err(format!("expected a string, found {}", other.kind())),
        }
    }

    fn as_tuple(&self, object: Ref) -> Step<&[Ref]> {
        match &self.all[object] {
            Object::Tuple(items) => Ok(items),
            other => Err(format!("expected a tuple, found {}", other.kind())),
        }
    }

    fn pop_to_mark(&mut self) -> Step<Vec<Ref>> {
        let mark = self.marks.pop().filter(|&mark| mark <= self.stack.len()).ok_or(EMPTY)?;
        self.budget.take(size_of_val(&self.stack[mark..]))?;
        Ok(self.stack.split_off(mark))
    }

    fn top(&mut self) -> Step<&mut Object> {
        let top = *self.stack.last().ok_or(EMPTY)?;
        Ok(&mut self.all[top])
    }

    fn extend_list(&mut self, items: &[Ref]) -> Step<()> {
        let budget = self.budget;
        match self.top()? {
            Object::List(list) => items.iter().try_for_each(|&item| budget.push(list, item)),
            other => Err(format!("items cannot be added to {}", other.kind())),
        }
    }

    fn extend_dict(&mut self, items: &[Ref]) -> Step<()> {
        let budget = self.budget;
        let mut pairs = items.chunks_exact(2);
        if !pairs.remainder().is_empty() {
            return Err("a key has no value".into());
        }
        match self.top()? {
            Object::Dict(dict) => pairs.try_for_each(|pair| budget.push(dict, (pair[0], pair[1]))),
            other => Err(format!("entries cannot be added to {}", other.kind())),
        }
    }

    fn memoize(&mut self, place: u64) -> Step<()> {
        let object = *self.stack.last().ok_or(EMPTY)?;
        if !self.memo.contains_key(&place) {
            self.budget.take(REMEMBERED)?;
        }
        self.memo.insert(place, object);
        Ok(())
    }

    fn recall(&mut self, place: u64) -> Step<()> {
        let object = *self.memo.get(&place).ok_or_else(|| format!("nothing is remembered as {place}"))?;
        self.budget.push(&mut self.stack, object)
    }

    /// A call of one of the known names.
    fn reduce(&mut self) -> Step<()> {
        let (arguments, callable) = (self.pop()?, self.pop()?);
        let Object::Global(callable) = self.all[callable] else {
            return Err(format!("{} cannot be called", self.all[callable].kind()));
        };
        match (callable, self.as_tuple(arguments)?) {
            (Known::OrderedDict, []) => self.push(Object::Dict(Vec::new())),
            (Known::RebuildTensor, &[storage, offset, size, stride, ..]) => {
                let tensor = self.tensor(storage, offset, size, stride)?;
                self.push(Object::Tensor(Box::new(tensor)))
            }
            // A parameter is its tensor, a size its tuple.
            (Known::RebuildParameter, &[object, ..]) | (Known::Size, &[object]) => {
                self.budget.push(&mut self.stack, object)
            }
            (callable, arguments) => {
                Err(format!("{callable:?} is not called with {} arguments", arguments.len()))
            }
        }
    }

    /// Attributes of an ordered dictionary (`_metadata` of a module's), which are not needed.
    fn build(&mut self) -> Step<()> {
        self.pop()?;
        match self.top()? {
            Object::Dict(_) => Ok(()),
            other => Err(format!("{} has no attributes", other.kind())),
        }
    }

    /// `('storage', type, key, location, number of elements)`
    fn persistent(&mut self) -> Step<()> {
        let id = self.pop()?;
        let &[tag, kind, key, _, numel] = self.as_tuple(id)? else {
            return Err("a storage has 5 fields".into());
        };
        let storage = match [tag, kind, key, numel].map(|item| &self.all[item]) {
            [Object::Text(tag), Object::Global(Known::Storage(stored)), Object::Text(key), _]
                if tag == "storage" && key.len() <= MAX_KEY =>
            {
                self.budget.take(size_of::<Storage>() + key.len())?;
                Storage { stored: *stored, key: key.clone(), numel: self.number(numel)? }
            }
            _ => return Err("a persistent id that is not a storage".into()),
        };
        self.push(Object::Storage(Rc::new(storage)))
    }

    fn tensor(&self, storage: Ref, offset: Ref, size: Ref, stride: Ref) -> Step<View> {
        let Object::Storage(storage) = &self.all[storage] else {
            return Err(format!("a tensor is a view of a storage, not of {}", self.all[storage].kind()));
        };
        let [dims, strides] = [self.numbers(size)?, self.numbers(stride)?];
        View::new(Rc::clone(storage), self.number(offset)?, dims, strides)
    }

    fn number(&self, object: Ref) -> Step<usize> {
        match &self.all[object] {
            Object::Int(value) => {
                usize::try_from(*value).map_err(|_| format!("{value} is not a size, stride or offset"))
            }
            other => Err(format!("expected an integer, found {}", other.kind())),
        }
    }

    fn numbers(&self, object: Ref) -> Step<Vec<usize>> {
        let items = self.as_tuple(object)?;
        if items.len() > MAX_RANK {
            return Err(format!("a tensor of {} dimensions", items.len()));
        }
        self.budget.take(size_of::<View>() + 2 * size_of_val(items))?;
        items.iter().map(|&item| self.number(item)).collect()
    }
}

/// Keys of storages are numbers in practice.
const MAX_KEY: usize = 256;
/// What remembering an object takes, in a table that doubles when it grows.
const REMEMBERED: usize = 64;
const EMPTY: &str = "it takes more from the stack than there is";

impl Object {
    /// What it is, for errors.
    fn kind(&self) -> &'static str {
        match self {
            Object::None => "None",
            Object::Bool(_) => "a bool",
            Object::Int(_) => "an integer",
            Object::Float(_) => "a float",
            Object::Text(_) => "a string",
            Object::List(_) => "a list",
            Object::Tuple(_) => "a tuple",
            Object::Dict(_) => "a dictionary",
            Object::Global(_) => "a function",
            Object::Storage(_) => "a storage",
            Object::Tensor(_) => "a tensor",
        }
    }
}
