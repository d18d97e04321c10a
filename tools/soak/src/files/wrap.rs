//! What formats put around their content, with lengths and checksums that fit.

use flate2::Crc;

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
                let first = Member::new(name, content, deflated.then(|| deflate(content)));
                let further = further.iter().map(|(name, content)| Member::new(name, content, None));
                zip(std::iter::once(first).chain(further))
            }
            Wrapping::Gzip => gzip(content),
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

/// A member of a zip archive.
pub struct Member<'a> {
    name: &'a str,
    checksum: u32,
    size: u32,
    content: &'a [u8],
    deflated: Option<Vec<u8>>,
}

impl<'a> Member<'a> {
    /// Stored as it is, or as it has been deflated.
    pub fn new(name: &'a str, content: &'a [u8], deflated: Option<Vec<u8>>) -> Member<'a> {
        Member { name, checksum: checksum(content), size: content.len() as u32, content, deflated }
    }
}

/// A zip archive of these members.
pub fn zip<'a>(members: impl Iterator<Item = Member<'a>>) -> Vec<u8> {
    let (mut bytes, mut directory, mut count) = (Vec::new(), Vec::new(), 0u16);
    for Member { name, checksum, size, content, deflated } in members {
        let method = if deflated.is_some() { 8 } else { 0 };
        let packed = deflated.as_deref().unwrap_or(content);
        let place = bytes.len() as u32;
        let mut common = [20u16, 0, method, 0, 0x21].map(u16::to_le_bytes).concat();
        common.extend([checksum, packed.len() as u32, size].map(u32::to_le_bytes).concat());
        common.extend([name.len() as u16, 0].map(u16::to_le_bytes).concat());
        bytes.extend([b"PK\x03\x04", &common[..], name.as_bytes(), packed].concat());
        directory.extend([b"PK\x01\x02\x14\0", &common[..], &[0; 10], &place.to_le_bytes()].concat());
        directory.extend(name.as_bytes());
        count += 1;
    }
    let place = bytes.len() as u32;
    let length = directory.len() as u32;
    bytes.append(&mut directory);
    bytes.extend(b"PK\x05\x06\0\0\0\0");
    bytes.extend([count, count].map(u16::to_le_bytes).concat());
    bytes.extend([length, place].map(u32::to_le_bytes).concat());
    bytes.extend([0; 2]);
    bytes
}

/// As deflate writes what it cannot make smaller: blocks with their lengths. A compressor would take longer to set up than
/// the readers take to read.
fn deflate(content: &[u8]) -> Vec<u8> {
    const LONGEST: usize = 0xffff;
    let mut packed = Vec::new();
    let mut rest = content;
    loop {
        let (block, behind) = rest.split_at(rest.len().min(LONGEST));
        let length = block.len() as u16;
        packed.push(u8::from(behind.is_empty()));
        packed.extend([length, !length].map(u16::to_le_bytes).concat());
        packed.extend(block);
        rest = behind;
        if rest.is_empty() {
            return packed;
        }
    }
}

fn gzip(content: &[u8]) -> Vec<u8> {
    let mut file = b"\x1f\x8b\x08\0\0\0\0\0\0\xff".to_vec();
    file.extend(deflate(content));
    file.extend([checksum(content), content.len() as u32].map(u32::to_le_bytes).concat());
    file
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
