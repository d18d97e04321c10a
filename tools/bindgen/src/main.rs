//! `bindgen <module.wasm> <folder>`: writes a module's JavaScript and its final WebAssembly, as the program
//! `wasm-bindgen --target web` does.
//!
//! It is part of the workspace so that its version follows from the same lock file as the crate it must match, and
//! nothing has to be installed.

use std::process::ExitCode;
use wasm_bindgen_cli_support::Bindgen;

fn main() -> ExitCode {
    let [input, folder] = &std::env::args().skip(1).collect::<Vec<_>>()[..] else {
        eprintln!("usage: bindgen <module.wasm> <folder>");
        return ExitCode::from(2);
    };
    let written = Bindgen::new().input_path(input).web(true).and_then(|bindgen| {
        bindgen
            .typescript(true)
            .remove_name_section(std::env::var_os("KEEP_NAMES").is_none())
            .remove_producers_section(true)
            .omit_default_module_path(true)
            .out_name("flambeau")
            .generate(folder)
    });
    match written {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("error: {error:?}");
            ExitCode::FAILURE
        }
    }
}
