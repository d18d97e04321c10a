//! The runtime on a software adapter: what it refuses, and what it does after a device error.

use super::*;

#[test]
fn a_shader_error_has_the_source_and_the_runtime_lives_on() {
    let runtime = runtime();
    let broken = ADD.replace("sum[id.x] =", "summ[id.x] =");
    match runtime.pipeline(request("broken", &broken, "main", &ADD_BINDINGS, Trust::CHECKED)) {
        Err(Error::Shader { label, message, source_text }) => {
            assert_eq!(label, "broken");
            assert!(message.contains("summ"), "{message}");
            assert_eq!(source_text, broken);
        }
        other => panic!("{other:?}"),
    }
    let wrong_layout =
        runtime.pipeline(request("wrong layout", ADD, "main", &[Binding::Read], Trust::CHECKED));
    assert!(matches!(wrong_layout, Err(Error::Shader { .. })), "{wrong_layout:?}");
    let no_entry = runtime.pipeline(request("no entry", ADD, "nothing", &ADD_BINDINGS, Trust::OURS));
    assert!(matches!(no_entry, Err(Error::Shader { .. })), "{no_entry:?}");
    assert_eq!(runtime.error(), None);
    uses(&runtime).unwrap();
}

/// One of everything.
fn uses(runtime: &Arc<Runtime>) -> Result<()> {
    let a = runtime.upload(&floats(&[1.5; 70]))?;
    let out = runtime.alloc(a.bytes())?;
    runtime.pipeline(request("add", ADD, "main", &ADD_BINDINGS, Trust::OURS))?;
    run_add(runtime, &[&a, &a.clone(), &out], 1.0)?;
    assert_eq!(read(runtime, &out)?, floats(&[3.0; 70]));
    Ok(())
}

#[test]
fn after_destroy_every_call_says_that_the_device_is_lost() {
    let runtime = runtime();
    let a = runtime.upload(&floats(&[1.0; 8])).unwrap();
    let out = runtime.alloc(32).unwrap();
    let pending = runtime.read(&[(a.clone(), 32)]);
    runtime.destroy();
    fn lost<T: std::fmt::Debug>(result: Result<T>) {
        assert!(matches!(result, Err(Error::DeviceLost(_))), "{result:?}");
    }
    lost(block_on(pending));
    lost(runtime.alloc(4));
    lost(runtime.upload(&[1]));
    lost(runtime.pipeline(request("add", ADD, "main", &ADD_BINDINGS, Trust::OURS)));
    lost(runtime.submit(Uniforms::Once(Vec::new()), &[], When::Now));
    lost(runtime.write(&a, 0, &[0; 4]));
    lost(runtime.copy(&a, &out, 4));
    lost(read(&runtime, &out));
    lost(block_on(runtime.throttle()));
    lost(runtime.error().map_or(Ok(()), Err));
    drop((a, out));
    runtime.trim();
    runtime.destroy();
    assert_eq!(runtime.memory().allocations, 0);
}

#[test]
fn a_device_destroyed_behind_our_back_is_noticed() {
    let (device, queue) = open(wgpu::InstanceDescriptor::new_without_display_handle());
    let runtime = Runtime::adopt(device.clone(), queue, None, &software()).unwrap();
    let a = runtime.upload(&floats(&[1.0; 8])).unwrap();
    read(&runtime, &a).unwrap();
    device.destroy();
    let after = read(&runtime, &a);
    assert!(matches!(after, Err(Error::DeviceLost(_))), "{after:?}");
    assert!(matches!(uses(&runtime), Err(Error::DeviceLost(_))));
}

#[test]
fn a_validation_error_is_sticky() {
    let runtime = runtime();
    let buffer = runtime.upload(&floats(&[1.0])).unwrap();
    let refused = run_add(&runtime, &[&buffer, &buffer.clone(), &buffer.clone()], 1.0);
    assert!(matches!(&refused, Err(Error::Gpu(_))), "{refused:?}");
    assert_eq!(read(&runtime, &buffer).map(drop), refused.map(drop));
}

