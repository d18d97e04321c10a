//! How JavaScript calls an op: its number, the tensors, and one list of numbers that holds everything else.
//!
//! An argument type says how it reads itself from there ([`Arg`]), and how TypeScript calls and writes it: from that
//! the typed methods of the package are generated.

use crate::handles::{self, argument};
use flambeau::nn::functional::{BagMode, InterpolateMode};
use flambeau::nn::loss::{KlDivReduction, Reduction};
use flambeau::settings::Word;
use flambeau::{DType, Dims, Generator, Operand, Padding, Result, Scalar, Spatial, Tensor};
use std::cell::RefCell;

/// What a call is given.
pub struct Args<'a> {
    handles: &'a [u32],
    numbers: &'a [f64],
}

impl<'a> Args<'a> {
    /// The arguments of one call.
    pub fn new(handles: &'a [u32], numbers: &'a [f64]) -> Self {
        Args { handles, numbers }
    }

    /// The next argument.
    pub fn take<T: Arg>(&mut self) -> Result<T> {
        T::take(self)
    }

    fn number(&mut self) -> Result<f64> {
        let [first, rest @ ..] = self.numbers else { return Err(argument("call", "an argument is missing")) };
        self.numbers = rest;
        Ok(*first)
    }

    fn list(&mut self) -> Result<&'a [f64]> {
        let count = self.number()? as usize;
        let (list, rest) =
            self.numbers.split_at_checked(count).ok_or_else(|| argument("call", "a list is too short"))?;
        self.numbers = rest;
        Ok(list)
    }

    fn handle(&mut self) -> Result<u32> {
        let [first, rest @ ..] = self.handles else { return Err(argument("call", "a tensor is missing")) };
        self.handles = rest;
        Ok(*first)
    }
}

/// A type of argument.
pub trait Arg: Sized {
    /// Its TypeScript type.
    #[cfg(test)]
    fn typescript() -> String;
    /// The method of the package's writer that writes it.
    #[cfg(test)]
    const WRITER: &'static str;

    /// What TypeScript puts there when it is left out, if that is this value; `?` lets it be left out altogether.
    #[cfg(test)]
    fn shown(&self) -> String {
        "?".to_string()
    }

    /// Reads it.
    fn take(args: &mut Args) -> Result<Self>;
}

