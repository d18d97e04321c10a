//! `tensor.cpp` and `tensor_cuda.cpp`: making tensors, their dtypes and devices, and backward from them.

use crate::common::{assert_values, block_on, values};
use crate::tools::{each, is, message, normal, number, ramp, same};
use flambeau::nn::Parameter;
use flambeau::prelude::*;

#[test]
fn to_dtype() {
    each(|device| {
        let x = Tensor::zeros([3, 4], device);
        assert_eq!(x.dtype(), DType::F32);
        for dtype in [DType::I32, DType::U8, DType::Bool, DType::U32, DType::F32] {
            assert_eq!(x.to_dtype(dtype).dtype(), dtype);
        }
        assert_eq!(values(&Tensor::new([-1.9, 0.0, 2.7], device).to_dtype(DType::I32)), [-1.0, 0.0, 2.0]);
    });
    assert_eq!(Tensor::zeros([3], &Device::cpu()).to_dtype(DType::F64).dtype(), DType::F64);
}

/// Dtype and device of another tensor.
#[test]
fn to_tensor_and_tensor_attributes() {
    each(|device| {
        let (x, like) = (Tensor::ones([2], &Device::cpu()), Tensor::new([1, 2], device));
        let moved = block_on(x.to(like.device())).unwrap().to_dtype(like.dtype());
        assert_eq!((moved.dtype(), moved.device()), (DType::I32, device));
        assert_eq!(values(&moved), [1.0, 1.0]);
    });
}

#[test]
fn tensor_attributes() {
    each(|device| {
        let x = ramp([2, 3, 4], device);
        assert_eq!((x.rank(), x.numel(), x.size(0), x.size(-1)), (3, 24, 2, 4));
        assert_eq!((x.shape().dims(), x.dtype(), x.device()), (&[2, 3, 4][..], DType::F32, device));
        assert!(x.is_leaf() && !x.is_tracked() && x.grad().is_none());
    });
}

/// Another dtype of a leaf is a result; marking it makes a leaf.
#[test]
fn to_options_with_requires_grad() {
    let device = Device::cpu();
    let x = Tensor::ones([2], &device).requires_grad();
    let y = x.to_dtype(DType::F64);
    assert!(y.is_tracked() && !y.is_leaf());
    y.sum(..).backward().unwrap();
    assert_eq!((x.grad().unwrap().dtype(), values(&x.grad().unwrap())), (DType::F32, vec![1.0, 1.0]));
    assert!(!Tensor::ones([2], &device).to_dtype(DType::F64).is_tracked());
}

#[test]
fn to_does_not_copy_when_options_are_all_the_same() {
    each(|device| {
        let x = Tensor::new([1.0, 2.0], device);
        let same = x.to_dtype(DType::F32);
        // No op is pending: it is the value itself.
        assert!(format!("{same:?}").contains("ready"), "{same:?}");
        let moved = block_on(x.to(device)).unwrap();
        assert!(format!("{moved:?}").contains("ready"), "{moved:?}");
    });
}

#[test]
fn at_tensor_ctor_scalar() {
    each(|device| {
        let int = Tensor::new(123, device);
        assert_eq!((int.numel(), int.rank(), int.dtype(), number(&int)), (1, 0, DType::I32, 123.0));
        let float = Tensor::new(123.456f32, device);
        assert_eq!((float.dtype(), number(&float)), (DType::F32, f64::from(123.456f32)));
        assert_eq!(Tensor::scalar(5, (DType::F32, device)).dtype(), DType::F32);
    });
}

#[test]
fn at_tensor_ctor_single_dim() {
    each(|device| {
        is(&Tensor::new([1, 2, 3], device), [3], &[1.0, 2.0, 3.0]);
        is(&Tensor::new(vec![1.5f32, 2.25, 3.125], device), [3], &[1.5, 2.25, 3.125]);
    });
}

/// Numbers as complex ones: the imaginary part is zero.
#[test]
fn at_tensor_cast_real_to_complex() {
    each(|device| {
        let x = Tensor::new([1.5, 2.5, 3.5], device);
        let z = x.complex(&x.zeros_like());
        is(&z, [3, 2], &[1.5, 0.0, 2.5, 0.0, 3.5, 0.0]);
        same(&z.real(), &x);
    });
}

