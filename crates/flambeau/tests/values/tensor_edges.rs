//! The tensor API's edges, on every device: empty tensors, refusals and what they say, writing, randomness.

use crate::common::{assert_values, devices, values};
use flambeau::prelude::*;

/// The message of a refusal.
#[track_caller]
fn refusal<T: std::fmt::Debug>(result: Result<T>) -> String {
    result.expect_err("this must be refused").to_string()
}

#[test]
fn empty_tensors_go_through() {
    for device in devices() {
        let empty = Tensor::zeros([0, 3], &device);
        let full = Tensor::ones([2, 3], &device);
        assert_values(&Tensor::cat(&[&empty, &full, &empty], 0), &[1.0; 6]);
        assert_eq!(Tensor::cat(&[&empty, &empty], 0).shape().dims(), [0, 3]);
        assert_eq!(Tensor::stack(&[&empty, &empty], 0).shape().dims(), [2, 0, 3]);
        assert_eq!(values(&empty.softmax(1)), [0.0; 0]);
        assert_eq!(values(&empty.log_softmax(0)), [0.0; 0]);
        assert_values(&empty.logsumexp(0), &[f64::NEG_INFINITY; 3]);
        assert_values(&empty.prod(0), &[1.0; 3]);
        assert_values(&empty.any(0), &[0.0; 3]);
        assert_values(&empty.norm(2, 0), &[0.0; 3]);
        assert_values(&empty.pad(&[0, 0, 1, 1], 5.0), &[5.0; 6]);
        assert_values(&empty.t().matmul(&empty), &[0.0; 9]);
        assert_values(&Tensor::einsum("ij,ik->jk", &[&empty, &empty]), &[0.0; 9]);
        assert_eq!(empty.reshape([3, 0]).shape().dims(), [3, 0]);
        assert_eq!(empty.chunk(2, 0).len(), 2);
        assert_eq!(empty.split(4, 0).len(), 1);
        assert_eq!(empty.unbind(0).len(), 0);
        assert_eq!(empty.flip(0).roll(&[1], &[0]).repeat([2, 1]).shape().dims(), [0, 3]);
        assert_eq!(full.i((1..1, ..)).shape().dims(), [0, 3]);
        assert_eq!(full.i(Tensor::zeros([0], (DType::I32, &device))).shape().dims(), [0, 3]);
        assert_eq!(full.unfold(1, 0, 1).shape().dims(), [2, 4, 0]);
        assert_eq!(full.nonzero_blocking().unwrap().shape().dims(), [6, 2]);
        assert_eq!(empty.nonzero_blocking().unwrap().shape().dims(), [0, 2]);
        assert_eq!(empty.masked_select_blocking(&empty.gt(0)).unwrap().shape().dims(), [0]);
        assert_eq!(Tensor::arange(2, 2, 1, &device).shape().dims(), [0]);
        assert_eq!(Tensor::linspace(0.0, 1.0, 0, &device).shape().dims(), [0]);
        assert_eq!(values(&Tensor::eye(0, &device)), [0.0; 0]);
        assert_eq!(Tensor::randperm(0, &Generator::new(1), &device).shape().dims(), [0]);
        assert_eq!(Tensor::zeros([0], (DType::I32, &device)).one_hot(3).shape().dims(), [0, 3]);
        assert_values(&empty.var(0, 1), &[f64::NAN; 3]);
        assert_eq!(empty.argmax(1).shape().dims(), [0]);
        assert!(refusal(empty.try_argmax(0)).contains("[0, 3]"));
        assert!(refusal(empty.try_amin(..)).contains("amin"));
    }
}

#[test]
fn gradients_reach_through_empty_slices() {
    for device in devices() {
        let x = Tensor::new([1.0, 2.0, 3.0], &device).requires_grad();
        (x.narrow(0, 1, 0).sum(..) + x.i(3..).sum(..)).backward().unwrap();
        assert_values(&x.grad().unwrap(), &[0.0; 3]);
        let (empty, full) = (Tensor::zeros([0], &device).requires_grad(), x.detach().requires_grad());
        Tensor::cat(&[&empty, &full], 0).sum(..).backward().unwrap();
        assert_eq!(empty.grad().unwrap().shape().dims(), [0]);
        assert_values(&full.grad().unwrap(), &[1.0; 3]);
    }
}

