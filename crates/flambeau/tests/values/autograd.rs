//! Autograd as PyTorch has it: accumulation, freed graphs, modes, hooks, custom functions, checkpoints, higher orders.

use crate::common::{assert_values, devices, values};
use flambeau::autograd::{
    Context, CustomFunction, checkpoint, grad_with, gradcheck_blocking, gradgradcheck_blocking, no_grad_guard,
};
use flambeau::nn::loss::{CrossEntropyLoss, Reduction};
use flambeau::nn::{Forward, Linear, Parameter};
use flambeau::prelude::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering::Relaxed};

const CREATE: BackwardOptions = BackwardOptions { retain_graph: false, create_graph: true };
const RETAIN: BackwardOptions = BackwardOptions { retain_graph: true, create_graph: false };

fn leaf(values: &[f32], device: &Device) -> Tensor {
    Tensor::from_slice(values, [values.len()], device).requires_grad()
}

fn doubles(values: &[f64]) -> Tensor {
    Tensor::from_slice(values, [values.len()], &Device::cpu()).requires_grad()
}

/// The only gradient.
fn grad_of(output: &Tensor, input: &Tensor, options: BackwardOptions) -> Tensor {
    grad(std::slice::from_ref(output), std::slice::from_ref(input), options).unwrap()[0].clone().unwrap()
}

fn message<T>(result: Result<T>) -> String {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn gradients_accumulate_until_they_are_zeroed() {
    for device in devices() {
        let x = leaf(&[1.0, 2.0], &device);
        assert!(x.grad().is_none());
        (&x * &x).sum(..).backward().unwrap();
        (&x * 3.0).sum(..).backward().unwrap();
        assert_values(&x.grad().unwrap(), &[5.0, 7.0]);
        assert!(!x.grad().unwrap().is_tracked());
        x.zero_grad();
        assert!(x.grad().is_none());
    }
}

#[test]
fn several_paths_add_up() {
    for device in devices() {
        let x = leaf(&[2.0, 3.0], &device);
        let square = &x * &x;
        let y = (&square * &x + &square + &x).sum(..);
        y.backward().unwrap();
        // 3x² + 2x + 1
        assert_values(&x.grad().unwrap(), &[17.0, 34.0]);
    }
}

#[test]
fn a_freed_graph_says_so() {
    for device in devices() {
        let x = leaf(&[2.0], &device);
        let y = x.exp().sum(..);
        y.backward().unwrap();
        let error = message(y.backward());
        assert!(error.contains("freed by an earlier backward pass; pass retain_graph"), "{error}");
        assert!(error.contains("exp"), "{error}");
        let z = (&x * &x).sum(..);
        z.backward_options(None, RETAIN).unwrap();
        z.backward().unwrap();
        assert_values(&x.grad().unwrap(), &[2f64.exp() + 8.0]);
    }
}

#[test]
fn what_cannot_be_done_is_an_error() {
    for device in devices() {
        let plain = Tensor::new([1.0], &device);
        let error = message(plain.backward());
        assert!(error.contains("does not require a gradient"), "{error}");
        let x = leaf(&[1.0, 2.0], &device);
        let error = message((&x * 2.0).backward());
        assert!(error.contains("[2]") && error.contains("single element"), "{error}");
        let error = message((&x * 2.0).backward_with(&Tensor::ones([3], &device)));
        assert!(error.contains("[3]") && error.contains("[2]"), "{error}");
        let error = message(grad(&[x.sum(..)], std::slice::from_ref(&plain), BackwardOptions::default()));
        assert!(error.contains("input 0 of shape [1] does not require a gradient"), "{error}");
        let error =
            message(grad_with(&[x.sum(..)], &[], std::slice::from_ref(&x), BackwardOptions::default()));
        assert!(error.contains("0 gradients were given for 1 outputs"), "{error}");
        assert!(message(Tensor::new([1, 2], &device).try_requires_grad()).contains("only floats"));
        assert!(message(plain.try_retain_grad()).contains("does not require"));
        assert!(message(plain.try_register_hook(|_| None)).contains("does not require"));
        // Comparisons have no derivative; nothing flows through them, so their results require none.
        assert!(!x.gt(1.0).is_tracked());
        assert!(!x.gt(1.0).to_dtype(DType::F32).is_tracked());
    }
}

/// x² with a backward that goes through an op without a derivative.
struct Broken;
impl CustomFunction for Broken {
    fn name(&self) -> &'static str {
        "broken"
    }
    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![inputs[0].clone()])
    }
    fn backward(&self, _: &Context, _: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        Err(Error::Autograd("broken is not differentiable".into()))
    }
}

