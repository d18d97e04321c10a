//! Federated learning with a real Flower server: a SuperLink, an app with Flower's stock strategies, and clients of ours. What comes of
//! it must be what the same rounds give without a network.

use std::fs;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use crate::mpi::number;
use crate::runner::{Failure, Report};
use crate::shell;
use crate::workspace::Workspace;

/// The version of Flower that is installed.
const VERSION: &str = "1.41.0";

/// The clients of a run, all on the CPU.
const CLIENTS: usize = 2;

/// Strategies of Flower's, and whether the app does the same again without a network.
const STRATEGIES: &[(&str, bool)] = &[
    ("fedavg", true),
    ("fedprox", true),
    ("fedadam", false),
    ("fedtrimmedavg", false),
    ("legacy-fedavg", false),
];

/// By how much parameters may differ from those without a network, over the largest parameter: sums are in another order.
const TOLERANCE: f64 = 1e-5;

/// By how much the accuracy must rise in a run.
const RISE: f64 = 0.15;

/// The longest that the server may take to start, and a run to end.
const LIMITS: (Duration, Duration) = (Duration::from_secs(120), Duration::from_secs(600));

/// `cargo xtask builds flower`.
pub fn check(workspace: &Workspace) -> Result<Report, Failure> {
    let programs = install(workspace)?;
    let mut build = workspace.cargo(&["build", "--workspace", "--bin", "flambeau"]);
    shell::run(&mut build, "Mend what is reported above, then `cargo xtask builds flower`.")?;
    let folder = std::env::temp_dir().join(format!("flambeau-flower-{}", std::process::id()));
    fs::create_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    let checked = all_strategies(workspace, &programs, &folder);
    // Left behind after a failure, to look at.
    if checked.is_ok() {
        fs::remove_dir_all(&folder).map_err(|error| unwritable(&folder, &error))?;
    }
    checked
}

