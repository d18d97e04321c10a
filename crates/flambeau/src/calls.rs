//! How other languages call ops: by an op's number, with tensors and one list of numbers that holds everything else.
//!
//! An op declares its methods beside its kernels ([`methods!`](crate::calls::methods)). A type of argument says how it reads
//! itself from a call ([`Arg`]), and how TypeScript calls and writes it: from that the typed methods of the package are
//! generated. Only the bindings know what the numbers of tensors stand for ([`Lookup`]).
//!
//! What is said to TypeScript is functions that only the generator calls: a page that trains does not fetch them.

use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result};
use crate::op::elementwise::Operand;
use crate::rng::Generator;
use crate::settings::Word;
use crate::shape::Dims;
use crate::tensor::{Padding, Spatial, Tensor};

/// How the numbers of the other language become what they stand for.
pub struct Lookup {
    /// The tensor of a number that is not 0, as an operand.
    pub tensor: fn(u32) -> Result<Tensor>,
    /// The random generator of a number.
    pub generator: fn(u32) -> Result<Generator>,
}

/// What a call is given.
pub struct Args<'a> {
    tensors: &'a [u32],
    numbers: &'a [f64],
    lookup: &'a Lookup,
}

impl<'a> Args<'a> {
    /// The arguments of one call.
    pub fn new(tensors: &'a [u32], numbers: &'a [f64], lookup: &'a Lookup) -> Self {
        Args { tensors, numbers, lookup }
    }

    /// The next argument.
    pub fn take<T: Arg>(&mut self) -> Result<T> {
        T::take(self)
    }

    fn number(&mut self) -> Result<f64> {
        let [first, rest @ ..] = self.numbers else { return Err(wrong("an argument is missing")) };
        self.numbers = rest;
        Ok(*first)
    }

    fn list(&mut self) -> Result<&'a [f64]> {
        let count = self.number()? as usize;
        let (list, rest) =
            self.numbers.split_at_checked(count).ok_or_else(|| wrong("a list is too short"))?;
        self.numbers = rest;
        Ok(list)
    }

    fn handle(&mut self) -> Result<u32> {
        let [first, rest @ ..] = self.tensors else { return Err(wrong("a tensor is missing")) };
        self.tensors = rest;
        Ok(*first)
    }

    fn tensor(&mut self) -> Result<Tensor> {
        (self.lookup.tensor)(self.handle()?)
    }
}

fn wrong(message: impl Into<String>) -> Error {
    Error::argument("call", message)
}

/// A type of argument.
pub trait Arg: Sized {
    /// The method of the package's writer that writes it.
    const WRITER: &'static str;

    /// Its TypeScript type.
    fn typescript() -> String;

    /// What TypeScript puts there when it is left out, if that is this value; `?` lets it be left out altogether.
    fn shown(&self) -> String {
        "?".to_string()
    }

    /// Reads it.
    fn take(args: &mut Args) -> Result<Self>;
}

macro_rules! args {
    ($($type:ty, $ts:literal, $writer:literal $(, shown $shown:tt)?, |$args:ident| $take:expr;)*) => {$(
        impl Arg for $type {
            const WRITER: &'static str = $writer;

            fn typescript() -> String {
                $ts.to_string()
            }

            $(fn shown(&self) -> String {
                $shown(self)
            })?

            fn take($args: &mut Args) -> Result<Self> {
                $take
            }
        }
    )*};
}

args! {
    Tensor, "Tensor", "t", |args| args.tensor();
    Option<Tensor>, "Tensor", "mt", |args| match args.handle()? {
        0 => Ok(None),
        handle => (args.lookup.tensor)(handle).map(Some),
    };
    Vec<Tensor>, "readonly Tensor[]", "ts", |args| {
        let count = args.number()? as usize;
        (0..count).map(|_| args.tensor()).collect()
    };
    Operand, "Tensor | number", "o", |args| match args.number()? {
        0.0 => Ok(Operand::Tensor(args.tensor()?)),
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
    Generator, "Generator", "g", |args| (args.lookup.generator)(args.number()? as u32);
    DType, "DType", "ty", |args| dtype(args.number()? as u8);
    Option<DType>, "DType", "mty", |args| match args.number()? {
        code if code < 0.0 => Ok(None),
        code => dtype(code as u8).map(Some),
    };
    Around, "number | readonly number[]", "ns", |args| Ok(Around(args.take()?));
}

/// What is chosen by a word.
impl<W: Word> Arg for W {
    const WRITER: &'static str = "s";

    fn typescript() -> String {
        W::WORDS.iter().map(|(word, _)| format!("{word:?}")).collect::<Vec<_>>().join(" | ")
    }

    fn shown(&self) -> String {
        format!("{:?}", self.word())
    }

    fn take(args: &mut Args) -> Result<Self> {
        let word: String = args.take()?;
        W::of_word(&word).ok_or_else(|| wrong(format!("{word} is n{}", W::WANTED)))
    }
}

/// A number or a flag as TypeScript writes it.
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
                .map_err(|_| Error::argument("sizes", format!("{each:?} must be 1 or {N} numbers"))),
        }
    }

    /// As the padding of N dimensions.
    pub fn padding<const N: usize>(&self) -> Result<Padding<N>> {
        self.sizes::<N>().map(|sizes| Padding::from(sizes.0))
    }
}

