// A few steps, the same in every place: the caller brings the package and says on what device.
export async function train({ init, nn, optim, randn, tensor }, options) {
  const device = await init({ device: "software", ...options });
  const net = nn.sequential(nn.linear(3, 16), nn.relu(), nn.linear(16, 1));
  const optimizer = optim.adam(net.parameters(), { lr: 0.02 });
  const x = randn([64, 3]).keep();
  const y = x.matmul(tensor([[1], [-2], [0.5]])).keep();
  const losses = [];
  for (let step = 0; step < 20; step += 1) {
    const loss = net.forward(x).mseLoss(y);
    loss.backward();
    optimizer.step();
    optimizer.zeroGrad();
    await device.throttle();
    if (step === 0 || step === 19) losses.push(await loss.item());
  }
  if (device.info.type !== "gpu") throw new Error(`it ran on ${device.info.name}`);
  if (!(losses[1] < losses[0])) throw new Error(`the loss does not fall: ${losses.join(", ")}`);
  return `loss ${losses.map((loss) => loss.toFixed(3)).join(" → ")}`;
}
