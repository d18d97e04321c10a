//! How the shaders of structured ops hand on their results: to memory, to a scratch buffer, or to an epilogue, which
//! makes something of each result and stores that.

use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::program::Bound;
use crate::shader::{Params, lane_type, narrow, storage_type};

/// What a shader declares, binds and calls to hand on its results.
pub(crate) struct Results {
    /// What a module with these declarations begins with.
    pub enable: &'static str,
    /// The variables of further operands and of what is stored.
    pub declarations: String,
    pub bindings: Vec<Bound>,
    /// `fn put(at: u32, value: …)`: hands on result number `at`, or the four from there on, as a vector.
    pub functions: String,
}

impl Results {
    /// Results of a call, one by one or four by four; `first` is the number of the first binding, and numbers that the
    /// epilogue needs are added to the parameters.
    pub fn new(call: &StructuredCall, params: &mut Params, first: usize, fours: bool) -> Results {
        let dtype = call.outputs[0].1.dtype;
        let plain = || Results::stored(dtype, storage_type(dtype), Bound::Output(0), first, fours);
        #[cfg(feature = "gpu")]
        return match &call.epilogue {
            Some(epilogue) => crate::shader::epilogue::results(call, epilogue, params, first, fours),
            None => plain(),
        };
        #[cfg(not(feature = "gpu"))]
        {
            let _ = params;
            plain()
        }
    }

    /// Results of parts of a sum, to the scratch buffer, as they are computed.
    pub fn of_parts(call: &StructuredCall, first: usize, fours: bool) -> Results {
        let dtype = call.outputs[0].1.dtype;
        Results::stored(dtype, lane_type(dtype), Bound::Scratch(0), first, fours)
    }

    fn stored(dtype: DType, stored: &str, bound: Bound, first: usize, fours: bool) -> Results {
        let lane = lane_type(dtype);
        let single = if stored == lane { "value".to_string() } else { narrow(dtype, "value") };
        let (element, put) = match fours {
            true => (
                format!("vec4<{stored}>"),
                format!(
                    "fn put(at: u32, value: vec4<{lane}>) {{ out0[at >> 2u] = vec4<{stored}>(value); }}\n"
                ),
            ),
            false => {
                (stored.to_string(), format!("fn put(at: u32, value: {lane}) {{ out0[at] = {single}; }}\n"))
            }
        };
        Results {
            enable: if dtype == DType::F16 { "enable f16;\n" } else { "" },
            declarations: format!(
                "@group(0) @binding({first}) var<storage, read_write> out0: array<{element}>;\n"
            ),
            bindings: vec![bound],
            functions: put,
        }
    }
}
