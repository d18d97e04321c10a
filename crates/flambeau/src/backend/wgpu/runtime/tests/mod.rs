//! The runtime on a software adapter: what it does. A machine without such an adapter fails these tests:
//! nothing is skipped.

mod device_errors;

use super::*;
use crate::ir::program::Trust;
use pollster::block_on;

const ADD: &str = "
@group(0) @binding(0) var<storage, read> a: array<f32>;
@group(0) @binding(1) var<storage, read> b: array<f32>;
@group(0) @binding(2) var<storage, read_write> sum: array<f32>;
struct Sizes { count: u32, scale: f32 }
@group(0) @binding(3) var<uniform> sizes: Sizes;
@compute @workgroup_size(64)
fn main(@builtin(global_invocation_id) id: vec3<u32>) {
    if id.x < sizes.count { sum[id.x] = sizes.scale * (a[id.x] + b[id.x]); }
}";
const ADD_BINDINGS: [Binding; 4] = [Binding::Read, Binding::Read, Binding::ReadWrite, Binding::Uniform];

fn software() -> GpuConfig {
    GpuConfig { allow_software: true, ..Default::default() }
}

fn runtime() -> Arc<Runtime> {
    block_on(Runtime::new(&software())).unwrap()
}

fn floats(values: &[f32]) -> Vec<u8> {
    values.iter().flat_map(|value| value.to_le_bytes()).collect()
}

fn sizes(count: u32, scale: f32) -> Vec<u8> {
    [count.to_le_bytes(), scale.to_le_bytes()].concat()
}

fn read(runtime: &Arc<Runtime>, buffer: &Arc<GpuBuffer>) -> Result<Vec<u8>> {
    block_on(runtime.read(&[(buffer.clone(), buffer.bytes())])).map(|mut values| values.remove(0))
}

fn request(label: &str, source: &str, entry: &str, bindings: &[Binding], trust: Trust) -> Request {
    let key = PipelineKey {
        source: source.to_string().into(),
        entry: entry.into(),
        bindings: bindings.into(),
        trust,
    };
    Request { key, label: label.into() }
}

fn add(runtime: &Arc<Runtime>, trust: Trust) -> Arc<Pipeline> {
    runtime.pipeline(request("add", ADD, "main", &ADD_BINDINGS, trust)).unwrap()
}

/// Computes `scale * (a + b)` over all elements of `out`.
fn run_add(runtime: &Arc<Runtime>, buffers: &[&Arc<GpuBuffer>; 3], scale: f32) -> Result<()> {
    add_maybe_later(runtime, buffers, scale, false)
}

fn add_maybe_later(
    runtime: &Arc<Runtime>,
    buffers: &[&Arc<GpuBuffer>; 3],
    scale: f32,
    later: bool,
) -> Result<()> {
    let pipeline = add(runtime, Trust::OURS);
    let count = buffers[2].bytes() as u32 / 4;
    let groups = [count.div_ceil(64), 1, 1];
    let dispatch = Dispatch {
        pipeline: &pipeline,
        buffers,
        uniform: 0..8,
        groups,
        label: "add",
        work: Default::default(),
    };
    let when = if later { When::Soon } else { When::Now };
    runtime.submit(Uniforms::Once(sizes(count, scale)), &[dispatch], when)
}

#[test]
fn threads_can_share_a_runtime_and_move_its_futures() {
    fn share<T: Send + Sync>(value: T) -> T {
        value
    }
    fn send<T: Send>(value: T) -> T {
        value
    }
    let runtime = share(runtime());
    let buffer = share(runtime.upload(&[7; 4]).unwrap());
    assert_eq!(block_on(send(runtime.read(&[(buffer, 4)]))).unwrap(), [[7; 4]]);
    block_on(send(runtime.throttle())).unwrap();
}

