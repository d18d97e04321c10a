/** Pictures shifted, zoomed, mirrored and with noise, each by chance of its own, on the device. */

import { arange, rand, randn, type Tensor } from "flambeau";
import type { TrainSettings } from "./settings.js";

type Augmentation = Pick<TrainSettings, "shift" | "zoom" | "noise" | "mirror">;

/**
 * (B, 1, n, n) matrices that resample rows of n pixels: place i reads from (i − m) s + m + t, between two pixels, where m
 * is the middle and s and t are drawn for each of the B pictures.
 */
function resampling(batch: number, size: number, shift: number, zoom: number, mirror: boolean): Tensor {
  const draw = () => rand([batch, 1, 1, 1]).mul(2).sub(1);
  const middle = (size - 1) / 2;
  let scale = draw().mul(zoom).add(1);
  if (mirror) scale = scale.mul(draw().sign());
  const places = arange(0, size).reshape([1, 1, size, 1]).sub(middle);
  const from = places.mul(scale).add(middle).add(draw().mul(shift));
  const pixels = arange(0, size).reshape([1, 1, 1, size]);
  return from.sub(pixels).abs().neg().add(1).relu();
}

/** The pictures (B, C, H, W), changed; the same if nothing is asked for. */
export function augment(pictures: Tensor, { shift, zoom, noise, mirror }: Augmentation): Tensor {
  const [batch = 0, channels = 0, height = 0, width = 0] = pictures.shape;
  let changed = pictures;
  if (shift > 0 || zoom > 0 || mirror) {
    const rows = resampling(batch, height, shift, zoom, false).expand([batch, channels, height, height]);
    const columns = resampling(batch, width, shift, zoom, mirror).expand([batch, channels, width, width]);
    changed = rows.matmul(changed).matmul(columns.transpose(2, 3));
  }
  return noise > 0 ? changed.add(randn([batch, channels, height, width]).mul(noise)) : changed;
}
