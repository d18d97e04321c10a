//! The methods of JavaScript's tensors: one entry each, which says what it takes and calls the library.
//!
//! The elementwise ops need no entry: the library's table is theirs. Names, types and defaults of the entries become
//! the TypeScript of the package (`typescript.rs`); their docs are the library's.

mod arithmetic;
mod create;
mod layers;
mod losses;
mod shape;

#[cfg(test)]
pub use losses::LOSSES;

use crate::args::Args;
use flambeau::{Result, Tensor};

/// One method as the bindings call it.
pub type Call = fn(&mut Args, &mut Vec<Tensor>) -> Result<()>;

/// One method as TypeScript sees it.
#[cfg(test)]
pub struct Signature {
    pub name: &'static str,
    pub params: Vec<Param>,
    pub output: &'static str,
    pub caller: &'static str,
}

/// One parameter of it.
#[cfg(test)]
pub struct Param {
    pub name: &'static str,
    pub kind: String,
    pub writer: &'static str,
    /// What TypeScript puts there when it is left out; `?` lets it be left out altogether.
    pub default: Option<String>,
}

#[cfg(test)]
impl Param {
    /// A parameter of this type.
    pub fn new<T: crate::args::Arg>(name: &'static str, default: Option<&str>) -> Param {
        Param { name, kind: T::typescript(), writer: T::WRITER, default: default.map(str::to_string) }
    }

    /// A setting, which has a default.
    pub fn setting<T: crate::args::Arg>(name: &'static str, default: &T) -> Param {
        Param { default: Some(default.shown()), ..Param::new::<T>(name, None) }
    }
}

/// The tables, in the order of the numbers that JavaScript uses.
const TABLES: [&[Call]; 5] = [create::CALLS, shape::CALLS, arithmetic::CALLS, layers::CALLS, losses::CALLS];

/// The method with this number.
pub fn call(mut number: usize) -> Option<Call> {
    for table in TABLES {
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
        create::signatures,
        shape::signatures,
        arithmetic::signatures,
        layers::signatures,
        losses::signatures,
    ];
    tables.into_iter().flat_map(|table| table())
}

/// `name(argument: Type = "default in TypeScript", …) -> Output { body }`. A first argument called `x` makes it a
/// method of tensors, anything else a function.
macro_rules! methods {
    ($($name:ident($($arg:ident: $type:ty $(= $default:literal)?),* $(,)?) -> $output:ty $body:block)*) => {
        pub(super) static CALLS: &[$crate::methods::Call] = &[$({
            fn call(args: &mut $crate::args::Args, to: &mut Vec<flambeau::Tensor>) -> flambeau::Result<()> {
                $(let $arg: $type = args.take()?;)*
                let output: flambeau::Result<$output> = $body;
                $crate::args::Output::give(output?, to);
                Ok(())
            }
            call
        }),*];

        #[cfg(test)]
        pub(super) fn signatures() -> Vec<$crate::methods::Signature> {
            vec![$($crate::methods::Signature {
                name: stringify!($name),
                params: vec![$($crate::methods::Param::new::<$type>(
                    stringify!($arg),
                    $crate::methods::methods!(@default $($default)?),
                )),*],
                output: <$output as $crate::args::Output>::TYPE,
                caller: <$output as $crate::args::Output>::CALLER,
            }),*]
        }
    };
    (@default $default:literal) => { Some($default) };
    (@default) => { None };
}
use methods;
