// The optimizers and activations of the catalogue, as written by `cargo test -p flambeau-web`: do not edit by hand.

/** The optimizers: what they are called, and the package's function. */
export const OPTIMIZERS = {
  sgd: ["SGD", "sgd"],
  adam: ["Adam", "adam"],
  adamw: ["AdamW", "adamW"],
  adadelta: ["Adadelta", "adadelta"],
  adagrad: ["Adagrad", "adagrad"],
  adamax: ["Adamax", "adamax"],
  lion: ["Lion", "lion"],
  nadam: ["NAdam", "nadam"],
  radam: ["RAdam", "radam"],
  rmsprop: ["RMSprop", "rmsprop"],
} as const;

/** The activations: the package's function, and what they are called. */
export const ACTIVATIONS = {
  relu: "ReLU",
  silu: "SiLU",
  sigmoid: "Sigmoid",
  tanh: "Tanh",
  gelu: "GELU",
  leakyRelu: "LeakyReLU",
  softmax: "Softmax",
  relu6: "ReLU6",
  selu: "SELU",
  mish: "Mish",
  logSigmoid: "LogSigmoid",
  tanhshrink: "Tanhshrink",
  softsign: "Softsign",
  hardsigmoid: "Hardsigmoid",
  hardswish: "Hardswish",
  elu: "ELU",
  celu: "CELU",
  softplus: "Softplus",
  hardtanh: "Hardtanh",
  hardshrink: "Hardshrink",
  softshrink: "Softshrink",
  logSoftmax: "LogSoftmax",
  softmin: "Softmin",
} as const;
