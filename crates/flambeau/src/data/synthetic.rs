//! Small data sets that are computed: points in the plane (F32, shape (N, 2)) with a class each (I32). The same
//! generator state gives the same points on every machine.

use super::array::HostArray;
use super::dataset::ArrayDataset;
use super::random::HostRandom;
use crate::error::expect;
use crate::rng::Generator;
use libm::{cos, sin};
use std::f64::consts::PI;

/// Points with classes.
#[derive(Default)]
struct Points {
    coordinates: Vec<f32>,
    classes: Vec<i32>,
}

impl Points {
    fn push(&mut self, [x, y]: [f64; 2], class: usize) {
        self.coordinates.extend([x as f32, y as f32]);
        self.classes.push(class as i32);
    }

    fn finish(self) -> ArrayDataset {
        let count = self.classes.len();
        let x = expect(HostArray::new(&self.coordinates, [count, 2]));
        let y = expect(HostArray::new(&self.classes, [count]));
        expect(ArrayDataset::new([x, y]))
    }
}

/// A point of the unit circle.
fn on_circle(angle: f64) -> [f64; 2] {
    [cos(angle), sin(angle)]
}

/// `count` points, the classes in turn: `place(class, t)` says where the point with t from 0 to 1 along its class is,
/// before normal noise is added.
fn along(
    count: usize,
    classes: usize,
    noise: f64,
    generator: &Generator,
    place: impl Fn(usize, f64) -> [f64; 2],
) -> ArrayDataset {
    let mut random = HostRandom::new(generator);
    let mut points = Points::default();
    let steps = count.div_ceil(classes.max(1)).saturating_sub(1).max(1) as f64;
    for number in 0..count {
        let (class, step) = (number % classes.max(1), number / classes.max(1));
        let [x, y] = place(class, step as f64 / steps);
        points.push([x + noise * random.normal(), y + noise * random.normal()], class);
    }
    points.finish()
}

/// Spirals that wind once around each other within the unit circle, one for each class; `noise` is a standard
/// deviation.
///
/// ```
/// use flambeau::{Generator, data::{Dataset, synthetic}};
/// assert_eq!(synthetic::spirals(300, 3, 0.02, &Generator::new(1)).len(), 300);
/// ```
pub fn spirals(count: usize, classes: usize, noise: f64, generator: &Generator) -> ArrayDataset {
    along(count, classes, noise, generator, |class, t| {
        let radius = 0.05 + 0.95 * t;
        let [x, y] = on_circle(2.0 * PI * (t + class as f64 / classes as f64));
        [radius * x, radius * y]
    })
}

/// Two half circles, each with an end inside the other, as scikit-learn's `make_moons`.
///
/// ```
/// use flambeau::{Generator, data::{Dataset, synthetic}};
/// let moons = synthetic::moons(4, 0.0, &Generator::new(1));
/// assert_eq!(moons.get(0)?[0].values::<f32>()?, [1.0, 0.0]);
/// # Ok::<(), flambeau::Error>(())
/// ```
pub fn moons(count: usize, noise: f64, generator: &Generator) -> ArrayDataset {
    along(count, 2, noise, generator, |class, t| {
        let [x, y] = on_circle(PI * t);
        if class == 0 { [x, y] } else { [1.0 - x, 0.5 - y] }
    })
}

/// A circle of radius 1 (class 0) and one of radius `factor` (class 1), as scikit-learn's `make_circles`.
///
/// ```
/// use flambeau::{Generator, data::{Dataset, synthetic}};
/// let circles = synthetic::circles(4, 0.5, 0.0, &Generator::new(1));
/// assert_eq!(circles.get(1)?[0].values::<f32>()?, [0.5, 0.0]);
/// # Ok::<(), flambeau::Error>(())
/// ```
pub fn circles(count: usize, factor: f64, noise: f64, generator: &Generator) -> ArrayDataset {
    let steps = count.div_ceil(2).max(1) as f64;
    along(count, 2, noise, generator, |class, t| {
        // The last point is not the first again.
        let [x, y] = on_circle(2.0 * PI * t * (steps - 1.0).max(1.0) / steps);
        let radius = if class == 0 { 1.0 } else { factor };
        [radius * x, radius * y]
    })
}

/// Clouds of normally distributed points around given centres, one for each class; `spread` is their standard
/// deviation.
///
/// ```
/// use flambeau::{Generator, data::{Dataset, synthetic}};
/// let blobs = synthetic::blobs(10, &[[-1.0, 0.0], [1.0, 0.0]], 0.2, &Generator::new(1));
/// assert_eq!(blobs.get(3)?[1].values::<i32>()?, [1]);
/// # Ok::<(), flambeau::Error>(())
/// ```
pub fn blobs(count: usize, centres: &[[f64; 2]], spread: f64, generator: &Generator) -> ArrayDataset {
    along(count, centres.len(), spread, generator, |class, _| centres.get(class).copied().unwrap_or_default())
}

/// Points spread evenly over the square from −1 to 1, of class 1 where exactly one coordinate is positive; then noise
/// is added.
///
/// ```
/// use flambeau::{Generator, data::{Dataset, synthetic}};
/// let point = synthetic::xor(1, 0.0, &Generator::new(1)).get(0)?;
/// let (at, class) = (point[0].values::<f32>()?, point[1].values::<i32>()?);
/// assert_eq!(class[0] == 1, (at[0] > 0.0) != (at[1] > 0.0));
/// # Ok::<(), flambeau::Error>(())
/// ```
pub fn xor(count: usize, noise: f64, generator: &Generator) -> ArrayDataset {
    let mut random = HostRandom::new(generator);
    let mut points = Points::default();
    for _ in 0..count {
        let [x, y] = [(); 2].map(|()| 2.0 * random.uniform() - 1.0);
        let class = usize::from((x > 0.0) != (y > 0.0));
        points.push([x + noise * random.normal(), y + noise * random.normal()], class);
    }
    points.finish()
}