#[test]
fn torch_tensor_cast_real_to_complex() {
    each(|device| {
        let x = Tensor::new([[1.0, -2.0]], device);
        let z = x.complex(&(&x * 0.0));
        assert_eq!((values(&z.real()), values(&z.imag().abs())), (vec![1.0, -2.0], vec![0.0, 0.0]));
    });
}

#[test]
fn torch_tensor_ctor_scalar_integral_type() {
    each(|device| {
        let x = Tensor::new(123, device);
        assert_eq!((x.numel(), x.rank(), x.dtype(), number(&x)), (1, 0, DType::I32, 123.0));
    });
    let x = Tensor::new(1i64 << 40, &Device::cpu());
    assert_eq!((x.dtype(), number(&x)), (DType::I64, (1i64 << 40) as f64));
}

#[test]
fn torch_tensor_ctor_scalar_floating_type() {
    each(|device| {
        let x = Tensor::new(123.5, device);
        assert_eq!((x.numel(), x.rank(), x.dtype(), number(&x)), (1, 0, DType::F32, 123.5));
    });
    let double = Tensor::from_slice(&[0.1f64], (), &Device::cpu());
    assert_eq!((double.dtype(), number(&double)), (DType::F64, 0.1));
}

#[test]
fn torch_tensor_ctor_scalar_bool_type() {
    each(|device| {
        let x = Tensor::new(true, device);
        assert_eq!((x.numel(), x.rank(), x.dtype(), number(&x)), (1, 0, DType::Bool, 1.0));
    });
}

#[test]
fn torch_tensor_ctor_single_dim_integral_type() {
    each(|device| {
        for x in [
            Tensor::new([1, 2, 3], device),
            Tensor::new(vec![1, 2, 3], device),
            Tensor::new(&[1, 2, 3][..], device),
        ] {
            assert_eq!(x.dtype(), DType::I32);
            is(&x, [3], &[1.0, 2.0, 3.0]);
        }
        assert_eq!(Tensor::new([1u8, 2], device).dtype(), DType::U8);
    });
}

#[test]
fn torch_tensor_ctor_single_dim_floating_type() {
    each(|device| {
        let x = Tensor::new([1.5, 2.25, 3.125], device);
        assert_eq!(x.dtype(), DType::F32);
        is(&x, [3], &[1.5, 2.25, 3.125]);
    });
}

#[test]
fn torch_tensor_ctor_single_dim_bool_type() {
    each(|device| {
        let x = Tensor::new([true, false, true], device);
        assert_eq!((x.dtype(), values(&x)), (DType::Bool, vec![1.0, 0.0, 1.0]));
    });
}

#[test]
fn torch_tensor_ctor_multi_dim_integral_type() {
    each(|device| {
        is(&Tensor::new([[1, 2]], device), [1, 2], &[1.0, 2.0]);
        is(&Tensor::new([[1], [2]], device), [2, 1], &[1.0, 2.0]);
        is(&Tensor::new([[[[1, 2], [3, 4]]]], device), [1, 1, 2, 2], &[1.0, 2.0, 3.0, 4.0]);
        is(&Tensor::new(vec![vec![vec![1], vec![2]]], device), [1, 2, 1], &[1.0, 2.0]);
    });
}

#[test]
fn torch_tensor_ctor_multi_dim_floating_type() {
    each(|device| {
        let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], device);
        assert_eq!(x.dtype(), DType::F32);
        is(&x, [2, 2], &[1.0, 2.0, 3.0, 4.0]);
        is(&Tensor::new([[[[[[[[1.0, 2.0]]]]]]]], device), [1, 1, 1, 1, 1, 1, 1, 2], &[1.0, 2.0]);
    });
}

#[test]
fn torch_tensor_ctor_multi_dim_bool_type() {
    each(|device| {
        let x = Tensor::new([[true, false]], device);
        assert_eq!((x.dtype(), x.shape().dims()), (DType::Bool, &[1, 2][..]));
        assert_eq!(values(&x), [1.0, 0.0]);
    });
}

