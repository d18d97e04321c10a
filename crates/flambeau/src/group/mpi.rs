//! Members that are processes, started by `mpirun`.
//!
//! Messages go by MPI's non-blocking calls, so that a deadline can be kept: `MPI_Isend`, and `MPI_Improbe` and `MPI_Imrecv`
//! asked again until they are done. The safe bindings tie a request to a scope; here sends outlive the call that begins
//! them, so the C functions are called.

use super::{Group, Traffic, Waiting};
use crate::error::{Error, Result};
use mpi::Threading;
use mpi::environment::Universe;
use mpi::ffi;
use mpi::topology::Communicator;
use std::cell::RefCell;
use std::mem::MaybeUninit;
use std::os::raw::c_int;
use std::time::{Duration, Instant};

/// The tag of this library's messages.
const TAG: c_int = 0x0F1A;
/// How long a message is waited for, unless told otherwise.
const TIMEOUT: Duration = Duration::from_secs(120);
/// Looks before it sleeps between two looks.
const EAGER: u32 = 200;
const PAUSE: Duration = Duration::from_micros(50);

/// This process as a member of the group that `mpirun` has started: `mpirun -np 4 program`. Ranks are MPI's in
/// `MPI_COMM_WORLD`.
///
/// A member that ends without a word ends the whole group: that is `mpirun`'s doing. One that is late is an error here.
pub struct Mpi {
    rank: usize,
    size: usize,
    timeout: Duration,
    traffic: Traffic,
    sending: RefCell<Vec<Sending>>,
    /// Last: MPI ends when it is dropped.
    _universe: Universe,
}

/// A message on its way. Its memory belongs to MPI until the request is done.
struct Sending {
    request: ffi::MPI_Request,
    _message: Vec<u8>,
}

/// An error unless a call of MPI succeeded.
fn check(op: &'static str, rank: usize, code: c_int) -> Result<()> {
    match code as u32 {
        ffi::MPI_SUCCESS => Ok(()),
        code => Err(Error::group(op, rank, format!("cannot be reached: MPI's error {code}"))),
    }
}

impl Mpi {
    /// Starts MPI; once in a process, from its main thread.
    pub fn start() -> Result<Mpi> {
        Mpi::start_with_timeout(TIMEOUT)
    }

    /// [`start`](Mpi::start) with the longest time that a message is waited for (120 seconds if not set).
    pub fn start_with_timeout(timeout: Duration) -> Result<Mpi> {
        // Other threads compute; this one alone calls MPI.
        let Some((universe, _)) = mpi::initialize_with_threading(Threading::Funneled) else {
            return Err(Error::argument("Mpi::start", "MPI has been started in this process before"));
        };
        let world = universe.world();
        let (rank, size) = (world.rank() as usize, world.size() as usize);
        // Safety: MPI has been initialised.
        let code = unsafe { ffi::MPI_Comm_set_errhandler(ffi::RSMPI_COMM_WORLD, ffi::RSMPI_ERRORS_RETURN) };
        check("Mpi::start", rank, code)?;
        Ok(Mpi {
            rank,
            size,
            timeout,
            traffic: Traffic::new(),
            sending: RefCell::default(),
            _universe: universe,
        })
    }

    /// Ends all processes of the group: for a member that cannot go on, so that the others need not wait for it.
    pub fn abort(&self, code: i32) -> ! {
        // Safety: MPI is initialised as long as the universe lives.
        unsafe { ffi::MPI_Abort(ffi::RSMPI_COMM_WORLD, code) };
        std::process::exit(code)
    }

    /// Lets go of messages that have arrived.
    fn progress(&self) -> Result<()> {
        let mut failed = Ok(());
        self.sending.borrow_mut().retain_mut(|sending| match is_done(&mut sending.request) {
            Ok(done) => !done,
            Err(error) => {
                failed = Err(error);
                true
            }
        });
        failed
    }

    /// Asks again and again until there is an answer or the time is over.
    fn until<T>(&self, mut ask: impl FnMut() -> Result<Option<T>>) -> Result<Option<T>> {
        let deadline = Instant::now() + self.timeout;
        for look in 0_u32.. {
            if let Some(answer) = ask()? {
                return Ok(Some(answer));
            }
            self.progress()?;
            if Instant::now() >= deadline {
                break;
            }
            match look {
                0..EAGER => std::thread::yield_now(),
                _ => std::thread::sleep(PAUSE),
            }
        }
        Ok(None)
    }