#[test]
fn sizes_above_a_limit_name_the_limit() {
    let runtime = runtime();
    let limits = runtime.limits().clone();
    let limit_of = |result: Result<Arc<GpuBuffer>>| match result {
        Err(Error::Limit { limit_name, limit, .. }) => (limit_name, limit),
        other => panic!("{other:?}"),
    };
    let smaller = limits.max_storage_buffer_binding_size.min(limits.max_buffer_size);
    let (name, limit) = limit_of(runtime.alloc(smaller + 1));
    assert!(["maxStorageBufferBindingSize", "maxBufferSize"].contains(&name), "{name}");
    assert_eq!(limit, smaller);
    limit_of(runtime.alloc(u64::MAX));

    let config = GpuConfig { max_buffer_size: Some(1003), workgroup_size: u32::MAX, ..software() };
    let capped = block_on(Runtime::new(&config)).unwrap();
    assert_eq!(limit_of(capped.alloc(1004)), ("GpuConfig::max_buffer_size", 1003));
    assert_eq!(capped.alloc(1000).unwrap().capacity(), 1000);
    assert_eq!(capped.config().workgroup_size, limits.max_compute_invocations_per_workgroup);

    let pipeline = add(&runtime, Trust::OURS);
    let buffer = runtime.alloc(4).unwrap();
    let buffers = [&buffer, &buffer, &buffer];
    let submit = |groups, uniform, buffers: &[&Arc<GpuBuffer>]| {
        let (label, work) = ("add", Default::default());
        let dispatch = Dispatch { pipeline: &pipeline, buffers, uniform, groups, label, work };
        runtime.submit(Uniforms::Once(vec![0; 8]), &[dispatch], When::Now)
    };
    match submit([1, limits.max_compute_workgroups_per_dimension + 1, 1], 0..8, &buffers) {
        Err(Error::Limit { limit_name, .. }) => assert_eq!(limit_name, "maxComputeWorkgroupsPerDimension"),
        other => panic!("{other:?}"),
    }
    assert!(submit([1, 1, 1], 0..9, &buffers).is_err());
    assert!(submit([1, 1, 1], 4..8, &buffers).is_err());
    assert!(submit([1, 1, 1], 0..8, &buffers[..2]).is_err());
    assert_eq!(runtime.error(), None);
}

/// llvmpipe takes its memory from the process, so the test runs again in a process that may have little.
#[test]
#[cfg(target_os = "linux")]
fn memory_that_runs_out_is_an_error_and_the_pool_is_given_back_first() {
    const INSIDE: &str = "FLAMBEAU_TEST_LITTLE_MEMORY";
    if std::env::var_os(INSIDE).is_some() {
        return run_out_of_memory();
    }
    let (_, module) = module_path!().split_once("::").unwrap();
    let this_test = format!("{module}::memory_that_runs_out_is_an_error_and_the_pool_is_given_back_first");
    let inside = std::process::Command::new("sh")
        .args(["-c", "ulimit -v 6000000 && exec \"$0\" --exact \"$1\" --nocapture"])
        .args([std::env::current_exe().unwrap().into_os_string(), this_test.into()])
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let passed = String::from_utf8_lossy(&inside.stdout).contains("1 passed");
    assert!(passed && inside.status.success(), "{}", String::from_utf8_lossy(&inside.stderr));
}

#[cfg(target_os = "linux")]
fn run_out_of_memory() {
    let runtime = runtime();
    let largest = runtime.limits().max_storage_buffer_binding_size;
    let mut held = Vec::new();
    let mut fill = |bytes| {
        loop {
            match runtime.alloc(bytes) {
                Ok(buffer) => held.push(buffer),
                Err(error) => break error,
            }
            assert!(held.len() < 1000, "the adapter gives memory without end");
        }
    };
    for bytes in [largest, largest / 2] {
        let refusal = fill(bytes);
        let in_use = runtime.memory().in_use;
        assert_eq!(refusal, Error::OutOfMemory { requested: bytes, in_use, limit: None });
    }
    held.clear();
    assert!(runtime.memory().pooled > 0);
    let of_another_size = runtime.alloc(largest / 2 + 1).unwrap();
    assert_eq!(runtime.memory().pooled, 0, "the pool was not given back");
    drop(of_another_size);
    assert_eq!(runtime.error(), None);
    uses(&runtime).unwrap();
}

#[test]
fn an_allocation_beyond_the_memory_limit_is_refused_with_its_sizes() {
    let config = GpuConfig { memory_limit: Some(1 << 20), ..software() };
    let runtime = block_on(Runtime::new(&config)).unwrap();
    let (kept, pooled) = (runtime.alloc(512 << 10).unwrap(), runtime.alloc(256 << 10).unwrap());
    drop(pooled);
    let in_use = runtime.memory().in_use;
    let refusal = Error::OutOfMemory { requested: 1 << 20, in_use, limit: Some(1 << 20) };
    assert_eq!(runtime.alloc(1 << 20).unwrap_err(), refusal);
    // What is kept for reuse makes room.
    let other = runtime.alloc(384 << 10).unwrap();
    assert_eq!(runtime.memory().pooled, 0);
    drop((kept, other));
    assert_eq!(runtime.error(), None);
    uses(&runtime).unwrap();
}

