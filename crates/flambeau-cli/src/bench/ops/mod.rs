//! Single ops: how close each comes to what the device can do, its ceilings being measured in the same run.

mod along;
mod cases;
mod further;
mod networks;

use super::trace::most_expensive;
use super::{Kind, WARM_UP, flop_rate, matmul, median, time};
use crate::output::{Output, refused};
pub(super) use cases::{Body, Case, Given, Least, Sample, gradient};
use flambeau::TensorOptions;
use flambeau::prelude::*;
use serde_json::{Value, json};
use std::time::Instant;

/// Rows at the end of a result that are computed again in f64.
const CHECKED_ROWS: usize = 2;
/// The largest error, as a share of the largest value; of F16, whose numbers have three digits.
const TOLERANCE: f64 = 1e-4;
const TOLERANCE_OF_HALVES: f64 = 5e-3;
/// Different inputs, taken in turn.
const INPUTS: usize = 2;
const RUNS: usize = 5;
/// Seconds of a run, and the most evaluations in it.
const SECONDS: f64 = 0.1;
const MOST_EVALUATIONS: usize = 100;

#[derive(clap::Args, Default)]
pub struct Options {
    /// Only the ops whose names contain one of these.
    names: Vec<String>,
    /// Also the further ops that are evaluated one by one, the same as PyTorch's in `bench/peers/pytorch.py`.
    #[arg(long)]
    all: bool,
    /// Say what each kernel of an evaluation takes (GPUs only).
    #[arg(long)]
    trace: bool,
}

/// What the device can do at most, as measured here.
struct Ceilings {
    /// Bytes a second of a copy.
    bytes: f64,
    /// Operations a second of the best matrix product.
    flops: f64,
}

pub async fn run(device: &Device, options: &Options, output: Output) -> Result<Value> {
    let kind = Kind::of(device);
    let has_halves = Tensor::zeros([1], device).try_to_dtype(DType::F16).is_ok();
    let wanted = |case: &Case| {
        let named = options.names.iter().any(|name| case.name.contains(name.as_str()));
        (options.names.is_empty() || named) && (has_halves || !case.is_of_halves())
    };
    let mut cases = cases::all(kind);
    if options.all {
        cases.extend(further::all(kind));
    }
    let names: Vec<&str> = cases.iter().map(|case| case.name).collect();
    let cases: Vec<Case> = cases.into_iter().filter(wanted).collect();
    if cases.is_empty() {
        return Err(refused("bench ops", format!("there is no such op; there are {}", names.join(", "))));
    }
    output.say(format!("ops on {}", device.name()));
    let ceilings = Ceilings::measure(device, kind).await?;
    output.say(format!(
        "ceilings: {:.1} GB/s (copy), {} (best product)",
        ceilings.bytes / 1e9,
        flop_rate(ceilings.flops)
    ));
    output.say(format!(
        "{:<32} {:>26} {:>11} {:>17} {:>8} {:>9}",
        "op", "first input", "time", "rate", "ceiling", "error"
    ));
    let ceiling = json!({
        "op": "ceilings", "gigabytes_per_second": ceilings.bytes / 1e9, "flops_per_second": ceilings.flops,
    });
    let mut results = vec![ceiling];
    for case in &cases {
        let mut result = measure(case, device, &ceilings, output).await?;
        if options.trace {
            let given = inputs(case, device)?;
            device.start_trace()?;
            (case.body)(&given[0])?.eval()?;
            result["trace"] = most_expensive(&device.take_trace().await?, 1, output);
        }
        results.push(result);
    }
    Ok(Value::Array(results))
}

impl Ceilings {
    async fn measure(device: &Device, kind: Kind) -> Result<Ceilings> {
        let (count, sizes): (usize, &[usize]) = match kind {
            Kind::Gpu => (1 << 26, &[2048, 4096]),
            Kind::Software => (1 << 18, &[128]),
            Kind::Cpu => (1 << 22, &[512, 1024]),
        };
        let copied = Case {
            name: "copy",
            inputs: vec![Given::Floats(vec![count])],
            least: Least::Bytes(8.0 * count as f64),
            sample: Sample::Whole,
            body: |x| x[0].try_neg(),
        };
        let inputs = inputs(&copied, device)?;
        let seconds = seconds(copied.body, &inputs, device).await?;
        let mut flops: f64 = 0.0;
        for &size in sizes {
            let (seconds, _) = matmul::measure(device, size, DType::F32).await?;
            flops = flops.max(2.0 * (size as f64).powi(3) / seconds);
        }
        Ok(Ceilings { bytes: 8.0 * count as f64 / seconds, flops })
    }
}

