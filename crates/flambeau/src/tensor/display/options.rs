//! How tensors are printed: what a program, or a part of it, has said.

use std::cell::Cell;
use std::sync::RwLock;

/// How tensors are printed: [`set_print_options`] for the program, [`with_print_options`] for a part of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PrintOptions {
    /// Digits after the decimal point.
    pub precision: usize,
    /// A tensor with more elements than this is abbreviated.
    pub threshold: usize,
    /// How many entries an abbreviated axis shows at either end.
    pub edge_items: usize,
    /// Characters in a line.
    pub line_width: usize,
    /// Whether floats are written like 1.5000e+02; what fits the values where nothing is said.
    pub scientific: Option<bool>,
}

impl PrintOptions {
    const DEFAULT: PrintOptions =
        PrintOptions { precision: 4, threshold: 1000, edge_items: 3, line_width: 80, scientific: None };
}

impl Default for PrintOptions {
    fn default() -> Self {
        PrintOptions::DEFAULT
    }
}

static OPTIONS: RwLock<PrintOptions> = RwLock::new(PrintOptions::DEFAULT);

thread_local! {
    static SCOPED: Cell<Option<PrintOptions>> = const { Cell::new(None) };
}

/// The options tensors are printed with on this thread.
///
/// ```
/// assert_eq!(flambeau::print_options().precision, 4);
/// ```
pub fn print_options() -> PrintOptions {
    SCOPED.get().unwrap_or_else(|| *OPTIONS.read().unwrap_or_else(|poisoned| poisoned.into_inner()))
}

/// Sets how tensors are printed from now on, on all threads.
///
/// ```standalone_crate
/// use flambeau::{PrintOptions, print_options, set_print_options};
/// set_print_options(PrintOptions { precision: 2, ..Default::default() });
/// assert_eq!(print_options().precision, 2);
/// ```
pub fn set_print_options(options: PrintOptions) {
    *OPTIONS.write().unwrap_or_else(|poisoned| poisoned.into_inner()) = options;
}

/// What a function gives that prints tensors with other options, on this thread.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{PrintOptions, with_print_options};
/// let x = Tensor::new([0.123456, 100.0], &Device::cpu());
/// let short = PrintOptions { precision: 1, ..Default::default() };
/// assert_eq!(with_print_options(short, || x.to_string()), "tensor([  0.1, 100.0])");
/// assert_eq!(x.to_string(), "tensor([  0.1235, 100.0000])");
/// ```
pub fn with_print_options<T>(options: PrintOptions, body: impl FnOnce() -> T) -> T {
    /// Puts back what was there, also when the body panics.
    struct Restore(Option<PrintOptions>);
    impl Drop for Restore {
        fn drop(&mut self) {
            SCOPED.set(self.0);
        }
    }
    let _restore = Restore(SCOPED.replace(Some(options)));
    body()
}
