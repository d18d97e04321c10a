//! Where files of the user lie.

use std::path::PathBuf;

/// The user's folder for files that can be made again: `$XDG_CACHE_HOME`, `~/.cache`, `~/Library/Caches` or
/// `%LOCALAPPDATA%`. Flambeau's own are in `flambeau` there. None where the system names no such folder.
///
/// ```
/// let kept = flambeau::user_cache().map(|cache| cache.join("flambeau"));
/// assert!(kept.is_none_or(|folder| folder.ends_with("flambeau")));
/// ```
pub fn user_cache() -> Option<PathBuf> {
    let variable = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    if cfg!(target_os = "windows") {
        return variable("LOCALAPPDATA");
    }
    let in_home = if cfg!(target_os = "macos") { "Library/Caches" } else { ".cache" };
    variable("XDG_CACHE_HOME").or_else(|| variable("HOME").map(|home| home.join(in_home)))
}
