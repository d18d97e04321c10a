//! `bindgen <module.wasm> <folder> [<part.txt>...]`: writes a module's JavaScript and its final WebAssembly, as the program
//! `wasm-bindgen --target web` does. With lists of what can wait, the latter comes in parts (`split.rs`): what a page needs to
//! train at once, what it may need later, of which the first list tells, and what few pages need, a list for each.
//!
//! It is part of the workspace so that its version follows from the same lock file as the crate it must match, and
//! nothing has to be installed.

mod cut;
mod links;
mod rules;
mod split;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::{env, fs};

use links::Links;
use rules::Rules;
use wasm_bindgen_cli_support::Bindgen;

type Result<T> = std::result::Result<T, Box<dyn std::error::Error>>;

fn main() -> ExitCode {
    let args: Vec<PathBuf> = env::args_os().skip(1).map(PathBuf::from).collect();
    let written = match &args[..] {
        [module, folder, lists @ ..] => write(module, folder, lists),
        _ => Err("usage: bindgen <module.wasm> <folder> [<part.txt>...]".into()),
    };
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error}");
            ExitCode::FAILURE
        }
    }
}

fn write(module: &Path, folder: &Path, lists: &[PathBuf]) -> Result<()> {
    Bindgen::new()
        .input_path(module)
        .web(true)?
        .typescript(true)
        .demangle(false)
        .remove_name_section(lists.is_empty())
        .remove_producers_section(true)
        .omit_default_module_path(true)
        .out_name("flambeau")
        .generate(folder)?;
    open_loader(folder)?;
    if lists.is_empty() {
        return Ok(());
    }
    let linked = fs::read(module).map_err(|error| format!("{}: {error}", module.display()))?;
    let links = Links::read(&linked)?;
    let whole = folder.join("flambeau_bg.wasm");
    let bound = fs::read(&whole)?;
    let names = split::names(&bound)?;
    let rules = lists.iter().map(|list| rules(list, &names)).collect::<Result<Vec<_>>>()?;
    // Lists of later parts are about less.
    let ruled = |name: &str| Some(rules.iter().rposition(|rules| rules.moves(name))? + 1);
    let parts = split::split(&bound, &links, lists.len() + 1, ruled)?;
    let places = lists.iter().map(|list| folder.join(part_name(list)));
    for (place, part) in std::iter::once(whole).chain(places).zip(parts) {
        fs::write(place, part)?;
    }
    Ok(())
}

/// The file of the part that a list is about.
fn part_name(list: &Path) -> String {
    format!("flambeau_{}.wasm", list.file_stem().unwrap_or_default().to_string_lossy())
}

/// Reads a list; a line of it that is part of no function's name is an error.
fn rules(list: &Path, names: &[String]) -> Result<Rules> {
    let text = fs::read_to_string(list).map_err(|error| format!("{}: {error}", list.display()))?;
    let rules = Rules::parse(&text);
    match rules.idle(names) {
        idle if idle.is_empty() => Ok(rules),
        idle => Err(format!(
            "{}: these lines are part of no function's name; mend or remove them:\n  {}",
            list.display(),
            idle.join("\n  ")
        )
        .into()),
    }
}

/// Lets the package instantiate the module itself, with the import that the other parts need.
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
