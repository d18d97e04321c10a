//! The scenarios in which a lazy engine goes wrong: graphs that grow, values computed twice or too late, plans that
//! miss the cache, updates that survive a fault.

use crate::alone;
use crate::common::{assert_values, devices, new_gpu, values};
use flambeau::autograd::checkpoint;
use flambeau::nn::{Buffer, Parameter};
use flambeau::optim::{Adam, AdamOptions, Optimizer, Sgd, SgdOptions};
use flambeau::prelude::*;
use flambeau::{GpuConfig, PlanStats, block_on};

/// What `body` cost.
fn cost<T>(device: &Device, body: impl FnOnce() -> T) -> (T, PlanStats) {
    let before = device.plan_stats();
    let result = body();
    let after = device.plan_stats();
    let cost = PlanStats {
        runs: after.runs - before.runs,
        hits: after.hits - before.hits,
        misses: after.misses - before.misses,
        kernels: after.kernels - before.kernels,
        flops: after.flops - before.flops,
        bytes: after.bytes - before.bytes,
        temporary_bytes: after.temporary_bytes - before.temporary_bytes,
        slot_bytes: after.slot_bytes - before.slot_bytes,
        cached: after.cached,
    };
    (result, cost)
}

/// A network of two layers with its data.
struct Mlp {
    w1: Parameter,
    b1: Parameter,
    w2: Parameter,
    x: Tensor,
    y: Tensor,
}

impl Mlp {
    fn new(device: &Device) -> Mlp {
        let generator = Generator::new(5);
        let random = |shape: [usize; 2]| Tensor::randn(shape, &generator, device);
        let mlp = Mlp {
            w1: Parameter::new(&(random([3, 8]) * 0.5)),
            b1: Parameter::new(&Tensor::zeros([8], device)),
            w2: Parameter::new(&(random([8, 1]) * 0.5)),
            x: random([16, 3]),
            y: random([16, 1]),
        };
        eval(&[&mlp.x, &mlp.y]).unwrap();
        mlp
    }

    fn parameters(&self) -> Vec<Parameter> {
        vec![self.w1.clone(), self.b1.clone(), self.w2.clone()]
    }

    fn hidden(&self) -> Tensor {
        (self.x.matmul(&self.w1.get()) + self.b1.get()).tanh()
    }

    fn loss(&self) -> Tensor {
        let error = self.hidden().matmul(&self.w2.get()) - &self.y;
        (&error * &error).mean(..)
    }
}

fn train(mlp: &Mlp, optimizer: &mut dyn Optimizer) -> Tensor {
    let loss = mlp.loss();
    loss.backward().unwrap();
    optimizer.step().unwrap();
    optimizer.zero_grad();
    loss
}

#[test]
fn a_training_step_is_one_run_of_one_cached_plan() {
    let _alone = alone();
    for device in devices() {
        let mlp = Mlp::new(&device);
        let sgd = SgdOptions { learning_rate: 0.01, momentum: 0.9, dampening: 0.1, ..Default::default() };
        let adam = AdamOptions { amsgrad: true, ..Default::default() };
        for name in ["sgd", "adam"] {
            // Made one after the other: an optimizer takes the parameters' values into its own memory.
            let mut optimizer: Box<dyn Optimizer> = match name {
                "sgd" => Box::new(Sgd::with_options(mlp.parameters(), sgd)),
                _ => Box::new(Adam::with_options(mlp.parameters(), adam)),
            };
            let (_, first) = cost(&device, || train(&mlp, &mut *optimizer));
            assert_eq!((first.runs, first.misses), (1, 1), "{name}");
            for step in 2..6 {
                // The learning rate is data.
                optimizer.set_learning_rate(0.01 / f64::from(step));
                let (loss, cost) = cost(&device, || train(&mlp, &mut *optimizer));
                assert_eq!((cost.runs, cost.hits, cost.misses), (1, 1, 0), "{name}, step {step}");
                assert_eq!(cost.kernels, first.kernels, "{name}, step {step}");
                // The step has evaluated the loss, which is held.
                let before = device.plan_stats();
                assert!(loss.item_blocking().unwrap() > 0.0);
                assert_eq!(device.plan_stats(), before);
            }
        }
    }
}

