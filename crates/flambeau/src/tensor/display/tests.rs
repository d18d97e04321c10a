//! Texts that PyTorch 1.13 has printed, and what options change of them.

use super::{PrintOptions, Values, format_tensor, print_options, with_print_options};

const NAN: f32 = f32::NAN;
const INF: f32 = f32::INFINITY;

/// Values arrive widened from f32, as a tensor's do.
#[track_caller]
fn float(values: &[f32], shape: &[usize], suffix: &str, expected: &str) {
    let values: Vec<f64> = values.iter().map(|&x| f64::from(x)).collect();
    check(Values::Float(&values), shape, suffix, expected);
}

#[track_caller]
fn check(values: Values, shape: &[usize], suffix: &str, expected: &str) {
    let text = format_tensor(values, shape, suffix);
    assert!(text == expected, "expected:\n{expected}\ngot:\n{text}");
}

fn floats(n: u32, f: impl Fn(f32) -> f32) -> Vec<f32> {
    (0..n).map(|i| f(i as f32)).collect()
}

fn ints(n: i64) -> Vec<i64> {
    (0..n).collect()
}

#[test]
fn options_change_the_text() {
    let values: Vec<f64> = (0..20).map(|k| f64::from(k) / 8.0).collect();
    let text = |options: PrintOptions, shape: &[usize]| {
        with_print_options(options, || format_tensor(Values::Float(&values), shape, ""))
    };
    let plain = PrintOptions::default();
    assert_eq!(text(PrintOptions { precision: 1, ..plain }, &[2]), "tensor([0.0, 0.1])");
    let short = PrintOptions { threshold: 10, edge_items: 2, precision: 2, ..plain };
    assert_eq!(text(short, &[20]), "tensor([0.00, 0.12,  ..., 2.25, 2.38])");
    let narrow = PrintOptions { line_width: 24, precision: 2, ..plain };
    assert_eq!(text(narrow, &[4]), "tensor([0.00, 0.12,\n        0.25, 0.38])");
    let scientific = PrintOptions { scientific: Some(true), precision: 1, ..plain };
    assert_eq!(text(scientific, &[2]), "tensor([0.0e+00, 1.2e-01])");
    let tiny = [1e-7, 1.0];
    let decimal = PrintOptions { scientific: Some(false), ..plain };
    let text = with_print_options(decimal, || format_tensor(Values::Float(&tiny), &[2], ""));
    assert_eq!(text, "tensor([0.0000, 1.0000])");
    assert_eq!(print_options(), PrintOptions::default());
}

// What follows was printed by PyTorch 1.13.

#[test]
fn scalars() {
    float(&[std::f32::consts::PI], &[], "", "tensor(3.1416)");
    float(&[3.0], &[], "", "tensor(3.)");
    float(&[-0.5], &[], "", "tensor(-0.5000)");
    float(&[1.5e-5], &[], "", "tensor(1.5000e-05)");
    float(&[123456789.0], &[], "", "tensor(1.2346e+08)");
    float(&[NAN], &[], "", "tensor(nan)");
    float(&[-INF], &[], "", "tensor(-inf)");
    float(&[0.0], &[], "", "tensor(0.)");
    check(Values::Int(&[-42]), &[], "", "tensor(-42)");
    check(Values::Bool(&[true]), &[], "", "tensor(True)");
    float(&[2.5], &[], ", dtype=torch.float64", "tensor(2.5000, dtype=torch.float64)");
}

#[test]
fn notations() {
    float(&[1.0, 2.0, 3.0], &[3], "", "tensor([1., 2., 3.])");
    float(&[0.5, -1.25, 100.0], &[3], "", "tensor([  0.5000,  -1.2500, 100.0000])");
    float(&[0.001, 1.5], &[2], "", "tensor([1.0000e-03, 1.5000e+00])");
    float(&[1.0, 1000.0], &[2], "", "tensor([   1., 1000.])");
    float(&[1.0, 1001.0], &[2], "", "tensor([1.0000e+00, 1.0010e+03])");
    float(&[0.5, 500.0], &[2], "", "tensor([  0.5000, 500.0000])");
    float(&[0.5, 500.5], &[2], "", "tensor([5.0000e-01, 5.0050e+02])");
    float(&[1e-4, 0.01], &[2], "", "tensor([1.0000e-04, 1.0000e-02])");
    float(&[1.01e-4, 0.01], &[2], "", "tensor([0.0001, 0.0100])");
    float(&[1e8, 1e7], &[2], "", "tensor([100000000.,  10000000.])");
    float(&[1.5e8, 2e8], &[2], "", "tensor([1.5000e+08, 2.0000e+08])");
    float(&[1e30, -3e38, 1e-30], &[3], "", "tensor([ 1.0000e+30, -3.0000e+38,  1.0000e-30])");
    float(&[0.50005, 0.12345, 2.00005, 0.03125], &[4], "", "tensor([0.5001, 0.1235, 2.0001, 0.0312])");
    float(&[-0.0, 0.0], &[2], "", "tensor([-0., 0.])");
    float(&[0.99995, 9.99995, 99.99995], &[3], "", "tensor([ 0.9999, 10.0000, 99.9999])");
    check(
        Values::Int(&[4611686018427387904, -4611686018427387904, 0]),
        &[3],
        "",
        "tensor([ 4611686018427387904, -4611686018427387904,                    0])",
    );
}