/// A number of a language that has one type for all: whole ones act as integers beside integer tensors.
pub fn scalar(value: f64) -> Scalar {
    if value.fract() == 0.0 && value.abs() < 9e15 { Scalar::Int(value as i64) } else { Scalar::Float(value) }
}

fn whole(value: f64) -> Result<i64> {
    match value.fract() == 0.0 {
        true => Ok(value as i64),
        false => Err(wrong(format!("{value} is not a whole number"))),
    }
}

fn signed(value: f64) -> Result<isize> {
    isize::try_from(whole(value)?).map_err(|_| wrong(format!("{value} is too large")))
}

fn size(value: f64) -> Result<usize> {
    match whole(value)? {
        value if value >= 0 => usize::try_from(value).map_err(|_| wrong(format!("{value} is too large"))),
        value => Err(wrong(format!("{value} must not be negative"))),
    }
}

/// The dtypes, by the numbers that calls use.
pub const DTYPES: [DType; 8] =
    [DType::Bool, DType::U8, DType::I32, DType::U32, DType::I64, DType::F16, DType::F32, DType::F64];

/// The dtype of a number.
pub fn dtype(code: u8) -> Result<DType> {
    let dtype = DTYPES.get(code as usize).copied();
    dtype.ok_or_else(|| Error::argument("dtype", format!("there is no dtype {code}")))
}

/// The number of a dtype.
pub fn dtype_code(dtype: DType) -> u8 {
    DTYPES.iter().position(|&each| each == dtype).unwrap_or(0) as u8
}

/// What a call gives back.
pub trait Output {
    /// Its TypeScript type.
    const TYPE: &'static str;
    /// The package's function that makes the call.
    const CALLER: &'static str;

    /// Adds the tensors.
    fn give(self, to: &mut Vec<Tensor>);
}

impl Output for Tensor {
    const TYPE: &'static str = "Tensor";
    const CALLER: &'static str = "one";

    fn give(self, to: &mut Vec<Tensor>) {
        to.push(self);
    }
}

impl Output for (Tensor, Tensor) {
    const TYPE: &'static str = "[Tensor, Tensor]";
    const CALLER: &'static str = "two";

    fn give(self, to: &mut Vec<Tensor>) {
        to.extend([self.0, self.1]);
    }
}

impl Output for (Tensor, Tensor, Tensor) {
    const TYPE: &'static str = "[Tensor, Tensor, Tensor]";
    const CALLER: &'static str = "three";

    fn give(self, to: &mut Vec<Tensor>) {
        to.extend([self.0, self.1, self.2]);
    }
}

impl Output for Vec<Tensor> {
    const TYPE: &'static str = "Tensor[]";
    const CALLER: &'static str = "many";

    fn give(mut self, to: &mut Vec<Tensor>) {
        to.append(&mut self);
    }
}

/// One method as the bindings call it.
pub type Call = fn(&mut Args, &mut Vec<Tensor>) -> Result<()>;

/// A group of methods. Calls and signatures are apart: a program that asks for the one need not have the other.
pub trait Methods {
    /// The methods.
    const CALLS: &'static [Call] = &[];

    /// What TypeScript is told of them, in the same order.
    fn signatures() -> Vec<Signature> {
        Vec::new()
    }
}

/// One method as TypeScript sees it.
pub struct Signature {
    /// Its name in Rust.
    pub name: &'static str,
    /// What it takes.
    pub params: Vec<Param>,
    /// Its result's TypeScript type.
    pub output: &'static str,
    /// The package's function that makes the call.
    pub caller: &'static str,
}

/// One parameter of it.
pub struct Param {
    /// Its name in Rust.
    pub name: &'static str,
    /// Its TypeScript type.
    pub kind: String,
    /// The method of the package's writer that writes it.
    pub writer: &'static str,
    /// What TypeScript puts there when it is left out; `?` lets it be left out altogether.
    pub default: Option<String>,
}

impl Param {
    /// A parameter of this type.
    pub fn new<T: Arg>(name: &'static str, default: Option<&str>) -> Param {
        Param { name, kind: T::typescript(), writer: T::WRITER, default: default.map(str::to_string) }
    }

    /// A setting, which has a default.
    pub fn setting<T: Arg>(name: &'static str, default: &T) -> Param {
        Param { default: Some(default.shown()), ..Param::new::<T>(name, None) }
    }
}