/// Flower in an environment of its own; gives the folder of its programs.
fn install(workspace: &Workspace) -> Result<PathBuf, Failure> {
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

fn all_strategies(workspace: &Workspace, programs: &Path, folder: &Path) -> Result<Report, Failure> {
    let link = SuperLink::start(workspace, programs, folder)?;
    let mut notes = Vec::new();
    for (strategy, simulated) in STRATEGIES {
        notes.push(link.run(strategy, *simulated)?);
    }
    Ok(Report { note: format!("{} strategies, {CLIENTS} clients", STRATEGIES.len()), summaries: notes })
}

/// A server that ends with its owner.
struct SuperLink<'a> {
    workspace: &'a Workspace,
    programs: &'a Path,
    folder: &'a Path,
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
    fn start(workspace: &'a Workspace, programs: &'a Path, folder: &'a Path) -> Result<Self, Failure> {
        let port = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).and_then(|listener| listener.local_addr());
        let port = port.map_err(|error| unwritable(Path::new("a port"), &error))?.port();
        let settings = format!(
            "[superlink]\ndefault = \"here\"\n\n[superlink.here]\naddress = \"127.0.0.1:{port}\"\ninsecure = true\n"
        );
        fs::write(folder.join("config.toml"), settings).map_err(|error| unwritable(folder, &error))?;
        let log =
            fs::File::create(folder.join("superlink.log")).map_err(|error| unwritable(folder, &error))?;
        let errors = log.try_clone().map_err(|error| unwritable(folder, &error))?;
        let mut command = flower(workspace, programs, folder, "flower-superlink");
        command.args([
            "--insecure",
            "--disable-runtime-dependency-installation",
            "--host",
            "127.0.0.1",
            "--port",
        ]);
        command.arg(port.to_string()).stdin(Stdio::null()).stdout(log).stderr(errors);
        shell::show(&command);
        let process = command.spawn().map_err(|error| shell::not_started(&command, &error))?;
        let mut link = SuperLink { workspace, programs, folder, port, process };
        let start = Instant::now();
        while TcpStream::connect((Ipv4Addr::LOCALHOST, port)).is_err() {
            if start.elapsed() > LIMITS.0 || !matches!(link.process.try_wait(), Ok(None)) {
                return Err(link.failed("the SuperLink does not listen".into()));
            }
            thread::sleep(Duration::from_millis(100));
        }
        Ok(link)
    }

    /// Starts a run and its clients, waits for their end, and says what came of it.
    fn run(&self, strategy: &str, simulated: bool) -> Result<String, Failure> {
        let out = self.folder.join(format!("{strategy}.json"));
        let data = self.workspace.root.join("data/mnist");
        let settings = format!(
            "strategy=\"{strategy}\" nodes={CLIENTS} rounds=2 local-epochs=2 batch-size=50 lr=0.1 proximal-mu=0.5 first=1000 \
             non-iid=true simulate={simulated} data=\"{}\" out=\"{}\"",
            data.display(),
            out.display()
        );
        let mut start = flower(self.workspace, self.programs, self.folder, "flwr");
        start.args(["run", "tools/flower", "here", "--run-config", &settings]);
        shell::run(&mut start, "Read what `flwr` says above.")?;
        let clients: Vec<Client> =
            (0..CLIENTS).map(|number| self.client(number)).collect::<Result<_, _>>()?;
        let start = Instant::now();
        let mut rounds = Vec::new();
        for mut client in clients {
            rounds.push(client.wait(LIMITS.1.saturating_sub(start.elapsed()))?);
        }
        while !out.exists() {
            if start.elapsed() > LIMITS.1 {
                return Err(self.failed(format!("{strategy}: there is no {}", out.display())));
            }
            thread::sleep(Duration::from_millis(100));
        }
        let report = fs::read_to_string(&out).map_err(|error| unwritable(&out, &error))?;
        self.judge(strategy, simulated, &report, &rounds)
    }

    fn judge(
        &self,
        strategy: &str,
        simulated: bool,
        report: &str,
        rounds: &[f64],
    ) -> Result<String, Failure> {
        let accuracies: Vec<f64> = report
            .split("\"accuracy\":")
            .skip(1)
            .filter_map(|rest| rest.split([',', '}']).next()?.trim().parse().ok())
            .collect();
        let [first, .., last] = accuracies[..] else {
            return Err(self.failed(format!("{strategy}: no accuracies in {report}")));
        };
        if last < first + RISE {
            return Err(self.failed(format!("{strategy}: the accuracy went from {first} to {last}")));
        }
        if rounds.iter().any(|&rounds| rounds != 2.0) {
            return Err(self.failed(format!("{strategy}: clients trained in {rounds:?} rounds instead of 2")));
        }
        let mut note = format!("{strategy}: accuracy {first:.3} -> {last:.3}");
        if simulated {
            let difference = number(report, "largest_difference")? / number(report, "largest_parameter")?;
            if difference.is_nan() || difference > TOLERANCE {
                let what = format!(
                    "{strategy}: parameters differ by {difference:e} of the largest from those without a network"
                );
                return Err(self.failed(what));
            }
            note += &format!(
                ", {difference:.1e} of the largest parameter apart from the same rounds without a network"
            );
        }
        Ok(note)
    }

    fn client(&self, number: usize) -> Result<Client, Failure> {
        let program = format!("flambeau{}", std::env::consts::EXE_SUFFIX);
        let mut command = self.workspace.bare(self.workspace.target.join("debug").join(program));
        let server = format!("http://127.0.0.1:{}", self.port);
        let share = format!("{number}/{CLIENTS}");
        command.args([
            "--json",
            "--device",
            "cpu",
            "federated",
            "client",
            "--model",
            "mlp",
            "--in-order",
            "--non-iid",
        ]);
        command.args(["--server", &server, "--partition", &share, "--first", "1000", "--poll", "0.2"]);
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        shell::show(&command);
        let process = command.spawn().map_err(|error| shell::not_started(&command, &error))?;
        Ok(Client { process, command: shell::describe(&command) })
    }

    fn failed(&self, what: String) -> Failure {
        Failure::new(
            what,
            format!("See {} for what the server says.", self.folder.join("superlink.log").display()),
        )
    }
}

/// A client that ends with its owner.
struct Client {
    process: Child,
    command: String,
}

impl Drop for Client {
    fn drop(&mut self) {
        end(&mut self.process);
    }
}

impl Client {
    /// The rounds it says it has trained in, once it has ended by itself.
    fn wait(&mut self, limit: Duration) -> Result<f64, Failure> {
        let next = "Read what the client says above.";
        let start = Instant::now();
        while let Ok(None) = self.process.try_wait() {
            if start.elapsed() > limit {
                return Err(Failure::new(format!("`{}` does not end", self.command), next));
            }
            thread::sleep(Duration::from_millis(50));
        }
        let mut said = String::new();
        if let Some(mut output) = self.process.stdout.take() {
            // What cannot be read is not there, and the number below is missed.
            let _ = std::io::Read::read_to_string(&mut output, &mut said);
        }
        match self.process.wait() {
            Ok(status) if status.success() => number(&said, "rounds"),
            status => Err(Failure::new(format!("`{}` failed: {status:?}", self.command), next)),
        }
    }
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

/// Ends a process; one that has ended already is as good.
fn end(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}

fn unwritable(path: &Path, error: &std::io::Error) -> Failure {
    Failure::new(
        format!("{}: {error}", path.display()),
        "See that the folder for temporary files can be written.",
    )
}
