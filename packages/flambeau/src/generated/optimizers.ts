// The optimizers and schedules of the catalogue, as written by `cargo test -p flambeau-web`: do not edit by hand.

import type { Sizes } from "../types.js";
import { Optimizer, type Trained } from "../optimizer.js";

/** The settings of `Sgd`; the defaults are PyTorch's. */
export interface SgdOptions {
  /** The learning rate. Default: 0.001. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** How much of the last direction is kept. Default: 0. */
  momentum?: number;
  /** How much of the gradient the momentum leaves out. Default: 0. */
  dampening?: number;
  /** Looks ahead along the momentum. Default: false. */
  nesterov?: boolean;
  /** Adds this times the parameter to the gradient. Default: 0. */
  weightDecay?: number;
  /** Climbs instead of descending. Default: false. */
  maximize?: boolean;
}

/** The settings of `Adam`; the defaults are PyTorch's. */
export interface AdamOptions {
  /** The learning rate. Default: 0.001. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** How much of the running means of gradient and squared gradient is kept. Default: [0.9, 0.999]. */
  betas?: [number, number];
  /** Keeps the denominator away from zero. Default: 1e-8. */
  eps?: number;
  /** λ: see the optimizer. Default: 0. */
  weightDecay?: number;
  /** Divides by the largest mean of squares so far instead of the present one. Default: false. */
  amsgrad?: boolean;
  /** Climbs instead of descending. Default: false. */
  maximize?: boolean;
}

/** The settings of `AdamW`; the defaults are PyTorch's. */
export interface AdamWOptions {
  /** The learning rate. Default: 0.001. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** How much of the running means of gradient and squared gradient is kept. Default: [0.9, 0.999]. */
  betas?: [number, number];
  /** Keeps the denominator away from zero. Default: 1e-8. */
  eps?: number;
  /** λ: see the optimizer. Default: 0.01. */
  weightDecay?: number;
  /** Divides by the largest mean of squares so far instead of the present one. Default: false. */
  amsgrad?: boolean;
  /** Climbs instead of descending. Default: false. */
  maximize?: boolean;
}

/** The settings of `Adadelta`; the defaults are PyTorch's. */
export interface AdadeltaOptions {
  /** The learning rate. Default: 1. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** How much of the running means of squares is kept. Default: 0.9. */
  rho?: number;
  /** Keeps the denominator away from zero. Default: 1e-6. */
  eps?: number;
  /** Adds this times the parameter to the gradient. Default: 0. */
  weightDecay?: number;
  /** Climbs instead of descending. Default: false. */
  maximize?: boolean;
}

/** The settings of `Adagrad`; the defaults are PyTorch's. */
export interface AdagradOptions {
  /** The learning rate. Default: 0.01. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** The rate of step t is lr / (1 + (t − 1) · this). Default: 0. */
  learningRateDecay?: number;
  /** Adds this times the parameter to the gradient. Default: 0. */
  weightDecay?: number;
  /** Where the sum of squares starts. Default: 0. */
  initialAccumulator?: number;
  /** Keeps the denominator away from zero. Default: 1e-10. */
  eps?: number;
  /** Climbs instead of descending. Default: false. */
  maximize?: boolean;
}

/** The settings of `Adamax`; the defaults are PyTorch's. */
export interface AdamaxOptions {
  /** The learning rate. Default: 0.002. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** How much of the running means is kept. Default: [0.9, 0.999]. */
  betas?: [number, number];
  /** Keeps the denominator away from zero. Default: 1e-8. */
  eps?: number;
  /** Adds this times the parameter to the gradient. Default: 0. */
  weightDecay?: number;
  /** Climbs instead of descending. Default: false. */
  maximize?: boolean;
}

/** The settings of `Lion`; the defaults are the paper's. */
export interface LionOptions {
  /** The learning rate. Default: 0.0001. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** How much of the running mean counts in a step, and how much of it is kept. Default: [0.9, 0.99]. */
  betas?: [number, number];
  /** λ: see the optimizer. Default: 0. */
  weightDecay?: number;
}

