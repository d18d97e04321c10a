//! Tensors in the formats of serde that describe themselves (JSON, TOML, CBOR, …): a dtype, a shape and the values in row-major order.
//!
//! ```json
//! {"dtype": "f32", "shape": [2], "values": [0.5, "NaN"]}
//! ```
//!
//! What text formats have no numbers for (NaN, infinities) is written as a string there. Serializing reads the values, so it waits;
//! deserialized tensors are on the CPU.

use crate::device::Device;
use crate::dtype::DType;
use crate::shape::Shape;
use crate::tensor::{Tensor, widen};
use serde::de::{Error as _, Visitor};
use serde::ser::{Error as _, SerializeStruct};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

/// A float, whatever the format can write.
struct Float(f64);

impl Serialize for Float {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        match self.0.is_finite() || !serializer.is_human_readable() {
            true => serializer.serialize_f64(self.0),
            false => serializer.serialize_str(&self.0.to_string()),
        }
    }
}

impl<'de> Deserialize<'de> for Float {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct AnyNumber;
        impl Visitor<'_> for AnyNumber {
            type Value = Float;
            fn expecting(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
                f.write_str("a number, \"NaN\", \"inf\" or \"-inf\"")
            }
            fn visit_f64<E>(self, x: f64) -> Result<Float, E> {
                Ok(Float(x))
            }
            fn visit_i64<E>(self, x: i64) -> Result<Float, E> {
                Ok(Float(x as f64))
            }
            fn visit_u64<E>(self, x: u64) -> Result<Float, E> {
                Ok(Float(x as f64))
            }
            fn visit_str<E: serde::de::Error>(self, text: &str) -> Result<Float, E> {
                match text {
                    "NaN" | "inf" | "-inf" => text.parse().map(Float).map_err(E::custom),
                    _ => Err(E::invalid_value(serde::de::Unexpected::Str(text), &self)),
                }
            }
        }
        deserializer.deserialize_any(AnyNumber)
    }
}

/// Values as they are written.
#[derive(Serialize, Deserialize)]
#[serde(untagged)]
enum Readable {
    Bools(Vec<bool>),
    Ints(Vec<i64>),
    Floats(Vec<Float>),
}

fn named(dtype: &str) -> Option<DType> {
    DType::ALL.into_iter().find(|known| known.to_string() == dtype)
}

impl Serialize for Tensor {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let bytes = pollster::block_on(self.to_bytes()).map_err(S::Error::custom)?;
        let floats = || widen(self.dtype(), &bytes);
        let values = match self.dtype() {
            DType::Bool => Readable::Bools(floats().iter().map(|x| *x != 0.0).collect()),
            DType::I64 => Readable::Ints(<i64 as crate::Element>::from_bytes(&bytes)),
            dtype if dtype.is_float() => Readable::Floats(floats().into_iter().map(Float).collect()),
            _ => Readable::Ints(floats().iter().map(|x| *x as i64).collect()),
        };
        let mut fields = serializer.serialize_struct("Tensor", 3)?;
        fields.serialize_field("dtype", &self.dtype().to_string())?;
        fields.serialize_field("shape", self.shape().dims())?;
        fields.serialize_field("values", &values)?;
        fields.end()
    }
}

impl<'de> Deserialize<'de> for Tensor {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        #[derive(Deserialize)]
        #[serde(rename = "Tensor", deny_unknown_fields)]
        struct Fields {
            dtype: String,
            shape: Vec<usize>,
            values: Readable,
        }
        let Fields { dtype, shape, values } = Fields::deserialize(deserializer)?;
        let dtype = named(&dtype).ok_or_else(|| D::Error::custom(format!("no dtype is called {dtype:?}")))?;
        let (device, shape) = (Device::cpu(), Shape::new(&shape));
        let refused =
            |what: &str| D::Error::custom(format!("{what} among the values of a tensor of dtype {dtype}"));
        let whole = |x: i64| match dtype {
            DType::U8 => u8::try_from(x).is_ok(),
            DType::I32 => i32::try_from(x).is_ok(),
            DType::U32 => u32::try_from(x).is_ok(),
            _ => true,
        };
        // Nothing at all reads as a list of anything.
        let tensor = match values {
            Readable::Bools(values) if dtype == DType::Bool || values.is_empty() => {
                Tensor::try_from_vec(values, shape, &device)
            }
            Readable::Bools(_) => return Err(refused("booleans")),
            Readable::Ints(_) if dtype == DType::Bool => return Err(refused("integers")),
            Readable::Ints(values) if values.iter().any(|x| dtype.is_int() && !whole(*x)) => {
                return Err(refused("an integer that does not fit"));
            }
            Readable::Ints(values) => Tensor::try_from_vec(values, shape, &device),
            Readable::Floats(_) if !dtype.is_float() => return Err(refused("floats")),
            Readable::Floats(values) => {
                Tensor::try_from_vec(values.into_iter().map(|x| x.0).collect::<Vec<f64>>(), shape, &device)
            }
        };
        tensor.and_then(|tensor| tensor.try_to_dtype(dtype)).map_err(D::Error::custom)
    }
}
