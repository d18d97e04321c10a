/** The page's end of the worker: sends it the settings, and hands on the newest picture once a frame. */

import { useCallback, useEffect, useRef, useState } from "react";
import { saveFile } from "../../ui/index.js";
import { needsReset, type Config } from "./config.js";
import type { DeviceChoice, FromWorker, Snapshot, ToWorker } from "./messages.js";

/** Losses over steps. */
export interface Curves {
  steps: number[];
  train: number[];
  test: (number | null)[];
}

export interface Playground {
  snapshot: Snapshot | undefined;
  curves: Curves;
  running: boolean;
  device: { name: string; kind: "cpu" | "gpu"; reason: string } | undefined;
  error: string | undefined;
  /** Why a file was not taken. */
  refused: string | undefined;
  exportWeights: () => void;
  importWeights: (file: File) => void;
  run: () => void;
  pause: () => void;
  step: () => void;
  reset: () => void;
}

/** So many points of a curve are kept; beyond, every second one is left out. */
const MOST_POINTS = 600;
const noCurves: Curves = { steps: [], train: [], test: [] };

function thinned({ steps, train, test }: Curves): Curves {
  const even = <T>(list: T[]) => list.filter((_, index) => index % 2 === 0);
  return { steps: even(steps), train: even(train), test: even(test) };
}

/** Trains on a device with these settings; without a device it waits for one. */
export function usePlayground(config: Config, device: DeviceChoice | undefined): Playground {
  const worker = useRef<Worker>(undefined);
  const sent = useRef<{ config: Config; device: DeviceChoice }>(undefined);
  const newest = useRef<Snapshot>(undefined);
  const frame = useRef(0);
  const kept = useRef<Curves & { generation: number }>({ ...noCurves, generation: 0 });
  const [snapshot, setSnapshot] = useState<Snapshot>();
  const [curves, setCurves] = useState<Curves>(noCurves);
  const [running, setRunning] = useState(false);
  const [opened, setOpened] = useState<Playground["device"]>();
  const [error, setError] = useState<string>();
  const [refused, setRefused] = useState<string>();

  const tell = useCallback((message: ToWorker) => worker.current?.postMessage(message), []);

  const show = useCallback(() => {
    frame.current = 0;
    const latest = newest.current;
    if (latest === undefined) return;
    const { generation } = kept.current;
    const before: Curves = latest.generation === generation ? kept.current : noCurves;
    if (before.steps.at(-1) !== latest.step) {
      const longer: Curves = {
        steps: [...before.steps, latest.step],
        train: [...before.train, latest.trainLoss],
        test: [...before.test, Number.isNaN(latest.testLoss) ? null : latest.testLoss],
      };
      const next = longer.steps.length > MOST_POINTS ? thinned(longer) : longer;
      kept.current = { ...next, generation: latest.generation };
      setCurves(next);
    }
    setSnapshot(latest);
  }, []);

  useEffect(() => {
    const made = new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "playground" });
    made.onmessage = ({ data }: MessageEvent<FromWorker>) => {
      switch (data.type) {
        case "ready":
          setOpened({ name: data.name, kind: data.kind, reason: data.reason });
          break;
        case "state":
          setRunning(data.running);
          break;
        case "snapshot":
          newest.current = data.snapshot;
          setError(undefined);
          frame.current ||= requestAnimationFrame(show);
          break;
        case "weights":
          saveFile("playground.safetensors", data.bytes as Uint8Array<ArrayBuffer>);
          break;
        case "refused":
          setRefused(data.message);
          break;
        case "error":
          setError(data.message);
          break;
      }
    };
    made.onerror = ({ message }) => setError(message || "the worker could not be started");
    worker.current = made;
    sent.current = undefined;
    return () => {
      made.terminate();
      cancelAnimationFrame(frame.current);
      frame.current = 0;
    };
  }, [show]);

  useEffect(() => {
    if (device === undefined) return;
    const before = sent.current;
    const reset = before === undefined || before.device !== device || needsReset(before.config, config);
    sent.current = { config, device };
    tell({ type: "configure", config, device, reset });
  }, [config, device, tell]);

  const reset = useCallback(() => {
    if (sent.current === undefined) return;
    tell({ type: "pause" });
    tell({ type: "configure", ...sent.current, reset: true });
  }, [tell]);

  return {
    snapshot,
    curves,
    running,
    device: opened,
    error,
    refused,
    exportWeights: useCallback(() => tell({ type: "export" }), [tell]),
    importWeights: useCallback(
      (file: File) => {
        setRefused(undefined);
        void file.arrayBuffer().then((buffer) => tell({ type: "import", bytes: new Uint8Array(buffer) }));
      },
      [tell],
    ),
    run: useCallback(() => tell({ type: "run" }), [tell]),
    pause: useCallback(() => tell({ type: "pause" }), [tell]),
    step: useCallback(() => tell({ type: "step" }), [tell]),
    reset,
  };
}
