//! Which classes were taken for which, as SVG.

use super::escaped;
use std::fmt::Write;

const CELL: usize = 44;
const LEFT: usize = 96;
const TOP: usize = 46;

/// A table of counts: a row for each true class, a column for each predicted one.
pub fn confusion_svg(counts: &[Vec<u64>], classes: &[String]) -> String {
    let size = counts.len() * CELL;
    let (width, height) = (LEFT + size + 16, TOP + size + 16);
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{height}\" font-family=\"sans-serif\" \
         font-size=\"11\" text-anchor=\"middle\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n\
         <text x=\"{}\" y=\"16\">predicted</text>\n<text x=\"{}\" y=\"{}\">true</text>\n",
        LEFT + size / 2,
        LEFT / 2,
        TOP - 8
    );
    for (row, counts) in counts.iter().enumerate() {
        let total = counts.iter().sum::<u64>().max(1) as f64;
        let name = escaped(classes.get(row).map_or("", String::as_str));
        let middle = TOP + row * CELL + CELL / 2 + 4;
        _ = writeln!(svg, "<text x=\"{}\" y=\"{middle}\" text-anchor=\"end\">{name}</text>", LEFT - 6);
        let short: String = name.chars().take(7).collect();
        let (x, y) = (LEFT + row * CELL + CELL / 2, TOP - 6);
        _ = writeln!(svg, "<text x=\"{x}\" y=\"{y}\" font-size=\"9\">{short}</text>");
        for (column, &count) in counts.iter().enumerate() {
            // Errors are few: the root makes them visible.
            let share = (count as f64 / total).sqrt();
            let (target, text) =
                if row == column { ([47, 111, 223], "#ffffff") } else { ([214, 69, 40], "#222222") };
            let [r, g, b] = target.map(|full: u8| (255.0 + (f64::from(full) - 255.0) * share) as u8);
            let (x, y) = (LEFT + column * CELL, TOP + row * CELL);
            _ = writeln!(
                svg,
                "<rect x=\"{x}\" y=\"{y}\" width=\"{CELL}\" height=\"{CELL}\" fill=\"#{r:02x}{g:02x}{b:02x}\" stroke=\"#ffffff\"/>"
            );
            if count > 0 {
                let fill = if share > 0.5 { text } else { "#222222" };
                _ = writeln!(
                    svg,
                    "<text x=\"{}\" y=\"{middle}\" fill=\"{fill}\">{count}</text>",
                    x + CELL / 2
                );
            }
        }
    }
    svg + "</svg>\n"
}
