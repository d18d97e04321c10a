//! Files that PyTorch and NumPy wrote, and files for them. `tools/reference/io.py` wrote `tests/data/io/`.

use crate::common::{devices, gpu, new_gpu, values};
use flambeau::io::{
    Format, Loaded, PytorchOptions, State, StateDict, load, load_npy, load_pytorch, load_states,
    read_safetensors, save_states_blocking, write_npy, write_safetensors_blocking,
};
use flambeau::prelude::*;
use flambeau::{GpuConfig, block_on};
use std::path::{Path, PathBuf};
use std::process::Command;

fn data(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/data/io").join(name)
}

fn folder(topic: &str) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("flambeau-io-{topic}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    folder
}

/// The tensors that PyTorch or NumPy put into a file, in float64.
fn expected(file: &str) -> StateDict {
    let all = load(data("expected.safetensors"), &Device::cpu()).unwrap();
    assert!(all.notes.is_empty());
    let expected = all.tensors.strip_prefix(&format!("{file}/"));
    assert!(!expected.is_empty());
    expected
}

#[track_caller]
fn assert_same(loaded: &Loaded, expected: &StateDict) {
    assert_eq!(loaded.tensors.names().collect::<Vec<_>>(), expected.names().collect::<Vec<_>>());
    for ((name, got), (_, want)) in loaded.tensors.iter().zip(expected.iter()) {
        assert_eq!(got.shape(), want.shape(), "{name}");
        assert_eq!(values(got), values(want), "{name}");
    }
}

fn notes(loaded: &Loaded) -> Vec<String> {
    loaded.notes.iter().map(|note| format!("{} {} {}", note.name, note.from, note.to)).collect()
}

#[test]
fn pytorch_files_have_pytorchs_values() {
    for device in devices() {
        for file in ["state_dict.pt", "checkpoint.pt", "protocol4.pt"] {
            let loaded = load(data(file), &device).unwrap();
            assert_same(&loaded, &expected(file));
        }
    }
}

#[test]
fn numpy_files_have_numpys_values() {
    for device in devices() {
        for file in ["arrays.npz", "compressed.npz", "version2.npy", "version3.npy"] {
            let loaded = load(data(file), &device).unwrap();
            assert_same(&loaded, &expected(file));
        }
        let (array, _) = load_npy(data("version2.npy"), &device).unwrap();
        assert_eq!(array.shape().dims(), [3, 4]);
    }
}

#[test]
fn numbers_and_strings_become_metadata() {
    let loaded = load(data("checkpoint.pt"), &Device::cpu()).unwrap();
    for (name, value) in [
        ("epoch", "7"),
        ("best", "0.125"),
        ("name", "a run"),
        ("done", "false"),
        ("big", "9223372036854775813"),
        ("shape.1", "3"),
        ("optimizer.param_groups.0.lr", "0.1"),
        ("optimizer.param_groups.0.params.0", "0"),
    ] {
        assert_eq!(loaded.metadata[name], value, "{name}");
    }
    assert!(!loaded.metadata.contains_key("nothing"));
}

#[test]
fn one_part_of_a_checkpoint() {
    let part = |name: &str| {
        load_pytorch(data("checkpoint.pt"), &PytorchOptions::default().with_part(name), &Device::cpu())
    };
    assert_same(&part("model").unwrap(), &expected("state_dict.pt"));
    assert_eq!(part("optimizer.state").unwrap().tensors.names().collect::<Vec<_>>(), ["0.step"]);
    let error = part("mode").unwrap_err().to_string();
    assert!(
        error.contains("nothing under `mode`; there are tensors under: model, parameters, views"),
        "{error}"
    );
}

#[test]
fn conversions_are_noted() {
    let options = PytorchOptions::default().with_part("dtypes");
    let load = |device: &Device| load_pytorch(data("checkpoint.pt"), &options, device).unwrap();
    let always = ["int16 i16 i32", "int8 i8 i32"];
    let cpu = notes(&load(&Device::cpu()));
    assert_eq!(cpu, [&["bfloat16 bf16 f32"][..], &always].concat());
    let mut on_gpu = notes(&load(&gpu()));
    // Adapters differ in this one.
    on_gpu.retain(|note| note != "float16 f16 f32");
    assert_eq!(on_gpu, [&["bfloat16 bf16 f32", "float64 f64 f32", "int64 i64 i32"][..], &always].concat());
}

#[test]
fn large_integers_stay_or_are_refused() {
    let large = Tensor::from_slice(&[1i64, -(1 << 31) - 1], [2], &Device::cpu());
    let state = StateDict::from_iter([("steps".to_string(), large)]);
    let bytes = write_safetensors_blocking(&state, &Default::default()).unwrap();
    let back = read_safetensors(&bytes, &Device::cpu()).unwrap();
    assert_eq!(values(back.tensors.get("steps").unwrap()), [1.0, -2147483649.0]);
    let error = read_safetensors(&bytes, &gpu()).unwrap_err().to_string();
    assert_eq!(error, "safetensors bytes: tensor `steps`: -2147483649 (i64) does not fit into i32");
}

