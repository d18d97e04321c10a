/** The page's end of the Device worker. */

import { useCallback, useEffect, useRef, useState } from "react";
import type { Used } from "../../app/device.js";
import type { AdapterInfo, FromWorker, ToWorker } from "./messages.js";
import type { OpReport } from "./suite/check.js";
import type { DeviceInfo, Memory, Stats } from "flambeau";

/** How the self-test stands. */
export interface TestState {
  running: boolean;
  done: number;
  total: number;
  reports: OpReport[];
  ended: { stopped: boolean; seconds: number; uncovered: string[] } | undefined;
}

export interface DeviceWorker {
  opened: { info: DeviceInfo; adapter: AdapterInfo | undefined; milliseconds: number } | undefined;
  usage: { memory: Memory; stats: Stats } | undefined;
  test: TestState;
  error: string | undefined;
  startTest: () => void;
  stopTest: () => void;
  trim: () => void;
}

const idle: TestState = { running: false, done: 0, total: 0, reports: [], ended: undefined };

/** Opens this device in a worker; without one it waits. */
export function useDeviceWorker(device: Used | undefined): DeviceWorker {
  const worker = useRef<Worker>(undefined);
  const [opened, setOpened] = useState<DeviceWorker["opened"]>();
  const [usage, setUsage] = useState<DeviceWorker["usage"]>();
  const [test, setTest] = useState(idle);
  const [error, setError] = useState<string>();
  const tell = useCallback((message: ToWorker) => worker.current?.postMessage(message), []);

  useEffect(() => {
    if (device === undefined) return;
    const made = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "device" });
    worker.current = made;
    setOpened(undefined);
    setError(undefined);
    setTest(idle);
    made.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      switch (data.type) {
        case "opened":
          setOpened(data);
          break;
        case "usage":
          setUsage(data);
          break;
        case "op":
          setTest((before) => ({ ...before, done: data.done, total: data.total, reports: [...before.reports, data.report] }));
          break;
        case "tested":
          setTest((before) => ({ ...before, running: false, ended: data }));
          break;
        case "error":
          setError(data.message);
          setTest((before) => ({ ...before, running: false }));
          break;
      }
    };
    made.onerror = ({ message }) => setError(message || "the worker could not be started");
    made.postMessage({ type: "open", device } satisfies ToWorker);
    return () => made.terminate();
  }, [device]);

  const startTest = useCallback(() => {
    setTest({ ...idle, running: true });
    tell({ type: "test" });
  }, [tell]);
  return {
    opened,
    usage,
    test,
    error,
    startTest,
    stopTest: useCallback(() => tell({ type: "stop" }), [tell]),
    trim: useCallback(() => tell({ type: "trim" }), [tell]),
  };
}