#[test]
fn an_error_in_a_rule_leaves_gradients_alone() {
    let device = Device::cpu();
    let (x, y) = (leaf(&[1.0], &device), leaf(&[2.0], &device));
    let broken = Broken.apply(&[&x]).unwrap().remove(0);
    let error = message((broken + &y).sum(..).backward());
    assert!(error.contains("broken is not differentiable"), "{error}");
    assert!(x.grad().is_none() && y.grad().is_none());
}

#[test]
fn only_what_lies_between_is_gone_through() {
    let device = Device::cpu();
    let x = leaf(&[1.0, 2.0], &device);
    let middle = Broken.apply(&[&x]).unwrap().remove(0) * 2.0;
    let y = (&middle * &middle).sum(..);
    // The function without a derivative lies before `middle`.
    assert_values(&grad_of(&y, &middle, BackwardOptions::default()), &[4.0, 8.0]);
    assert!(x.grad().is_none());
}

#[test]
fn modes_and_detach_cut_the_graph() {
    for device in devices() {
        let x = leaf(&[2.0, 3.0], &device);
        assert!(!no_grad(|| &x * 2.0).is_tracked());
        {
            let _guard = no_grad_guard();
            let _inner = set_grad_enabled(true);
            assert!((&x * 2.0).is_tracked());
        }
        assert!((&x * 2.0).is_tracked());
        let y = (&x * x.detach()).sum(..);
        y.backward().unwrap();
        assert_values(&x.grad().unwrap(), &[2.0, 3.0]);
        assert!(x.is_leaf() && x.detach().is_leaf() && !y.is_leaf());
    }
}

#[test]
fn leaves_can_be_marked_and_unmarked() {
    let device = Device::cpu();
    let mut x = Tensor::new([1.0, 2.0], &device);
    x.set_requires_grad(true);
    x.set_requires_grad(true);
    (&x * 2.0).sum(..).backward().unwrap();
    assert_values(&x.grad().unwrap(), &[2.0, 2.0]);
    let mut y = &x * 2.0;
    assert!(message(y.try_set_requires_grad(false)).contains("result of mul: use detach()"));
    x.set_requires_grad(false);
    assert!(!x.is_tracked());
}

#[test]
fn hooks_change_gradients_and_can_be_removed() {
    for device in devices() {
        let x = leaf(&[1.0, 2.0], &device);
        let calls = Arc::new(AtomicUsize::new(0));
        let counter = calls.clone();
        let on_leaf = x.register_hook(move |_| {
            counter.fetch_add(1, Relaxed);
            None
        });
        let y = &x * 2.0;
        let on_result = y.register_hook(|grad| Some(grad * 10.0));
        // Both uses of y have flowed together when its hook sees the gradient; x's sees the whole of its own.
        let loss = (&y * &y + &y + &x).sum(..);
        loss.backward_options(None, RETAIN).unwrap();
        assert_eq!(calls.load(Relaxed), 1);
        assert_values(&x.grad().unwrap(), &[101.0, 181.0]);
        on_result.remove();
        on_leaf.remove();
        on_leaf.remove();
        x.zero_grad();
        loss.backward().unwrap();
        assert_eq!(calls.load(Relaxed), 1);
        assert_values(&x.grad().unwrap(), &[11.0, 19.0]);
        // A handle may outlive what it hooks.
        let late = (&x * 2.0).register_hook(|_| None);
        late.remove();
    }
}

