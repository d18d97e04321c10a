//! Samples of attention for the self-test: lengths and widths around those at which its kernels divide their work, views, masks,
//! dropout, shared heads, and F16.

use super::{Dropout, Terms, definition, fits, fused};
use crate::dtype::DType;
use crate::error::Result;
use crate::op::Tensor;
use crate::op::case::{Case, Input, Values, flat_gradients};
use crate::shape::product;

/// What a case has beside its queries, keys and values; a mask is input 3.
#[derive(Clone, Copy, Default)]
struct Setting {
    causal: bool,
    dropout: bool,
}

impl Setting {
    fn terms(self, mask: Option<&Tensor>) -> Terms {
        // The counter's low word overflows within the draw.
        let dropout = Dropout { share: 0.7, draw: ([0x1234_5678, 9], [u32::MAX - 20, 3]) };
        Terms {
            scale: 0.3,
            causal: self.causal,
            mask: mask.cloned(),
            dropout: self.dropout.then_some(dropout),
        }
    }

    /// Other dtypes than the kernels', as finite differences have them, take the definition.
    fn apply(self, x: &[Tensor]) -> Result<Tensor> {
        let terms = self.terms(x.get(3));
        match fits(&x[0], &x[1], &x[2]) {
            true => fused(&x[0], &x[1], &x[2], &terms),
            false => definition::attend(&x[0], &x[1], &x[2], &terms),
        }
    }

    fn name(self) -> String {
        let words = [(self.causal, " causal"), (self.dropout, " with dropout")];
        words.into_iter().filter(|(is_so, _)| *is_so).map(|(_, word)| word).collect()
    }
}

fn case(name: &str, inputs: Vec<Input>, setting: Setting, view: fn(&Tensor) -> Result<Tensor>) -> Case {
    let body = move |x: &[Tensor]| setting.apply(&x.iter().map(view).collect::<Result<Vec<_>>>()?);
    let name = format!("attention {name}{}", setting.name());
    Case::new("attention", name, inputs, body).within(2e-5, "sums of many products")
}

/// The gradients of queries, keys and values, one after the other. A mask has none, so the kernels make them.
fn backward_case(name: &str, inputs: Vec<Input>, setting: Setting) -> Case {
    let body = move |x: &[Tensor]| {
        flat_gradients(&x[..3], |leaves| {
            let all: Vec<Tensor> = leaves.iter().cloned().chain(x[3..].iter().map(Tensor::detach)).collect();
            setting.apply(&all)?.try_square()?.try_sum(..)
        })
    };
    let name = format!("attention_backward{name}{}", setting.name());
    Case::new("attention_backward", name, inputs, body)
        .within(2e-5, "sums of many products")
        .without_gradient()
}

fn floats(shape: [usize; 4]) -> Input {
    Input::new(shape, DType::F32, (-1.5, 1.5))
}

/// Queries (B, H, L, E), keys (B, G, S, E) and values (B, G, S, V).
fn operands([b, h, g, l, s, e, v]: [usize; 7]) -> Vec<Input> {
    vec![floats([b, h, l, e]), floats([b, g, s, e]), floats([b, g, s, v])]
}

/// The same, and a mask.
fn with_mask(sizes: [usize; 7], mask: Input) -> Vec<Input> {
    operands(sizes).into_iter().chain([mask]).collect()
}

/// A mask with numbers, or −∞, where a key is not seen. Every query sees key 0.
fn mask(shape: [usize; 4], dtype: DType) -> Input {
    let keys = shape[3];
    let number = |k: usize| match (k.is_multiple_of(keys) || k * 7 % 5 > 1, dtype) {
        (seen, DType::Bool) => f64::from(u8::from(seen)),
        (true, _) => (k * 5 % 11) as f64 / 4.0 - 1.0,
        (false, _) => f64::NEG_INFINITY,
    };
    let numbers: Vec<f64> = (0..product(shape)).map(number).collect();
    Input::given(shape, dtype, &numbers)
}

/// The same inputs in F16.
fn halves(inputs: Vec<Input>) -> Vec<Input> {
    let half = |input: Input| match input.dtype {
        DType::F32 => Input { dtype: DType::F16, ..input },
        _ => input,
    };
    inputs.into_iter().map(half).collect()
}

