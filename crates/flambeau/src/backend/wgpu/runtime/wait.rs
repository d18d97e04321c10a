//! Waiting for the GPU: natively by blocking in `Device::poll`, in a browser by awaiting a callback.

use super::{Runtime, lock};
use crate::error::Result;
use std::sync::{Arc, Mutex};

#[cfg(not(target_arch = "wasm32"))]
use crate::error::Error;
#[cfg(not(target_arch = "wasm32"))]
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

/// A value that a wgpu callback sets once, and that anyone may look at afterwards.
pub(super) struct Signal<T> {
    state: Mutex<SignalState<T>>,
}

struct SignalState<T> {
    value: Option<T>,
    #[cfg(target_arch = "wasm32")]
    waiting: Vec<std::task::Waker>,
}

impl<T: Clone> Signal<T> {
    pub fn new() -> Arc<Self> {
        let state = SignalState {
            value: None,
            #[cfg(target_arch = "wasm32")]
            waiting: Vec::new(),
        };
        Arc::new(Signal { state: Mutex::new(state) })
    }

    pub fn set(&self, value: T) {
        let mut state = lock(&self.state);
        state.value = Some(value);
        #[cfg(target_arch = "wasm32")]
        let waiting = std::mem::take(&mut state.waiting);
        drop(state);
        #[cfg(target_arch = "wasm32")]
        waiting.into_iter().for_each(std::task::Waker::wake);
    }

    #[cfg(not(target_arch = "wasm32"))]
    pub fn get(&self) -> Option<T> {
        lock(&self.state).value.clone()
    }

    #[cfg(target_arch = "wasm32")]
    async fn wait(&self) -> T {
        std::future::poll_fn(|context| {
            let mut state = lock(&self.state);
            match &state.value {
                Some(value) => std::task::Poll::Ready(value.clone()),
                None => {
                    state.waiting.push(context.waker().clone());
                    std::task::Poll::Pending
                }
            }
        })
        .await
    }
}

/// What to wait for to know that a submission is done.
#[derive(Clone)]
pub(super) struct Completion {
    #[cfg(not(target_arch = "wasm32"))]
    index: wgpu::SubmissionIndex,
    /// Set when wgpu has noticed that it is done, as it does at later submissions.
    #[cfg(not(target_arch = "wasm32"))]
    is_done: Arc<AtomicBool>,
    #[cfg(target_arch = "wasm32")]
    done: Arc<Signal<()>>,
}

#[cfg(all(test, not(target_arch = "wasm32")))]
impl Completion {
    /// Has wgpu noticed that it is done?
    pub fn is_over(&self) -> bool {
        self.is_done.load(Relaxed)
    }
}

#[cfg(not(target_arch = "wasm32"))]
pub(super) fn completion_of(queue: &wgpu::Queue, index: wgpu::SubmissionIndex) -> Completion {
    let is_done = Arc::new(AtomicBool::new(false));
    let callback = is_done.clone();
    queue.on_submitted_work_done(move || callback.store(true, Relaxed));
    Completion { index, is_done }
}

#[cfg(target_arch = "wasm32")]
pub(super) fn completion_of(queue: &wgpu::Queue, _: wgpu::SubmissionIndex) -> Completion {
    let done = Signal::new();
    let callback = done.clone();
    queue.on_submitted_work_done(move || callback.set(()));
    Completion { done }
}

#[cfg(not(target_arch = "wasm32"))]
impl Runtime {
    pub(super) async fn wait_for(&self, completion: &Completion) -> Result<()> {
        if completion.is_done.load(Relaxed) {
            return self.check();
        }
        // It may be done without wgpu having looked.
        self.poll_device(wgpu::PollType::Poll)?;
        if completion.is_done.load(Relaxed) {
            return Ok(());
        }
        self.outbox.hungry.store(true, Relaxed);
        self.wait_for_submission(completion.index.clone())
    }

    fn wait_for_submission(&self, index: wgpu::SubmissionIndex) -> Result<()> {
        self.poll_device(wgpu::PollType::Wait { submission_index: Some(index), timeout: None })
    }

    /// Waits for a submission, and gives what a callback that belongs to it has set.
    pub(super) async fn wait_for_signal<T: Clone>(
        &self,
        index: wgpu::SubmissionIndex,
        signal: &Signal<T>,
    ) -> Result<T> {
        self.wait_for_submission(index)?;
        // Another thread's poll may have taken the callback and be about to run it.
        loop {
            if let Some(value) = signal.get() {
                return Ok(value);
            }
            self.poll_device(wgpu::PollType::Poll)?;
            std::thread::yield_now();
        }
    }

    /// Lets wgpu free what is done with and run its callbacks, without waiting.
    pub(super) fn run_callbacks(&self) {
        if let Err(error) = self.poll_device(wgpu::PollType::Poll) {
            log::debug!("poll after a device error: {error}");
        }
    }

    /// Waits until the queue is empty, so that destroyed buffers are really freed.
    pub(super) fn wait_until_idle(&self) -> Result<()> {
        drop(self.outbox.turn());
        self.poll_device(wgpu::PollType::wait_indefinitely())
    }

    /// Waits for what has been submitted when the process ends, but not for a GPU that hangs.
    pub(in crate::backend::wgpu) fn finish(&self) {
        drop(self.outbox.turn());
        let timeout = Some(std::time::Duration::from_secs(10));
        if let Err(error) = self.try_poll(wgpu::PollType::Wait { submission_index: None, timeout }) {
            log::debug!("poll at the end of the process: {error}");
        }
    }

    fn poll_device(&self, poll_type: wgpu::PollType) -> Result<()> {
        let polled = self.try_poll(poll_type);
        super::ending::has_worked();
        if polled.is_err() {
            // A submission that the device refused cannot be waited for; the callbacks tell why it did.
            let _ = self.try_poll(wgpu::PollType::wait_indefinitely());
        }
        self.check()?;
        polled.map_err(|error| Error::Gpu(error.to_string()))
    }

    /// wgpu panics out of `Device::poll` when the driver loses the device during the wait: that panic
    /// arises after wgpu has let go of its locks, and stops the runtime here.
    fn try_poll(&self, poll_type: wgpu::PollType) -> std::result::Result<(), wgpu::PollError> {
        let polled = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| self.device.poll(poll_type)));
        match polled {
            Ok(polled) => polled.map(drop),
            Err(_) => {
                self.device_error
                    .set(Error::DeviceLost("the driver failed while waiting for the GPU".into()));
                Ok(())
            }
        }
    }
}

#[cfg(target_arch = "wasm32")]
impl Runtime {
    pub(super) async fn wait_for(&self, completion: &Completion) -> Result<()> {
        completion.done.wait().await;
        self.check()
    }

    /// Waits for what a callback sets; the browser runs it when its submission is done.
    pub(super) async fn wait_for_signal<T: Clone>(
        &self,
        _: wgpu::SubmissionIndex,
        signal: &Signal<T>,
    ) -> Result<T> {
        let value = signal.wait().await;
        self.check()?;
        Ok(value)
    }

    /// The browser runs callbacks by itself.
    pub(super) fn run_callbacks(&self) {}

    /// The browser frees destroyed buffers by itself.
    pub(super) fn wait_until_idle(&self) -> Result<()> {
        self.check()
    }
}
