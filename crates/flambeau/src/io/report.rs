//! What fits between the tensors a model expects and those it is given.

use super::StateDict;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::shape::Shape;
use std::collections::{HashMap, HashSet};
use std::fmt;

/// A tensor that a model expects.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Expected {
    /// Its name.
    pub name: String,
    /// Its shape.
    pub shape: Shape,
    /// Its dtype.
    pub dtype: DType,
}

impl Expected {
    /// An expected tensor.
    pub fn new(name: impl Into<String>, shape: impl Into<Shape>, dtype: DType) -> Expected {
        Expected { name: name.into(), shape: shape.into(), dtype }
    }
}

/// Must the names be the same on both sides?
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Matching {
    /// A name that only one side has is an error (PyTorch's `strict=True`).
    #[default]
    Strict,
    /// Names that only one side has are reported (`strict=False`).
    Lenient,
}

/// How given tensors fit expected ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LoadReport {
    /// Names found on both sides with the same shape, in the expected order: what can be loaded.
    pub matched: Vec<String>,
    /// Expected, but not given.
    pub missing: Vec<String>,
    /// Given, but not expected.
    pub unexpected: Vec<String>,
    /// Given in another shape.
    pub mismatched: Vec<ShapeMismatch>,
    /// Given in another dtype: to be converted.
    pub conversions: Vec<Conversion>,
}

/// A tensor whose shape is not the expected one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ShapeMismatch {
    /// Its name.
    pub name: String,
    /// The shape the model has.
    pub expected: Shape,
    /// The shape that was given.
    pub given: Shape,
}

/// A tensor to be converted to the model's dtype.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Conversion {
    /// Its name.
    pub name: String,
    /// The dtype that was given.
    pub from: DType,
    /// The dtype the model has.
    pub to: DType,
}

/// Compares names, shapes and dtypes. An error, which names everything that does not fit, if a shape differs, or if
/// matching is strict and a name is on one side only.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::io::{Expected, Matching, StateDict, match_names};
/// let expected = [Expected::new("w", [2, 3], DType::F32), Expected::new("b", [3], DType::F32)];
/// let given = StateDict::from_iter([("w".to_string(), Tensor::ones([2, 3], &Device::cpu()))]);
/// let report = match_names(&expected, &given, Matching::Lenient)?;
/// assert_eq!(report.matched, ["w"]);
/// assert_eq!(report.missing, ["b"]);
/// assert!(match_names(&expected, &given, Matching::Strict).is_err());
/// # Ok::<(), Error>(())
/// ```
pub fn match_names(expected: &[Expected], given: &StateDict, matching: Matching) -> Result<LoadReport> {
    let by_name: HashMap<&str, _> = given.iter().collect();
    let mut report = LoadReport::default();
    for Expected { name, shape, dtype } in expected {
        let Some(tensor) = by_name.get(name.as_str()) else {
            report.missing.push(name.clone());
            continue;
        };
        if tensor.shape() != shape {
            let (expected, given) = (shape.clone(), tensor.shape().clone());
            report.mismatched.push(ShapeMismatch { name: name.clone(), expected, given });
            continue;
        }
        report.matched.push(name.clone());
        if tensor.dtype() != *dtype {
            report.conversions.push(Conversion { name: name.clone(), from: tensor.dtype(), to: *dtype });
        }
    }
    let known: HashSet<&str> = expected.iter().map(|expected| expected.name.as_str()).collect();
    report.unexpected = given.names().filter(|name| !known.contains(name)).map(str::to_owned).collect();
    let names_differ = !report.missing.is_empty() || !report.unexpected.is_empty();
    if !report.mismatched.is_empty() || (matching == Matching::Strict && names_differ) {
        return Err(Error::State(report.to_string()));
    }
    Ok(report)
}

