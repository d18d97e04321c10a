//! Scaling of losses in mixed precision, so that small gradients do not vanish in f16; PyTorch's rules and defaults.
//!
//! Nothing of it is read back. The scale, the streak of good steps and whether gradients were finite are tensors of a single
//! number; a step chooses between old and new parameters by the last of them, and finds the next scale in the same plan. How many
//! steps were skipped is counted on the device, too: formulas that depend on the step's number take it from there.

use super::Optimizer;
use super::flat::{Layout, MAX_ELEMENTS};
use crate::autograd::{no_grad, set_autocast_enabled};
use crate::device::Device;
use crate::dtype::DType;
use crate::error::{Error, Result, expect};
use crate::io::{State, Stateful};
use crate::settings::Settings;
use crate::tensor::{FiniteCheck, Tensor, Window};
use serde::{Deserialize, Serialize};

/// The settings of a [`GradScaler`]; the defaults are PyTorch's.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize, Settings)]
pub struct GradScalerOptions {
    /// The first scale.
    pub init_scale: f64,
    /// What the scale is multiplied by after enough good steps.
    pub growth_factor: f64,
    /// What the scale is multiplied by when a gradient was not finite.
    pub backoff_factor: f64,
    /// Good steps in a row before the scale grows.
    pub growth_interval: usize,
    /// Without, losses are not scaled and steps are plain ones.
    pub enabled: bool,
}

impl Default for GradScalerOptions {
    fn default() -> Self {
        GradScalerOptions {
            init_scale: 65_536.0,
            growth_factor: 2.0,
            backoff_factor: 0.5,
            growth_interval: 2_000,
            enabled: true,
        }
    }
}

impl GradScalerOptions {
    fn check(&self) -> Result<()> {
        let GradScalerOptions { init_scale, growth_factor, backoff_factor, growth_interval, .. } = *self;
        let refuse = |message: String| Err(Error::argument("GradScaler", message));
        if !(init_scale.is_finite() && init_scale > 0.0) {
            return refuse(format!("the first scale {init_scale} must be positive and finite"));
        }
        if !(growth_factor.is_finite() && growth_factor > 1.0) {
            return refuse(format!("the growth factor {growth_factor} must be above 1"));
        }
        if !(backoff_factor > 0.0 && backoff_factor < 1.0) {
            return refuse(format!("the backoff factor {backoff_factor} must be between 0 and 1"));
        }
        if growth_interval == 0 || i32::try_from(growth_interval).is_err() {
            return refuse(format!("the growth interval {growth_interval} must be from 1 to {}", i32::MAX));
        }
        Ok(())
    }
}

/// Scales the loss before the backward pass and the gradients back before the step, as PyTorch's `GradScaler`: gradients that
/// f16 is too coarse for are large enough in between. Where one is not finite, the step is skipped (no parameter moves, no state
/// changes, no step is counted) and the scale is halved; after 2,000 good steps in a row it is doubled.
///
/// The device decides all of that: nothing is waited for, and a step is one plan, as without. To clip gradients, call
/// [`unscale`](GradScaler::unscale) first. Its state is saved and taken up again like an optimizer's.
///
/// ```
/// # use flambeau::prelude::*;
/// use flambeau::{autograd::autocast, nn::Linear, optim::{GradScaler, Sgd}};
/// # flambeau::block_on(async {
/// let device = Device::cpu();
/// let (layer, x) = (Linear::new(3, 1, &device), Tensor::ones([4, 3], &device));
/// let (mut sgd, mut scaler) = (Sgd::new(layer.parameters(), 0.1), GradScaler::new(&device));
/// let before = layer.weight.value().to_f64_vec().await?;
/// for factor in [1.0, f64::INFINITY] {
///     let loss = autocast(true, || layer.forward(&x).sum(..) / 8.0) * factor;
///     scaler.scale(&loss).backward()?;
///     scaler.step(&mut sgd)?;
///     scaler.update()?;
///     sgd.zero_grad();
/// }
/// // One step was taken, one was skipped.
/// let after = layer.weight.value().to_f64_vec().await?;
/// assert!((before[0] - after[0] - 0.05).abs() < 1e-3);
/// assert_eq!(scaler.get_scale().await?, 32_768.0);
/// # Ok::<(), Error>(()) }).unwrap();
/// ```
#[derive(Debug)]
pub struct GradScaler {
    options: GradScalerOptions,
    /// What losses are multiplied by: F32, of shape ().
    scale: Tensor,
    /// Good steps in a row: I32, of shape ().
    streak: Tensor,
    /// True: what stands for an answer that a fault has made void.
    yes: Tensor,
    /// Scale and streak as the next update puts them in place.
    next: Option<(Tensor, Tensor)>,
    /// The optimizers whose gradients have been looked at since the last update.
    checked: Vec<Checked>,
}