/// Work that waits to be submitted is submitted, and the last submission is over: nothing further is.
#[test]
fn synchronizing_waits_for_everything() {
    let runtime = runtime();
    block_on(runtime.synchronize()).expect("nothing was submitted yet");
    let upload = |value| runtime.upload(&floats(&[value; 1 << 16])).unwrap();
    let buffers = [&upload(1.0), &upload(2.0), &upload(0.0)];
    for _ in 0..5 {
        add_maybe_later(&runtime, &buffers, 2.0, true).unwrap();
    }
    block_on(runtime.synchronize()).unwrap();
    assert!(runtime.outbox.last().expect("a submission").is_over());
    let before = runtime.stats().submits;
    block_on(runtime.synchronize()).unwrap();
    assert_eq!(runtime.stats().submits, before);
    runtime.destroy();
    assert!(matches!(block_on(runtime.synchronize()), Err(Error::DeviceLost(_))));
}

#[test]
fn uploads_come_back_in_one_wait() {
    let runtime = runtime();
    let contents: Vec<Vec<u8>> =
        [1, 4, 0, 4097, 300_001].iter().map(|n| (0..*n).map(|i| (i % 251) as u8).collect()).collect();
    let buffers: Vec<_> = contents.iter().map(|bytes| runtime.upload(bytes).unwrap()).collect();
    let before = runtime.stats();
    let wanted: Vec<_> = buffers.iter().map(|buffer| (buffer.clone(), buffer.bytes())).collect();
    assert_eq!(block_on(runtime.read(&wanted)).unwrap(), contents);
    let after = runtime.stats();
    assert_eq!((after.submits - before.submits, after.readbacks - before.readbacks), (1, 1));
    assert_eq!(after.uploads, 5);
    assert_eq!(after.upload_bytes, contents.iter().map(|bytes| bytes.len() as u64).sum::<u64>());
    assert_eq!(block_on(runtime.read(&[])).unwrap(), Vec::<Vec<u8>>::new());
}

#[test]
fn a_write_larger_than_a_piece_is_whole() {
    let runtime = runtime();
    let contents: Vec<u8> = (0..(33u32 << 20) / 4).flat_map(u32::to_le_bytes).collect();
    let buffer = runtime.upload(&contents).unwrap();
    assert!(read(&runtime, &buffer).unwrap() == contents);
}

#[test]
fn writes_and_copies_are_ordered_with_submissions() {
    let runtime = runtime();
    let (out, zeros) = (runtime.alloc(16).unwrap(), runtime.upload(&floats(&[0.0; 4])).unwrap());
    for later in [false, true] {
        let a = runtime.upload(&floats(&[1.0; 4])).unwrap();
        add_maybe_later(&runtime, &[&a, &a.clone(), &out], 1.0, later).unwrap();
        runtime.write(&a, 4, &floats(&[9.0])).unwrap();
        assert_eq!(read(&runtime, &out).unwrap(), floats(&[2.0; 4]));
        assert_eq!(read(&runtime, &a).unwrap(), floats(&[1.0, 9.0, 1.0, 1.0]));
        add_maybe_later(&runtime, &[&a, &a.clone(), &out], 1.0, later).unwrap();
        runtime.copy(&zeros, &a, 16).unwrap();
        assert_eq!(read(&runtime, &out).unwrap(), floats(&[2.0, 18.0, 2.0, 2.0]));
        assert_eq!(read(&runtime, &a).unwrap(), floats(&[0.0; 4]));
    }
    let a = runtime.upload(&floats(&[1.0; 4])).unwrap();
    assert!(runtime.write(&a, 2, &[0]).is_err());
    assert!(runtime.write(&a, a.capacity(), &[0]).is_err());
    assert_eq!(runtime.error(), None);
}

#[test]
fn a_repeated_submission_creates_nothing() {
    let runtime = runtime();
    let a = runtime.upload(&floats(&[1.0, 2.0, 3.0])).unwrap();
    let b = runtime.upload(&floats(&[10.0, 20.0, 30.0])).unwrap();
    let step = |scale| {
        let out = runtime.alloc(12).unwrap();
        run_add(&runtime, &[&a, &b, &out], scale).unwrap();
        read(&runtime, &out).unwrap()
    };
    assert_eq!(step(1.0), floats(&[11.0, 22.0, 33.0]));
    let first = runtime.stats();
    assert_eq!((first.pipelines_created, first.bind_groups_created, first.dispatches), (1, 1, 1));
    assert_eq!(step(2.0), floats(&[22.0, 44.0, 66.0]));
    let second = runtime.stats();
    assert_eq!(second.pipelines_created, first.pipelines_created);
    assert_eq!(second.bind_groups_created, first.bind_groups_created);
    assert_eq!(second.buffers_created, first.buffers_created);
    assert_eq!((second.pipeline_hits, second.bind_group_hits), (1, 1));
    assert_eq!(second.submits - first.submits, 2, "one for the kernel, one for the readback");
}