#[test]
fn non_finite() {
    float(&[NAN, INF, -INF, 0.0], &[4], "", "tensor([nan, inf, -inf, 0.])");
    float(&[NAN, 1.0, -INF, 20.0], &[4], "", "tensor([nan,  1., -inf, 20.])");
    float(&[NAN, 1.5, -INF, -0.0], &[4], "", "tensor([   nan, 1.5000,   -inf, -0.0000])");
    float(&[NAN, 1e-6, -INF, 0.0], &[4], "", "tensor([       nan, 1.0000e-06,       -inf, 0.0000e+00])");
}

#[test]
fn nesting() {
    float(
        &[0.0; 4],
        &[2, 2],
        "",
        r"tensor([[0., 0.],
        [0., 0.]])",
    );
    float(
        &[1.0, -2.0, 3.5, 4.0],
        &[2, 2],
        "",
        r"tensor([[ 1.0000, -2.0000],
        [ 3.5000,  4.0000]])",
    );
    check(
        Values::Int(&[1, -200, 3, 40000]),
        &[2, 2],
        "",
        r"tensor([[    1,  -200],
        [    3, 40000]])",
    );
    check(
        Values::Bool(&[true, false, false, false]),
        &[2, 2],
        "",
        r"tensor([[ True, False],
        [False, False]])",
    );
    check(Values::Bool(&[true, true]), &[2], "", "tensor([True, True])");
    check(
        Values::Int(&ints(12)),
        &[2, 3, 2],
        "",
        r"tensor([[[ 0,  1],
         [ 2,  3],
         [ 4,  5]],

        [[ 6,  7],
         [ 8,  9],
         [10, 11]]])",
    );
    float(
        &floats(16, |i| i),
        &[2, 2, 2, 2],
        "",
        r"tensor([[[[ 0.,  1.],
          [ 2.,  3.]],

         [[ 4.,  5.],
          [ 6.,  7.]]],


        [[[ 8.,  9.],
          [10., 11.]],

         [[12., 13.],
          [14., 15.]]]])",
    );
    float(&[1.0], &[1, 1, 1, 1], "", "tensor([[[[1.]]]])");
}

#[test]
fn long_lines() {
    check(
        Values::Int(&ints(60)),
        &[60],
        "",
        r"tensor([ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
        18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35,
        36, 37, 38, 39, 40, 41, 42, 43, 44, 45, 46, 47, 48, 49, 50, 51, 52, 53,
        54, 55, 56, 57, 58, 59])",
    );
    float(
        &floats(28, |i| i / 7.0),
        &[28],
        "",
        r"tensor([0.0000, 0.1429, 0.2857, 0.4286, 0.5714, 0.7143, 0.8571, 1.0000, 1.1429,
        1.2857, 1.4286, 1.5714, 1.7143, 1.8571, 2.0000, 2.1429, 2.2857, 2.4286,
        2.5714, 2.7143, 2.8571, 3.0000, 3.1429, 3.2857, 3.4286, 3.5714, 3.7143,
        3.8571])",
    );
    float(
        &floats(13, |i| i * i * i / 1000.0),
        &[13],
        "",
        r"tensor([0.0000e+00, 1.0000e-03, 8.0000e-03, 2.7000e-02, 6.4000e-02, 1.2500e-01,
        2.1600e-01, 3.4300e-01, 5.1200e-01, 7.2900e-01, 1.0000e+00, 1.3310e+00,
        1.7280e+00])",
    );
    check(
        Values::Int(&ints(54)),
        &[2, 27],
        "",
        r"tensor([[ 0,  1,  2,  3,  4,  5,  6,  7,  8,  9, 10, 11, 12, 13, 14, 15, 16, 17,
         18, 19, 20, 21, 22, 23, 24, 25, 26],
        [27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40, 41, 42, 43, 44,
         45, 46, 47, 48, 49, 50, 51, 52, 53]])",
    );
    float(
        &floats(24, |i| i / 8.0 - 1.0),
        &[2, 1, 12],
        "",
        r"tensor([[[-1.0000, -0.8750, -0.7500, -0.6250, -0.5000, -0.3750, -0.2500,
          -0.1250,  0.0000,  0.1250,  0.2500,  0.3750]],

        [[ 0.5000,  0.6250,  0.7500,  0.8750,  1.0000,  1.1250,  1.2500,
           1.3750,  1.5000,  1.6250,  1.7500,  1.8750]]])",
    );
}

