//! One file for each way there is, and one below its limit.

use crate::counting::peak;
use crate::make;
use flambeau::Device;
use flambeau::data::{Dataset, ImageFolder, Table, parse_idx, parse_picture};
use flambeau::io::{Format, ReadLimits, read_pytorch, read_states};

/// What is not counted: messages, tables of the decoders.
const SLACK: usize = 1 << 20;

/// Reads a file that must be refused because of its limit, within it.
#[track_caller]
fn refused<T>(file: impl FnOnce() -> Vec<u8>, read: impl FnOnce(&[u8]) -> flambeau::Result<T>) {
    let ((size, result), peak) = peak(file, |file| (file.len(), read(file).map(drop)));
    let limit = ReadLimits::default().for_file(size as u64);
    let error = result.unwrap_err().to_string();
    println!("{size} bytes: {peak} at most of {limit}: {error}");
    assert!(error.contains(&format!("the limit of {limit} bytes")), "{error}");
    assert!(peak as u64 <= limit + SLACK as u64, "{peak} bytes, {limit} allowed");
}

/// Reads a file that is fine, within its limit.
#[track_caller]
fn accepted<T>(file: impl FnOnce() -> Vec<u8>, read: impl FnOnce(&[u8]) -> flambeau::Result<T>) {
    let ((size, result), peak) = peak(file, |file| (file.len(), read(file).map(drop)));
    result.unwrap();
    let limit = ReadLimits::default().for_file(size as u64);
    println!("{size} bytes: {peak} at most of {limit}");
    assert!(peak as u64 <= limit + SLACK as u64, "{peak} bytes, {limit} allowed");
}

fn read(format: Format) -> impl Fn(&[u8]) -> flambeau::Result<flambeau::io::Loaded> {
    move |bytes| format.read(bytes, &Device::cpu())
}

/// Eight million objects in eight kilobytes.
#[test]
fn a_deflated_pickle() {
    refused(|| make::zip("a/data.pkl", b"\x80\x02", b'N', 8_000_000, b"."), read(Format::Pytorch));
    for opcode in [b'(', b']', b')', b'}', 0x88] {
        refused(|| make::zip("a/data.pkl", b"\x80\x02N", opcode, 8_000_000, b"."), read(Format::Pytorch));
    }
    // Remembered again and again, by the number of what is remembered.
    refused(|| make::zip("a/data.pkl", b"\x80\x02N", 0x94, 8_000_000, b"."), read(Format::Pytorch));
    accepted(|| make::zip("a/data.pkl", b"\x80\x02](", b'N', 100_000, b"e."), read(Format::Pytorch));
}

/// One byte, seen by a view of stride 0 as often as one likes.
#[test]
fn views_with_stride_zero() {
    let file = |elements: i32| {
        move || {
            let number = |value: i32| [b"J".as_slice(), &value.to_le_bytes()].concat();
            let storage = [
                b"((\x8c\x07storagectorch\nByteStorage\n\x8c\x010\x8c\x03cpu".as_slice(),
                &number(1),
                b"tQK\x00",
            ];
            let view = [&number(elements)[..], b"\x85K\x00\x85\x89)tR."];
            let pickle =
                [&b"ctorch._utils\n_rebuild_tensor_v2\n"[..], &storage.concat(), &view.concat()].concat();
            stored(&[("a/data.pkl", &pickle), ("a/data/0", &[7])])
        }
    };
    refused(file(245_000_000), read(Format::Pytorch));
    accepted(file(30_000_000), read(Format::Pytorch));
    let more = flambeau::io::PytorchOptions::default().with_limits(ReadLimits::memory(1 << 30));
    let loaded = read_pytorch(&file(100_000_000)(), &more, &Device::cpu()).unwrap();
    assert_eq!(loaded.tensors.get("tensor").unwrap().numel(), 100_000_000);
}

/// A zip archive of members that are stored as they are.
fn stored(members: &[(&str, &[u8])]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for (name, content) in members {
        let place = bytes.len() as u32;
        let mut common = [20u16, 0, 0, 0, 0x21].map(u16::to_le_bytes).concat();
        let (checksum, size) = (crc32fast::hash(content), content.len() as u32);
        common.extend([checksum, size, size].map(u32::to_le_bytes).concat());
        common.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        bytes.extend([b"PK\x03\x04", &common[..], name.as_bytes(), content].concat());
        directory.extend([b"PK\x01\x02\x14\0", &common[..], &[0; 10], &place.to_le_bytes()].concat());
        directory.extend(name.as_bytes());
    }
    let (place, count) = (bytes.len() as u32, members.len() as u16);
    bytes.append(&mut directory);
    let length = bytes.len() as u32 - place;
    bytes.extend([b"PK\x05\x06\0\0\0\0", &[count.to_le_bytes(), count.to_le_bytes()].concat()[..]].concat());
    bytes.extend([length, place].map(u32::to_le_bytes).concat());
    bytes.extend([0; 2]);
    bytes
}