#[test]
fn cat_keeps_every_bit() {
    for device in devices() {
        let negative_zero = Tensor::new([-0.0, f64::INFINITY, f64::NAN], &device);
        let joined = Tensor::cat(&[&Tensor::new([1.0], &device), &negative_zero, &negative_zero], 0);
        let bits: Vec<u32> = joined.to_vec_blocking::<f32>().unwrap().iter().map(|x| x.to_bits()).collect();
        assert_eq!(bits[1], (-0.0f32).to_bits());
        assert_eq!(bits[4], (-0.0f32).to_bits());
        assert_eq!(bits[2], f32::INFINITY.to_bits());
        assert!(f32::from_bits(bits[3]).is_nan());
        let large = Tensor::new([i32::MAX, i32::MIN], &device);
        assert_eq!(
            Tensor::cat(&[&large, &large], 0).to_vec_blocking::<i32>().unwrap(),
            [i32::MAX, i32::MIN].repeat(2)
        );
        let mask = Tensor::new([true, false], &device);
        assert_eq!(
            Tensor::cat(&[&mask, &mask], 0).to_vec_blocking::<bool>().unwrap(),
            [true, false, true, false]
        );
        assert_eq!(Tensor::cat(&[&mask, &large], 0).dtype(), DType::I32);
        // More inputs than several kernels bind, each of another length.
        let parts: Vec<Tensor> = (0..100).map(|k| Tensor::arange(0, k, 1, &device)).collect();
        let expected: Vec<f64> = (0..100).flat_map(|k| (0..k).map(f64::from)).collect();
        assert_eq!(values(&Tensor::cat(&parts, 0)), expected);
    }
}

#[test]
fn indexes_out_of_range_are_run_time_errors() {
    for device in [Device::cpu()] {
        let x = Tensor::new([1.0, 2.0, 3.0], &device);
        for (found, index) in [(-1, Tensor::new([0, -1], &device)), (3, Tensor::new([3], &device))] {
            // An index between brackets may be negative, and counts from the end then.
            let between_brackets = (found > 0).then(|| x.i(&index));
            let results = [x.index_select(0, &index), x.scatter_add(0, &index, 1.0)];
            for result in results.into_iter().chain(between_brackets) {
                match result.to_vec_blocking::<f32>() {
                    Err(Error::IndexOutOfRange { index, size: 3, location, .. }) => {
                        assert_eq!(index, found);
                        assert!(location.contains("tensor_edges.rs"), "{location}");
                    }
                    other => panic!("{other:?}"),
                }
            }
        }
        assert!(matches!(
            Tensor::new([0, 4], &device).one_hot(3).to_vec_blocking::<i32>(),
            Err(Error::IndexOutOfRange { index: 4, size: 3, .. })
        ));
    }
}

#[test]
fn writing_rebinds_one_handle() {
    for device in devices() {
        let before = Tensor::zeros([2, 3], &device);
        let mut x = before.clone();
        x.i_assign((.., Index::step(.., 2)), Tensor::new([[1], [2]], &device));
        assert_values(&x, &[1.0, 0.0, 1.0, 2.0, 0.0, 2.0]);
        x.i_assign((NewAxis, -1, 1), -3);
        assert_values(&x, &[1.0, 0.0, 1.0, 2.0, -3.0, 2.0]);
        assert_values(&before, &[0.0; 6]);
        assert!(refusal(x.try_i_assign(0, Tensor::zeros([2], &device))).contains("[2] and [3]"));
        let mut leaf = before.requires_grad();
        assert!(refusal(leaf.try_i_assign(0, 1.0)).contains("no_grad"));
        no_grad(|| leaf.i_assign(0, 1.0));
        assert!(leaf.is_leaf() && leaf.is_tracked());
        assert_values(&leaf.detach(), &[1.0, 1.0, 1.0, 0.0, 0.0, 0.0]);
    }
}

