//! The program itself, run as people run it: in folders of its own, killed, interrupted, given bad files.

mod bench;
mod data_sets;
mod errors;
mod federated;
mod files;
mod groups;
mod kills;
mod new;
mod selftest;
mod serve;
mod support;
mod training;
