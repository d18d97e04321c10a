//! Training by `mpirun`: two processes on this machine give what one gives.

use std::path::{Path, PathBuf};
use std::process::Command;

use crate::runner::{Failure, Report};
use crate::setup;
use crate::shell;
use crate::workspace::Workspace;

/// MPI's headers and library, its launcher, and what the bindings are generated with.
const PACKAGES: &[&str] = &["libopenmpi-dev", "openmpi-bin", "libclang-14-dev"];

/// A short run: three epochs would take minutes.
const RUN: &[&str] = &[
    "--json",
    "--device",
    "cpu",
    "train",
    "mnist",
    "--model",
    "mlp",
    "--batch",
    "100",
    "--max-steps",
    "20",
    "--out",
];

/// By how much the losses of one and of two processes may differ: gradients are added up in another order.
const TOLERANCE: f64 = 1e-5;

/// Builds the program with MPI, and compares.
pub fn check(workspace: &Workspace) -> Result<Report, Failure> {
    install()?;
    let mut build =
        workspace.cargo(&["build", "--workspace", "--features", "flambeau-cli/mpi", "--bin", "flambeau"]);
    shell::run(&mut build, "Mend what is reported above, then `cargo xtask builds mpi`.")?;
    let folder = std::env::temp_dir().join(format!("flambeau-mpi-{}", std::process::id()));
    let done = compare(workspace, &folder);
    // Only disk space: a run that failed has said why.
    let _ = std::fs::remove_dir_all(&folder);
    done
}

fn compare(workspace: &Workspace, folder: &Path) -> Result<Report, Failure> {
    let alone = train(workspace, &folder.join("alone"), None, &[])?;
    let in_step = train(workspace, &folder.join("in-step"), Some(2), &["--group", "mpi"])?;
    for name in ["train_loss", "test_loss"] {
        let (one, two) = (number(&alone, name)?, number(&in_step, name)?);
        let close = (one - two).abs() <= TOLERANCE;
        if !close {
            let what = format!("{name}: one process gives {one}, two give {two}");
            return Err(Failure::new(what, "See crates/flambeau/src/group: both should train alike."));
        }
    }
    let more = ["--group", "mpi", "--sync", "diloco:5", "--compress", "int8"];
    let diloco = train(workspace, &folder.join("diloco"), Some(2), &more)?;
    let rounds = number(&diloco, "rounds")?;
    if rounds != 4.0 {
        let what = format!("20 steps with rounds every 5 were {rounds} rounds");
        return Err(Failure::new(what, "See crates/flambeau/src/train/together.rs."));
    }
    Ok(Report::note(format!(
        "two processes: loss {:.6}, alone {:.6}; {:.0} bytes a step in step, {:.0} with DiLoCo",
        number(&in_step, "test_loss")?,
        number(&alone, "test_loss")?,
        number(&in_step, "bytes_per_step")?,
        number(&diloco, "bytes_per_step")?
    )))
}

/// The JSON that a run prints.
fn train(
    workspace: &Workspace,
    out: &Path,
    processes: Option<usize>,
    more: &[&str],
) -> Result<String, Failure> {
    let program: PathBuf =
        workspace.target.join("debug").join(format!("flambeau{}", std::env::consts::EXE_SUFFIX));
    let mut command = match processes {
        None => workspace.bare(program),
        Some(count) => {
            let mut mpirun = workspace.bare("mpirun");
            // Open MPI refuses root, and more processes than cores, unless told that both are meant.
            mpirun
                .env("OMPI_ALLOW_RUN_AS_ROOT", "1")
                .env("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1")
                .env("OMPI_MCA_rmaps_base_oversubscribe", "1")
                .args(["-np", &count.to_string()])
                .arg(program);
            mpirun
        }
    };
    command.args(RUN).arg(out).args(more);
    shell::show(&command);
    let next = "Run the command above by hand to see why.";
    let output = command.output().map_err(|error| shell::not_started(&command, &error))?;
    let text = String::from_utf8_lossy(&output.stdout).trim().to_string();
    if !output.status.success() || text.lines().count() != 1 {
        eprint!("{text}\n{}", String::from_utf8_lossy(&output.stderr));
        return Err(Failure::new(
            format!("`{}` failed, or printed more than a line", shell::describe(&command)),
            next,
        ));
    }
    Ok(text)
}

/// The first number of that name in a line of JSON.
pub fn number(json: &str, name: &str) -> Result<f64, Failure> {
    let value = json.split_once(&format!("\"{name}\":")).map(|(_, rest)| rest);
    let digits = value.and_then(|value| value.split([',', '}']).next());
    digits.and_then(|digits| digits.trim().parse().ok()).ok_or_else(|| {
        Failure::new(
            format!("there is no number `{name}` in {json}"),
            "See crates/flambeau-cli/src/train/finish.rs.",
        )
    })
}

fn install() -> Result<(), Failure> {
    if shell::exists("mpirun") && shell::exists("mpicc") && has_libclang() {
        return Ok(());
    }
    setup::apt_install("processes of one run talk by MPI; libclang writes the bindings", PACKAGES)?;
    match shell::output(Command::new("mpirun").arg("--version")) {
        Some(_) => Ok(()),
        None => Err(Failure::new(
            format!("{} are installed, yet there is no mpirun", PACKAGES.join(", ")),
            "Put the folder of mpirun into PATH, and start again.",
        )),
    }
}

/// A libclang where the bindings' build looks for it.
fn has_libclang() -> bool {
    if std::env::var_os("LIBCLANG_PATH").is_some() {
        return true;
    }
    let is_libclang = |folder: &Path| {
        let names = std::fs::read_dir(folder).into_iter().flatten().flatten();
        names.into_iter().any(|entry| entry.file_name().to_string_lossy().starts_with("libclang"))
    };
    let llvm = std::fs::read_dir("/usr/lib").into_iter().flatten().flatten();
    let versions = llvm.filter(|entry| entry.file_name().to_string_lossy().starts_with("llvm-"));
    versions.map(|entry| entry.path().join("lib")).any(|folder| is_libclang(&folder))
}

#[cfg(test)]
mod tests {
    use super::number;

    #[test]
    fn numbers_are_found_in_json() {
        let json = r#"{"a":1.5,"group":{"rounds":4,"members":2},"z":null}"#;
        assert_eq!((number(json, "a").ok(), number(json, "members").ok()), (Some(1.5), Some(2.0)));
        assert!(number(json, "b").is_err() && number(json, "z").is_err());
    }
}