#[test]
fn results_keep_their_gradient_when_asked() {
    for device in devices() {
        let x = leaf(&[1.0, 2.0], &device);
        let (y, z) = (&x * 3.0, &x * 5.0);
        y.retain_grad();
        y.retain_grad();
        x.retain_grad();
        let hook = y.register_hook(|grad| Some(grad * 2.0));
        let loss = (&y * &y + &z).sum(..);
        loss.backward_options(None, RETAIN).unwrap();
        assert_values(&y.grad().unwrap(), &[12.0, 24.0]);
        assert!(z.grad().is_none());
        hook.remove();
        loss.backward().unwrap();
        assert_values(&y.grad().unwrap(), &[18.0, 36.0]);
        y.zero_grad();
        assert!(y.grad().is_none());
    }
}

#[test]
fn gradients_of_gradients() {
    for device in devices() {
        let x = leaf(&[1.5, -2.0], &device);
        let square = &x * &x;
        let mut y = &square * &square;
        // x⁴: 4x³, 12x², 24x, 24
        for expected in [[13.5, -32.0], [27.0, 48.0], [36.0, -48.0], [24.0, 24.0]] {
            y = grad_of(&y.sum(..), &x, CREATE);
            assert_values(&y, &expected);
        }
        let x = leaf(&[0.5], &device);
        let mut y = x.tanh();
        // torch.tanh differentiated three times at 0.5
        for expected in [0.786_447_7, -0.726_862, -0.565_209_3] {
            y = grad_of(&y.sum(..), &x, CREATE);
            assert_values(&y, &[expected]);
        }
    }
}

#[test]
fn a_backward_through_a_backward() {
    for device in devices() {
        let x = leaf(&[1.0, 2.0], &device);
        (&x * &x * &x).sum(..).backward_options(None, CREATE).unwrap();
        let first = x.grad().unwrap();
        assert!(first.is_tracked());
        x.zero_grad();
        // A gradient penalty: Σ (3x²)², derivative 36x³.
        (&first * &first).sum(..).backward().unwrap();
        assert_values(&x.grad().unwrap(), &[36.0, 288.0]);
    }
}

#[test]
fn gradients_of_intermediates_and_unused_inputs() {
    for device in devices() {
        let (x, unused) = (leaf(&[1.0, 2.0], &device), leaf(&[1.0], &device));
        let y = &x * 3.0;
        let loss = (&y * &y).sum(..);
        let found = grad(&[loss], &[y, x.clone(), unused, x.clone()], BackwardOptions::default()).unwrap();
        assert_values(found[0].as_ref().unwrap(), &[6.0, 12.0]);
        assert_values(found[1].as_ref().unwrap(), &[18.0, 36.0]);
        assert!(found[2].is_none());
        assert_values(found[3].as_ref().unwrap(), &[18.0, 36.0]);
        assert!(x.grad().is_none());
        // An output that is itself asked for has the gradient it was given.
        let z = &x * 2.0;
        let given = Some(Tensor::new([3.0, 4.0], &device));
        let found = grad_with(std::slice::from_ref(&z), &[given], std::slice::from_ref(&z), RETAIN).unwrap();
        assert_values(found[0].as_ref().unwrap(), &[3.0, 4.0]);
    }
}

#[test]
fn gradients_follow_broadcasting_views_and_dtypes() {
    for device in devices() {
        let bias = leaf(&[1.0, 2.0, 3.0], &device);
        let x = Tensor::ones([4, 3], &device);
        (&x * 2.0 + &bias).sum(..).backward().unwrap();
        assert_values(&bias.grad().unwrap(), &[4.0, 4.0, 4.0]);
        let half = Tensor::full([2], 1.5, (DType::F16, &device)).requires_grad();
        (half.to_dtype(DType::F32) * 3.0).sum(..).backward().unwrap();
        assert_eq!(half.grad().unwrap().dtype(), DType::F16);
        let matrix = Tensor::ones([2, 3], &device).requires_grad();
        let part = matrix.narrow(1, 1, 2).transpose(0, 1);
        (&part * Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device)).sum(..).backward().unwrap();
        assert_values(&matrix.grad().unwrap(), &[0.0, 1.0, 3.0, 0.0, 2.0, 4.0]);
    }
}