/// The gradients take a kernel each here and are written where the update reads them (on the CPU one more kernel puts
/// them there); the update takes one, whatever their number.
#[test]
fn an_update_takes_as_many_kernels_for_forty_parameters_as_for_one() {
    let _alone = alone();
    for device in devices() {
        for count in [1, 4, 40] {
            let start = || Parameter::new(&Tensor::ones([8, 8], &device));
            let parameters: Vec<Parameter> = (0..count).map(|_| start()).collect();
            let mut adam = Adam::new(parameters.clone(), 0.1);
            let mut step = || {
                for parameter in &parameters {
                    (parameter.get().exp()).sum(..).backward().unwrap();
                }
                adam.step().unwrap();
                adam.zero_grad();
            };
            step();
            let (_, second) = cost(&device, step);
            assert_eq!((second.runs, second.hits), (1, 1), "{count} parameters");
            assert!(values(&parameters[count - 1].value()).iter().all(|&x| (0.79..0.81).contains(&x)));
            let others = second.kernels - count as u64;
            assert!(others <= 2, "{count} parameters: {others} kernels beside the gradients'");
        }
    }
}

/// Of a chain of products each needs the one before alone: however many there are, two take turns.
#[test]
fn temporaries_whose_lives_do_not_overlap_share_memory() {
    let _alone = alone();
    for device in devices() {
        let square = Tensor::rand([16, 16], &Generator::new(4), &device);
        square.eval().unwrap();
        let evaluate = |products: usize| {
            let chain = (0..products).fold(square.clone(), |x, _| x.matmul(&square));
            cost(&device, || chain.eval().unwrap()).1
        };
        let bytes = 16 * 16 * 4;
        for (products, temporaries, slots) in [(1, 0, 0), (2, 1, 1), (3, 2, 2), (8, 7, 2)] {
            let spent = evaluate(products);
            let found = (spent.temporary_bytes, spent.slot_bytes);
            assert_eq!(found, (temporaries * bytes, slots * bytes), "{products} products");
        }
    }
}

#[test]
fn sums_and_running_statistics_stay_bounded() {
    let _alone = alone();
    for device in devices() {
        let mlp = Mlp::new(&device);
        let mut sgd = Sgd::new(mlp.parameters(), 0.01);
        let mean = Buffer::new(&Tensor::zeros([8], &device));
        let mut total = Tensor::zeros((), &device);
        let mut tracked_total = Tensor::zeros((), &device);
        eval(&[&total, &tracked_total, &mean.get()]).unwrap();
        let mut expected = 0.0;
        let mut kernels = None;
        for step in 0..1000 {
            let (loss, cost) = cost(&device, || {
                let hidden = mlp.hidden();
                mean.set(&no_grad(|| mean.get() * 0.9 + hidden.mean(0) * 0.1));
                let error = hidden.matmul(&mlp.w2.get()) - &mlp.y;
                let loss = (&error * &error).mean(..);
                total = &total + loss.detach();
                tracked_total = &tracked_total + &loss;
                loss.backward().unwrap();
                sgd.step().unwrap();
                sgd.zero_grad();
                loss
            });
            assert_eq!(cost.runs, 1, "step {step}");
            // The tracked sum is untracked before the first step, which changes nothing in the plan.
            assert_eq!(*kernels.get_or_insert(cost.kernels), cost.kernels, "step {step}");
            assert!(step == 0 || cost.hits == 1, "step {step}");
            expected += loss.item_blocking().unwrap();
        }
        let got = total.item_blocking().unwrap();
        assert!((got - expected).abs() < 1e-3 * expected, "{got} is not {expected}");
        assert!((tracked_total.item_blocking().unwrap() - got).abs() < 1e-6 * got);
        assert!(values(&mean.get()).iter().any(|&x| x != 0.0));
    }
}

