//! What a reader of files from strangers must withstand. (Files made by PyTorch itself are in `tests/values/io.rs`.)

use super::*;
use crate::device::Device;
use crate::dtype::DType;
use crate::error::Result;
use crate::io::convert::Loaded;
use crate::io::limits::{Budget, ReadLimits};
use crate::io::state::StateDict;
use crate::io::testing::torture;
use crate::io::zip::Builder;
use crate::tensor::Tensor;

const MADE_BY_PYTORCH: &[u8] = include_bytes!("../../../tests/data/io/state_dict.pt");

fn read(bytes: &[u8]) -> Result<Loaded> {
    read_pytorch(bytes, &PytorchOptions::default(), &Device::cpu())
}

/// A file with this pickle and one storage of `storage` bytes.
fn file(pickle: &[u8], storage: usize) -> Vec<u8> {
    let mut archive = Builder::new();
    archive.add("a/data.pkl", pickle).unwrap();
    archive.add("a/data/0", &vec![0; storage]).unwrap();
    archive.finish()
}

fn text(text: &str) -> Vec<u8> {
    [b"\x8c".as_slice(), &[text.len() as u8], text.as_bytes()].concat()
}

/// The pickle of a byte tensor: storage 0 of `numel` elements, then sizes and strides.
fn tensor(numel: i32, size: &[u8], stride: &[u8]) -> Vec<u8> {
    tensor_of(b"ctorch\nByteStorage\n", numel, size, stride)
}

fn tensor_of(kind: &[u8], numel: i32, size: &[u8], stride: &[u8]) -> Vec<u8> {
    let rebuild = b"ctorch._utils\n_rebuild_tensor_v2\n((";
    let number = |value: i32| [b"J".as_slice(), &value.to_le_bytes()].concat();
    let storage = [&text("storage")[..], kind, &text("0"), &text("cpu"), &number(numel), b"tQ"];
    let rest = [b"K\x00".as_slice(), size, stride, b"\x89)tR"];
    [rebuild.as_slice(), &storage.concat(), &rest.concat()].concat()
}

#[track_caller]
fn assert_refused(pickle: &[u8], expect: &str) {
    let error = read(&file(pickle, 4)).unwrap_err().to_string();
    assert!(error.starts_with("PyTorch bytes: ") && error.contains(expect), "{error} (expected: {expect})");
}

#[test]
fn truncated_and_altered_files() {
    torture(MADE_BY_PYTORCH, read);
    let state = StateDict::from_iter([("w".to_string(), Tensor::new([1.0, 2.0], &Device::cpu()))]);
    torture(&write_pytorch_blocking(&state).unwrap(), read);
}

/// The archive's checksums stop most alterations; the interpreter must stand without them.
#[test]
fn altered_pickles() {
    let budget = || Budget::new(ReadLimits::default(), MADE_BY_PYTORCH.len());
    let plenty = budget();
    let archive = crate::io::zip::Archive::open("file", MADE_BY_PYTORCH, &plenty).unwrap();
    let whole = archive.read("state_dict/data.pkl").unwrap().into_owned();
    torture(&whole, |pickle| {
        let (budget, broken) = (budget(), |message| crate::io::convert::broken("file", message));
        let objects = pickle::unpickle(pickle, &budget).map_err(broken)?;
        flatten::flatten(&objects, &budget).map(drop).map_err(broken)
    });
    let mut random = crate::io::testing::Random(77);
    for _ in 0..300 {
        let mut altered = whole.clone();
        let place = random.below(altered.len());
        altered[place] = random.below(256) as u8;
        let _ = read(&file(&altered, 24));
    }
}

#[test]
fn code_is_refused_by_name() {
    assert_refused(b"\x80\x02cos\nsystem\nX\x02\x00\x00\x00ls\x85R.", "`os.system` is refused");
    assert_refused(b"\x80\x04\x8c\x05posix\x8c\x06system\x93\x8c\x02ls\x85R.", "`posix.system` is refused");
    assert_refused(b"\x80\x02cbuiltins\neval\n.", "`builtins.eval` is refused");
    assert_refused(b"\x80\x02ctorch\nload\n.", "`torch.load` is refused");
    assert_refused(b"\x80\x02ios\nsystem\n.", "opcode 0x69");
    assert_refused(b"\x80\x02ccollections\nOrderedDict\n)\x81.", "opcode 0x81");
}

#[test]
fn stacks_are_checked() {
    for pickle in
        [&b"."[..], b"(.", b"N(.", b"t.", b"\x85.", b"K\x01(\x85.", b"s.", b"u.", b"a.", b"e.", b"R.", b"Q."]
    {
        assert_refused(pickle, "takes more from the stack than there is");
    }
    assert_refused(b"}(Nu.", "a key has no value");
    assert_refused(b"NNa.", "items cannot be added to None");
    assert_refused(b"h\x05.", "nothing is remembered as 5");
    assert_refused(b"N)R.", "None cannot be called");
    assert_refused(b"ccollections\nOrderedDict\nNR.", "expected a tuple, found None");
    assert_refused(b"]N\x85b.", "a list has no attributes");
    assert_refused(b"X\xff\xff\xff\xff.", "it ends too early");
    assert_refused(b"X\x01\x00\x00\x00\xff.", "a string is not UTF-8");
    assert_refused(b"}NNs.", "neither string nor integer");
    assert_refused(b"", "it ends too early");
}

