//! Embeds the built web app: `FLAMBEAU_APP` names its folder (`cargo xtask web --serve` sets it). Without it the program
//! has no app inside, and `flambeau serve` says how to get one.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

fn main() -> io::Result<()> {
    println!("cargo::rerun-if-env-changed=FLAMBEAU_APP");
    let mut files = Vec::new();
    if let Some(folder) = env::var_os("FLAMBEAU_APP").map(PathBuf::from) {
        println!("cargo::rerun-if-changed={}", folder.display());
        collect(&folder, &folder, &mut files)?;
    }
    files.sort();
    let entries: String =
        files.iter().map(|(name, path)| format!("    ({name:?}, include_bytes!({path:?})),\n")).collect();
    let text = format!("&[\n{entries}]\n");
    fs::write(Path::new(&env::var("OUT_DIR").unwrap_or_default()).join("app.rs"), text)
}

/// The files under a folder, with their addresses in the app.
fn collect(root: &Path, folder: &Path, files: &mut Vec<(String, PathBuf)>) -> io::Result<()> {
    for entry in fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(root, &path, files)?;
        } else {
            let name = path.strip_prefix(root).map_err(io::Error::other)?;
            let parts: Vec<_> = name.iter().map(|part| part.to_string_lossy()).collect();
            files.push((parts.join("/"), path.canonicalize()?));
        }
    }
    Ok(())
}