/// What is known of an optimizer between two updates of the scale.
#[derive(Debug)]
struct Checked {
    /// By its first parameter.
    optimizer: u64,
    /// Were all gradients finite?
    finite: Tensor,
    stepped: bool,
}

/// What an optimizer is told of scaled gradients by [`GradScaler::step`].
pub struct ScaledStep<'a> {
    /// What gradients are multiplied by, unless that has been done.
    pub(super) inverse: Option<Tensor>,
    /// Are all gradients finite? None if the optimizer must find out.
    pub(super) finite: Option<Tensor>,
    /// Is told the answer before the step is evaluated.
    pub(super) on_checked: &'a mut dyn FnMut(&Tensor) -> Result<()>,
}

impl std::fmt::Debug for ScaledStep<'_> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "ScaledStep(inverse: {:?}, finite: {:?})", self.inverse, self.finite)
    }
}

impl GradScaler {
    /// With PyTorch's defaults, for optimizers on this device.
    #[track_caller]
    pub fn new(device: &Device) -> GradScaler {
        GradScaler::with_options(GradScalerOptions::default(), device)
    }

    /// With all settings.
    #[track_caller]
    pub fn with_options(options: GradScalerOptions, device: &Device) -> GradScaler {
        expect(GradScaler::try_with_options(options, device))
    }

    /// [`with_options`](GradScaler::with_options), or the error instead of a panic.
    pub fn try_with_options(options: GradScalerOptions, device: &Device) -> Result<GradScaler> {
        options.check()?;
        let scale = Tensor::try_from_slice(&[options.init_scale as f32], (), device)?;
        let streak = Tensor::try_from_slice(&[0_i32], (), device)?;
        let yes = Tensor::try_from_slice(&[true], (), device)?;
        Ok(GradScaler { options, scale, streak, yes, next: None, checked: Vec::new() })
    }

    /// Its settings.
    pub fn options(&self) -> &GradScalerOptions {
        &self.options
    }

    /// The loss times the scale: what `backward` is called on.
    #[track_caller]
    pub fn scale(&self, loss: &Tensor) -> Tensor {
        expect(self.try_scale(loss))
    }

    /// [`scale`](GradScaler::scale), or the error instead of a panic.
    #[track_caller]
    pub fn try_scale(&self, loss: &Tensor) -> Result<Tensor> {
        if self.options.enabled { loss.try_mul(&self.scale) } else { Ok(loss.clone()) }
    }

