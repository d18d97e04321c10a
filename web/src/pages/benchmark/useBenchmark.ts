/** The page's end of the Benchmark worker. Stopping ends the worker; what it has measured stays. */

import { useCallback, useEffect, useRef, useState } from "react";
import { WorkerClient } from "flambeau/worker";
import { messageOf } from "../../work/errors.js";
import type { BenchmarkNote, BenchmarkQuestions, Order, Row } from "./messages.js";

export interface Benchmark {
  rows: readonly Row[];
  running: boolean;
  progress: { done: number; total: number; label: string } | undefined;
  error: string | undefined;
  start: (order: Order) => void;
  stop: () => void;
  clear: () => void;
}

const keyOf = ({ task, contender }: Row) => `${task.kind} ${task.size} ${contender}`;

export function useBenchmark(): Benchmark {
  const worker = useRef<WorkerClient<BenchmarkQuestions, BenchmarkNote>>(undefined);
  const [rows, setRows] = useState<readonly Row[]>([]);
  const [running, setRunning] = useState(false);
  const [progress, setProgress] = useState<Benchmark["progress"]>();
  const [error, setError] = useState<string>();

  const stop = useCallback(() => {
    const ended = worker.current;
    worker.current = undefined;
    ended?.end();
    setRunning(false);
    setProgress(undefined);
  }, []);
  useEffect(() => stop, [stop]);

  const start = useCallback(
    (order: Order) => {
      stop();
      const made = new WorkerClient<BenchmarkQuestions, BenchmarkNote>(
        new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "benchmark" }),
        {
          onNote: (note) => {
            if (note.type === "progress") setProgress(note);
            else setRows((before) => [...before.filter((row) => keyOf(row) !== keyOf(note.row)), note.row]);
          },
        },
      );
      worker.current = made;
      setError(undefined);
      setRunning(true);
      made.ask("run", order).then(stop, (error) => {
        // Stopped, or started anew.
        if (worker.current !== made) return;
        setError(messageOf(error));
        stop();
      });
    },
    [stop],
  );
  return { rows, running, progress, error, start, stop, clear: useCallback(() => setRows([]), []) };
}
