//! The clients of a run: ours natively and in tabs, and Flower's own.

use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use super::server::{SuperLink, free_port, log_to};
use super::{Federation, flambeau};
use crate::runner::Failure;
use crate::shell;
use crate::web;

/// How long Flower's own client may take to end those that it has started.
const FAREWELL: Duration = Duration::from_secs(10);

/// A client, or the tabs of a browser, that ends with its owner.
pub struct Client {
    process: Child,
    command: String,
    /// Does it end when the run is over?
    ends: bool,
}

impl Drop for Client {
    fn drop(&mut self) {
        if !self.ends {
            self.ask_to_end();
        }
        end(&mut self.process);
    }
}

impl Client {
    /// `flambeau federated client` with a share of the data.
    pub fn native(link: &SuperLink, federation: &Federation, share: &str) -> Result<Client, Failure> {
        let mut command = link.workspace.bare(flambeau(link.workspace));
        command.args(["--json", "--device", "cpu", "federated", "client", "--model", "mlp"]);
        command.args(["--in-order", "--non-iid", "--poll", "0.2", "--partition", share]);
        command.args(["--server", &format!("http://{}", link.place())]);
        Client::of_ours(command, federation)
    }

    /// Tabs of one Chromium, each with a share of the data. Their page comes from `flambeau serve`.
    pub fn tabs(link: &SuperLink, federation: &Federation, shares: &[String]) -> Result<Client, Failure> {
        let mut command = web::node();
        command.current_dir(web::package(link.workspace)).arg("tests/federated.mjs");
        command.arg("--flambeau").arg(flambeau(link.workspace));
        command.args(["--server", &format!("http://{}", link.place())]);
        command.args(shares.iter().flat_map(|share| ["--share", share]));
        Client::of_ours(command, federation)
    }

    fn of_ours(mut command: Command, federation: &Federation) -> Result<Client, Failure> {
        let Federation { first, clip, noise, .. } = federation;
        if *first > 0 {
            command.args(["--first", &first.to_string()]);
        }
        for (name, value) in [("--clip", clip), ("--noise", noise)] {
            if let Some(value) = value {
                command.args([name, &value.to_string()]);
            }
        }
        command.stdin(Stdio::null()).stdout(Stdio::piped());
        Client::start(command, true)
    }

    /// Flower's own client, which runs the app's part for clients: NumPy alone.
    pub fn numpy(link: &SuperLink, number: usize, clients: usize) -> Result<Client, Failure> {
        let mut command = link.flower("flower-supernode");
        command.args(["--insecure", "--superlink", &link.place(), "--port", &free_port()?.to_string()]);
        command.args(["--node-config", &format!("partition-id={number} num-partitions={clients}")]);
        log_to(&mut command, &link.folder.join(format!("supernode-{number}.log")))?;
        Client::start(command, false)
    }

    fn start(mut command: Command, ends: bool) -> Result<Client, Failure> {
        shell::show(&command);
        let process = command.spawn().map_err(|error| shell::not_started(&command, &error))?;
        Ok(Client { process, command: shell::describe(&command), ends })
    }

    /// Does it end when the run is over?
    pub fn ends(&self) -> bool {
        self.ends
    }

    /// What it says, once it has ended by itself.
    pub fn wait(&mut self, limit: Duration) -> Result<String, Failure> {
        let next = "Read what the client says above.";
        if !self.has_ended_within(limit) {
            return Err(Failure::new(format!("`{}` does not end", self.command), next));
        }
        let mut said = String::new();
        if let Some(mut output) = self.process.stdout.take() {
            // What cannot be read is not there, and the number of rounds is missed.
            let _ = std::io::Read::read_to_string(&mut output, &mut said);
        }
        match self.process.wait() {
            Ok(status) if status.success() => Ok(said),
            status => Err(Failure::new(format!("`{}` failed: {status:?}", self.command), next)),
        }
    }

    fn has_ended_within(&mut self, limit: Duration) -> bool {
        let start = Instant::now();
        while let Ok(None) = self.process.try_wait() {
            if start.elapsed() > limit {
                return false;
            }
            thread::sleep(Duration::from_millis(50));
        }
        true
    }

    /// Asks a program that has started others to end, and them with it.
    fn ask_to_end(&mut self) {
        let asked = Command::new("kill").arg(self.process.id().to_string()).status();
        if asked.is_ok_and(|status| status.success()) {
            self.has_ended_within(FAREWELL);
        }
    }
}

/// Ends a process; one that has ended already is as good.
pub fn end(process: &mut Child) {
    let _ = process.kill();
    let _ = process.wait();
}
