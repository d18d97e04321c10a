//! Kernels in a legal order: memory is written once, before it is read, and by no kernel that reads it.

use super::{Verdict, buffer_of, in_a_cycle};
use crate::ir::kernel::{Kernel, Place};

/// `homes` has for each buffer the one whose memory it is in; `roots` are results.
pub(super) fn is_legal(kernels: &[Kernel], homes: &[u32], roots: &[Place]) -> Verdict {
    each_is_written_before_it_is_read(kernels, homes)?;
    no_kernel_touches_memory_twice(kernels, homes)?;
    what_is_stored_is_read(kernels, homes, roots)
}

/// A whole is there when it has been written, and all of its parts have.
fn each_is_written_before_it_is_read(kernels: &[Kernel], homes: &[u32]) -> Verdict {
    let mut missing = vec![0; homes.len()];
    for buffer in kernels.iter().flat_map(Kernel::outputs).filter_map(|place| buffer_of(&place)) {
        missing[buffer] += 1;
        if homes[buffer] as usize != buffer {
            missing[homes[buffer] as usize] += 1;
        }
    }
    if let Some(buffer) = (0..homes.len()).find(|&buffer| missing[buffer] == 0) {
        return Err(format!("nothing writes buffer {buffer}"));
    }
    let mut written = vec![false; homes.len()];
    for (number, kernel) in kernels.iter().enumerate() {
        if let Some(buffer) = kernel.inputs().iter().filter_map(buffer_of).find(|&buffer| missing[buffer] > 0)
        {
            return Err(format!("kernel {number} reads buffer {buffer}, which is not written yet"));
        }
        for buffer in kernel.outputs().iter().filter_map(buffer_of) {
            if std::mem::replace(&mut written[buffer], true) {
                return Err(format!("kernel {number} writes buffer {buffer} again"));
            }
            missing[buffer] -= 1;
            if homes[buffer] as usize != buffer {
                missing[homes[buffer] as usize] -= 1;
            }
        }
    }
    Ok(())
}

/// No kernel reads the memory it writes, or writes one memory through two bindings.
fn no_kernel_touches_memory_twice(kernels: &[Kernel], homes: &[u32]) -> Verdict {
    for (number, kernel) in kernels.iter().enumerate() {
        let home = |place: &Place| buffer_of(place).map(|buffer| homes[buffer]);
        let outputs: Vec<u32> = kernel.outputs().iter().filter_map(home).collect();
        if let Some(both) = kernel.inputs().iter().filter_map(home).find(|home| outputs.contains(home)) {
            return Err(format!("kernel {number} reads and writes the memory of buffer {both}"));
        }
        if let Some(twice) = (1..outputs.len()).find(|&output| outputs[..output].contains(&outputs[output])) {
            return Err(format!("kernel {number} writes the memory of buffer {} twice", outputs[twice]));
        }
    }
    Ok(())
}

/// What a fused kernel stores is a result, a part of something, or read by a kernel. (A structured kernel has all its
/// results, needed or not.)
fn what_is_stored_is_read(kernels: &[Kernel], homes: &[u32], roots: &[Place]) -> Verdict {
    let mut read = vec![false; homes.len()];
    let needed = kernels.iter().flat_map(Kernel::inputs).chain(roots.iter().copied());
    needed.filter_map(|place| buffer_of(&place)).for_each(|buffer| read[buffer] = true);
    for (number, kernel) in kernels.iter().enumerate() {
        if let Kernel::Structured(call) = kernel
            && call.epilogue.is_none()
        {
            continue;
        }
        let idle = |&buffer: &usize| !read[buffer] && homes[buffer] as usize == buffer;
        if let Some(buffer) = kernel.outputs().iter().filter_map(buffer_of).find(idle) {
            return Err(format!("kernel {number} writes buffer {buffer}, which nothing reads"));
        }
    }
    Ok(())
}

/// Kernels that are not in order yet can be put in order: what each waits for is made, and none waits for itself.
pub(super) fn can_be_found(kernels: &[Kernel], buffers: usize) -> Verdict {
    let mut maker = vec![None; buffers];
    for (number, kernel) in kernels.iter().enumerate() {
        kernel.outputs().iter().filter_map(buffer_of).for_each(|buffer| maker[buffer] = Some(number));
    }
    let mut waits = Vec::with_capacity(kernels.len());
    for (number, kernel) in kernels.iter().enumerate() {
        let made = |buffer: usize| {
            maker[buffer].ok_or(format!("kernel {number} reads buffer {buffer}, which nothing writes"))
        };
        let inputs = kernel.inputs();
        waits.push(inputs.iter().filter_map(buffer_of).map(made).collect::<Result<Vec<_>, _>>()?);
    }
    match in_a_cycle(&waits) {
        Some(kernel) => Err(format!("kernel {kernel} waits for itself")),
        None => Ok(()),
    }
}
