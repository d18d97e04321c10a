import * as flambeau from "./node_modules/flambeau/dist/index.js";
import { train } from "./train.js";

train(flambeau).then(
  (said) => postMessage({ said, failed: [] }),
  (error) => postMessage({ failed: [error.stack] }),
);
