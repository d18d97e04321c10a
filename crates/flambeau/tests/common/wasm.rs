//! Tests in WebAssembly, for browsers and Node: JavaScript asks for their names and runs them one by one
//! (`packages/flambeau/tests/ported.ts`).
//!
//! The bodies of tests wait for values as native ones do. WebAssembly cannot block, but JavaScript's promise integration (JSPI)
//! can set a whole call aside until a promise is kept: `wait` is such a promise, and `wake` keeps it. Programs have no need of
//! this, so it is a matter of the tests and not of the library.

use std::cell::RefCell;
use std::future::Future;
use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};

extern crate test;
use test::{ShouldPanic, TestDescAndFn, TestFn};

#[link(wasm_import_module = "flambeau-tests")]
unsafe extern "C" {
    /// Sets the running test aside until `wake` has been called since it last returned.
    safe fn wait();
    safe fn wake();
    /// What a panic says, as UTF-8.
    fn say(text: *const u8, length: usize);
}

struct Alarm;

impl Wake for Alarm {
    fn wake(self: Arc<Self>) {
        wake();
    }
}

/// Waits for a future, as `flambeau::block_on` does natively.
pub fn block_on<F: Future>(future: F) -> F::Output {
    let mut future = pin!(future);
    let waker = Waker::from(Arc::new(Alarm));
    loop {
        match future.as_mut().poll(&mut Context::from_waker(&waker)) {
            Poll::Ready(output) => return output,
            Poll::Pending => wait(),
        }
    }
}

struct Test {
    name: String,
    run: fn() -> Result<(), String>,
}

thread_local! {
    static TESTS: RefCell<Vec<Test>> = const { RefCell::new(Vec::new()) };
}

/// What `main` of the test binary does here: keeps the list. A panic ends a test with a trap; what it says is told first.
pub fn keep(tests: &[&TestDescAndFn]) {
    std::panic::set_hook(Box::new(|panic| {
        let text = panic.to_string();
        // SAFETY: the text lives until the call returns, and JavaScript only reads it.
        unsafe { say(text.as_ptr(), text.len()) };
    }));
    let kept = tests.iter().map(|test| {
        let TestFn::StaticTestFn(run) = test.testfn else { panic!("{} is not a plain test", test.desc.name) };
        assert_eq!(test.desc.should_panic, ShouldPanic::No, "a panic ends the module");
        Test { name: test.desc.name.to_string(), run }
    });
    TESTS.set(kept.collect());
}

/// How many tests there are.
#[unsafe(no_mangle)]
extern "C" fn test_count() -> usize {
    TESTS.with_borrow(Vec::len)
}

/// Where the name of a test lies, as UTF-8.
#[unsafe(no_mangle)]
extern "C" fn test_name(number: usize) -> *const u8 {
    TESTS.with_borrow(|tests| tests[number].name.as_ptr())
}

/// How many bytes it has.
#[unsafe(no_mangle)]
extern "C" fn test_name_length(number: usize) -> usize {
    TESTS.with_borrow(|tests| tests[number].name.len())
}

/// Runs a test; what fails traps.
#[unsafe(no_mangle)]
extern "C" fn test_run(number: usize) {
    let run = TESTS.with_borrow(|tests| tests[number].run);
    run().expect("the test gives no error");
}
