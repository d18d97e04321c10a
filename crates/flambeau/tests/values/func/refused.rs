use flambeau::block_on;
use flambeau::func::{VmapOptions, jvp, try_grad, try_jvp, try_vjp, try_vmap, try_vmap_with, vmap};
use flambeau::prelude::*;

#[track_caller]
fn refused<T>(result: Result<T>, part: &str) {
    let message = result.err().expect("an error").to_string();
    assert!(message.contains(part), "{message}");
}

fn matrix() -> Tensor {
    Tensor::new([[1.0, 2.0], [3.0, 4.0]], &Device::cpu())
}

#[test]
fn values_cannot_be_read_inside_of_a_batch() {
    let read = |x: &Tensor| {
        let total = x.sum(..).item_blocking()?;
        Ok(x * total)
    };
    refused(try_vmap(read)(&matrix()), "vmap: a value that depends on the samples was read");
    // Not of a value that comes from another op, nor of one that depends on it through a composite.
    refused(try_vmap(|x: &Tensor| x.softmax(0).exp().eval().map(|()| x.clone()))(&matrix()), "vmap: a value");
    refused(try_vmap(|x: &Tensor| block_on(x.nonzero()))(&matrix()), "vmap: a value");
    // What does not depend on samples can be read.
    let y = vmap(|x: &Tensor| x * matrix().sum(..).item_blocking().unwrap())(&matrix());
    assert_eq!(y.to_string(), "tensor([[10., 20.],\n        [30., 40.]])");
}

#[test]
fn a_value_that_escapes_says_so() {
    let escaped = std::cell::RefCell::new(None);
    let y = vmap(|x: &Tensor| {
        *escaped.borrow_mut() = Some(x.exp());
        x + 1.0
    })(&matrix());
    let kept = escaped.borrow().clone().unwrap();
    refused(kept.eval(), "after it has left it");
    assert!(kept.explain().is_empty());
    // It spoils nothing else.
    let w = Parameter::new(&matrix());
    let mut sgd = flambeau::optim::Sgd::new([w.clone()], 0.5);
    (w.get() * y).sum(..).backward().unwrap();
    sgd.step().unwrap();
    assert_eq!(w.value().to_string(), "tensor([[0.0000, 0.5000],\n        [1.0000, 1.5000]])");
}

#[test]
fn sizes_and_dimensions() {
    let pair = (matrix(), Tensor::zeros([3], &Device::cpu()));
    let add = |(a, b): &(Tensor, Tensor)| a.try_add(b);
    refused(try_vmap(add)(&pair), "vmap: inputs have 2 and 3 samples");
    let with = |in_dims: Vec<Option<isize>>, out_dims: Vec<isize>| {
        let options = VmapOptions { in_dims, out_dims, ..Default::default() };
        try_vmap_with(add, options)(&(matrix(), matrix()))
    };
    refused(with(vec![None, None], vec![]), "vmap: no input has a dimension with samples");
    refused(with(vec![Some(0)], vec![]), "vmap: in_dims has 1 entries for 2 parts");
    refused(with(vec![Some(2), None], vec![]), "vmap");
    refused(with(vec![], vec![0, 0]), "vmap: out_dims has 2 entries for 1 parts");
    refused(with(vec![], vec![5]), "vmap");
    refused(try_vmap(|x: &Tensor| x.try_sum(..))(&Tensor::scalar(1.0, &Device::cpu())), "vmap");
    assert_eq!(with(vec![Some(-1), Some(1)], vec![-1]).unwrap().to_string(), (matrix() * 2.0).to_string());
    // Errors of the function are those of one sample.
    refused(try_vmap(|x: &Tensor| x.try_matmul(&Tensor::zeros([3, 2], &Device::cpu())))(&matrix()), "[2]");
}

#[test]
fn random_numbers_have_to_be_asked_for() {
    let draw = |x: &Tensor| x.try_add(Tensor::rand([2], &Generator::new(1), &Device::cpu()));
    refused(try_vmap(draw)(&matrix()), "vmap: random numbers were drawn");
}

#[test]
fn derivatives_that_there_are_none_of() {
    refused(
        try_grad(|x: &Tensor| x.try_exp())(&matrix()),
        "grad: the function must return one float, not f32 [2, 2]",
    );
    refused(
        try_grad(|x: &Tensor| x.try_sum(..))(&Tensor::new([1, 2], &Device::cpu())),
        "grad: i32 has no derivatives",
    );
    let (_, pull_back) = try_vjp(|x: &Tensor| x.try_exp(), &matrix()).unwrap();
    refused(pull_back(&Tensor::zeros([2], &Device::cpu())), "vjp: shape [2] was given for [2, 2]");
    refused(
        try_jvp(|x: &Tensor| x.try_exp(), &matrix(), &Tensor::zeros([2], &Device::cpu())),
        "jvp: shape [2] was given",
    );
    // A function that does not look at its input has no slope.
    let (_, along) = jvp(|_: &Tensor| Tensor::ones([3], &Device::cpu()), &matrix(), &matrix());
    assert_eq!(along.to_string(), "tensor([0., 0., 0.])");
    let flat = try_grad(|_: &Tensor| Tensor::scalar(1.0, &Device::cpu()))(&matrix()).unwrap();
    assert_eq!(flat.to_string(), "tensor([[0., 0.],\n        [0., 0.]])");
}