#[test]
fn a_loop_that_reads_nothing_stays_bounded() {
    let _alone = alone();
    for device in devices() {
        let one = Tensor::ones([2], &device);
        let mut x = Tensor::zeros([2], &device);
        let (_, cost) = cost(&device, || {
            for _ in 0..120_000 {
                x = &x + &one;
            }
        });
        assert!(cost.runs >= 2, "pending work flushes itself: {cost:?}");
        assert_values(&x, &[120_000.0, 120_000.0]);
    }
}

#[test]
fn reading_a_value_before_backward_costs_nothing_twice() {
    let _alone = alone();
    const LAYERS: usize = 10;
    for device in devices() {
        let generator = Generator::new(9);
        let weights: Vec<Parameter> = (0..LAYERS)
            .map(|_| Parameter::new(&(Tensor::randn([6, 6], &generator, &device) * 0.4)))
            .collect();
        let x = Tensor::randn([5, 6], &generator, &device);
        x.eval().unwrap();
        let forward = || {
            let hidden = weights.iter().fold(x.clone(), |x, weight| x.matmul(&weight.get()).tanh());
            (&hidden * &hidden).mean(..)
        };
        let start: Vec<Tensor> = weights.iter().map(Parameter::value).collect();
        let mut results = Vec::new();
        let mut costs = Vec::new();
        for reads in [false, true] {
            weights.iter().zip(&start).for_each(|(weight, start)| weight.set(start));
            let mut sgd = Sgd::new(weights.clone(), 0.1);
            let (loss, before) = cost(&device, || {
                let loss = forward();
                if reads {
                    loss.item_blocking().unwrap();
                }
                loss
            });
            let (_, after) = cost(&device, || {
                loss.backward().unwrap();
                sgd.step().unwrap();
                sgd.zero_grad();
            });
            costs.push((before, after));
            results.push(weights.iter().flat_map(|weight| values(&weight.value())).collect::<Vec<_>>());
        }
        for (plain, read) in results[0].iter().zip(&results[1]) {
            assert!((plain - read).abs() < 1e-6, "{plain} and {read}");
        }
        let [(_, whole), (forward, rest)] = costs[..] else { panic!("two runs") };
        assert!(forward.kernels >= LAYERS as u64, "a matrix product per layer: {forward:?}");
        // What the reading has computed is not computed again: a product and a tanh per layer.
        assert!(
            rest.kernels + LAYERS as u64 <= whole.kernels,
            "forward {forward:?}, then {rest:?}, whole {whole:?}"
        );
    }
}

#[test]
fn a_kept_weight_keeps_its_value() {
    let _alone = alone();
    for device in devices() {
        let mlp = Mlp::new(&device);
        let before = values(&mlp.w1.value());
        let (kept, derived) = (mlp.w1.get(), mlp.w1.get().narrow(0, 1, 1) * 2.0);
        let mut adam = Adam::new(mlp.parameters(), 0.1);
        for _ in 0..3 {
            train(&mlp, &mut adam);
        }
        assert_eq!(values(&kept), before);
        assert_eq!(values(&derived), before[8..16].iter().map(|x| x * 2.0).collect::<Vec<_>>());
        assert_ne!(values(&mlp.w1.value()), before);
    }
}

