//! How a client shows who it is: every request carries its public key, the time, and a signature of the time's letters (ECDSA
//! over P-384 with SHA-256).

use crate::error::{FlowerError, Result};
use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use p384::ecdsa::signature::hazmat::PrehashSigner;
use p384::ecdsa::{DerSignature, Signature, SigningKey};
use p384::pkcs8::{DecodePrivateKey, EncodePublicKey, LineEnding};
use sha2::{Digest, Sha256};
use std::time::Duration;
use web_time::{SystemTime, UNIX_EPOCH};

/// A client's key pair. A new one makes a client that nobody knows yet; a server that only takes clients it knows wants one that
/// was made before and registered there.
pub struct NodeKey {
    signing: SigningKey,
    public: String,
}

impl std::fmt::Debug for NodeKey {
    fn fmt(&self, formatter: &mut std::fmt::Formatter) -> std::fmt::Result {
        formatter.debug_struct("NodeKey").field("public", &self.public).finish_non_exhaustive()
    }
}

impl NodeKey {
    /// A new key, of the system's randomness.
    pub fn generate() -> Result<NodeKey> {
        // A number that is zero or not below the curve's order (one in 2¹⁹⁰) is no key: the next one is.
        loop {
            let mut bytes = [0; 48];
            getrandom::fill(&mut bytes).map_err(|error| FlowerError::Randomness(error.to_string()))?;
            if let Ok(signing) = SigningKey::from_slice(&bytes) {
                return NodeKey::of(signing);
            }
        }
    }

    /// The key in a PEM file as `openssl ecparam -name secp384r1 -genkey | openssl pkcs8 -topk8 -nocrypt` writes it.
    pub fn from_pem(pem: &str) -> Result<NodeKey> {
        let signing = SigningKey::from_pkcs8_pem(pem).map_err(|error| FlowerError::Argument {
            what: "key",
            message: format!("{error}; it must be a private key over P-384 in PKCS #8 (BEGIN PRIVATE KEY)"),
        })?;
        NodeKey::of(signing)
    }

    fn of(signing: SigningKey) -> Result<NodeKey> {
        let public = signing.verifying_key().to_public_key_pem(LineEnding::LF);
        let public =
            public.map_err(|error| FlowerError::Argument { what: "key", message: error.to_string() })?;
        Ok(NodeKey { signing, public })
    }

    /// The public key as PEM, as servers know it.
    pub fn public_pem(&self) -> &str {
        &self.public
    }

    /// The headers of a request that is sent at this time.
    pub(crate) fn headers(&self, now: Duration) -> Result<[(&'static str, String); 3]> {
        let timestamp = timestamp(now);
        let digest = Sha256::digest(timestamp.as_bytes());
        let signature: Signature = self
            .signing
            .sign_prehash(&digest)
            .map_err(|error| FlowerError::Argument { what: "key", message: error.to_string() })?;
        let signature: DerSignature = signature.to_der();
        Ok([
            ("flwr-public-key", STANDARD.encode(&self.public)),
            ("flwr-timestamp", timestamp),
            ("flwr-signature", STANDARD.encode(signature.as_bytes())),
        ])
    }
}

/// The time since 1970.
pub(crate) fn now() -> Duration {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default()
}

/// A time since 1970 as Python's `datetime.isoformat` writes it, in UTC.
fn timestamp(now: Duration) -> String {
    let time = std::time::UNIX_EPOCH + now;
    let text = humantime::format_rfc3339_micros(time).to_string();
    format!("{}+00:00", text.trim_end_matches('Z'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use p384::ecdsa::VerifyingKey;
    use p384::ecdsa::signature::hazmat::PrehashVerifier;
    use p384::pkcs8::DecodePublicKey;

    #[test]
    fn times_are_pythons() {
        let time = Duration::new(1_763_565_902, 123_456_789);
        assert_eq!(timestamp(time), "2025-11-19T15:25:02.123456+00:00");
    }

    #[test]
    fn a_request_shows_whose_it_is() {
        let key = NodeKey::generate().unwrap();
        let [public, time, signature] =
            key.headers(Duration::from_secs(1_763_565_902)).unwrap().map(|(_, text)| text);
        let pem = String::from_utf8(STANDARD.decode(public).unwrap()).unwrap();
        assert!(pem.starts_with("-----BEGIN PUBLIC KEY-----\n"), "{pem}");
        let public = VerifyingKey::from_public_key_pem(&pem).unwrap();
        let signature = DerSignature::from_bytes(&STANDARD.decode(signature).unwrap()).unwrap();
        let signature = Signature::try_from(signature).unwrap();
        public.verify_prehash(&Sha256::digest(time.as_bytes()), &signature).unwrap();
        assert!(public.verify_prehash(&Sha256::digest(b"another time"), &signature).is_err());
        assert_ne!(NodeKey::generate().unwrap().public_pem(), pem);
    }

    /// Python's signature of a time by a key holds for ours, which is the same key.
    #[test]
    fn keys_and_signatures_are_flowers() {
        #[derive(serde::Deserialize)]
        struct Signed {
            private: String,
            public: String,
            time: String,
            signature: String,
        }
        let signed: Signed = serde_json::from_str(include_str!("../tests/data/signature.json")).unwrap();
        let key = NodeKey::from_pem(&signed.private).unwrap();
        assert_eq!(key.public_pem(), signed.public);
        let signature = DerSignature::from_bytes(&STANDARD.decode(signed.signature).unwrap()).unwrap();
        let signature = Signature::try_from(signature).unwrap();
        let digest = Sha256::digest(signed.time.as_bytes());
        key.signing.verifying_key().verify_prehash(&digest, &signature).unwrap();
    }

    #[test]
    fn what_is_no_key_is_refused() {
        let error = NodeKey::from_pem("-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n");
        assert!(error.unwrap_err().to_string().contains("P-384"));
    }
}
