//! Random tensors. The same generator state gives the same bits on every device.

use super::{Tensor, TensorOptions, twins};
use crate::device::Device;
use crate::dtype::{DType, Scalar};
use crate::error::{Error, Result, expect};
use crate::op::elementwise::{Elementwise, NORMAL, UNIFORM, apply};
use crate::op::{Meta, Op};
use crate::rng::{Draw, Generator};
use crate::shape::Shape;

impl Tensor {
    /// Random bits (U32), as many words of the generator's stream as there are elements.
    #[track_caller]
    pub(crate) fn bits(shape: impl Into<Shape>, generator: &Generator, device: &Device) -> Tensor {
        expect(Tensor::try_bits(shape.into(), generator, device))
    }

    #[track_caller]
    fn try_bits(shape: Shape, generator: &Generator, device: &Device) -> Result<Tensor> {
        let draw = generator.reserve(shape.numel() as u64);
        Tensor::drawn_bits(draw, shape, device)
    }

    /// The random bits of a draw that a generator has made already.
    #[track_caller]
    fn drawn_bits((key, counter): Draw, shape: Shape, device: &Device) -> Result<Tensor> {
        let data = [key[0], key[1], counter[0], counter[1]].map(Scalar::from);
        Tensor::source(Op::Bits, Meta::new(shape, DType::U32), device, &data)
    }

    /// True with probability p, from the bits of a draw: the same draw always gives the same ones.
    #[track_caller]
    pub(crate) fn drawn_bernoulli(draw: Draw, p: f64, shape: &Shape, device: &Device) -> Result<Tensor> {
        let uniform = apply(&UNIFORM, &[&Tensor::drawn_bits(draw, shape.clone(), device)?])?;
        uniform.try_lt(p)
    }

    #[track_caller]
    fn random(
        op: &'static str,
        from_bits: &'static Elementwise,
        shape: Shape,
        generator: &Generator,
        options: &TensorOptions,
    ) -> Result<Tensor> {
        let dtype = options.dtype_or(DType::F32);
        if !dtype.is_float() {
            return Err(Error::dtype_not_accepted(op, dtype, "a float dtype"));
        }
        let bits = Tensor::try_bits(shape, generator, &options.device)?;
        apply(from_bits, &[&bits])?.try_to_dtype(dtype)
    }

    /// This tensor's dtype and device.
    fn options(&self) -> TensorOptions {
        TensorOptions::from((self.dtype(), self.device()))
    }

    twins! {
        /// Uniform random numbers in [0, 1).
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::rand([2, 3], &Generator::new(1), &Device::cpu());
        /// assert_eq!(x.shape().dims(), [2, 3]);
        /// ```
        rand / try_rand(shape: impl Into<Shape>, generator: &Generator, options: impl Into<TensorOptions>) -> Tensor {
            Tensor::random("rand", &UNIFORM, shape.into(), generator, &options.into())
        }

        /// Standard normal random numbers, equal on every device within 4 ulp.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::randn([1000], &Generator::new(1), &Device::cpu());
        /// assert!(x.mean(..).item_blocking()?.abs() < 0.1);
        /// # Ok::<(), Error>(())
        /// ```
        randn / try_randn(shape: impl Into<Shape>, generator: &Generator, options: impl Into<TensorOptions>) -> Tensor {
            Tensor::random("randn", &NORMAL, shape.into(), generator, &options.into())
        }

        /// Uniform random numbers with this tensor's shape, dtype and device.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::zeros([2, 3], &Device::cpu()).rand_like(&Generator::new(1));
        /// assert_eq!(x.shape().dims(), [2, 3]);
        /// ```
        rand_like / try_rand_like(&self, generator: &Generator) -> Tensor {
            Tensor::random("rand_like", &UNIFORM, self.shape().clone(), generator, &self.options())
        }

        /// Standard normal random numbers with this tensor's shape, dtype and device.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::zeros([2, 3], &Device::cpu()).randn_like(&Generator::new(1));
        /// assert_eq!(x.shape().dims(), [2, 3]);
        /// ```
        randn_like / try_randn_like(&self, generator: &Generator) -> Tensor {
            Tensor::random("randn_like", &NORMAL, self.shape().clone(), generator, &self.options())
        }

        /// Random integers in low..high; I32 unless the options say otherwise.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::randint(3, 6, [100], &Generator::new(1), &Device::cpu());
        /// assert_eq!(x.amin(..).to_string(), "tensor(3, dtype=i32)");
        /// assert_eq!(x.amax(..).to_string(), "tensor(5, dtype=i32)");
        /// ```
        randint / try_randint(
            low: i64, high: i64, shape: impl Into<Shape>, generator: &Generator, options: impl Into<TensorOptions>,
        ) -> Tensor {
            let fits = |bound: i64| i32::try_from(bound).is_ok();
            if low >= high || !fits(low) || !fits(high - 1) {
                let message = format!("{low}..{high} must hold a number, and only numbers that an i32 can hold");
                return Err(Error::argument("randint", message));
            }
            let options = options.into();
            let bits = Tensor::try_bits(shape.into(), generator, &options.device)?;
            let steps = bits.try_remainder(high - low)?.try_to_dtype(DType::I32)?;
            steps.try_add(low)?.try_to_dtype(options.dtype_or(DType::I32))
        }

        /// 1 with the probability each element gives, else 0; same dtype.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let p = Tensor::new([0.0, 1.0, 1.0], &Device::cpu());
        /// assert_eq!(p.bernoulli(&Generator::new(1)).to_string(), "tensor([0., 1., 1.])");
        /// ```
        bernoulli / try_bernoulli(&self, generator: &Generator) -> Tensor {
            if !self.dtype().is_float() {
                return Err(Error::dtype_not_accepted("bernoulli", self.dtype(), "probabilities of a float dtype"));
            }
            let uniform = apply(&UNIFORM, &[&Tensor::try_bits(self.shape().clone(), generator, self.device())?])?;
            self.try_gt(&uniform)?.try_to_dtype(self.dtype())
        }

        /// 1 with probability p, else 0, with this tensor's shape, dtype and device.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let x = Tensor::zeros([1000], &Device::cpu()).bernoulli_p(0.25, &Generator::new(1));
        /// assert!((x.mean(..).item_blocking()? - 0.25).abs() < 0.05);
        /// # Ok::<(), Error>(())
        /// ```
        bernoulli_p / try_bernoulli_p(&self, p: f64, generator: &Generator) -> Tensor {
            if !(0.0..=1.0).contains(&p) {
                return Err(Error::argument("bernoulli_p", format!("probability {p} is outside 0..=1")));
            }
            let bits = Tensor::try_bits(self.shape().clone(), generator, self.device())?;
            let uniform = apply(&UNIFORM, &[&bits])?;
            uniform.full_like(p).try_gt(&uniform)?.try_to_dtype(self.dtype())
        }

        /// The numbers 0 to n − 1 in random order (I32), every order as likely as any other.
        ///
        /// ```
        /// # use flambeau::prelude::*;
        /// let order = Tensor::randperm(5, &Generator::new(1), &Device::cpu());
        /// assert_eq!(order.sort(0, false).0.to_string(), "tensor([0, 1, 2, 3, 4], dtype=i32)");
        /// ```
        randperm / try_randperm(n: usize, generator: &Generator, options: impl Into<TensorOptions>) -> Tensor {
            let options = options.into();
            let order = Tensor::try_bits(Shape::from(n), generator, &options.device)?.try_argsort(0, false)?;
            order.try_to_dtype(options.dtype_or(DType::I32))
        }
    }
}
