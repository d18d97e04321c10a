//! The GPU backend: counts where the queue is called, limits, faults, lost devices, adopted devices.

use crate::common::{assert_close, gpu, new_gpu};
use flambeau::nn::Parameter;
use flambeau::optim::{Adam, Optimizer};
use flambeau::prelude::*;
use flambeau::{GpuConfig, block_on, read_many};

fn values(tensor: &Tensor) -> Vec<f64> {
    block_on(tensor.to_f64_vec()).unwrap()
}

#[test]
fn a_chain_and_a_sum_are_one_or_two_kernels() {
    let device = new_gpu(GpuConfig::default());
    let x = Tensor::new(vec![0.5f32; 1000], &device);
    let mut y = x.clone();
    for k in 0..20 {
        y = if k % 2 == 0 { y.sin() } else { y * 1.01 };
    }
    let total = y.sum(..);
    let before = device.gpu_stats().unwrap();
    total.eval().unwrap();
    let after = device.gpu_stats().unwrap();
    assert!(after.dispatches - before.dispatches <= 2, "{}", total.explain());
    assert_eq!(after.submits - before.submits, 1);
    let mut want = 0.5f64;
    for k in 0..20 {
        want = if k % 2 == 0 { want.sin() } else { want * 1.01 };
    }
    assert_close(&values(&total), &[want * 1000.0], 1e-3, 1e-5);
}

#[test]
fn a_repeated_evaluation_makes_nothing_new() {
    let device = new_gpu(GpuConfig::default());
    let x = Tensor::randn([33, 20], &Generator::new(1), &device);
    x.eval().unwrap();
    let step = |factor: f64| {
        let y = ((&x * factor).tanh().matmul(&x.transpose(0, 1))).sum(1);
        y.eval().unwrap();
    };
    // A small plan has several blocks of numbers, so that runs can be submitted together: once all are there, nothing is new.
    for k in 0..20 {
        step(0.5 + 0.01 * f64::from(k));
    }
    let (plans, before) = (device.plan_stats(), device.gpu_stats().unwrap());
    for k in 0..10 {
        step(0.8 + 0.1 * f64::from(k));
    }
    let (plans_after, after) = (device.plan_stats(), device.gpu_stats().unwrap());
    assert_eq!(plans_after.hits - plans.hits, 10);
    assert_eq!(plans_after.misses, plans.misses);
    let submits = after.submits - before.submits;
    assert!(
        (1..=10).contains(&submits),
        "{submits} submissions of ten runs: those that wait together share one"
    );
    assert_eq!(after.pipelines_created, before.pipelines_created);
    assert_eq!(after.buffers_created, before.buffers_created);
    assert_eq!(after.bind_groups_created, before.bind_groups_created);
}

#[test]
fn more_than_65535_workgroups() {
    let device = gpu();
    let n = 65_536 * 256 + 77;
    let x = Tensor::ones([n], &device);
    let y = &x * 2.0;
    y.eval().unwrap();
    let tail = y.narrow(0, n - 3, 3);
    assert_eq!(values(&tail), [2.0; 3]);
    let total = (&y * 0.5).sum(..);
    assert_close(&values(&total), &[n as f64], 0.0, 1e-5);
}

/// Elementwise work that is done four elements at a time: several dtypes and outputs, a broadcast number, part of a
/// larger tensor, random numbers.
#[test]
fn large_elementwise_kernels() {
    let run = |device: &Device| {
        let n = 1 << 20;
        let generator = Generator::new(5);
        let x = Tensor::rand([n + 4], &generator, device);
        let scale = Tensor::new(3.0, device);
        let steps = Tensor::arange(0, n as i64, 1, device);
        eval(&[&x, &scale, &steps]).unwrap();
        let part = x.narrow(0, 4, n);
        let y = (&part * &scale).relu() + steps.to_dtype(flambeau::DType::F32) * 1e-6;
        let z = y.gt(1.5);
        let noisy = &y + Tensor::rand([n], &generator, device);
        eval(&[&y, &z, &noisy]).unwrap();
        let tail = |t: &Tensor| values(&t.narrow(0, n - 9, 9).to_dtype(flambeau::DType::F32));
        let sums = values(&Tensor::stack(&[y.mean(..), noisy.mean(..)], 0));
        [tail(&y), tail(&z), tail(&noisy), values(&y.narrow(0, 0, 6)), sums].concat()
    };
    assert_close(&run(&gpu()), &run(&Device::cpu()), 1e-6, 1e-5);
}

