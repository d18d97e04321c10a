//! Matrix units: what of a GPU multiplies small matrices as a whole, and how precisely products of f32 use it.

/// How the shaders of a device multiply small matrices as a whole: 16 × 16, f16 operands, f32 sums, a subgroup of 32 threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum UnitKind {
    /// On matrix units, by cooperative matrices: where that should be faster, or always.
    Cooperative { always: bool },
    /// Threads play them, element by element and slowly: so tests run the same shaders where there are none.
    Played,
}

/// Why a product does not run on matrix units.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum WhyNot {
    /// The device has none, or they are not used.
    None,
    /// There are no kernels for what it is.
    Kind(&'static str),
    /// Its rows, columns or depth are fewer than a tile would pay for.
    Small,
    /// Packed operands would take too much memory.
    Packed,
    /// There are more tiles than one dispatch may have.
    Tiles,
    /// F32 arithmetic should be faster.
    Slower,
}

impl std::fmt::Display for WhyNot {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            WhyNot::None => "there are none",
            WhyNot::Kind(kind) => return write!(formatter, "there are no kernels for {kind}"),
            WhyNot::Small => "it is too small",
            WhyNot::Packed => "its packed operands would take over 1 GiB",
            WhyNot::Tiles => "one dispatch cannot have so many tiles",
            WhyNot::Slower => "the plain kernel should be faster at these sizes",
        })
    }
}

/// How precise products and convolutions of f32 must be. The user says it for the process
/// ([`set_float32_matmul_precision`](crate::set_float32_matmul_precision)), for a device
/// ([`GpuConfig::precision`](crate::GpuConfig)) or for a scope ([`matmul_precision`](crate::matmul_precision)); a scope counts
/// before the device, and the device before the process.
///
/// ```
/// use flambeau::Precision;
///
/// assert_eq!("highest".parse(), Ok(Precision::Highest));
/// assert_eq!(Precision::default(), Precision::Highest);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Precision {
    /// As precise as f32 arithmetic. On matrix units each f32 is two f16, and a product is three of theirs, where that is faster than
    /// f32 arithmetic.
    #[default]
    Highest,
    /// Operands are rounded to 11 bits on matrix units, as TF32 has them; without matrix units as `Highest`.
    High,
}

impl std::str::FromStr for Precision {
    type Err = String;

    fn from_str(name: &str) -> Result<Precision, String> {
        match name {
            "highest" => Ok(Precision::Highest),
            "high" => Ok(Precision::High),
            _ => Err(format!("there is no precision {name}: highest or high")),
        }
    }
}

impl std::fmt::Display for Precision {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.write_str(match self {
            Precision::Highest => "highest",
            Precision::High => "high",
        })
    }
}
