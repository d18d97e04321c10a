//! Custom kernels: values on every device, several outputs, uniform numbers as data, gradients, and errors.

use crate::common::{assert_close, devices, gpu};
use flambeau::prelude::*;
use flambeau::{CustomKernel, reference};
use pollster::block_on;

/// y = x³ · factor and the sign of x as I32, in one pass.
const CUBE: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@group(0) @binding(2) var<storage, read_write> signs: array<i32>;
@group(0) @binding(3) var<uniform> params: vec4<u32>;
@compute @workgroup_size(4)
fn cube(@builtin(global_invocation_id) id: vec3<u32>) {
    if (id.x >= params.y) { return; }
    let v = x[id.x];
    y[id.x] = v * v * v * bitcast<f32>(params.x);
    signs[id.x] = i32(sign(v));
}";

fn cube(n: usize, factor: f32) -> CustomKernel {
    CustomKernel::new("cube", CUBE)
        .entry("cube")
        .output([n], DType::F32)
        .output([n], DType::I32)
        .workgroups([n.div_ceil(4) as u32, 1, 1])
        .uniform(&[factor.to_bits(), n as u32])
        .cpu(|inputs, outputs, uniform| {
            let (x, factor) = (inputs[0].values::<f32>()?, f32::from_bits(uniform[0]));
            assert_eq!(outputs[0].shape(), inputs[0].shape());
            outputs[0].values::<f32>()?.iter_mut().zip(x).for_each(|(y, x)| *y = x * x * x * factor);
            outputs[1].values::<i32>()?.iter_mut().zip(x).for_each(|(y, x)| *y = x.signum() as i32);
            Ok(())
        })
        .vjp(move |grads, inputs, _| {
            let Some(g) = &grads[0] else { return Ok(vec![None]) };
            Ok(vec![Some(g.try_mul(&inputs[0].try_mul(&inputs[0])?)?.try_mul(3.0 * factor)?)])
        })
}

fn values(tensor: &Tensor) -> Vec<f64> {
    block_on(tensor.to_f64_vec()).unwrap()
}

#[test]
fn several_outputs_between_other_ops() {
    for device in devices() {
        let x = Tensor::new([1.0, -2.0, 3.0, -4.0, 5.0], &device);
        let outputs = cube(5, 0.5).call(&[&(&x + 1.0)]).unwrap();
        let total = outputs[0].sum(..) + outputs[1].sum(..);
        let exact = block_on(reference::evaluate(&[&total, &outputs[1]])).unwrap();
        assert_close(&values(&total), &[131.0], 0.0, 0.0);
        assert_close(&values(&outputs[0]), &[4.0, -0.5, 32.0, -13.5, 108.0], 0.0, 0.0);
        assert_close(&values(&outputs[1]), &[1.0, -1.0, 1.0, -1.0, 1.0], 0.0, 0.0);
        assert_close(&exact[0], &[131.0], 0.0, 0.0);
        assert_close(&exact[1], &[1.0, -1.0, 1.0, -1.0, 1.0], 0.0, 0.0);
        let again = block_on(reference::evaluate(&[&(&outputs[1] * 2)])).unwrap();
        assert_close(&again[0], &[2.0, -2.0, 2.0, -2.0, 2.0], 0.0, 0.0);
    }
}

/// A transposed view is made contiguous before the kernel sees it.
#[test]
fn views_arrive_contiguous() {
    for device in devices() {
        let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        let y = cube(4, 1.0).call(&[&x.transpose(0, 1).reshape([4])]).unwrap();
        assert_close(&values(&y[0]), &[1.0, 27.0, 8.0, 64.0], 0.0, 0.0);
    }
}

#[test]
fn uniform_numbers_are_data() {
    for device in devices() {
        let x = Tensor::new([2.0], &device);
        let kernel = cube(1, 1.0);
        let run =
            |factor: f32| values(&kernel.clone().uniform(&[factor.to_bits(), 1]).call(&[&x]).unwrap()[0])[0];
        assert_eq!(run(1.0), 8.0);
        let before = device.plan_stats();
        assert_eq!((run(0.5), run(2.0)), (4.0, 16.0));
        let after = device.plan_stats();
        assert!(after.hits >= before.hits + 2, "{before:?} {after:?}");
    }
}

#[test]
fn gradients_through_the_rule() {
    for device in devices() {
        let x = Tensor::new([1.0, -2.0, 3.0], &device).requires_grad();
        let create = BackwardOptions { create_graph: true, ..Default::default() };
        let loss = cube(3, 0.5).call(&[&x]).unwrap().remove(0).sum(..);
        let first = grad(&[loss], std::slice::from_ref(&x), create).unwrap().remove(0).unwrap();
        assert_close(&values(&first), &[1.5, 6.0, 13.5], 0.0, 1e-6);
        let second = grad(&[first.sum(..)], &[x], BackwardOptions::default()).unwrap().remove(0).unwrap();
        assert_close(&values(&second), &[3.0, -6.0, 9.0], 0.0, 1e-6);
    }
}