#[test]
fn refusals_name_op_and_shapes() {
    let device = Device::cpu();
    let (x, y) = (Tensor::zeros([2, 3], &device), Tensor::zeros([4], &device));
    for (message, parts) in [
        (refusal(x.try_reshape([4, -1])), ["reshape", "[4, -1]"]),
        (refusal(x.try_reshape([-1, -1])), ["reshape", "[-1, -1]"]),
        (refusal(Tensor::zeros([0], &device).try_reshape([-1, 0])), ["reshape", "[-1, 0]"]),
        (refusal(x.try_expand([2, 4])), ["expand", "[2, 3]"]),
        (refusal(x.try_flatten(1, 0)), ["flatten", "[2, 3]"]),
        (refusal(x.try_permute(&[0, 0])), ["permute", "[2, 3]"]),
        (refusal(x.try_narrow(1, 2, 2)), ["narrow", "[2, 3]"]),
        (refusal(x.try_slice(0, .., 0)), ["slice", "step"]),
        (refusal(x.try_i((0, 0, 0))), ["i:", "[2, 3]"]),
        (refusal(x.try_i((0, 3))), ["index 3", "[2, 3]"]),
        (refusal(x.try_split([1, 1], 1)), ["split", "[2, 3]"]),
        (refusal(x.try_unfold(0, 3, 1)), ["unfold", "[2, 3]"]),
        (refusal(x.try_pad(&[1], 0.0)), ["pad", "[2, 3]"]),
        (refusal(x.try_pad(&[3, 0], PadMode::Reflect)), ["pad", "[2, 3]"]),
        (refusal(x.try_pad(&[-2, -2], 0.0)), ["pad", "[2, 3]"]),
        (refusal(Tensor::try_cat(&[&x, &y], 0)), ["cat", "[2, 3] and [4]"]),
        (refusal(Tensor::try_stack(&[&x, &y], 0)), ["stack", "[2, 3] and [4]"]),
        (refusal(Tensor::try_cat::<Tensor>(&[], 0)), ["cat", "at least one"]),
        (refusal(x.try_gather(0, &y)), ["gather", "f32"]),
        (refusal(x.try_index_select(0, &x.to_dtype(DType::I32))), ["index_select", "[2, 3]"]),
        (refusal(x.try_masked_fill(&y, 0.0)), ["masked_fill", "f32"]),
        (refusal(x.to_dtype(DType::I32).try_masked_fill(&x.gt(0), 0.5)), ["masked_fill", "0.5"]),
        (refusal(x.try_argmax([0, 1])), ["argmax", "[0, 1]"]),
        (refusal(x.to_dtype(DType::I32).try_var(.., 1)), ["var", "i32"]),
        (refusal(x.try_mm(&y)), ["mm", "[2, 3] and [4]"]),
        (refusal(x.try_matmul(&y)), ["matmul", "[2, 3] and [4]"]),
        (refusal(x.try_tensordot(&y, 1)), ["tensordot", "[2, 3]"]),
        (refusal(x.try_trace().and_then(|_| y.try_trace())), ["trace", "[4]"]),
        (refusal(Tensor::try_einsum("ij,jk", &[&x])), ["einsum", "2 operands"]),
        (refusal(Tensor::try_einsum("ij->ik", &[&x])), ["einsum", "ij->ik"]),
        (refusal(Tensor::try_einsum("i1", &[&x])), ["einsum", "'1'"]),
        (refusal(Tensor::try_einsum("ijk", &[&x])), ["einsum", "[2, 3]"]),
        (refusal(Tensor::try_einsum("ij,jk", &[&x, &x])), ["einsum", "3 and 2"]),
        (refusal(Tensor::try_einsum("ii", &[&x])), ["einsum", "[2, 3]"]),
        (refusal(Tensor::try_arange(0, 5, -1, &device)), ["arange", "-1"]),
        (refusal(Tensor::try_arange(0, 5, 0, &device)), ["arange", "0"]),
        (refusal(Tensor::try_randint(3, 3, [1], &Generator::new(1), &device)), ["randint", "3..3"]),
        (refusal(Tensor::try_rand([1], &Generator::new(1), (DType::I32, &device))), ["rand", "i32"]),
        (refusal(x.try_one_hot(3)), ["one_hot", "f32"]),
        (refusal(x.try_softmax(2)), ["softmax", "[2, 3]"]),
    ] {
        assert!(parts.iter().all(|part| message.contains(part)), "{message:?} does not say {parts:?}");
    }
}

#[test]
fn random_numbers_are_the_same_everywhere() {
    let draw = |device: &Device| {
        let generator = Generator::new(11);
        let p = Tensor::linspace(0.0, 1.0, 100, device);
        let drawn = [
            Tensor::randint(-5, 20, [100], &generator, device),
            Tensor::randperm(100, &generator, device),
            p.bernoulli(&generator),
            p.bernoulli_p(0.3, &generator),
            p.rand_like(&generator),
        ];
        drawn.map(|tensor| values(&tensor))
    };
    let first = draw(&Device::cpu());
    for device in devices() {
        assert_eq!(draw(&device), first);
    }
    let [integers, order, coins, ..] = first;
    assert!(
        integers.iter().all(|x| (-5.0..20.0).contains(x))
            && integers.contains(&-5.0)
            && integers.contains(&19.0)
    );
    let mut sorted = order.clone();
    sorted.sort_by(f64::total_cmp);
    assert_eq!(sorted, (0..100).map(f64::from).collect::<Vec<_>>());
    assert_ne!(order, sorted);
    assert_eq!((coins[0], coins[99]), (0.0, 1.0));
}

#[test]
fn ranges_count_as_pytorch() {
    // Lengths and last values from torch.arange.
    let device = Device::cpu();
    let last = |x: &Tensor| (x.numel(), values(x)[x.numel() - 1]);
    assert_eq!(last(&Tensor::arange(0, 10, 3, &device)), (4, 9.0));
    assert_eq!(last(&Tensor::arange(5, -2, -2, &device)), (4, -1.0));
    assert_eq!(last(&Tensor::arange(0.0, 1.0, 0.25, (DType::F64, &device))), (4, 0.75));
    let tenths = Tensor::arange(0.0, 1.0, 0.1, (DType::F64, &device));
    assert_eq!((tenths.numel(), tenths.dtype()), (10, DType::F64));
    assert_eq!(Tensor::arange(0, 3, 1, (DType::U8, &device)).dtype(), DType::U8);
    assert_eq!(Tensor::full([1], true, &device).dtype(), DType::Bool);
}

#[test]
fn debug_says_what_is_known() {
    let device = Device::cpu();
    let x = Tensor::new([1.0, 2.0], &device);
    assert_eq!(format!("{x:?}"), "Tensor(shape=[2], dtype=f32, device=cpu, ready)");
    let y = x.requires_grad().exp();
    assert_eq!(format!("{y:?}"), "Tensor(shape=[2], dtype=f32, device=cpu, pending exp, grad=exp)");
    y.eval().unwrap();
    assert_eq!(format!("{y:?}"), "Tensor(shape=[2], dtype=f32, device=cpu, ready, grad=exp)");
}