/// Loops of many rounds: llvmpipe gives up on a shader after 65,535.
#[test]
fn long_products_and_scatters() {
    let run = |device: &Device| {
        let generator = Generator::new(3);
        let (a, b) =
            (Tensor::rand([4, 70_000], &generator, device), Tensor::rand([70_000, 3], &generator, device));
        let product = a.matmul(&b) / 70_000.0;
        let index = Tensor::randint(0, 5, [70_000], &generator, device);
        let counts = Tensor::zeros([5], device).scatter_add(0, &index, Tensor::ones([70_000], device));
        [values(&product), values(&counts)].concat()
    };
    assert_close(&run(&gpu()), &run(&Device::cpu()), 0.0, 1e-5);
}

#[test]
fn too_large_a_tensor_names_the_limit() {
    let device = gpu();
    let limit = device.limits().unwrap().max_storage_buffer_binding_size;
    let x = Tensor::zeros([limit as usize / 4 + 1], &device);
    let error = x.eval().unwrap_err().to_string();
    assert!(error.contains("maxStorageBufferBindingSize") || error.contains("maxBufferSize"), "{error}");
    // The device lives on.
    assert_eq!(values(&Tensor::new([1.0, 2.0], &device)), [1.0, 2.0]);
}

#[test]
fn an_index_out_of_range_concerns_what_is_made_of_it() {
    let device = new_gpu(GpuConfig::default());
    let table = Tensor::new([[1.0], [2.0], [3.0]], &device);
    let before = &table * 10.0;
    before.eval().unwrap();
    let index = Tensor::new([[1], [7]], &device);
    let picked = table.gather(0, &index);
    let error = block_on(picked.to_f64_vec()).unwrap_err();
    let Error::IndexOutOfRange { op, index, size, location } = error else { panic!("{error}") };
    assert_eq!((op, index, size), ("gather", 7, 3));
    assert!(location.contains("gpu_backend.rs"), "{location}");
    assert_eq!(values(&before), [10.0, 20.0, 30.0], "values from before the fault are fine");
    assert_eq!(values(&(&table + 1.0)), [2.0, 3.0, 4.0], "nor does it concern what is made of other values");
    assert!(matches!(block_on(picked.to_f64_vec()), Err(Error::Poisoned(_))));
    assert!(matches!((&picked + 1.0).eval(), Err(Error::Poisoned(_))), "nor can anything be made of it");
}

#[test]
fn a_fault_reaches_what_is_made_of_it_before_anybody_has_seen_it() {
    let device = new_gpu(GpuConfig::default());
    let table = Tensor::new([1.0, 2.0, 3.0], &device);
    let pick = |index: i32| {
        let picked = table.gather(0, &Tensor::new([index], &device));
        picked.eval().unwrap();
        picked
    };
    let (bad, good) = (pick(9), [pick(0), pick(1), pick(2), pick(0), pick(1)]);
    // Nobody has read anything yet: the later runs are submitted, and inherit it on the device or from its witness.
    let chain = (0..4).fold(bad, |value, _| {
        let next = &value * 2.0;
        next.eval().unwrap();
        next
    });
    let sum = good.iter().fold(chain, |sum, value| sum + value);
    sum.eval().unwrap();
    let others = good.iter().fold(Tensor::zeros([1], &device), |sum, value| sum + value);
    assert_eq!(values(&others), [9.0]);
    let error = block_on(sum.to_f64_vec()).unwrap_err();
    assert!(matches!(error, Error::IndexOutOfRange { index: 9, size: 3, .. }), "{error}");
    assert_eq!(values(&pick(2)), [3.0]);
}

