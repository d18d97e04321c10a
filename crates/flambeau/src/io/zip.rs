//! Zip archives in memory, as far as PyTorch and NumPy use them: members stored or deflated, no encryption, one volume,
//! sizes over 4 GiB (zip64).
//!
//! Every number in an archive is taken for a claim: places are checked before they are read, sizes and the reader's budget
//! before memory is taken, checksums before anything is believed.

use super::convert::broken;
use super::limits::Budget;
use crate::error::{Error, Result};
use miniz_oxide::inflate::decompress_slice_iter_to_slice;
use std::borrow::Cow;
use std::collections::HashMap;

const LOCAL: u32 = 0x0403_4b50;
const CENTRAL: u32 = 0x0201_4b50;
const END: u32 = 0x0605_4b50;
const END64: u32 = 0x0606_4b50;
const LOCATOR64: u32 = 0x0706_4b50;
/// The field that says "see the zip64 record".
const ELSEWHERE: u64 = 0xffff_ffff;
const ZIP64_FIELD: u16 = 1;
/// Deflate cannot do better than this.
const MAX_RATIO: u64 = 1032;
/// What an entry of the directory takes in memory, beside its name.
const ENTRY: usize = 320;

/// A zip archive that is read.
pub(super) struct Archive<'a> {
    source: &'a str,
    bytes: &'a [u8],
    budget: &'a Budget,
    members: Vec<Member>,
    by_name: HashMap<String, usize>,
}

struct Member {
    name: String,
    deflated: bool,
    checksum: u32,
    packed: u64,
    size: u64,
    local: u64,
}

/// A place in the archive from which numbers are read.
struct Cursor<'a> {
    rest: &'a [u8],
}

impl<'a> Cursor<'a> {
    fn at(bytes: &'a [u8], place: u64) -> Option<Cursor<'a>> {
        Some(Cursor { rest: bytes.get(usize::try_from(place).ok()?..)? })
    }

    fn take(&mut self, count: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(count)?;
        self.rest = rest;
        Some(taken)
    }

    fn u16(&mut self) -> Option<u16> {
        Some(u16::from_le_bytes(self.take(2)?.try_into().ok()?))
    }

    fn u32(&mut self) -> Option<u32> {
        Some(u32::from_le_bytes(self.take(4)?.try_into().ok()?))
    }

    fn u64(&mut self) -> Option<u64> {
        Some(u64::from_le_bytes(self.take(8)?.try_into().ok()?))
    }
}

/// Does this begin as a zip archive does?
pub(super) fn is_zip(bytes: &[u8]) -> bool {
    bytes.starts_with(b"PK\x03\x04") || bytes.starts_with(b"PK\x05\x06")
}

impl<'a> Archive<'a> {
    /// Reads the directory; `source` names the file in errors.
    pub fn open(source: &'a str, bytes: &'a [u8], budget: &'a Budget) -> Result<Archive<'a>> {
        let invalid = |message: &str| broken(source, format!("not a whole zip archive: {message}"));
        let (count, place) = directory(bytes).ok_or_else(|| invalid("its directory is not there"))?;
        let mut cursor = Cursor::at(bytes, place).ok_or_else(|| invalid("its directory is not there"))?;
        let mut members = Vec::new();
        let mut by_name = HashMap::new();
        let mut packed: u64 = 0;
        for _ in 0..count {
            let member = read_entry(&mut cursor, budget)
                .ok_or_else(|| invalid("its directory is damaged"))?
                .map_err(|message| broken(source, message))?;
            packed = packed.saturating_add(member.packed);
            if by_name.insert(member.name.clone(), members.len()).is_some() {
                return Err(broken(source, format!("two members are named `{}`", member.name)));
            }
            members.push(member);
        }
        if packed > bytes.len() as u64 {
            return Err(invalid("its members would share their bytes"));
        }
        Ok(Archive { source, bytes, budget, members, by_name })
    }

    /// The members' names, in the directory's order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.members.iter().map(|member| member.name.as_str())
    }

    /// A member's unpacked size as the directory has it.
    pub fn size(&self, name: &str) -> Option<u64> {
        self.by_name.get(name).map(|&index| self.members[index].size)
    }