#[test]
fn many_dispatches_are_one_submission_and_see_each_other() {
    let runtime = block_on(Runtime::new(&GpuConfig { debug: true, ..software() })).unwrap();
    let pipeline = add(&runtime, Trust::CHECKED);
    let one = runtime.upload(&floats(&[1.0])).unwrap();
    let sums: Vec<_> = (0..2).map(|_| runtime.upload(&floats(&[0.0])).unwrap()).collect();
    let mut uniforms = vec![0; 256];
    uniforms[..8].copy_from_slice(&sizes(1, 1.0));
    uniforms.extend(sizes(1, 2.0));
    let chains: Vec<[&Arc<GpuBuffer>; 3]> =
        (0..10).map(|i| [&sums[i % 2], &one, &sums[(i + 1) % 2]]).collect();
    let dispatches: Vec<_> = chains
        .iter()
        .zip(0..)
        .map(|(buffers, i)| {
            let start = 256 * u64::from(i == 9);
            Dispatch {
                pipeline: &pipeline,
                buffers,
                uniform: start..start + 8,
                groups: [1, 1, 1],
                label: "add",
                work: Default::default(),
            }
        })
        .collect();
    let before = runtime.stats();
    runtime.submit(Uniforms::Once(uniforms), &dispatches, When::Now).unwrap();
    let after = runtime.stats();
    assert_eq!((after.submits - before.submits, after.dispatches - before.dispatches), (1, 10));
    assert_eq!(read(&runtime, &sums[0]).unwrap(), floats(&[20.0]));
}

#[test]
fn the_pool_reuses_and_the_ledger_balances() {
    let runtime = runtime();
    let start = runtime.memory();
    let first = runtime.alloc(5000).unwrap();
    assert_eq!((first.bytes(), first.capacity()), (5000, 5120));
    let id = first.id();
    assert_eq!(runtime.memory().in_use, start.in_use + 5120);
    drop(first);
    let pooled = runtime.memory();
    assert_eq!((pooled.in_use, pooled.pooled, pooled.peak), (start.in_use, 5120, start.in_use + 5120));
    assert_eq!(runtime.alloc(5100).unwrap().id(), id);
    assert_eq!(runtime.memory(), pooled);
    runtime.trim();
    let trimmed = runtime.memory();
    assert_eq!((trimmed.pooled, trimmed.allocations, trimmed.peak), (0, start.allocations, pooled.peak));
    assert_ne!(runtime.alloc(5000).unwrap().id(), id);
}

#[test]
fn trimming_drops_bind_groups_and_a_dropped_readback_leaks_nothing() {
    let runtime = runtime();
    let a = runtime.upload(&floats(&[1.0])).unwrap();
    let out = runtime.alloc(4).unwrap();
    run_add(&runtime, &[&a, &a.clone(), &out], 1.0).unwrap();
    drop(runtime.read(&[(out.clone(), 4)]));
    assert_eq!(runtime.memory().in_use, 512);
    runtime.trim();
    assert_eq!(runtime.memory().allocations, 2);
    let before = runtime.stats();
    run_add(&runtime, &[&a, &a.clone(), &out], 3.0).unwrap();
    assert_eq!(runtime.stats().bind_groups_created - before.bind_groups_created, 1);
    assert_eq!(read(&runtime, &out).unwrap(), floats(&[6.0]));
}

#[test]
fn submissions_from_many_threads_keep_their_uniforms() {
    let runtime = runtime();
    add(&runtime, Trust::OURS);
    std::thread::scope(|scope| {
        for thread in 1..=4 {
            let runtime = &runtime;
            scope.spawn(move || {
                let one = runtime.upload(&floats(&[0.5; 100])).unwrap();
                for step in 1..=20 {
                    let out = runtime.alloc(400).unwrap();
                    let scale = (thread * 100 + step) as f32;
                    add_maybe_later(runtime, &[&one, &one.clone(), &out], scale, step % 2 == 0).unwrap();
                    block_on(runtime.throttle()).unwrap();
                    assert_eq!(read(runtime, &out).unwrap(), floats(&[scale; 100]));
                }
            });
        }
    });
}

