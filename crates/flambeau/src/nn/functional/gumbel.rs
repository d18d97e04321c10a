//! Random choices that have a derivative (Jang et al., Maddison et al., 2016).

use crate::error::Result;
use crate::rng::Generator;
use crate::tensor::{Tensor, twins};

impl Tensor {
    twins! {
        /// softmax((x + g) / τ) with g drawn from Gumbel's distribution: a random choice that has a derivative. With `hard`
        /// the result is the choice itself, one-hot, and the derivative that of the soft one.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let logits = Tensor::new([[0.0, 50.0]], &Device::cpu());
        /// let choice = logits.gumbel_softmax(1.0, true, -1, &Generator::new(1));
        /// assert_eq!(choice.to_string(), "tensor([[0., 1.]])");
        /// ```
        gumbel_softmax / try_gumbel_softmax(&self, tau: f64, hard: bool, dim: isize, generator: &Generator) -> Tensor {
            let uniform = self.detach().try_rand_like(generator)?;
            // Away from 0 and 1, so that both logarithms are finite.
            let uniform = uniform.try_clamp(f64::from(f32::MIN_POSITIVE), 1.0 - f64::from(f32::EPSILON))?;
            let gumbel = uniform.try_log()?.try_neg()?.try_log()?.try_neg()?;
            let soft = self.try_add(&gumbel)?.try_div(tau)?.try_softmax(dim)?;
            if !hard {
                return Ok(soft);
            }
            let chosen = soft.detach().try_argmax_keepdim(dim)?;
            let choice = soft.detach().zeros_like().try_scatter(dim, &chosen, 1.0)?;
            choice.try_sub(soft.detach())?.try_add(&soft)
        }
    }
}
