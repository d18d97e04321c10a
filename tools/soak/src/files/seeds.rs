//! Good files of every kind, as small as they can be, and bombs.

use super::Reader;
use super::wrap::{Member, Wrapping, zip};
use flambeau::io::{
    State, StateDict, Stateful, write_npy, write_npz, write_pytorch, write_safetensors, write_states,
};
use flambeau::nn::Parameter;
use flambeau::optim::Adam;
use flambeau::prelude::*;
use flate2::Compression;
use flate2::write::{DeflateEncoder, GzEncoder};
use std::collections::BTreeMap;
use std::io::{Cursor, Write};

/// A file, as its content and what is around it.
pub struct Seed {
    pub reader: Reader,
    pub wrapping: Wrapping,
    pub content: Vec<u8>,
}

/// What PyTorch and NumPy themselves wrote.
const MADE_BY_PYTORCH: &[u8] = include_bytes!("../../../../crates/flambeau/tests/data/io/state_dict.pt");
const MADE_BY_NUMPY: &[u8] = include_bytes!("../../../../crates/flambeau/tests/data/io/arrays.npz");
const VERSION_3: &[u8] = include_bytes!("../../../../crates/flambeau/tests/data/io/version3.npy");

/// Good files.
pub fn all() -> Vec<Seed> {
    let plain = |reader, content| Seed { reader, wrapping: Wrapping::None, content };
    let mut seeds = vec![
        plain(Reader::Pytorch, MADE_BY_PYTORCH.to_vec()),
        plain(Reader::Npz, MADE_BY_NUMPY.to_vec()),
        plain(Reader::Npy, VERSION_3.to_vec()),
        plain(Reader::Csv, b"a,b\n1,x\n2,\"y, \"\"z\"\"\"\r\n".to_vec()),
        plain(Reader::Csv, b"; 1;2\n3;4\n".to_vec()),
        plain(Reader::Tokenizer, br#"{"kind":"characters","vocabulary":["a","b"]}"#.to_vec()),
        plain(Reader::Cifar, [vec![3], vec![9; 3072]].concat()),
    ];
    seeds.extend(tensors());
    seeds.extend(pickles());
    seeds.extend(arrays());
    seeds.extend(pictures());
    seeds.push(Seed { reader: Reader::States, wrapping: Wrapping::States, content: states() });
    seeds
}

/// What the library's own writers write.
fn tensors() -> Vec<Seed> {
    let device = Device::cpu();
    let mut state = StateDict::new();
    state.insert("w", Tensor::arange(0, 4, 1, &device));
    state.insert("half", Tensor::ones([1, 2], &device).to_dtype(DType::F16));
    state.insert("flag", Tensor::new([true, false], &device));
    let metadata = BTreeMap::from([("k".to_string(), "v".to_string())]);
    let [safetensors, pytorch, npz, npy] = flambeau::block_on(async {
        let w = Tensor::arange(0, 6, 1, &device).reshape([2, 3]);
        [
            write_safetensors(&state, &metadata).await,
            write_pytorch(&state).await,
            write_npz(&state).await,
            write_npy(&w).await,
        ]
    })
    .map(|file| file.expect("small tensors can be written"));
    let seed = |reader, wrapping, content: &Vec<u8>| Seed { reader, wrapping, content: content.clone() };
    let member = |deflated| Wrapping::Zip { name: "x.npy", deflated, further: Vec::new() };
    vec![
        seed(Reader::Safetensors, Wrapping::None, &safetensors),
        seed(Reader::Pytorch, Wrapping::None, &pytorch),
        seed(Reader::Npz, Wrapping::None, &npz),
        seed(Reader::Npy, Wrapping::None, &npy),
        seed(Reader::Npz, member(false), &npy),
        seed(Reader::Npz, member(true), &npy),
    ]
}

/// The pickle of a byte tensor with these sizes and strides, in an archive with its storage.
fn pickles() -> Vec<Seed> {
    let tensor = |size: &[u8], stride: &[u8]| {
        let storage = b"((\x8c\x07storagectorch\nByteStorage\n\x8c\x010\x8c\x03cpuK\x04tQK\x00";
        [&b"ctorch._utils\n_rebuild_tensor_v2\n"[..], storage, size, stride, b"\x89)tR"].concat()
    };
    let whole = tensor(b"K\x02K\x02\x86", b"K\x02K\x01\x86");
    let view = tensor(b"K\x02K\x03\x86", b"K\x00K\x01\x86");
    let dict =
        [&b"\x80\x02ccollections\nOrderedDict\n)Rq\x01(\x8c\x01a"[..], &whole, b"\x8c\x01b", &view, b"u."];
    let nested = [
        &b"\x80\x02}(\x8c\x05model}(\x8c\x01a"[..],
        &whole,
        b"u\x8c\x05epochK\x07\x8c\x02lrG?\xb9\x99\x99\x99\x99\x99\x9a\x8c\x01l](K\x01\x88Neu.",
    ];
    let zip = |deflated| Wrapping::Zip {
        name: "a/data.pkl",
        deflated,
        further: vec![("a/data/0", vec![1, 2, 3, 4])],
    };
    let big = Wrapping::Zip {
        name: "a/data.pkl",
        deflated: false,
        further: vec![("a/byteorder", b"big".to_vec()), ("a/data/0", vec![1, 2, 3, 4])],
    };
    let (dict, nested) = (dict.concat(), nested.concat());
    let seed =
        |wrapping, content: &Vec<u8>| Seed { reader: Reader::Pytorch, wrapping, content: content.clone() };
    vec![seed(zip(false), &dict), seed(zip(true), &dict), seed(zip(false), &nested), seed(big, &nested)]
}

/// Arrays of MNIST's format.
fn arrays() -> Vec<Seed> {
    let mut seeds = Vec::new();
    for (kind, size) in [(0x08, 1), (0x09, 1), (0x0b, 2), (0x0c, 4), (0x0d, 4), (0x0e, 8)] {
        let content = [&[0, 0, kind, 2, 0, 0, 0, 2, 0, 0, 0, 3][..], &vec![7; 6 * size]].concat();
        for wrapping in [Wrapping::None, Wrapping::Gzip] {
            seeds.push(Seed { reader: Reader::Idx, wrapping, content: content.clone() });
        }
    }
    let pictures = [&[0, 0, 8, 3, 0, 0, 0, 1, 0, 0, 0, 2, 0, 0, 0, 2][..], &[1, 2, 3, 4]].concat();
    seeds.push(Seed { reader: Reader::Images, wrapping: Wrapping::None, content: pictures });
    seeds
}

fn pictures() -> Vec<Seed> {
    let picture = image::RgbImage::from_fn(5, 3, |x, y| image::Rgb([x as u8 * 40, y as u8 * 80, 200]));
    let file = |format| {
        let mut file = Cursor::new(Vec::new());
        picture.write_to(&mut file, format).expect("a small picture can be written");
        file.into_inner()
    };
    vec![
        Seed { reader: Reader::Picture, wrapping: Wrapping::Png, content: file(image::ImageFormat::Png) },
        Seed { reader: Reader::Picture, wrapping: Wrapping::None, content: file(image::ImageFormat::Jpeg) },
    ]
}

/// A checkpoint: a model, an optimizer's state, and values.
fn states() -> Vec<u8> {
    let device = Device::cpu();
    let mut model = State::default();
    model.tensors.insert("w", Tensor::ones([2], &device));
    model.set("epoch", 3);
    model.set("losses", vec![0.5, 0.25]);
    let optimizer = Adam::new([Parameter::new(&Tensor::zeros([2], &device))], 0.1).state();
    let parts = [("model", &model), ("optimizer", &optimizer)];
    flambeau::block_on(write_states(&parts)).expect("a small state can be written")
}

/// Files of which little becomes much, packed once and for all.
pub fn bombs() -> Vec<Seed> {
    const LARGE: usize = 4 << 20;
    let plain = |reader, content| Seed { reader, wrapping: Wrapping::None, content };
    let archive = |name, content: &[u8]| {
        let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
        let packed = encoder.write_all(content).and_then(|()| encoder.finish());
        zip(std::iter::once(Member::new(
            name,
            content,
            Some(packed.expect("writing to memory does not fail")),
        )))
    };
    let pickle = |opcode: u8| {
        let content = [&b"\x80\x02N"[..], &vec![opcode; LARGE], b"."].concat();
        plain(Reader::Pytorch, archive("a/data.pkl", &content))
    };
    let header = format!("{{'descr': '|i1', 'fortran_order': True, 'shape': ({}, 2), }}\n", LARGE / 2);
    let start = [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat();
    let mut gzip = GzEncoder::new(Vec::new(), Compression::best());
    let idx = [&[0, 0, 9, 1][..], &(LARGE as u32).to_be_bytes(), &vec![0; LARGE]].concat();
    let idx = gzip.write_all(&idx).and_then(|()| gzip.finish()).expect("writing to memory does not fail");
    let mut bombs: Vec<Seed> = [b'N', b'(', b']', b'}', b')', 0x94, 0x88].map(pickle).into();
    bombs.push(plain(Reader::Npz, archive("x.npy", &[start, vec![0; LARGE]].concat())));
    bombs.push(plain(Reader::Idx, idx));
    bombs.push(plain(Reader::Csv, vec![b','; LARGE]));
    bombs.push(plain(Reader::Csv, b"1\n".repeat(LARGE / 2)));
    bombs
}
