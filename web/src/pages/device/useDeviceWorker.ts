/** The page's end of the Device worker. */

import { useCallback, useEffect, useRef, useState } from "react";
import type { Used } from "../../app/device.js";
import { messageOf } from "../../work/errors.js";
import type { DeviceNote, DeviceQuestions, Opened, Tested } from "./messages.js";
import type { OpReport } from "./suite/check.js";
import type { Memory, Stats } from "flambeau";
import { WorkerClient } from "flambeau/worker";

/** How the self-test stands. */
export interface TestState {
  running: boolean;
  done: number;
  total: number;
  reports: OpReport[];
  ended: Tested | undefined;
}

export interface DeviceWorker {
  opened: Opened | undefined;
  usage: { memory: Memory; stats: Stats } | undefined;
  test: TestState;
  error: string | undefined;
  startTest: () => void;
  stopTest: () => void;
  trim: () => void;
}

/** Why a worker of this page ends that has done nothing wrong. */
const ENDED = new Error("the page has ended its worker");
const idle: TestState = { running: false, done: 0, total: 0, reports: [], ended: undefined };

/** Opens this device in a worker; without one it waits. */
export function useDeviceWorker(device: Used | undefined): DeviceWorker {
  const worker = useRef<WorkerClient<DeviceQuestions, DeviceNote>>(undefined);
  const [opened, setOpened] = useState<DeviceWorker["opened"]>();
  const [usage, setUsage] = useState<DeviceWorker["usage"]>();
  const [test, setTest] = useState(idle);
  const [error, setError] = useState<string>();
  const failed = useCallback((error: unknown) => {
    // The page is gone, or looks at another device.
    if (error === ENDED) return;
    setError(messageOf(error));
    setTest((before) => ({ ...before, running: false }));
  }, []);

  useEffect(() => {
    if (device === undefined) return;
    const made = new WorkerClient<DeviceQuestions, DeviceNote>(
      new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "device" }),
      {
        onNote: (note) => {
          if (note.type === "usage") setUsage(note);
          else
            setTest((before) => ({ ...before, done: note.done, total: note.total, reports: [...before.reports, note.report] }));
        },
        onBroken: failed,
      },
    );
    worker.current = made;
    setOpened(undefined);
    setError(undefined);
    setTest(idle);
    made.ask("open", device).then(setOpened, failed);
    return () => {
      worker.current = undefined;
      made.end(ENDED);
    };
  }, [device, failed]);

  const order = useCallback((name: "stop" | "trim") => void worker.current?.ask(name).catch(failed), [failed]);
  const startTest = useCallback(() => {
    setTest({ ...idle, running: true });
    worker.current?.ask("test").then((ended) => setTest((before) => ({ ...before, running: false, ended })), failed);
  }, [failed]);
  return {
    opened,
    usage,
    test,
    error,
    startTest,
    stopTest: useCallback(() => order("stop"), [order]),
    trim: useCallback(() => order("trim"), [order]),
  };
}
