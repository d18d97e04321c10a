//! Gradients, parameters and running statistics as flat numbers on the host, and back on the device.
//!
//! They are packed as optimizers hold them: what comes back is one tensor, of which each parameter gets a window, and a step
//! copies nothing to put the gradients together.

use super::{Group, Reduce, Reduction};
use crate::Reading;
use crate::dtype::DType;
use crate::error::{Error, Result};
use crate::nn::Parameter;
use crate::optim::{Layout, MAX_ELEMENTS};
use crate::tensor::{Tensor, read_later};

/// Numbers that travel together, 1 MB: while one part is on its way, the next is read back. A multiple of the alignment of
/// windows.
const PART: usize = 1 << 18;

/// Replaces gradients by their means over the members.
pub(super) async fn reduce<G: Group + ?Sized>(group: &G, parameters: Vec<Parameter>) -> Result<()> {
    if group.size() == 1 {
        return Ok(());
    }
    let mut label = 0;
    let mut learning = Vec::with_capacity(parameters.len());
    let mut gradients = Vec::with_capacity(parameters.len());
    for (index, parameter) in parameters.iter().enumerate() {
        if let Some(gradient) = parameter.grad().filter(|_| parameter.requires_grad()) {
            label = mixed(label, index as u32 + 1);
            learning.push(parameter);
            gradients.push(gradient.detach());
        }
    }
    let flat = FlatTensors::of(&gradients)?;
    // What is held is evaluated, too: only the packed gradients are wanted.
    drop(gradients);
    learning.iter().for_each(|parameter| parameter.zero_grad());
    let reduced = flat.reduce(group, label).await?;
    learning.iter().zip(&reduced).try_for_each(|(parameter, gradient)| parameter.set_grad(Some(gradient)))
}

/// One step of the hash FNV-1a, by words.
fn mixed(hash: u32, word: u32) -> u32 {
    (hash ^ word).wrapping_mul(0x0100_0193).wrapping_add(1)
}

/// Gives all members the parameters of rank 0.
pub(super) async fn broadcast<G: Group + ?Sized>(group: &G, parameters: &[Parameter]) -> Result<()> {
    if group.size() == 1 || parameters.is_empty() {
        return Ok(());
    }
    let values: Vec<Tensor> = parameters.iter().map(Parameter::value).collect();
    let flat = FlatTensors::of(&values)?;
    let own = match group.rank() {
        0 => flat.read().await?,
        _ => Vec::new(),
    };
    let received = group.broadcast(0, bytemuck::cast_slice(&own).to_vec()).await?;
    let values = flat.put_back(&bytemuck::pod_collect_to_vec(&received)).map_err(|_| {
        let message = format!(
            "sent {} numbers for parameters, this member's model has {}; all members must build the same model",
            received.len() / 4,
            flat.len()
        );
        Error::group("broadcast_parameters", 0, message)
    })?;
    parameters.iter().zip(&values).try_for_each(|(parameter, value)| parameter.try_set(value))
}

/// Tensors of one device, packed into a few flat ones of f32.
pub(crate) struct FlatTensors {
    count: usize,
    chunks: Vec<Chunk>,
}

struct Chunk {
    /// The numbers of its tensors.
    members: Vec<usize>,
    dtype: DType,
    layout: Layout,
    flat: Tensor,
}