/// exp, saving its output, and x·y, saving its inputs; with a constant besides.
struct ExpTimes;
impl CustomFunction for ExpTimes {
    fn forward(&self, context: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        assert!(!is_grad_recorded(&inputs[0]), "forward runs without recording");
        let exp = inputs[0].try_exp()?;
        let constant = inputs[1].full_like(2.0);
        context.save(&exp);
        context.save(&inputs[1]);
        context.save(&constant);
        Ok(vec![exp.clone(), exp.try_mul(&inputs[1])?.try_mul(&constant)?])
    }
    fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        let [exp, y, constant] = context.saved() else { panic!("three were saved") };
        assert!(context.needs_grad(0));
        let inner = grads[0].try_add(grads[1].try_mul(y)?.try_mul(constant)?)?;
        let dy = context.needs_grad(1).then(|| &grads[1] * exp * constant);
        Ok(vec![Some(inner.try_mul(exp)?), dy])
    }
}

fn is_grad_recorded(x: &Tensor) -> bool {
    (x * 1.0).is_tracked()
}

#[test]
fn custom_functions_of_any_order() {
    for device in devices() {
        let (x, y) = (leaf(&[0.5, 1.0], &device), leaf(&[2.0, 3.0], &device));
        let outputs = ExpTimes.apply(&[&x, &y]).unwrap();
        outputs[1].sum(..).backward().unwrap();
        let e = [0.5f64.exp(), 1f64.exp()];
        assert_values(&x.grad().unwrap(), &[4.0 * e[0], 6.0 * e[1]]);
        assert_values(&y.grad().unwrap(), &[2.0 * e[0], 2.0 * e[1]]);
        let error = message(outputs[0].sum(..).backward());
        assert!(error.contains("ExpTimes") && error.contains("freed"), "{error}");
        let fixed = Tensor::new([1.0, 1.0], &device);
        let outputs = ExpTimes.apply(&[&x, &fixed]).unwrap();
        let mut d = (&outputs[0] + &outputs[1]).clone();
        for _ in 0..3 {
            d = grad_of(&d.sum(..), &x, CREATE);
            assert_values(&d, &[3.0 * e[0], 3.0 * e[1]]);
        }
        assert!(!no_grad(|| ExpTimes.apply(&[&x, &y]).unwrap().remove(0)).is_tracked());
    }
    let inputs = [doubles(&[0.3, -0.7]), doubles(&[1.1, 0.4])];
    gradcheck_blocking(|x| ExpTimes.apply(&[&x[0], &x[1]]), &inputs, Default::default()).unwrap();
    gradgradcheck_blocking(|x| ExpTimes.apply(&[&x[0], &x[1]]), &inputs, Default::default()).unwrap();
}

/// Gives back gradients that do not fit.
struct Misshapen(Vec<Option<Tensor>>);
impl CustomFunction for Misshapen {
    fn name(&self) -> &'static str {
        "misshapen"
    }
    fn forward(&self, _: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        Ok(vec![inputs[0].clone()])
    }
    fn backward(&self, _: &Context, _: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        Ok(self.0.clone())
    }
}

#[test]
fn a_custom_backward_is_checked() {
    let device = Device::cpu();
    let x = leaf(&[1.0, 2.0], &device);
    let run = |grads| message(Misshapen(grads).apply(&[&x]).unwrap()[0].sum(..).backward());
    let error = run(vec![]);
    assert!(error.contains("misshapen: backward gave 0 gradients for 1 inputs"), "{error}");
    let error = run(vec![Some(Tensor::ones([3], &device))]);
    assert!(error.contains("gradient of shape [3] for input 0 of shape [2]"), "{error}");
}

