//! Recurrent layers: over whole sequences (Rnn, Gru, Lstm), and one step at a time (the cells).

mod cells;
mod layers;
mod sequence;
mod stack;
mod step;

pub use cells::{CellOptions, GruCell, LstmCell, RnnCell, RnnCellOptions};
pub use layers::{Gru, GruOptions, Lstm, LstmOptions, Rnn, RnnNonlinearity, RnnOptions};
