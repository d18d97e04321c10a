//! Loss and accuracy over the steps of a run, as SVG.

use super::escaped;
use std::fmt::Write;

const WIDTH: f64 = 460.0;
const HEIGHT: f64 = 280.0;
const LEFT: f64 = 52.0;
const TOP: f64 = 30.0;
const BOTTOM: f64 = 34.0;
const COLOURS: [&str; 2] = ["#2f6fdf", "#e8862e"];

/// A line: its name, and its points (step, value).
pub type Line = (String, Vec<(f64, f64)>);

/// Panels side by side, each a title and at most two lines.
pub fn curves_svg(panels: &[(&str, Vec<Line>)]) -> String {
    let width = WIDTH * panels.len() as f64;
    let mut svg = format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{width}\" height=\"{HEIGHT}\" \
         font-family=\"sans-serif\" font-size=\"11\">\n<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n"
    );
    for (position, (title, lines)) in panels.iter().enumerate() {
        panel(&mut svg, WIDTH * position as f64, title, lines);
    }
    svg + "</svg>\n"
}

fn panel(svg: &mut String, left: f64, title: &str, lines: &[Line]) {
    let points = || lines.iter().flat_map(|(_, points)| points.iter()).filter(|(_, value)| value.is_finite());
    let steps = points().fold(1.0, |most: f64, (step, _)| most.max(*step));
    let lowest = points().fold(f64::INFINITY, |low, (_, value)| low.min(*value));
    let highest = points().fold(f64::NEG_INFINITY, |high, (_, value)| high.max(*value));
    let (low, high) = match lowest < highest {
        true => (lowest - 0.04 * (highest - lowest), highest + 0.04 * (highest - lowest)),
        false if lowest.is_finite() => (lowest - 0.5, lowest + 0.5),
        false => (0.0, 1.0),
    };
    let x = |step: f64| left + LEFT + step / steps * (WIDTH - LEFT - 20.0);
    let y = |value: f64| TOP + (high - value) / (high - low) * (HEIGHT - TOP - BOTTOM);
    _ = writeln!(svg, "<text x=\"{}\" y=\"18\" font-size=\"14\">{}</text>", left + LEFT, escaped(title));
    for tick in ticks(low, high) {
        let (y, digits) = (y(tick), if high - low < 0.05 { 4 } else { 2 });
        _ = writeln!(
            svg,
            "<path d=\"M{:.1} {y:.1}H{:.1}\" stroke=\"#e3e3e3\"/><text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{tick:.digits$}</text>",
            x(0.0),
            x(steps),
            x(0.0) - 6.0,
            y + 4.0
        );
    }
    for tick in ticks(0.0, steps) {
        _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{tick:.0}</text>",
            x(tick),
            HEIGHT - BOTTOM + 16.0
        );
    }
    for (position, ((name, points), colour)) in lines.iter().zip(COLOURS).enumerate() {
        let path: Vec<String> = points
            .iter()
            .filter(|(_, value)| value.is_finite())
            .map(|&(step, value)| format!("{:.1},{:.1}", x(step), y(value)))
            .collect();
        _ = writeln!(
            svg,
            "<polyline points=\"{}\" fill=\"none\" stroke=\"{colour}\" stroke-width=\"1.6\"/>",
            path.join(" ")
        );
        if points.len() <= 40 {
            for point in path.iter().filter_map(|point| point.split_once(',')) {
                _ = writeln!(
                    svg,
                    "<circle cx=\"{}\" cy=\"{}\" r=\"2.4\" fill=\"{colour}\"/>",
                    point.0, point.1
                );
            }
        }
        _ = writeln!(
            svg,
            "<text x=\"{:.1}\" y=\"18\" fill=\"{colour}\">{}</text>",
            left + WIDTH - 150.0 + 70.0 * position as f64,
            escaped(name)
        );
    }
}

/// Round numbers between two, about five of them.
fn ticks(low: f64, high: f64) -> Vec<f64> {
    let rough = (high - low) / 5.0;
    let power = 10f64.powf(rough.log10().floor());
    let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|factor| factor * power).find(|step| *step >= rough);
    let step = step.unwrap_or(rough);
    let first = (low / step).ceil() as i64;
    (first..).map(|k| k as f64 * step).take_while(|tick| *tick <= high).collect()
}

#[cfg(test)]
mod tests {
    use super::ticks;

    #[test]
    fn ticks_are_round_numbers() {
        assert_eq!(ticks(0.0, 1000.0), [0.0, 200.0, 400.0, 600.0, 800.0, 1000.0]);
        assert_eq!(ticks(0.93, 1.41).len(), 5);
        assert!(ticks(1e-9, 2e-9).len() >= 4);
    }
}