#[test]
fn checkpoints_have_the_same_gradients() {
    for device in devices() {
        let generator = Generator::new(3);
        let input = Tensor::randn([3, 4], &generator, &device);
        let weight = Parameter::new(&Tensor::randn([4, 4], &generator, &device));
        let region = {
            let weight = weight.clone();
            move |x: &[Tensor]| x[0].try_matmul(&weight.get())?.try_tanh()?.try_matmul(&weight.get())
        };
        let mut results = Vec::new();
        for checkpointed in [false, true] {
            let x = input.requires_grad();
            weight.zero_grad();
            let y = match checkpointed {
                true => checkpoint(region.clone(), &[&x]).unwrap(),
                false => region(std::slice::from_ref(&x)).unwrap(),
            };
            assert!(y.is_tracked());
            (&y * &y).mean(..).backward().unwrap();
            results.push([values(&x.grad().unwrap()), values(&weight.grad().unwrap()), values(&y)]);
        }
        assert_eq!(results[0], results[1]);
        // Captured parameters alone make the result require a gradient.
        weight.zero_grad();
        let y = checkpoint(region.clone(), &[&input]).unwrap();
        (&y * &y).mean(..).backward().unwrap();
        assert_eq!(values(&weight.grad().unwrap()), results[0][1]);
        weight.set_requires_grad(false);
        assert!(!checkpoint(region.clone(), &[&input]).unwrap().is_tracked());
    }
}

#[test]
fn checkpoints_work_with_grad_and_any_order() {
    for device in devices() {
        let cube = |x: &[Tensor]| x[0].try_mul(&x[0])?.try_mul(&x[0]);
        let x = leaf(&[2.0, -1.0], &device);
        let inner = &x * 1.0;
        let y = checkpoint(cube, &[&inner]).unwrap();
        let first = grad_of(&y.sum(..), &x, CREATE);
        assert_values(&first, &[12.0, 3.0]);
        let second = grad_of(&first.sum(..), &x, CREATE);
        assert_values(&second, &[12.0, -6.0]);
        assert_values(&grad_of(&second.sum(..), &x, CREATE), &[6.0, 6.0]);
        assert_values(&grad_of(&y.sum(..), &inner, BackwardOptions::default()), &[12.0, 3.0]);
        let error = message(grad(&[y.sum(..)], &[x], BackwardOptions::default()));
        assert!(error.contains("checkpoint") && error.contains("freed"), "{error}");
    }
    let x = doubles(&[0.3, -0.8]);
    let f = |x: &[Tensor]| checkpoint(|x| checkpoint(|x| x[0].try_exp(), &[&x[0]])?.try_tanh(), &[&x[0]]);
    gradcheck_blocking(f, std::slice::from_ref(&x), Default::default()).unwrap();
    gradgradcheck_blocking(f, &[x], Default::default()).unwrap();
}

#[test]
fn checkpoints_repeat_their_random_draws() {
    for device in devices() {
        let generator = Generator::new(11);
        let noisy = {
            let (generator, device) = (generator.clone(), device.clone());
            move |x: &[Tensor]| x[0].try_mul(&x[0])?.try_mul(Tensor::rand([64], &generator, &device))
        };
        let x = Tensor::ones([64], &device).requires_grad();
        // Nested, with draws before, between and after.
        let outer = {
            let (noisy, generator, device) = (noisy.clone(), generator.clone(), device.clone());
            move |x: &[Tensor]| {
                let first = noisy(x)?;
                let second = checkpoint(noisy.clone(), &[&x[0]])?;
                first.try_add(&second)?.try_mul(Tensor::rand([64], &generator, &device))
            }
        };
        let y = checkpoint(outer, &[&x]).unwrap();
        assert_eq!(generator.counter(), 3 * 64);
        let later = Tensor::rand([64], &generator, &device);
        y.sum(..).backward().unwrap();
        // y = x²·noise, so the gradient at 1 is 2y.
        assert_values(&x.grad().unwrap(), &values(&(&y * 2.0)));
        assert_eq!(generator.counter(), 4 * 64);
        generator.set_counter(3 * 64);
        assert_eq!(values(&later), values(&Tensor::rand([64], &generator, &device)));
    }
}

#[test]
fn a_checkpoint_that_changes_its_mind_is_an_error() {
    let device = Device::cpu();
    let calls = AtomicUsize::new(0);
    let x = leaf(&[1.0, 2.0], &device);
    let shrinking = move |x: &[Tensor]| x[0].try_narrow(0, 0, 2 - calls.fetch_add(1, Relaxed));
    let y = checkpoint(shrinking, &[&x]).unwrap();
    let error = message(y.sum(..).backward());
    assert!(error.contains("[2] at first") && error.contains("[1] when it was computed again"), "{error}");
}

