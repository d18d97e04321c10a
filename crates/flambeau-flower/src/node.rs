//! A client that is online: it takes messages, lets an app answer them, and goes when it is told to or its run is over.

use crate::app::{self, App};
use crate::client::Fleet;
use crate::error::Result;
use crate::sign::now;
use crate::transport::Transport;
use std::time::Duration;

/// The longest that a server may send a client away for.
const LONGEST_PAUSE: f64 = 3600.0;

/// How a client takes part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ServeOptions {
    /// The pause between two questions whether there is a message.
    pub poll: Duration,
    /// Stay for further runs once a run is over, instead of leaving.
    pub stay: bool,
    /// Make the key known first. A server that only takes clients it knows refuses that.
    pub register: bool,
}

impl Default for ServeOptions {
    fn default() -> ServeOptions {
        ServeOptions { poll: Duration::from_secs(1), stay: false, register: true }
    }
}

/// What a client did while it was online.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Served {
    /// The number by which the server knew it.
    pub node: u64,
    /// The runs it took part in, in their order.
    pub runs: Vec<u64>,
    /// Messages that were answered, with an error or without.
    pub answered: u64,
}

/// Takes part in a server's runs until the first run is over, or as the options say. `online` is called once the server knows
/// the client, and what it gives is kept while it is online: natively [`crate::Heartbeat`] is made there.
pub async fn serve<T: Transport, A: App, K>(
    fleet: &Fleet<T>,
    app: &mut A,
    options: ServeOptions,
    online: impl FnOnce(u64) -> Result<K>,
) -> Result<Served> {
    let mut served = Served::default();
    match take_part(fleet, app, options, online, &mut served).await {
        // Whoever is to leave need not wait for a server that is away.
        Err(error) if error.is_passing() && app.is_asked_to_stop() => log::warn!("{error}"),
        end => end?,
    }
    Ok(served)
}

async fn take_part<T: Transport, A: App, K>(
    fleet: &Fleet<T>,
    app: &mut A,
    options: ServeOptions,
    online: impl FnOnce(u64) -> Result<K>,
    served: &mut Served,
) -> Result<()> {
    if options.register {
        fleet.register().await?;
    }
    let node = fleet.activate().await?;
    served.node = node;
    let kept = online(node);
    let end = match &kept {
        Ok(_) => answer_all(fleet, app, options, served).await,
        Err(error) => Err(error.clone()),
    };
    // No sign of life after the farewell.
    drop(kept);
    // The server finds out by itself that a client has gone that could not say so.
    for farewell in [fleet.deactivate(node).await, unregister(fleet, node, options).await] {
        if let Err(error) = farewell {
            log::warn!("{error}");
        }
    }
    end
}

async fn unregister<T: Transport>(fleet: &Fleet<T>, node: u64, options: ServeOptions) -> Result<()> {
    if options.register { fleet.unregister(node).await } else { Ok(()) }
}

async fn answer_all<T: Transport, A: App>(
    fleet: &Fleet<T>,
    app: &mut A,
    options: ServeOptions,
    served: &mut Served,
) -> Result<()> {
    let (node, mut current) = (served.node, None);
    while !app.is_asked_to_stop() {
        let message = match fleet.receive(node).await {
            // The run was stopped while its message was on its way.
            Err(error) if error.is_run_over() => None,
            message => message?,
        };
        let Some(message) = message else {
            if let (Some(run), false) = (current, options.stay)
                && !fleet.is_running(node, run).await?
            {
                return Ok(());
            }
            fleet.transport().wait(options.poll).await;
            continue;
        };
        let run = message.metadata.run_id;
        current = Some(run);
        if !served.runs.contains(&run) {
            served.runs.push(run);
        }
        let (began, pause) = (now(), app::reconnect_after(&message));
        let content = match pause {
            Some(_) => Ok(app::reconnecting()),
            None => app::answer(app, &message).await,
        };
        let ended = now();
        let reply = message.reply(content, ended.as_secs_f64());
        match fleet.send(node, &reply, ended.saturating_sub(began).as_secs_f64()).await {
            // Nobody waits for the answer any more.
            Err(error) if error.is_run_over() => log::warn!("{error}"),
            sent => sent?,
        }
        served.answered += 1;
        if let Some(seconds) = pause {
            fleet.deactivate(node).await?;
            let seconds = if seconds.is_finite() { seconds.clamp(0.0, LONGEST_PAUSE) } else { 0.0 };
            if fleet.transport().wait(Duration::from_secs_f64(seconds)).await {
                fleet.activate().await?;
            }
        }
    }
    Ok(())
}
