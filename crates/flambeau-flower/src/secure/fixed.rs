//! Numbers as whole ones modulo 2³², so that masks are uniform and sums exact.

use super::refused;
use crate::error::Result;

/// Numbers up to a range, in steps small enough that the sum of so many clients still fits.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct FixedPoint {
    range: f64,
    steps: f64,
}

impl FixedPoint {
    /// Numbers from −`range` to `range`, and sums of so many clients of them. A step is about `range` · `clients` / 2³¹.
    pub fn new(range: f64, clients: u32) -> Result<FixedPoint> {
        if !(range > 0.0 && range.is_finite()) || clients == 0 {
            return Err(refused(format!("numbers up to {range} of {clients} clients; take a range above 0")));
        }
        // A power of two: numbers with few digits are kept as they are.
        let steps = (f64::from(i32::MAX) / (range * f64::from(clients))).log2().floor().exp2();
        Ok(FixedPoint { range, steps })
    }

    /// The distance of two neighbouring numbers.
    pub fn step(&self) -> f64 {
        1.0 / self.steps
    }

    /// Numbers as whole ones; those beyond the range are cut off at it. One that is no number is refused.
    pub fn encode(&self, numbers: &[f32]) -> Result<Vec<u32>> {
        let encode = |(place, &number): (usize, &f32)| {
            if number.is_nan() {
                return Err(refused(format!("number {place} is NaN")));
            }
            let bounded = f64::from(number).clamp(-self.range, self.range);
            Ok((bounded * self.steps).round() as i32 as u32)
        };
        numbers.iter().enumerate().map(encode).collect()
    }

    /// The numbers that whole ones stand for.
    pub fn decode(&self, sums: &[u32]) -> Vec<f32> {
        sums.iter().map(|&sum| (f64::from(sum as i32) / self.steps) as f32).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sums_of_extremes_fit() {
        let fixed = FixedPoint::new(8.0, 255).unwrap();
        let one = fixed.encode(&[1e9, -8.0, 0.125, f32::INFINITY]).unwrap();
        let sum: Vec<u32> =
            one.iter().map(|&word| (0..255).fold(0u32, |sum, _| sum.wrapping_add(word))).collect();
        assert_eq!(fixed.decode(&sum), [2040.0, -2040.0, 31.875, 2040.0]);
        assert!(fixed.step() < 2e-6);
        assert!(fixed.encode(&[f32::NAN]).is_err());
        assert!(FixedPoint::new(0.0, 1).is_err() && FixedPoint::new(1.0, 0).is_err());
    }
}