#[test]
fn tensors_stay_inside_their_storage() {
    let read_tensor = |numel, size: &[u8], stride: &[u8]| {
        read(&file(&[&tensor(numel, size, stride)[..], b"."].concat(), 4))
    };
    let good = read_tensor(4, b"K\x02K\x02\x86", b"K\x01K\x02\x86").unwrap();
    assert_eq!(good.tensors.get("tensor").unwrap().shape().dims(), [2, 2]);
    for (numel, size, stride, expect) in [
        (4, &b"K\x05\x85"[..], &b"K\x01\x85"[..], "does not fit into a storage of 4 elements"),
        (4, b"K\x03\x85", b"K\x02\x85", "does not fit into a storage of 4 elements"),
        (4, b"K\x02\x85", b"J\xff\xff\xff\xff\x85", "-1 is not a size"),
        (5, b"K\x04\x85", b"K\x01\x85", "its storage has 4 bytes, not 5 elements of u8"),
        (-1, b"K\x04\x85", b"K\x01\x85", "-1 is not a size"),
        (4, b"K\x04\x85", b")", "does not fit"),
        // A terabyte, by a stride of zero.
        (4, b"\x8a\x06\x00\x00\x00\x00\x00\x01\x85", b"K\x00\x85", "more than the limit of"),
        (4, b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f\x85", b"K\x00\x85", "more than the limit of"),
    ] {
        let error = read_tensor(numel, size, stride).unwrap_err().to_string();
        assert!(error.contains(expect), "{error} (expected: {expect})");
    }
}

#[test]
fn cycles_and_bombs_end() {
    // A list that holds itself.
    assert_refused(b"]q\x00h\x00a.", "without bounds");
    // Forty lists, each of which holds the one before twice.
    let doubling = [b"]".as_slice(), &b"q\x00](h\x00h\x00e".repeat(40), b"."].concat();
    assert_refused(&doubling, "more than the limit of");
    let wide = [&b"("[..], &b"K\x01".repeat(100), b"t"].concat();
    assert_refused(&[&tensor(4, &wide, &wide)[..], b"."].concat(), "a tensor of 100 dimensions");
}

#[test]
fn other_files_are_told_apart() {
    for (bytes, expect) in [
        (&b""[..], "not a PyTorch file: it is not a zip archive"),
        (b"hello", "not a PyTorch file: it is not a zip archive"),
        (include_bytes!("../../../tests/data/io/legacy.pt"), "torch.save(torch.load(old), new)"),
        (include_bytes!("../../../tests/data/io/module.pt"), "`torch.nn.modules.linear.Linear` is refused"),
        (include_bytes!("../../../tests/data/io/arrays.npz"), "the archive has no data.pkl"),
    ] {
        let error = read(bytes).unwrap_err().to_string();
        assert!(error.contains(expect), "{error} (expected: {expect})");
    }
}

#[test]
fn big_endian_storages() {
    let mut archive = Builder::new();
    let pickle = tensor_of(b"ctorch\nShortStorage\n", 2, b"K\x02\x85", b"K\x01\x85");
    archive.add("a/data.pkl", &[&pickle[..], b"."].concat()).unwrap();
    archive.add("a/byteorder", b"big").unwrap();
    archive.add("a/data/0", &[1, 2, 0xff, 0xfe]).unwrap();
    let loaded = read(&archive.finish()).unwrap();
    assert_eq!(loaded.tensors.get("tensor").unwrap().to_vec_blocking::<i32>().unwrap(), [258, -2]);
    assert_eq!(loaded.notes[0].to_string(), "`tensor` was converted from i16 to i32");
}

#[test]
fn what_is_written_comes_back() {
    let device = Device::cpu();
    let mut state = StateDict::new();
    for dtype in DType::ALL {
        state.insert(dtype.to_string(), Tensor::arange(0, 6, 1, &device).reshape([2, 3]).to_dtype(dtype));
    }
    state.insert("empty", Tensor::zeros([2, 0, 3], &device));
    let back = read(&write_pytorch_blocking(&state).unwrap()).unwrap();
    assert!(back.tensors.names().eq(state.names()));
    for ((name, given), (_, got)) in state.iter().zip(back.tensors.iter()) {
        let dtype = if name == "u32" { DType::I64 } else { given.dtype() };
        assert_eq!((got.shape(), got.dtype()), (given.shape(), dtype));
        let values = |tensor: &Tensor| pollster::block_on(tensor.to_f64_vec()).unwrap();
        assert_eq!(values(given), values(got));
    }
}
