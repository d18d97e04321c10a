import { init, nn, tensor, type Device, type Tensor } from "flambeau";
import { rfft } from "flambeau/fft";
import { grad, jacrev, vmap } from "flambeau/func";
import { svd } from "flambeau/linalg";
import { quantile } from "flambeau/numeric";
import { gamma } from "flambeau/random";
import { TrainingWorker } from "flambeau/worker";

/** Structures of arguments and results go through transforms. */
export function derive(x: Tensor, w: Tensor): Tensor {
  const loss = ({ x, w }: { x: Tensor; w: Tensor }, scale: number): Tensor => x.matmul(w).mul(scale).sum();
  const slopes: { x: Tensor; w: Tensor } = grad(loss)({ x, w }, 2);
  const jacobian: [Tensor, { y: Tensor }] = jacrev((x: Tensor): [Tensor, { y: Tensor }] => [x, { y: x.sin() }])(x);
  const [, s] = svd(vmap((row: Tensor) => row.mul(2), { inDims: 1 })(x));
  return rfft(gamma(2, 1, [8]))
    .sum()
    .add(quantile(s, 0.5))
    .add(slopes.x.sum())
    .add(jacobian[1].y.sum());
}

export async function use(own: GPUDevice): Promise<number> {
  const device: Device = await init({ device: own });
  const y: Tensor = nn.linear(2, 1).forward(tensor([[1, 2]]));
  const run = new TrainingWorker(() => new Worker("worker.js"), { onProgress: ({ metrics }) => console.log(metrics["loss"]) });
  await run.start({ epochs: 1 });
  return device.info.software ? y.item() : 0;
}
