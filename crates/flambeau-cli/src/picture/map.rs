//! Decision maps: in the terminal, two pixels a character, and as SVG.

use std::fmt::Write;

/// Shades between sure of one class and sure of the other, in the SVG.
const SHADES: f64 = 12.0;

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

/// The same map as an SVG of 480 × 480, with the points (x, y, class) over the square [−side, side]².
pub fn map_svg(probabilities: &[f64], size: usize, points: &[[f64; 3]], side: f64) -> String {
    let mut text = String::from("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"480\" height=\"480\">\n");
    let cell = 480.0 / size as f64;
    let shade = |at: usize| (probabilities[at] * SHADES).round() / SHADES;
    for row in 0..size {
        let mut column = 0;
        while column < size {
            let value = shade(row * size + column);
            let start = column;
            while column < size && shade(row * size + column) == value {
                column += 1;
            }
            let ((r, g, b), width) = (colour(value), (column - start) as f64 * cell);
            let (x, y) = (start as f64 * cell, row as f64 * cell);
            _ = writeln!(
                text,
                "<rect x=\"{x:.1}\" y=\"{y:.1}\" width=\"{:.1}\" height=\"{:.1}\" fill=\"#{r:02x}{g:02x}{b:02x}\"/>",
                width + 0.5,
                cell + 0.5
            );
        }
    }
    for [x, y, class] in points {
        let (x, y) = (240.0 * (1.0 + x / side), 240.0 * (1.0 - y / side));
        let fill = if *class > 0.5 { "#fff3e0" } else { "#e3f2fd" };
        _ = writeln!(text, "<circle cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"2\" fill=\"{fill}\"/>");
    }
    text + "</svg>\n"
}