#[test]
fn everything_is_read_back_at_once() {
    let device = new_gpu(GpuConfig::default());
    let mut state = StateDict::new();
    for k in 0..5 {
        state.insert(format!("on the gpu {k}"), Tensor::ones([k, 3], &device) * 2.0);
        state.insert(format!("on the cpu {k}"), Tensor::full([2], k, &Device::cpu()));
    }
    let before = device.gpu_stats().unwrap().readbacks;
    let bytes = write_safetensors_blocking(&state, &Default::default()).unwrap();
    assert_eq!(device.gpu_stats().unwrap().readbacks, before + 1);
    let back = read_safetensors(&bytes, &Device::cpu()).unwrap();
    assert!(back.tensors.names().eq(state.names()));
    assert_eq!(values(back.tensors.get("on the gpu 2").unwrap()), [2.0; 6]);
    assert_eq!(values(back.tensors.get("on the cpu 4").unwrap()), [4.0; 2]);
}

#[test]
fn states_cross_devices_bit_for_bit() {
    let folder = folder("states");
    let path = folder.join("run.safetensors");
    let numbers = [f32::MIN_POSITIVE, -0.0, 0.1, f32::INFINITY, 3.0e38];
    for (from, to) in [(gpu(), Device::cpu()), (Device::cpu(), gpu())] {
        let mut model = State::default();
        model.tensors.insert("w", Tensor::from_slice(&numbers, [5], &from));
        model.tensors.insert("mask", Tensor::new([true, false, true], &from));
        model.set("rate", 0.1);
        save_states_blocking(&path, &[("model", &model)]).unwrap();
        let back = &load_states(&path, &to).unwrap()["model"];
        assert_eq!(back.values, model.values);
        let bits = |tensor: &Tensor| tensor.to_vec_blocking::<f32>().unwrap().map_bits();
        assert_eq!(bits(back.tensors.get("w").unwrap()), numbers.to_vec().map_bits());
        assert_eq!(back.tensors.get("mask").unwrap().to_vec_blocking::<bool>().unwrap(), [true, false, true]);
    }
    std::fs::remove_dir_all(folder).unwrap();
}

trait MapBits {
    fn map_bits(self) -> Vec<u32>;
}

impl MapBits for Vec<f32> {
    fn map_bits(self) -> Vec<u32> {
        self.into_iter().map(f32::to_bits).collect()
    }
}

/// What `tools/reference/io.py check` expects.
fn ours() -> StateDict {
    let device = Device::cpu();
    let grid = Tensor::arange(0, 6, 1, &device).reshape([2, 3]);
    let mut state = StateDict::new();
    for dtype in
        [DType::F32, DType::F16, DType::F64, DType::I32, DType::I64, DType::U8, DType::Bool, DType::U32]
    {
        state.insert(dtype.to_string(), grid.to_dtype(dtype));
    }
    state.insert("scalar", Tensor::scalar(2.5, &device));
    state.insert("empty", Tensor::zeros([0, 4], &device));
    state.insert("dotted.é", grid.to_dtype(DType::F32) / 4.0);
    state
}

/// What we write is, byte for byte, what PyTorch and NumPy have read; where they are installed, they read it again.
/// After a change of the writers, `FLAMBEAU_WRITE_REFERENCE=1` stores the new files, if PyTorch can read them.
#[test]
fn pytorch_and_numpy_read_what_we_write() {
    let state = ours();
    let first = state.get("f32").unwrap();
    let files = [
        ("ours.pt", block_on(Format::Pytorch.write(&state)).unwrap()),
        ("ours.npz", block_on(Format::Npz.write(&state)).unwrap()),
        ("ours.npy", block_on(write_npy(first)).unwrap()),
    ];
    let folder = folder("written");
    for (name, bytes) in &files {
        std::fs::write(folder.join(name), bytes).unwrap();
    }
    let python = ["python3", "/usr/bin/python3"].into_iter().find(|python| {
        Command::new(python)
            .args(["-c", "import torch, numpy"])
            .output()
            .is_ok_and(|output| output.status.success())
    });
    if let Some(python) = python {
        let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tools/reference/io.py");
        let output = Command::new(python).arg(script).arg("check").arg(&folder).output().unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    for (name, bytes) in &files {
        if python.is_some() && std::env::var_os("FLAMBEAU_WRITE_REFERENCE").is_some() {
            std::fs::write(data(name), bytes).unwrap();
        }
        assert!(std::fs::read(data(name)).unwrap() == *bytes, "{name} is not as stored in tests/data/io");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