/** The settings of `Muon`; the defaults are PyTorch's. */
export interface MuonOptions {
  /** The learning rate. Default: 0.001. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** How much of the running mean of gradients is kept. Default: 0.95. */
  momentum?: number;
  /** Looks ahead along the momentum. Default: true. */
  nesterov?: boolean;
  /** λ: see the optimizer. Default: 0.1. */
  weightDecay?: number;
  /** Newton–Schulz iterations. Default: 5. */
  iterations?: number;
  /** The smallest norm a direction is divided by. Default: 1e-7. */
  eps?: number;
}

/** The settings of `NAdam`; the defaults are PyTorch's. */
export interface NAdamOptions {
  /** The learning rate. Default: 0.002. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** How much of the running means is kept. Default: [0.9, 0.999]. */
  betas?: [number, number];
  /** Keeps the denominator away from zero. Default: 1e-8. */
  eps?: number;
  /** Adds this times the parameter to the gradient. Default: 0. */
  weightDecay?: number;
  /** How quickly the momentum grows towards β₁. Default: 0.004. */
  momentumDecay?: number;
}

/** The settings of `RAdam`; the defaults are PyTorch's. */
export interface RAdamOptions {
  /** The learning rate. Default: 0.001. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** How much of the running means is kept. Default: [0.9, 0.999]. */
  betas?: [number, number];
  /** Keeps the denominator away from zero. Default: 1e-8. */
  eps?: number;
  /** Adds this times the parameter to the gradient. Default: 0. */
  weightDecay?: number;
}

/** The settings of `RmsProp`; the defaults are PyTorch's. */
export interface RmsPropOptions {
  /** The learning rate. Default: 0.01. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** How much of the running mean of squares is kept. Default: 0.99. */
  alpha?: number;
  /** Keeps the denominator away from zero. Default: 1e-8. */
  eps?: number;
  /** Adds this times the parameter to the gradient. Default: 0. */
  weightDecay?: number;
  /** How much of the last direction is kept. Default: 0. */
  momentum?: number;
  /** Divides by the deviation from the mean gradient instead. Default: false. */
  centered?: boolean;
  /** Climbs instead of descending. Default: false. */
  maximize?: boolean;
}

/** The settings of a `GradScaler`; the defaults are PyTorch's. */
export interface GradScalerOptions {
  /** The first scale. Default: 65536. */
  initScale?: number;
  /** What the scale is multiplied by after enough good steps. Default: 2. */
  growthFactor?: number;
  /** What the scale is multiplied by when a gradient was not finite. Default: 0.5. */
  backoffFactor?: number;
  /** Good steps in a row before the scale grows. Default: 2000. */
  growthInterval?: number;
  /** Without, losses are not scaled and steps are plain ones. Default: true. */
  enabled?: boolean;
}

/** The settings of `Lbfgs`; the defaults are PyTorch's. */
export interface LbfgsOptions {
  /** The learning rate; with a line search, the first length tried. Default: 1. */
  lr?: number;
  /** Another name of `lr`. */
  learningRate?: number;
  /** Iterations per step. Default: 20. */
  maxIterations?: number;
  /** Evaluations per step, about; none: 5/4 of the iterations. */
  maxEvaluations?: number;
  /** Stops when no element of the gradient is larger. Default: 1e-7. */
  gradientTolerance?: number;
  /** Stops when neither loss nor parameters change by more. Default: 1e-9. */
  changeTolerance?: number;
  /** Pairs of changes that are remembered. Default: 100. */
  history?: number;
  /** How far it goes along a direction. Default: "none". */
  lineSearch?: "none" | "strong_wolfe";
}

