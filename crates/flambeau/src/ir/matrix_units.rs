//! Matrix units: what of a GPU multiplies small matrices as a whole, and how precisely products of f32 use it.

/// How the shaders of a device multiply small matrices as a whole: 16 × 16, f16 operands, f32 sums, a subgroup of 32 threads.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum UnitKind {
    /// On matrix units, by cooperative matrices: where that should be faster, or always.
    Cooperative { always: bool },
    /// Threads play them, element by element and slowly: so tests run the same shaders where there are none.
    Played,
}

/// How precise products and convolutions of f32 must be.
///
/// ```
/// use flambeau::Precision;
///
/// assert_eq!("highest".parse(), Ok(Precision::Highest));
/// assert_eq!(Precision::default(), Precision::Highest);
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub enum Precision {
    /// As precise as f32 arithmetic. On matrix units each f32 is two f16, and a product is three of theirs.
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
