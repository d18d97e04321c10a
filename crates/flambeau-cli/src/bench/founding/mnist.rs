//! MNIST: a forward pass, an epoch of the real data, how busy the device is, and memory.

use super::super::counts::Spent;
use super::super::train::peak_of_process;
use super::super::train::workload::{BATCHES, Scale, Training, Workload};
use super::super::{Counts, Kind, median_seconds, time};
use super::{Bench, Row};
use crate::model::Architecture;
use crate::output::{megabytes, percent, refused};
use crate::task::{Feeding, HostData, Task};
use flambeau::nn::models::{Cnn, Mlp, ResNet, ResNetDepth, ResNetOptions, ResNetStem};
use flambeau::optim::Adam;
use flambeau::prelude::*;
use flambeau::train::metrics::correct;
use flambeau::{TensorOptions, manual_seed};
use std::time::Instant;

const BATCH: usize = 32;
const RUNS: usize = 7;
const SEED: u64 = 9;
/// The largest difference of a score from the same in f64.
const TOLERANCE: f64 = 1e-4;
/// Pictures of the small run, and its epochs.
const FEW: usize = 1000;
const FEW_EPOCHS: usize = 5;
/// Steps whose kernels are timed.
const TRACED: usize = 64;
const TRACED_IN_SOFTWARE: usize = 4;
/// Pictures of ResNet-18's step whose memory is counted.
const RESNET_BATCH: usize = 4;

pub async fn measure(bench: &mut Bench<'_>) -> Result<()> {
    if bench.wants(&[231]) {
        forward(bench).await?;
    }
    if bench.wants(&[232, 236, 237]) {
        epochs(bench).await?;
    }
    if bench.wants(&[253]) {
        memory(bench).await?;
    }
    if bench.wants(&[254]) {
        busy(bench).await?;
    }
    Ok(())
}

type Make = fn(&TensorOptions) -> Result<Box<dyn Forward>>;

/// The founding documents' two networks for MNIST, with the shape of a picture.
const NETWORKS: &[(&str, &[usize], Make)] = &[
    ("MLP 784-128-10", &[784], |options| {
        Ok(Box::new(Mlp::try_with_options(&[784, 128, 10], Default::default(), options)?))
    }),
    ("CNN of two convolutions", &[1, 28, 28], |options| {
        Ok(Box::new(Cnn::try_with_options(10, Default::default(), options)?))
    }),
];

async fn forward(bench: &mut Bench<'_>) -> Result<()> {
    for &(name, picture, make) in NETWORKS {
        let scores = |options: &TensorOptions| -> Result<(Box<dyn Forward>, Tensor)> {
            manual_seed(SEED);
            let shape = [&[BATCH], picture].concat();
            Ok((make(options)?, Tensor::try_rand(shape, &Generator::new(SEED), options)?))
        };
        let (network, x) = scores(&TensorOptions::from(bench.device))?;
        let (exact, exact_x) = scores(&(DType::F64, &Device::cpu()).into())?;
        let got = no_grad(|| network.try_forward(&x))?.to_f64_vec().await?;
        let want = no_grad(|| exact.try_forward(&exact_x))?.to_f64_vec().await?;
        let agree = |(got, want): (&f64, &f64)| (got - want).abs() <= TOLERANCE;
        if got.len() != want.len() || !got.iter().zip(&want).all(agree) {
            return Err(refused("bench founding", format!("the scores of the {name} are not those of f64")));
        }
        let once = async || no_grad(|| network.try_forward(&x))?.to_vec::<f32>().await.map(drop);
        let waited = median_seconds(bench.device, RUNS, once).await?;
        let body = |x: &[Tensor]| no_grad(|| network.try_forward(&x[0]));
        let seconds = super::super::ops::seconds(body, &[vec![x.clone()]], bench.device).await?;
        bench.add(Row {
            numbers: &[231],
            what: format!("forward pass of the {name}, 32 pictures, one after the other"),
            target: "below 500 µs".into(),
            measured: format!("{} ({} with its scores read)", time(seconds), time(waited)),
            value: Some(seconds),
            met: Some(seconds < 500e-6),
        });
    }
    Ok(())
}

