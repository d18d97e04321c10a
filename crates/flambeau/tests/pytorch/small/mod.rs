//! The small files: `misc.cpp`, `grad_mode.cpp`, `inference_mode.cpp`, `expanding-array.cpp`, `tensor_options.cpp`,
//! `operations.cpp`, `fft.cpp` and `special.cpp`.

mod expanding_array;
mod fft;
mod grad_mode;
mod inference_mode;
mod misc;
mod operations;
mod special;
mod tensor_options;