#[test]
fn gradcheck_finds_what_is_wrong() {
    let x = [doubles(&[0.5, 1.5]), doubles(&[2.0, -1.0])];
    let product = |x: &[Tensor]| vec![&x[0] * &x[1], x[0].matmul(&x[1].reshape([2, 1]))];
    gradcheck_blocking(product, &x, Default::default()).unwrap();
    gradgradcheck_blocking(product, &x, Default::default()).unwrap();
    // A history that misses a factor of x₁.
    let wrong = |x: &[Tensor]| &x[0] * x[1].detach() * &x[1];
    let error = message(gradcheck_blocking(wrong, &x, Default::default()));
    assert!(error.contains("input 1 of shape [2] is wrong at element 0: analytic"), "{error}");
    // First derivatives right, second ones missing.
    let wrong = |x: &[Tensor]| Linearized.apply(&[&x[0]]);
    gradcheck_blocking(wrong, &x[..1], Default::default()).unwrap();
    let error = message(gradgradcheck_blocking(wrong, &x[..1], Default::default()));
    assert!(error.contains("input 0") && error.contains("numeric"), "{error}");
    let single = Tensor::new([1.0], &Device::cpu());
    assert!(
        message(gradcheck_blocking(|x| x[0].exp(), std::slice::from_ref(&single), Default::default()))
            .contains("no input")
    );
    let error = message(gradcheck_blocking(|x| x[0].exp(), &[single.requires_grad()], Default::default()));
    assert!(error.contains("input 0 is f32; use f64"), "{error}");
}

/// x² whose backward forgets that it depends on x.
struct Linearized;
impl CustomFunction for Linearized {
    fn forward(&self, context: &mut Context, inputs: &[Tensor]) -> Result<Vec<Tensor>> {
        context.save(&inputs[0]);
        Ok(vec![&inputs[0] * &inputs[0]])
    }
    fn backward(&self, context: &Context, grads: &[Tensor]) -> Result<Vec<Option<Tensor>>> {
        Ok(vec![Some(&grads[0] * context.saved()[0].detach() * 2.0)])
    }
}

#[test]
fn in_place_methods_rebind_the_handle() {
    for device in devices() {
        let mut x = Tensor::new([1.0, 2.0], &device);
        let (before, view) = (x.clone(), x.narrow(0, 1, 1));
        x.add_(1.0);
        x.mul_(Tensor::new([2.0, 3.0], &device));
        x.sub_(Tensor::new([1.0], &device));
        x.div_(2.0);
        assert_values(&x, &[1.5, 4.0]);
        assert_values(&before, &[1.0, 2.0]);
        assert_values(&view, &[2.0]);
        x.copy_(&Tensor::new([7], &device));
        assert_values(&x, &[7.0, 7.0]);
        assert_eq!(x.dtype(), DType::F32);
        x.fill_(3);
        assert_values(&x, &[3.0, 3.0]);
        x.zero_();
        assert_values(&x, &[0.0, 0.0]);
        assert!(message(x.try_add_(Tensor::ones([3, 2], &device))).contains("[3, 2]"));
        let mut whole = Tensor::new([1, 2], &device);
        assert!(message(whole.try_div_(2)).contains("i32 cannot hold"));
    }
}

#[test]
fn in_place_methods_are_recorded() {
    for device in devices() {
        let mut x = leaf(&[1.0, 2.0], &device);
        let error = message(x.try_add_(1.0));
        assert!(error.contains("add_: a leaf that requires a gradient"), "{error}");
        let mut y = &x * 2.0;
        y.mul_(y.clone());
        y.sum(..).backward().unwrap();
        assert_values(&x.grad().unwrap(), &[8.0, 16.0]);
        // Under no_grad the leaf stays the leaf it was, with its gradient.
        no_grad(|| x.sub_(x.grad().unwrap() * 0.125));
        assert_values(&x.detach(), &[0.0, 0.0]);
        assert!(x.is_leaf() && x.is_tracked() && x.grad().is_some());
    }
}