/// Checks and times one op.
async fn measure(case: &Case, device: &Device, ceilings: &Ceilings, output: Output) -> Result<Value> {
    let inputs = inputs(case, device)?;
    let shape = inputs[0][0].shape().dims().to_vec();
    let shape_text = format!("{shape:?}");
    let error = match check(case, &inputs[0]).await {
        Ok(error) => error,
        // What is wrong is not timed, and the others still are.
        Err(error) => {
            output.say(format!("{:<32} {shape_text:>26} {:>11} {error}", case.name, "refused"));
            return Ok(json!({ "op": case.name, "shape": shape, "refused": error.to_string() }));
        }
    };
    let seconds = seconds(case.body, &inputs, device).await?;
    let (least, rate, share, text) = match case.least {
        Least::Bytes(bytes) => {
            let rate = bytes / seconds;
            (bytes, rate, rate / ceilings.bytes, format!("{:.1} GB/s", rate / 1e9))
        }
        Least::Flops(flops) => {
            let rate = flops / seconds;
            (flops, rate, rate / ceilings.flops, flop_rate(rate))
        }
    };
    output.say(format!(
        "{:<32} {shape_text:>26} {:>11} {text:>17} {:>6.1} % {error:>9.1e}",
        case.name,
        time(seconds),
        100.0 * share
    ));
    let (unit, unit_of_rate) = match case.least {
        Least::Bytes(_) => ("bytes", "bytes_per_second"),
        Least::Flops(_) => ("flops", "flops_per_second"),
    };
    let mut result = json!({
        "op": case.name,
        "shape": shape,
        "microseconds": seconds * 1e6,
        "share_of_ceiling": share,
        "error": error,
    });
    result[unit] = json!(least);
    result[unit_of_rate] = json!(rate);
    Ok(result)
}

/// The seconds of an op whose result has been checked.
pub(super) async fn measured(case: &Case, device: &Device) -> Result<f64> {
    let inputs = inputs(case, device)?;
    check(case, &inputs[0]).await?;
    seconds(case.body, &inputs, device).await
}

/// Different inputs of the same shapes, evaluated.
pub(super) fn inputs(case: &Case, device: &Device) -> Result<Vec<Vec<Tensor>>> {
    let options = TensorOptions::from(device);
    let generator = Generator::new(1);
    let uniform = |shape: &Vec<usize>, low: f64, high: f64| {
        Tensor::try_rand(shape.clone(), &generator, &options)?.try_mul(high - low)?.try_add(low)
    };
    let one = |given: &Given| match given {
        Given::Floats(shape) => uniform(shape, -1.0, 1.0),
        Given::Halves(shape) => uniform(shape, -1.0, 1.0)?.try_to_dtype(DType::F16),
        Given::Between(shape, low, high) => uniform(shape, *low, *high),
        Given::Bools(shape, share) => uniform(shape, 0.0, 1.0)?.try_lt(*share),
        Given::Edges(count) => Tensor::try_linspace(-1.0, 1.0, *count, &options),
        Given::Indexes(shape, bound) => {
            Tensor::try_randint(0, *bound as i64, shape.clone(), &generator, &options)
        }
    };
    let mut sets = Vec::with_capacity(INPUTS);
    for _ in 0..INPUTS {
        let set: Vec<Tensor> = case.inputs.iter().map(one).collect::<Result<_>>()?;
        for tensor in &set {
            tensor.eval()?;
        }
        sets.push(set);
    }
    Ok(sets)
}

