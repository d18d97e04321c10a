/** The page's end of the worker: sends it the settings, and hands on the newest picture once a frame. */

import { useCallback, useEffect, useRef, useState } from "react";
import { type Asked, WorkerClient } from "flambeau/worker";
import { saveFile } from "../../ui/index.js";
import { messageOf } from "../../work/errors.js";
import { hasClasses, needsReset, type Config } from "./config.js";
import type { DeviceChoice, PlaygroundNote, PlaygroundQuestions, Snapshot } from "./messages.js";

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
  const worker = useRef<WorkerClient<PlaygroundQuestions, PlaygroundNote>>(undefined);
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

  /** What hinders an order is told by a note, or by the worker's end. */
  const order = useCallback(
    <K extends keyof PlaygroundQuestions>(name: K, ...asked: Asked<PlaygroundQuestions[K]["ask"]>) =>
      void worker.current?.ask(name, ...asked).catch(() => undefined),
    [],
  );

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
    const told = (note: PlaygroundNote) => {
      switch (note.type) {
        case "ready":
          setOpened({ name: note.name, kind: note.kind, reason: note.reason });
          break;
        case "state":
          setRunning(note.running);
          break;
        case "snapshot":
          newest.current = note.snapshot;
          setError(undefined);
          frame.current ||= requestAnimationFrame(show);
          break;
        case "error":
          setError(note.message);
          break;
      }
    };
    const made = new WorkerClient<PlaygroundQuestions, PlaygroundNote>(
      new Worker(new URL("./worker.ts", import.meta.url), { type: "module", name: "playground" }),
      {
        onNote: told,
        onBroken: (error) => {
          setRunning(false);
          setError(messageOf(error));
        },
      },
    );
    worker.current = made;
    sent.current = undefined;
    return () => {
      made.end();
      cancelAnimationFrame(frame.current);
      frame.current = 0;
    };
  }, [show]);

  useEffect(() => {
    if (device === undefined) return;
    const before = sent.current;
    const reset = before === undefined || before.device !== device || needsReset(before.config, config);
    sent.current = { config, device };
    order("configure", { config, device, reset });
    // It runs when it is opened, unless the reader wants stillness.
    if (before === undefined && hasClasses(config) && !window.matchMedia("(prefers-reduced-motion: reduce)").matches)
      order("run");
  }, [config, device, order]);

  const reset = useCallback(() => {
    if (sent.current === undefined) return;
    order("pause");
    order("configure", { ...sent.current, reset: true });
  }, [order]);

  return {
    snapshot,
    curves,
    running,
    device: opened,
    error,
    refused,
    exportWeights: useCallback(() => {
      worker.current?.ask("export").then(
        (bytes) => bytes !== undefined && saveFile("playground.safetensors", bytes as Uint8Array<ArrayBuffer>),
        (error) => setError(messageOf(error)),
      );
    }, []),
    importWeights: useCallback((file: File) => {
      setRefused(undefined);
      const taken = file.arrayBuffer().then((buffer) => worker.current?.ask("import", new Uint8Array(buffer)));
      taken.catch((error: unknown) => setRefused(messageOf(error)));
    }, []),
    run: useCallback(() => order("run"), [order]),
    pause: useCallback(() => order("pause"), [order]),
    step: useCallback(() => order("step"), [order]),
    reset,
  };
}