/// Buffers go back to the pool when work that uses them is handed over, and are written anew while it may still wait.
#[test]
fn work_handed_over_keeps_its_place_and_is_counted() {
    let runtime = runtime();
    let sum = runtime.upload(&floats(&[0.0; 4])).unwrap();
    let mut expected = 0.0;
    let step = |number: u16, from: &Arc<GpuBuffer>| {
        let value = runtime.upload(&floats(&[f32::from(number); 4])).unwrap();
        let out = runtime.alloc(16).unwrap();
        add_maybe_later(&runtime, &[from, &value, &out], 1.0, true).unwrap();
        out
    };
    let mut last = step(0, &sum);
    let before = runtime.stats();
    for number in 1..=500 {
        last = step(number, &last);
        expected += f32::from(number);
    }
    let after = runtime.stats();
    assert_eq!((after.submits - before.submits, after.dispatches - before.dispatches), (500, 500));
    assert!(after.buffers_created - before.buffers_created <= 2, "{after:?}");
    assert_eq!(read(&runtime, &last).unwrap(), floats(&[expected; 4]));
}

/// What waits is submitted together, unless a block of numbers is to be written again.
#[test]
fn work_that_waits_is_one_submission_with_the_readback() {
    let runtime = runtime();
    let pipeline = add(&runtime, Trust::OURS);
    let (one, blocks) =
        (runtime.upload(&floats(&[1.0; 4])).unwrap(), [8, 8].map(|n| runtime.uniform_block(n).unwrap()));
    let wait = |block: &GpuBuffer, from: &Arc<GpuBuffer>, scale: Option<f32>| {
        let out = runtime.alloc(16).unwrap();
        let dispatch = Dispatch {
            pipeline: &pipeline,
            buffers: &[from, &one, &out],
            uniform: 0..8,
            groups: [1, 1, 1],
            label: "add",
            work: Default::default(),
        };
        let write = scale.map(|scale| (0, sizes(4, scale)));
        runtime.submit(Uniforms::Kept(block, write), &[dispatch], When::WithNext).unwrap();
        out
    };
    let before = runtime.stats();
    let a = wait(&blocks[0], &one, Some(1.0));
    let b = wait(&blocks[1], &a, Some(10.0));
    let c = wait(&blocks[0], &b, None);
    assert_eq!(read(&runtime, &c).unwrap(), floats(&[31.0; 4]));
    let together = runtime.stats();
    assert_eq!((together.submits - before.submits, together.dispatches - before.dispatches), (1, 3));

    let a = wait(&blocks[0], &one, None);
    let b = wait(&blocks[0], &a, Some(2.0));
    assert_eq!(
        read(&runtime, &b).unwrap(),
        floats(&[6.0; 4]),
        "the first read its numbers before they changed"
    );
    assert_eq!(runtime.stats().submits - together.submits, 2);

    let a = wait(&blocks[0], &one, Some(1.0));
    runtime.write(&one, 0, &floats(&[5.0; 4])).unwrap();
    let b = wait(&blocks[0], &a, None);
    assert_eq!(read(&runtime, &b).unwrap(), floats(&[7.0; 4]), "a write stays between what it was between");
}

#[test]
fn a_runtime_that_is_dropped_finishes_what_was_handed_over() {
    let runtime = runtime();
    let (device, queue) = (runtime.device.clone(), runtime.queue.clone());
    let usage = buffer_pool::STORAGE_USAGES;
    let descriptor = wgpu::BufferDescriptor { label: None, size: 16, usage, mapped_at_creation: false };
    let users = device.create_buffer(&descriptor);
    let out = runtime.adopt_buffer(users.clone()).unwrap();
    let a = runtime.upload(&floats(&[1.5; 4])).unwrap();
    add_maybe_later(&runtime, &[&a, &a.clone(), &out], 1.0, true).unwrap();
    drop((a, out, runtime));
    let again = Runtime::adopt(device, queue, None, &software()).unwrap();
    let users = again.adopt_buffer(users).unwrap();
    assert_eq!(read(&again, &users).unwrap(), floats(&[3.0; 4]));
}
