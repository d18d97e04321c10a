//! What formats put around their content, with lengths and checksums that fit.

use flate2::write::{DeflateEncoder, GzEncoder};
use flate2::{Compression, Crc};
use std::io::Write;

/// What is around the content that is changed.
#[derive(Clone)]
pub enum Wrapping {
    None,
    /// A zip archive with the content as its first member, deflated or not, and further members.
    Zip {
        name: &'static str,
        deflated: bool,
        further: Vec<(&'static str, Vec<u8>)>,
    },
    Gzip,
    /// The checksum inside a file of states.
    States,
    /// The checksums of a PNG's chunks.
    Png,
}

impl Wrapping {
    pub fn around(&self, content: &[u8]) -> Vec<u8> {
        match self {
            Wrapping::None => content.to_vec(),
            Wrapping::Zip { name, deflated, further } => {
                let mut members = vec![(*name, content, *deflated)];
                members.extend(further.iter().map(|(name, content)| (*name, content.as_slice(), false)));
                zip(&members)
            }
            Wrapping::Gzip => {
                let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
                let written = encoder.write_all(content).and_then(|()| encoder.finish());
                written.unwrap_or_default()
            }
            Wrapping::States => states(content),
            Wrapping::Png => png(content),
        }
    }
}

fn checksum(bytes: &[u8]) -> u32 {
    let mut crc = Crc::new();
    crc.update(bytes);
    crc.sum()
}

/// A zip archive of these members.
pub fn zip(members: &[(&str, &[u8], bool)]) -> Vec<u8> {
    let (mut bytes, mut directory) = (Vec::new(), Vec::new());
    for &(name, content, deflated) in members {
        let packed = if deflated { deflate(content) } else { content.to_vec() };
        let place = bytes.len() as u32;
        let mut common = [20u16, 0, if deflated { 8 } else { 0 }, 0, 0x21].map(u16::to_le_bytes).concat();
        let sizes = [checksum(content), packed.len() as u32, content.len() as u32];
        common.extend(sizes.map(u32::to_le_bytes).concat());
        common.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        bytes.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &packed].concat());
        directory.extend([b"PK\x01\x02\x14\0", &common[..], &[0; 10], &place.to_le_bytes()].concat());
        directory.extend(name.as_bytes());
    }
    let (place, count) = (bytes.len() as u32, members.len() as u16);
    let length = directory.len() as u32;
    bytes.append(&mut directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count, count].map(u16::to_le_bytes).concat());
    bytes.extend([length, place].map(u32::to_le_bytes).concat());
    bytes.extend([0; 2]);
    bytes
}

fn deflate(content: &[u8]) -> Vec<u8> {
    let mut encoder = DeflateEncoder::new(Vec::new(), Compression::fast());
    let written = encoder.write_all(content).and_then(|()| encoder.finish());
    written.unwrap_or_default()
}

/// The file with the checksum it should have.
fn states(content: &[u8]) -> Vec<u8> {
    const KEY: &[u8] = b"\"flambeau.checksum\":\"";
    let mut file = content.to_vec();
    let found = file.windows(KEY.len()).position(|window| window == KEY).map(|start| start + KEY.len());
    if let Some(digits) = found.and_then(|start| file.get_mut(start..start + 8)) {
        digits.fill(b'0');
        let sum = format!("{:08x}", checksum(&file));
        if let Some(digits) = found.and_then(|start| file.get_mut(start..start + 8)) {
            digits.copy_from_slice(sum.as_bytes());
        }
    }
    file
}

/// The file with the checksums that its chunks should have.
fn png(content: &[u8]) -> Vec<u8> {
    let mut file = content.to_vec();
    let mut place = 8;
    while let Some(length) = file.get(place..place + 4) {
        let length = length.iter().fold(0usize, |length, &byte| length << 8 | usize::from(byte));
        let (start, end) = (place + 4, place.saturating_add(8).saturating_add(length));
        let Some(chunk) = file.get(start..end) else { break };
        let sum = checksum(chunk).to_be_bytes();
        match file.get_mut(end..end + 4) {
            Some(stored) => stored.copy_from_slice(&sum),
            None => break,
        }
        place = end + 4;
    }
    file
}
