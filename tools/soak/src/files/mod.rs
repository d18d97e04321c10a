//! Files that are not what they should be, for every reader: mutated, cut, spliced, with lengths of every size, and
//! packed so that little becomes much. A reader may refuse a file or take it, but neither panic nor take more memory
//! than its limit allows.
//!
//! Files are changed inside their wrapping (archives, gzip, checksums), which is then made anew: most changes would
//! otherwise be stopped by a checksum, and never reach what reads the content.

mod mutate;
mod seeds;
mod wrap;

use crate::memory;
use crate::session::Session;
use flambeau::Device;
use flambeau::data::{CharTokenizer, Cifar10, Images, Table, TableOptions, parse_idx_with, parse_picture};
use flambeau::io::{Format, ReadLimits, Stateful, read_states};
use flambeau::nn::Parameter;
use flambeau::optim::Adam;
use seeds::Seed;

/// What reads a file. Limits are the reader's, or the default ones where it takes none.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reader {
    Safetensors,
    Pytorch,
    Npy,
    Npz,
    Idx,
    Images,
    Csv,
    Cifar,
    Picture,
    States,
    Tokenizer,
}

/// What reading takes that no limit counts: messages, a decoder's tables.
const SLACK: u64 = 256 << 10;
/// The same for pictures, whose decoders have more of them.
const PICTURE_SLACK: u64 = 2 << 20;

impl Reader {
    fn has_limits(self) -> bool {
        !matches!(self, Reader::Images | Reader::Cifar | Reader::States | Reader::Tokenizer)
    }

    fn slack(self) -> u64 {
        if self == Reader::Picture { PICTURE_SLACK } else { SLACK }
    }

    /// The most memory that reading this many bytes may take.
    fn limit(self, limits: ReadLimits, size: u64) -> u64 {
        match self {
            // Pictures have a limit of their own, whatever the file's size.
            Reader::Picture if limits == ReadLimits::default() => 512 << 20,
            _ => limits.for_file(size),
        }
    }

    fn read(self, bytes: &[u8], limits: ReadLimits, device: &Device) -> flambeau::Result<()> {
        match self {
            Reader::Safetensors => Format::Safetensors.read_with(bytes, limits, device).map(drop),
            Reader::Pytorch => Format::Pytorch.read_with(bytes, limits, device).map(drop),
            Reader::Npy => Format::Npy.read_with(bytes, limits, device).map(drop),
            Reader::Npz => Format::Npz.read_with(bytes, limits, device).map(drop),
            Reader::Idx => parse_idx_with(bytes, limits).map(drop),
            Reader::Images => Images::from_idx(bytes, bytes).map(drop),
            Reader::Csv => table(bytes, limits),
            Reader::Cifar => Cifar10::parse(bytes).map(drop),
            Reader::Picture => parse_picture(bytes, limits).map(drop),
            Reader::States => states(bytes, device),
            Reader::Tokenizer => CharTokenizer::from_json(&String::from_utf8_lossy(bytes)).map(drop),
        }
    }
}

/// A table with and without a header, and what can be made of its columns.
fn table(bytes: &[u8], limits: ReadLimits) -> flambeau::Result<()> {
    let delimiter = bytes.first().copied().filter(u8::is_ascii_punctuation).unwrap_or(b',');
    let table =
        Table::parse(bytes, TableOptions { limits, header: bytes.len().is_multiple_of(2), delimiter })?;
    // What is made of a large table is the caller's to choose, and in no reader's limit.
    if let Some(name) = table.names().first().filter(|_| table.len() < 100) {
        _ = (table.numbers(&[name]), table.classes(name)?);
    }
    Ok(())
}

/// A saved state, taken up by an optimizer of the same kind.
fn states(bytes: &[u8], device: &Device) -> flambeau::Result<()> {
    let states = read_states(bytes, device)?;
    if let Some(state) = states.get("optimizer") {
        let parameter = Parameter::new(&flambeau::Tensor::zeros([2], device));
        Adam::new([parameter], 0.1).load_state(state)?;
    }
    Ok(())
}

pub fn run(session: &mut Session) {
    // Whatever the device: readers are the same for all, and what is counted is the host's memory.
    let device = Device::cpu();
    let seeds = seeds::all();
    let bombs = seeds::bombs();
    let mut taken = 0u64;
    while let Some(case) = session.next() {
        let mut random = session.random(case);
        // Bombs take a thousand times as long to unpack.
        let Seed { reader, wrapping, content } = match random.below(10_000) {
            0 => random.pick(&bombs),
            _ => random.pick(&seeds),
        };
        let other = random.pick(&seeds);
        let inside = mutate::mutated(content, &other.content, &mut random);
        let mut file = wrapping.around(&inside);
        if random.chance(25) {
            file = mutate::mutated(&file, &other.content, &mut random);
        }
        let limits = match random.chance(50) && reader.has_limits() {
            true => ReadLimits::memory(1 << (8 + random.below(18))),
            false => ReadLimits::default(),
        };
        let before = memory::start_peak();
        let read =
            session.guard(case, &format!("{reader:?}"), || reader.read(&file, limits, &device).is_ok());
        let peak = (memory::peak() - before) as u64;
        let allowed = reader.limit(limits, file.len() as u64);
        if peak > allowed + reader.slack() {
            let size = file.len();
            session
                .fail(case, format!("{reader:?}: {size} bytes took {peak} of memory, {allowed} are allowed"));
        }
        taken += u64::from(read == Some(true));
    }
    session.note(format!("{taken} were accepted"));
}
