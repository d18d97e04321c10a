//! Elementwise functions by name.

use super::call::{Op, one};

macro_rules! table {
    ([$($unary:literal $u:ident),*] [$($binary:literal $b:ident),*] [$($number:literal $n:ident),*] [$($other:literal => $op:expr),* $(,)?]) => {
        pub const TABLE: &[(&str, Op)] = &[
            $(($unary, |c| one(c.x().$u())),)*
            $(($binary, |c| one(c.x().$b(c.y()))),)*
            $(($number, |c| one(c.x().$n(c.number("number")))),)*
            $(($other, $op),)*
        ];
    };
}

table! {
    [
        "neg" try_neg, "reciprocal" try_reciprocal, "abs" try_abs, "sign" try_sign, "exp" try_exp, "exp2" try_exp2,
        "expm1" try_expm1, "log" try_log, "log2" try_log2, "log10" try_log10, "log1p" try_log1p, "sqrt" try_sqrt,
        "rsqrt" try_rsqrt, "sin" try_sin, "cos" try_cos, "tan" try_tan, "asin" try_asin, "acos" try_acos,
        "atan" try_atan, "sinh" try_sinh, "cosh" try_cosh, "tanh" try_tanh, "asinh" try_asinh, "acosh" try_acosh,
        "atanh" try_atanh, "erf" try_erf, "erfc" try_erfc, "sigmoid" try_sigmoid, "softplus" try_softplus,
        "relu" try_relu, "relu6" try_relu6, "silu" try_silu, "gelu" try_gelu, "gelu_tanh" try_gelu_tanh,
        "mish" try_mish, "hardsigmoid" try_hardsigmoid, "hardswish" try_hardswish, "selu" try_selu,
        "softsign" try_softsign, "tanhshrink" try_tanhshrink, "log_sigmoid" try_log_sigmoid, "square" try_square,
        "floor" try_floor, "ceil" try_ceil, "round" try_round, "trunc" try_trunc, "frac" try_frac,
        "deg2rad" try_deg2rad, "rad2deg" try_rad2deg, "isnan" try_isnan, "isinf" try_isinf,
        "isfinite" try_isfinite, "logical_not" try_logical_not, "bitnot" try_bitnot
    ]
    [
        "add" try_add, "sub" try_sub, "mul" try_mul, "div" try_div, "rsub" try_rsub, "pow" try_pow,
        "maximum" try_maximum, "minimum" try_minimum, "remainder" try_remainder, "fmod" try_fmod,
        "floor_divide" try_floor_divide, "hypot" try_hypot, "atan2" try_atan2, "logaddexp" try_logaddexp,
        "gt" try_gt, "ge" try_ge, "lt" try_lt, "le" try_le, "eq" try_eq, "ne" try_ne, "bitand" try_bitand,
        "bitor" try_bitor, "bitxor" try_bitxor, "logical_and" try_logical_and, "logical_or" try_logical_or,
        "logical_xor" try_logical_xor
    ]
    [
        "add_number" try_add, "sub_number" try_sub, "mul_number" try_mul, "div_number" try_div,
        "gt_number" try_gt, "le_number" try_le, "eq_number" try_eq
    ]
    [
        "elu" => |c| one(c.x().try_elu(c.number("alpha"))),
        "celu" => |c| one(c.x().try_celu(c.number("alpha"))),
        "leaky_relu" => |c| one(c.x().try_leaky_relu(c.number("slope"))),
        "hardtanh" => |c| one(c.x().try_hardtanh(c.number("min"), c.number("max"))),
        "hardshrink" => |c| one(c.x().try_hardshrink(c.number("lambda"))),
        "softshrink" => |c| one(c.x().try_softshrink(c.number("lambda"))),
        "threshold" => |c| one(c.x().try_threshold(c.number("threshold"), c.number("value"))),
        "softplus_with" => |c| one(c.x().try_softplus_with(c.number("beta"), c.number("threshold"))),
        "logit" => |c| one(c.x().try_logit(c.maybe_number("eps"))),
        "clamp" => |c| one(c.x().try_clamp(c.number("min"), c.number("max"))),
        "clamp_min" => |c| one(c.x().try_clamp_min(c.number("min"))),
        "clamp_max" => |c| one(c.x().try_clamp_max(c.number("max"))),
        "pow_number" => |c| one(c.x().try_pow(c.number("exponent"))),
        "nan_to_num" => |c| {
            let values: Vec<f64> =
                c.options["values"].as_array().map_or(Vec::new(), |list| list.iter().filter_map(|x| x.as_f64()).collect());
            one(c.x().try_nan_to_num(values[0], values[1], values[2]))
        },
        "lerp" => |c| one(c.x().try_lerp(c.y(), &c.operands[2])),
        "where" => |c| one(c.x().try_where_cond(c.y(), &c.operands[2])),
        "prelu" => |c| one(c.x().try_prelu(c.y())),
    ]
}
