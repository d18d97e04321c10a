// Measures what is new to a process: a contender's first loss and where its time goes, batches of other sizes, and the steps
// after them. `asks` counts what the device is asked, where somebody stands in between (in Node).

import { flambeau, jaxjs, NETS, tensorflow } from "./new.js";

export const CONTENDERS = { flambeau, tensorflow, jaxjs };

const worst = (times) => Math.max(...times);
const middle = (times) => [...times].sort((a, b) => a - b)[times.length >> 1];

/** What a device was asked, before anything was. */
export const nothingAsked = () => ({
  ...{ adapter: 0, device: 0, modules: 0, pipelines: 0, waitedFor: 0, beside: 0, atOnce: 0, lastKernel: 0 },
  ...{ list: [], start: performance.now() },
});

/**
 * Trains a network with a contender: once, which is told at once where somebody listens, with batches of other sizes, some times more, and for
 * so many seconds in the end.
 */
export async function measure(contender, name, options) {
  const { gpu, device, batch = NETS[name].batch, steps = 40, seconds = 0, asks, onFirst } = options;
  const at = {};
  const moments = Object.fromEntries(
    ["start", "loaded", "opened", "step"].map((moment) => [moment, () => (at[moment] = performance.now())]),
  );
  const step = await CONTENDERS[contender](name, { gpu, device, moments });
  const take = async (samples) => {
    let described;
    const loss = await step(samples, () => (described = performance.now()));
    if (!Number.isFinite(loss)) throw new Error(`${contender}, ${name}: the loss is not a number`);
    const end = performance.now();
    return { host: described - at.step, all: end - at.step, described, end };
  };
  const { host, all, described, end } = await take(batch);
  const asked = () => {
    const { adapter, device: opening, modules, pipelines, waitedFor, beside, atOnce, lastKernel } = asks;
    const waitedForKernels = Math.max(0, lastKernel - described);
    const kernels = { waitedFor, beside, atOnce, list: asks.list.splice(0) };
    return { adapter, device: opening, modules, pipelines, waitedForKernels, kernels };
  };
  const first = {
    total: end - at.start,
    ...(at.loaded !== undefined && { moduleLoaded: at.loaded - at.start }),
    deviceOpen: at.opened - at.start,
    data: at.step - at.opened,
    host,
    waited: all - host,
    ...(asks !== undefined && asked()),
  };
  onFirst?.(first.total);
  const others = [];
  const sizes = batch < 8 ? [batch - 1, batch >> 1, batch + 1] : [batch - 3, batch >> 1, batch + 9, batch - 7];
  for (const samples of sizes) {
    const known = () => (asks === undefined ? 0 : asks.beside + asks.waitedFor);
    const before = known();
    const { all, host } = await take(samples);
    others.push({ samples, all, host, ...(asks !== undefined && { kernels: known() - before, list: asks.list.splice(0) }) });
  }
  const again = [];
  for (let count = 0; count < steps; count += 1) again.push((await take(batch)).all);
  const soon = middle(again.slice(-10));
  // Kernels made for these sizes take over one by one.
  const until = performance.now() + 1000 * seconds;
  while (performance.now() < until) again.push((await take(batch)).all);
  return { contender, net: name, batch, first, others, soon, settled: middle(again.slice(-10)), worst: worst(again) };
}

const show = (milliseconds) => milliseconds.toFixed(1);

/** What was measured, in words. */
export function told({ contender, net, batch, first, others, soon, settled, worst }) {
  const { total, moduleLoaded, deviceOpen, data, host, waited, adapter, device, modules, pipelines, kernels } = first;
  const counts = (kernels) => (kernels === undefined ? "" : `, ${kernels} new kernels`);
  const other = ({ samples, all, host, kernels }) => `${samples}: ${show(all)} ms (host ${show(host)}${counts(kernels)})`;
  const opening = kernels === undefined ? "" : ` (adapter ${show(adapter)}, device ${show(device)})`;
  const asking = kernels === undefined ? "" : ` (shader modules ${show(modules)}, asking for kernels ${show(pipelines)})`;
  return (
    `${contender}, ${net}, batch ${batch}: first loss after ${show(total)} ms; other batch sizes ${others.map(other).join(", ")}; ` +
    `then ${show(soon)} ms a step soon after, ${show(settled)} in the end, ${show(worst)} at worst\n` +
    `  ${moduleLoaded === undefined ? "" : `module loaded after ${show(moduleLoaded)} ms, `}device open after ${show(deviceOpen)}${opening}, ` +
    `data and parameters ${show(data)}; the first step on the host ${show(host)}${asking}, then waited ${show(waited)}` +
    (kernels === undefined
      ? ""
      : `; kernels: ${kernels.beside} beside (${kernels.atOnce} at once), ${kernels.waitedFor} waited for`)
  );
}