#[test]
fn torch_tensor_ctor_multi_dim_with_options() {
    each(|device| {
        let x = Tensor::new([[1, 2]], device).to_dtype(DType::F32).requires_grad();
        assert_eq!((x.dtype(), x.is_tracked(), x.is_leaf()), (DType::F32, true, true));
        is(&x.detach(), [1, 2], &[1.0, 2.0]);
    });
}

#[test]
fn torch_tensor_ctor_multi_dim_error_checks() {
    each(|device| {
        assert!(message(Tensor::try_new(vec![vec![2, 3, 4], vec![5, 6]], device)).contains("length"));
        assert!(
            message(Tensor::try_new(vec![vec![vec![1.0]], vec![vec![2.0, 3.0]]], device)).contains("length")
        );
        assert!(message(Tensor::try_from_slice(&[1, 2, 3], [2, 2], device)).contains("[2, 2]"));
    });
}

#[test]
fn torch_tensor_ctor_zero_sized_dim() {
    each(|device| {
        for (x, shape) in [
            (Tensor::new(Vec::<f32>::new(), device), vec![0]),
            (Tensor::new(vec![Vec::<f32>::new(); 2], device), vec![2, 0]),
            (Tensor::new([[[0.0f32; 0]; 1]; 3], device), vec![3, 1, 0]),
        ] {
            assert_eq!((x.numel(), x.shape().dims()), (0, &shape[..]));
            assert!(values(&x).is_empty());
        }
    });
}

#[test]
fn torch_tensor_ctor_without_specifying_dtype() {
    each(|device| {
        assert_eq!(Tensor::new([1, 2], device).dtype(), DType::I32);
        assert_eq!(Tensor::new([1.0, 2.0], device).dtype(), DType::F32);
        assert_eq!(Tensor::new([true], device).dtype(), DType::Bool);
        assert_eq!(Tensor::full([2], 3, device).dtype(), DType::I32);
        assert_eq!(Tensor::full([2], 3.0, device).dtype(), DType::F32);
    });
}

#[test]
fn torch_tensor_ctor_with_non_dtype_options() {
    each(|device| {
        let x = Tensor::new([1.0, 2.0], device).requires_grad();
        assert_eq!((x.dtype(), x.is_tracked(), x.device()), (DType::F32, true, device));
        assert!(message(Tensor::new([1, 2], device).try_requires_grad()).contains("float"));
    });
}

#[test]
fn arange() {
    each(|device| {
        let x = Tensor::arange(0, 5, 1, device);
        assert_eq!((x.dtype(), values(&x)), (DType::I32, vec![0.0, 1.0, 2.0, 3.0, 4.0]));
        assert_eq!(values(&Tensor::arange(5, 0, -2, device)), [5.0, 3.0, 1.0]);
        assert_eq!(values(&Tensor::arange(0.5, 2.0, 0.5, device)), [0.5, 1.0, 1.5]);
    });
}

/// From memory of one's own, which is copied.
#[test]
fn from_blob() {
    each(|device| {
        let mut memory = vec![1.0f32, 2.0, 3.0];
        let x = Tensor::from_slice(&memory, [3, 1], device);
        memory[0] = 9.0;
        is(&x, [3, 1], &[1.0, 2.0, 3.0]);
    });
}

#[test]
fn item() {
    each(|device| {
        assert_eq!(number(&Tensor::new(3.5, device)), 3.5);
        assert_eq!(number(&Tensor::new([[7]], device)), 7.0);
        assert!(message(block_on(Tensor::new([1.0, 2.0], device).item())).contains("element"));
    });
}

/// The values without the history.
#[test]
fn data() {
    each(|device| {
        let x = normal([3, 3], device).requires_grad();
        let data = x.detach();
        assert!(!data.is_tracked() && data.grad().is_none());
        assert_values(&data, &values(&x));
    });
}

#[test]
fn backward_and_grad() {
    each(|device| {
        let x = Tensor::new([5.0], device).requires_grad();
        assert!(x.grad().is_none());
        (&x * &x).backward().unwrap();
        is(&x.grad().unwrap(), [1], &[10.0]);
    });
}

#[test]
fn backward_creates_ones_grad() {
    each(|device| {
        let x = Tensor::new([5.0], device).requires_grad();
        x.backward().unwrap();
        is(&x.grad().unwrap(), [1], &[1.0]);
    });
}

