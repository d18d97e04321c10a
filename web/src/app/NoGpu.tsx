/** What a reader without WebGPU sees: what to enable, and that the CPU does it meanwhile. */

import { useState } from "react";
import { Notice } from "../ui/show.js";
import { useDevice } from "./device.js";

const BROWSERS: readonly [string, string][] = [
  [
    "Chrome and Edge",
    "113 or later have it on Windows, macOS and ChromeOS, 121 on Android. On Linux open chrome://flags, enable “Unsafe WebGPU Support” and “Vulkan”, and restart. Check chrome://gpu, and that hardware acceleration is on in the settings.",
  ],
  ["Firefox", "141 or later have it on Windows, 145 on macOS. Elsewhere open about:config and set dom.webgpu.enabled to true."],
  [
    "Safari",
    "26 or later have it. In Safari 18 enable Settings → Advanced → “Show features for web developers”, then Feature Flags → WebGPU.",
  ],
];

/** Nothing where a GPU is used or the CPU was asked for. */
export function NoGpu() {
  const { wanted, offer, why } = useDevice();
  const [closed, setClosed] = useState(false);
  if (closed || wanted === "cpu" || wanted === "software" || offer.state === "gpu" || offer.state === "looking") return null;
  return (
    <Notice kind="note" title="Training runs on the CPU here" onClose={() => setClosed(true)}>
      <p>No GPU is used: {why}. Everything works, only slower.</p>
      <details>
        <summary>How to switch WebGPU on</summary>
        <dl className="browsers">
          {BROWSERS.map(([name, how]) => (
            <div key={name}>
              <dt>{name}</dt>
              <dd>{how}</dd>
            </div>
          ))}
        </dl>
        <p>WebGPU also needs a secure page: https, or localhost.</p>
      </details>
    </Notice>
  );
}