    /// A member's bytes. If they had to be unpacked, they are taken from the budget.
    pub fn read(&self, name: &str) -> Result<Cow<'a, [u8]>> {
        let wrong = |message: String| broken(self.source, format!("member `{name}` {message}"));
        let member = self
            .by_name
            .get(name)
            .map(|&index| &self.members[index])
            .ok_or_else(|| wrong("is missing".into()))?;
        let packed = self.packed(member).ok_or_else(|| wrong("lies outside the archive".into()))?;
        if member.size > member.packed.saturating_mul(MAX_RATIO) {
            return Err(wrong(format!("claims {} bytes from {}", member.size, member.packed)));
        }
        let content = if member.deflated {
            let size = usize::try_from(member.size).map_err(|_| wrong("is too large".into()))?;
            Cow::Owned(
                unpack(packed, size, self.budget)
                    .map_err(|message| wrong(format!("cannot be unpacked: {message}")))?,
            )
        } else {
            Cow::Borrowed(packed)
        };
        if content.len() as u64 != member.size || crc32fast::hash(&content) != member.checksum {
            return Err(wrong("is damaged: its size or checksum is not as the directory has it".into()));
        }
        Ok(content)
    }

    fn packed(&self, member: &Member) -> Option<&'a [u8]> {
        let mut cursor = Cursor::at(self.bytes, member.local)?;
        if cursor.u32()? != LOCAL {
            return None;
        }
        cursor.take(22)?;
        let (name, extra) = (cursor.u16()?, cursor.u16()?);
        cursor.take(usize::from(name) + usize::from(extra))?;
        cursor.take(usize::try_from(member.packed).ok()?)
    }
}

/// The number of entries and the place of the directory, from the record at the archive's end.
fn directory(bytes: &[u8]) -> Option<(u64, u64)> {
    // The record is 22 bytes, then a comment that ends the file.
    let last = bytes.len().checked_sub(22)?;
    let end = (last.saturating_sub(0xffff)..=last).rev().find(|&place| {
        let comment = bytes.len() - place - 22;
        bytes[place..].starts_with(&END.to_le_bytes())
            && bytes[place + 20..place + 22] == (comment as u16).to_le_bytes()
    })?;
    let mut record = Cursor { rest: &bytes[end..] };
    record.take(10)?;
    let count = u64::from(record.u16()?);
    record.take(4)?;
    let place = u64::from(record.u32()?);
    if count != 0xffff && place != ELSEWHERE {
        return Some((count, place));
    }
    let mut locator = Cursor::at(bytes, (end as u64).checked_sub(20)?)?;
    if locator.u32()? != LOCATOR64 {
        return Some((count, place));
    }
    locator.take(4)?;
    let mut record = Cursor::at(bytes, locator.u64()?)?;
    if record.u32()? != END64 {
        return None;
    }
    record.take(28)?;
    let count = record.u64()?;
    record.take(8)?;
    Some((count, record.u64()?))
}

/// The content of a deflated member, which has this size.
fn unpack(packed: &[u8], size: usize, budget: &Budget) -> std::result::Result<Vec<u8>, String> {
    let mut unpacked = budget.buffer(size)?;
    unpacked.resize(size, 0);
    let written = decompress_slice_iter_to_slice(&mut unpacked, std::iter::once(packed), false, true);
    match written {
        Ok(written) => unpacked.truncate(written),
        Err(status) => return Err(format!("{status:?}")),
    }
    Ok(unpacked)
}

/// One entry of the directory: none if it is cut off, an error if it is of a kind that is not read.
fn read_entry(cursor: &mut Cursor, budget: &Budget) -> Option<std::result::Result<Member, String>> {
    if cursor.u32()? != CENTRAL {
        return None;
    }
    cursor.take(4)?;
    let (flags, method) = (cursor.u16()?, cursor.u16()?);
    cursor.take(4)?;
    let checksum = cursor.u32()?;
    let (mut packed, mut size) = (u64::from(cursor.u32()?), u64::from(cursor.u32()?));
    let (name, extra, comment) = (cursor.u16()?, cursor.u16()?, cursor.u16()?);
    cursor.take(8)?;
    let mut local = u64::from(cursor.u32()?);
    let name = cursor.take(name.into())?;
    let mut extra = Cursor { rest: cursor.take(extra.into())? };
    cursor.take(comment.into())?;
    while let (Some(field), Some(length)) = (extra.u16(), extra.u16()) {
        let mut content = Cursor { rest: extra.take(length.into())? };
        if field == ZIP64_FIELD {
            for number in [&mut size, &mut packed, &mut local] {
                if *number == ELSEWHERE {
                    *number = content.u64()?;
                }
            }
        }
    }
    if let Err(message) = budget.take(ENTRY + 2 * name.len()) {
        return Some(Err(message));
    }
    let Ok(name) = std::str::from_utf8(name).map(str::to_owned) else {
        return Some(Err("a member's name is not UTF-8".into()));
    };
    if flags & 1 != 0 {
        return Some(Err(format!("member `{name}` is encrypted")));
    }
    if !matches!(method, 0 | 8) {
        return Some(Err(format!("member `{name}` is packed with method {method}; only deflate is read")));
    }
    Some(Ok(Member { name, deflated: method == 8, checksum, packed, size, local }))
}