/** The settings of `ReduceLrOnPlateau`; the defaults are PyTorch's. */
export interface PlateauOptions {
  /** Which metrics are better. Default: "min". */
  goal?: "min" | "max";
  /** What rates are multiplied with. Default: 0.1. */
  factor?: number;
  /** Steps without improvement that are still fine. Default: 10. */
  patience?: number;
  /** Steps after a fall in which nothing is counted. Default: 0. */
  coolDown?: number;
  /** Rates do not fall below this. Default: 0. */
  lowest?: number;
  /** Falls smaller than this are left out. Default: 1e-8. */
  eps?: number;
}

const rule =
  <O extends object>(kind: string) =>
  (trained: Trained<O>, options: O = {} as O) =>
    new Optimizer(kind, trained, options);

/** Stochastic gradient descent with momentum μ and dampening τ: b ← μ b + (1 − τ) g (b ← g the first time), θ ← θ − lr · b, or θ − lr · (g + μ b) with Nesterov's momentum. Weight decay λ makes g ← g + λ θ first. */
export const sgd = rule<SgdOptions>("sgd");
/** Adam: m ← β₁ m + (1 − β₁) g, v ← β₂ v + (1 − β₂) g², θ ← θ − lr · m̂ / (√v̂ + ε), where m̂ = m / (1 − β₁ᵗ) and v̂ = v / (1 − β₂ᵗ). Weight decay λ makes g ← g + λ θ first. */
export const adam = rule<AdamOptions>("adam");
/** `Adam` whose weight decay λ (0.01 by default) acts on the parameter itself: θ ← (1 − lr · λ) θ first. */
export const adamW = rule<AdamWOptions>("adamw");
/** Adadelta: v ← ρ v + (1 − ρ) g², δ = g √(u + ε) / √(v + ε), u ← ρ u + (1 − ρ) δ², θ ← θ − lr · δ. Weight decay λ makes g ← g + λ θ first. */
export const adadelta = rule<AdadeltaOptions>("adadelta");
/** Adagrad: s ← s + g², θ ← θ − lrₜ · g / (√s + ε) with lrₜ = lr / (1 + (t − 1) η). Weight decay λ makes g ← g + λ θ first. */
export const adagrad = rule<AdagradOptions>("adagrad");
/** Adamax: m ← β₁ m + (1 − β₁) g, u ← max(β₂ u, |g| + ε), θ ← θ − lr / (1 − β₁ᵗ) · m / u. Weight decay λ makes g ← g + λ θ first. */
export const adamax = rule<AdamaxOptions>("adamax");
/** Lion ("Symbolic Discovery of Optimization Algorithms", 2023): θ ← (1 − lr · λ) θ − lr · sign(β₁ m + (1 − β₁) g), then m ← β₂ m + (1 − β₂) g. */
export const lion = rule<LionOptions>("lion");
/** Muon, for parameters of two and more dimensions, which count as matrices of their first dimension by all others: m ← μ m + (1 − μ) g, d = m, or μ m + (1 − μ) g once more with Nesterov's momentum; θ ← (1 − lr · λ) θ − lr · √max(1, rows / columns) · O(d), where O(d) is near the closest matrix to d with orthogonal rows or columns: X ← d / ‖d‖, then five times X ← a X + (b A + c A²) X with A = X Xᵀ and (a, b, c) = (3.4445, −4.775, 2.0315). */
export const muon = rule<MuonOptions>("muon");
/** NAdam: with μₜ = β₁ (1 − ½ · 0.96^(t ψ)), m and v as in `Adam`: θ ← θ − lr · ((1 − μₜ) g / (1 − μ₁⋯μₜ) + μₜ₊₁ m / (1 − μ₁⋯μₜ₊₁)) / (√v̂ + ε). Weight decay λ makes g ← g + λ θ first. */
export const nadam = rule<NAdamOptions>("nadam");
/** RAdam: with m, v and m̂ as in `Adam`, ρ∞ = 2 / (1 − β₂) − 1 and ρₜ = ρ∞ − 2 t β₂ᵗ / (1 − β₂ᵗ): θ ← θ − lr · m̂ while ρₜ ≤ 5, then θ ← θ − lr · r m̂ √(1 − β₂ᵗ) / (√v + ε), where r² = (ρₜ − 4)(ρₜ − 2) ρ∞ / ((ρ∞ − 4)(ρ∞ − 2) ρₜ). Weight decay λ makes g ← g + λ θ first. */
export const radam = rule<RAdamOptions>("radam");
/** RMSprop: v ← α v + (1 − α) g², δ = g / (√v + ε), or g / (√(v − m²) + ε) with m ← α m + (1 − α) g when centered; θ ← θ − lr · δ, or with momentum μ: b ← μ b + δ, θ ← θ − lr · b. Weight decay λ makes g ← g + λ θ first. */
export const rmsprop = rule<RmsPropOptions>("rmsprop");