#[test]
fn every_index_into_nothing_is_a_fault() {
    for device in [Device::cpu(), gpu()] {
        let nothing = Tensor::zeros([0, 700], &device);
        let picked = nothing.gather(0, &Tensor::zeros([3, 700], &device).to_dtype(DType::I32));
        let error = block_on(picked.to_f64_vec()).unwrap_err();
        assert!(matches!(error, Error::IndexOutOfRange { index: 0, size: 0, .. }), "{error}");
    }
}

#[test]
fn a_faulty_step_changes_nothing_and_training_goes_on() {
    let device = new_gpu(GpuConfig::default());
    let train = |indexes: &[i32]| -> (Vec<f64>, Vec<bool>) {
        let table = Parameter::new(&Tensor::new([[1.0], [2.0], [3.0]], &device));
        let mut adam = Adam::new([table.clone()], 0.5);
        let losses: Vec<Tensor> = indexes
            .iter()
            .filter_map(|&index| {
                let loss = table.get().gather(0, &Tensor::new([[index]], &device)).sum(..);
                loss.backward().unwrap();
                let stepped = adam.step();
                adam.zero_grad();
                stepped.is_ok().then_some(loss)
            })
            .collect();
        let told = losses.iter().map(|loss| block_on(loss.item()).is_err()).collect();
        (values(&table.value()), told)
    };
    let (expected, _) = train(&[0, 1]);
    // Steps after the faulty one were submitted before anybody knew: they change nothing either.
    let (table, told) = train(&[0, 1, 7, 2]);
    assert_eq!((table, told), (expected, vec![false, false, true, true]));
}

#[test]
fn faults_of_one_thread_do_not_reach_others() {
    let device = new_gpu(GpuConfig::default());
    let work = |number: i32| {
        let table = Tensor::new([1.0, 2.0, 3.0, 4.0], &device);
        for round in 0..50 {
            let index = if number == 0 { 4 + round } else { (number + round) % 4 };
            let picked = (table.gather(0, &Tensor::new([index], &device)) * 2.0).to_vec_blocking::<f32>();
            match number {
                0 => assert!(matches!(picked, Err(Error::IndexOutOfRange { .. })), "{picked:?}"),
                _ => assert_eq!(picked.unwrap(), [2.0 * (index + 1) as f32]),
            }
        }
    };
    std::thread::scope(|scope| (0..4).for_each(|number| drop(scope.spawn(move || work(number)))));
}

#[test]
fn more_open_questions_than_there_are_slots() {
    let device = new_gpu(GpuConfig::default());
    let table = Tensor::new([1.0, 2.0, 3.0], &device);
    let picked: Vec<Tensor> = (0..2500)
        .map(|k| {
            let picked = table.gather(0, &Tensor::new([if k == 77 { 5 } else { k % 3 }], &device));
            picked.eval().unwrap();
            picked
        })
        .collect();
    for k in [0, 76, 78, 1023, 1024, 1025, 2499] {
        assert_eq!(values(&picked[k]), [(k % 3) as f64 + 1.0]);
    }
    assert!(matches!(block_on(picked[77].item()), Err(Error::IndexOutOfRange { index: 5, .. })));
}

#[test]
fn debug_mode_finds_a_nan_and_its_line() {
    let device = new_gpu(GpuConfig { debug: true, ..Default::default() });
    let x = Tensor::new([-1.0, 4.0], &device);
    let root = x.sqrt();
    let line = line!() - 1;
    let error = block_on((&root + 1.0).to_f64_vec()).unwrap_err().to_string();
    assert!(error.contains(&format!("gpu_backend.rs:{line}")), "{error}");
}

#[test]
fn a_lost_device_is_an_error_never_a_panic_or_a_value() {
    let device = new_gpu(GpuConfig::default());
    let x = Tensor::new([1.0, 2.0], &device);
    let y = &x + 1.0;
    device.destroy();
    assert!(matches!(block_on(y.to_f64_vec()), Err(Error::DeviceLost(_))));
    assert!(matches!(block_on(x.to_f64_vec()), Err(Error::DeviceLost(_))));
    assert!(matches!(Tensor::try_new([1.0], &device), Err(Error::DeviceLost(_))));
}