/// A zip archive that is written, members stored as they are, each beginning at a multiple of 64 bytes as PyTorch's do.
pub(super) struct Builder {
    bytes: Vec<u8>,
    directory: Vec<u8>,
    count: u64,
    /// Numbers of this size and above go to zip64 fields.
    large: u64,
}

impl Builder {
    pub fn new() -> Builder {
        Builder { bytes: Vec::new(), directory: Vec::new(), count: 0, large: ELSEWHERE }
    }

    pub fn add(&mut self, name: &str, content: &[u8]) -> Result<()> {
        if name.len() > usize::from(u16::MAX) {
            return Err(Error::State(format!(
                "a name of {} bytes is too long for a zip archive",
                name.len()
            )));
        }
        const ALIGNMENT: usize = 64;
        let (local, size, checksum) =
            (self.bytes.len() as u64, content.len() as u64, crc32fast::hash(content));
        // Zip64 fields where sizes need them, then a field of blanks up to the alignment. (PyTorch's own is named FB.)
        let mut extra = Vec::new();
        if size >= self.large {
            extra.extend([ZIP64_FIELD.to_le_bytes(), 16u16.to_le_bytes()].concat());
            extra.extend([size.to_le_bytes(), size.to_le_bytes()].concat());
        }
        let unpadded = self.bytes.len() + 30 + name.len() + extra.len() + 4;
        let padding = unpadded.next_multiple_of(ALIGNMENT) - unpadded;
        extra.extend(b"FB");
        extra.extend((padding as u16).to_le_bytes());
        extra.extend(std::iter::repeat_n(b'Z', padding));

        self.bytes.extend(LOCAL.to_le_bytes());
        self.bytes.extend(self.common(name, size, checksum, extra.len()));
        self.bytes.extend(name.as_bytes());
        self.bytes.extend(extra);
        self.bytes.extend(content);

        let mut large = Vec::new();
        if size >= self.large {
            large.extend([size.to_le_bytes(), size.to_le_bytes()].concat());
        }
        if local >= self.large {
            large.extend(local.to_le_bytes());
        }
        if !large.is_empty() {
            large.splice(0..0, [ZIP64_FIELD.to_le_bytes(), (large.len() as u16).to_le_bytes()].concat());
        }
        self.directory.extend(CENTRAL.to_le_bytes());
        self.directory.extend(self.version());
        let common = self.common(name, size, checksum, large.len());
        self.directory.extend(common);
        // No comment, volume 0, no attributes.
        self.directory.extend([0; 10]);
        self.directory.extend(self.short(local));
        self.directory.extend(name.as_bytes());
        self.directory.extend(large);
        self.count += 1;
        Ok(())
    }

    /// What local and central headers share, from the version needed to the length of the extra fields.
    fn common(&self, name: &str, size: u64, checksum: u32, extra: usize) -> Vec<u8> {
        const UTF8_NAMES: u16 = 1 << 11;
        const MIDNIGHT: [u8; 2] = [0, 0];
        const DAY_ONE_OF_1980: [u8; 2] = [0x21, 0];
        let mut header = self.version().to_vec();
        header.extend(UTF8_NAMES.to_le_bytes());
        header.extend([0; 2]);
        header.extend([MIDNIGHT, DAY_ONE_OF_1980].concat());
        header.extend(checksum.to_le_bytes());
        header.extend([self.short(size), self.short(size)].concat());
        header.extend([(name.len() as u16).to_le_bytes(), (extra as u16).to_le_bytes()].concat());
        header
    }