#[test]
#[should_panic(expected = "zero_: a leaf that requires a gradient cannot be changed in place")]
fn in_place_on_a_leaf_panics_in_the_plain_form() {
    leaf(&[1.0], &Device::cpu()).zero_();
}

#[test]
fn parameters_are_slots() {
    for device in devices() {
        let w = Parameter::new(&Tensor::new([1.0, 2.0], &device));
        let (tied, snapshot) = (w.clone(), w.get());
        (w.get() * tied.get()).sum(..).backward().unwrap();
        snapshot.sum(..).backward().unwrap();
        assert_values(&w.grad().unwrap(), &[3.0, 5.0]);
        w.set(&Tensor::new([5.0, 6.0], &device));
        assert_values(&snapshot.detach(), &[1.0, 2.0]);
        assert_values(&tied.value(), &[5.0, 6.0]);
        assert!(!w.value().is_tracked() && w.get().is_leaf());
        w.set_name("fc.weight");
        let error = message(w.try_set(&Tensor::ones([3], &device)));
        assert!(error.contains("[3]") && error.contains("`fc.weight` has [2]"), "{error}");
        assert!(message(w.try_set(&Tensor::new([1, 2], &device))).contains("i32 was given"));
        assert!(message(Parameter::try_new(&Tensor::new([1, 2], &device))).contains("float"));
        w.set_requires_grad(false);
        assert!(!tied.get().is_tracked());
        let halved = w.grad().unwrap() * 0.5;
        w.set_grad(Some(&halved)).unwrap();
        assert_values(&w.grad().unwrap(), &[1.5, 2.5]);
        w.zero_grad();
        assert!(w.grad().is_none());
    }
}

/// Layers and losses that are one node, against finite differences in f64.
#[test]
fn composites_have_derivatives_of_any_order() {
    let device = Device::cpu();
    let x = Tensor::from_slice(&[0.3, -1.2, 0.8, 0.1, 2.0, -0.4], [3, 2], &device).requires_grad();
    assert_eq!(x.dtype(), DType::F64);
    let layer = Linear::new(2, 3, (DType::F64, &device));
    let through = |x: &[Tensor]| layer.try_forward(&x[0])?.try_tanh();
    gradcheck_blocking(through, std::slice::from_ref(&x), Default::default()).unwrap();
    gradgradcheck_blocking(through, std::slice::from_ref(&x), Default::default()).unwrap();
    let classes = Tensor::new([1, -100, 0], &device);
    for reduction in [Reduction::Mean, Reduction::Sum, Reduction::None] {
        let loss = CrossEntropyLoss { reduction, ..Default::default() };
        let of = |x: &[Tensor]| loss.try_forward(&x[0], &classes);
        gradcheck_blocking(of, std::slice::from_ref(&x), Default::default()).unwrap();
        gradgradcheck_blocking(of, std::slice::from_ref(&x), Default::default()).unwrap();
    }
}

/// The gradients of a linear layer are those of the product and the sum that it is made of.
#[test]
fn a_linear_layer_is_a_product_and_a_sum() {
    for device in devices() {
        for shape in [vec![4], vec![5, 4], vec![2, 3, 4]] {
            let generator = Generator::new(11);
            let layer = Linear::new(4, 3, &device);
            let x = Tensor::randn(shape, &generator, &device).requires_grad();
            let bias = layer.bias.clone().expect("a linear layer has a bias");
            let gradients = |y: Tensor| {
                y.sin().sum(..).backward().unwrap();
                let all = [x.grad(), layer.weight.grad(), bias.grad()].map(|grad| values(&grad.unwrap()));
                x.zero_grad();
                layer.weight.zero_grad();
                bias.zero_grad();
                all
            };
            let made = gradients(x.matmul(&layer.weight.get().t()) + bias.get());
            let own = gradients(layer.forward(&x));
            for (own, made) in own.iter().zip(&made) {
                assert_eq!(own.len(), made.len());
                let near = |(a, b): (&f64, &f64)| (a - b).abs() < 1e-5;
                assert!(own.iter().zip(made).all(near), "{own:?} and {made:?} on {device}");
            }
        }
    }
}