    /// Divides the gradients of the optimizer's parameters by the scale, once between two updates: before they are clipped or
    /// looked at. Whether they were finite is kept for the step.
    ///
    /// ```
    /// # use flambeau::prelude::*;
    /// use flambeau::{nn::{Parameter, utils::clip_grad_norm}, optim::{GradScaler, Sgd}};
    /// let device = Device::cpu();
    /// let w = Parameter::new(&Tensor::new([3.0, 4.0], &device));
    /// let (mut sgd, mut scaler) = (Sgd::new([w.clone()], 1.0), GradScaler::new(&device));
    /// scaler.scale(&(w.get() * w.get()).sum(..)).backward()?;
    /// scaler.unscale(&sgd)?;
    /// clip_grad_norm(&[w.clone()], 1.0, 2.0)?;
    /// scaler.step(&mut sgd)?;
    /// scaler.update()?;
    /// assert_eq!(w.value().to_string(), "tensor([2.4000, 3.2000])");
    /// # Ok::<(), Error>(())
    /// ```
    pub fn unscale(&mut self, optimizer: &dyn Optimizer) -> Result<()> {
        const OP: &str = "GradScaler::unscale";
        if !self.options.enabled {
            return Ok(());
        }
        let key = key(optimizer, OP)?;
        if let Some(known) = self.known(key) {
            let when = if known.stepped { "after its step" } else { "twice" };
            let message =
                format!("the gradients of one optimizer cannot be unscaled {when} between two updates");
            return Err(Error::argument(OP, message));
        }
        let finite = no_grad(|| {
            let _plain = set_autocast_enabled(false);
            let inverse = self.inverse()?;
            let mut gradients = Vec::new();
            for parameter in optimizer.parameters() {
                let Some(grad) = parameter.grad().filter(|_| parameter.requires_grad()) else { continue };
                let grad = grad.detach();
                check_dtype(&grad)?;
                parameter.set_grad(Some(&grad.try_mul(&inverse.try_to_dtype(grad.dtype())?)?))?;
                gradients.push(grad);
            }
            all_finite(&gradients)
        })?;
        let finite = finite.ok_or_else(|| Error::argument(OP, "no parameter has a gradient"))?;
        self.checked.push(Checked { optimizer: key, finite, stepped: false });
        Ok(())
    }

    /// The optimizer's step with the gradients divided by the scale, unless that has been done; the step is skipped if one of them
    /// is not finite. An error, and nothing has changed, for a second step before the scale is updated.
    pub fn step(&mut self, optimizer: &mut dyn Optimizer) -> Result<()> {
        const OP: &str = "GradScaler::step";
        if !self.options.enabled {
            return optimizer.step();
        }
        let key = key(optimizer, OP)?;
        if self.known(key).is_some_and(|known| known.stepped) {
            return Err(Error::argument(OP, "call update before the next step of the same optimizer"));
        }
        let finite = self.known(key).map(|known| known.finite.clone());
        let inverse = match finite {
            Some(_) => None,
            None => Some(no_grad(|| self.inverse())?),
        };
        let others: Vec<&Tensor> =
            self.checked.iter().filter(|of| of.optimizer != key).map(|of| &of.finite).collect();
        let mut found = None;
        let mut on_checked = |finite: &Tensor| {
            // A fault makes the answer void, not the state of the scaler.
            let finite = finite.healthy()?.try_where_cond(finite, &self.yes)?;
            let all = others.iter().try_fold(finite.clone(), |all, &other| all.try_logical_and(other))?;
            found = Some((finite, self.after(&all)?));
            Ok(())
        };
        optimizer.step_scaled(&mut ScaledStep { inverse, finite, on_checked: &mut on_checked })?;
        let Some((finite, next)) = found else {
            return Err(Error::argument(OP, "the optimizer has not looked at its gradients"));
        };
        self.checked.retain(|of| of.optimizer != key);
        self.checked.push(Checked { optimizer: key, finite, stepped: true });
        self.next = Some(next);
        Ok(())
    }

    /// Puts the next scale in place, after the step, or after the steps of all optimizers that share it.
    pub fn update(&mut self) -> Result<()> {
        if !self.options.enabled {
            return Ok(());
        }
        let Some((scale, streak)) = self.next.take() else {
            return Err(Error::argument("GradScaler::update", "there was no step since the last update"));
        };
        (self.scale, self.streak) = (scale, streak);
        self.checked.clear();
        Ok(())
    }

    /// Sets the scale, instead of an update.
    pub fn set_scale(&mut self, scale: f64) -> Result<()> {
        GradScalerOptions { init_scale: scale, ..self.options }.check()?;
        self.scale = Tensor::try_from_slice(&[scale as f32], (), self.scale.device())?;
        (self.next, self.checked) = (None, Vec::new());
        Ok(())
    }

    /// The scale, read from the device; 1 if it is not enabled.
    pub async fn get_scale(&self) -> Result<f64> {
        if self.options.enabled { self.scale.item().await } else { Ok(1.0) }
    }

    /// Good steps in a row, read from the device.
    pub async fn get_growth_tracker(&self) -> Result<u64> {
        Ok(self.streak.item().await? as u64)
    }

    fn known(&self, optimizer: u64) -> Option<&Checked> {
        self.checked.iter().find(|of| of.optimizer == optimizer)
    }

