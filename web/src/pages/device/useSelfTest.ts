/** The page's end of the self-test: a worker for each run. */

import { useCallback, useEffect, useRef, useState } from "react";
import type { Used } from "../../app/device.js";
import { messageOf } from "../../work/errors.js";
import type { CaseReport, Tested, TestNote, TestQuestions } from "./messages.js";
import { WorkerClient } from "flambeau/worker";

/** How the self-test stands. */
export interface TestState {
  running: boolean;
  total: number;
  reports: CaseReport[];
  /** How it ended; without this it was stopped, or has not ended. */
  ended: Tested | undefined;
  stopped: boolean;
  error: string | undefined;
}

const idle: TestState = { running: false, total: 0, reports: [], ended: undefined, stopped: false, error: undefined };

/** Reports are shown this often, in milliseconds: cases end by the hundred. */
const SHOW_EVERY = 100;

/** Why a run ends that has done nothing wrong. */
const ENDED = new Error("the page has ended its self-test");

/** Runs the library's suite on this device. */
export function useSelfTest(device: Used | undefined) {
  const worker = useRef<WorkerClient<TestQuestions, TestNote>>(undefined);
  const [test, setTest] = useState(idle);
  const end = useCallback(() => {
    worker.current?.end(ENDED);
    worker.current = undefined;
  }, []);

  useEffect(() => {
    // Another device has not been tested.
    if (device !== undefined) setTest(idle);
    return end;
  }, [device, end]);

  const start = useCallback(() => {
    if (device === undefined) return;
    end();
    setTest({ ...idle, running: true });
    const reports: CaseReport[] = [];
    let [total, shown] = [0, 0];
    const show = () => setTest((before) => ({ ...before, total, reports: [...reports] }));
    const finish = (how: Partial<TestState>) => {
      show();
      setTest((before) => ({ ...before, ...how, running: false }));
    };
    const failed = (error: unknown) => {
      if (error !== ENDED) finish({ error: messageOf(error) });
    };
    const made = new WorkerClient<TestQuestions, TestNote>(
      new Worker(new URL("./selftest.worker.ts", import.meta.url), { type: "module", name: "self-test" }),
      {
        onNote: (note) => {
          reports.push(note.report);
          total = note.total;
          if (performance.now() - shown < SHOW_EVERY) return;
          shown = performance.now();
          show();
        },
        onBroken: failed,
      },
    );
    worker.current = made;
    made.ask("run", device).then((ended) => {
      finish({ ended });
      end();
    }, failed);
  }, [device, end]);

  const stop = useCallback(() => {
    end();
    setTest((before) => ({ ...before, running: false, stopped: true }));
  }, [end]);

  return { test, start, stop };
}
