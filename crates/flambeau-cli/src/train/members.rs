//! `--group`: one run of several members, threads of this process or processes of `mpirun`.

use super::{Options, run_member};
use crate::output::{Output, megabytes, refused};
use flambeau::group::{Group, Threads};
use flambeau::prelude::*;
use flambeau::train::{Compression, DilocoOptions, GroupSummary, Summary, Trainer};
use serde_json::{Value, json};
use std::process::ExitCode;
use std::time::Duration;

/// What the options about groups say.
pub struct Setting {
    kind: Kind,
    diloco: Option<DilocoOptions>,
    timeout: Duration,
}

enum Kind {
    Alone,
    Threads(usize),
    Mpi,
}

/// A member of a run.
pub struct Member {
    pub group: Box<dyn Group>,
    kind: &'static str,
    diloco: Option<DilocoOptions>,
}

impl Setting {
    /// Reads the options.
    pub fn of(options: &Options) -> Result<Setting> {
        let devices = options.devices.len();
        let kind = match options.group.as_deref() {
            None if devices > 1 => Kind::Threads(devices),
            None => {
                refuse_forgotten_group()?;
                Kind::Alone
            }
            Some("mpi") => Kind::Mpi,
            Some(other) => match other.strip_prefix("threads:").map(str::parse::<usize>) {
                Some(Ok(size)) if (1..=MOST_THREADS).contains(&size) => Kind::Threads(size),
                _ => {
                    let message =
                        format!("`{other}` is none of mpi and threads:N with N from 1 to {MOST_THREADS}");
                    return Err(refused("--group", message));
                }
            },
        };
        if let Kind::Threads(size) = kind
            && devices > 0
            && devices != size
        {
            return Err(refused(
                "--devices",
                format!("{devices} devices for {size} members; name one for each"),
            ));
        }
        let diloco = diloco(&options.sync, options.compress.as_deref())?;
        Ok(Setting { kind, diloco, timeout: Duration::from_secs(options.group_timeout) })
    }
}

/// More would only wait for each other.
const MOST_THREADS: usize = 64;

/// Processes of one `mpirun` that know nothing of each other would write to the same folder.
fn refuse_forgotten_group() -> Result<()> {
    let size = std::env::var("OMPI_COMM_WORLD_SIZE").or_else(|_| std::env::var("PMI_SIZE"));
    match size.ok().and_then(|size| size.parse::<usize>().ok()) {
        Some(size) if size > 1 => Err(refused(
            "train",
            format!("mpirun has started {size} processes; add --group mpi, so that they train one model"),
        )),
        _ => Ok(()),
    }
}

fn diloco(sync: &str, compress: Option<&str>) -> Result<Option<DilocoOptions>> {
    let steps = match sync.split_once(':') {
        None if sync == "step" => None,
        None if sync == "diloco" => Some(DilocoOptions::default().inner_steps),
        Some(("diloco", steps)) => Some(steps.parse().ok().filter(|&steps| steps > 0).ok_or_else(|| {
            refused("--sync", format!("`{steps}` is no number of steps between rounds; take e.g. diloco:100"))
        })?),
        _ => return Err(refused("--sync", format!("`{sync}` is neither step nor diloco:STEPS"))),
    };
    let compression = match compress {
        None | Some("none") => Compression::None,
        Some("int8") => Compression::INT8,
        Some(other) => match other.strip_prefix("topk:").and_then(|share| share.parse().ok()) {
            Some(share) if share > 0.0 && share <= 1.0 => Compression::TopK { share },
            _ => {
                return Err(refused(
                    "--compress",
                    format!("`{other}` is none of none, int8 and topk:SHARE (e.g. topk:0.01)"),
                ));
            }
        },
    };
    match steps {
        None if compression != Compression::None => Err(refused(
            "--compress",
            "gradients are sent as they are; compression is for --sync diloco:STEPS",
        )),
        None => Ok(None),
        Some(inner_steps) => Ok(Some(DilocoOptions { inner_steps, compression, ..DilocoOptions::default() })),
    }
}

/// Trains with as many members as asked for.
pub async fn run(options: &Options, choice: Option<&str>, output: Output) -> Result<ExitCode> {
    let setting = Setting::of(options)?;
    match setting.kind {
        Kind::Alone => {
            let alone = setting.diloco.map(|_| Threads::group(1)).and_then(|mut group| group.pop());
            let member =
                alone.map(|alone| Member { group: Box::new(alone), kind: "alone", diloco: setting.diloco });
            run_member(options, device_of(options, 0).or(choice), output, member).await
        }
        Kind::Threads(size) => threads(options, choice, output, &setting, size),
        Kind::Mpi => mpi(options, choice, output, &setting).await,
    }
}

/// The device of a member, if devices are named: in turn where there are fewer.
fn device_of(options: &Options, rank: usize) -> Option<&str> {
    options.devices.get(rank % options.devices.len().max(1)).map(String::as_str)
}

