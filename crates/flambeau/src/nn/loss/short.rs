//! The common losses with their default options, as methods of tensors.

use super::{
    BceLoss, BceWithLogitsLoss, CrossEntropyLoss, HuberLoss, KlDivLoss, L1Loss, MseLoss, NllLoss,
    SmoothL1Loss,
};
use crate::error::Result;
use crate::tensor::{Tensor, twins};

impl Tensor {
    twins! {
        /// The mean cross entropy of these logits (N, C, d1, …) against class numbers (N, d1, …) or probabilities;
        /// [`CrossEntropyLoss`] has options.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let logits = Tensor::new([[2.0, 0.0], [0.0, 0.0]], &device).requires_grad();
        /// let loss = logits.cross_entropy(&Tensor::new([0, 1], &device));
        /// loss.backward()?;
        /// assert_eq!(loss.detach().to_string(), "tensor(0.4100)");
        /// let grad = "tensor([[-0.0596,  0.0596],\n        [ 0.2500, -0.2500]])";
        /// assert_eq!(logits.grad().unwrap().to_string(), grad);
        /// # Ok::<(), Error>(())
        /// ```
        cross_entropy / try_cross_entropy(&self, target: &Tensor) -> Tensor {
            CrossEntropyLoss::default().try_forward(self, target)
        }

        /// The mean negative log likelihood of these log probabilities (N, C, d1, …) against class numbers;
        /// [`NllLoss`] has options.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([[-0.5, -1.0], [-2.0, -0.1]], &device);
        /// assert_eq!(x.nll_loss(&Tensor::new([0, 0], &device)).to_string(), "tensor(1.2500)");
        /// ```
        nll_loss / try_nll_loss(&self, target: &Tensor) -> Tensor {
            NllLoss::default().try_forward(self, target)
        }

        /// The mean binary cross entropy of these probabilities; [`BceLoss`] has options.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([0.5, 0.9], &device);
        /// assert_eq!(x.binary_cross_entropy(&Tensor::new([1.0, 1.0], &device)).to_string(), "tensor(0.3993)");
        /// ```
        binary_cross_entropy / try_binary_cross_entropy(&self, target: &Tensor) -> Tensor {
            BceLoss::default().try_forward(self, target)
        }

        /// The mean binary cross entropy of these logits; [`BceWithLogitsLoss`] has options.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([0.0, 2.0], &device);
        /// let loss = x.binary_cross_entropy_with_logits(&Tensor::new([1.0, 1.0], &device));
        /// assert_eq!(loss.to_string(), "tensor(0.4100)");
        /// ```
        binary_cross_entropy_with_logits / try_binary_cross_entropy_with_logits(&self, target: &Tensor) -> Tensor {
            BceWithLogitsLoss::default().try_forward(self, target)
        }

        /// The mean squared error; [`MseLoss`] has options.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([1.0, 5.0], &device);
        /// assert_eq!(x.mse_loss(&Tensor::new([0.0, 2.0], &device)).to_string(), "tensor(5.)");
        /// ```
        mse_loss / try_mse_loss(&self, target: &Tensor) -> Tensor {
            MseLoss::default().try_forward(self, target)
        }

        /// The mean absolute error; [`L1Loss`] has options.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([1.0, 5.0], &device);
        /// assert_eq!(x.l1_loss(&Tensor::new([0.0, 2.0], &device)).to_string(), "tensor(2.)");
        /// ```
        l1_loss / try_l1_loss(&self, target: &Tensor) -> Tensor {
            L1Loss::default().try_forward(self, target)
        }

        /// The mean smooth L1 loss with β = 1; [`SmoothL1Loss`] has options.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([0.5, 5.0], &device);
        /// assert_eq!(x.smooth_l1_loss(&Tensor::new([0.0, 2.0], &device)).to_string(), "tensor(1.3125)");
        /// ```
        smooth_l1_loss / try_smooth_l1_loss(&self, target: &Tensor) -> Tensor {
            SmoothL1Loss::default().try_forward(self, target)
        }

        /// The mean Huber loss with δ = 1; [`HuberLoss`] has options.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([0.5, 5.0], &device);
        /// assert_eq!(x.huber_loss(&Tensor::new([0.0, 2.0], &device)).to_string(), "tensor(1.3125)");
        /// ```
        huber_loss / try_huber_loss(&self, target: &Tensor) -> Tensor {
            HuberLoss::default().try_forward(self, target)
        }

        /// The Kullback–Leibler divergence of these log probabilities from a target, as the mean over all elements;
        /// [`KlDivLoss`] has options, among them the mean over the batch.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let device = Device::cpu();
        /// let x = Tensor::new([[0.5, 0.5]], &device).log();
        /// assert_eq!(x.kl_div(&Tensor::new([[1.0, 0.0]], &device)).to_string(), "tensor(0.3466)");
        /// ```
        kl_div / try_kl_div(&self, target: &Tensor) -> Tensor {
            KlDivLoss::default().try_forward(self, target)
        }
    }
}
