//! What ops, derivatives, optimizers and backends compute: against the interpreter, PyTorch and finite differences.
//!
//! One binary, so that the library is linked once; `cargo test --test values autograd` runs one topic.

mod amp_reference;
mod attention;
mod autocast;
mod autograd;
#[path = "../common/mod.rs"]
mod common;
mod conv;
mod custom_kernel;
mod data;
mod data_augment;
mod diloco;
mod edges;
mod elementwise_values;
mod evaluation_orders;
mod fft;
mod first_values;
mod func;
mod functional;
mod golden;
mod gpu_backend;
mod grad_scaler;
mod group;
mod hostile;
mod interop;
mod io;
mod layers;
mod linalg;
mod loss;
mod matrix_units;
mod models;
mod noisy_gradients;
mod numpy;
mod numpy_names;
mod op_suite;
mod optim;
mod optim_reference;
mod optim_state;
mod precision;
mod random;
mod random_graphs;
mod reductions;
mod scan_sort;
mod sequence;
mod suite;
mod tensor_api;
mod tensor_edges;
mod thin_walk;
mod tiers;
mod train;
mod training_curve;