/// Masks, dropout and shared heads, in every text that kernels have for them, and in sizes that end within a block.
fn settings() -> Vec<Case> {
    let as_it_is: fn(&Tensor) -> Result<Tensor> = |x| Ok(x.clone());
    let odd = [2, 3, 3, 9, 35, 6, 3];
    let (plain, causal) = (Setting::default(), Setting { causal: true, ..Default::default() });
    let dropout = Setting { dropout: true, ..Default::default() };
    let all = Setting { causal: true, dropout: true };
    let mut cases = vec![
        // Small enough for finite differences, of the mask too.
        case(
            "with an additive mask",
            with_mask([1, 2, 2, 2, 3, 2, 2], floats([1, 2, 2, 3])),
            plain,
            as_it_is,
        ),
        case("with a mask", with_mask([1, 2, 2, 3, 4, 2, 2], mask([1, 1, 3, 4], DType::Bool)), all, as_it_is),
        case("in small", operands([1, 1, 1, 3, 4, 2, 3]), dropout, as_it_is),
        case("of shared heads in small", operands([1, 4, 2, 2, 3, 2, 2]), all, as_it_is),
        case("of shared heads", operands([2, 6, 2, 37, 20, 8, 12]), plain, as_it_is),
        case("of one head for all", operands([1, 3, 1, 40, 65, 5, 4]), causal, as_it_is),
        case("of wide heads", operands([1, 2, 2, 17, 33, 160, 300]), all, as_it_is),
        case("of wider keys", operands([1, 1, 1, 34, 20, 257, 33]), plain, as_it_is),
        case("of F16", halves(operands([2, 2, 2, 33, 20, 8, 12])), causal, as_it_is),
        case(
            "of F16 with odd widths",
            halves(with_mask(odd, mask([2, 1, 1, 35], DType::Bool))),
            all,
            as_it_is,
        ),
    ];
    let shared = [2, 4, 2, 40, 70, 8, 4];
    for (name, sizes, shape, dtype, setting) in [
        (" of keys", odd, [2, 1, 1, 35], DType::Bool, all),
        (" of keys", odd, [2, 1, 1, 35], DType::F32, dropout),
        (" of heads", odd, [1, 3, 9, 35], DType::F16, causal),
        (" of shared heads", shared, [2, 4, 40, 70], DType::Bool, plain),
        (" of shared heads", shared, [2, 4, 1, 70], DType::F32, all),
        (" of queries", [2, 2, 2, 5, 4, 3, 2], [2, 1, 5, 1], DType::F32, causal),
    ] {
        let name = format!(" with a mask{name} in {dtype}");
        cases.push(backward_case(&name, with_mask(sizes, mask(shape, dtype)), setting));
    }
    // Small numbers: sums of 200 products of larger ones would differ by the last digits of large scores.
    let small = |input: Input| Input { values: Values::Range(-0.5, 0.5), ..input };
    let slabs = operands([1, 2, 1, 33, 40, 200, 132]).into_iter().map(small).collect();
    cases.push(backward_case(" in slabs", slabs, dropout));
    cases.push(backward_case(" with dropout of shared heads", operands([1, 4, 2, 33, 40, 7, 12]), all));
    // F16 has three digits; forward the sums are rounded to them, backward their products with the gradient, too.
    let coarse = |case: Case| match case.inputs[0].dtype {
        DType::F16 => case.within(4e-3, "sums in F16"),
        _ => case,
    };
    cases.into_iter().map(coarse).collect()
}

pub(super) fn samples() -> Vec<Case> {
    let mut cases = settings();
    for causal in [false, true] {
        let setting = Setting { causal, dropout: false };
        cases.push(backward_case("", operands([1, 2, 2, 9, 17, 6, 3]), setting));
        for [b, h, l, s, e, v] in [
            [1, 1, 1, 1, 1, 1],
            [2, 3, 2, 2, 2, 2],
            [2, 2, 9, 17, 6, 3],
            [1, 2, 17, 9, 3, 6],
            [2, 1, 70, 35, 33, 20],
            [1, 1, 140, 130, 64, 64],
            [1, 2, 20, 20, 128, 128],
            [1, 1, 40, 41, 100, 72],
        ] {
            let name = format!("{b}×{h}, {l} queries of {e}, {s} keys, values of {v}");
            cases.push(case(&name, operands([b, h, h, l, s, e, v]), setting, |x| Ok(x.clone())));
        }
        let inputs = || vec![floats([2, 5, 3, 4]), floats([2, 5, 3, 4]), floats([2, 5, 3, 4])];
        cases.push(case("of heads inside", inputs(), setting, |x| x.try_permute(&[0, 2, 1, 3])));
        cases.push(case("of three dimensions", inputs(), setting, |x| x.try_select(0, 1)));
        cases.push(case("of a slice", inputs(), setting, |x| x.try_narrow(1, 1, 3)?.try_flip(3)));
    }
    cases
}
