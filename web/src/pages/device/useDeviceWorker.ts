/** The page's end of the Device worker. */

import { useCallback, useEffect, useRef, useState } from "react";
import type { Used } from "../../app/device.js";
import { messageOf } from "../../work/errors.js";
import type { DeviceNote, DeviceQuestions, Opened } from "./messages.js";
import type { Memory, Stats } from "flambeau";
import { WorkerClient } from "flambeau/worker";

export interface DeviceWorker {
  opened: Opened | undefined;
  usage: { memory: Memory; stats: Stats } | undefined;
  error: string | undefined;
  trim: () => void;
}

/** Why a worker of this page ends that has done nothing wrong. */
const ENDED = new Error("the page has ended its worker");

/** Opens this device in a worker; without one it waits. */
export function useDeviceWorker(device: Used | undefined): DeviceWorker {
  const worker = useRef<WorkerClient<DeviceQuestions, DeviceNote>>(undefined);
  const [opened, setOpened] = useState<DeviceWorker["opened"]>();
  const [usage, setUsage] = useState<DeviceWorker["usage"]>();
  const [error, setError] = useState<string>();
  const failed = useCallback((error: unknown) => {
    // The page is gone, or looks at another device.
    if (error === ENDED) return;
    setError(messageOf(error));
  }, []);

  useEffect(() => {
    if (device === undefined) return;
    const made = new WorkerClient<DeviceQuestions, DeviceNote>(
      new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "device" }),
      { onNote: setUsage, onBroken: failed },
    );
    worker.current = made;
    setOpened(undefined);
    setError(undefined);
    made.ask("open", device).then(setOpened, failed);
    return () => {
      worker.current = undefined;
      made.end(ENDED);
    };
  }, [device, failed]);

  const trim = useCallback(() => void worker.current?.ask("trim").catch(failed), [failed]);
  return { opened, usage, error, trim };
}
