/** The page's end of the Benchmark worker. Stopping ends the worker; what it has measured stays. */

import { useCallback, useEffect, useRef, useState } from "react";
import type { FromWorker, Row, ToWorker } from "./messages.js";

export interface Benchmark {
  rows: readonly Row[];
  running: boolean;
  progress: { done: number; total: number; label: string } | undefined;
  error: string | undefined;
  start: (order: ToWorker) => void;
  stop: () => void;
  clear: () => void;
}

const keyOf = ({ task, contender }: Row) => `${task.kind} ${task.size} ${contender}`;

export function useBenchmark(): Benchmark {
  const worker = useRef<Worker>(undefined);
  const [rows, setRows] = useState<readonly Row[]>([]);
  const [running, setRunning] = useState(false);
  const [progress, setProgress] = useState<Benchmark["progress"]>();
  const [error, setError] = useState<string>();

  const stop = useCallback(() => {
    worker.current?.terminate();
    worker.current = undefined;
    setRunning(false);
    setProgress(undefined);
  }, []);
  useEffect(() => stop, [stop]);

  const start = useCallback(
    (order: ToWorker) => {
      stop();
      const made = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "benchmark" });
      worker.current = made;
      const failed = (message: string) => {
        setError(message);
        stop();
      };
      made.onmessage = ({ data }: MessageEvent<FromWorker>) => {
        switch (data.type) {
          case "progress":
            setProgress(data);
            break;
          case "row":
            setRows((before) => [...before.filter((row) => keyOf(row) !== keyOf(data.row)), data.row]);
            break;
          case "ended":
            stop();
            break;
          case "error":
            failed(data.message);
            break;
        }
      };
      made.onerror = ({ message }) => failed(message || "the worker could not be started");
      setError(undefined);
      setRunning(true);
      made.postMessage(order);
    },
    [stop],
  );
  return { rows, running, progress, error, start, stop, clear: useCallback(() => setRows([]), []) };
}
