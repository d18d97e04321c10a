import { init, nn, tensor, type Device, type Tensor } from "flambeau";
import { TrainingWorker } from "flambeau/worker";

export async function use(own: GPUDevice): Promise<number> {
  const device: Device = await init({ device: own });
  const y: Tensor = nn.linear(2, 1).forward(tensor([[1, 2]]));
  const run = new TrainingWorker(() => new Worker("worker.js"), { onProgress: ({ metrics }) => console.log(metrics["loss"]) });
  await run.start({ epochs: 1 });
  return device.info.software ? y.item() : 0;
}