/// What some epochs of MNIST gave.
struct Learned {
    seconds: f64,
    accuracy: f64,
}

async fn epochs(bench: &mut Bench<'_>) -> Result<()> {
    let task = Task::named("mnist")?;
    let data = match HostData::open(task, None) {
        Ok(data) => data,
        Err(_) => {
            bench.add(Row {
                numbers: &[232, 236, 237],
                what: "MNIST itself".into(),
                target: String::new(),
                measured: "the data set is not here: flambeau data fetch mnist".into(),
                value: None,
                met: None,
            });
            return Ok(());
        }
    };
    for name in ["mlp", "cnn"] {
        let architecture = (task.preset(Some(name))?.architecture)(0);
        // The first epoch makes plans and kernels.
        learn(&data, &architecture, usize::MAX, 1, bench.device).await?;
        let learned = learn(&data, &architecture, usize::MAX, 1, bench.device).await?;
        bench.add(Row {
            numbers: &[232],
            what: format!("an epoch of MNIST, the program's {name}, batch 32, without the test"),
            target: "below 2 s".into(),
            measured: time(learned.seconds),
            value: Some(learned.seconds),
            met: Some(learned.seconds < 2.0),
        });
        bench.add(Row {
            numbers: &[236],
            what: format!("test accuracy of the {name} after that epoch"),
            target: "above 95 % within 60 s".into(),
            measured: format!("{} after {}", percent(learned.accuracy), time(learned.seconds)),
            value: Some(learned.accuracy),
            met: Some(learned.accuracy > 0.95 && learned.seconds < 60.0),
        });
        if name == "cnn" {
            let few = learn(&data, &architecture, FEW, FEW_EPOCHS, bench.device).await?;
            bench.add(Row {
                numbers: &[237],
                what: format!("{FEW_EPOCHS} epochs of {FEW} pictures, the {name}"),
                target: "below 10 s".into(),
                measured: format!("{} (test accuracy {})", time(few.seconds), percent(few.accuracy)),
                value: Some(few.seconds),
                met: Some(few.seconds < 10.0),
            });
        }
    }
    Ok(())
}

/// Trains with Adam on the first `count` pictures, and tests on all of the test's.
async fn learn(
    data: &HostData,
    architecture: &Architecture,
    count: usize,
    epochs: usize,
    device: &Device,
) -> Result<Learned> {
    manual_seed(SEED);
    let model = architecture.build(device)?;
    let mut adam = Adam::new(model.parameters(), 1e-3);
    let feeding = Feeding { batch: BATCH, workers: 0, seed: SEED };
    let (mut train, mut test) = data.first(count).loaders(architecture, feeding, device)?;
    let start = Instant::now();
    let mut last = None;
    for _ in 0..epochs {
        while let Some((x, y)) = train.next().await? {
            let loss = model.try_forward(&x)?.try_cross_entropy(&y)?;
            loss.backward()?;
            adam.step()?;
            adam.zero_grad();
            device.throttle().await?;
            last = Some(loss);
        }
    }
    if let Some(loss) = last {
        loss.item().await?;
    }
    let seconds = start.elapsed().as_secs_f64();
    model.eval();
    let (mut right, mut all) = (Tensor::zeros([], device), 0);
    while let Some((x, y)) = test.next().await? {
        right = right.try_add(&no_grad(|| correct(&model.try_forward(&x)?, &y))?)?;
        right.eval()?;
        all += y.numel();
    }
    Ok(Learned { seconds, accuracy: right.item().await? / all as f64 })
}

/// A training that has warmed up.
async fn training(bench: &Bench<'_>, workload: Workload, batch: usize) -> Result<Training> {
    let options = TensorOptions::from(bench.device);
    let mut training = Training::new(workload, batch, BATCHES, Scale::Full, &options)?;
    let warm_up = if bench.kind == Kind::Gpu { 200 } else { BATCHES };
    for _ in 0..warm_up {
        training.step()?;
        bench.device.throttle().await?;
    }
    training.step()?.item().await?;
    bench.device.wait_for_compilation();
    Ok(training)
}

