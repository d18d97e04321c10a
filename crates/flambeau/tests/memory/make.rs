//! The pieces that bombs are made of.

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use std::io::Write;

/// `count` times the same byte behind a beginning, deflated without ever being in memory.
struct Packed {
    bytes: Vec<u8>,
    size: u64,
    checksum: u32,
}

fn fill(to: &mut impl Write, start: &[u8], byte: u8, count: usize, end: &[u8], checksum: &mut Crc) {
    let block = vec![byte; 1 << 16];
    let mut write = |part: &[u8]| {
        checksum.update(part);
        to.write_all(part).unwrap();
    };
    write(start);
    for done in (0..count).step_by(block.len()) {
        write(&block[..block.len().min(count - done)]);
    }
    write(end);
}

fn deflated(start: &[u8], byte: u8, count: usize, end: &[u8]) -> Packed {
    let mut checksum = Crc::new();
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::best());
    fill(&mut encoder, start, byte, count, end, &mut checksum);
    let size = (start.len() + count + end.len()) as u64;
    Packed { bytes: encoder.finish().unwrap(), size, checksum: checksum.sum() }
}

/// A gzip file with a beginning and so many zeros.
pub fn gzip(start: &[u8], zeros: usize) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::best());
    fill(&mut encoder, start, 0, zeros, &[], &mut Crc::new());
    encoder.finish().unwrap()
}

/// A zip archive with one deflated member: a beginning, so many times one byte, an end.
pub fn zip(name: &str, start: &[u8], byte: u8, count: usize, end: &[u8]) -> Vec<u8> {
    let Packed { bytes, size, checksum } = deflated(start, byte, count, end);
    let mut common = [20u16, 0, 8, 0, 0x21].map(u16::to_le_bytes).concat();
    common.extend([checksum, bytes.len() as u32, size as u32].map(u32::to_le_bytes).concat());
    common.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
    let local = [b"PK\x03\x04", &common[..], name.as_bytes(), &bytes].concat();
    let central = [b"PK\x01\x02\x14\x00", &common[..], &[0; 14], name.as_bytes()].concat();
    let mut end = b"PK\x05\x06\0\0\0\0\x01\0\x01\0".to_vec();
    end.extend([central.len() as u32, local.len() as u32].map(u32::to_le_bytes).concat());
    [local, central, end, vec![0; 2]].concat()
}

/// An array of this type whose header promises so many elements, without them.
pub fn npy_header(descr: &str, elements: usize) -> Vec<u8> {
    let header = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({elements},), }}\n");
    [b"\x93NUMPY\x01\0", &(header.len() as u16).to_le_bytes()[..], header.as_bytes()].concat()
}

/// A safetensors file with this header and no data.
pub fn safetensors(header: &str) -> Vec<u8> {
    [&(header.len() as u64).to_le_bytes(), header.as_bytes()].concat()
}