/// Gives a type [`Methods`]: `Type: name(argument: Type = "default in TypeScript", …) -> Output { body } …`. A first argument
/// called `x` makes it a method of tensors, anything else a function.
#[doc(hidden)]
#[macro_export]
macro_rules! __methods {
    ($of:ty: $($name:ident($($arg:ident: $type:ty $(= $default:literal)?),* $(,)?) -> $output:ty $body:block)*) => {
        impl $crate::calls::Methods for $of {
            const CALLS: &'static [$crate::calls::Call] = &[$({
                fn call(args: &mut $crate::calls::Args, to: &mut Vec<$crate::Tensor>) -> $crate::Result<()> {
                    $(let $arg: $type = args.take()?;)*
                    let output: $crate::Result<$output> = $body;
                    $crate::calls::Output::give(output?, to);
                    Ok(())
                }
                call
            }),*];

            fn signatures() -> Vec<$crate::calls::Signature> {
                vec![$($crate::calls::Signature {
                    name: stringify!($name),
                    params: vec![$($crate::calls::Param::new::<$type>(
                        stringify!($arg),
                        $crate::calls::methods!(@default $($default)?),
                    )),*],
                    output: <$output as $crate::calls::Output>::TYPE,
                    caller: <$output as $crate::calls::Output>::CALLER,
                }),*]
            }
        }
    };
    (@default $default:literal) => { Some($default) };
    (@default) => { None };
}
pub use __methods as methods;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::nn::loss::Reduction;
    use crate::{Device, Tensor};

    struct Sums;

    methods! { Sums:
        plus(x: Tensor, other: Option<Tensor> = "?", times: usize = "1") -> Tensor {
            match other {
                Some(other) => x.try_add(other.try_mul(times as f64)?),
                None => Ok(x),
            }
        }
        both(x: Tensor, y: Tensor) -> (Tensor, Tensor) { Ok((x, y)) }
    }

    /// Number n is a tensor of one n.
    const LOOKUP: Lookup = Lookup {
        tensor: |number| Ok(Tensor::new([f64::from(number)], &Device::cpu())),
        generator: |_| Ok(Generator::default_generator()),
    };

    fn called(method: usize, tensors: &[u32], numbers: &[f64]) -> Result<Vec<String>> {
        let mut output = Vec::new();
        Sums::CALLS[method](&mut Args::new(tensors, numbers, &LOOKUP), &mut output)?;
        Ok(output.iter().map(Tensor::to_string).collect())
    }

    #[test]
    fn a_method_takes_its_arguments_and_gives_its_results() -> Result<()> {
        assert_eq!(called(0, &[1, 2], &[3.0])?, ["tensor([7.])"]);
        assert_eq!(called(0, &[1, 0], &[3.0])?, ["tensor([1.])"], "0 is no tensor");
        assert_eq!(called(1, &[1, 2], &[])?, ["tensor([1.])", "tensor([2.])"]);
        Ok(())
    }

    #[test]
    fn what_is_missing_or_wrong_is_an_error() {
        let error = |tensors: &[u32], numbers: &[f64]| called(0, tensors, numbers).unwrap_err().to_string();
        assert!(error(&[1], &[3.0]).contains("a tensor is missing"));
        assert!(error(&[1, 2], &[]).contains("an argument is missing"));
        assert!(error(&[1, 2], &[0.5]).contains("0.5 is not a whole number"));
        assert!(error(&[1, 2], &[-1.0]).contains("-1 must not be negative"));
        let too_short = Args::new(&[], &[2.0, 1.0], &LOOKUP).take::<Vec<f64>>();
        assert!(too_short.unwrap_err().to_string().contains("a list is too short"));
    }

    #[test]
    fn words_are_read_and_shown() {
        let codes: Vec<f64> =
            [3.0].into_iter().chain("sum".chars().map(|c| f64::from(u32::from(c)))).collect();
        assert_eq!(Args::new(&[], &codes, &LOOKUP).take::<Reduction>().ok(), Some(Reduction::Sum));
        assert_eq!(Param::setting("reduction", &Reduction::Sum).default.as_deref(), Some("\"sum\""));
        assert!(Reduction::typescript().contains("\"mean\" | \"sum\""));
    }

    #[test]
    fn a_signature_says_what_a_method_takes() {
        let signatures = Sums::signatures();
        let said: Vec<_> =
            signatures[0].params.iter().map(|p| (p.name, p.writer, p.default.as_deref())).collect();
        assert_eq!(said, [("x", "t", None), ("other", "mt", Some("?")), ("times", "n", Some("1"))]);
        assert_eq!(
            (signatures[1].name, signatures[1].output, signatures[1].caller),
            ("both", "[Tensor, Tensor]", "two")
        );
    }
}
