//! What one sees of a run: a bar in a terminal, lines elsewhere.

use super::interrupt;
use crate::output::{Output, duration, megabytes, percent};
use flambeau::Device;
use flambeau::train::{EpochReport, Event, Flow, Progress};
use indicatif::{ProgressBar, ProgressStyle};
use std::io::IsTerminal;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// The shortest time between two lines about steps.
const PAUSE: Duration = Duration::from_secs(2);
/// More epochs than this are not all worth a line.
const FEW_EPOCHS: u64 = 50;

/// Kernels that are compiled before the bar says so.
const FEW_KERNELS: usize = 4;

/// Follows a run.
pub struct Watch {
    output: Output,
    device: Device,
    epochs: u64,
    bar: Option<ProgressBar>,
    last_line: Option<Instant>,
    /// Checkpoints that were passed over.
    damaged: Arc<Mutex<Vec<PathBuf>>>,
}

impl Watch {
    /// Follows a run of so many steps and epochs on a device.
    pub fn new(
        output: Output,
        device: &Device,
        steps: u64,
        epochs: u64,
        damaged: Arc<Mutex<Vec<PathBuf>>>,
    ) -> Watch {
        let bar = (std::io::stderr().is_terminal() && !output.quiet).then(|| {
            let style = ProgressStyle::with_template("{bar:24.yellow/blue} {pos}/{len}  {msg}");
            ProgressBar::new(steps).with_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()))
        });
        if let Some(bar) = bar.clone() {
            // A few kernels take no time worth a word.
            let tell = move |done: usize, all: usize| {
                if all > FEW_KERNELS {
                    bar.set_message(format!("compiling {done} of {all}"));
                }
            };
            device.on_compile(Some(Box::new(tell)));
        }
        Watch { output, device: device.clone(), epochs, bar, last_line: None, damaged }
    }

    /// Takes note of an event; says whether the run shall go on.
    pub fn observe(&mut self, event: &Event) -> Flow {
        match event {
            Event::PassedOver(path, error) => {
                self.say(&format!(
                    "WARNING: a checkpoint is damaged, and an older one is looked for: {error}"
                ));
                self.damaged.lock().unwrap_or_else(PoisonError::into_inner).push(path.to_path_buf());
            }
            Event::Resumed(step) => self.say(&format!("resumed after step {step}")),
            Event::Fitted(fitting) => {
                self.say(&format!("{}\n{fitting}", fitting.estimate));
            }
            Event::Logged(progress) => self.logged(progress),
            Event::EpochEnded(report) => self.epoch_ended(report),
            _ => {}
        }
        if interrupt::is_asked() { Flow::Stop } else { Flow::Continue }
    }

    fn say(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.suspend(|| self.output.say(line)),
            None => self.output.say(line),
        }
    }

    /// Is it time for another line? If so, the next one is due after a pause.
    fn is_due(&mut self) -> bool {
        let due = self.last_line.is_none_or(|last| last.elapsed() >= PAUSE);
        if due {
            self.last_line = Some(Instant::now());
        }
        due
    }

    fn logged(&mut self, progress: &Progress) {
        let mut parts = vec![format!("loss {:.4}", progress.loss)];
        parts.extend(progress.metrics.iter().map(|(name, value)| format!("{name} {}", percent(*value))));
        parts.push(format!("{:.0} samples/s", progress.samples_per_second));
        let memory = self.device.memory();
        parts.push(format!("memory {}", megabytes(memory.in_use + memory.pooled)));
        parts.push(format!("{} left", duration(progress.seconds_left)));
        let text = parts.join("  ");
        if let Some(bar) = &self.bar {
            bar.set_position(progress.step);
            bar.set_message(text);
        } else if self.is_due() {
            self.say(&format!("step {}/{}  {text}", progress.step, progress.total_steps));
        }
    }

    fn epoch_ended(&mut self, report: &EpochReport) {
        let last = report.epoch == self.epochs;
        if self.epochs > FEW_EPOCHS && !last && !self.is_due() {
            return;
        }
        let show = |(name, value): &(String, f64)| {
            let value = if name.ends_with("loss") { format!("{value:.4}") } else { percent(*value) };
            format!("{} {value}", name.replace('_', " "))
        };
        let metrics: Vec<String> = report.metrics.iter().map(show).collect();
        self.say(&format!("epoch {}/{}  {}", report.epoch, self.epochs, metrics.join("  ")));
    }
}

impl Drop for Watch {
    fn drop(&mut self) {
        self.device.on_compile(None);
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
