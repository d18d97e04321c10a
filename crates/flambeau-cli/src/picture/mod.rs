//! Pictures of a run, as SVG and in the terminal.

mod confusion;
mod curves;
mod map;

pub use confusion::confusion_svg;
pub use curves::curves_svg;
pub use map::{decision_map, map_svg};

/// Text that may stand in SVG.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}
