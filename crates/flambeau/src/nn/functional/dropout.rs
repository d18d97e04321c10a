//! Dropout. The mask is never kept: backward draws it again from the generator's key and counter.

use crate::autograd::Saves;
use crate::error::{Error, Result};
use crate::rng::Generator;
use crate::shape::Shape;
use crate::tensor::{Tensor, twins};

/// What SELU tends to far below 0: the value that alpha dropout puts in.
const ALPHA: f64 = 1.7580993408473766;

fn check_probability(op: &'static str, p: f64) -> Result<()> {
    match (0.0..=1.0).contains(&p) {
        true => Ok(()),
        false => Err(Error::argument(op, format!("a probability of {p} is outside 0..=1"))),
    }
}

/// The shape of a mask for whole channels of (N, C, …).
fn channel_mask(op: &'static str, x: &Tensor) -> Result<Shape> {
    if x.rank() < 2 {
        return Err(Error::shape(op, format!("an input of shape {}; (N, C, …) is expected", x.shape())));
    }
    Ok(x.shape().iter().enumerate().map(|(d, &size)| if d < 2 { size } else { 1 }).collect())
}

/// Each place of `mask` is kept with probability 1 − p. What is kept becomes scale · x + shift, what is not, `dropped`.
struct Drop {
    name: &'static str,
    p: f64,
    mask: Shape,
    scale: f64,
    /// What is added to the kept, and put in place of the dropped.
    shift: Option<(f64, f64)>,
}

impl Drop {
    #[track_caller]
    fn apply(self, x: &Tensor, generator: &Generator) -> Result<Tensor> {
        let draw = generator.reserve(self.mask.numel() as u64);
        let (kept_share, scale) = (1.0 - self.p, self.scale);
        let forward = || {
            let kept = Tensor::drawn_bernoulli(draw, kept_share, &self.mask, x.device())?;
            let scaled = x.try_mul(scale)?;
            match self.shift {
                Some((shift, dropped)) => kept.try_where_cond(&scaled.try_add(shift)?, dropped),
                None => kept.try_where_cond(&scaled, 0.0),
            }
        };
        let mask = self.mask.clone();
        Tensor::with_rule(self.name, Saves::NOTHING, &[x], forward, move |v| {
            let kept = Tensor::drawn_bernoulli(draw, kept_share, &mask, v.grad().device())?;
            Ok(vec![Some(kept.try_where_cond(&v.grad().try_mul(scale)?, 0.0)?)])
        })
    }
}

impl Tensor {
    #[track_caller]
    fn dropped(&self, name: &'static str, p: f64, mask: Shape, generator: &Generator) -> Result<Tensor> {
        check_probability(name, p)?;
        if p == 0.0 || self.numel() == 0 {
            return Ok(self.clone());
        }
        if p == 1.0 {
            return self.try_mul(0.0);
        }
        Drop { name, p, mask, scale: 1.0 / (1.0 - p), shift: None }.apply(self, generator)
    }

    #[track_caller]
    fn alpha_dropped(
        &self,
        name: &'static str,
        p: f64,
        mask: Shape,
        generator: &Generator,
    ) -> Result<Tensor> {
        check_probability(name, p)?;
        if p == 0.0 || self.numel() == 0 {
            return Ok(self.clone());
        }
        if p == 1.0 {
            return self.try_mul(0.0);
        }
        // Mean and variance stay those of the input if they are 0 and 1.
        let scale = 1.0 / ((ALPHA * ALPHA * p + 1.0) * (1.0 - p)).sqrt();
        let shift = ALPHA * scale * p;
        let shift = Some((shift, shift - ALPHA * scale));
        Drop { name, p, mask, scale, shift }.apply(self, generator)
    }

    twins! {
        /// Each element is 0 with probability p, else x / (1 − p): as in training. In evaluation there is nothing to
        /// do.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([1000], &Device::cpu());
        /// let y = x.dropout(0.25, &Generator::new(1));
        /// assert!((y.mean(..).item_blocking()? - 1.0).abs() < 0.1);
        /// assert_eq!(y.amax(..).to_string(), "tensor(1.3333)");
        /// # Ok::<(), Error>(())
        /// ```
        dropout / try_dropout(&self, p: f64, generator: &Generator) -> Tensor {
            self.dropped("dropout", p, self.shape().clone(), generator)
        }

        /// [`dropout`](Tensor::dropout) of whole channels of (N, C, …): PyTorch's dropout1d, dropout2d and dropout3d.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let y = Tensor::ones([1, 8, 2, 2], &Device::cpu()).feature_dropout(0.5, &Generator::new(1));
        /// let sums = y.sum([2, 3]);
        /// assert!(sums.eq(0.0).logical_or(sums.eq(8.0)).all(..).item_blocking()? == 1.0);
        /// # Ok::<(), Error>(())
        /// ```
        feature_dropout / try_feature_dropout(&self, p: f64, generator: &Generator) -> Tensor {
            self.dropped("feature_dropout", p, channel_mask("feature_dropout", self)?, generator)
        }

        /// Dropout that keeps mean 0 and variance 1, for use with [`selu`](Tensor::selu).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let generator = Generator::new(1);
        /// let x = Tensor::randn([10000], &generator, &Device::cpu());
        /// let y = x.alpha_dropout(0.2, &generator);
        /// assert!((y.std(.., 1).item_blocking()? - 1.0).abs() < 0.05);
        /// # Ok::<(), Error>(())
        /// ```
        alpha_dropout / try_alpha_dropout(&self, p: f64, generator: &Generator) -> Tensor {
            self.alpha_dropped("alpha_dropout", p, self.shape().clone(), generator)
        }

        /// [`alpha_dropout`](Tensor::alpha_dropout) of whole channels of (N, C, …).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::ones([1, 2, 3], &Device::cpu());
        /// assert_eq!(x.feature_alpha_dropout(0.5, &Generator::new(1)).shape(), x.shape());
        /// ```
        feature_alpha_dropout / try_feature_alpha_dropout(&self, p: f64, generator: &Generator) -> Tensor {
            self.alpha_dropped("feature_alpha_dropout", p, channel_mask("feature_alpha_dropout", self)?, generator)
        }
    }
}