macro_rules! args {
    ($($(#[$doc:meta])* $type:ty, $ts:literal, $writer:literal $(, shown $shown:tt)?, |$args:ident| $take:expr;)*) => {$(
        $(#[$doc])*
        impl Arg for $type {
            #[cfg(test)]
            fn typescript() -> String {
                $ts.to_string()
            }

            #[cfg(test)]
            const WRITER: &'static str = $writer;

            $(#[cfg(test)]
            fn shown(&self) -> String {
                $shown(self)
            })?

            fn take($args: &mut Args) -> Result<Self> {
                $take
            }
        }
    )*};
}

args! {
    Tensor, "Tensor", "t", |args| handles::operand(args.handle()?);
    Option<Tensor>, "Tensor", "mt", |args| match args.handle()? {
        0 => Ok(None),
        handle => handles::operand(handle).map(Some),
    };
    Vec<Tensor>, "readonly Tensor[]", "ts", |args| {
        let count = args.number()? as usize;
        (0..count).map(|_| handles::operand(args.handle()?)).collect()
    };
    Operand, "Tensor | number", "o", |args| match args.number()? {
        0.0 => Ok(Operand::Tensor(handles::operand(args.handle()?)?)),
        _ => Ok(Operand::Scalar(scalar(args.number()?))),
    };
    f64, "number", "n", shown number, |args| args.number();
    isize, "number", "n", |args| signed(args.number()?);
    i64, "number", "n", shown number, |args| whole(args.number()?);
    usize, "number", "n", shown number, |args| size(args.number()?);
    u32, "number", "n", shown number, |args| Ok(size(args.number()?)? as u32);
    bool, "boolean", "b", shown number, |args| Ok(args.number()? != 0.0);
    Option<f64>, "number", "mn", |args| Ok(args.list()?.first().copied());
    Option<isize>, "number", "mn", |args| args.list()?.first().map(|&value| signed(value)).transpose();
    Option<usize>, "number", "mn", |args| args.list()?.first().map(|&value| size(value)).transpose();
    Vec<f64>, "readonly number[]", "ns", |args| Ok(args.list()?.to_vec());
    Vec<isize>, "readonly number[]", "ns", |args| args.list()?.iter().map(|&value| signed(value)).collect();
    Vec<usize>, "readonly number[]", "ns", |args| args.list()?.iter().map(|&value| size(value)).collect();
    Dims, "Dims", "d", |args| match args.number()? {
        count if count < 0.0 => Ok(Dims::from(..)),
        count => {
            let dims = (0..count as usize).map(|_| signed(args.number()?));
            Ok(Dims::from(dims.collect::<Result<Vec<isize>>>()?))
        }
    };
    String, "string", "s", |args| {
        let codes = args.list()?.iter().map(|&code| char::from_u32(code as u32).unwrap_or(char::REPLACEMENT_CHARACTER));
        Ok(codes.collect())
    };
    Generator, "Generator", "g", |args| generator(args.number()? as u32);
    DType, "DType", "ty", |args| dtype(args.number()? as u8);
    Option<DType>, "DType", "mty", |args| match args.number()? {
        code if code < 0.0 => Ok(None),
        code => dtype(code as u8).map(Some),
    };
    Around, "number | readonly number[]", "ns", |args| Ok(Around(args.take()?));
}

/// What is chosen by a word.
macro_rules! words {
    ($($type:ty),*) => {$(
        impl Arg for $type {
            #[cfg(test)]
            fn typescript() -> String {
                let words = Self::WORDS.iter().map(|(word, _)| format!("{word:?}"));
                words.collect::<Vec<_>>().join(" | ")
            }

            #[cfg(test)]
            const WRITER: &'static str = "s";

            #[cfg(test)]
            fn shown(&self) -> String {
                format!("{:?}", self.word())
            }

            fn take(args: &mut Args) -> Result<Self> {
                let word: String = args.take()?;
                let wrong = || argument("call", format!("{word} is n{}", Self::WANTED));
                Self::of_word(&word).ok_or_else(wrong)
            }
        }
    )*};
}

words!(Reduction, KlDivReduction, BagMode, InterpolateMode);

/// A number or a flag as TypeScript writes it.
#[cfg(test)]
fn number(value: impl std::fmt::Debug) -> String {
    let text = format!("{value:?}");
    text.strip_suffix(".0").map_or(text.clone(), str::to_string)
}

/// One size for all spatial dimensions, or one for each.
pub struct Around(pub Vec<usize>);

impl Around {
    /// As N sizes.
    pub fn sizes<const N: usize>(&self) -> Result<Spatial<N>> {
        match self.0[..] {
            [each] => Ok(Spatial::from(each)),
            ref each => <[usize; N]>::try_from(each)
                .map(Spatial::from)
                .map_err(|_| argument("sizes", format!("{each:?} must be 1 or {N} numbers"))),
        }
    }

    /// As the padding of N dimensions.
    pub fn padding<const N: usize>(&self) -> Result<Padding<N>> {
        self.sizes::<N>().map(|sizes| Padding::from(sizes.0))
    }
}

/// A number of JavaScript: whole ones act as integers beside integer tensors.
pub fn scalar(value: f64) -> Scalar {
    if value.fract() == 0.0 && value.abs() < 9e15 { Scalar::Int(value as i64) } else { Scalar::Float(value) }
}

fn whole(value: f64) -> Result<i64> {
    if value.fract() == 0.0 {
        Ok(value as i64)
    } else {
        Err(argument("call", format!("{value} is not a whole number")))
    }
}

fn signed(value: f64) -> Result<isize> {
    isize::try_from(whole(value)?).map_err(|_| argument("call", format!("{value} is too large")))
}

fn size(value: f64) -> Result<usize> {
    match whole(value)? {
        value if value >= 0 => {
            usize::try_from(value).map_err(|_| argument("call", format!("{value} is too large")))
        }
        value => Err(argument("call", format!("{value} must not be negative"))),
    }
}

/// The dtypes, by the numbers that JavaScript uses.
pub const DTYPES: [DType; 8] =
    [DType::Bool, DType::U8, DType::I32, DType::U32, DType::I64, DType::F16, DType::F32, DType::F64];

/// The dtype of a number.
pub fn dtype(code: u8) -> Result<DType> {
    DTYPES.get(code as usize).copied().ok_or_else(|| argument("dtype", format!("there is no dtype {code}")))
}

/// The number of a dtype.
pub fn dtype_code(dtype: DType) -> u8 {
    DTYPES.iter().position(|&each| each == dtype).unwrap_or(0) as u8
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

/// What a call gives back.
pub trait Output {
    /// Its TypeScript type.
    #[cfg(test)]
    const TYPE: &'static str;
    /// The package's function that makes the call.
    #[cfg(test)]
    const CALLER: &'static str;

    /// Adds the tensors.
    fn give(self, to: &mut Vec<Tensor>);
}

impl Output for Tensor {
    #[cfg(test)]
    const TYPE: &'static str = "Tensor";
    #[cfg(test)]
    const CALLER: &'static str = "one";

    fn give(self, to: &mut Vec<Tensor>) {
        to.push(self);
    }
}

impl Output for (Tensor, Tensor) {
    #[cfg(test)]
    const TYPE: &'static str = "[Tensor, Tensor]";
    #[cfg(test)]
    const CALLER: &'static str = "two";

    fn give(self, to: &mut Vec<Tensor>) {
        to.extend([self.0, self.1]);
    }
}

impl Output for Vec<Tensor> {
    #[cfg(test)]
    const TYPE: &'static str = "Tensor[]";
    #[cfg(test)]
    const CALLER: &'static str = "many";

    fn give(mut self, to: &mut Vec<Tensor>) {
        to.append(&mut self);
    }
}