/// Nothing is kept and little is rounded; work that was handed over still finds the buffers that it was given.
#[test]
fn exact_memory_ends_with_its_last_handle() {
    let config = GpuConfig { memory_strategy: MemoryStrategy::Exact, ..software() };
    let runtime = block_on(Runtime::new(&config)).unwrap();
    let start = runtime.memory();
    let buffer = runtime.alloc(5200).unwrap();
    assert_eq!((buffer.capacity(), runtime.memory().in_use), (5376, start.in_use + 5376));
    drop(buffer);
    let after = runtime.memory();
    assert_eq!((after.in_use, after.pooled, after.allocations), (start.in_use, 0, start.allocations));
    let [a, b] = [2.0, 3.0].map(|value| runtime.upload(&floats(&[value])).unwrap());
    let out = runtime.alloc(4).unwrap();
    add_maybe_later(&runtime, &[&a, &b, &out], 2.0, true).unwrap();
    drop((a, b));
    assert_eq!(read(&runtime, &out).unwrap(), floats(&[10.0]));
    drop(out);
    assert_eq!(runtime.memory().pooled, 0);
    assert_eq!(runtime.error(), None);
}

#[test]
fn the_pool_lends_the_lowest_number_first() {
    let runtime = runtime();
    let numbers = |buffers: &[Arc<GpuBuffer>]| buffers.iter().map(|buffer| buffer.id()).collect::<Vec<_>>();
    let alloc = || -> Vec<Arc<GpuBuffer>> { (0..3).map(|_| runtime.alloc(1024).unwrap()).collect() };
    let mut first = alloc();
    let before = numbers(&first);
    first.swap(0, 2);
    first.into_iter().for_each(drop);
    assert_eq!(numbers(&alloc()), before);
}

#[test]
fn a_buffer_is_adopted_when_its_usages_allow() {
    let (device, queue) = open(wgpu::InstanceDescriptor::new_without_display_handle());
    let runtime = Runtime::adopt(device.clone(), queue.clone(), None, &software()).unwrap();
    assert!(runtime.description().software);
    uses(&runtime).unwrap();
    let buffer = |usage| {
        device.create_buffer(&wgpu::BufferDescriptor {
            label: None,
            size: 8,
            usage,
            mapped_at_creation: false,
        })
    };
    let usages = wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC | wgpu::BufferUsages::COPY_DST;
    let theirs = buffer(usages);
    queue.write_buffer(&theirs, 0, &floats(&[3.0, 4.0]));
    let adopted = runtime.adopt_buffer(theirs.clone()).unwrap();
    let before = runtime.memory();
    assert_eq!(read(&runtime, &adopted).unwrap(), floats(&[3.0, 4.0]));
    drop(adopted);
    assert_eq!(runtime.memory().in_use, before.in_use - 8);
    queue.write_buffer(&theirs, 0, &floats(&[5.0]));
    assert!(runtime.adopt_buffer(buffer(wgpu::BufferUsages::STORAGE)).is_err());
    assert_eq!(runtime.error(), None);
}

#[test]
fn an_adapter_that_is_not_there_is_an_error_with_a_list() {
    let adapters = block_on(enumerate_adapters());
    assert!(!adapters.is_empty());
    let config = GpuConfig { adapter_index: Some(99), ..software() };
    let Err(Error::NoAdapter(message)) = block_on(Runtime::new(&config)) else {
        panic!("it found adapter 99")
    };
    assert!(message.contains(&adapters[0].name) && message.contains("FLAMBEAU_DEVICE=cpu"), "{message}");
    let by_index = GpuConfig { adapter_index: Some(adapters[0].index), ..Default::default() };
    assert_eq!(block_on(Runtime::new(&by_index)).unwrap().description(), &adapters[0]);
    if adapters.iter().all(|adapter| adapter.software) {
        let Err(Error::NoAdapter(message)) = block_on(Runtime::new(&GpuConfig::default())) else {
            panic!("a software adapter was taken unasked")
        };
        assert!(message.contains("allow_software"), "{message}");
    }
}

/// A device on the software adapter, as a program that has its own would open it.
fn open(descriptor: wgpu::InstanceDescriptor) -> (wgpu::Device, wgpu::Queue) {
    let adapters = block_on(wgpu::Instance::new(descriptor).enumerate_adapters(wgpu::Backends::all()));
    let adapter =
        adapters.into_iter().find(|adapter| adapter.get_info().device_type == wgpu::DeviceType::Cpu);
    block_on(adapter.expect("a software adapter").request_device(&Default::default())).unwrap()
}
