//! The checks, in the order they run: what fails quickest comes first. A new check is a new entry here.

use std::io::{BufRead, BufReader};
use std::process::{Command, ExitStatus, Stdio};

use crate::app;
use crate::arrows;
use crate::examples;
use crate::flower;
use crate::libtest::Results;
use crate::mpi;
use crate::project;
use crate::publish;
use crate::runner::{Failure, Report, Step};
use crate::scripts;
use crate::setup;
use crate::shell;
use crate::soak;
use crate::targets;
use crate::wasm::Compiler;
use crate::web;
use crate::workspace::Workspace;

/// `cargo xtask test`.
pub const CHECKS: &[Step] = &[
    Step { name: "set-up", about: "a software Vulkan adapter, rustfmt and clippy", run: set_up },
    Step { name: "fmt", about: "the code is formatted", run: fmt },
    Step { name: "arrows", about: "modules name those below them", run: arrows::check },
    Step { name: "lint", about: "the web side is formatted and linted", run: scripts::lint },
    Step { name: "unit", about: "the web side's functions, in Node", run: scripts::unit },
    Step { name: "clippy", about: "no warnings", run: clippy },
    Step { name: "test", about: "unit, integration and doc tests, on CPU and GPU", run: test },
    Step { name: "soak", about: "a fixed sample of every attack on the library", run: soak::sample },
    Step { name: "examples", about: "every example, for a few steps", run: examples::check },
    Step { name: "web", about: "the browser package, in Chromium, Firefox and Node", run: web::test },
    Step {
        name: "ported",
        about: "PyTorch's C++ tests as WebAssembly, in Chromium and Node",
        run: web::ported,
    },
    Step { name: "app", about: "the web app, in Chromium and Firefox", run: app::test },
    Step { name: "publish", about: "crates and the npm package can be packed", run: publish::check },
    Step { name: "deny", about: "licences, sources and versions of the dependencies", run: deny },
];

/// `cargo xtask builds`: each compiles most of the dependencies once more, with other features or by other profiles.
pub const BUILDS: &[Step] = &[
    Step {
        name: "features",
        about: "each feature of the library compiles by itself",
        run: publish::features,
    },
    Step { name: "mpi", about: "training by mpirun: two processes give what one gives", run: mpi::check },
    Step {
        name: "flower",
        about: "clients of a real Flower server give what is computed without one",
        run: flower::check,
    },
    Step {
        name: "project",
        about: "what `flambeau new` writes, natively and in Chromium",
        run: project::check,
    },
    Step {
        name: "reproducible",
        about: "two builds of the WebAssembly module are equal, byte for byte",
        run: web::reproducible,
    },
    Step {
        name: "targets",
        about: "Windows, macOS, iOS, Android and ARM: everything compiles",
        run: targets::check,
    },
];

/// `cargo xtask web`.
pub const WEB: &[Step] = &[
    Step { name: "package", about: "packages/flambeau/dist, and what a page fetches", run: web::build },
    Step { name: "app", about: "web/dist, the app, for any static host", run: app::build },
];

/// `cargo xtask setup`.
pub const INSTALLS: &[Step] = &[
    Step {
        name: "adapter",
        about: "a software Vulkan adapter for the GPU tests",
        run: setup::software_adapter,
    },
    Step { name: "rust", about: "rustfmt and clippy", run: setup::components },
    Step { name: "wasm", about: "a compiler for WebAssembly", run: wasm_compiler },
    Step { name: "deny", about: "cargo-deny", run: deny_program },
];

fn set_up(workspace: &Workspace) -> Result<Report, Failure> {
    setup::components(workspace)?;
    setup::software_adapter(workspace)
}

fn fmt(workspace: &Workspace) -> Result<Report, Failure> {
    shell::run(
        &mut workspace.cargo(&["fmt", "--all", "--check"]),
        "Run `cargo fmt --all`, and start again.",
    )?;
    Ok(Report::default())
}

fn clippy(workspace: &Workspace) -> Result<Report, Failure> {
    let mut clippy = workspace.cargo(&["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"]);
    shell::run(&mut clippy, "Mend what clippy reports above, then `cargo xtask test clippy`.")?;
    Ok(Report::default())
}

fn test(workspace: &Workspace) -> Result<Report, Failure> {
    let adapter = setup::adapter();
    println!("Adapter: {}={adapter}", setup::ADAPTER_VARIABLE);
    let mut results = Results::default();
    // Every failing test in one run tells more than the first test binary's alone. Doc tests apart: if their output is to be shown,
    // rustdoc compiles each of them by itself, which takes thirty times as long.
    let runs: [&[&str]; 2] = [&["--tests", "--", "--show-output"], &["--doc"]];
    let mut failed = None;
    for kinds in runs {
        let args = [&["test", "--workspace", "--no-fail-fast"], kinds].concat();
        let mut cargo = workspace.cargo(&args);
        cargo.env(setup::ADAPTER_VARIABLE, &adapter).stdout(Stdio::piped());
        setup::quiet_mesa(&mut cargo);
        let status = follow(&mut cargo, &mut results)?;
        if let Err(failure) =
            shell::check(&cargo, status, "Mend what is reported above, then `cargo xtask test test`.")
        {
            failed.get_or_insert(failure);
        }
    }
    println!("All tests together: {}", results.total());
    if let Some(first) = results.failures.first() {
        let next = format!(
            "Run one alone:\n{}={adapter} cargo test --workspace -- --nocapture '{}'",
            setup::ADAPTER_VARIABLE,
            // A doc test's name goes on with its line, which the filter need not have.
            first.split(" (line").next().unwrap_or(first)
        );
        println!("Failed:\n    {}", results.failures.join("\n    "));
        return Err(Failure::new(format!("tests failed: {}", results.total()), next));
    }
    if let Some(failure) = failed {
        return Err(failure);
    }
    if results.passed == 0 {
        return Err(Failure::new("not one test ran", "See above why `cargo test` found none."));
    }
    Ok(Report { note: results.total(), summaries: results.summaries })
}

/// Runs tests, shows what they print, and takes their results in.
fn follow(cargo: &mut Command, results: &mut Results) -> Result<ExitStatus, Failure> {
    shell::show(cargo);
    let mut child = cargo.spawn().map_err(|error| shell::not_started(cargo, &error))?;
    if let Some(stdout) = child.stdout.take() {
        // By bytes: a test may print what is not UTF-8.
        for line in BufReader::new(stdout).split(b'\n').map_while(Result::ok) {
            let line = String::from_utf8_lossy(&line);
            if results.line(line.trim_end_matches('\r')) {
                println!("{line}");
            }
        }
    }
    child.wait().map_err(|error| shell::not_started(cargo, &error))
}

fn deny(workspace: &Workspace) -> Result<Report, Failure> {
    let program = setup::cargo_deny(workspace)?;
    // Advisories are left out: they come from a database elsewhere, and change while the code does not.
    let mut check = workspace.bare(program);
    shell::run(
        // The graphs of who depends on whom fill screens; `cargo tree --invert` shows the one that is wanted.
        check.args(["check", "--hide-inclusion-graph", "bans", "licenses", "sources"]),
        "Choose another dependency, or allow it in deny.toml and say why there; then `cargo xtask test deny`.",
    )?;
    Ok(Report::default())
}

fn wasm_compiler(workspace: &Workspace) -> Result<Report, Failure> {
    Compiler::find(workspace).map(|compiler| Report::note(compiler.name()))
}

fn deny_program(workspace: &Workspace) -> Result<Report, Failure> {
    setup::cargo_deny(workspace).map(|program| Report::note(program.display().to_string()))
}