async fn memory(bench: &mut Bench<'_>) -> Result<()> {
    bench.device.reset_peak_memory();
    let mut cnn = training(bench, Workload::Cnn, BATCH).await?;
    let spent = steps(&mut cnn, bench.device).await?;
    turns(bench, "temporaries of the CNN's step, batch 32, that take turns in memory", &spent);
    let (whose, peak) = match bench.device.is_cpu() {
        false => ("the device's", Some(bench.device.memory().peak)),
        true => ("the process's, so far", peak_of_process()),
    };
    if let Some(peak) = peak {
        bench.add(Row {
            numbers: &[253],
            what: "the most memory while the CNN trains".into(),
            target: "below 2 GB".into(),
            measured: format!("{} ({whose})", megabytes(peak)),
            value: Some(peak as f64),
            met: Some(peak < 2_000_000_000),
        });
    }
    let mut resnet = training(bench, Workload::Resnet18Cifar, RESNET_BATCH).await?;
    let spent = steps(&mut resnet, bench.device).await?;
    turns(bench, "the same of ResNet-18's step for CIFAR, batch 4", &spent);
    let options = ResNetOptions { stem: ResNetStem::Cifar, ..Default::default() };
    let model = ResNet::try_with_options(ResNetDepth::Resnet18, 10, options, bench.device)?;
    model.eval();
    let x = Tensor::try_rand([RESNET_BATCH, 3, 32, 32], &Generator::new(SEED), bench.device)?;
    x.eval()?;
    let before = Counts::of(bench.device);
    no_grad(|| model.try_forward(&x))?.to_vec::<f32>().await?;
    let spent = Counts::since(bench.device, before, 1);
    turns(bench, "the same of ResNet-18's forward pass, batch 4", &spent);
    Ok(())
}

/// What some steps cost together.
async fn steps(training: &mut Training, device: &Device) -> Result<Spent> {
    let before = Counts::of(device);
    for _ in 0..BATCHES {
        training.step()?;
    }
    training.step()?.item().await?;
    Ok(Counts::since(device, before, BATCHES + 1))
}

/// A row about the memory of temporaries.
fn turns(bench: &mut Bench, what: &str, spent: &Spent) {
    let (apart, shared) = spent.temporaries_per_run();
    bench.add(Row {
        numbers: &[253],
        what: what.into(),
        target: "half of the memory".into(),
        measured: format!("{:.2} MB instead of {:.2}", shared / 1e6, apart / 1e6),
        value: Some(shared / apart),
        met: Some(shared <= apart / 2.0),
    });
}

async fn busy(bench: &mut Bench<'_>) -> Result<()> {
    for batch in [BATCH, 128] {
        let (what, target) =
            (format!("share of the time in which kernels run, CNN, batch {batch}"), "80 %".to_string());
        if bench.device.start_trace().is_err() {
            let measured = "no timestamps here".into();
            bench.add(Row { numbers: &[254], what, target, measured, value: None, met: None });
            continue;
        }
        bench.device.take_trace().await?;
        let mut training = training(bench, Workload::Cnn, batch).await?;
        bench.device.start_trace()?;
        for _ in 0..if bench.kind == Kind::Gpu { TRACED } else { TRACED_IN_SOFTWARE } {
            training.step()?;
            bench.device.throttle().await?;
        }
        training.step()?.item().await?;
        let kernels = bench.device.take_trace().await?;
        let ran: f64 = kernels.iter().map(|kernel| kernel.duration).sum();
        let start = kernels.iter().map(|kernel| kernel.start).fold(f64::INFINITY, f64::min);
        let end = kernels.iter().map(|kernel| kernel.start + kernel.duration).fold(0.0, f64::max);
        let share = ran / (end - start);
        bench.add(Row {
            numbers: &[254],
            what,
            target,
            measured: format!("{} of {}", percent(share), time((end - start) * 1e-9)),
            value: Some(share),
            met: Some(share >= 0.8),
        });
    }
    Ok(())
}