#[test]
fn abbreviations() {
    check(Values::Int(&ints(1001)), &[1001], "", "tensor([   0,    1,    2,  ...,  998,  999, 1000])");
    check(
        Values::Int(&ints(3000)),
        &[30, 100],
        "",
        r"tensor([[   0,    1,    2,  ...,   97,   98,   99],
        [ 100,  101,  102,  ...,  197,  198,  199],
        [ 200,  201,  202,  ...,  297,  298,  299],
        ...,
        [2700, 2701, 2702,  ..., 2797, 2798, 2799],
        [2800, 2801, 2802,  ..., 2897, 2898, 2899],
        [2900, 2901, 2902,  ..., 2997, 2998, 2999]])",
    );
    float(
        &floats(1200, |i| i / 3.0),
        &[200, 6],
        "",
        r"tensor([[0.0000e+00, 3.3333e-01, 6.6667e-01, 1.0000e+00, 1.3333e+00, 1.6667e+00],
        [2.0000e+00, 2.3333e+00, 2.6667e+00, 3.0000e+00, 3.3333e+00, 3.6667e+00],
        [4.0000e+00, 4.3333e+00, 4.6667e+00, 5.0000e+00, 5.3333e+00, 5.6667e+00],
        ...,
        [3.9400e+02, 3.9433e+02, 3.9467e+02, 3.9500e+02, 3.9533e+02, 3.9567e+02],
        [3.9600e+02, 3.9633e+02, 3.9667e+02, 3.9700e+02, 3.9733e+02, 3.9767e+02],
        [3.9800e+02, 3.9833e+02, 3.9867e+02, 3.9900e+02, 3.9933e+02, 3.9967e+02]])",
    );
    float(
        &floats(1120, |i| i / 4.0 + 1.0),
        &[8, 2, 70],
        "",
        r"tensor([[[  1.0000,   1.2500,   1.5000,  ...,  17.7500,  18.0000,  18.2500],
         [ 18.5000,  18.7500,  19.0000,  ...,  35.2500,  35.5000,  35.7500]],

        [[ 36.0000,  36.2500,  36.5000,  ...,  52.7500,  53.0000,  53.2500],
         [ 53.5000,  53.7500,  54.0000,  ...,  70.2500,  70.5000,  70.7500]],

        [[ 71.0000,  71.2500,  71.5000,  ...,  87.7500,  88.0000,  88.2500],
         [ 88.5000,  88.7500,  89.0000,  ..., 105.2500, 105.5000, 105.7500]],

        ...,

        [[176.0000, 176.2500, 176.5000,  ..., 192.7500, 193.0000, 193.2500],
         [193.5000, 193.7500, 194.0000,  ..., 210.2500, 210.5000, 210.7500]],

        [[211.0000, 211.2500, 211.5000,  ..., 227.7500, 228.0000, 228.2500],
         [228.5000, 228.7500, 229.0000,  ..., 245.2500, 245.5000, 245.7500]],

        [[246.0000, 246.2500, 246.5000,  ..., 262.7500, 263.0000, 263.2500],
         [263.5000, 263.7500, 264.0000,  ..., 280.2500, 280.5000, 280.7500]]])",
    );
    float(
        &floats(2000, |i| i * 1234.5),
        &[2, 1000],
        "",
        r"tensor([[0.0000e+00, 1.2345e+03, 2.4690e+03,  ..., 1.2308e+06, 1.2320e+06,
         1.2333e+06],
        [1.2345e+06, 1.2357e+06, 1.2370e+06,  ..., 2.4653e+06, 2.4665e+06,
         2.4678e+06]])",
    );
    check(
        Values::Int(&ints(1200)),
        &[2, 10, 1, 60],
        "",
        r"tensor([[[[   0,    1,    2,  ...,   57,   58,   59]],

         [[  60,   61,   62,  ...,  117,  118,  119]],

         [[ 120,  121,  122,  ...,  177,  178,  179]],

         ...,

         [[ 420,  421,  422,  ...,  477,  478,  479]],

         [[ 480,  481,  482,  ...,  537,  538,  539]],

         [[ 540,  541,  542,  ...,  597,  598,  599]]],


        [[[ 600,  601,  602,  ...,  657,  658,  659]],

         [[ 660,  661,  662,  ...,  717,  718,  719]],

         [[ 720,  721,  722,  ...,  777,  778,  779]],

         ...,

         [[1020, 1021, 1022,  ..., 1077, 1078, 1079]],

         [[1080, 1081, 1082,  ..., 1137, 1138, 1139]],

         [[1140, 1141, 1142,  ..., 1197, 1198, 1199]]]])",
    );
    float(
        &floats(1101, |i| if i == 500.0 { 0.25 } else { i % 7.0 }),
        &[1101],
        "",
        "tensor([0., 1., 2.,  ..., 6., 0., 1.])",
    );
}