impl FlatTensors {
    /// Packs them; nothing is evaluated yet.
    pub fn of(tensors: &[Tensor]) -> Result<FlatTensors> {
        let mut lists: Vec<(DType, Vec<usize>, usize)> = Vec::new();
        for (index, tensor) in tensors.iter().enumerate() {
            let fits = |(dtype, list, elements): &&mut (DType, Vec<usize>, usize)| {
                *dtype == tensor.dtype() && (list.is_empty() || *elements + tensor.numel() <= MAX_ELEMENTS)
            };
            match lists.iter_mut().rev().find(fits) {
                Some((_, list, elements)) => {
                    list.push(index);
                    *elements += tensor.numel();
                }
                None => lists.push((tensor.dtype(), vec![index], tensor.numel())),
            }
        }
        let chunk = |(dtype, members, _): (DType, Vec<usize>, usize)| {
            let parts: Vec<Tensor> = members.iter().map(|&index| tensors[index].detach()).collect();
            let layout = Layout::flat(parts.iter().map(Tensor::shape));
            let flat = layout.gather(&parts)?.try_to_dtype(DType::F32)?;
            Ok(Chunk { members, dtype, layout, flat })
        };
        Ok(FlatTensors { count: tensors.len(), chunks: lists.into_iter().map(chunk).collect::<Result<_>>()? })
    }

    /// How many numbers travel.
    pub fn len(&self) -> usize {
        self.chunks.iter().map(|chunk| chunk.flat.numel()).sum()
    }

    /// Means over the members. Everything that this thread holds is evaluated in the same plan, as in an optimizer's step.
    pub async fn reduce<G: Group + ?Sized>(self, group: &G, label: u32) -> Result<Vec<Tensor>> {
        if let Some(chunk) = self.chunks.first() {
            chunk.flat.device().evaluate_with_held(&[])?;
        }
        let mut reduction = Reduction::new(group, Reduce::Mean, label);
        for reading in self.begin_reading()? {
            reduction.add(numbers(reading).await?)?;
        }
        let reduced = reduction.finish().await?;
        self.put_back(&reduced.concat())
    }

    /// All numbers on the host, with zeros between the tensors.
    pub async fn read(&self) -> Result<Vec<f32>> {
        let mut all = Vec::with_capacity(self.len());
        for reading in self.begin_reading()? {
            all.extend(numbers(reading).await?);
        }
        let mut rest = &mut all[..];
        for chunk in &self.chunks {
            let (own, after) = rest.split_at_mut(chunk.flat.numel());
            let mut end = 0;
            for (start, length) in chunk.layout.places() {
                own[end..start].fill(0.0);
                end = start + length;
            }
            rest = after;
        }
        Ok(all)
    }

    /// Starts to read all parts.
    fn begin_reading(&self) -> Result<Vec<Reading>> {
        crate::eval(&self.chunks.iter().map(|chunk| &chunk.flat).collect::<Vec<_>>())?;
        let mut readings = Vec::new();
        for chunk in &self.chunks {
            for start in (0..chunk.flat.numel()).step_by(PART) {
                let length = PART.min(chunk.flat.numel() - start);
                let part = match chunk.flat.evaluated_part(start, &[length].into()) {
                    Some(part) => part,
                    None => chunk.flat.try_narrow(0, start, length)?,
                };
                readings.push(read_later(&[&part])?);
            }
        }
        Ok(readings)
    }

    /// Tensors like those that were packed, with these numbers.
    pub fn put_back(&self, numbers: &[f32]) -> Result<Vec<Tensor>> {
        if numbers.len() != self.len() {
            let message = format!("{} numbers for tensors of {}", numbers.len(), self.len());
            return Err(Error::argument("FlatTensors", message));
        }
        let mut tensors = vec![None; self.count];
        let mut rest = numbers;
        for chunk in &self.chunks {
            let (own, after) = rest.split_at(chunk.flat.numel());
            rest = after;
            let whole =
                Tensor::try_from_slice(own, own.len(), chunk.flat.device())?.try_to_dtype(chunk.dtype)?;
            crate::eval(&[&whole])?;
            for (&member, window) in chunk.members.iter().zip(chunk.layout.windows(&whole)) {
                tensors[member] = Some(window);
            }
        }
        Ok(tensors.into_iter().flatten().collect())
    }
}

async fn numbers(reading: Reading) -> Result<Vec<f32>> {
    let bytes = reading.bytes().await?;
    Ok(bytes.first().map(|bytes| bytemuck::pod_collect_to_vec(bytes)).unwrap_or_default())
}
