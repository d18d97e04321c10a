//! The texts of single elements: in which notation a tensor's numbers are written, and how wide their column is.

use super::{PrintOptions, Values};

/// The texts of the shown elements, padded on the left to the width that comes with them.
pub(super) fn cells(values: Values, shown: &[usize], options: &PrintOptions) -> (Vec<String>, usize) {
    let (mut texts, width): (Vec<String>, usize) = match values {
        Values::Float(all) => {
            let floats: Vec<f64> = shown.iter().map(|&i| all[i]).collect();
            let notation = Notation::of(&floats, options.scientific);
            let texts: Vec<String> = floats.iter().map(|&x| notation.text(x, options.precision)).collect();
            // Zeros and non-finite values have no say in the width, even where they are longer.
            let counted = texts.iter().zip(&floats).filter(|(_, x)| decides_layout(x));
            let width = counted.map(|(text, _)| text.len()).max().unwrap_or(1);
            (texts, width)
        }
        Values::Int(all) => common_width(shown.iter().map(|&i| all[i].to_string()).collect()),
        Values::Bool(all) => {
            common_width(shown.iter().map(|&i| if all[i] { "True" } else { "False" }.to_string()).collect())
        }
    };
    for text in &mut texts {
        *text = format!("{text:>width$}");
    }
    (texts, width)
}

fn common_width(texts: Vec<String>) -> (Vec<String>, usize) {
    let width = texts.iter().map(String::len).max().unwrap_or(1);
    (texts, width)
}

fn decides_layout(x: &f64) -> bool {
    x.is_finite() && *x != 0.0
}

/// How the floating-point values of one tensor are written: all in the same way.
#[derive(Clone, Copy)]
enum Notation {
    /// `3.`: every value is a whole number.
    Whole,
    /// `3.1416`
    Decimal,
    /// `3.1416e+00`: the values are very large, very small, or far apart.
    Scientific,
}

impl Notation {
    fn of(values: &[f64], scientific: Option<bool>) -> Self {
        let sizes = || values.iter().filter(|x| decides_layout(x)).map(|x| x.abs());
        let (Some(least), Some(most)) = (sizes().reduce(f64::min), sizes().reduce(f64::max)) else {
            return Notation::Whole;
        };
        let whole = sizes().all(|x| x.fract() == 0.0);
        let fits = most / least > 1e3 || most > 1e8 || (!whole && least < 1e-4);
        if scientific.unwrap_or(fits) {
            Notation::Scientific
        } else if whole {
            Notation::Whole
        } else {
            Notation::Decimal
        }
    }

    fn text(self, x: f64, precision: usize) -> String {
        match self {
            _ if x.is_nan() => "nan".to_string(),
            _ if x.is_infinite() => if x > 0.0 { "inf" } else { "-inf" }.to_string(),
            Notation::Whole => format!("{x:.0}."),
            Notation::Decimal => format!("{x:.precision$}"),
            Notation::Scientific => {
                // Rust writes 1e5 and 1e-5 where C and Python write 1e+05 and 1e-05.
                let text = format!("{x:.precision$e}");
                let (digits, exponent) = text.split_once('e').unwrap_or((&text, "0"));
                let (sign, exponent) = exponent.strip_prefix('-').map_or(('+', exponent), |e| ('-', e));
                format!("{digits}e{sign}{exponent:0>2}")
            }
        }
    }
}