fn threads(
    options: &Options,
    choice: Option<&str>,
    output: Output,
    setting: &Setting,
    size: usize,
) -> Result<ExitCode> {
    let diloco = setting.diloco;
    let ends: Vec<Result<ExitCode>> = std::thread::scope(|scope| {
        let start = |threads: Threads| {
            scope.spawn(move || {
                // Each draws what it would draw in a process of its own.
                Generator::set_default_of_thread(Some(Generator::new(options.seed)));
                let rank = threads.rank();
                let member = Member { group: Box::new(threads), kind: "threads", diloco };
                let output = Output { quiet: rank > 0, ..output };
                let device = device_of(options, rank).or(choice);
                flambeau::block_on(run_member(options, device, output, Some(member)))
            })
        };
        let members: Vec<_> =
            Threads::group_with_timeout(size, setting.timeout).into_iter().map(start).collect();
        let joined = members.into_iter().map(|member| match member.join() {
            Ok(end) => end,
            Err(panic) => std::panic::resume_unwind(panic),
        });
        joined.collect()
    });
    // What a member says of another one is not the cause.
    let is_cause =
        |end: &&Result<ExitCode>| matches!(end, Err(error) if !matches!(error, Error::Group { .. }));
    let failed = ends.iter().find(is_cause).or_else(|| ends.iter().find(|end| end.is_err()));
    match failed {
        Some(failed) => failed.clone(),
        None => ends.into_iter().next().unwrap_or(Ok(ExitCode::SUCCESS)),
    }
}

#[cfg(feature = "mpi")]
async fn mpi(options: &Options, choice: Option<&str>, output: Output, setting: &Setting) -> Result<ExitCode> {
    use flambeau::group::Mpi;
    use std::rc::Rc;
    let mpi = Rc::new(Mpi::start_with_timeout(setting.timeout)?);
    let rank = mpi.rank();
    let member = Member { group: Box::new(mpi.clone()), kind: "mpi", diloco: setting.diloco };
    let output = Output { quiet: rank > 0, ..output };
    if mpi.size() == 1 {
        output.say("this is a group of one; start several with: mpirun -np 4 flambeau train … --group mpi");
    }
    let end = run_member(options, device_of(options, rank).or(choice), output, Some(member)).await;
    if let Err(error) = &end {
        eprintln!("error: member {rank}: {error}");
        mpi.abort(1);
    }
    end
}

#[cfg(not(feature = "mpi"))]
async fn mpi(_: &Options, _: Option<&str>, _: Output, _: &Setting) -> Result<ExitCode> {
    let message = "this program was built without MPI. Install MPI and libclang (on Debian libopenmpi-dev, openmpi-bin and \
                   libclang-14-dev) and build it with `cargo build --release -p flambeau-cli --features mpi`; \
                   --group threads:N needs neither";
    Err(refused("--group mpi", message))
}

impl Member {
    pub fn rank(&self) -> usize {
        self.group.rank()
    }

    /// As in `4 members (threads), in step`.
    pub fn describe(&self) -> String {
        let how = match &self.diloco {
            None => "in step".to_owned(),
            Some(options) => format!("meeting every {} steps (DiLoCo)", options.inner_steps),
        };
        format!("{} members ({}), {how}", self.group.size(), self.kind)
    }

    /// A trainer that is this member of the group.
    pub fn join<M: flambeau::nn::Module>(self, trainer: Trainer<M>) -> Trainer<M> {
        let trainer = trainer.with_boxed_group(self.group);
        match self.diloco {
            Some(options) => trainer.with_diloco(options),
            None => trainer,
        }
    }
}

/// What every member says of its traffic, by rank; nothing for a run alone.
pub async fn gather<M: flambeau::nn::Module>(trainer: &Trainer<M>, summary: &Summary) -> Result<Vec<Value>> {
    let (Some(group), Some(own)) = (trainer.group(), summary.group) else { return Ok(Vec::new()) };
    let own = serde_json::to_vec(&own).map_err(|error| Error::State(error.to_string()))?;
    let all = group.gather(own).await?;
    let parse = |bytes: &Vec<u8>| {
        serde_json::from_slice(bytes).map_err(|error| Error::State(format!("a member's report: {error}")))
    };
    all.iter().map(parse).collect()
}

/// The group in the result for machines.
pub fn report(kind: &str, summary: &GroupSummary, members: &[Value]) -> Value {
    json!({
        "kind": kind, "members": summary.size, "rank": summary.rank, "rounds": summary.rounds,
        "bytes_per_step": summary.bytes_per_step, "bytes_sent": summary.bytes_sent,
        "seconds_waiting_for_group": summary.seconds_waiting, "by_rank": members,
    })
}

/// The group in words.
pub fn line(summary: &GroupSummary, kind: &str) -> String {
    let rounds = match summary.rounds {
        0 => String::new(),
        rounds => format!(" in {rounds} rounds"),
    };
    format!(
        "group: rank {} of {} ({kind}) sent {}{rounds}, {:.0} bytes a step, and waited {:.1} s for the others",
        summary.rank,
        summary.size,
        megabytes(summary.bytes_sent),
        summary.bytes_per_step,
        summary.seconds_waiting
    )
}

/// The kind of a member's group, for reports.
pub fn kind(member: &Option<Member>) -> &'static str {
    member.as_ref().map_or("alone", |member| member.kind)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ways_to_keep_together_are_read() {
        assert_eq!(diloco("step", None).unwrap(), None);
        let read = |sync, compress| diloco(sync, compress).unwrap().map(|o| (o.inner_steps, o.compression));
        assert_eq!(read("diloco", None), Some((100, Compression::None)));
        assert_eq!(read("diloco:7", Some("int8")), Some((7, Compression::INT8)));
        assert_eq!(read("diloco:7", Some("topk:0.5")), Some((7, Compression::TopK { share: 0.5 })));
        for (sync, compress, says) in [
            ("diloco:0", None, "no number of steps"),
            ("often", None, "neither step nor diloco"),
            ("step", Some("int8"), "compression is for"),
            ("diloco", Some("topk:2"), "none of none, int8 and topk"),
        ] {
            let error = diloco(sync, compress).unwrap_err().to_string();
            assert!(error.contains(says), "{error}");
        }
    }
}