    fn inverse(&self) -> Result<Tensor> {
        self.scale.try_reciprocal()
    }

    /// Scale and streak after a step whose gradients were all finite, or not.
    fn after(&self, finite: &Tensor) -> Result<(Tensor, Tensor)> {
        let GradScalerOptions { growth_factor, backoff_factor, growth_interval, .. } = self.options;
        let streak = self.streak.try_add(1)?;
        let is_long = streak.try_eq(growth_interval)?;
        let grown = self.scale.try_mul(growth_factor)?;
        let grown = grown.try_isfinite()?.try_where_cond(&grown, &self.scale)?;
        let good = is_long.try_where_cond(&grown, &self.scale)?;
        let scale = finite.try_where_cond(&good, self.scale.try_mul(backoff_factor)?)?;
        let begun = is_long.try_where_cond(self.streak.zeros_like(), &streak)?;
        let streak = finite.try_where_cond(&begun, self.streak.zeros_like())?;
        let guard = |new: &Tensor, old: &Tensor| old.healthy()?.try_where_cond(new, old);
        Ok((guard(&scale, &self.scale)?, guard(&streak, &self.streak)?))
    }
}

/// What tells optimizers apart.
fn key(optimizer: &dyn Optimizer, op: &'static str) -> Result<u64> {
    let first = optimizer.parameters().first().map(|parameter| parameter.id());
    first.ok_or_else(|| Error::argument(op, "the optimizer has no parameters"))
}

/// Refuses gradients that are too coarse to be divided by the scale.
pub(super) fn check_dtype(gradient: &Tensor) -> Result<()> {
    match gradient.dtype() {
        DType::F16 => {
            let message =
                "gradients of f16 parameters cannot be unscaled; keep parameters in f32 and use autocast";
            Err(Error::argument("GradScaler", message))
        }
        _ => Ok(()),
    }
}

/// Are all numbers finite? They are packed first, so that a kernel or two look at all of them.
fn all_finite(gradients: &[Tensor]) -> Result<Option<Tensor>> {
    let mut all: Option<Tensor> = None;
    let mut rest = gradients;
    while let Some(first) = rest.first() {
        let mut elements = 0;
        let fits = |gradient: &&Tensor| {
            elements += gradient.numel();
            gradient.dtype() == first.dtype() && elements <= MAX_ELEMENTS
        };
        let count = rest.iter().take_while(fits).count().max(1);
        let (part, others) = rest.split_at(count);
        let layout = Layout::flat(part.iter().map(Tensor::shape));
        let window = |(parameter, (start, len))| Window { start, len, parameter };
        let windows = layout.places().enumerate().map(window).collect();
        let check = FiniteCheck { asker: "GradScaler", what: "gradient", windows, faults: false };
        let finite = layout.gather(part)?.all_finite(check)?;
        all = Some(match all {
            Some(all) => all.try_logical_and(&finite)?,
            None => finite,
        });
        rest = others;
    }
    Ok(all)
}

impl Stateful for GradScaler {
    fn state(&self) -> State {
        let mut state = State::default();
        // Settings are plain structs of numbers, which JSON can always hold.
        state.set("options", serde_json::to_value(self.options).unwrap_or_default());
        let tensors = [("scale", &self.scale), ("growth_tracker", &self.streak)];
        state.tensors = tensors.map(|(name, tensor)| (name.to_owned(), tensor.clone())).into_iter().collect();
        state
    }

    fn load_state(&mut self, state: &State) -> Result<()> {
        let options: GradScalerOptions = state.value("options")?;
        options.check()?;
        let find = |name: &str, like: &Tensor| {
            let found = state.tensors.get(name);
            let found = found.ok_or_else(|| Error::State(format!("the scaler's `{name}` is missing")))?;
            if (found.meta(), found.device()) != (like.meta(), like.device()) {
                return Err(Error::State(format!("the scaler's `{name}` does not fit: {found:?}")));
            }
            Ok(found.detach())
        };
        let (scale, streak) = (find("scale", &self.scale)?, find("growth_tracker", &self.streak)?);
        (self.options, self.scale, self.streak) = (options, scale, streak);
        (self.next, self.checked) = (None, Vec::new());
        Ok(())
    }
}