#[test]
fn empty() {
    float(&[], &[0], "", "tensor([])");
    float(&[], &[0, 3], "", "tensor([], size=(0, 3))");
    float(&[], &[2, 0, 4], "", "tensor([], size=(2, 0, 4))");
    check(Values::Int(&[]), &[0, 2], ", dtype=torch.int64", "tensor([], size=(0, 2), dtype=torch.int64)");
    float(
        &[],
        &[3, 0],
        ", dtype=torch.float16, requires_grad=True",
        "tensor([], size=(3, 0), dtype=torch.float16, requires_grad=True)",
    );
}

#[test]
fn suffixes() {
    float(&[1.0, 2.0], &[2], ", requires_grad=True", "tensor([1., 2.], requires_grad=True)");
    float(
        &floats(10, |i| i / 8.0),
        &[10],
        ", requires_grad=True",
        r"tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000,
        1.1250], requires_grad=True)",
    );
    float(
        &floats(9, |i| i / 8.0),
        &[9],
        ", dtype=torch.float64, requires_grad=True",
        r"tensor([0.0000, 0.1250, 0.2500, 0.3750, 0.5000, 0.6250, 0.7500, 0.8750, 1.0000],
       dtype=torch.float64, requires_grad=True)",
    );
    float(
        &[1.0; 16],
        &[2, 8],
        ", dtype=torch.float64, requires_grad=True",
        r"tensor([[1., 1., 1., 1., 1., 1., 1., 1.],
        [1., 1., 1., 1., 1., 1., 1., 1.]], dtype=torch.float64,
       requires_grad=True)",
    );
    float(
        &[0.0; 1600],
        &[40, 40],
        ", dtype=torch.float16",
        r"tensor([[0., 0., 0.,  ..., 0., 0., 0.],
        [0., 0., 0.,  ..., 0., 0., 0.],
        [0., 0., 0.,  ..., 0., 0., 0.],
        ...,
        [0., 0., 0.,  ..., 0., 0., 0.],
        [0., 0., 0.,  ..., 0., 0., 0.],
        [0., 0., 0.,  ..., 0., 0., 0.]], dtype=torch.float16)",
    );
    float(
        &[1.0; 12],
        &[12],
        ", requires_grad=True",
        "tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.], requires_grad=True)",
    );
    float(
        &[1.0; 13],
        &[13],
        ", requires_grad=True",
        r"tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],
       requires_grad=True)",
    );
    float(
        &[1.0; 14],
        &[14],
        ", requires_grad=True",
        r"tensor([1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1., 1.],
       requires_grad=True)",
    );
}

#[test]
fn a_thousand_elements_are_printed_in_full() {
    let text = format_tensor(Values::Int(&ints(1000)), &[10, 100], "");
    assert!(!text.contains("...") && text.contains(" 550,"));
}

#[test]
fn our_own_suffixes() {
    float(
        &[1.0, 2.5],
        &[2],
        ", dtype=f16, device='gpu', requires_grad=true",
        "tensor([1.0000, 2.5000], dtype=f16, device='gpu', requires_grad=true)",
    );
}
