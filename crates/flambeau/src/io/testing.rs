//! What the tests of this folder share.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};

/// A folder that exists for one test.
pub struct Folder(PathBuf);

impl Folder {
    pub fn new(topic: &str) -> Folder {
        static COUNT: AtomicU64 = AtomicU64::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("flambeau-{topic}-{}-{count}", std::process::id()));
        std::fs::create_dir_all(&path).expect("a folder for temporary files");
        Folder(path)
    }

    pub fn path(&self) -> &Path {
        &self.0
    }

    pub fn join(&self, name: &str) -> PathBuf {
        self.0.join(name)
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// Random bytes, the same each time (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 % bound as u64) as usize
    }
}

/// Reads every beginning of a file, which must all be errors, and the file with bytes altered (seeded), which may be
/// anything but a panic.
pub fn torture<T>(whole: &[u8], read: impl Fn(&[u8]) -> crate::Result<T>) {
    read(whole).map(drop).expect("the whole file is fine");
    for length in 0..whole.len() {
        assert!(read(&whole[..length]).is_err(), "the first {length} of {} bytes were accepted", whole.len());
    }
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    for _ in 0..2000 {
        let mut altered = whole.to_vec();
        for _ in 0..=random.below(4) {
            let place = random.below(altered.len());
            altered[place] = random.below(256) as u8;
        }
        let _ = read(&altered);
    }
}
