//! Recurrent layers: over whole sequences (Rnn, Gru, Lstm), and one step at a time (the cells).

mod cells;
mod layers;
mod stack;

use crate::op::recurrence;
pub use cells::{CellOptions, GruCell, LstmCell, RnnCell, RnnCellOptions};
pub use layers::{Gru, GruOptions, Lstm, LstmOptions, Rnn, RnnNonlinearity, RnnOptions};
