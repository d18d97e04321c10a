//! How the shaders of structured ops hand on their results: to memory, to a scratch buffer, or to an epilogue, which
//! makes something of each result and stores that.

use super::{Shader, lane_type, narrow, storage_type};
use crate::dtype::DType;
use crate::ir::call::StructuredCall;
use crate::ir::program::Bound;

impl Shader {
    /// Binds what a call's results need and adds `fn put(at: u32, value: …)`, which hands on result number `at`, or with
    /// `fours` those from there on, as a vector.
    pub fn hand_on(&mut self, call: &StructuredCall, fours: bool) {
        #[cfg(feature = "gpu")]
        if let Some(epilogue) = &call.epilogue {
            return super::epilogue::hand_on(self, call, epilogue, fours);
        }
        let dtype = call.outputs[0].1.dtype;
        self.hand_on_to(Bound::Output(0), dtype, storage_type(dtype), fours);
    }

    /// The same for parts of sums: as they are computed, to the scratch buffer.
    pub fn hand_on_parts(&mut self, call: &StructuredCall, fours: bool) {
        let dtype = call.outputs[0].1.dtype;
        self.hand_on_to(Bound::Scratch(0), dtype, lane_type(dtype), fours);
    }

    /// The same for results that are left in the scratch buffer as a dtype.
    pub fn leave(&mut self, dtype: DType, fours: bool) {
        self.hand_on_to(Bound::Scratch(0), dtype, storage_type(dtype), fours);
    }

    fn hand_on_to(&mut self, bound: Bound, dtype: DType, stored: &str, fours: bool) {
        self.uses(dtype);
        let lane = lane_type(dtype);
        if fours {
            let element = format!("vec4<{stored}>");
            self.bind(bound, "out0", &element);
            return self.add(&format!(
                "fn put(at: u32, value: vec4<{lane}>) {{ out0[at >> 2u] = {element}(value); }}\n"
            ));
        }
        let value = if stored == lane { "value".to_string() } else { narrow(dtype, "value") };
        self.bind(bound, "out0", stored);
        self.add(&format!("fn put(at: u32, value: {lane}) {{ out0[at] = {value}; }}\n"));
    }
}