    fn receive_now(&self, from: usize) -> Result<Vec<u8>> {
        let late = || Error::group("receive", from, format!("has sent nothing within {:?}", self.timeout));
        let (mut message, length) = self.until(|| probe(from))?.ok_or_else(late)?;
        let mut bytes = vec![0_u8; length as usize];
        let mut request = MaybeUninit::uninit();
        // Safety: the memory has the message's length and, like the request, lives until that is done; else it is leaked.
        let code = unsafe {
            let start = bytes.as_mut_ptr().cast();
            ffi::MPI_Imrecv(start, length, ffi::RSMPI_UINT8_T, &mut message, request.as_mut_ptr())
        };
        check("receive", from, code)?;
        // Safety: the call succeeded, so it has filled the request.
        let mut request = unsafe { request.assume_init() };
        match self.until(|| Ok(is_done(&mut request)?.then_some(())))? {
            Some(()) => Ok(bytes),
            None => {
                std::mem::forget(bytes);
                Err(Error::group(
                    "receive",
                    from,
                    format!("began a message and did not end it within {:?}", self.timeout),
                ))
            }
        }
    }
}

/// The next message of a member, if there is one: a handle, and its length.
fn probe(from: usize) -> Result<Option<(ffi::MPI_Message, c_int)>> {
    let (mut found, mut length) = (0, 0);
    let (mut message, mut status) = (MaybeUninit::uninit(), MaybeUninit::uninit());
    // Safety: the places are valid for the calls; message and status are read only where MPI says that it has filled them.
    unsafe {
        let world = ffi::RSMPI_COMM_WORLD;
        let code = ffi::MPI_Improbe(
            from as c_int,
            TAG,
            world,
            &mut found,
            message.as_mut_ptr(),
            status.as_mut_ptr(),
        );
        check("receive", from, code)?;
        if found == 0 {
            return Ok(None);
        }
        check("receive", from, ffi::MPI_Get_count(status.as_ptr(), ffi::RSMPI_UINT8_T, &mut length))?;
        Ok(Some((message.assume_init(), length)))
    }
}

fn is_done(request: &mut ffi::MPI_Request) -> Result<bool> {
    let mut done = 0;
    // Safety: the request is one that MPI has given; it is null after it is done, which may be tested again.
    let code = unsafe { ffi::MPI_Test(request, &mut done, ffi::RSMPI_STATUS_IGNORE) };
    match code as u32 {
        ffi::MPI_SUCCESS => Ok(done != 0),
        code => Err(Error::argument("Mpi", format!("a message was lost: MPI's error {code}"))),
    }
}

impl Group for Mpi {
    fn rank(&self) -> usize {
        self.rank
    }

    fn size(&self) -> usize {
        self.size
    }

    fn send(&self, to: usize, message: Vec<u8>) -> Result<()> {
        if to >= self.size {
            let message = format!("there is no member {to} in a group of {}", self.size);
            return Err(Error::argument("Group", message));
        }
        let length = c_int::try_from(message.len()).map_err(|_| {
            Error::argument("Mpi", format!("a message of {} bytes; MPI takes less than 2 GiB", message.len()))
        })?;
        let mut request = MaybeUninit::uninit();
        // Safety: the message is kept with its request until that is done.
        let code = unsafe {
            let (start, world) = (message.as_ptr().cast(), ffi::RSMPI_COMM_WORLD);
            ffi::MPI_Isend(start, length, ffi::RSMPI_UINT8_T, to as c_int, TAG, world, request.as_mut_ptr())
        };
        check("send", to, code)?;
        // Safety: the call succeeded, so it has filled the request.
        let request = unsafe { request.assume_init() };
        self.sending.borrow_mut().push(Sending { request, _message: message });
        self.progress()
    }

    fn receive(&self, from: usize) -> Waiting<'_, Vec<u8>> {
        Box::pin(async move { self.receive_now(from) })
    }

    fn traffic(&self) -> &Traffic {
        &self.traffic
    }
}

impl Drop for Mpi {
    /// Sees to it that what was sent arrives. What does not in time is given up, with all members: MPI would wait for ever.
    fn drop(&mut self) {
        if std::thread::panicking() {
            self.abort(1);
        }
        let arrived = self.until(|| Ok(self.sending.borrow().is_empty().then_some(())));
        if !matches!(arrived, Ok(Some(()))) {
            log::error!(
                "member {}: messages have not arrived within {:?}; the group ends",
                self.rank,
                self.timeout
            );
            self.abort(1);
        }
    }
}

impl std::fmt::Debug for Mpi {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Mpi(rank {} of {})", self.rank, self.size)
    }
}
