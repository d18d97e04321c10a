//! Flower itself: its installation, its server, and its other programs.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::clients::end;
use super::unwritable;
use crate::runner::Failure;
use crate::shell;
use crate::workspace::Workspace;

/// The version of Flower that is installed.
const VERSION: &str = "1.41.0";

/// The longest that the server may take to start.
const START: Duration = Duration::from_secs(120);

/// Flower in an environment of its own; gives the folder of its programs.
pub fn install(workspace: &Workspace) -> Result<PathBuf, Failure> {
    let environment = workspace.tools.join(format!("flower-{VERSION}"));
    let programs = environment.join("bin");
    let found = shell::output(Command::new(programs.join("flower-superlink")).arg("--version"));
    if found.is_some_and(|version| version.contains(VERSION)) {
        return Ok(programs);
    }
    println!(
        "Installing Flower {VERSION} into {}: the server of the clients to be tested.",
        environment.display()
    );
    let next =
        "Install python3 with venv and pip (on Debian python3-venv), and see that PyPI can be reached.";
    shell::run(workspace.bare("python3").args(["-m", "venv", "--clear"]).arg(&environment), next)?;
    let mut pip = workspace.bare(programs.join("python"));
    pip.args(["-m", "pip", "install", "--quiet", "--disable-pip-version-check"]);
    shell::run(pip.args([&format!("flwr=={VERSION}"), "numpy"]), next)?;
    Ok(programs)
}

/// A port of this machine that nobody listens at.
pub fn free_port() -> Result<u16, Failure> {
    let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
    Ok(port.map_err(|error| unwritable(Path::new("a port"), &error))?.port())
}

/// A server that ends with its owner.
pub struct SuperLink<'a> {
    pub workspace: &'a Workspace,
    programs: &'a Path,
    /// Where results and logs are.
    pub folder: &'a Path,
    port: u16,
    process: Child,
}

impl Drop for SuperLink<'_> {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

impl<'a> SuperLink<'a> {
    /// Starts it on a free port of this machine, and waits until it listens.
    pub fn start(workspace: &'a Workspace, programs: &'a Path, folder: &'a Path) -> Result<Self, Failure> {
        let port = free_port()?;
        let settings = format!(
            "[superlink]\ndefault = \"here\"\n\n[superlink.here]\naddress = \"127.0.0.1:{port}\"\ninsecure = true\n"
        );
        fs::write(folder.join("config.toml"), settings).map_err(|error| unwritable(folder, &error))?;
        let mut command = flower(workspace, programs, folder, "flower-superlink");
        command.args([
            "--insecure",
            "--disable-runtime-dependency-installation",
            "--host",
            "127.0.0.1",
            "--port",
        ]);
        command.arg(port.to_string());
        log_to(&mut command, &folder.join("superlink.log"))?;
        shell::show(&command);
        let process = command.spawn().map_err(|error| shell::not_started(&command, &error))?;
        let mut link = SuperLink { workspace, programs, folder, port, process };
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if start.elapsed() > START || !matches!(link.process.try_wait(), Ok(None)) {
                return Err(link.failed("the SuperLink does not listen".into()));
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(link)
    }

    /// Where it listens.
    pub fn place(&self) -> String {
        format!("127.0.0.1:{}", self.port)
    }

    /// A program of Flower's.
    pub fn flower(&self, program: &str) -> Command {
        flower(self.workspace, self.programs, self.folder, program)
    }

    pub fn failed(&self, what: String) -> Failure {
        Failure::new(
            what,
            format!("See {} for what the server says.", self.folder.join("superlink.log").display()),
        )
    }
}

/// Lets a program write what it says into a file.
pub fn log_to(command: &mut Command, path: &Path) -> Result<(), Failure> {
    let log = fs::File::create(path).map_err(|error| unwritable(path, &error))?;
    let errors = log.try_clone().map_err(|error| unwritable(path, &error))?;
    command.stdin(Stdio::null()).stdout(log).stderr(errors);
    Ok(())
}

/// A program of Flower's, which looks for the others in PATH, keeps its settings in the folder and reports to nobody.
fn flower(workspace: &Workspace, programs: &Path, folder: &Path, program: &str) -> Command {
    let mut path = programs.as_os_str().to_owned();
    if let Some(rest) = std::env::var_os("PATH") {
        path.push(":");
        path.push(rest);
    }
    let mut command = workspace.bare(programs.join(program));
    command.env("PATH", path).env("FLWR_HOME", folder);
    command.env("FLWR_TELEMETRY_ENABLED", "0").env("FLWR_DISABLE_UPDATE_CHECK", "1");
    command
}