/// Graphs that begin alike and end otherwise, one after the other: each has a plan of its own, finds it again, and gives
/// its own values.
#[test]
fn graphs_are_told_from_their_likes() {
    let _alone = alone();
    for device in devices() {
        let x = Tensor::new([[1.0, 2.0], [3.0, 4.0]], &device);
        let y = Tensor::new([[1.0, 1.0], [1.0, 1.0]], &device);
        eval(&[&x, &y]).unwrap();
        type Graph<'a> = &'a dyn Fn(f64) -> Tensor;
        let graphs: [(Graph, &[f64]); 6] = [
            (&|by| (&x * by + &x).sum(0), &[12.0, 18.0]),
            (&|by| (&x * by + &x).sum(1), &[9.0, 21.0]),
            (&|by| (&x * by + &y).sum(0), &[10.0, 14.0]),
            (&|by| (&x * by + &x).amax(0), &[9.0, 12.0]),
            (&|by| (&x * by + &x).sum(0) + 1.0, &[13.0, 19.0]),
            (&|by| (x.narrow(1, 0, 1) * by + x.narrow(1, 1, 1)).sum(0), &[14.0]),
        ];
        let round = |number: f64| {
            for (graph, expected) in &graphs {
                assert_eq!(values(&graph(number)).len(), expected.len());
                assert_values(&graph(2.0), expected);
            }
        };
        round(3.0);
        for number in [5.0, 7.0] {
            let ((), cost) = cost(&device, || round(number));
            assert_eq!((cost.misses, cost.hits, cost.runs), (0, 12, 12), "on {device}");
        }
        // The same graph with something held on the way has another plan, which leaves that in memory too.
        let (kept, cost) = cost(&device, || {
            let kept = &x * 2.0 + &x;
            eval(&[&kept.sum(0), &kept]).unwrap();
            kept
        });
        assert_eq!((cost.misses, cost.runs), (1, 1), "on {device}");
        assert_values(&kept, &[3.0, 6.0, 9.0, 12.0]);
    }
}

#[test]
fn a_slice_whose_start_moves_hits_the_cache() {
    let _alone = alone();
    for device in devices() {
        let data = Tensor::from_slice(&(0..64).map(|x| x as f32).collect::<Vec<_>>(), [32, 2], &device);
        let w = Parameter::new(&Tensor::ones([2, 1], &device));
        let mut sgd = Sgd::new([w.clone()], 0.0);
        let mut step = |start: usize| {
            let loss = data.narrow(0, start, 4).matmul(&w.get()).sum(..);
            loss.backward().unwrap();
            sgd.step().unwrap();
            sgd.zero_grad();
            loss
        };
        step(0);
        for start in [4, 8, 28, 3] {
            let (loss, cost) = cost(&device, || step(start));
            assert_eq!((cost.runs, cost.hits), (1, 1), "start {start}");
            let expected: usize = (2 * start..2 * start + 8).sum();
            assert_values(&loss, &[expected as f64]);
        }
    }
}

#[test]
fn a_checkpointed_step_hits_the_cache() {
    let _alone = alone();
    for device in devices() {
        let mlp = Mlp::new(&device);
        let mut sgd = Sgd::new(mlp.parameters(), 0.01);
        let (w1, b1, generator) = (mlp.w1.clone(), mlp.b1.clone(), Generator::new(1));
        let mut step = || {
            let (w1, b1, generator, device) = (w1.clone(), b1.clone(), generator.clone(), device.clone());
            let region = move |x: &[Tensor]| {
                let hidden = x[0].try_matmul(&w1.get())?.try_add(b1.get())?.try_tanh()?;
                hidden.try_mul(Tensor::rand([16, 8], &generator, &device))
            };
            let error = checkpoint(region, &[&mlp.x]).unwrap().matmul(&mlp.w2.get()) - &mlp.y;
            (&error * &error).mean(..).backward().unwrap();
            sgd.step().unwrap();
            sgd.zero_grad();
        };
        step();
        for _ in 0..3 {
            let (_, cost) = cost(&device, &mut step);
            assert_eq!((cost.runs, cost.hits), (1, 1));
        }
    }
}

