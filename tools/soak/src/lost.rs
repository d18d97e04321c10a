//! The device is destroyed in the middle of a run, which goes on on a new one from what it saved last: it must end with the
//! very loss of a run that nobody disturbed.

use crate::session::Session;
use crate::work::Work;
use flambeau::prelude::*;

/// Steps of a run, and how often it is saved.
const STEPS: u64 = 100;
const SAVED_EVERY: u64 = 10;

/// When the device is destroyed within a step.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Moment {
    /// The graph is there, nothing has been submitted.
    BeforeSubmit,
    /// The step has been submitted.
    InFlight,
    /// The loss is on its way to the host.
    AtRead,
}

pub fn run(session: &mut Session) {
    let open = session.opener();
    let undisturbed = train(&open, None).expect("a run that nobody disturbs");
    while let Some(case) = session.next() {
        let moment = [Moment::BeforeSubmit, Moment::InFlight, Moment::AtRead][(case % 3) as usize];
        let step = case / 3 % STEPS;
        let Some(ended) = session.guard(case, "training", || train(&open, Some((step, moment)))) else {
            continue;
        };
        match ended {
            Ok(loss) if loss.to_bits() == undisturbed.to_bits() => {}
            Ok(loss) => {
                session.fail(case, format!("lost at step {step}, {moment:?}: {loss}, not {undisturbed}"))
            }
            Err(error) => session.fail(case, format!("lost at step {step}, {moment:?}: {error}")),
        }
    }
}

/// The last loss of a run whose device is destroyed at a step.
fn train(open: &dyn Fn() -> Device, mut disturbance: Option<(u64, Moment)>) -> Result<f64> {
    let mut device = open();
    let mut work = Work::new(&device)?;
    let (mut step, mut last) = (0, f64::NAN);
    let mut saved = (0, work.save()?);
    while step < STEPS {
        if step % SAVED_EVERY == 0 {
            saved = (step, work.save()?);
        }
        let moment = disturbance.filter(|(at, _)| *at == step).map(|(_, moment)| moment);
        match one_step(&mut work, &device, step, moment) {
            Ok(loss) if moment.is_none() => (step, last) = (step + 1, loss),
            Ok(loss) => return Err(Error::Gpu(format!("the lost device gave {loss}"))),
            Err(Error::DeviceLost(_)) if moment.is_some() => {
                disturbance = None;
                device = open();
                (step, work) = (saved.0, Work::load(&saved.1, &device)?);
            }
            Err(error) => return Err(error),
        }
    }
    Ok(last)
}

fn one_step(work: &mut Work, device: &Device, step: u64, moment: Option<Moment>) -> Result<f64> {
    let loss = work.loss(step)?;
    if moment == Some(Moment::BeforeSubmit) {
        device.destroy();
    }
    work.optimizer.step()?;
    if moment == Some(Moment::InFlight) {
        device.destroy();
    }
    let reading = flambeau::read_later(&[&loss])?;
    if moment == Some(Moment::AtRead) {
        device.destroy();
    }
    Ok(flambeau::block_on(reading.values())?[0][0])
}