#[test]
fn wide_types_are_refused_with_a_reason() {
    let device = gpu();
    let error = Tensor::try_from_slice(&[1.0f64], [1], &device).unwrap_err().to_string();
    assert!(error.contains("f64") && error.contains("f32"), "{error}");
    let error = Tensor::new([1.0], &device).try_to_dtype(DType::I64).unwrap_err().to_string();
    assert!(error.contains("i64"), "{error}");
}

#[test]
fn small_types_live_on_the_gpu() {
    let device = gpu();
    let bytes = Tensor::new([250u8, 3], &device);
    assert_eq!((&bytes + 10).to_vec_blocking::<u8>().unwrap(), [4, 13], "bytes wrap");
    let flags = Tensor::new([1.0, -1.0], &device).gt(0.0);
    assert_eq!(flags.to_vec_blocking::<bool>().unwrap(), [true, false]);
    let halves = Tensor::new([0.1, 2.5, 3.0], &device).to_dtype(DType::F16);
    let want: Vec<f64> = [0.1f32, 2.5, 3.0].iter().map(|&x| half::f16::from_f32(x).to_f64()).collect();
    assert_eq!(values(&halves), want);
    assert_eq!(values(&(&halves * 2.0)), want.iter().map(|x| x * 2.0).collect::<Vec<_>>());
}

#[test]
fn mixing_devices_is_refused_when_the_node_is_built() {
    let (a, b) = (Tensor::new([1.0], &Device::cpu()), Tensor::new([1.0], &gpu()));
    assert!(matches!(a.try_add(&b), Err(Error::DeviceMismatch { op: "add", .. })));
}

#[test]
fn random_numbers_are_the_same_on_every_device() {
    let draw = |device: &Device| {
        let generator = Generator::new(42);
        (Tensor::rand([1000], &generator, device), Tensor::randn([1000], &generator, device))
    };
    let ((uniform, normal), (gpu_uniform, gpu_normal)) = (draw(&Device::cpu()), draw(&gpu()));
    assert_eq!(uniform.to_vec_blocking::<f32>().unwrap(), gpu_uniform.to_vec_blocking::<f32>().unwrap());
    let ulps = |a: f32, b: f32| (a.to_bits() as i64 - b.to_bits() as i64).abs();
    let pairs = normal
        .to_vec_blocking::<f32>()
        .unwrap()
        .into_iter()
        .zip(gpu_normal.to_vec_blocking::<f32>().unwrap());
    let worst = pairs.map(|(a, b)| ulps(a, b)).max().unwrap();
    assert!(worst <= 4, "{worst} ulp");
}

/// No coordinate varies in such a kernel, which llvmpipe's compiler does not survive unless it is told otherwise.
#[test]
fn a_single_random_number() {
    let draw = |device: &Device| values(&Tensor::randn([1], &Generator::new(9), device));
    assert_close(&draw(&gpu()), &draw(&Device::cpu()), 0.0, 1e-6);
}

#[test]
fn several_values_are_read_in_one_wait() {
    let device = new_gpu(GpuConfig::default());
    let x = Tensor::new([1.0, 2.0, 3.0], &device);
    let (a, b) = (&x * 2.0, x.sum(..));
    let before = device.gpu_stats().unwrap();
    let read = block_on(read_many(&[&a, &b])).unwrap();
    let after = device.gpu_stats().unwrap();
    assert_eq!(read, [vec![2.0, 4.0, 6.0], vec![6.0]]);
    assert_eq!(after.submits - before.submits, 1, "the copies go with the plan");
}

