//! PyTorch's C++ API tests (`test/cpp/api`), by meaning: one module for each of its files, one test for each of its cases, on
//! the CPU and on the GPU. `docs/pytorch-parity.md` says which case is where. In WebAssembly they run in browsers and in Node, but
//! for those that need files, threads or processes (`common/wasm.rs`).

#![cfg_attr(
    target_arch = "wasm32",
    feature(custom_test_frameworks, test),
    test_runner(crate::common::wasm::keep)
)]

mod autograd;
#[path = "../common/mod.rs"]
mod common;
mod containers;
mod dataloader;
mod functional;
mod integration;
mod module;
mod modules;
mod modules_loss;
mod modules_print;
mod nn_utils;
mod optim;
mod ordered_dict;
#[cfg(not(target_arch = "wasm32"))]
mod parity;
mod recorded;
mod rnn;
mod serialize;
mod small;
mod tensor;
mod tensor_indexing;
mod tools;
mod transformer;
