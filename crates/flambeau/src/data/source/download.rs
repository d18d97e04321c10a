//! Fetching a URL into a file: to a temporary name beside it first, checked, then renamed.

use super::Source;
use crate::data::origin::hexadecimal;
use crate::error::Result;
use sha2::{Digest, Sha256};
use std::fs::{self, File};
use std::io::{Read, Write};
use std::path::Path;

impl Source {
    pub(super) fn fetch(&self, url: &str) -> Result<()> {
        let error = |message: String| self.origin().error(format!("{url}: {message}"));
        if let Some(folder) = self.path.parent() {
            fs::create_dir_all(folder).map_err(|cause| error(cause.to_string()))?;
        }
        let mut partial = self.path.as_os_str().to_owned();
        partial.push(format!(".{}.part", std::process::id()));
        let partial = Path::new(&partial);
        let fetched = self
            .fetch_to(url, partial)
            .and_then(|()| fs::rename(partial, &self.path).map_err(|cause| cause.to_string()));
        fetched.map_err(|message| {
            // What was fetched is of no use; if it cannot be removed, the next attempt writes over it.
            let _ = fs::remove_file(partial);
            error(message)
        })
    }

    fn fetch_to(&self, url: &str, partial: &Path) -> std::result::Result<(), String> {
        let response = ureq::get(url).call().map_err(|cause| cause.to_string())?;
        let mut body = response.into_body();
        let total = body.content_length();
        let too_large = || format!("more than the limit of {} bytes", self.limit);
        if total.is_some_and(|total| total > self.limit) {
            return Err(too_large());
        }
        let mut stream = body.as_reader();
        let mut file = File::create(partial).map_err(|cause| cause.to_string())?;
        let mut digest = Sha256::new();
        let mut buffer = vec![0; 1 << 16];
        let mut fetched = 0;
        loop {
            let count = stream.read(&mut buffer).map_err(|cause| cause.to_string())?;
            if count == 0 {
                break;
            }
            fetched += count as u64;
            if fetched > self.limit {
                return Err(too_large());
            }
            digest.update(&buffer[..count]);
            file.write_all(&buffer[..count]).map_err(|cause| cause.to_string())?;
            if let Some(report) = &self.progress {
                report(fetched, total);
            }
        }
        if total.is_some_and(|total| total != fetched) {
            return Err(format!("the connection ended after {fetched} of {} bytes", total.unwrap_or(0)));
        }
        let found = hexadecimal(&digest.finalize());
        match &self.sha256 {
            Some(expected) if !found.eq_ignore_ascii_case(expected) => {
                Err(format!("SHA-256 {expected} was expected, {found} was fetched"))
            }
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::TcpListener;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicU64, Ordering::Relaxed};

    /// A server that answers one request with these bytes, and its address.
    fn serve(body: &'static [u8]) -> String {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        std::thread::spawn(move || {
            let (mut stream, _) = listener.accept().unwrap();
            let mut request = [0; 4096];
            let _ = stream.read(&mut request).unwrap();
            let head =
                format!("HTTP/1.1 200 OK\r\nContent-Length: {}\r\nConnection: close\r\n\r\n", body.len());
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(body).unwrap();
        });
        format!("http://{address}/data")
    }

    #[test]
    fn fetched_once_checked_and_limited() {
        let folder = std::env::temp_dir().join(format!("flambeau-download-{}", std::process::id()));
        let path = folder.join("data.bin");
        let sum = hexadecimal(&Sha256::digest(b"hello"));
        let refused = |source: Source, because: &str| {
            let error = source.read().unwrap_err().to_string();
            assert!(error.contains(because), "{error}");
            assert_eq!(fs::read_dir(&folder).unwrap().count(), 0, "nothing is left behind");
        };
        refused(Source::url(serve(b"hello"), &path).with_limit(4), "the limit of 4 bytes");
        refused(Source::url(serve(b"hullo"), &path).sha256(&sum), "was expected");
        let seen = Arc::new(AtomicU64::new(0));
        let report = seen.clone();
        let source = Source::url(serve(b"hello"), &path).sha256(&sum);
        let source = source.with_progress(move |done, _| report.store(done, Relaxed));
        assert_eq!(source.read().unwrap(), b"hello");
        assert_eq!(seen.load(Relaxed), 5);
        // The server is gone: this comes from the file.
        assert_eq!(source.read().unwrap(), b"hello");
        fs::remove_dir_all(&folder).unwrap();
    }
}
