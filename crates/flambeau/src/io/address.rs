//! Files from the web: in browsers and in Node by `fetch`, elsewhere with the cargo feature `download`.

use super::convert::Loaded;
use super::format::Format;
use crate::device::Device;
use crate::error::Result;

/// The most that a file of tensors may have: more is an attack or a mistake.
const MAX_BYTES: u64 = 1 << 32;

/// The bytes at an address (`https://…`; in a page also one relative to it), at most `limit` of them.
///
/// Outside of browsers this takes the cargo feature `download`, without which it is an error that says so, and waits on the thread that
/// polls it.
///
/// ```no_run
/// # flambeau::block_on(async {
/// let text = flambeau::io::fetch("https://example.org/poems.txt", 1 << 20).await?;
/// # Ok::<(), flambeau::Error>(()) }).unwrap();
/// ```
pub async fn fetch(address: &str, limit: u64) -> Result<Vec<u8>> {
    fetched(address, limit).await
}

#[cfg(target_arch = "wasm32")]
use crate::browser::fetch as fetched;

#[cfg(all(not(target_arch = "wasm32"), feature = "download"))]
async fn fetched(address: &str, limit: u64) -> Result<Vec<u8>> {
    let failed = |cause: ureq::Error| crate::error::Error::Io {
        path: address.to_owned(),
        message: match cause {
            ureq::Error::BodyExceedsLimit(_) => format!("more than the limit of {limit} bytes"),
            other => other.to_string(),
        },
    };
    let mut response = ureq::get(address).call().map_err(failed)?;
    response.body_mut().with_config().limit(limit).read_to_vec().map_err(failed)
}

#[cfg(all(not(target_arch = "wasm32"), not(feature = "download")))]
async fn fetched(address: &str, _: u64) -> Result<Vec<u8>> {
    let message = "fetching it takes the cargo feature `download`".into();
    Err(crate::error::Error::Io { path: address.to_owned(), message })
}

/// The tensors of a file at an address, in the format of its ending: see [`fetch`] and [`Format`].
///
/// ```no_run
/// # use flambeau::prelude::*;
/// # flambeau::block_on(async {
/// use flambeau::{io, io::Matching, nn::Linear};
/// let device = Device::best().await;
/// let layer = Linear::new(4, 2, &device);
/// let weights = io::load_url("https://example.org/layer.safetensors", &device).await?.tensors;
/// layer.load_state_dict(&weights, Matching::Strict)?;
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
pub async fn load_url(address: &str, device: &Device) -> Result<Loaded> {
    let path = address.split(['?', '#']).next().unwrap_or_default();
    let format = Format::of(path)?;
    let bytes = fetch(address, MAX_BYTES).await?;
    format.parse(address, &bytes, Default::default(), device)
}

#[cfg(all(test, not(target_arch = "wasm32")))]
mod tests {
    use super::*;
    use pollster::block_on;

    #[test]
    fn what_the_ending_does_not_say_is_not_fetched() {
        let error = block_on(load_url("https://localhost/weights.exe?x=.pt", &Device::cpu())).unwrap_err();
        assert!(error.to_string().contains(".safetensors"), "{error}");
    }

    #[cfg(not(feature = "download"))]
    #[test]
    fn without_the_feature_it_is_named() {
        let error = block_on(fetch("https://localhost/x", 1)).unwrap_err().to_string();
        assert_eq!(error, "https://localhost/x: fetching it takes the cargo feature `download`");
    }

    #[cfg(feature = "download")]
    #[test]
    fn tensors_come_from_an_address() {
        use crate::io::write_npy;
        use crate::tensor::Tensor;
        use std::io::{Read, Write};
        use std::net::TcpListener;
        let serve = |status: &'static str, body: Vec<u8>| {
            let listener = TcpListener::bind("127.0.0.1:0").unwrap();
            let address = listener.local_addr().unwrap();
            std::thread::spawn(move || {
                let (mut stream, _) = listener.accept().unwrap();
                let _ = stream.read(&mut [0; 4096]).unwrap();
                let size = body.len();
                write!(stream, "HTTP/1.1 {status}\r\nContent-Length: {size}\r\nConnection: close\r\n\r\n")
                    .unwrap();
                stream.write_all(&body).unwrap();
            });
            format!("http://{address}/x.npy?version=2")
        };
        let x = Tensor::new([1.0, 2.0], &Device::cpu());
        let file = block_on(write_npy(&x)).unwrap();
        let loaded = block_on(load_url(&serve("200 OK", file.clone()), &Device::cpu())).unwrap();
        assert_eq!(loaded.tensors.get("array").unwrap().to_string(), x.to_string());
        let error = block_on(fetch(&serve("200 OK", file), 10)).unwrap_err().to_string();
        assert!(error.ends_with("more than the limit of 10 bytes"), "{error}");
        let error = block_on(fetch(&serve("404 Not Found", Vec::new()), 10)).unwrap_err().to_string();
        assert!(error.contains("404"), "{error}");
    }
}