impl LoadReport {
    /// The words that all unexpected names begin with and without which they would be the missing ones.
    fn surplus_prefix(&self) -> Option<&str> {
        let first_missing = self.missing.first()?;
        let prefix = self
            .unexpected
            .iter()
            .find_map(|name| name.strip_suffix(first_missing.as_str()))
            .filter(|prefix| prefix.ends_with('.'))?;
        let stripped: HashSet<&str> =
            self.unexpected.iter().filter_map(|name| name.strip_prefix(prefix)).collect();
        self.missing.iter().all(|name| stripped.contains(name.as_str())).then_some(prefix)
    }
}

impl fmt::Display for LoadReport {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |count: usize| if count == 1 { "" } else { "s" };
        write!(f, "{} tensor{} fit", self.matched.len(), plural(self.matched.len()))?;
        for (what, names) in [("missing", &self.missing), ("not expected", &self.unexpected)] {
            if !names.is_empty() {
                write!(f, "\n  {what} ({}): {}", names.len(), names.join(", "))?;
            }
        }
        if !self.mismatched.is_empty() {
            write!(f, "\n  of another shape ({}):", self.mismatched.len())?;
        }
        for ShapeMismatch { name, expected, given } in &self.mismatched {
            write!(f, "\n    {name}: the model has {expected}, given was {given}")?;
        }
        if !self.conversions.is_empty() {
            write!(f, "\n  to be converted ({}):", self.conversions.len())?;
        }
        for Conversion { name, from, to } in &self.conversions {
            write!(f, "\n    {name}: {from} to {to}")?;
        }
        if let Some(prefix) = self.surplus_prefix() {
            write!(
                f,
                "\n  the given names begin with `{prefix}`: take `strip_prefix(\"{prefix}\")` of them"
            )?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::Device;
    use crate::tensor::Tensor;

    fn given(entries: &[(&str, &[usize], DType)]) -> StateDict {
        let tensor = |&(name, dims, dtype): &(&str, &[usize], DType)| {
            (name.to_owned(), Tensor::ones(Shape::new(dims), (dtype, &Device::cpu())))
        };
        entries.iter().map(tensor).collect()
    }

    #[test]
    fn everything_that_does_not_fit_is_named() {
        let expected = [
            Expected::new("a", [2], DType::F32),
            Expected::new("b", [3, 1], DType::F32),
            Expected::new("c", (), DType::I32),
            Expected::new("d", [1], DType::F32),
        ];
        let given = given(&[
            ("b", &[1, 3], DType::F32),
            ("c", &[], DType::I64),
            ("a", &[2], DType::F32),
            ("e", &[1], DType::F32),
        ]);
        let error = match_names(&expected, &given, Matching::Lenient).unwrap_err().to_string();
        let report = "2 tensors fit\n  missing (1): d\n  not expected (1): e\n  of another shape (1):\n    \
            b: the model has [3, 1], given was [1, 3]\n  to be converted (1):\n    c: i64 to i32";
        assert_eq!(error, format!("saved state: {report}"));
    }

    #[test]
    fn lenient_reports_what_strict_refuses() {
        let expected = [Expected::new("a", [2], DType::F32), Expected::new("b", [2], DType::F32)];
        let some = given(&[("a", &[2], DType::F32), ("x", &[2], DType::F32)]);
        let report = match_names(&expected, &some, Matching::Lenient).unwrap();
        assert_eq!((report.missing, report.unexpected), (vec!["b".to_string()], vec!["x".to_string()]));
        assert!(match_names(&expected, &some, Matching::Strict).is_err());
        let all = given(&[("b", &[2], DType::F32), ("a", &[2], DType::F32)]);
        assert_eq!(match_names(&expected, &all, Matching::Strict).unwrap().matched, ["a", "b"]);
    }

    #[test]
    fn a_prefix_too_many_is_pointed_out() {
        let expected = [Expected::new("fc.w", [1], DType::F32), Expected::new("fc.b", [1], DType::F32)];
        let given = given(&[("module.fc.w", &[1], DType::F32), ("module.fc.b", &[1], DType::F32)]);
        let error = match_names(&expected, &given, Matching::Strict).unwrap_err().to_string();
        assert!(error.contains("strip_prefix(\"module.\")"), "{error}");
    }
}
