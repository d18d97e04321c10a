//! Elementwise ops, reductions, sorting, scans and products.

use super::{Call, calls};
use flambeau::{ContractedDims, Tensor, bindings};

const EQUATIONS: &[&str] = &[
    "ij,jk->ik",
    "ii",
    "ij->ji",
    "...ij->...ji",
    "i,j->ij",
    "ij,ij->",
    "bij,bjk->bik",
    "",
    "->",
    ",",
    "i->ii",
    "ij,j",
    "a...b,b...->...",
    "é->é",
    "i->j",
    "......",
    "ijk,ijk,ijk->k",
];

pub const CALLS: &[Call] = calls! {
    "elementwise": a => {
        let op = a.random.below(bindings::elementwise_count());
        let others = (1..bindings::elementwise_arity(op)).map(|_| a.operand()).collect();
        bindings::elementwise(op, &a.x(), others)
    };
    "elementwise of floats": a => {
        let op = a.random.below(bindings::elementwise_count());
        let first = a.float();
        let others = (1..bindings::elementwise_arity(op)).map(|_| a.like(&first).into()).collect();
        bindings::elementwise(op, &first, others)
    };
    "pow": a => a.x().try_pow(a.operand());
    "where_cond": a => a.mask().try_where_cond(a.operand(), a.operand());
    "clamp": a => a.x().try_clamp(a.operand(), a.operand());
    "clamp_min": a => a.x().try_clamp_min(a.operand());
    "clamp_max": a => a.x().try_clamp_max(a.operand());
    "rsub": a => a.x().try_rsub(a.operand());
    "lerp": a => a.x().try_lerp(a.operand(), a.operand());
    "square": a => a.x().try_square();
    "frac": a => a.x().try_frac();
    "deg2rad": a => a.x().try_deg2rad();
    "rad2deg": a => a.x().try_rad2deg();
    "erfc": a => a.x().try_erfc();
    "logit": a => a.float().try_logit(a.number());
    "nan_to_num": a => a.x().try_nan_to_num(a.number(), a.number(), a.number());

    "celu": a => a.float().try_celu(a.number());
    "elu": a => a.float().try_elu(a.number());
    "selu": a => a.float().try_selu();
    "glu": a => a.float().try_glu(a.dim());
    "hardshrink": a => a.float().try_hardshrink(a.number());
    "hardtanh": a => a.float().try_hardtanh(a.number(), a.number());
    "leaky_relu": a => a.float().try_leaky_relu(a.number());
    "log_sigmoid": a => a.float().try_log_sigmoid();
    "prelu": a => a.float().try_prelu(&a.float());
    "rrelu": a => a.float().try_rrelu(a.number(), a.number(), &a.generator());
    "softplus_with": a => a.float().try_softplus_with(a.number(), a.number());
    "softshrink": a => a.float().try_softshrink(a.number());
    "softsign": a => a.float().try_softsign();
    "tanhshrink": a => a.float().try_tanhshrink();
    "threshold": a => a.float().try_threshold(a.number(), a.number());
    "softmax": a => a.float().try_softmax(a.dim());
    "log_softmax": a => a.float().try_log_softmax(a.dim());
    "softmin": a => a.float().try_softmin(a.dim());

    "sum": a => a.x().try_sum(a.dims());
    "sum_keepdim": a => a.x().try_sum_keepdim(a.dims());
    "mean": a => a.float().try_mean(a.dims());
    "mean_keepdim": a => a.float().try_mean_keepdim(a.dims());
    "prod": a => a.x().try_prod(a.dims());
    "prod_keepdim": a => a.x().try_prod_keepdim(a.dims());
    "amax": a => a.x().try_amax(a.dims());
    "amax_keepdim": a => a.x().try_amax_keepdim(a.dims());
    "amin": a => a.x().try_amin(a.dims());
    "amin_keepdim": a => a.x().try_amin_keepdim(a.dims());
    "max": a => a.x().try_max(a.dims());
    "min": a => a.x().try_min(a.dims());
    "max_dim": a => a.x().try_max_dim(a.dim());
    "max_dim_keepdim": a => a.x().try_max_dim_keepdim(a.dim());
    "min_dim": a => a.x().try_min_dim(a.dim());
    "min_dim_keepdim": a => a.x().try_min_dim_keepdim(a.dim());
    "argmax": a => a.x().try_argmax(a.dims());
    "argmax_keepdim": a => a.x().try_argmax_keepdim(a.dims());
    "argmin": a => a.x().try_argmin(a.dims());
    "argmin_keepdim": a => a.x().try_argmin_keepdim(a.dims());
    "all": a => a.x().try_all(a.dims());
    "all_keepdim": a => a.x().try_all_keepdim(a.dims());
    "any": a => a.x().try_any(a.dims());
    "any_keepdim": a => a.x().try_any_keepdim(a.dims());
    "count_nonzero": a => a.x().try_count_nonzero(a.dims());
    "logsumexp": a => a.float().try_logsumexp(a.dims());
    "logsumexp_keepdim": a => a.float().try_logsumexp_keepdim(a.dims());
    "var": a => a.float().try_var(a.dims(), a.number());
    "var_keepdim": a => a.float().try_var_keepdim(a.dims(), a.number());
    "std": a => a.float().try_std(a.dims(), a.number());
    "std_keepdim": a => a.float().try_std_keepdim(a.dims(), a.number());
    "var_mean": a => a.float().try_var_mean(a.dims(), a.number());
    "var_mean_keepdim": a => a.float().try_var_mean_keepdim(a.dims(), a.number());
    "norm": a => a.float().try_norm(a.number(), a.dims());
    "norm_keepdim": a => a.float().try_norm_keepdim(a.number(), a.dims());
    "normalize": a => a.float().try_normalize(a.number(), a.dim(), a.number());
    "cumsum": a => a.x().try_cumsum(a.dim());
    "cumprod": a => a.x().try_cumprod(a.dim());

    "argsort": a => a.x().try_argsort(a.dim(), a.flag());
    "sort": a => a.x().try_sort(a.dim(), a.flag());
    "msort": a => a.x().try_msort();
    "topk": a => a.x().try_topk(a.size(), a.dim(), a.flag(), a.flag());
    "kthvalue": a => a.x().try_kthvalue(a.size(), a.dim());
    "median": a => a.x().try_median(a.dim());

    "matmul": a => a.x().try_matmul(&a.x());
    "matmul with itself": a => { let x = a.float(); x.try_matmul(&x.try_transpose(-1, -2)?) };
    "matmul of the endless": a => {
        let x = a.ranked(2).try_narrow(0, 0, 1)?.try_expand([a.width() as isize, -1])?;
        x.try_matmul(&a.ranked(2))
    };
    "mm": a => a.ranked(2).try_mm(&a.ranked(2));
    "bmm": a => a.ranked(3).try_bmm(&a.ranked(3));
    "mv": a => a.ranked(2).try_mv(&a.ranked(1));
    "dot": a => a.ranked(1).try_dot(&a.ranked(1));
    "outer": a => a.ranked(1).try_outer(&a.ranked(1));
    "addmm": a => a.x().try_addmm(&a.ranked(2), &a.ranked(2), a.scalar(), a.scalar());
    "baddbmm": a => a.x().try_baddbmm(&a.ranked(3), &a.ranked(3), a.scalar(), a.scalar());
    "kron": a => a.x().try_kron(&a.x());
    "tensordot": a => a.x().try_tensordot(&a.x(), a.size());
    "tensordot listed": a => {
        let dims = ContractedDims::from((&a.dim_list()[..], &a.dim_list()[..]));
        a.x().try_tensordot(&a.x(), dims)
    };
    "einsum": a => {
        let equation = *a.random.pick(EQUATIONS);
        Tensor::try_einsum(equation, &a.list())
    };
    "cosine_similarity": a => { let x = a.float(); x.try_cosine_similarity(&a.like(&x), a.dim(), a.number()) };
    "pairwise_distance": a => { let x = a.float(); x.try_pairwise_distance(&a.like(&x), a.number(), a.number()) };
    "bilinear": a => a.float().try_bilinear(&a.float(), &a.ranked(3), a.maybe(|a| a.float()).as_ref());
};