    fn version(&self) -> [u8; 2] {
        45u16.to_le_bytes()
    }

    fn short(&self, number: u64) -> [u8; 4] {
        let number = if number >= self.large { ELSEWHERE } else { number };
        (number as u32).to_le_bytes()
    }

    /// The whole archive.
    pub fn finish(mut self) -> Vec<u8> {
        let (place, length) = (self.bytes.len() as u64, self.directory.len() as u64);
        self.bytes.append(&mut self.directory);
        let large = place >= self.large || self.count >= self.large.min(0xffff);
        if large {
            let end = self.bytes.len() as u64;
            self.bytes.extend(END64.to_le_bytes());
            self.bytes.extend(44u64.to_le_bytes());
            self.bytes.extend([self.version(), self.version()].concat());
            self.bytes.extend([0; 8]);
            for number in [self.count, self.count, length, place] {
                self.bytes.extend(number.to_le_bytes());
            }
            self.bytes.extend(LOCATOR64.to_le_bytes());
            self.bytes.extend([0; 4]);
            self.bytes.extend(end.to_le_bytes());
            self.bytes.extend(1u32.to_le_bytes());
        }
        let count = if large { 0xffff } else { self.count as u16 };
        let (length, place) = if large { (ELSEWHERE, ELSEWHERE) } else { (length, place) };
        self.bytes.extend(END.to_le_bytes());
        self.bytes.extend([0; 4]);
        self.bytes.extend([count.to_le_bytes(), count.to_le_bytes()].concat());
        self.bytes.extend([(length as u32).to_le_bytes(), (place as u32).to_le_bytes()].concat());
        self.bytes.extend([0; 2]);
        self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::io::limits::ReadLimits;
    use crate::io::testing::torture;

    fn read_all(bytes: &[u8]) -> Result<Vec<Vec<u8>>> {
        let budget = Budget::new(ReadLimits::default(), bytes.len());
        let archive = Archive::open("file", bytes, &budget)?;
        archive.names().map(|name| archive.read(name).map(Cow::into_owned)).collect()
    }

    fn example(large: u64) -> Vec<u8> {
        let mut builder = Builder { large, ..Builder::new() };
        builder.add("a/first", b"one").unwrap();
        builder.add("a/second", &[7; 100]).unwrap();
        builder.add("a/é", b"").unwrap();
        builder.finish()
    }

    #[test]
    fn small_and_large_archives() {
        for large in [ELSEWHERE, 0] {
            let bytes = example(large);
            let budget = Budget::new(ReadLimits::default(), bytes.len());
            let archive = Archive::open("file", &bytes, &budget).unwrap();
            assert_eq!(archive.names().collect::<Vec<_>>(), ["a/first", "a/second", "a/é"]);
            assert_eq!(&*archive.read("a/first").unwrap(), b"one");
            let second = archive.read("a/second").unwrap();
            assert_eq!(&*second, [7; 100]);
            assert_eq!((second.as_ptr() as usize - bytes.as_ptr() as usize) % 64, 0);
            assert_eq!(archive.size("a/é"), Some(0));
            let error = archive.read("b").unwrap_err().to_string();
            assert_eq!(error, "file: member `b` is missing");
        }
    }

    #[test]
    fn truncated_and_altered_archives() {
        torture(&example(ELSEWHERE), read_all);
        torture(&example(0), read_all);
    }

    #[test]
    fn deflated_members_have_the_size_they_claim() {
        let packed = miniz_oxide::deflate::compress_to_vec(&[0; 5000], 6);
        let archive = |size: u32| {
            let mut builder = Builder::new();
            builder.add("m", &packed).unwrap();
            let mut bytes = builder.finish();
            let central = bytes.windows(4).position(|word| word == CENTRAL.to_le_bytes()).unwrap();
            bytes[central + 10] = 8;
            bytes[central + 24..central + 28].copy_from_slice(&size.to_le_bytes());
            bytes[central + 16..central + 20].copy_from_slice(&crc32fast::hash(&[0; 5000]).to_le_bytes());
            bytes
        };
        assert_eq!(read_all(&archive(5000)).unwrap(), [[0; 5000]]);
        for size in [0, 4999, 5001, 0x7fff_ffff] {
            assert!(read_all(&archive(size)).is_err(), "{size}");
        }
    }
}
