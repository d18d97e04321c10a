//! `cargo page`: builds the page of this project and serves it.

fn main() -> std::process::ExitCode {
    flambeau_page::main(env!("CARGO_MANIFEST_DIR"))
}