/// Three hundred megabytes in three hundred kilobytes, which become more when they are converted.
#[test]
fn a_deflated_array() {
    for descr in ["|i1", "|u1", "<f8", "<u2"] {
        let count = 316_000_000;
        let bomb = || {
            let elements = count / descr[2..].parse::<usize>().unwrap();
            make::zip("x.npy", &make::npy_header(descr, elements), 0, count, &[])
        };
        refused(bomb, read(Format::Npz));
    }
    accepted(
        || make::zip("x.npy", &make::npy_header("|i1", 5_000_000), 0, 5_000_000, &[]),
        read(Format::Npz),
    );
}

#[test]
fn a_packed_idx_file() {
    let bomb = |kind: u8, count: u32| {
        move || make::gzip(&[&[0, 0, kind, 1][..], &count.to_be_bytes()].concat(), count as usize)
    };
    refused(bomb(8, 316_000_000), parse_idx);
    refused(bomb(9, 316_000_000), parse_idx);
    refused(bomb(9, 20_000_000), parse_idx);
    accepted(bomb(9, 10_000_000), parse_idx);
}

/// What small entries of a header cost: tensors without elements, sizes of shapes, strings beside them.
#[test]
fn headers_of_many_entries() {
    let tensors = |count: usize| {
        let entry = |name: usize| format!(r#""{name:x}":{{"dtype":"U8","shape":[0],"data_offsets":[0,0]}}"#);
        make::safetensors(&format!("{{{}}}", (0..count).map(entry).collect::<Vec<_>>().join(",")))
    };
    accepted(|| tensors(20_000), read(Format::Safetensors));
    let strings = |count: usize| {
        let entries = (0..count).map(|name| format!(r#""{name:x}":"""#)).collect::<Vec<_>>().join(",");
        make::safetensors(&format!(r#"{{"__metadata__":{{{entries}}}}}"#))
    };
    accepted(|| strings(200_000), read(Format::Safetensors));
    refused(|| strings(1_500_000), read(Format::Safetensors));
    let shape = |count: usize| {
        let sizes = vec!["0"; count].join(",");
        make::safetensors(&format!(r#"{{"t":{{"dtype":"U8","shape":[{sizes}],"data_offsets":[0,0]}}}}"#))
    };
    refused(|| shape(8_000_000), read(Format::Safetensors));
}

/// Numbers in the JSON of a saved state.
#[test]
fn values_of_a_state() {
    let state = |count: usize| {
        move || {
            let mut state = flambeau::io::State::default();
            state.set("x", vec![0u8; count]);
            flambeau::block_on(flambeau::io::write_states(&[("part", &state)])).unwrap()
        }
    };
    let read = |bytes: &[u8]| read_states(bytes, &Device::cpu());
    accepted(state(100_000), read);
    refused(state(1_500_000), read);
}

#[test]
fn tables_of_commas_and_of_short_rows() {
    let parse = |bytes: &[u8]| Table::parse(bytes, Default::default());
    let (error, taken) = peak(|| vec![b','; 8_000_000], |file| parse(file).unwrap_err().to_string());
    assert!(error.contains("more than 1048576 columns"), "{error}");
    assert!(taken < 60_000_000, "{taken}");
    let (table, taken) = peak(|| b"a\n".repeat(4_000_000), |file| parse(file).unwrap());
    assert_eq!(table.len(), 3_999_999);
    assert!(taken < 60_000_000, "{taken}");
}

/// Pixels in a file of a few hundred bytes.
#[test]
fn pictures() {
    let png = |width: u32, height: u32| {
        move || {
            let mut file = std::io::Cursor::new(Vec::new());
            image::GrayImage::new(width, height).write_to(&mut file, image::ImageFormat::Png).unwrap();
            file.into_inner()
        }
    };
    let (error, taken) =
        peak(png(20_000, 20_000), |file| parse_picture(file, ReadLimits::default()).unwrap_err().to_string());
    assert!(
        error.contains("20000 × 20000 pixels") && error.contains("the limit of 536870912 bytes"),
        "{error}"
    );
    assert!(taken < SLACK, "{taken}");

    let folder = std::env::temp_dir().join(format!("flambeau-long-picture-{}", std::process::id()));
    std::fs::create_dir_all(folder.join("class")).unwrap();
    std::fs::write(folder.join("class/wide.png"), png(65_000, 1)()).unwrap();
    std::fs::write(folder.join("class/high.png"), png(1, 65_000)()).unwrap();
    let pictures = ImageFolder::open(&folder).unwrap().with_size(64, 64);
    for index in 0..2 {
        let (item, taken) = peak(|| (), |()| pictures.get(index).unwrap());
        assert_eq!(item[0].shape().dims(), [3, 64, 64]);
        assert!(taken < 4 * SLACK, "{taken}");
    }
    let tight = ImageFolder::open(&folder).unwrap().with_limits(ReadLimits::memory(10_000));
    let error = tight.get(0).unwrap_err().to_string();
    assert!(error.contains("high.png") && error.contains("the limit of 10000 bytes"), "{error}");
    std::fs::remove_dir_all(&folder).unwrap();
}
