//! PyTorch's values for the layers and functions of this suite, which `tools/reference/cpp_api.py` wrote.

use crate::common::reference::Reference;

/// The file.
pub fn reference() -> Reference {
    Reference::open(include_bytes!("../data/cpp_api.safetensors"))
}

/// Tests that compare results and gradients with recorded ones: `name: "case" ["input", …] |inputs, all| result, …;`.
macro_rules! recorded {
    ($($(#[$doc:meta])* $test:ident: $($case:literal [$($input:literal),*] |$x:pat_param, $all:pat_param| $body:expr),+;)*) => {$(
        $(#[$doc])*
        #[test]
        fn $test() {
            let reference = crate::recorded::reference();
            $(reference.case($case, &[$($input),*], |$x, $all| $body);)+
        }
    )*};
}
pub(crate) use recorded;
