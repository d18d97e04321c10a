//! Updates as they travel in a round of DiLoCo: as they are, as bytes, or only the largest.

use crate::error::{Error, Result};

/// How what a member sends in a round is made smaller. What is lost is kept and added to the next round's update (error
/// feedback), so that nothing is lost for good: what is sent and what is kept make up the update, exactly.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub enum Compression {
    /// 4 bytes a number.
    #[default]
    None,
    /// 1 byte a number, and one scale for each block of so many: numbers become multiples of max|x| / 127.
    Int8 {
        /// Numbers that share a scale.
        block: usize,
    },
    /// This share of the numbers, those of the largest magnitude, with 8 bytes each.
    TopK {
        /// Above 0, at most 1.
        share: f64,
    },
}

impl Compression {
    /// [`Int8`](Compression::Int8) with blocks of 256.
    pub const INT8: Compression = Compression::Int8 { block: 256 };

    pub(super) fn check(self) -> Result<()> {
        let message = match self {
            Compression::Int8 { block: 0 } => "blocks of 0 numbers; take 256".to_owned(),
            Compression::TopK { share } if !(share > 0.0 && share <= 1.0) => {
                format!("a share of {share}; it must be above 0 and at most 1, e.g. 0.01")
            }
            _ => return Ok(()),
        };
        Err(Error::argument("Compression", message))
    }

    /// The numbers, which are finite, in fewer bytes.
    pub(super) fn pack(self, numbers: &[f32]) -> Vec<u8> {
        match self {
            Compression::None => bytemuck::cast_slice(numbers).to_vec(),
            Compression::Int8 { block } => pack_int8(numbers, block),
            Compression::TopK { share } => pack_largest(numbers, share),
        }
    }

    /// The numbers in `bytes`: `length` of them. None if they are not what [`pack`](Compression::pack) makes.
    pub(super) fn unpack(self, bytes: &[u8], length: usize) -> Option<Vec<f32>> {
        match self {
            Compression::None => (bytes.len() == 4 * length).then(|| bytemuck::pod_collect_to_vec(bytes)),
            Compression::Int8 { block } => unpack_int8(bytes, length, block),
            Compression::TopK { share } => unpack_largest(bytes, length, share),
        }
    }
}

/// Block by block: the scale as f32, then the multiples.
fn pack_int8(numbers: &[f32], block: usize) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(numbers.len() + 4 * numbers.len().div_ceil(block));
    for numbers in numbers.chunks(block) {
        let largest = numbers.iter().fold(0.0_f32, |largest, x| largest.max(x.abs()));
        // Subnormal scales would be too coarse; such numbers wait until they have added up.
        let scale = Some(largest / 127.0).filter(|scale| scale.is_normal()).unwrap_or(0.0);
        bytes.extend_from_slice(&scale.to_le_bytes());
        bytes.extend(numbers.iter().map(|&x| match scale {
            0.0 => 0,
            // In f64 a quotient of two f32 is on the right side of every half.
            scale => (f64::from(x) / f64::from(scale)).round().clamp(-127.0, 127.0) as i8 as u8,
        }));
    }
    bytes
}

fn unpack_int8(bytes: &[u8], length: usize, block: usize) -> Option<Vec<f32>> {
    if bytes.len() != length + 4 * length.div_ceil(block) {
        return None;
    }
    let mut numbers = Vec::with_capacity(length);
    for bytes in bytes.chunks(block + 4) {
        let (scale, multiples) = bytes.split_first_chunk::<4>()?;
        let scale = f32::from_le_bytes(*scale);
        numbers.extend(multiples.iter().map(|&byte| f32::from(byte as i8) * scale));
    }
    Some(numbers)
}

/// How many of `length` numbers are sent.
fn largest_count(length: usize, share: f64) -> usize {
    ((length as f64 * share).ceil() as usize).min(length)
}

