//! A decision map in the terminal: two pixels a character.

/// Draws a square of class probabilities (row-major, top row first) in blue and orange; brighter is surer.
pub fn decision_map(probabilities: &[f64], size: usize) -> String {
    let mut text = String::new();
    for row in (0..size - 1).step_by(2) {
        text += "  ";
        for column in 0..size {
            let (upper, lower) =
                (probabilities[row * size + column], probabilities[(row + 1) * size + column]);
            let ((r, g, b), (x, y, z)) = (colour(upper), colour(lower));
            text += &format!("\x1b[38;2;{r};{g};{b}m\x1b[48;2;{x};{y};{z}m▀");
        }
        text += "\x1b[0m\n";
    }
    text
}

/// From blue (0) over grey to orange (1).
fn colour(probability: f64) -> (u8, u8, u8) {
    let mix = |from: f64, to: f64| (from + (to - from) * probability.clamp(0.0, 1.0)) as u8;
    (mix(40.0, 250.0), mix(90.0, 150.0), mix(200.0, 40.0))
}