const COPY: &str = "
@group(0) @binding(0) var<storage, read> x: array<f32>;
@group(0) @binding(1) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(1) fn main() { y[0] = x[0]; }";

#[test]
fn what_is_missing_is_named() {
    let x = Tensor::new([1.0], &Device::cpu());
    let kernel = CustomKernel::new("copy one", COPY).output([1], DType::F32);
    let error = kernel.call(&[&x]).unwrap_err();
    assert!(matches!(error, Error::Unsupported { .. }) && error.to_string().contains("copy one"), "{error}");

    let y = kernel.call(&[&Tensor::new([4.0], &gpu()).requires_grad()]).unwrap().remove(0);
    assert_close(&values(&y), &[4.0], 0.0, 0.0);
    let error = y.sum(..).backward().unwrap_err();
    assert!(matches!(error, Error::Autograd(_)) && error.to_string().contains("copy one"), "{error}");

    let wrong_count = kernel.clone().cpu(|_, _, _| Ok(())).vjp(|_, _, _| Ok(vec![]));
    let y = wrong_count.call(&[&x.requires_grad()]).unwrap().remove(0);
    assert!(y.sum(..).backward().unwrap_err().to_string().contains("0 gradients for 1 inputs"));
    let wrong_shape =
        kernel.clone().cpu(|_, _, _| Ok(())).vjp(|g, _, _| Ok(vec![g[0].as_ref().map(|g| g.reshape(()))]));
    let y = wrong_shape.call(&[&x.requires_grad()]).unwrap().remove(0);
    assert!(y.sum(..).backward().unwrap_err().to_string().contains("input 0 of shape [1]"));
    let wrong_type = kernel.cpu(|inputs, _, _| inputs[0].values::<i32>().map(|_| ()));
    let error = wrong_type.call(&[&x]).unwrap()[0].eval().unwrap_err();
    assert!(error.to_string().contains("f32, not i32"), "{error}");
}

#[test]
fn limits_are_errors() {
    let x = Tensor::new([1.0], &gpu());
    let kernel = CustomKernel::new("copy", COPY).output([1], DType::F32);
    let is_limit = |result: Result<Vec<Tensor>>, name: &str| match result {
        Err(Error::Limit { limit_name, .. }) => assert_eq!(limit_name, name),
        other => panic!("{other:?}"),
    };
    is_limit(kernel.call(&[&x; 8]), "maxStorageBuffersPerShaderStage");
    is_limit(kernel.clone().workgroups([1, 65_536, 1]).call(&[&x]), "maxComputeWorkgroupsPerDimension");
    is_limit(kernel.clone().uniform(&[0; 16_385]).call(&[&x]), "maxUniformBufferBindingSize");
    assert!(matches!(kernel.clone().workgroups([0, 1, 1]).call(&[&x]), Err(Error::Argument { .. })));
    assert!(matches!(kernel.call(&[]), Err(Error::Argument { .. })));
    assert!(matches!(CustomKernel::new("none", COPY).call(&[&x]), Err(Error::Argument { .. })));
}

#[test]
fn a_shader_that_does_not_compile_is_an_error() {
    let x = Tensor::new([1.0], &gpu());
    let y = CustomKernel::new("broken", "fn main( {").output([1], DType::F32).call(&[&x]).unwrap();
    let error = y[0].eval().unwrap_err();
    assert!(matches!(error, Error::Shader { .. }) && error.to_string().contains("broken"), "{error}");
    let lost = CustomKernel::new("lost", COPY).entry("nowhere").output([1], DType::F32).call(&[&x]).unwrap();
    assert!(lost[0].eval().is_err());
    assert_close(&values(&(&x * 2.0)), &[2.0], 0.0, 0.0);
}

/// Each of two threads waits, inside its evaluation, until the other is inside its own: neither waits for the plan cache.
#[test]
fn two_threads_evaluate_on_the_cpu_at_the_same_time() {
    use std::sync::{Arc, Condvar, Mutex};
    use std::time::Duration;
    let inside = Arc::new((Mutex::new(0), Condvar::new()));
    let evaluate = |factor: f64| {
        let inside = inside.clone();
        let meet = CustomKernel::new("meet", "").output([1], DType::F32).workgroups([1, 1, 1]).cpu(
            move |inputs, outputs, _| {
                let (count, changed) = &*inside;
                let mut count = count.lock().unwrap();
                *count += 1;
                changed.notify_all();
                let patience = Duration::from_secs(60);
                let (_count, late) = changed.wait_timeout_while(count, patience, |count| *count < 2).unwrap();
                assert!(!late.timed_out(), "the other thread is kept waiting");
                outputs[0].values::<f32>()?.copy_from_slice(inputs[0].values::<f32>()?);
                Ok(())
            },
        );
        std::thread::spawn(move || {
            let x = Tensor::new([3.0f32], &Device::cpu()) * factor;
            meet.call(&[&x]).unwrap().remove(0).item_blocking().unwrap()
        })
    };
    let (one, other) = (evaluate(2.0), evaluate(5.0));
    assert_eq!((one.join().unwrap(), other.join().unwrap()), (6.0, 15.0));
}
