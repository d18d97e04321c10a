//! `bindgen <module.wasm> <folder> [<later.txt>]`: writes a module's JavaScript and its final WebAssembly, as the program
//! `wasm-bindgen --target web` does. With a list of what can wait, the latter comes in two parts: what a page needs to
//! train at once, and what it may need later (`split.rs`).
//!
//! It is part of the workspace so that its version follows from the same lock file as the crate it must match, and
//! nothing has to be installed.

mod rules;
mod split;

use std::path::Path;
use std::process::ExitCode;
use std::{env, fs};

use rules::Rules;
use wasm_bindgen_cli_support::Bindgen;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let args: Vec<String> = env::args().skip(1).collect();
    let written = match &args[..] {
        [module, folder] => write(Path::new(module), Path::new(folder), None),
        [module, folder, later] => write(Path::new(module), Path::new(folder), Some(Path::new(later))),
        _ => Err("usage: bindgen <module.wasm> <folder> [<later.txt>]".into()),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(module: &Path, folder: &Path, later: Option<&Path>) -> Result<()> {
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(true)
        .demangle(false)
        .remove_name_section(later.is_none())
        .remove_producers_section(true)
        .omit_default_module_path(true)
        .out_name("flambeau")
        .generate(folder)?;
    open_loader(folder)?;
    let Some(later) = later else { return Ok(()) };
    let text = fs::read_to_string(later).map_err(|error| format!("{}: {error}", later.display()))?;
    let rules = Rules::parse(&text);
    let whole = folder.join("flambeau_bg.wasm");
    let module = fs::read(&whole)?;
    let idle = rules.idle(&split::names(&module)?);
    if !idle.is_empty() {
        let lines = idle.join("\n  ");
        return Err(format!(
            "{}: these lines are part of no function's name; mend or remove them:\n  {lines}",
            later.display()
        )
        .into());
    }
    let parts = split::split(&module, |name| rules.moves(name))?;
    fs::write(&whole, parts.first)?;
    Ok(fs::write(folder.join("flambeau_later.wasm"), parts.later)?)
}

/// Lets the package instantiate the module itself, with the import that the second part needs.
fn open_loader(folder: &Path) -> Result<()> {
    let append = |name: &str, line: &str| -> Result<()> {
        let path = folder.join(name);
        let text = fs::read_to_string(&path)?;
        Ok(fs::write(&path, text + line)?)
    };
    append("flambeau.js", "export { __wbg_get_imports as imports, __wbg_finalize_init as finish };\n")?;
    append(
        "flambeau.d.ts",
        "/** What the module imports. */\nexport function imports(): WebAssembly.Imports;\n\
         /** Makes an instance the one that all calls go to. */\n\
         export function finish(instance: WebAssembly.Instance, module: WebAssembly.Module): void;\n",
    )
}