/// The largest error of the result, or of its last rows or columns, against the same op in f64 on the CPU.
async fn check(case: &Case, inputs: &[Tensor]) -> Result<f64> {
    let mut result = (case.body)(inputs)?;
    let mut exact = Vec::with_capacity(inputs.len());
    let last = |tensor: &Tensor, dim: isize| {
        let count = tensor.size(dim);
        tensor.try_narrow(dim, count - CHECKED_ROWS.min(count), CHECKED_ROWS.min(count))
    };
    let (dim, parted) = match case.sample {
        Sample::Rows(inputs) => (0, inputs),
        Sample::Columns(inputs) => (-1, inputs),
        Sample::Whole => (0, 0),
        Sample::Random { mean, variance } => return check_random(case, &result, mean, variance).await,
    };
    for (number, input) in inputs.iter().enumerate() {
        let part = if number < parted { last(input, dim)? } else { input.clone() };
        let part = part.to(&Device::cpu()).await?;
        exact.push(if part.dtype().is_float() { part.try_to_dtype(DType::F64)? } else { part });
    }
    if parted > 0 {
        // All of it is computed, as when it is timed; its last part is read.
        result.eval()?;
        result = last(&result, dim)?;
    }
    let (got, want) = (result.to_f64_vec().await?, (case.body)(&exact)?.to_f64_vec().await?);
    let largest = want.iter().fold(0.0, |largest: f64, value| largest.max(value.abs()));
    let scale = if largest > 0.0 { largest } else { 1.0 };
    let differences = got.iter().zip(&want).map(|(got, want)| (got - want).abs());
    let error = differences.fold(0.0, |worst: f64, next| if next <= worst { worst } else { next }) / scale;
    // A NaN is not within it.
    let tolerance = if case.is_of_halves() { TOLERANCE_OF_HALVES } else { TOLERANCE };
    let within = got.len() == want.len() && error <= tolerance;
    if !within {
        return Err(refused(
            "bench ops",
            format!("{} is wrong by {error:e} of its largest value", case.name),
        ));
    }
    Ok(error)
}

/// How far mean and variance of random numbers are from what they must be, as a share of the standard deviation and of the variance.
async fn check_random(case: &Case, result: &Tensor, mean: f64, variance: f64) -> Result<f64> {
    let numbers = result.to_f64_vec().await?;
    let count = numbers.len() as f64;
    let found = numbers.iter().sum::<f64>() / count;
    let spread = numbers.iter().map(|x| (x - found).powi(2)).sum::<f64>() / count;
    let error = ((found - mean).abs() / variance.sqrt()).max((spread - variance).abs() / variance);
    // Six standard deviations of a normal number's variance, which is the wider of the two.
    if error <= 6.0 * (2.0 / count).sqrt() {
        return Ok(error);
    }
    let message = format!("{} has mean {found} and variance {spread}, not {mean} and {variance}", case.name);
    Err(refused("bench ops", message))
}

/// The median of the seconds of an evaluation, many of them being under way at once.
pub(super) async fn seconds(
    body: impl Fn(&[Tensor]) -> Result<Tensor>,
    inputs: &[Vec<Tensor>],
    device: &Device,
) -> Result<f64> {
    let evaluations = async |count: usize| -> Result<f64> {
        let start = Instant::now();
        let mut last = None;
        for number in 0..count {
            let result = body(&inputs[number % inputs.len()])?;
            result.eval()?;
            last = Some(result);
            device.throttle().await?;
        }
        if let Some(last) = last {
            wait(&last).await?;
        }
        Ok(start.elapsed().as_secs_f64())
    };
    // The first compile; the next says how long one takes.
    evaluations(if Kind::of(device) == Kind::Gpu { WARM_UP } else { INPUTS }).await?;
    device.wait_for_compilation();
    let once = evaluations(1).await?;
    let count = ((SECONDS / once) as usize).clamp(1, MOST_EVALUATIONS);
    let mut runs = Vec::with_capacity(RUNS);
    for _ in 0..RUNS {
        runs.push(evaluations(count).await? / count as f64);
    }
    Ok(median(runs))
}

/// Waits for a tensor that has been evaluated, by reading one element of it.
async fn wait(tensor: &Tensor) -> Result<()> {
    let mut element = tensor.detach();
    for dim in 0..tensor.rank() {
        element = element.try_narrow(dim as isize, 0, 1)?;
    }
    element.item().await.map(drop)
}
