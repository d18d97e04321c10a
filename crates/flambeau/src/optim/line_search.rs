//! Where to stop along a direction: a search for a point that meets the strong Wolfe conditions, in the steps and with
//! the constants of PyTorch's.
//!
//! The search proposes step lengths and is told what was found there; it evaluates nothing itself.

use crate::tensor::Tensor;

/// Sufficient decrease: loss ≤ loss(0) + this · t · slope(0).
const DECREASE: f64 = 1e-4;
/// Curvature: |slope| ≤ this · |slope(0)|.
const CURVATURE: f64 = 0.9;
/// Evaluations after the first.
const MAX_TRIALS: usize = 25;
/// A bracket that moves no element by more than this is narrow enough.
const NARROW: f64 = 1e-9;

/// A point along the direction.
#[derive(Debug, Clone)]
pub(super) struct Point {
    /// How far along.
    pub length: f64,
    pub loss: f64,
    /// The derivative of the loss along the direction.
    pub slope: f64,
    pub gradient: Tensor,
    /// The largest element of the gradient.
    pub largest: f64,
}

/// A search along one direction.
#[derive(Debug)]
pub(super) struct Search {
    start: Point,
    /// The largest element of the direction.
    reach: f64,
    trials: usize,
    phase: Phase,
}

#[derive(Debug)]
enum Phase {
    /// Goes further until a bracket is found; holds the point before.
    Bracket { previous: Point },
    /// Narrows a bracket; `low` is its better end.
    Zoom { ends: [Point; 2], stuck: bool },
}

/// What to do next.
pub(super) enum Next {
    /// Evaluate at this length.
    Try(f64),
    /// Stop here.
    Stop(Point),
}

impl Search {
    pub fn new(start: Point, reach: f64) -> Search {
        Search { phase: Phase::Bracket { previous: start.clone() }, start, reach, trials: 0 }
    }

    fn decreases_too_little(&self, point: &Point) -> bool {
        point.loss > self.start.loss + DECREASE * point.length * self.start.slope
    }

    fn is_flat(&self, point: &Point) -> bool {
        point.slope.abs() <= -CURVATURE * self.start.slope
    }

    /// Takes in what was found at the length tried last.
    pub fn found(&mut self, point: Point) -> Next {
        match std::mem::replace(&mut self.phase, Phase::Bracket { previous: self.start.clone() }) {
            Phase::Bracket { previous } => self.bracket(previous, point),
            Phase::Zoom { ends, stuck } => self.zoom(ends, stuck, point),
        }
    }

    fn bracket(&mut self, previous: Point, point: Point) -> Next {
        if self.trials == MAX_TRIALS {
            return Next::Stop(lower([self.start.clone(), point]));
        }
        let rises = self.trials > 1 && point.loss >= previous.loss;
        if self.decreases_too_little(&point) || rises {
            return self.narrow([previous, point], false);
        }
        if self.is_flat(&point) {
            return Next::Stop(point);
        }
        if point.slope >= 0.0 {
            return self.narrow([previous, point], false);
        }
        let bounds = (point.length + 0.01 * (point.length - previous.length), point.length * 10.0);
        let length = cubic_minimum(&previous, &point, bounds);
        self.phase = Phase::Bracket { previous: point };
        self.trials += 1;
        Next::Try(length)
    }

    fn zoom(&mut self, mut ends: [Point; 2], stuck: bool, point: Point) -> Next {
        let (low, high) = if ends[0].loss <= ends[1].loss { (0, 1) } else { (1, 0) };
        if self.decreases_too_little(&point) || point.loss >= ends[low].loss {
            ends[high] = point;
        } else {
            if self.is_flat(&point) {
                return Next::Stop(point);
            }
            if point.slope * (ends[high].length - ends[low].length) >= 0.0 {
                ends[high] = ends[low].clone();
            }
            ends[low] = point;
        }
        self.narrow(ends, stuck)
    }

    /// The next length inside a bracket.
    fn narrow(&mut self, ends: [Point; 2], stuck: bool) -> Next {
        let (left, right) = (ends[0].length.min(ends[1].length), ends[0].length.max(ends[1].length));
        if self.trials == MAX_TRIALS || (right - left) * self.reach < NARROW {
            return Next::Stop(lower(ends));
        }
        let mut length = cubic_minimum(&ends[0], &ends[1], (left, right));
        let margin = 0.1 * (right - left);
        let is_near_an_end = (right - length).min(length - left) < margin;
        let moves_inside = is_near_an_end && (stuck || length >= right || length <= left);
        if moves_inside {
            let nearer_right = (length - right).abs() < (length - left).abs();
            length = if nearer_right { right - margin } else { left + margin };
        }
        self.phase = Phase::Zoom { ends, stuck: is_near_an_end && !moves_inside };
        self.trials += 1;
        Next::Try(length)
    }
}

fn lower([a, b]: [Point; 2]) -> Point {
    if a.loss <= b.loss { a } else { b }
}

/// Where the cubic through two points with their slopes is lowest, kept inside the bounds.
fn cubic_minimum(a: &Point, b: &Point, (least, most): (f64, f64)) -> f64 {
    let (near, far) = if a.length <= b.length { (a, b) } else { (b, a) };
    let d1 = near.slope + far.slope - 3.0 * (near.loss - far.loss) / (near.length - far.length);
    let square = d1 * d1 - near.slope * far.slope;
    if square < 0.0 {
        return (least + most) / 2.0;
    }
    let d2 = square.sqrt();
    let share = (far.slope + d2 - d1) / (far.slope - near.slope + 2.0 * d2);
    (far.length - (far.length - near.length) * share).max(least).min(most)
}