#[test]
fn backward_non_scalar_outputs() {
    each(|device| {
        let x = normal([5, 5], device).requires_grad();
        assert!(message((&x * &x).backward()).contains("single element"));
        (&x * &x).backward_with(&Tensor::ones([5, 5], device)).unwrap();
        same(&x.grad().unwrap(), &(x.detach() * 2.0));
    });
}

#[test]
fn is_leaf() {
    each(|device| {
        let x = Tensor::new([5.0], device).requires_grad();
        let y = &x * &x;
        assert!(x.is_leaf() && !y.is_leaf() && y.detach().is_leaf());
    });
}

#[test]
fn detach() {
    each(|device| {
        let x = Tensor::new([5.0], device).requires_grad();
        let y = &x * &x;
        let detached = y.detach();
        assert!(y.is_tracked() && !y.is_leaf());
        assert!(!detached.is_tracked() && detached.is_leaf());
        // What is detached takes no part.
        (&y * &detached).sum(..).backward().unwrap();
        is(&x.grad().unwrap(), [1], &[250.0]);
    });
}

/// Rebinding the handle to its values without a history.
#[test]
fn detach_inplace() {
    each(|device| {
        let x = Tensor::new([5.0], device).requires_grad();
        let mut y = &x * &x;
        y = y.detach();
        assert!(y.is_leaf() && !y.is_tracked());
        assert!(message(y.backward()).contains("does not require"));
    });
}

/// A parameter's value is replaced; its shape is not.
#[test]
fn set_data() {
    each(|device| {
        let x = Parameter::new(&normal([5], device));
        let y = Tensor::ones([5], device);
        x.set(&y);
        same(&x.value(), &y);
        assert!(x.requires_grad());
        assert!(x.try_set(&Tensor::ones([6], device)).is_err());
    });
}

#[test]
fn requires_grad_inplace() {
    each(|device| {
        let mut x = Tensor::new([5.0], device);
        x.set_requires_grad(true);
        assert!(x.is_tracked());
        let mut y = &x * &x;
        assert!(message(y.try_set_requires_grad(false)).contains("detach"));
        let mut int = Tensor::new([5], device);
        assert!(message(int.try_set_requires_grad(true)).contains("float"));
    });
}

#[test]
fn std_dimension() {
    each(|device| {
        let x = normal([4, 3], device);
        assert_eq!((x.std(0, 1).shape().dims(), x.std([1], 1).shape().dims()), (&[3][..], &[4][..]));
        assert_eq!(x.std_keepdim(0, 1).shape().dims(), [1, 3]);
        is(&Tensor::new([1.0, 3.0], device).std(0, 1), [], &[2f64.sqrt()]);
        is(&Tensor::new([1.0, 3.0], device).std(0, 0), [], &[1.0]);
    });
}

/// A tensor is where it was made.
#[test]
fn allocates_tensor_on_the_correct_device() {
    each(|device| assert_eq!(Tensor::zeros([2, 3], device).device(), device));
}

#[test]
fn to_device() {
    each(|device| {
        let x = ramp([3, 4], &Device::cpu());
        let moved = block_on(x.to(device)).unwrap();
        assert_eq!((moved.device(), moved.dtype()), (device, x.dtype()));
        let back = block_on(moved.to(&Device::cpu())).unwrap();
        assert!(back.device().is_cpu());
        same(&back, &x);
    });
}

#[test]
fn to_device_and_dtype() {
    each(|device| {
        let x = Tensor::new([1.7, -2.2], &Device::cpu());
        let moved = block_on(x.to_dtype(DType::I32).to(device)).unwrap();
        assert_eq!((moved.device(), moved.dtype(), values(&moved)), (device, DType::I32, vec![1.0, -2.0]));
    });
}

/// Linear algebra works on every device, from the first call.
#[test]
fn magma_initializes_correctly() {
    each(|device| {
        let a = Tensor::new([[4.0, 1.0], [2.0, 3.0]], device);
        is(&a.inv(), [2, 2], &[0.3, -0.1, -0.2, 0.4]);
        is(&a.det(), [], &[10.0]);
    });
}