/// Pairs of place (u32) and value (f32), by place.
fn pack_largest(numbers: &[f32], share: f64) -> Vec<u8> {
    let count = largest_count(numbers.len(), share);
    let mut places: Vec<u32> = (0..numbers.len() as u32).collect();
    if count < places.len() {
        let magnitude = |place: u32| numbers[place as usize].abs();
        places.select_nth_unstable_by(count, |&a, &b| magnitude(b).total_cmp(&magnitude(a)).then(a.cmp(&b)));
        places.truncate(count);
        places.sort_unstable();
    }
    let pair = |place: u32| [place.to_le_bytes(), numbers[place as usize].to_le_bytes()].concat();
    places.into_iter().flat_map(pair).collect()
}

fn unpack_largest(bytes: &[u8], length: usize, share: f64) -> Option<Vec<f32>> {
    if bytes.len() != 8 * largest_count(length, share) {
        return None;
    }
    let mut numbers = vec![0.0; length];
    let (pairs, _) = bytes.as_chunks::<8>();
    for pair in pairs {
        let (place, value) = pair.split_first_chunk::<4>()?;
        let value = f32::from_le_bytes(value.try_into().ok()?);
        *numbers.get_mut(u32::from_le_bytes(*place) as usize)? = value;
    }
    Some(numbers)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::HostRandom;
    use crate::rng::Generator;

    /// Numbers of very different magnitude, with zeros among them.
    fn numbers() -> Vec<f32> {
        let mut random = HostRandom::new(&Generator::new(3));
        let number = |k: i32| {
            ((random.uniform() - 0.5) * 10_f64.powi(k % 9 - 4)) as f32 * f32::from(u8::from(k % 11 > 0))
        };
        (0..1000).map(number).collect()
    }

    #[test]
    fn what_is_sent_and_what_is_kept_make_up_the_update_exactly() {
        for compression in [
            Compression::None,
            Compression::INT8,
            Compression::Int8 { block: 7 },
            Compression::TopK { share: 0.05 },
            Compression::TopK { share: 1.0 },
        ] {
            let update = numbers();
            let sent = compression.unpack(&compression.pack(&update), update.len()).expect("it was packed");
            for (k, (&update, &sent)) in update.iter().zip(&sent).enumerate() {
                let kept = update - sent;
                assert_eq!(sent + kept, update, "{compression:?}, number {k}");
                assert_eq!(
                    f64::from(sent) + f64::from(kept),
                    f64::from(update),
                    "{compression:?}, number {k}"
                );
            }
        }
    }

    #[test]
    fn int8_is_off_by_half_a_step_at_most() {
        let update = numbers();
        let sent =
            Compression::INT8.unpack(&Compression::INT8.pack(&update), update.len()).expect("it was packed");
        for (update, sent) in update.chunks(256).zip(sent.chunks(256)) {
            let step = update.iter().fold(0.0_f32, |largest, x| largest.max(x.abs())) / 127.0;
            assert!(update.iter().zip(sent).all(|(x, y)| (x - y).abs() <= 0.5001 * step));
        }
        assert_eq!(Compression::INT8.pack(&update).len(), 1000 + 4 * 4);
    }

    #[test]
    fn the_largest_are_sent() {
        let top = Compression::TopK { share: 0.5 };
        let packed = top.pack(&[0.5, -3.0, 0.0, 2.0]);
        assert_eq!(packed.len(), 16);
        assert_eq!(top.unpack(&packed, 4), Some(vec![0.0, -3.0, 0.0, 2.0]));
    }

    #[test]
    fn bytes_of_another_length_or_place_are_refused() {
        assert_eq!(Compression::None.unpack(&[0; 7], 2), None);
        assert_eq!(Compression::INT8.unpack(&[0; 9], 4), None);
        let top = Compression::TopK { share: 0.25 };
        assert_eq!(top.unpack(&[9, 0, 0, 0, 0, 0, 0, 0], 4), None);
        assert_eq!(top.unpack(&[0; 16], 4), None, "two numbers instead of one");
    }
}
