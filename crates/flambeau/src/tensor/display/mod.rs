//! Text of a tensor's values, laid out as PyTorch prints them: with its default options four digits after the
//! point, lines of 80 characters, and only the edges of a tensor of more than 1000 elements ([`PrintOptions`]).
//!
//! This module knows values and a shape, not tensors: reading the values back is the caller's part. `options` has what can be
//! chosen, `cells` the texts of single elements; here they are put in brackets and lines.

mod cells;
mod options;
#[cfg(test)]
mod tests;

use crate::shape::product;
use cells::cells;
pub use options::{PrintOptions, print_options, set_print_options, with_print_options};
use std::iter::repeat_n;

/// Every tensor's text starts with this; what follows on other lines is indented by its length.
const PREFIX: &str = "tensor(";

/// The values of a tensor in row-major order, widened to the largest type of their kind.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Values<'a> {
    /// Of a floating-point dtype.
    Float(&'a [f64]),
    /// Of an integer dtype.
    Int(&'a [i64]),
    /// Truth values, printed `True` and `False` as PyTorch does.
    Bool(&'a [bool]),
}

/// The text of a tensor, for example `tensor([1., 2.], requires_grad=true)`.
///
/// `suffix` is empty or a list such as `, dtype=f16, device='gpu'`. It goes before the closing parenthesis; an
/// item that would make its line too long starts a new one.
pub(crate) fn format_tensor(values: Values, shape: &[usize], suffix: &str) -> String {
    let options = &print_options();
    let count = product(shape);
    let mut text = String::from(PREFIX);
    let mut notes = Vec::new();
    if count == 0 {
        text.push_str("[]");
        if shape.len() != 1 {
            let sizes: Vec<String> = shape.iter().map(usize::to_string).collect();
            notes.push(format!("size=({})", sizes.join(", ")));
        }
    } else {
        let axes: Vec<Axis> =
            shape.iter().map(|&size| Axis::new(size, count > options.threshold, options)).collect();
        let mut shown = Vec::new();
        visible(&axes, 0, &mut shown);
        let (cells, width) = cells(values, &shown, options);
        let layout = Layout { width, line: options.line_width };
        write_block(&mut text, &axes, PREFIX.len(), layout, &mut cells.iter());
    }
    notes.extend(suffix.split(", ").filter(|note| !note.is_empty()).map(String::from));
    write_notes(&mut text, &notes, options.line_width);
    text.push(')');
    text
}

/// Which entries of an axis are shown.
struct Axis {
    size: usize,
    edge: usize,
    abbreviated: bool,
}

/// The width of a cell and of a line.
#[derive(Clone, Copy)]
struct Layout {
    width: usize,
    line: usize,
}

impl Axis {
    fn new(size: usize, abbreviate: bool, options: &PrintOptions) -> Self {
        let edge = options.edge_items;
        Axis { size, edge, abbreviated: abbreviate && size / 2 >= edge && size > 2 * edge }
    }

    /// The shown indices in order; `None` stands for those left out.
    fn entries(&self) -> impl Iterator<Item = Option<usize>> {
        let head = if self.abbreviated { self.edge } else { self.size };
        let tail = if self.abbreviated { self.size - self.edge } else { self.size };
        (0..head).map(Some).chain(self.abbreviated.then_some(None)).chain((tail..self.size).map(Some))
    }
}

/// Collects the flat indices of all shown elements below the row-major `position` of the axes before these.
fn visible(axes: &[Axis], position: usize, shown: &mut Vec<usize>) {
    match axes {
        [] => shown.push(position),
        [axis, inner @ ..] => {
            axis.entries().flatten().for_each(|i| visible(inner, position * axis.size + i, shown));
        }
    }
}

/// Writes the cells under `axes` in brackets; the opening one stands in column `indent`.
fn write_block<'a>(
    out: &mut String,
    axes: &[Axis],
    indent: usize,
    layout: Layout,
    cells: &mut impl Iterator<Item = &'a String>,
) {
    let mut cell = |out: &mut String| out.extend(cells.next().map(String::as_str));
    match axes {
        [] => cell(out),
        [axis] => {
            let per_line = ((layout.line.saturating_sub(indent)) / (layout.width + 2)).max(1);
            out.push('[');
            for (position, entry) in axis.entries().enumerate() {
                if position > 0 && position % per_line == 0 {
                    out.push(',');
                    new_lines(out, 1, indent + 1);
                } else if position > 0 {
                    out.push_str(", ");
                }
                match entry {
                    Some(_) => cell(out),
                    None => out.push_str(" ..."),
                }
            }
            out.push(']');
        }
        [axis, inner @ ..] => {
            out.push('[');
            for (position, entry) in axis.entries().enumerate() {
                if position > 0 {
                    out.push(',');
                    new_lines(out, inner.len(), indent + 1);
                }
                match entry {
                    Some(_) => write_block(out, inner, indent + 1, layout, cells),
                    None => out.push_str("..."),
                }
            }
            out.push(']');
        }
    }
}

fn new_lines(out: &mut String, lines: usize, indent: usize) {
    out.extend(repeat_n('\n', lines).chain(repeat_n(' ', indent)));
}

/// Appends `, note` for each, on a new line where the current one would become too long.
fn write_notes(out: &mut String, notes: &[String], line_width: usize) {
    let last_line = out.rsplit('\n').next().unwrap_or_default();
    // PyTorch reckons two characters more for the line that ends the values.
    let mut column = last_line.chars().count() + 2;
    for note in notes {
        let length = note.chars().count();
        if column + length + 2 > line_width {
            out.push(',');
            new_lines(out, 1, PREFIX.len());
            column = PREFIX.len() + length;
        } else {
            out.push_str(", ");
            column += length + 2;
        }
        out.push_str(note);
    }
}
