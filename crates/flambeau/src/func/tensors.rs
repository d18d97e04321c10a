//! What transformed functions take and give: a tensor, or tensors in lists, arrays, tuples and named states, of any depth.

use crate::error::{Error, Result};
use crate::io::StateDict;
use crate::tensor::Tensor;

/// One tensor or several, in a structure that results have again: the gradient of a function of a tuple is a tuple.
///
/// Tensors, `Vec`s, arrays, tuples of up to six parts and [`StateDict`]s are such structures, and so is what is made of them.
pub trait Tensors: Sized {
    /// This structure with an `X` in place of each tensor: what a Jacobian is.
    type Each<X: Tensors>: Tensors;

    /// Visits the tensors in order.
    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Tensor));

    /// The same structure with other tensors.
    fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self>;

    /// The structure with something in place of each tensor.
    fn each<X: Tensors>(&self, f: &mut dyn FnMut(&Tensor) -> Result<X>) -> Result<Self::Each<X>>;

    /// How many tensors each part of it has: the elements of a list or a tuple are its parts, a tensor is one.
    fn parts(&self) -> Vec<usize>;

    /// The tensors in order.
    fn to_list(&self) -> Vec<Tensor> {
        let mut list = Vec::new();
        self.visit(&mut |tensor| list.push(tensor.clone()));
        list
    }

    /// The same structure with these tensors, in order.
    fn with_list(&self, list: &[Tensor]) -> Result<Self> {
        let mut rest = list.iter();
        let missing = || Error::argument("Tensors::with_list", format!("{} tensors are too few", list.len()));
        self.map(&mut |_| rest.next().cloned().ok_or_else(missing))
    }
}

/// The number of tensors in a structure.
fn count(tensors: &impl Tensors) -> usize {
    tensors.parts().iter().sum()
}

impl Tensors for Tensor {
    type Each<X: Tensors> = X;

    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Tensor)) {
        visit(self);
    }

    fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
        f(self)
    }

    fn each<X: Tensors>(&self, f: &mut dyn FnMut(&Tensor) -> Result<X>) -> Result<X> {
        f(self)
    }

    fn parts(&self) -> Vec<usize> {
        vec![1]
    }
}

impl<T: Tensors> Tensors for Vec<T> {
    type Each<X: Tensors> = Vec<T::Each<X>>;

    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Tensor)) {
        self.iter().for_each(|part| part.visit(visit));
    }

    fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
        self.iter().map(|part| part.map(f)).collect()
    }

    fn each<X: Tensors>(&self, f: &mut dyn FnMut(&Tensor) -> Result<X>) -> Result<Self::Each<X>> {
        self.iter().map(|part| part.each(f)).collect()
    }

    fn parts(&self) -> Vec<usize> {
        self.iter().map(count).collect()
    }
}

impl<T: Tensors, const N: usize> Tensors for [T; N] {
    type Each<X: Tensors> = [T::Each<X>; N];

    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Tensor)) {
        self.iter().for_each(|part| part.visit(visit));
    }

    fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
        array(self.iter().map(|part| part.map(f)).collect::<Result<Vec<_>>>()?)
    }

    fn each<X: Tensors>(&self, f: &mut dyn FnMut(&Tensor) -> Result<X>) -> Result<Self::Each<X>> {
        array(self.iter().map(|part| part.each(f)).collect::<Result<Vec<_>>>()?)
    }

    fn parts(&self) -> Vec<usize> {
        self.iter().map(count).collect()
    }
}

fn array<T, const N: usize>(parts: Vec<T>) -> Result<[T; N]> {
    let count = parts.len();
    parts.try_into().map_err(|_| Error::argument("Tensors", format!("{count} parts for an array of {N}")))
}

macro_rules! tuples {
    ($($($part:ident $index:tt),+;)*) => {$(
        impl<$($part: Tensors),+> Tensors for ($($part,)+) {
            type Each<X: Tensors> = ($($part::Each<X>,)+);

            fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Tensor)) {
                $(self.$index.visit(visit);)+
            }

            fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
                Ok(($(self.$index.map(f)?,)+))
            }

            fn each<X: Tensors>(&self, f: &mut dyn FnMut(&Tensor) -> Result<X>) -> Result<Self::Each<X>> {
                Ok(($(self.$index.each(f)?,)+))
            }

            fn parts(&self) -> Vec<usize> {
                vec![$(count(&self.$index)),+]
            }
        }
    )*};
}

tuples! {
    A 0;
    A 0, B 1;
    A 0, B 1, C 2;
    A 0, B 1, C 2, D 3;
    A 0, B 1, C 2, D 3, E 4;
    A 0, B 1, C 2, D 3, E 4, F 5;
}

/// In the order of its entries; a Jacobian has a list of them.
impl Tensors for StateDict {
    type Each<X: Tensors> = Vec<X>;

    fn visit<'a>(&'a self, visit: &mut dyn FnMut(&'a Tensor)) {
        self.iter().for_each(|(_, tensor)| visit(tensor));
    }

    fn map(&self, f: &mut dyn FnMut(&Tensor) -> Result<Tensor>) -> Result<Self> {
        let mut mapped = StateDict::new();
        for (name, tensor) in self.iter() {
            mapped.insert(name, f(tensor)?);
        }
        Ok(mapped)
    }

    fn each<X: Tensors>(&self, f: &mut dyn FnMut(&Tensor) -> Result<X>) -> Result<Vec<X>> {
        self.iter().map(|(_, tensor)| f(tensor)).collect()
    }

    fn parts(&self) -> Vec<usize> {
        vec![1; self.len()]
    }
}

/// What a function to be transformed returns: tensors, or a [`Result`] of them.
pub trait Outcome {
    /// The tensors.
    type Tensors: Tensors;

    /// The tensors, or the error.
    fn into_result(self) -> Result<Self::Tensors>;
}

impl<T: Tensors> Outcome for T {
    type Tensors = T;

    fn into_result(self) -> Result<T> {
        Ok(self)
    }
}

impl<T: Tensors> Outcome for Result<T> {
    type Tensors = T;

    fn into_result(self) -> Result<T> {
        self
    }
}