/** A learning rate as a function of the number of steps. */
export type Schedule =
  /** base · γ^⌊n / size⌋: falls by γ every `size` steps. */
  | {
      kind: "step";
      size: number;
      /** Default: 0.1. */
      gamma?: number;
    }
  /** base · γ^(milestones reached): falls by γ at each of them. */
  | {
      kind: "multi_step";
      milestones: Sizes;
      /** Default: 0.1. */
      gamma?: number;
    }
  /** base · γⁿ. */
  | {
      kind: "exponential";
      gamma: number;
    }
  /** Half a cosine from the base rate to the lowest in `period` steps (PyTorch's `T_max`), and back in as many. */
  | {
      kind: "cosine";
      period: number;
      /** Default: 0. */
      lowest?: number;
    }
  /** Half a cosine from the base rate to the lowest, again and again; each takes `factor` times as long as the one before. */
  | {
      kind: "cosine_restarts";
      period: number;
      /** Default: 1. */
      factor?: number;
      /** Default: 0. */
      lowest?: number;
    }
  /** base times a factor that goes from `start` to `end` in a straight line, in `steps` steps. */
  | {
      kind: "linear";
      /** Default: 0.3333333333333333. */
      start?: number;
      /** Default: 1. */
      end?: number;
      /** Default: 5. */
      steps?: number;
    }
  /** base · factor for a number of steps, then base. */
  | {
      kind: "constant";
      /** Default: 0.3333333333333333. */
      factor?: number;
      /** Default: 5. */
      steps?: number;
    }
  /** base · (1 − n / steps)^power, then 0. */
  | {
      kind: "polynomial";
      /** Default: 5. */
      steps?: number;
      /** Default: 1. */
      power?: number;
    }
  /** One cycle of `total_steps` steps: from `highest / start_divisor` up to `highest`, then down to the first rate divided by `end_divisor`. Base rates do not matter. The momentum (or β₁), of groups that use one, falls and rises the other way round. After the cycle everything stays. */
  | {
      kind: "one_cycle";
      highest: number;
      steps: number;
      /** Default: true. */
      cycle_momentum?: boolean;
      /** The share of the cycle in which the rate rises. Default: 0.3. */
      rising_share?: number;
      /** The way between the rates. Default: "cos". */
      annealing?: "cos" | "linear";
      /** Lowest and highest momentum; none leaves the momentum alone. Default: [0.85, 0.95]. */
      momentum?: [number, number] | null;
      /** The first rate is the highest divided by this. Default: 25. */
      start_divisor?: number;
      /** The last rate is the first divided by this. Default: 10000. */
      end_divisor?: number;
      /** Falls to the first rate in as many steps as it rose, and only then to the last. Default: false. */
      three_phases?: boolean;
    }
  /** A straight line from a small rate to the base rate, and then another schedule from its beginning. */
  | {
      kind: "warm_up";
      steps: number;
      /** Default: 0. */
      start?: number;
      then: Schedule;
    }
  /** One schedule after the other; each counts from its own first step. */
  | {
      kind: "sequential";
      schedules: readonly Schedule[];
      milestones: Sizes;
    };
