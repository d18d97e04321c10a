//! Shamir's secret sharing over the field of 256 elements, byte by byte: `threshold` shares give the secret, fewer give nothing. (The
//! crates for it bring elliptic curves or large integers along; this is forty lines.)
//!
//! The secret is p(0) of a polynomial p of degree `threshold` − 1 whose other coefficients are random, share x is p(x). The field is
//! that of AES: polynomials over bits modulo x⁸ + x⁴ + x³ + x + 1.

use super::refused;
use crate::error::Result;
use chacha20::ChaCha20Rng;
use chacha20::rand_core::Rng;

type Secret = [u8; 32];

/// a · b, in the same time for all.
fn multiply(a: u8, b: u8) -> u8 {
    let (mut product, mut a) = (0, a);
    for bit in 0..8 {
        product ^= a & 0u8.wrapping_sub(b >> bit & 1);
        a = (a << 1) ^ (0x1b & 0u8.wrapping_sub(a >> 7));
    }
    product
}

/// 1 / a = a²⁵⁴, as a²⁵⁵ is 1.
fn inverse(a: u8) -> u8 {
    (0..253).fold(a, |power, _| multiply(power, a))
}

/// Shares for these places, which are not 0 and all different.
pub fn split(secret: &Secret, threshold: usize, places: &[u8], random: &mut ChaCha20Rng) -> Vec<Secret> {
    let mut coefficients = vec![*secret];
    coefficients.resize_with(threshold, || {
        let mut bytes = [0; 32];
        random.fill_bytes(&mut bytes);
        bytes
    });
    let at = |place: u8| {
        coefficients.iter().rev().fold([0u8; 32], |sum: Secret, coefficient| {
            std::array::from_fn(|byte| multiply(sum[byte], place) ^ coefficient[byte])
        })
    };
    places.iter().map(|&place| at(place)).collect()
}

/// The secret of the first `threshold` shares, which come with their places (Lagrange's interpolation at 0).
pub fn combine(shares: &[(u8, Secret)], threshold: usize) -> Result<Secret> {
    let Some(shares) = shares.get(..threshold).filter(|_| threshold > 0) else {
        return Err(refused(format!("{} shares where {threshold} are needed", shares.len())));
    };
    let mut secret = [0; 32];
    for (number, (place, share)) in shares.iter().enumerate() {
        let others = shares.iter().enumerate().filter(|(other, _)| *other != number);
        let mut weight = 1;
        for (_, (other, _)) in others {
            if other == place {
                return Err(refused(format!("share {place} comes twice")));
            }
            weight = multiply(weight, multiply(*other, inverse(other ^ place)));
        }
        secret.iter_mut().zip(share).for_each(|(sum, &byte)| *sum ^= multiply(byte, weight));
    }
    Ok(secret)
}

#[cfg(test)]
mod tests {
    use super::*;
    use chacha20::rand_core::SeedableRng;

    /// The example of FIPS 197, section 4.2, and the field's laws for all elements.
    #[test]
    fn the_field_is_that_of_aes() {
        assert_eq!(multiply(0x57, 0x83), 0xc1);
        assert_eq!(multiply(0x57, 0x13), 0xfe);
        for a in 1..=255 {
            assert_eq!(multiply(a, inverse(a)), 1, "{a}");
        }
    }

    #[test]
    fn a_threshold_of_shares_gives_the_secret() {
        let mut random = ChaCha20Rng::from_seed([3; 32]);
        let secret: Secret = std::array::from_fn(|byte| byte as u8 * 7);
        let places: Vec<u8> = (1..=9).collect();
        let shares: Vec<(u8, Secret)> =
            places.iter().copied().zip(split(&secret, 5, &places, &mut random)).collect();
        for start in 0..5 {
            assert_eq!(combine(&shares[start..], 5).unwrap(), secret);
        }
        assert_ne!(combine(&shares, 4).unwrap(), secret);
        assert!(combine(&shares[..4], 5).is_err() && combine(&[], 0).is_err());
        assert!(combine(&[shares[0], shares[0]], 2).is_err());
    }
}