#[test]
fn a_fault_leaves_parameters_as_they_were() {
    let _alone = alone();
    for device in devices() {
        let table = Parameter::new(&Tensor::new([[1.0], [2.0], [3.0]], &device));
        let other = Parameter::new(&Tensor::new([4.0], &device));
        let mut adam = Adam::new([table.clone(), other.clone()], 0.5);
        let mut step = |index: i32| {
            let index = Tensor::new([[index]], &device);
            let loss = (table.get().gather(0, &index) * other.get()).sum(..);
            loss.backward().unwrap();
            let result = adam.step();
            adam.zero_grad();
            // A GPU tells of the fault when a value is read.
            result.and_then(|()| loss.item_blocking())
        };
        let error = step(7).unwrap_err().to_string();
        assert!(error.contains("index 7 is out of range for a dimension of size 3"), "{error}");
        assert!(error.contains("engine.rs"), "the error names the line: {error}");
        device.clear_fault().unwrap();
        assert_values(&table.value(), &[1.0, 2.0, 3.0]);
        assert_values(&other.value(), &[4.0]);
        assert_eq!(step(1).unwrap(), 8.0);
        // The failed step has not counted: this one is Adam's first.
        assert_values(&table.value(), &[1.0, 1.5, 3.0]);
        assert_values(&other.value(), &[3.5]);
    }
}

#[test]
fn ten_thousand_steps() {
    let _alone = alone();
    for device in devices() {
        let mlp = Mlp::new(&device);
        let mut adam = Adam::new(mlp.parameters(), 1e-3);
        let first = train(&mlp, &mut adam).item_blocking().unwrap();
        let in_use = || Some(device.memory().in_use);
        let mut after_100 = None;
        let (last, cost) = cost(&device, || {
            let mut last = None;
            for step in 0..10_000 {
                last = Some(train(&mlp, &mut adam));
                if step == 99 {
                    after_100 = in_use();
                }
            }
            last
        });
        assert_eq!(in_use(), after_100, "the ledger is flat");
        // The second step may still differ from the first in what is held; then every step is the same.
        assert_eq!(cost.runs, 10_000);
        assert!(cost.misses <= 2, "{cost:?}");
        let last = last.unwrap().item_blocking().unwrap();
        assert!(last < 0.5 * first, "the loss falls: {first} to {last}");
    }
}

#[test]
fn a_training_step_is_one_submission_that_makes_nothing_new() {
    let device = new_gpu(GpuConfig::default());
    let mlp = Mlp::new(&device);
    let mut adam = Adam::new(mlp.parameters(), 1e-3);
    train(&mlp, &mut adam);
    let (plans, before) = (device.plan_stats(), device.gpu_stats().unwrap());
    train(&mlp, &mut adam);
    let (plans_after, after) = (device.plan_stats(), device.gpu_stats().unwrap());
    assert_eq!(after.submits - before.submits, 1);
    assert_eq!((plans_after.hits - plans.hits, plans_after.misses - plans.misses), (1, 0));
    assert_eq!(after.pipelines_created, before.pipelines_created, "no new pipeline");
    assert_eq!(after.buffers_created, before.buffers_created, "no new buffer");
    let kernels = after.dispatches - before.dispatches;
    println!("summary: a training step of a two-layer network with Adam: 1 submission, {kernels} kernels");
}

type SingleOp = fn(&Tensor) -> Tensor;

/// What is computed and thrown away again and again is computed in the same memory.
#[test]
fn single_ops_one_after_the_other_take_no_new_memory() {
    let device = new_gpu(GpuConfig::default());
    let inputs = [1, 2, 3, 4].map(|seed| Tensor::rand([1 << 14], &Generator::new(seed), &device));
    let ops: [(&str, SingleOp); 3] = [
        ("sort", |x| x.sort(0, false).0),
        ("running sums", |x| x.cumsum(0)),
        ("ranks", |x| x.argsort(0, true)),
    ];
    for (name, op) in ops {
        let mut last = None;
        let mut evaluate = |count: usize| {
            for number in 0..count {
                let result = op(&inputs[number % inputs.len()]);
                result.eval().unwrap();
                last = Some(result);
                block_on(device.throttle()).unwrap();
            }
            last.take().unwrap().narrow(0, 0, 1).item_blocking().unwrap();
        };
        evaluate(20);
        let before = device.gpu_stats().unwrap().buffers_created;
        evaluate(40);
        assert_eq!(device.gpu_stats().unwrap().buffers_created - before, 0, "{name}: no new buffer");
    }
}
