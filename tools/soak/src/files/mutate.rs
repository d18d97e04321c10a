//! Changes to files: those that break parsers.

use crate::random::Random;

/// Numbers that lengths and counts are set to.
const EXTREMES: &[u64] = &[
    0,
    1,
    2,
    0x7f,
    0x80,
    0xff,
    0x100,
    0x7fff,
    0xffff,
    0x1_0000,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
    0x1_0000_0000,
    1 << 40,
    1 << 62,
    i64::MAX as u64,
    1 << 63,
    u64::MAX - 7,
    u64::MAX,
];

/// Texts that stand for numbers and beginnings in formats of text.
const TOKENS: &[&[u8]] = &[
    b"0",
    b"-1",
    b"1e999",
    b"NaN",
    b"4611686018427387904",
    b"18446744073709551615",
    b"99999999999999999999999999",
    b"null",
    b"\"",
    b"{",
    b"[[[[[[[[",
    b",,,,",
    b"(",
    b"\n",
    b"\\u0000",
    b"\xff\xfe",
    b"PK\x01\x02",
    b"PK\x05\x06",
    b"\x1f\x8b",
    // Pickles: a mark, its items as a tuple, a call, what is remembered, a global, an integer.
    b"(",
    b"t",
    b"R",
    b"q\x00h\x00",
    b"cos\nsystem\n",
    b"\x8a\x08\xff\xff\xff\xff\xff\xff\xff\x7f",
];

/// Some changes to a file; none at all now and then.
pub fn mutated(file: &[u8], other: &[u8], random: &mut Random) -> Vec<u8> {
    let mut bytes = file.to_vec();
    for _ in 0..random.below(5) {
        change(&mut bytes, other, random);
    }
    bytes
}

fn change(bytes: &mut Vec<u8>, other: &[u8], random: &mut Random) {
    if bytes.is_empty() {
        return bytes.extend_from_slice(other);
    }
    let place = random.below(bytes.len());
    // Places and lengths within the file.
    let mut range = |limit: usize| {
        let start = random.below(bytes.len());
        start..(start + 1 + random.below(limit)).min(bytes.len())
    };
    let part = range(16);
    let long = range(1 << 10);
    match random.below(12) {
        0 => bytes[place] ^= 1 << random.below(8),
        1 => bytes[place] = random.bits() as u8,
        2 => bytes[place] = *random.pick(&[0, 1, 0x7f, 0x80, 0xff]),
        3 => bytes.truncate(place),
        4 => drop(bytes.drain(part)),
        5 => {
            let copy = bytes[part].to_vec();
            bytes.splice(place..place, copy);
        }
        6 => {
            let copy = bytes[long].repeat(1 + random.below(8));
            bytes.splice(place..place, copy);
        }
        7 | 8 => {
            let (width, number) = (*random.pick(&[2, 4, 8]), *random.pick(EXTREMES));
            let number = if random.chance(30) { number.wrapping_add(bytes.len() as u64) } else { number };
            let little = number.to_le_bytes();
            let big = number.to_be_bytes();
            let word = if random.chance(70) { &little[..width] } else { &big[8 - width..] };
            let end = (place + width).min(bytes.len());
            bytes[place..end].copy_from_slice(&word[..end - place]);
        }
        9 => {
            let token = *random.pick(TOKENS);
            let end = (place + token.len() * random.below(2)).min(bytes.len());
            bytes.splice(place..end, token.iter().copied());
        }
        10 => {
            // The end of another file behind the beginning of this one.
            bytes.truncate(place);
            bytes.extend_from_slice(&other[random.below(other.len().max(1)).min(other.len())..]);
        }
        _ => digits(bytes, place, random),
    }
}

/// Another number in the place of the first one behind a place.
fn digits(bytes: &mut Vec<u8>, place: usize, random: &mut Random) {
    let Some(start) = bytes[place..].iter().position(u8::is_ascii_digit).map(|start| place + start) else {
        return;
    };
    let length = bytes[start..].iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = match random.chance(50) {
        true => random.pick(EXTREMES).to_string(),
        false => random.below(1000).to_string(),
    };
    bytes.splice(start..start + length, number.into_bytes());
}
