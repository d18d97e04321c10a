//! What is allocated, counted.
//!
//! Files that ask for far more memory than they have bytes: every reader refuses them before it allocates. What a read
//! allocates is counted, at its peak, and compared with the reader's limit. Kernels of the CPU allocate nothing for a row.

mod bombs;
mod counting;
mod kernels;
mod make;