#[test]
fn a_device_made_by_others_can_be_used() {
    let instance = wgpu::Instance::new(wgpu::InstanceDescriptor::new_without_display_handle());
    let (device, queue) = block_on(async {
        let adapters = instance.enumerate_adapters(wgpu::Backends::all()).await;
        let adapter = adapters.into_iter().next().expect("an adapter");
        adapter.request_device(&wgpu::DeviceDescriptor::default()).await.unwrap()
    });
    let usage = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let descriptor = wgpu::BufferDescriptor { label: None, size: 8, usage, mapped_at_creation: false };
    let buffer = device.create_buffer(&descriptor);
    queue.write_buffer(&buffer, 0, &[0, 0, 128, 63, 0, 0, 0, 64]);
    let device = Device::from_wgpu(device, queue, &GpuConfig::default()).unwrap();
    assert_eq!(values(&(Tensor::new([1.0, 2.0], &device) * 3.0)), [3.0, 6.0]);
    assert!(device.tensor_from_buffer(buffer.clone(), [3], DType::F32).is_err(), "too small");
    let adopted = device.tensor_from_buffer(buffer, [2], DType::F32).unwrap();
    assert_eq!(values(&(adopted + 1.0)), [2.0, 3.0]);
}

#[test]
fn zero_size_tensors() {
    let device = gpu();
    let nothing = Tensor::zeros([0, 3], &device);
    assert_eq!(values(&(&nothing + 1.0)), [0.0; 0]);
    assert_eq!(values(&nothing.sum(0)), [0.0; 3]);
    assert_eq!(values(&Tensor::zeros([2, 0], &device).matmul(&nothing)), [0.0; 6]);
}

/// Products of every tiling, each operand as it is and transposed, against the CPU's. The values are small integers,
/// so that sums are exact in any order.
#[test]
fn products_of_all_sizes() {
    let sizes = [
        [1, 1, 5, 3],
        [1, 33, 4100, 34],
        [1, 3, 9000, 2],
        [130, 40, 36, 44],
        [32, 132, 33, 260],
        [1, 400, 31, 401],
        [1, 192, 1032, 192],
        [16, 192, 20, 512],
        [16, 256, 17, 512],
    ];
    for [batches, m, k, n] in sizes {
        for (a_turned, b_turned) in [(false, false), (true, false), (false, true), (true, true)] {
            let integers = |rows: usize, columns: usize, turned: bool, device: &Device| {
                let shape = if turned { [batches, columns, rows] } else { [batches, rows, columns] };
                let x = Tensor::randint(-3, 4, shape, &Generator::new(rows as u64), device);
                let x = x.to_dtype(flambeau::DType::F32);
                eval(&[&x]).unwrap();
                if turned { x.transpose(1, 2) } else { x }
            };
            let product = |device: &Device| {
                values(&integers(m, k, a_turned, device).matmul(&integers(k, n, b_turned, device)))
            };
            let (cpu, gpu) = (product(&Device::cpu()), product(&gpu()));
            assert!(cpu == gpu, "{batches} × ({m} × {k} by {k} × {n}), transposed: {a_turned}, {b_turned}");
        }
    }
}

/// Gradients are written into parts of one buffer, which is used again as a whole: what a kernel may reach of it must not be
/// what it reached as a part. Software adapters and browsers drop writes beyond a binding.
#[test]
fn a_buffer_is_bound_as_a_whole_after_its_parts() {
    let device = new_gpu(GpuConfig::default());
    let parameters = [3, 1].map(|len| Parameter::new(&Tensor::zeros([len], &device)));
    let mut sgd = flambeau::optim::Sgd::new(parameters.to_vec(), 1.0);
    for round in 0..60 {
        for parameter in &parameters {
            parameter.set_grad(Some(&Tensor::ones(parameter.shape(), &device))).unwrap();
        }
        sgd.step().unwrap();
        sgd.zero_grad();
        // As many as make the plan look like the step's: then buffers and uniforms meet again as well.
        let filled: Vec<Tensor> =
            (0..=round % 6).map(|k| Tensor::full([65], f64::from(round * 6 + k + 2), &device)).collect();
        let read = block_on(read_many(&filled.iter().collect::<Vec<_>>())).unwrap();
        for (k, read) in read.iter().enumerate() {
            assert_eq!(read[..], [f64::from(round * 6 + k as i32 + 2); 65], "round {round}");
        }
    }
}
